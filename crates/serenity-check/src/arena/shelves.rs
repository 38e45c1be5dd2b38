//! What lies in an arena, and the gaps between.
//!
//! Models can be made whose thousands of tensors are all needed at once, or never two of them, and a search for a gap
//! that looks at each of them for each of them takes minutes. So neighbours stand on shelves, and the search goes past
//! a shelf of which none is there at the time, or all are and leave no gap.

use crate::timeline::Span;

/// So many stand on a shelf before it is made into two.
const MOST_ON_A_SHELF: usize = 256;

/// Bytes that are taken from `offset` to `end` at these steps.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) offset: u64,
    pub(super) end: u64,
    pub(super) steps: Span,
}

impl Placed {
    /// `None` if it ends where no number reaches.
    pub(super) fn new(offset: u64, bytes: u64, steps: Span) -> Option<Self> {
        Some(Self { offset, end: offset.checked_add(bytes)?, steps })
    }
}

struct Shelf {
    /// From low to high; never none.
    placed: Vec<Placed>,
    /// The step at which the first of them comes, and the one at which the last does.
    come: Span,
    /// The step at which the first of them goes, and the one at which the last does.
    go: Span,
    /// The largest that fits between two of them.
    gap: u64,
    /// Where the highest ends.
    top: u64,
}

impl Shelf {
    fn of(placed: Vec<Placed>, alignment: u64) -> Self {
        let (mut come, mut go) = ((u64::MAX, 0), (u64::MAX, 0));
        let (mut gap, mut top) = (0, placed.first().map_or(0, |lowest| lowest.end));
        for &Placed { offset, end, steps } in &placed {
            come = (steps.0.min(come.0), steps.0.max(come.1));
            go = (steps.1.min(go.0), steps.1.max(go.1));
            if offset > top {
                gap = gap.max(offset.saturating_sub(aligned(top, alignment)));
            }
            top = top.max(end);
        }
        Self { placed, come, go, gap, top }
    }
}

/// Bytes that are taken, from low to high; of the same offset, those that came first.
pub(super) struct Shelves {
    shelves: Vec<Shelf>,
    alignment: u64,
}

impl Shelves {
    /// Gaps begin at multiples of `alignment`.
    pub(super) fn new(placed: impl IntoIterator<Item = Placed>, alignment: u64) -> Self {
        let mut shelves = Self { shelves: Vec::new(), alignment };
        for placed in placed {
            shelves.insert(placed);
        }
        shelves
    }

    /// From low to high.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Placed> {
        self.shelves.iter().flat_map(|shelf| &shelf.placed)
    }

    pub(super) fn insert(&mut self, new: Placed) {
        let above = self.shelves.partition_point(|shelf| shelf.placed[0].offset <= new.offset);
        let at = above.saturating_sub(1);
        let mut placed = match self.shelves.get_mut(at) {
            Some(shelf) => std::mem::take(&mut shelf.placed),
            None => Vec::new(),
        };
        placed.insert(placed.partition_point(|other| other.offset <= new.offset), new);
        let half = if placed.len() > MOST_ON_A_SHELF { placed.len() / 2 } else { placed.len() };
        let upper = placed.split_off(half);
        let made = [placed, upper].into_iter().filter(|placed| !placed.is_empty());
        let replaced = at..self.shelves.len().min(at + 1);
        self.shelves.splice(replaced, made.map(|placed| Shelf::of(placed, self.alignment)));
    }

    /// Shows the gaps of so many bytes between the buffers that are in the arena at these steps, from low to high,
    /// until it is told that one is `enough`: from where the gap begins, aligned or not, to where it ends. Returns where
    /// the highest buffer ends, if no gap was enough.
    pub(super) fn gaps(
        &self,
        steps: Span,
        bytes: u64,
        mut enough: impl FnMut(u64, u64) -> bool,
    ) -> Option<u64> {
        let mut top = 0_u64;
        let holds = |top: u64, to: u64| {
            top.saturating_add(bytes) <= to && aligned(top, self.alignment).saturating_add(bytes) <= to
        };
        for shelf in &self.shelves {
            let is_none_there = shelf.come.0 > steps.1 || shelf.go.1 < steps.0;
            let are_all_there = shelf.come.1 <= steps.1 && shelf.go.0 >= steps.0;
            if is_none_there {
                continue;
            }
            if are_all_there && shelf.gap < bytes && !holds(top, shelf.placed[0].offset) {
                top = top.max(shelf.top);
                continue;
            }
            for placed in &shelf.placed {
                if placed.steps.0 > steps.1 || placed.steps.1 < steps.0 {
                    continue;
                }
                if holds(top, placed.offset) && enough(top, placed.offset) {
                    return None;
                }
                top = top.max(placed.end);
            }
        }
        Some(top)
    }

    /// Where the highest ends.
    pub(super) fn top(&self) -> u64 {
        self.shelves.iter().map(|shelf| shelf.top).max().unwrap_or(0)
    }
}

/// The next multiple; the largest number if there is none.
pub(super) fn aligned(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_search::Random;

    /// One by one.
    fn plainly(there: &[Placed], alignment: u64, steps: Span, bytes: u64) -> (Vec<(u64, u64)>, u64) {
        let (mut gaps, mut top) = (Vec::new(), 0_u64);
        for placed in there.iter().filter(|p| p.steps.0 <= steps.1 && steps.0 <= p.steps.1) {
            if top.next_multiple_of(alignment) + bytes <= placed.offset {
                gaps.push((top, placed.offset));
            }
            top = top.max(placed.end);
        }
        (gaps, top)
    }

    #[test]
    fn no_gap_is_passed_by() {
        let mut random = Random(7);
        let mut below = |limit: u64| random.below(limit);
        // Crowded, sparse, of short lives, all at once.
        for (span, steps, alignment) in [(20_000, 5, 1), (900_000, 1, 64), (2_000, 90, 16), (400_000, 1, 1)] {
            let (mut shelves, mut plain) = (Shelves::new([], alignment), Vec::<Placed>::new());
            for _ in 0..2_000 {
                let first = below(steps);
                let new = Placed::new(below(span), 1 + below(300), (first, first + below(6))).unwrap();
                let bytes = 1 + below(200);
                let mut found = Vec::new();
                let top = shelves.gaps(new.steps, bytes, |from, to| {
                    found.push((from, to));
                    false
                });
                let (gaps, plain_top) = plainly(&plain, alignment, new.steps, bytes);
                assert_eq!((found, top), (gaps.clone(), Some(plain_top)));
                let mut first = None;
                shelves.gaps(new.steps, bytes, |from, to| first.replace((from, to)).is_none());
                assert_eq!(first, gaps.first().copied());
                shelves.insert(new);
                plain.insert(plain.partition_point(|other| other.offset <= new.offset), new);
            }
            assert_eq!(Some(shelves.top()), plain.iter().map(|placed| placed.end).max());
        }
    }
}
