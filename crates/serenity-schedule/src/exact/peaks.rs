//! Improves an order around its peak alone, for problems that are too large for a search.
//!
//! Around the op at which an order peaks, some ops before it and after it are a problem of their own, with what has run
//! before them and what runs after them fixed. An order of these with a lower peak lowers the peak of the whole, unless
//! that is reached elsewhere too: then that place is next. It ends where the ops around a peak cannot do better by
//! themselves.

use super::search_from;
use crate::answer::Answer;
use crate::walk::{peak_of, steps_of};
use crate::{Options, Problem, bits};
use serenity_search::{StopReason, Watch};

/// How many ops before a peak and after it are searched, one after the other.
const AROUND: [usize; 3] = [64, 256, 1024];

/// States for each of these searches.
const STATES: u64 = 1 << 12;

/// Lowers the peak of `order` as far as looks around it can, if not to `floor`, below which no order peaks.
pub(super) fn lower(
    problem: &Problem,
    (mut order, floor): (Vec<u32>, u64),
    options: &Options,
    watch: &mut Watch,
) -> Answer {
    let stopped = loop {
        let steps = steps_of(problem, &order);
        let peak = steps.iter().map(|step| step.during).fold(problem.at_start(), u64::max);
        let Some(at) = steps.iter().position(|step| step.during == peak).filter(|_| peak > floor) else {
            break (peak > floor).then_some(StopReason::Heuristic);
        };
        if let Some(reason) = watch.limit_reached(0) {
            break Some(reason);
        }
        let lowered = AROUND.into_iter().find_map(|reach| {
            let from = at.saturating_sub(reach);
            let to = order.len().min(at + reach + 1);
            let before = from.checked_sub(1).map_or(problem.at_start(), |last| steps[last].after);
            around(problem, (&order, from, to), (before, peak, floor), options, watch)
                .map(|found| (from, found))
        });
        let Some((from, found)) = lowered else { break Some(StopReason::Heuristic) };
        order[from..from + found.len()].copy_from_slice(&found);
    };
    Answer { order, at_least: floor, stopped, sizes: vec![problem.len()], refutation: Vec::new() }
}

/// An order of `order[from..to]` that peaks below `peak`, if a search finds one; `before` is in use when it begins.
fn around(
    problem: &Problem,
    (order, from, to): (&[u32], usize, usize),
    (before, peak, floor): (u64, u64, u64),
    options: &Options,
    watch: &mut Watch,
) -> Option<Vec<u32>> {
    let mut done = vec![0; problem.words()];
    for &op in &order[..from] {
        bits::insert(&mut done, op);
    }
    let segment = problem.segment(&done, before, &order[from..to]);
    let local = order[from..to].iter().filter_map(|op| segment.ops.binary_search(op).ok());
    let local: Vec<u32> = local.map(|at| at as u32).collect();
    let limits = watch.left().working(STATES);
    let mut inner = Watch::new(&limits, None);
    // Anything below the peak will do: the floor is what could be used of it.
    let options = Options { wanted_below: Some(peak), ..options.clone() };
    let found = search_from(&segment.problem, (local, floor), &options, &mut inner);
    watch.visit(inner.states);
    (peak_of(&segment.problem, &found.order) < peak).then(|| segment.lift(&found.order).collect())
}
