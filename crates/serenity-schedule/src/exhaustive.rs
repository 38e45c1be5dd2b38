//! Tries all orders one by one: the definition of the optimum, for graphs of a dozen ops and for tests.

use crate::walk::Waiting;
use crate::{Problem, bits};
use serenity_search::{StopReason, Watch};

/// One op of a partial order, and how it stood before it.
struct Frame {
    op: u32,
    in_use: u64,
    peak: u64,
}

/// Tries every topological order, leaving a partial one only when its peak already reaches that of the best complete one.
/// Returns the best order found beside `incumbent`, and why it stopped early if it did.
///
/// A partial order is extended by the ready ops in ascending order, and taken back op by op; so the last op tried says which
/// come next, and the memory needed grows with the number of ops only.
pub(crate) fn search(
    problem: &Problem,
    incumbent: Vec<u32>,
    watch: &mut Watch,
) -> (Vec<u32>, Option<StopReason>) {
    let mut best_peak = crate::walk::peak_of(problem, &incumbent);
    let mut best = incumbent;
    let mut done = vec![0; problem.words()];
    let mut ready = problem.sources();
    let mut waiting = Waiting::new(problem);
    let mut path: Vec<Frame> = Vec::with_capacity(problem.len());
    let (mut in_use, mut peak) = (problem.at_start(), problem.at_start());
    // The smallest op not yet tried after `path`.
    let mut untried = 0;
    loop {
        if path.len() == problem.len() && peak < best_peak {
            best_peak = peak;
            best = path.iter().map(|frame| frame.op).collect();
            watch.best = watch.best.min(peak);
        }
        let Some(op) = bits::first_from(&ready, untried) else {
            let Some(frame) = path.pop() else { return (best, None) };
            bits::remove(&mut done, frame.op);
            bits::insert(&mut ready, frame.op);
            waiting.take_back(problem, frame.op, |next| bits::remove(&mut ready, next));
            (in_use, peak) = (frame.in_use, frame.peak);
            untried = frame.op + 1;
            continue;
        };
        watch.visit(1);
        if watch.time_to_look(problem.words() as u64 + 16)
            && let Some(reason) = watch.stop(0)
        {
            return (best, Some(reason));
        }
        let during = in_use + problem.allocated(&done, op);
        if peak.max(during) >= best_peak {
            untried = op + 1;
            continue;
        }
        path.push(Frame { op, in_use, peak });
        in_use = during - problem.freed(&done, op);
        peak = peak.max(during);
        bits::insert(&mut done, op);
        bits::remove(&mut ready, op);
        waiting.run(problem, op, |next| bits::insert(&mut ready, next));
        untried = 0;
    }
}
