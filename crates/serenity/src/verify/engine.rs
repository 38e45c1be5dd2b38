//! The runtimes that can be asked.

use std::fmt;
use std::str::FromStr;

/// A runtime that can run models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// LiteRT (TensorFlow Lite), with its reference kernels.
    LiteRt,
    /// TensorFlow Lite for Microcontrollers: the only one that follows an offline memory plan.
    Tflm,
    /// ONNX Runtime, with its graph optimisation off.
    OnnxRuntime,
}

impl Engine {
    /// Every engine with the name it is asked for by.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        [Self::LiteRt, Self::Tflm, Self::OnnxRuntime].into_iter().map(|engine| (engine.name(), engine))
    }

    /// The name it is asked for by.
    pub fn name(self) -> &'static str {
        match self {
            Self::LiteRt => "litert",
            Self::Tflm => "tflm",
            Self::OnnxRuntime => "onnxruntime",
        }
    }

    /// The name people know it by.
    pub fn title(self) -> &'static str {
        match self {
            Self::LiteRt => "LiteRT",
            Self::Tflm => "TensorFlow Lite for Microcontrollers",
            Self::OnnxRuntime => "ONNX Runtime",
        }
    }

    /// The Python packages of which one is needed.
    pub fn packages(self) -> &'static str {
        match self {
            Self::LiteRt => "ai_edge_litert, tflite_runtime or tensorflow",
            Self::Tflm => "tflite_micro",
            Self::OnnxRuntime => "onnxruntime",
        }
    }

    /// What `pip install` calls the package to install.
    pub(crate) fn to_install(self) -> &'static str {
        match self {
            Self::LiteRt => "ai-edge-litert",
            Self::Tflm => "tflite-micro",
            Self::OnnxRuntime => "onnxruntime",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::all().find(|(known, _)| *known == name).map(|(_, engine)| engine).ok_or(UnknownEngine)
    }
}

/// A name that is not one of an [`Engine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected litert, tflm or onnxruntime")]
pub struct UnknownEngine;
