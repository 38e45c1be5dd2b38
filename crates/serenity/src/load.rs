//! Reads models of all formats.

use crate::{Error, Input};
use serenity_formats::{Format, ReadOptions};
use serenity_runtimes::MemoryModel;
use std::io::Read;
use std::path::Path;

/// Reads a model: the path of a `.tflite` or `.onnx` model or of a `.json` graph, `-` for a graph on standard input, or
/// `zoo:NAME` for a built-in network.
///
/// # Errors
/// If it cannot be read, or is not a model. Any bytes give a model or an error.
pub fn load(source: &str) -> Result<Input, Error> {
    load_with(source, &ReadOptions::default())
}

/// Reads a model with options, such as sizes that the model leaves open.
///
/// # Errors
/// As [`load`].
pub fn load_with(source: &str, options: &ReadOptions) -> Result<Input, Error> {
    let name = source.to_owned();
    if let Some(spec) = source.strip_prefix("zoo:") {
        let graph =
            serenity_zoo::build(spec).map_err(|error| Error::Zoo { spec: spec.to_owned(), source: error })?;
        return Ok(Input { name, default_model: MemoryModel::Paper, ..graph.into() });
    }
    let format = match Format::of_path(source) {
        Some(format) => format,
        None if source == "-" || !Path::new(source).exists() => Format::Json,
        None => return Err(Error::UnknownFormat { path: name }),
    };
    load_bytes(source, read_bytes(source)?, format, options)
}

/// Reads a model from memory. `name` is for messages.
///
/// # Errors
/// As [`load`].
pub fn load_bytes(name: &str, bytes: Vec<u8>, format: Format, options: &ReadOptions) -> Result<Input, Error> {
    let name = name.to_owned();
    match format.read(bytes, options) {
        Ok(file) => {
            let default_model = file.session().map_or(format.default_model(), MemoryModel::Ort);
            Ok(Input { name, default_model, file })
        }
        Err(source) => Err(Error::file(&name, source)),
    }
}

/// The bytes of a file, or of standard input for `-`.
fn read_bytes(path: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = if path == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|b| bytes = b)
    };
    read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(bytes)
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read_text(path: &str) -> Result<String, Error> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|error| Error::NotText { path: path.to_owned(), position: error.utf8_error().valid_up_to() })
}
