//! Why a model cannot be written as a `.tflite` file.

/// Why a model cannot be written as a `.tflite` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum CreateError {
    /// An operator that new files do not contain.
    #[error(
        "op `{op}` is a `{kind}`, for which there is no TFLite operator here; lower it to basic operators first"
    )]
    Operator { op: String, kind: String },
    /// An attribute that is missing or has a value the format cannot express.
    #[error("op `{op}` needs an attribute `{attribute}` that TFLite can express")]
    Attribute { op: String, attribute: &'static str },
    /// A tensor without a shape, or of a type that the format does not have.
    #[error("tensor `{tensor}` needs a shape and an element type that TFLite has")]
    Tensor { tensor: String },
    /// More than offsets of 31 bits can reach.
    #[error("the model may take {bytes} bytes; a .tflite file ends at 2 GiB")]
    TooLarge { bytes: u64 },
}
