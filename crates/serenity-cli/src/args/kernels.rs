//! What `--kernels` names.

use crate::Failure;
use serenity::runtimes::{Kernels, MemoryModel};
use std::fmt;
use std::str::FromStr;

/// Kernels of TFLM, or those of LiteRT of which only the name is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelsArg {
    /// A set that TFLM may be built with; of LiteRT's, `reference`.
    Known(Kernels),
    /// LiteRT's own optimised kernels.
    Builtin,
    /// LiteRT's delegate for CPUs.
    Xnnpack,
}

const BUILTIN: &str = "builtin";
const XNNPACK: &str = "xnnpack";

impl KernelsArg {
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Kernels::all().map(|(name, _)| name).chain([BUILTIN, XNNPACK])
    }

    /// The memory model with these kernels.
    pub(super) fn of(self, model: MemoryModel, input: &str) -> Result<MemoryModel, Failure> {
        match (self, model) {
            (Self::Known(Kernels::Reference), MemoryModel::Litert) => Ok(model),
            (_, MemoryModel::Litert) => Err(self.not_modelled()),
            (Self::Known(_), MemoryModel::Ort(_)) => Err(Failure::request(
                format!("--kernels {self}: those are kernels of TFLM, and `{input}` is for ONNX Runtime"),
                "leave out --kernels",
            )),
            (Self::Known(kernels), _) if model.kernels().is_some() => Ok(model.with_kernels(kernels)),
            (Self::Known(_), _) => Err(Failure::request(
                format!(
                    "--kernels {self}: those are kernels of TFLM, which the memory model `{model}` does not have"
                ),
                "add --runtime tflm, or leave out --kernels",
            )),
            (Self::Builtin | Self::Xnnpack, _) => Err(Failure::request(
                format!("kernels `{self}` are LiteRT's"),
                format!("add --runtime litert, or name kernels of TFLM: {}", known()),
            )),
        }
    }

    /// Why nothing can be said of kernels on LiteRT.
    fn not_modelled(self) -> Failure {
        let why = match self {
            Self::Known(kernels) => {
                return Failure::request(
                    format!("LiteRT has no kernels `{kernels}`"),
                    "`--kernels reference` is what is modelled of LiteRT",
                );
            }
            Self::Builtin => {
                "LiteRT's built-in optimised kernels are not modelled: how much they lay out for a convolution depends on the machine and its threads"
            }
            Self::Xnnpack => {
                "XNNPACK is not modelled: it takes operators out of LiteRT's arena, and packs weights and workspaces in memory of its own"
            }
        };
        Failure::request(
            why,
            "`--kernels reference` counts LiteRT's arena with its reference kernels, which need the least; measure others in the runtime",
        )
    }
}

fn known() -> String {
    Kernels::all().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

impl FromStr for KernelsArg {
    type Err = <Kernels as FromStr>::Err;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            BUILTIN => Ok(Self::Builtin),
            XNNPACK => Ok(Self::Xnnpack),
            name => name.parse().map(Self::Known),
        }
    }
}

impl fmt::Display for KernelsArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(kernels) => write!(f, "{kernels}"),
            Self::Builtin => f.write_str(BUILTIN),
            Self::Xnnpack => f.write_str(XNNPACK),
        }
    }
}
