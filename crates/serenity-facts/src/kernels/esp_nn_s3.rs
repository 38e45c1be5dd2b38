//! Espressif's ESP-NN on the ESP32-S3, version by version: releases copy more or less of what a convolution reads to
//! where its vectors can read it.

use super::{KernelSet, Kernels};
use crate::scratch::esp_nn;
use serenity_ir::Call;

const CORES: &str = "ESP32-S3 with its vector instructions";

const DERIVED_FROM: &[&str] = &[
    "tensorflow/lite/micro/kernels/esp_nn/*.cc",
    "esp_nn_get_conv_scratch_size_esp32s3, esp_nn_get_depthwise_conv_scratch_size_esp32s3, esp_nn_get_softmax_scratch_size_esp32s3",
];

pub(super) const SET: KernelSet = KernelSet {
    cores: CORES,
    library: "ESP-NN 1.2.3 (d45b843c) as esp-tflite-micro (99f49e14) calls it; sizes measured, assembly neither read nor run",
    releases: &["esp-nn-s3@1.2.3"],
    derived_from: DERIVED_FROM,
    sets: &[Kernels::EspNnS3],
    scratch: esp_nn::scratch_s3,
};

pub(super) const SET_1_1: KernelSet = older(
    "ESP-NN 1.0.0 (1a35708d) to 1.1.2 (596b0840): sizes read, not measured",
    &[
        "esp-nn-s3@1.0.0",
        "esp-nn-s3@1.0.1",
        "esp-nn-s3@1.0.2",
        "esp-nn-s3@1.1.0",
        "esp-nn-s3@1.1.1",
        "esp-nn-s3@1.1.2",
    ],
    &[Kernels::EspNnS3V1_1],
    esp_nn::scratch_s3_1_1,
);

pub(super) const SET_1_2_0: KernelSet = older(
    "ESP-NN 1.2.0 (b859e50b): sizes read, not measured",
    &["esp-nn-s3@1.2.0"],
    &[Kernels::EspNnS3V1_2_0],
    esp_nn::scratch_s3_1_2_0,
);

pub(super) const SET_1_2_1: KernelSet = older(
    "ESP-NN 1.2.1 (79d59ae3) and 1.2.2 (def4d7a7): sizes read, not measured",
    &["esp-nn-s3@1.2.1", "esp-nn-s3@1.2.2"],
    &[Kernels::EspNnS3V1_2_1],
    esp_nn::scratch_s3_1_2_1,
);

const fn older(
    library: &'static str,
    releases: &'static [&'static str],
    sets: &'static [Kernels],
    scratch: fn(&Call) -> Option<Vec<u64>>,
) -> KernelSet {
    KernelSet { cores: CORES, library, releases, derived_from: DERIVED_FROM, sets, scratch }
}
