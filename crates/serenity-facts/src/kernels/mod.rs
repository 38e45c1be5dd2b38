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

/// The kernels that `TensorFlow` Lite for Microcontrollers is built with. They compute the same, but need different
/// working memory.
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
    /// ESP-NN 1.0.0 to 1.1.2 on the ESP32-S3. Versions of a library differ in scratch alone.
    EspNnS3V1_1,
    /// ESP-NN 1.2.0 on the ESP32-S3.
    EspNnS3V1_2_0,
    /// ESP-NN 1.2.1 and 1.2.2 on the ESP32-S3.
    EspNnS3V1_2_1,
    /// The kernels of C that is emitted without an interpreter. No kernels of TFLM, so not among those of [any](Self::Any) kind.
    Emitted,
    /// Emitted C for Arm cores with vectors (MVE), which compute int8 layers by them.
    EmittedHelium,
    /// Emitted C that calls CMSIS-NN, on cores without vectors.
    EmittedCmsisNn,
    /// Emitted C that calls CMSIS-NN, on cores with vectors.
    EmittedCmsisNnMve,
}

serenity_search::named! { "kernels": Kernels {
    "any" => Any, "reference" => Reference, "cmsis-nn" => CmsisNn, "cmsis-nn-mve" => CmsisNnMve, "esp-nn" => EspNn, "esp-nn-s3" => EspNnS3,
    "esp-nn-s3@1.1" => EspNnS3V1_1, "esp-nn-s3@1.2.0" => EspNnS3V1_2_0, "esp-nn-s3@1.2.1" => EspNnS3V1_2_1,
    "emitted" => Emitted, "emitted-helium" => EmittedHelium, "emitted-cmsis-nn" => EmittedCmsisNn, "emitted-cmsis-nn-mve" => EmittedCmsisNnMve,
} }

/// What is known of a set of kernels.
#[derive(Debug)]
pub struct KernelSet {
    /// The processors that it runs on.
    pub cores: &'static str,
    /// The library, and the version of it that was read and measured.
    pub library: &'static str,
    /// The name of the set with each release of its library that asks for just this scratch, the oldest first; empty
    /// where releases were not compared.
    pub releases: &'static [&'static str],
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
            Self::EspNnS3V1_1 => &esp_nn_s3::SET_1_1,
            Self::EspNnS3V1_2_0 => &esp_nn_s3::SET_1_2_0,
            Self::EspNnS3V1_2_1 => &esp_nn_s3::SET_1_2_1,
            Self::Emitted => &emitted::SET,
            Self::EmittedHelium => &emitted::SET_HELIUM,
            Self::EmittedCmsisNn => &emitted_cmsis_nn::SET,
            Self::EmittedCmsisNnMve => &emitted_cmsis_nn::SET_MVE,
        }
    }

    /// Are these kernels of code without an interpreter, which is written from a plan?
    pub fn are_emitted(self) -> bool {
        matches!(self, Self::Emitted | Self::EmittedHelium | Self::EmittedCmsisNn | Self::EmittedCmsisNnMve)
    }

    /// The set with this name, or with this release behind its name, as in `esp-nn-s3@1.1.2`.
    pub fn named(name: &str) -> Option<Self> {
        let has_release = |set: &Self| set.about().releases.contains(&name);
        name.parse().ok().or_else(|| Self::all().map(|(_, set)| set).find(has_release))
    }

    /// This set in the newest version of its library that is known. Only scratch differs.
    #[must_use]
    pub fn newest(self) -> Self {
        match self {
            Self::EspNnS3V1_1 | Self::EspNnS3V1_2_0 | Self::EspNnS3V1_2_1 => Self::EspNnS3,
            other => other,
        }
    }

    /// This set in all versions of its library that are known, the oldest first.
    pub fn versions(self) -> &'static [Self] {
        match self.newest() {
            Self::EspNnS3 => &[Self::EspNnS3V1_1, Self::EspNnS3V1_2_0, Self::EspNnS3V1_2_1, Self::EspNnS3],
            other => other.sets().iter().find(|set| **set == other).map_or(&[], std::slice::from_ref),
        }
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
            "vectors".parse::<Kernels>().unwrap_err().to_string(),
            "unknown kernels `vectors`; choose one of: any, reference, cmsis-nn, cmsis-nn-mve, esp-nn, esp-nn-s3, esp-nn-s3@1.1, esp-nn-s3@1.2.0, esp-nn-s3@1.2.1, emitted, emitted-helium, emitted-cmsis-nn, emitted-cmsis-nn-mve"
        );
    }

    #[test]
    fn a_release_names_one_set() {
        for (name, set) in Kernels::all() {
            let releases = set.about().releases;
            assert!(releases.iter().all(|release| Kernels::named(release) == Some(set)), "{name}");
            assert!(releases.iter().all(|release| release.split('@').next() == name.split('@').next()));
            assert!(set.newest().versions().contains(&set) || set == Kernels::Any, "{name}");
            assert_eq!(name.split('@').next(), Some(set.newest().name()));
        }
        let releases = ["1.0.0", "1.1.2", "1.2.0", "1.2.1", "1.2.2", "1.2.3"];
        let sets = releases.map(|release| Kernels::named(&format!("esp-nn-s3@{release}")));
        let [old, _, next, new, _, newest] = sets.map(Option::unwrap);
        assert_eq!(Kernels::EspNnS3.versions(), [old, next, new, newest]);
        // What was not read is not guessed.
        for name in ["esp-nn-s3@1.3.0", "esp-nn-s3@", "esp-nn@1", "cmsis-nn@6.0.0", "@1.2.3", "helium"] {
            assert_eq!(Kernels::named(name), None, "{name}");
        }
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
