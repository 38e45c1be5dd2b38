//! The operators that new models use, and the numbers of their options.

/// An operator that a new model may contain.
#[derive(Debug)]
pub(super) struct Builtin {
    /// Its name in the schema, which is also that of the graph.
    pub(super) name: &'static str,
    pub(super) code: i8,
    /// The number of its option table; 0 if it has none.
    pub(super) options: u8,
    /// The version that the converter writes for float tensors.
    pub(super) float_version: i32,
    /// The version that the converter writes for `int8` tensors, with a scale per channel of a kernel.
    pub(super) int8_version: i32,
}

const fn builtin(name: &'static str, code: i8, options: u8, int8_version: i32) -> Builtin {
    Builtin { name, code, options, float_version: 1, int8_version }
}

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("ADD", 0, 11, 2),
    builtin("AVERAGE_POOL_2D", 1, 5, 2),
    builtin("CONCATENATION", 2, 10, 2),
    builtin("CONV_2D", 3, 1, 3),
    builtin("DEPTHWISE_CONV_2D", 4, 2, 3),
    // It writes floats, whatever it reads: bytes since its second version.
    Builtin { name: "DEQUANTIZE", code: 6, options: 0, float_version: 2, int8_version: 2 },
    builtin("FULLY_CONNECTED", 9, 8, 4),
    builtin("LOGISTIC", 14, 0, 2),
    builtin("MAX_POOL_2D", 17, 5, 2),
    builtin("MUL", 18, 21, 2),
    builtin("RELU", 19, 0, 2),
    builtin("RELU6", 21, 0, 2),
    builtin("RESHAPE", 22, 17, 1),
    builtin("RESIZE_BILINEAR", 23, 15, 2),
    builtin("SOFTMAX", 25, 9, 2),
    builtin("TANH", 28, 0, 2),
    builtin("PAD", 34, 22, 2),
    builtin("TRANSPOSE", 39, 26, 2),
    builtin("MEAN", 40, 27, 2),
    builtin("SUB", 41, 28, 2),
    builtin("STRIDED_SLICE", 45, 32, 2),
    builtin("PRELU", 54, 0, 1),
    builtin("EXPAND_DIMS", 70, 52, 1),
    builtin("RESIZE_NEAREST_NEIGHBOR", 97, 74, 2),
    builtin("LEAKY_RELU", 98, 75, 2),
    builtin("ADD_N", 106, 0, 1),
    builtin("QUANTIZE", 114, 0, 1),
    builtin("HARD_SWISH", 117, 0, 1),
];

/// The number of a padding.
pub(super) fn padding(name: &str) -> Option<i8> {
    match name {
        "same" => Some(0),
        "valid" => Some(1),
        _ => None,
    }
}

/// The number of a fused activation.
pub(super) fn activation(name: &str) -> Option<i8> {
    match name {
        "none" => Some(0),
        "relu" => Some(1),
        "relu6" => Some(3),
        _ => None,
    }
}
