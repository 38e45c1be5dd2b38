//! All orders, one by one: the definition of the optimum, for graphs of a dozen ops and for tests.

use crate::limits::{StopReason, Watch};
use crate::{Problem, bits};

/// A partial order: what has run, what can run next, and how much of the latter is still to be tried.
struct Frame {
    done: Vec<u64>,
    ready: Vec<u64>,
    untried: Vec<u32>,
    in_use: u64,
    peak: u64,
}

/// Tries every topological order, leaving a partial one only when its peak already reaches that of the best complete one.
/// Returns the best order found beside `incumbent`, and why it stopped early if it did.
pub(crate) fn search(
    problem: &Problem,
    incumbent: Vec<u32>,
    watch: &mut Watch,
) -> (Vec<u32>, Option<StopReason>) {
    let mut best_peak = crate::schedule::peak_of(problem, &incumbent);
    let mut best = incumbent;
    let mut order: Vec<u32> = Vec::with_capacity(problem.len());
    let frame = |done: Vec<u64>, ready: Vec<u64>, in_use: u64, peak: u64| {
        let mut untried: Vec<u32> = bits::iter(&ready).collect();
        untried.reverse();
        Frame { done, ready, untried, in_use, peak }
    };
    let start = problem.at_start();
    let mut stack = vec![frame(vec![0; problem.words()], problem.sources(), start, start)];
    while let Some(top) = stack.last_mut() {
        let Some(op) = top.untried.pop() else {
            stack.pop();
            order.pop();
            continue;
        };
        watch.states += 1;
        if watch.states.is_multiple_of(4096)
            && let Some(reason) = watch.stop(0)
        {
            return (best, Some(reason));
        }
        let during = top.in_use + problem.allocated(&top.done, op);
        let peak = top.peak.max(during);
        if peak >= best_peak {
            continue;
        }
        let in_use = during - problem.freed(&top.done, op);
        let (mut done, mut ready) = (top.done.clone(), top.ready.clone());
        bits::insert(&mut done, op);
        problem.advance(&done, &mut ready, op);
        order.push(op);
        if order.len() == problem.len() {
            best_peak = peak;
            best.clone_from(&order);
            watch.best = watch.best.min(peak);
            order.pop();
        } else {
            stack.push(frame(done, ready, in_use, peak));
        }
    }
    (best, None)
}
