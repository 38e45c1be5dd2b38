//! The kernels of the C that `serenity emit` writes. There is no interpreter, so they are no kernels of TFLM: a plan for them is for that code alone.

use super::{KernelSet, Kernels};

pub(super) const SET: KernelSet = KernelSet {
    cores: "all that have a C11 compiler; no interpreter, and nothing kept beside the arena",
    library: "the C that this version of Serenity writes",
    derived_from: &["crates/serenity-emit/src/c/*.c"],
    sets: &[Kernels::Emitted],
    // Sums are in registers, tables are constants.
    scratch: |_| Some(Vec::new()),
};
