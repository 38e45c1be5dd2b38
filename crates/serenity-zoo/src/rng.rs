//! Random numbers that are the same on every platform and in every release.
//!
//! Only the generator itself, PCG XSL 128/64 (MCG), comes from a library: its output is fixed by its definition.
//! Seeding, ranges and shuffles, which libraries change between releases, are spelled out here.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;
use serenity_search::{evenly_below, mix};

/// A reproducible stream of random numbers.
pub(crate) struct Rng(Pcg64Mcg);

impl Rng {
    /// One of many independent streams of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let low = mix(seed);
        let high = mix(low ^ mix(stream.wrapping_add(1)));
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        evenly_below(bound, || self.next())
    }

    /// Uniform in `low..=high`; `low` if the range is empty.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// A position in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// True with probability `p`.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits, which a double holds exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn streams_and_seeds_differ() {
        let draw = |seed, stream| Rng::new(seed, stream).next();
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_ne!(draw(0, 1), draw(1, 0));
    }

    #[test]
    fn edges_of_the_ranges() {
        let mut rng = Rng::new(9, 0);
        assert_eq!((rng.below(0), rng.below(1), rng.between(5, 5), rng.between(5, 4)), (0, 0, 5, 5));
        assert!(!rng.chance(0.0));
        assert!(rng.chance(1.0));
        rng.between(0, u64::MAX);
        rng.below(u64::MAX);
    }
}
