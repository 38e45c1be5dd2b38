//! The exact engine: the order of least peak, proved.
//!
//! # The lattice
//! Split every op `u` into its start, which brings buffers to life, and its end, which lets them go. On sets of starts
//! and ends that can have happened, the memory in use is `f(X) = sum of bytes * ([some writer has started] - [all
//! readers have ended])`. The first term is a coverage function and minus the second is submodular, so **f is
//! submodular**: `f(X) + f(Y) >= f(X ∪ Y) + f(X ∩ Y)`. An order with peak at most `t` is a chain of such sets, from
//! nothing to everything, with `f <= t` throughout (ending an op at once never hurts). All rules are statements about
//! such chains; each stands, with its proof, in the file that uses it:
//!
//! | rule | file | |
//! |---|---|---|
//! | R1, R3 | [`commit`] | valleys: go there for good |
//! | R2 | [`eager`] | moves that cost nothing |
//! | R4, R5 | [`waypoints`] | sets that some optimal order passes through |
//! | R6 | [`instance`] | lazy ops: branch over the others only |
//! | R7 | [`decide`] | work from the higher end |
//! | R8, R9 | [`descent`] | valleys within valleys, component by component |
//! | R10 | [`modules`] | what has one entry and one exit is a chain |
//! | R11 | [`releases`] | branch over what is let go next |
//! | L1 | [`cut_bound`] | what is in use while one op runs, at least |
//! | L2 | [`precedence`] | what all orders within a limit have in common |
//!
//! # The search
//! 0. Replace trees by chains ([`trees`]), then other modules (R10).
//! 1. A good order by heuristics and a narrow beam.
//! 2. Split at waypoints. The optimum of the whole is the largest of the parts'; parts whose best order does not exceed
//!    what is proved for another need no search at all.
//! 3. Bound L1 and wider beams on the parts that matter.
//! 4. The part with the largest upper bound: two bottleneck searches ([`flood`]), from the start and from the end, in rounds of
//!    growing budget. They share what they prove. Commitments on either side shrink the part, which is then split again.
//! 5. If that takes long, the decision procedure ([`decide`]) asks for an order one byte better; precedence that all
//!    better orders have in common is looked for ([`inference`]), and given to the searches; and wider beams.
//!
//! Problems of thousands of ops are cut into such problems first ([`large`]).
//!
//! Everything is counted in states, not seconds, so the same problem takes the same course on every machine.

mod beam;
mod closure;
pub(crate) mod commit;
mod contract;
mod cut_bound;
mod cuts;
mod decide;
mod descent;
mod eager;
mod engine;
mod flood;
mod flow;
mod forced;
mod inference;
mod instance;
mod large;
mod local;
pub(crate) mod memo;
mod modules;
mod nearby;
mod part;
mod peaks;
mod precedence;
mod profile;
mod refutation;
mod releases;
mod rules;
mod sides;
mod sliding;
#[cfg(test)]
pub(crate) mod testing;
mod trees;
mod waypoints;
mod witness;

pub use memo::Memo;
pub(crate) use refutation::Found;
pub use refutation::{CutStep, cut_steps};
pub use rules::Rules;
pub use witness::{Chain, Witness, witness};

use crate::answer::Answer;
use crate::segment::Segment;
use crate::{Options, Problem, bounds, divide, heuristic, savings, walk};
use engine::{Ended, Engine};
pub(crate) use large::LARGEST_WHOLE;
use serenity_search::{StopReason, Watch};

/// How hard to try before looking for larger modules: states for the profile of one module, and for all else, in units of
/// [`Rules::patience`].
const EFFORTS: [(u64, u64); 3] = [(16, 256), (256, 4096), (4096, u64::MAX)];

/// Cuts for a first look, where only a better order is wanted: mostly one op or another is in the way of it.
const QUICK_CUTS: usize = 8;

/// Finds the order of least peak, and proves it unless a limit ends the search first.
pub(crate) fn search(problem: &Problem, options: &Options, watch: &mut Watch) -> Answer {
    if !problem.hand_overs.is_empty() {
        // The rules below count with buffers that come and go; what is written over what depends on more.
        return savings::search(problem, options, watch);
    }
    options.memo.order_of(problem, options, watch, |watch| {
        if !options.rules.trees {
            return search_without_trees(problem, options, watch);
        }
        let reduced = trees::reduced(problem);
        let found = search_without_trees(&reduced.problem, options, watch);
        let order = reduced.expand(&found.order);
        // A derived problem does not know how much one op touches at once.
        let at_least = found.at_least.max(bounds::simple(problem));
        let refutation = refutation::renamed(&found.refutation, |op| reduced.expand(&[op]));
        Answer { order, at_least, refutation, ..found }
    })
}

fn search_without_trees(problem: &Problem, options: &Options, watch: &mut Watch) -> Answer {
    if problem.len() > LARGEST_WHOLE {
        large::search(problem, options, watch)
    } else {
        search_from(problem, (heuristic::best(problem).0, bounds::simple(problem)), options, watch)
    }
}

/// Finds the order of least peak of a problem as a whole, from the best known order. `floor` is a lower bound on the
/// peak of every order, or of every order of the problem that this one is a part of.
fn search_from(
    problem: &Problem,
    (order, floor): (Vec<u32>, u64),
    options: &Options,
    watch: &mut Watch,
) -> Answer {
    let rules = &options.rules;
    let wanted_below = options.wanted_below.unwrap_or(u64::MAX);
    let mut best =
        Answer { order, at_least: floor, stopped: None, sizes: vec![problem.len()], refutation: Vec::new() };
    let mut least = walk::peak_of(problem, &best.order);
    // A quarter is for what grows beside the tables, and for tables while they grow.
    let limit = watch.memory_limit() - watch.memory_limit() / 4;
    let Some(memory) = limit.checked_sub(fixed_memory(problem)) else {
        best.stopped = Some(StopReason::Memory);
        return best;
    };
    if least >= wanted_below && rules.cut_bound && rules.beam {
        let floor = (best.at_least, rules.lazy);
        best.order = beam::better_order(problem, best.order, &[1, 4], floor, &watch.stopper());
        least = walk::peak_of(problem, &best.order);
    }
    if least >= wanted_below && rules.cut_bound {
        let enough = (wanted_below, QUICK_CUTS);
        best.at_least = cut_bound::raise_up_to(problem, &best.order, best.at_least, enough, &watch.stopper());
    }
    if best.at_least >= wanted_below {
        best.stopped = Some(StopReason::Capacity);
        return best;
    }
    let patience = rules.patience.max(1);
    let mut reduced = modules::Reduced::new(problem);
    for (module_states, states) in EFFORTS {
        // Without modules there is nothing to come back for.
        let states = if rules.modules { states.saturating_mul(patience) } else { u64::MAX };
        if rules.modules {
            let stop = watch.stopper();
            let mut effort = profile::ProfileWork {
                states: module_states.saturating_mul(patience),
                spent: 0,
                memory,
                stop: &stop,
                is_cut: false,
            };
            reduced.reduce(rules, &options.memo, &mut effort);
            watch.visit(effort.spent);
        }
        let limits = (options.threads, memory, wanted_below);
        let mut engine = Engine::new(&reduced.problem, rules, limits, best.at_least, watch);
        let ended = engine.settle(states);
        best.at_least = engine.floor;
        best.sizes.clone_from(&engine.sizes);
        best.refutation = refutation::renamed(&engine.refutation, |op| reduced.expand(&[op]));
        let order = reduced.expand(&engine.order());
        let peak = walk::peak_of(problem, &order);
        if peak < least {
            (best.order, least) = (order, peak);
        }
        match ended {
            Ended::Settled => return best,
            Ended::Stopped(reason) => {
                best.stopped = Some(reason);
                return best;
            }
            Ended::Tired => {}
        }
    }
    best
}

/// The parts between waypoints, for whoever counts otherwise what is in use while an op runs. Some may be too large to
/// look for any.
pub(crate) fn between_waypoints(problem: &Problem, stop: &dyn Fn() -> bool) -> Vec<Segment> {
    let rules = Rules::default();
    let mut parts = Vec::new();
    for piece in problem.segments(&divide::pieces(problem)) {
        if piece.problem.len() > LARGEST_WHOLE {
            parts.push(piece);
            continue;
        }
        let floor = (bounds::simple(&piece.problem), rules.lazy);
        let order =
            beam::better_order(&piece.problem, heuristic::best(&piece.problem).0, &[1, 8], floor, stop);
        let groups = waypoints::split(&piece.problem, &order, &rules, stop);
        let named = |part: Segment| Segment { ops: piece.lift(&part.ops).collect(), ..part };
        parts.extend(piece.problem.segments(&groups).into_iter().map(named));
    }
    parts
}

/// Bytes that the engine needs before it has visited anything: sets of ancestors, of descendants and of affected moves
/// for every op, in both directions of time, and a set of ops for every buffer.
fn fixed_memory(problem: &Problem) -> u64 {
    8 * problem.words() as u64 * (8 * problem.len() as u64 + problem.buffers.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::testing::{least_peak, problems};
    use super::*;

    #[test]
    fn no_rule_changes_the_optimum() {
        for problem in problems().step_by(3) {
            let least = least_peak(&problem);
            for rule in Rules::names() {
                let mut options = Options::default();
                options.rules.patience = 1;
                options.rules.turn_off(rule);
                let mut watch = Watch::new(&options.limits, None);
                let found = search(&problem, &options, &mut watch);
                let peak = walk::peak_of(&problem, &found.order);
                assert_eq!((peak, found.at_least, found.stopped), (least, least, None), "{rule}");
            }
        }
    }
}
