//! The supported formats.

use crate::{FileError, GraphFile, ModelFile, onnx, tflite};
use serenity_ir::{ElementType, Model};
use serenity_runtimes::{Kernels, MemoryModel, OrtSetup};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A graph without weights, in our own format.
    Json,
    /// TensorFlow Lite.
    TfLite,
    /// ONNX.
    Onnx,
}

/// How to read a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Leave out operators that read constants only, and take what they write for constants: fewer activations than the
    /// runtimes really hold. 16-bit floats behind `DEQUANTIZE` become 32-bit floats of the file; a `.tflite` model of
    /// which more is left out cannot be written back.
    pub fold_constants: bool,
    /// The memory model that figures will speak of, if that is settled. `plain` and `paper` stand for no runtime, which
    /// would run operators on constants: for them, those of an `.onnx` model are left out in any case.
    pub model: Option<MemoryModel>,
    /// For `.onnx`: shapes of dynamic inputs, and of other tensors whose shape cannot be inferred, by name.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// For `.onnx`: element types of tensors whose type cannot be inferred, by name.
    pub types: BTreeMap<String, ElementType>,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Json, Self::TfLite, Self::Onnx];

    /// The extensions of its files; the first is the usual one.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["json"],
            Self::TfLite => &["tflite", "lite"],
            Self::Onnx => &["onnx"],
        }
    }

    /// The format that the name of a file asks for.
    ///
    /// ```
    /// use serenity_formats::Format;
    /// assert_eq!(Format::of_path("net.tflite"), Some(Format::TfLite));
    /// assert_eq!(Format::of_path("net.ONNX"), Some(Format::Onnx));
    /// assert_eq!(Format::of_path("net.png"), None);
    /// ```
    pub fn of_path(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
    }

    /// The format that the bytes of a file look like. Only reading them tells whether they are one: what is neither of
    /// the others is taken for ONNX, which has no mark of its own.
    ///
    /// ```
    /// use serenity_formats::Format;
    /// assert_eq!(Format::of_bytes(b"\x1c\0\0\0TFL3"), Format::TfLite);
    /// assert_eq!(Format::of_bytes(b"\n {\"ops\": []}"), Format::Json);
    /// assert_eq!(Format::of_bytes(b"\x08\x07"), Format::Onnx);
    /// ```
    pub fn of_bytes(bytes: &[u8]) -> Self {
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            _ if bytes.get(4..8) == Some(b"TFL3") => Self::TfLite,
            Some(b'{') => Self::Json,
            _ => Self::Onnx,
        }
    }

    /// Do its files hold weights, so that a runtime can run them?
    pub fn has_weights(self) -> bool {
        match self {
            Self::Json => false,
            Self::TfLite | Self::Onnx => true,
        }
    }

    /// The memory model that fits its files, if nothing else is said.
    pub fn default_model(self) -> MemoryModel {
        match self {
            Self::Json => MemoryModel::Plain,
            Self::TfLite => MemoryModel::Tflm(Kernels::Any),
            Self::Onnx => MemoryModel::Ort(OrtSetup::PLAIN),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is not in this format. Any bytes give a file or an error.
    pub fn read(self, bytes: Vec<u8>, options: &ReadOptions) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(match self {
            Self::Json => Arc::new(GraphFile::read(bytes)?),
            Self::TfLite => Arc::new(tflite::read(bytes, options)?),
            Self::Onnx => Arc::new(onnx::read(bytes, options)?),
        })
    }

    /// A model as a file.
    ///
    /// # Errors
    /// If the format has no room for it.
    pub fn create(self, model: &Model) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        Ok(match self {
            Self::Json => serenity_ir::json::write(model.graph()).into_bytes(),
            Self::TfLite => serenity_tflite::create(model)?,
            Self::Onnx => serenity_onnx::create(model)?,
        })
    }
}
