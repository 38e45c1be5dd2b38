//! Files to be written: refused before the work begins, written together when it is done.

use crate::Failure;
use serenity::NewFile;
use serenity::ir::{Graph, json, to_dot};
use std::path::Path;

/// A place for a model, in the format its name asks for.
pub(crate) struct OutputFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The graph in our own format.
    Json,
    /// The graph for Graphviz.
    Dot,
    /// A model that TFLM and LiteRT run.
    Tflite,
    /// A model that ONNX Runtime runs.
    Onnx,
}

impl<'a> OutputFile<'a> {
    /// Refuses what could not be written in the end.
    pub(crate) fn new(path: &'a str) -> Result<Self, Failure> {
        let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
        let format = match extension.to_ascii_lowercase().as_str() {
            "json" => Format::Json,
            "dot" | "gv" => Format::Dot,
            "tflite" | "lite" => Format::Tflite,
            "onnx" => Format::Onnx,
            _ => {
                return Err(Failure::request(
                    format!("`{path}`: cannot tell the format from the name"),
                    "end the name in .tflite, .onnx or .json, or in .dot for Graphviz",
                ));
            }
        };
        serenity::check_target(path)?;
        Ok(Self { path, format })
    }

    /// As [`new`](Self::new), for Graphviz only.
    pub(crate) fn dot(path: &'a str) -> Result<Self, Failure> {
        let file = Self::new(path)?;
        if file.format == Format::Dot {
            return Ok(file);
        }
        Err(Failure::request(format!("`{path}` does not name a Graphviz file"), "end the name in .dot"))
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(serenity::write_atomically(self.path, bytes)?)
    }

    pub(crate) fn with<'b>(&'b self, bytes: &'b [u8]) -> NewFile<'b> {
        NewFile { path: self.path, bytes }
    }
}

/// The graph alone, as text; `None` if the format holds more than that.
pub(crate) fn graph_text(format: Format, graph: &Graph) -> Option<String> {
    match format {
        Format::Json => Some(json::write(graph)),
        Format::Dot => Some(to_dot(graph)),
        Format::Tflite | Format::Onnx => None,
    }
}
