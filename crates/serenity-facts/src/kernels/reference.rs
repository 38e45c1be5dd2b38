//! TFLM's portable kernels.

use super::{KernelSet, Kernels};
use crate::scratch;

pub(super) const SET: KernelSet = KernelSet {
    cores: "all; what the Python package `tflite-micro` runs",
    library: "TensorFlow Lite for Microcontrollers of 2026 (90b983c2b), and the Python package of the tests",
    releases: &[],
    derived_from: &["tensorflow/lite/micro/kernels/*.cc", "tensorflow/lite/kernels/internal/reference/*.h"],
    sets: &[Kernels::Reference],
    scratch: scratch::reference::scratch,
};
