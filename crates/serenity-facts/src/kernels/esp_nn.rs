//! Espressif's ESP-NN where it is written in C.

use super::{KernelSet, Kernels};
use crate::scratch;

pub(super) const SET: KernelSet = KernelSet {
    cores: "ESP32, ESP32-S2, C3, C6 and others without vectors, optimised or not",
    library: "ESP-NN 1.2.3 (d45b843c) as esp-tflite-micro (99f49e14) calls it",
    releases: &[
        "esp-nn@1.0.0",
        "esp-nn@1.0.1",
        "esp-nn@1.0.2",
        "esp-nn@1.1.0",
        "esp-nn@1.1.1",
        "esp-nn@1.1.2",
        "esp-nn@1.2.0",
        "esp-nn@1.2.1",
        "esp-nn@1.2.2",
        "esp-nn@1.2.3",
    ],
    derived_from: &[
        "tensorflow/lite/micro/kernels/esp_nn/*.cc",
        "esp_nn_conv_s8_ansi, esp_nn_conv_s8_opt, esp_nn_depthwise_conv_s8_ansi, esp_nn_depthwise_conv_s8_opt",
        "esp_nn_avg_pool_s8_ansi, esp_nn_max_pool_s8_ansi, esp_nn_fully_connected_s8_ansi",
        "esp_nn_add_elementwise_s8_ansi, esp_nn_mul_elementwise_s8_ansi, esp_nn_softmax_s8_ansi, esp_nn_softmax_s8_opt",
    ],
    sets: &[Kernels::EspNn],
    scratch: scratch::esp_nn::scratch,
};
