//! A lower bound that needs no search.

use crate::{Buffer, Problem, Step};
use std::collections::BTreeMap;

/// No placement is lower than this: what is in use at one step has to lie side by side, and what is fixed lies where it lies.
///
/// Offsets are multiples of the alignment, so all but the topmost of the buffers in use take whole multiples of it; the
/// topmost one may be the one that wins most by that. Fixed buffers may overlap one another, so they count by where
/// they end only. Where buffers may share bytes, as much is taken off as they could share at most.
pub(crate) fn simple(problem: &Problem) -> u64 {
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    let mut bound = 0;
    for (index, buffer) in problem.buffers().iter().enumerate().filter(|(_, buffer)| buffer.size > 0) {
        if let Some(offset) = buffer.offset {
            bound = bound.max(offset + buffer.size);
        } else {
            starts.push((buffer.lower, index));
            ends.push((buffer.upper, index));
        }
    }
    starts.sort_unstable();
    ends.sort_unstable();
    let savings = savings(problem);
    let mut alive = Alive { alignment: problem.alignment(), total: 0, paddings: BTreeMap::new() };
    let mut ended = ends.iter().peekable();
    for begin_together in starts.chunk_by(|a, b| a.0 == b.0) {
        let step = begin_together[0].0;
        while let Some(&(_, dead)) = ended.next_if(|&&(upper, _): &&(Step, usize)| upper <= step) {
            alive.remove(&problem.buffers()[dead]);
        }
        for &(_, index) in begin_together {
            alive.insert(&problem.buffers()[index]);
        }
        bound = bound.max(alive.least_height().saturating_sub(savings.get(&step).copied().unwrap_or(0)));
    }
    bound
}

/// The most that can be shared at each step.
///
/// What a buffer is written over lies apart, so it shares no more with all of that than its own bytes, less those that
/// have to lie below the lowest.
fn savings(problem: &Problem) -> BTreeMap<Step, u64> {
    // For each writer: the sum of what it shares with each, and the least distance.
    let mut shared: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for overlap in problem.overlaps() {
        let (y, x) = (&problem.buffers()[overlap.writer], &problem.buffers()[overlap.over]);
        if y.offset.is_some() || x.offset.is_some() {
            continue;
        }
        let most = overlap.how.most_shared(rounded(y, problem), rounded(x, problem), |distance| distance);
        let (sum, least) = shared.entry(overlap.writer).or_insert((0, u64::MAX));
        *sum = sum.saturating_add(most);
        *least = overlap.how.least_below().min(*least);
    }
    let mut savings = BTreeMap::new();
    for (writer, (sum, distance)) in shared {
        let writer = &problem.buffers()[writer];
        *savings.entry(writer.lower).or_insert(0) +=
            sum.min(rounded(writer, problem).saturating_sub(distance));
    }
    savings
}

fn rounded(buffer: &Buffer, problem: &Problem) -> u64 {
    buffer.size.next_multiple_of(problem.alignment())
}

/// The buffers in use at one step.
struct Alive {
    alignment: u64,
    /// The sum of their sizes, rounded up.
    total: u64,
    /// The bytes that rounding added, and how often.
    paddings: BTreeMap<u64, usize>,
}

impl Alive {
    fn insert(&mut self, buffer: &Buffer) {
        let rounded = buffer.size.next_multiple_of(self.alignment);
        self.total += rounded;
        *self.paddings.entry(rounded - buffer.size).or_default() += 1;
    }

    fn remove(&mut self, buffer: &Buffer) {
        let rounded = buffer.size.next_multiple_of(self.alignment);
        self.total -= rounded;
        if let Some(count) = self.paddings.get_mut(&(rounded - buffer.size)) {
            *count -= 1;
            if *count == 0 {
                self.paddings.remove(&(rounded - buffer.size));
            }
        }
    }

    fn least_height(&self) -> u64 {
        self.total - self.paddings.last_key_value().map_or(0, |(&most, _)| most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlap;
    use std::num::NonZeroU64;

    fn bound(buffers: &[Buffer], alignment: u64) -> u64 {
        simple(&Problem::new(buffers.to_vec(), alignment).unwrap())
    }

    #[test]
    fn what_lives_together_lies_side_by_side() {
        let chain =
            [Buffer::new(10, 0..2), Buffer::new(20, 1..3), Buffer::new(30, 2..4), Buffer::new(5, 9..10)];
        assert_eq!(bound(&chain, 1), 50);
        // 20 rounded up to 32 and 30 on top, or 30 rounded up to 32 and 20 on top.
        assert_eq!(bound(&chain, 16), 32 + 20);
        assert_eq!(bound(&[], 16), 0);
    }

    #[test]
    fn fixed_buffers_count_by_their_end() {
        let buffers = [Buffer::new(10, 0..2).at(100), Buffer::new(10, 0..2).at(100), Buffer::new(7, 0..2)];
        assert_eq!(bound(&buffers, 1), 110);
    }

    #[test]
    fn what_may_be_shared_is_taken_off() {
        let sum = vec![Buffer::new(10, 0..2), Buffer::new(10, 0..2), Buffer::new(10, 1..3)];
        let bound =
            |overlaps| simple(&Problem::new(sum.clone(), 1).unwrap().with_overlaps(overlaps).unwrap());
        assert_eq!(bound(vec![]), 30);
        assert_eq!(bound(vec![Overlap::below(2, 0, 4)]), 24);
        assert_eq!(bound(vec![Overlap::either_way(2, 0, 4, NonZeroU64::MIN)]), 21);
        // The sum of two can be written over either of them, but not over both.
        assert_eq!(bound(vec![Overlap::below(2, 0, 0), Overlap::below(2, 1, 0)]), 20);
    }
}
