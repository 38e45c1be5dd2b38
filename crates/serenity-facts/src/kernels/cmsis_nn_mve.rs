//! Arm's CMSIS-NN on cores with vectors (MVE, called Helium).

use super::{KernelSet, Kernels};
use crate::scratch;

pub(super) const SET: KernelSet = KernelSet {
    cores: "Arm cores with vectors (MVE, called Helium): Cortex-M52, M55, M85",
    library: "CMSIS-NN of 2026 (4ab83cc3) as TensorFlow Lite for Microcontrollers of 2026 (90b983c2b) calls it",
    releases: &[],
    derived_from: &[
        "tensorflow/lite/micro/kernels/cmsis_nn/*.cc",
        "arm_convolve_wrapper_s8_get_buffer_size_mve, arm_convolve_s8, arm_convolve_s16_get_buffer_size_mve",
        "arm_depthwise_conv_wrapper_s8_get_buffer_size_mve, arm_depthwise_conv_s8_opt (blocks of 124 channels), arm_depthwise_conv_to_conv_s8",
        "arm_fully_connected_s8_get_buffer_size_mve, arm_svdf_s8_get_buffer_size_mve, arm_transpose_conv_s8_get_buffer_size_mve",
        "arm_avgpool_s8, arm_max_pool_s8, arm_elementwise_add_s8, arm_elementwise_mul_s8, arm_softmax_s8",
    ],
    sets: &[Kernels::CmsisNnMve],
    scratch: scratch::cmsis_nn_mve::scratch,
};
