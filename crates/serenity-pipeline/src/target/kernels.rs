//! Names of kernels: those that are modelled, and those of LiteRT that are only known by name.

use super::Spelling;
use crate::{Error, Input};
use serenity_runtimes::{Kernels, MemoryModel};
use std::fmt;
use std::str::FromStr;

/// Kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelsName {
    /// A kernel set that TFLM may be built with, or that of emitted C. Of LiteRT's kernels, `reference`.
    Known(Kernels),
    /// LiteRT's own optimised kernels.
    Builtin,
    /// LiteRT's delegate for CPUs.
    Xnnpack,
}

const BUILTIN: &str = "builtin";
const XNNPACK: &str = "xnnpack";

impl KernelsName {
    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Kernels::all().map(|(name, _)| name).chain([BUILTIN, XNNPACK])
    }

    /// Each name, and other names for the same kernels: those with a release of the library.
    pub fn names_and_aliases() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        let aliases = |name: &str| name.parse().map_or(&[][..], |set: Kernels| set.about().releases);
        Self::names().map(move |name| (name, aliases(name)))
    }

    /// The memory model with these kernels.
    pub(super) fn of(self, model: MemoryModel, input: &Input, said: Spelling) -> Result<MemoryModel, Error> {
        let (option, asked) = (said.option("kernels"), said.with("kernels", &self.to_string()));
        let unfit = |reason: String, remedy: String| Err(Error::Unfit { reason, remedy });
        match (self, model) {
            (Self::Known(Kernels::Reference), MemoryModel::Litert) => Ok(model),
            (_, MemoryModel::Litert) => {
                let reference = said.with("kernels", "reference");
                unfit(
                    self.not_modelled(),
                    format!(
                        "`{reference}` counts LiteRT's arena with its reference kernels, which need the least; measure others in the runtime"
                    ),
                )
            }
            (Self::Known(_), MemoryModel::Ort(_)) => unfit(
                format!("{asked}: those are kernels of TFLM, and `{}` is for ONNX Runtime", input.name),
                format!("leave out {option}"),
            ),
            (Self::Known(kernels), _) if model.kernels().is_some() => Ok(model.with_kernels(kernels)),
            (Self::Known(_), _) => unfit(
                format!("{asked}: those are kernels of TFLM, which the memory model `{model}` does not have"),
                format!("add {}, or leave out {option}", said.with("runtime", "tflm")),
            ),
            (Self::Builtin | Self::Xnnpack, _) => {
                let known: Vec<&str> = Kernels::all().map(|(name, _)| name).collect();
                let litert = said.with("runtime", "litert");
                unfit(
                    format!("kernels `{self}` are LiteRT's"),
                    format!("add {litert}, or name kernels of TFLM: {}", known.join(", ")),
                )
            }
        }
    }

    /// Are these kernels of CMSIS-NN, or do they call it?
    pub fn are_of_cmsis_nn(self) -> bool {
        let Self::Known(kernels) = self else { return false };
        matches!(
            kernels,
            Kernels::CmsisNn | Kernels::CmsisNnMve | Kernels::EmittedCmsisNn | Kernels::EmittedCmsisNnMve
        )
    }

    /// Why nothing can be said of kernels on LiteRT.
    fn not_modelled(self) -> String {
        match self {
            Self::Known(kernels) => format!("LiteRT has no kernels `{kernels}`"),
            Self::Builtin => {
                "LiteRT's built-in optimised kernels are not modelled: how much they lay out for a convolution depends on the machine and its threads".to_owned()
            }
            Self::Xnnpack => {
                "XNNPACK is not modelled: it takes operators out of LiteRT's arena, and packs weights and workspaces in memory of its own".to_owned()
            }
        }
    }
}

impl FromStr for KernelsName {
    type Err = <Kernels as FromStr>::Err;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            BUILTIN => Ok(Self::Builtin),
            XNNPACK => Ok(Self::Xnnpack),
            name => Kernels::named(name).map_or_else(|| name.parse(), Ok).map(Self::Known),
        }
    }
}

impl fmt::Display for KernelsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(kernels) => write!(f, "{kernels}"),
            Self::Builtin => f.write_str(BUILTIN),
            Self::Xnnpack => f.write_str(XNNPACK),
        }
    }
}
