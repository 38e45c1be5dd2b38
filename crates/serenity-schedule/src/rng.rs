//! Random numbers that are the same on every platform and in every release.
//!
//! `SplitMix64` is fixed by its definition, and ranges, which libraries change between releases, are spelled out.

use serenity_search::{evenly_below, mix};

const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// A reproducible stream of random numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // Mixed, so that the streams of close seeds do not overlap.
        Self(mix(seed))
    }

    fn next(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN_RATIO);
        drawn
    }

    /// Uniform in `0..bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        evenly_below(bound, || self.next())
    }
}

/// One well-mixed word for each number, so that the hash of a set is the XOR over its elements.
pub(crate) fn hash_keys(count: u32) -> Vec<u64> {
    (0..u64::from(count)).map(|i| mix(i.wrapping_mul(GOLDEN_RATIO))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        // The first outputs of SplitMix64 for the seed 0, as in its reference implementation.
        let mut reference = Rng(0);
        assert_eq!([reference.next(), reference.next()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        assert_eq!(hash_keys(2)[..], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        let mut random = Rng::new(1);
        let drawn: Vec<u64> = (0..8).map(|_| random.below(100)).collect();
        assert_eq!(drawn, [58, 46, 52, 73, 37, 60, 99, 99]);
    }
}
