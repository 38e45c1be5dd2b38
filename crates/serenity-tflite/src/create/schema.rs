//! The part of the schema (version 3) that new models use: numbers of fields, types, operators and option tables.

use serenity_ir::ElementType;

/// The schema's version, and the identifier at byte 4.
pub(super) const VERSION: u32 = 3;
pub(super) const IDENTIFIER: &str = "TFL3";

/// The place of a field in its table's virtual table, as the builder counts: two entries come before the first field.
pub(super) const fn field(number: u16) -> u16 {
    4 + 2 * number
}

// Fields: table, then name.
pub(super) const MODEL_VERSION: u16 = field(0);
pub(super) const MODEL_OPERATOR_CODES: u16 = field(1);
pub(super) const MODEL_SUBGRAPHS: u16 = field(2);
pub(super) const MODEL_DESCRIPTION: u16 = field(3);
pub(super) const MODEL_BUFFERS: u16 = field(4);

pub(super) const OPERATOR_CODE_DEPRECATED_BUILTIN_CODE: u16 = field(0);
pub(super) const OPERATOR_CODE_VERSION: u16 = field(2);
pub(super) const OPERATOR_CODE_BUILTIN_CODE: u16 = field(3);

pub(super) const BUFFER_DATA: u16 = field(0);

pub(super) const SUBGRAPH_TENSORS: u16 = field(0);
pub(super) const SUBGRAPH_INPUTS: u16 = field(1);
pub(super) const SUBGRAPH_OUTPUTS: u16 = field(2);
pub(super) const SUBGRAPH_OPERATORS: u16 = field(3);
pub(super) const SUBGRAPH_NAME: u16 = field(4);

pub(super) const TENSOR_SHAPE: u16 = field(0);
pub(super) const TENSOR_TYPE: u16 = field(1);
pub(super) const TENSOR_BUFFER: u16 = field(2);
pub(super) const TENSOR_NAME: u16 = field(3);
pub(super) const TENSOR_QUANTIZATION: u16 = field(4);
pub(super) const TENSOR_HAS_RANK: u16 = field(8);

pub(super) const QUANTIZATION_SCALE: u16 = field(2);
pub(super) const QUANTIZATION_ZERO_POINT: u16 = field(3);
pub(super) const QUANTIZATION_DIMENSION: u16 = field(6);

pub(super) const OPERATOR_OPCODE_INDEX: u16 = field(0);
pub(super) const OPERATOR_INPUTS: u16 = field(1);
pub(super) const OPERATOR_OUTPUTS: u16 = field(2);
pub(super) const OPERATOR_BUILTIN_OPTIONS_TYPE: u16 = field(3);
pub(super) const OPERATOR_BUILTIN_OPTIONS: u16 = field(4);

/// An operator that a new model may contain.
#[derive(Debug)]
pub(super) struct Builtin {
    /// Its name in the schema, which is also that of the graph.
    pub(super) name: &'static str,
    /// Its number.
    pub(super) code: i32,
    /// The number of its option table; 0 if it has none.
    pub(super) options: u8,
    /// The version that the converter writes for float tensors.
    pub(super) float_version: i32,
    /// The same for `int8`, with a scale for each channel of a kernel.
    pub(super) int8_version: i32,
}

const fn builtin(name: &'static str, code: i32, options: u8, int8_version: i32) -> Builtin {
    Builtin { name, code, options, float_version: 1, int8_version }
}

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("ADD", 0, 11, 2),
    builtin("AVERAGE_POOL_2D", 1, 5, 2),
    builtin("CONCATENATION", 2, 10, 2),
    builtin("CONV_2D", 3, 1, 3),
    builtin("DEPTHWISE_CONV_2D", 4, 2, 3),
    builtin("FULLY_CONNECTED", 9, 8, 4),
    builtin("MAX_POOL_2D", 17, 5, 2),
    builtin("MUL", 18, 21, 2),
    builtin("RELU", 19, 0, 2),
    builtin("SOFTMAX", 25, 9, 2),
    builtin("PAD", 34, 22, 2),
    builtin("MEAN", 40, 27, 2),
    builtin("STRIDED_SLICE", 45, 32, 2),
];

/// The number of an element type; `None` for those that the format has no number for, or that new models do not use.
pub(super) fn element_type(dtype: &ElementType) -> Option<i8> {
    Some(match dtype {
        ElementType::Float32 => 0,
        ElementType::Int32 => 2,
        ElementType::Int8 => 9,
        _ => return None,
    })
}

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
