//! The names of the runtimes, and the parts of their setup that affect memory.

use crate::{Kernels, OrtOrder, OrtSetup};

/// How a runtime spends memory. The choice changes what an order costs, never which orders are possible.
///
/// This is a name. What each runtime does is derived twice, by code that shares nothing:
/// `MemoryModelExt` of `serenity-runtimes`, by which plans are made, and `serenity-check`, by which
/// they are checked.
///
/// Matched without a wildcard wherever it decides something: a new model does not compile before every place has decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryModel {
    /// Every tensor has its own buffer, from its producer to its last reader; inputs are there from the start until their last
    /// reader, outputs stay to the end.
    #[default]
    Plain,
    /// The semantics under which the figures of the paper come out: as [`Plain`](Self::Plain), but a concatenation is a
    /// view (its pieces stay where they are until the last reader of the view, the result costs nothing), and the
    /// partial results that an `ACCUMULATE` adds up are written into one buffer, which the first of them brings to
    /// life.
    Paper,
    /// TensorFlow Lite for Microcontrollers: as [`Plain`](Self::Plain), but sizes are rounded up to 16 bytes, an int4
    /// tensor takes a byte an element, and what the kernels ask for as scratch is in use while they run. Nothing is
    /// done in place unless a plan in the model says so.
    Tflm(Kernels),
    /// TensorFlow Lite for Microcontrollers with a plan of the arena in the model, as Serenity writes it: an op may
    /// write its output over an input that nobody else reads, as closely as these kernels allow.
    TflmPlanned(Kernels),
    /// LiteRT (TensorFlow Lite) with its reference kernels and no delegate: graph inputs and what nobody reads stay for
    /// the whole run, some operators write over an input that nobody else reads, reshaping ones share their input's
    /// memory, some results lie outside the arena, and what the kernels have in it besides their tensors is in use
    /// while they run ([`LitertKernels`](crate::LitertKernels)).
    Litert,
    /// ONNX Runtime on the CPU: graph inputs are the caller's, outputs have memory of their own, some operators write
    /// over an input that nobody else reads, reshaping ones share their input's memory.
    Ort(OrtSetup),
}

serenity_search::named! {
    "memory model": MemoryModel {
        "plain" => Plain,
        "paper" => Paper,
        "tflm" => Tflm(Kernels::Any),
        "tflm-planned" => TflmPlanned(Kernels::Any),
        "litert" => Litert,
        "ort" => Ort(OrtSetup::PLAIN),
    }
}

impl MemoryModel {
    /// The kernels, and whether the arena is planned, if it is one of TFLM's.
    fn tflm(self) -> Option<(Kernels, bool)> {
        match self {
            Self::Tflm(kernels) => Some((kernels, false)),
            Self::TflmPlanned(kernels) => Some((kernels, true)),
            Self::Plain | Self::Paper | Self::Litert | Self::Ort(_) => None,
        }
    }

    /// The kernels that matter, if it is one of TFLM's.
    pub fn kernels(self) -> Option<Kernels> {
        self.tflm().map(|(kernels, _)| kernels)
    }

    /// This memory model for other kernels; unchanged if it is not TFLM's.
    #[must_use]
    pub fn with_kernels(self, kernels: Kernels) -> Self {
        let tflm = if self.is_planned() { Self::TflmPlanned(kernels) } else { Self::Tflm(kernels) };
        self.tflm().map_or(self, |_| tflm)
    }

    /// How the session of ONNX Runtime is set up, if this is its model.
    pub fn ort(self) -> Option<OrtSetup> {
        match self {
            Self::Ort(setup) => Some(setup),
            Self::Plain | Self::Paper | Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert => None,
        }
    }

    /// In which order ONNX Runtime runs a file, if this is its model.
    pub fn ort_order(self) -> Option<OrtOrder> {
        self.ort().map(|setup| setup.order)
    }

    /// This memory model for another session; unchanged if it is not ONNX Runtime's.
    #[must_use]
    pub fn with_ort(self, setup: OrtSetup) -> Self {
        self.ort().map_or(self, |_| Self::Ort(setup))
    }

    /// Does it stand for a runtime, which computes also what depends on constants only?
    pub fn is_runtime(self) -> bool {
        match self {
            Self::Plain | Self::Paper => false,
            Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert | Self::Ort(_) => true,
        }
    }

    /// This memory model for a model with a plan of its arena; unchanged if it is not TFLM's.
    #[must_use]
    pub fn with_plan(self) -> Self {
        self.kernels().map_or(self, Self::TflmPlanned)
    }

    /// This memory model for a model without a plan of its arena.
    #[must_use]
    pub fn without_plan(self) -> Self {
        self.kernels().map_or(self, Self::Tflm)
    }

    /// Is the model taken to carry a plan of its arena?
    pub fn is_planned(self) -> bool {
        self.tflm().is_some_and(|(_, is_planned)| is_planned)
    }
}
