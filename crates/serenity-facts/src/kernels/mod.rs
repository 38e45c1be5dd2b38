//! The sets of kernels that TFLM may be built with, one file per set, with the sources of what is known about it.

mod any;
mod cmsis_nn;
mod cmsis_nn_mve;
mod emitted;
mod emitted_cmsis_nn;
mod esp_nn;
mod esp_nn_s3;
mod reference;

use serenity_ir::Call;

/// The kernels that `TensorFlow` Lite for Microcontrollers is built with. They compute the same, but need different working memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kernels {
    /// Not known. What is planned and said holds for each of some [sets](Self::sets).
    #[default]
    Any,
    /// The portable kernels, as in the Python package `tflite-micro`.
    Reference,
    /// Arm's CMSIS-NN on cores with the DSP extension and without vectors.
    CmsisNn,
    /// Arm's CMSIS-NN on cores with vectors.
    CmsisNnMve,
    /// Espressif's ESP-NN where it is written in C.
    EspNn,
    /// Espressif's ESP-NN on the ESP32-S3, where it is written in assembly.
    EspNnS3,
    /// The kernels of C that is emitted without an interpreter. No kernels of TFLM, so not among those of [any](Self::Any) kind.
    Emitted,
    /// Emitted C that calls CMSIS-NN, on cores without vectors.
    EmittedCmsisNn,
    /// Emitted C that calls CMSIS-NN, on cores with vectors.
    EmittedCmsisNnMve,
}

serenity_search::named! { "kernels": Kernels {
    "any" => Any, "reference" => Reference, "cmsis-nn" => CmsisNn, "cmsis-nn-mve" => CmsisNnMve, "esp-nn" => EspNn, "esp-nn-s3" => EspNnS3,
    "emitted" => Emitted, "emitted-cmsis-nn" => EmittedCmsisNn, "emitted-cmsis-nn-mve" => EmittedCmsisNnMve,
} }

/// What is known of a set of kernels.
#[derive(Debug)]
pub struct KernelSet {
    /// The processors that it runs on.
    pub cores: &'static str,
    /// The library, and the version of it that was read and measured.
    pub library: &'static str,
    /// The functions in which was read what is said here.
    pub derived_from: &'static [&'static str],
    /// Those which it may turn out to be: itself, unless it stands for several.
    pub sets: &'static [Kernels],
    pub(crate) scratch: fn(&Call) -> Option<Vec<u64>>,
}

impl Kernels {
    /// What is known of the set.
    pub fn about(self) -> &'static KernelSet {
        match self {
            Self::Any => &any::SET,
            Self::Reference => &reference::SET,
            Self::CmsisNn => &cmsis_nn::SET,
            Self::CmsisNnMve => &cmsis_nn_mve::SET,
            Self::EspNn => &esp_nn::SET,
            Self::EspNnS3 => &esp_nn_s3::SET,
            Self::Emitted => &emitted::SET,
            Self::EmittedCmsisNn => &emitted_cmsis_nn::SET,
            Self::EmittedCmsisNnMve => &emitted_cmsis_nn::SET_MVE,
        }
    }

    /// Are these kernels of code without an interpreter, which is written from a plan?
    pub fn are_emitted(self) -> bool {
        matches!(self, Self::Emitted | Self::EmittedCmsisNn | Self::EmittedCmsisNnMve)
    }

    /// The sets of kernels that one of them may turn out to be.
    pub fn sets(self) -> &'static [Self] {
        self.about().sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (name, kernels) in Kernels::all() {
            assert_eq!(name.parse(), Ok(kernels));
            assert_eq!(kernels.to_string(), name);
        }
        assert_eq!(Kernels::default(), Kernels::Any);
        assert_eq!(
            "helium".parse::<Kernels>().unwrap_err().to_string(),
            "unknown kernels `helium`; choose one of: any, reference, cmsis-nn, cmsis-nn-mve, esp-nn, esp-nn-s3, emitted, emitted-cmsis-nn, emitted-cmsis-nn-mve"
        );
    }

    #[test]
    fn each_set_says_where_it_is_from() {
        for (name, kernels) in Kernels::all() {
            let KernelSet { cores, library, derived_from, sets, .. } = kernels.about();
            assert!(!cores.is_empty() && !library.is_empty() && !derived_from.is_empty(), "{name}");
            // A set by itself is what it may turn out to be.
            assert!(sets.iter().all(|set| set.sets() == [*set]), "{name}");
        }
    }
}
