//! Files to be written: refused before the work begins, written together when it is done.

use crate::Failure;
use serenity::NewFile;
use serenity::ir::{Graph, json, to_dot};
use std::path::Path;

/// A place for a graph, in the format its name asks for.
pub(crate) struct GraphFile<'a> {
    path: &'a str,
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Dot,
}

impl<'a> GraphFile<'a> {
    /// Refuses what could not be written in the end.
    pub(crate) fn new(path: &'a str) -> Result<Self, Failure> {
        let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
        let format = match extension.to_ascii_lowercase().as_str() {
            "json" => Format::Json,
            "dot" | "gv" => Format::Dot,
            _ => {
                return Err(Failure::request(
                    format!("`{path}`: cannot tell the format from the name"),
                    "end the name in .json, or in .dot for Graphviz",
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

    pub(crate) fn text(&self, graph: &Graph) -> String {
        match self.format {
            Format::Json => json::write(graph),
            Format::Dot => to_dot(graph),
        }
    }

    pub(crate) fn write(&self, graph: &Graph) -> Result<(), Failure> {
        Ok(serenity::write_atomically(self.path, self.text(graph).as_bytes())?)
    }

    pub(crate) fn with<'b>(&'b self, text: &'b str) -> NewFile<'b> {
        NewFile { path: self.path, bytes: text.as_bytes() }
    }
}
