//! Random numbers that are the same on every platform and in every release: `SplitMix64`.

use serenity_search::mix;

/// A reproducible stream of random numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Self(seed);
        // Far away from the streams of close seeds.
        rng.0 = rng.next() ^ seed.rotate_left(32);
        rng
    }

    fn next(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        drawn
    }

    /// From `low` to `high`, both included. Close enough to uniform for small ranges.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// A size from `low` to `high`, both included.
    pub(crate) fn size(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    /// From `low` on and below `high`.
    pub(crate) fn real(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    pub(crate) fn choose<T: Clone>(&mut self, list: &[T]) -> T {
        list[(self.next() % list.len() as u64) as usize].clone()
    }
}
