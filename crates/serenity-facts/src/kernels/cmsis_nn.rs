//! Arm's CMSIS-NN on cores with the DSP extension.

use super::{KernelSet, Kernels};
use crate::scratch;

pub(super) const SET: KernelSet = KernelSet {
    cores: "Arm cores with the DSP extension and without vectors: Cortex-M4, M7, M33, M35P; built by GCC or clang",
    library: "CMSIS-NN of 2026 (4ab83cc3) as TensorFlow Lite for Microcontrollers of 2026 (90b983c2b) calls it",
    releases: &[],
    derived_from: &[
        "tensorflow/lite/micro/kernels/cmsis_nn/*.cc",
        "arm_convolve_wrapper_s8_get_buffer_size_dsp, arm_convolve_s8, arm_convolve_1x1_s8_fast, arm_convolve_s16",
        "arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp, arm_depthwise_conv_3x3_s8, arm_depthwise_conv_s8_opt, arm_depthwise_conv_s8",
        "arm_transpose_conv_s8_get_buffer_size, arm_transpose_conv_s8_get_reverse_conv_buffer_size",
        "arm_avgpool_s8_get_buffer_size_dsp, arm_avgpool_s8, arm_max_pool_s8",
        "arm_elementwise_add_s8, arm_elementwise_mul_s8, arm_maximum_s8, arm_minimum_s8, arm_softmax_s8, arm_pad_s8",
        "arm_lstm_unidirectional_s8, arm_lstm_unidirectional_s16",
    ],
    sets: &[Kernels::CmsisNn],
    scratch: scratch::cmsis_nn::scratch,
};
