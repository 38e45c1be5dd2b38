//! Writes built-in networks as model files.

use crate::Error;
use serenity_formats::Format;
use serenity_ir::Model;
use serenity_zoo::{Precision, build_model};

/// A built-in network as a model file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Export {
    /// The model in the file.
    pub model: Model,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

/// Gives the built-in network that `spec` names random weights (always the same) and writes it as a model file.
/// Runtimes have basic operators only, so an op of the graph may become several; see [`zoo`](crate::zoo).
///
/// # Errors
/// If the network does not exist, is a random graph (its ops compute nothing) or too large, or if the format cannot
/// hold it (8-bit integers in `.onnx`).
pub fn export(spec: &str, format: Format, precision: Precision) -> Result<Export, Error> {
    let model =
        build_model(spec, precision).map_err(|source| Error::Zoo { spec: spec.to_owned(), source })?;
    let bytes = format.create(&model).map_err(|source| Error::Export { spec: spec.to_owned(), source })?;
    Ok(Export { model, bytes })
}
