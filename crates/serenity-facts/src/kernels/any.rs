//! Kernels of an unknown kind.

use super::{KernelSet, Kernels};
use crate::TFLM_ALIGNMENT;
use serenity_ir::Call;

/// What holds for each set, but for the scratch of ESP-NN on an ESP32-S3: that is several times what all others ask
/// for, and an arena for it would be of no use to anybody else.
pub(super) const SET: KernelSet = KernelSet {
    cores: "those of each of its sets",
    library: "the largest of its sets: TensorFlow Lite for Microcontrollers and CMSIS-NN of 2026, and ESP-NN 1.0.0 to 1.2.3 in C",
    releases: &[],
    derived_from: &["each of its sets"],
    sets: &[Kernels::Reference, Kernels::CmsisNn, Kernels::CmsisNnMve, Kernels::EspNn],
    scratch,
};

/// What the set that needs most room asks for; of equals, the portable one.
fn scratch(call: &Call) -> Option<Vec<u64>> {
    let room = |requests: &[u64]| {
        requests.iter().map(|bytes| bytes.div_ceil(TFLM_ALIGNMENT)).fold(0, u64::saturating_add)
    };
    let of_sets = SET.sets.iter().filter_map(|set| (set.about().scratch)(call));
    of_sets.reduce(|most, other| if room(&other) > room(&most) { other } else { most })
}
