//! Why a model cannot be written as an `.onnx` file.

/// Why a model cannot be written as an `.onnx` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// An operator that new files do not contain.
    #[error(
        "op `{op}` is a `{kind}`, for which there is no ONNX operator here; lower it to basic operators first"
    )]
    Operator {
        /// The name of the op.
        op: String,
        /// The type of the op.
        kind: String,
    },
    /// An attribute that is missing or has a value that is not translated.
    #[error("op `{op}` needs an attribute `{attribute}` that can be translated to ONNX")]
    Attribute {
        /// The name of the op.
        op: String,
        /// The name of the attribute.
        attribute: &'static str,
    },
    /// An operand of an unexpected kind or shape.
    #[error("operand {operand} of op `{op}` has a shape that cannot be translated to ONNX")]
    Operand {
        /// The name of the op.
        op: String,
        /// The position of the operand.
        operand: usize,
    },
    /// A tensor without a shape, or of another type than new files contain.
    #[error("tensor `{tensor}` needs a shape and the type float32: 8-bit models are not offered as .onnx")]
    Tensor {
        /// The name of the tensor.
        tensor: String,
    },
    /// More than a protocol buffer holds.
    #[error("the model holds {bytes} bytes of constants; an .onnx file ends at 2 GiB")]
    TooLarge {
        /// Bytes of constants.
        bytes: u64,
    },
}
