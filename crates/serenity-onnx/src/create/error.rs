//! Why a model cannot be written as an `.onnx` file.

/// Why a model cannot be written as an `.onnx` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum CreateError {
    /// An operator that new files do not contain.
    #[error(
        "op `{op}` is a `{kind}`, for which there is no ONNX operator here; lower it to basic operators first"
    )]
    Operator { op: String, kind: String },
    /// An attribute that is missing or has a value that is not translated.
    #[error("op `{op}` needs an attribute `{attribute}` that can be translated to ONNX")]
    Attribute { op: String, attribute: &'static str },
    /// An operand of an unexpected kind or shape.
    #[error("operand {operand} of op `{op}` has a shape that cannot be translated to ONNX")]
    Operand { op: String, operand: usize },
    /// A tensor without a shape, or of another type than new files contain.
    #[error("tensor `{tensor}` needs a shape and the type float32: 8-bit models are not offered as .onnx")]
    Tensor { tensor: String },
    /// More than a protocol buffer holds.
    #[error("the model holds {bytes} bytes of constants; an .onnx file ends at 2 GiB")]
    TooLarge { bytes: u64 },
}
