//! The kernels of the C that `serenity emit` writes, in two sets: the same order of reads and writes, but other
//! weights. There is no interpreter, so they are no kernels of TFLM: a plan for them is for that code alone.

use super::{KernelSet, Kernels};

pub(super) const SET: KernelSet = KernelSet {
    cores: "all that have a C11 compiler; no interpreter, and nothing kept beside the arena",
    library: "the C that this version of Serenity writes",
    releases: &[],
    derived_from: &["crates/serenity-emit/src/c/*.c"],
    sets: &[Kernels::Emitted],
    // Sums are in registers, tables are constants.
    scratch: |_| Some(Vec::new()),
};

pub(super) const SET_HELIUM: KernelSet = KernelSet {
    cores: "Arm cores with vectors (MVE, called Helium): Cortex-M52, M55, M85; others compute the same, but slower",
    sets: &[Kernels::EmittedHelium],
    ..SET
};
