//! Espressif's ESP-NN on the ESP32-S3.

use super::{KernelSet, Kernels};
use crate::scratch;

pub(super) const SET: KernelSet = KernelSet {
    cores: "ESP32-S3 with its vector instructions",
    library: "ESP-NN 1.2.3 (d45b843c) as esp-tflite-micro (99f49e14) calls it; sizes measured, assembly neither read nor run",
    derived_from: &[
        "tensorflow/lite/micro/kernels/esp_nn/*.cc",
        "esp_nn_get_conv_scratch_size_esp32s3, esp_nn_get_depthwise_conv_scratch_size_esp32s3, esp_nn_get_softmax_scratch_size_esp32s3",
    ],
    sets: &[Kernels::EspNnS3],
    scratch: scratch::esp_nn::scratch_s3,
};
