//! Why a model cannot be written as a `.tflite` file.

/// Why a model cannot be written as a `.tflite` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// An operator that new files do not contain.
    #[error(
        "op `{op}` is a `{kind}`, for which there is no TFLite operator here; lower it to basic operators first"
    )]
    Operator {
        /// The name of the op.
        op: String,
        /// The type of the op.
        kind: String,
    },
    /// An attribute that is missing or has a value the format cannot express.
    #[error("op `{op}` needs an attribute `{attribute}` that TFLite can express")]
    Attribute {
        /// The name of the op.
        op: String,
        /// The name of the attribute.
        attribute: &'static str,
    },
    /// A tensor without a shape, or of a type that the format does not have.
    #[error("tensor `{tensor}` needs a shape and an element type that TFLite has")]
    Tensor {
        /// The name of the tensor.
        tensor: String,
    },
    /// More than offsets of 31 bits can reach.
    #[error("the model may take {bytes} bytes; a .tflite file ends at 2 GiB")]
    TooLarge {
        /// The size that the file may take.
        bytes: u64,
    },
}
