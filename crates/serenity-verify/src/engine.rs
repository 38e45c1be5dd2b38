//! The runtimes that can compare models.

/// A runtime that can run models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// LiteRT (TensorFlow Lite), with its reference kernels.
    LiteRt,
    /// `LiteRT` with its own optimised kernels, and no delegate.
    LiteRtBuiltin,
    /// `LiteRT` with its defaults: XNNPACK where that takes an operator, optimised kernels elsewhere.
    LiteRtXnnpack,
    /// TensorFlow Lite for Microcontrollers: the only one that follows an offline memory plan.
    Tflm,
    /// ONNX Runtime, with its graph optimisation off.
    OnnxRuntime,
}

serenity_search::named! { "engine": Engine {
    "litert" => LiteRt, "litert-builtin" => LiteRtBuiltin, "litert-xnnpack" => LiteRtXnnpack, "tflm" => Tflm, "onnxruntime" => OnnxRuntime,
} }

impl Engine {
    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LiteRt => "LiteRT, reference kernels",
            Self::LiteRtBuiltin => "LiteRT, optimised kernels",
            Self::LiteRtXnnpack => "LiteRT, XNNPACK",
            Self::Tflm => "TensorFlow Lite for Microcontrollers",
            Self::OnnxRuntime => "ONNX Runtime",
        }
    }

    /// The Python packages, of which one is needed.
    pub fn packages(self) -> &'static str {
        match self {
            Self::LiteRt | Self::LiteRtBuiltin | Self::LiteRtXnnpack => {
                "ai_edge_litert, tflite_runtime or tensorflow"
            }
            Self::Tflm => "tflite_micro",
            Self::OnnxRuntime => "onnxruntime",
        }
    }

    /// Is it `LiteRT` with kernels made for speed?
    pub(super) fn is_fast_litert(self) -> bool {
        matches!(self, Self::LiteRtBuiltin | Self::LiteRtXnnpack)
    }

    /// The package for `pip install`.
    pub(crate) fn to_install(self) -> &'static str {
        match self {
            Self::LiteRt | Self::LiteRtBuiltin | Self::LiteRtXnnpack => "ai-edge-litert",
            Self::Tflm => "tflite-micro",
            Self::OnnxRuntime => "onnxruntime",
        }
    }
}
