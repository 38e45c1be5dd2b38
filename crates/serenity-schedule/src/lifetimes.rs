//! From an order to lifetimes: what an allocator asks of a scheduler.

use crate::{Buffer, OpIndex};
use std::ops::Range;

/// The steps in which each buffer is in use if the ops run in this order, which contains every op once. Step `i` runs
/// `order[i]`.
///
/// The ranges are half-open: the op at `range.end - 1` is the last that reads or writes the buffer. At every step the
/// sizes of the buffers in use add up to [`Step::during`](crate::Step::during), unless buffers are
/// [handed over](crate::HandOver). The ranges have the type that `serenity_arena::Buffer::new` takes.
///
/// # Panics
/// If the order or a buffer names an op that does not exist.
pub fn lifetimes(buffers: &[Buffer], order: &[OpIndex]) -> Vec<Range<i64>> {
    let mut step = vec![0; order.len()];
    for (position, op) in (0_i64..).zip(order) {
        step[op.index()] = position;
    }
    let of = |op: &OpIndex| step[op.index()];
    // Without ops, what is given and kept is in use at one step all the same.
    let end = order.len().max(1) as i64;
    let lifetime = |buffer: &Buffer| {
        let writers = || buffer.writers.iter().filter(|_| !buffer.from_start).map(of);
        let lower = writers().min().unwrap_or(0);
        // A writer that no reader waits for holds its buffer until it has run.
        let last = buffer.readers.iter().map(of).chain(writers()).max();
        lower..last.filter(|_| !buffer.to_end).map_or(end, |last| last + 1)
    };
    buffers.iter().map(lifetime).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    #[test]
    fn what_is_in_use_adds_up_to_the_profile() {
        let op = OpIndex;
        let buffers = vec![
            Buffer::given(3, [op(1)]),
            Buffer::produced(10, op(0), [op(1), op(2)]),
            Buffer::produced(90, op(1), [op(3)]),
            Buffer::produced(5, op(2), []),
            // Nothing puts op 2 before op 3, the reader.
            Buffer { writers: vec![op(1), op(2)], ..Buffer::produced(7, op(1), [op(3)]) },
            Buffer::produced(1, op(3), []).kept(),
            Buffer::given(2, []).kept(),
        ];
        let problem = Problem::new(4, buffers.clone(), [(op(1), op(3))]).unwrap();
        for order in [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]].map(|order| order.map(op)) {
            let lifetimes = lifetimes(&buffers, &order);
            let in_use = |step: i64| {
                let alive = buffers.iter().zip(&lifetimes).filter(|(_, life)| life.contains(&step));
                alive.map(|(buffer, _)| buffer.bytes).sum::<u64>()
            };
            let during: Vec<u64> = problem.profile(&order).iter().map(|step| step.during).collect();
            assert_eq!((0..4).map(in_use).collect::<Vec<u64>>(), during, "{order:?}");
        }
    }

    #[test]
    fn without_ops_there_is_one_step() {
        assert_eq!(lifetimes(&[Buffer::given(2, []).kept()], &[])[0], 0..1);
    }
}
