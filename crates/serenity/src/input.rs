//! Reading models, whatever they are stored in.

use crate::Error;
use serenity_ir::{Graph, MemoryModel, json};
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

/// A model that was read.
#[derive(Clone, Debug)]
pub struct Input {
    /// The network.
    pub graph: Graph,
    /// The memory model that fits where it came from.
    pub default_model: MemoryModel,
}

/// Reads a model: the path of a `.json` graph, `-` for one on standard input, or `zoo:NAME` for a built-in network.
///
/// # Errors
/// If it cannot be read, or is not a graph. Any bytes give a graph or an error.
pub fn load(source: &str) -> Result<Input, Error> {
    if let Some(spec) = source.strip_prefix("zoo:") {
        let graph =
            serenity_zoo::build(spec).map_err(|error| Error::Zoo { spec: spec.to_owned(), source: error })?;
        return Ok(Input { graph, default_model: MemoryModel::Paper });
    }
    let is_json =
        Path::new(source).extension().and_then(OsStr::to_str).is_some_and(|e| e.eq_ignore_ascii_case("json"));
    if source != "-" && !is_json && Path::new(source).exists() {
        return Err(Error::UnknownFormat { path: source.to_owned() });
    }
    let text = read_text(source)?;
    let graph = json::parse(&text).map_err(|error| Error::Json { path: source.to_owned(), source: error })?;
    Ok(Input { graph, default_model: MemoryModel::Plain })
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read_text(path: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = if path == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|b| bytes = b)
    };
    read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes)
        .map_err(|error| Error::NotText { path: path.to_owned(), position: error.utf8_error().valid_up_to() })
}
