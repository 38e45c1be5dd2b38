//! The kernels of C that `serenity emit` writes with calls into CMSIS-NN: functions of the library where there are
//! some, and the kernels of emitted C elsewhere. Two sets, for cores without vectors and with them: these ask for
//! working memory of several kilobytes where others ask for none.

use super::{KernelSet, Kernels};
use crate::scratch;

const DERIVED_FROM: &[&str] =
    &["crates/serenity-emit/src/c/*.c", "what is named for cmsis-nn and cmsis-nn-mve"];

pub(super) const SET: KernelSet = KernelSet {
    cores: "all that have a C11 compiler and no vectors (MVE); built by GCC or clang; no interpreter, and nothing kept beside the arena",
    library: "CMSIS-NN of 2026 (99f736a6), and the C that this version of Serenity writes",
    releases: &[],
    derived_from: DERIVED_FROM,
    sets: &[Kernels::EmittedCmsisNn],
    scratch: scratch::emitted_cmsis_nn::scratch,
};

pub(super) const SET_MVE: KernelSet = KernelSet {
    cores: "Arm cores with vectors (MVE, called Helium): Cortex-M52, M55, M85; no interpreter, and nothing kept beside the arena",
    library: "CMSIS-NN of 2026 (99f736a6), and the C that this version of Serenity writes",
    releases: &[],
    derived_from: DERIVED_FROM,
    sets: &[Kernels::EmittedCmsisNnMve],
    scratch: scratch::emitted_cmsis_nn::scratch_mve,
};
