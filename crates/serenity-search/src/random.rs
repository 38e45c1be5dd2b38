//! Random numbers that are the same on every machine and in every release.

/// A small generator for local searches and tests, which need variety rather than quality: Knuth's MMIX.
///
/// ```
/// let mut random = serenity_search::Random(1);
/// assert_eq!([random.below(10), random.below(10), random.below(10)], [4, 3, 6]);
/// ```
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// In `0..limit`.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A position in a list of this length.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// An item of a list.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.index(list.len())].clone()
    }

    /// True once in `n` times.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What `SplitMix64` draws in this state: scatters the bits of a number, so that close ones end up far apart.
pub fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Uniform in `0..bound`, made of draws that are uniform over all numbers; 0 if `bound` is 0.
pub fn evenly_below(bound: u64, mut draw: impl FnMut() -> u64) -> u64 {
    if bound < 2 {
        return 0;
    }
    // Keep only draws below the largest multiple of `bound`, so that every remainder is equally likely.
    let unused = (u64::MAX % bound + 1) % bound;
    loop {
        let drawn = draw();
        if drawn <= u64::MAX - unused {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_covered_evenly() {
        let mut state = 0;
        let mut below = |bound| {
            evenly_below(bound, || {
                state += 1;
                mix(state)
            })
        };
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
        assert_eq!((below(0), below(1)), (0, 0));
    }
}
