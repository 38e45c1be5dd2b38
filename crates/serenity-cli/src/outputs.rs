//! Files to be written: refused before the work begins, written together when it is done.

use crate::Failure;
use crate::failure::refuse;
use serenity::ir::{Graph, json, to_dot};
use serenity::write::NewFile;
use serenity::{Format, Input};
use std::path::Path;

/// A place for a model, as its name asks for.
pub(crate) struct OutputFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The graph for Graphviz.
    Dot,
    /// What can be read again.
    File(Format),
}

impl<'a> OutputFile<'a> {
    /// Refuses what could not be written in the end.
    pub(crate) fn new(path: &'a str) -> Result<Self, Failure> {
        let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
        let content = match (Format::of_path(path), extension.to_ascii_lowercase().as_str()) {
            (Some(format), _) => Content::File(format),
            (None, "dot" | "gv") => Content::Dot,
            (None, _) => {
                return refuse(
                    format!("`{path}`: cannot tell the format from the name"),
                    "end the name in .tflite, .onnx or .json, or in .dot for Graphviz",
                );
            }
        };
        serenity::write::check_target(path)?;
        Ok(Self { path, content })
    }

    /// As [`new`](Self::new), for Graphviz only.
    pub(crate) fn dot(path: &'a str) -> Result<Self, Failure> {
        let file = Self::new(path)?;
        if file.content == Content::Dot {
            return Ok(file);
        }
        refuse(format!("`{path}` does not name a Graphviz file"), "end the name in .dot")
    }

    /// Refuses a file that cannot hold this model: it is written in the format it came in, or as a graph.
    pub(crate) fn check(&self, input: &Input) -> Result<(), Failure> {
        let Content::File(format) = self.content else { return Ok(()) };
        let (path, own) = (self.path, input.file.format());
        if !format.has_weights() {
            Ok(())
        } else if !own.has_weights() {
            refuse(
                format!(
                    "cannot write `{path}`: the input is a graph, without the weights that a model needs"
                ),
                "give a .tflite or .onnx file as input; `serenity zoo export NAME -o net.tflite` makes one of a built-in network",
            )
        } else if format != own {
            refuse(
                format!("cannot write `{path}`: a model is written in the format it came in"),
                "end the name as that of the input, or write the graph alone as .json",
            )
        } else if !input.file.is_whole() {
            refuse(
                format!(
                    "cannot write `{path}`: with --fold-constants some operators of the model are left out"
                ),
                "leave out --fold-constants, or write the graph alone as .json",
            )
        } else {
            Ok(serenity::write::check_side_files(input, path)?)
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(serenity::write::write_atomically(self.path, bytes)?)
    }

    pub(crate) fn with<'b>(&'b self, bytes: &'b [u8]) -> NewFile<'b> {
        NewFile { path: self.path, bytes }
    }
}

impl Content {
    /// The graph alone, as text; `None` if there is more to it than that.
    pub(crate) fn graph_text(self, graph: &Graph) -> Option<String> {
        match self {
            Self::Dot => Some(to_dot(graph)),
            Self::File(format) => (!format.has_weights()).then(|| json::write(graph)),
        }
    }
}

/// A folder that an option names; it is made if there is none.
pub(crate) fn make_folder(path: &str, option: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| {
        let reason = if Path::new(path).is_file() { "it is a file".to_owned() } else { error.to_string() };
        Failure::of(
            serenity::ErrorKind::Write,
            format!("cannot write into the folder `{path}`: {reason}"),
            format!("name another with {option} DIR"),
        )
    })
}

/// What an input is called, wherever it lies: a model by the name of its file.
pub(crate) fn file_name(input: &str) -> String {
    match input.strip_prefix("zoo:") {
        Some(network) => network.to_owned(),
        None if input == "-" => "graph".to_owned(),
        None => Path::new(input)
            .file_name()
            .map_or_else(|| input.to_owned(), |name| name.to_string_lossy().into_owned()),
    }
}
