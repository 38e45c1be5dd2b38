//! Built-in networks as model files.

use crate::Error;
use serenity_ir::Model;
use serenity_zoo::{Precision, build_model};
use std::ffi::OsStr;
use std::path::Path;

/// A format of model files that built-in networks can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelFormat {
    /// TensorFlow Lite.
    TfLite,
    /// ONNX.
    Onnx,
}

/// Formats by the extension of their files.
const EXTENSIONS: &[(&str, ModelFormat)] = &[("tflite", ModelFormat::TfLite), ("onnx", ModelFormat::Onnx)];

impl ModelFormat {
    /// The format that the name of a file asks for; `None` if it is no model file.
    ///
    /// ```
    /// use serenity::ModelFormat;
    /// assert_eq!(ModelFormat::of_path("net.tflite"), Some(ModelFormat::TfLite));
    /// assert_eq!(ModelFormat::of_path("net.onnx"), Some(ModelFormat::Onnx));
    /// assert_eq!(ModelFormat::of_path("net.json"), None);
    /// ```
    pub fn of_path(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension().and_then(OsStr::to_str)?;
        EXTENSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|&(_, format)| format)
    }
}

/// A built-in network as a model file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Export {
    /// What the file holds.
    pub model: Model,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Gives the built-in network that `spec` names random weights, always the same, and writes it as a model file. Runtimes execute basic
/// operators only, so an op of the graph may become several; see [`zoo`](crate::zoo) for which.
///
/// # Errors
/// If there is no such network, or it is a random graph, whose ops compute nothing, or too large, or the format has no room for it (8-bit integers in
/// `.onnx`).
pub fn export(spec: &str, format: ModelFormat, precision: Precision) -> Result<Export, Error> {
    let model =
        build_model(spec, precision).map_err(|source| Error::Zoo { spec: spec.to_owned(), source })?;
    let bytes = match format {
        ModelFormat::TfLite => serenity_tflite::create(&model)
            .map_err(|source| Error::Export { spec: spec.to_owned(), source: source.into() }),
        ModelFormat::Onnx => serenity_onnx::create(&model)
            .map_err(|source| Error::Export { spec: spec.to_owned(), source: source.into() }),
    }?;
    Ok(Export { model, bytes })
}
