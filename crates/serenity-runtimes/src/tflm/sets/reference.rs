//! TFLM's portable kernels.

use super::{KernelSet, Kernels};
use crate::tflm::tail::{Keeps, layout};
use crate::tflm::{overlap, scratch};

pub(super) const SET: KernelSet = KernelSet {
    cores: "all; what the Python package `tflite-micro` runs",
    library: "TensorFlow Lite for Microcontrollers of 2026 (90b983c2b), and the Python package of the tests",
    derived_from: &["tensorflow/lite/micro/kernels/*.cc", "tensorflow/lite/kernels/internal/reference/*.h"],
    sets: &[Kernels::Reference],
    scratch: scratch::reference::scratch,
    overlaps: overlap::reference::overlaps,
    keeps: Some(Keeps::portable(&layout::ARM32, &layout::ARM32_LARGEST)),
};
