//! What several tests need: numbers, problems, and a validity check that shares nothing with the planners.
#![allow(dead_code)]

use serenity_arena::{Buffer, Overlap, Placement, Problem};
use std::num::NonZeroU64;

/// A small generator of numbers: the tests need variety, not quality.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub(crate) fn more_than_0(&mut self, most: u64) -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(self.below(most))
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn step(&mut self, limit: u64) -> i64 {
        self.below(limit).cast_signed()
    }
}

/// May these two lie at these offsets?
pub(crate) fn agree(problem: &Problem, a: usize, at: u64, b: usize, other: u64) -> bool {
    let (first, second) = (&problem.buffers()[a], &problem.buffers()[b]);
    let is_fixed = first.offset.is_some() && second.offset.is_some();
    let apart = at + first.size <= other || other + second.size <= at;
    let permits = |overlap: &Overlap| match (overlap.writer, overlap.over) {
        pair if pair == (a, b) => overlap.permits(at, other),
        pair if pair == (b, a) => overlap.permits(other, at),
        _ => false,
    };
    let is_empty = first.size == 0 || second.size == 0;
    is_empty || is_fixed || !first.lives_with(second) || apart || problem.overlaps().iter().any(permits)
}

/// May this buffer lie at this offset, as far as it is concerned alone?
pub(crate) fn is_allowed(problem: &Problem, index: usize, at: u64) -> bool {
    let buffer = &problem.buffers()[index];
    if let Some(offset) = buffer.offset {
        return at == offset;
    }
    let is_free = problem.reserved().iter().all(|range| {
        let meets_in_time = range.first <= buffer.last && buffer.first <= range.last;
        let meets_in_space = at < range.offset + range.size && range.offset < at + buffer.size;
        buffer.size == 0 || range.size == 0 || !meets_in_time || !meets_in_space
    });
    is_free && at.is_multiple_of(problem.alignment()) && at.is_multiple_of(buffer.alignment)
}

/// Every rule of the problem holds, and the height is what is needed.
pub(crate) fn assert_valid(problem: &Problem, placement: &Placement) {
    let buffers = problem.buffers();
    assert_eq!(placement.offsets.len(), buffers.len());
    let mut height = 0;
    for (index, &at) in placement.offsets.iter().enumerate() {
        assert!(is_allowed(problem, index, at), "buffer {index} must not be at {at}: {problem:?}");
        for (before, &other) in placement.offsets[..index].iter().enumerate() {
            assert!(
                agree(problem, index, at, before, other),
                "{index} at {at} meets {before} at {other}: {problem:?}"
            );
        }
        if buffers[index].size > 0 {
            height = height.max(at + buffers[index].size);
        }
    }
    assert_eq!(placement.height, height, "{problem:?}");
    assert!(placement.bound <= placement.height);
}

pub(crate) fn buffers_of(numbers: &mut Numbers, count: u64, steps: u64, largest: u64) -> Vec<Buffer> {
    let buffer = |_| {
        let (a, b) = (numbers.step(steps), numbers.step(steps));
        Buffer::new(numbers.below(largest + 1), a.min(b), a.max(b))
    };
    (0..count).map(buffer).collect()
}
