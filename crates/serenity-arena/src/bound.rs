//! A lower bound that needs no search.

use crate::{Buffer, Problem, Step};
use std::collections::BTreeMap;

/// No placement is lower than this: what is in use at one step has to lie side by side, and what is fixed lies where it lies.
///
/// Offsets are multiples of the alignment, so all but the topmost of the buffers in use take whole multiples of it; the topmost one
/// may be the one that wins most by that. Fixed buffers may overlap one another, so they count by where they end only.
pub(crate) fn simple(problem: &Problem) -> u64 {
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    let mut bound = 0;
    for (index, buffer) in problem.buffers().iter().enumerate() {
        if let Some(offset) = buffer.offset {
            bound = bound.max(offset + buffer.size);
        } else if buffer.size > 0 {
            starts.push((buffer.first, index));
            ends.push((buffer.last, index));
        }
    }
    starts.sort_unstable();
    ends.sort_unstable();
    let mut alive = Alive { alignment: problem.alignment(), total: 0, paddings: BTreeMap::new() };
    let mut ended = ends.iter().peekable();
    for &(step, index) in &starts {
        while let Some(&(_, dead)) = ended.next_if(|&&(last, _): &&(Step, usize)| last < step) {
            alive.remove(&problem.buffers()[dead]);
        }
        alive.insert(&problem.buffers()[index]);
        bound = bound.max(alive.least_height());
    }
    bound
}

/// The buffers in use at one step.
struct Alive {
    alignment: u64,
    /// Their sizes, rounded up, added up.
    total: u64,
    /// What rounding added, and how often.
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

    fn bound(buffers: &[Buffer], alignment: u64) -> u64 {
        simple(&Problem::new(buffers.to_vec(), alignment).unwrap())
    }

    #[test]
    fn what_lives_together_lies_side_by_side() {
        let chain =
            [Buffer::new(10, 0, 1), Buffer::new(20, 1, 2), Buffer::new(30, 2, 3), Buffer::new(5, 9, 9)];
        assert_eq!(bound(&chain, 1), 50);
        // 32 + 20 or 20 up to 32 + 30: the smaller end is 16-aligned 20 -> 32, then 30 on top.
        assert_eq!(bound(&chain, 16), 32 + 20);
        assert_eq!(bound(&[], 16), 0);
    }

    #[test]
    fn fixed_buffers_count_by_their_end() {
        let buffers = [Buffer::new(10, 0, 1).at(100), Buffer::new(10, 0, 1).at(100), Buffer::new(7, 0, 1)];
        assert_eq!(bound(&buffers, 1), 110);
    }
}
