//! Dynamic programming over sets of executed ops: section 3.1, figures 5 and 6, Algorithm 1 and appendices C and D of the paper.
//!
//! Step `i` keeps, for every set of `i` ops that can have run first, the least peak at which that set can be reached. The paper's
//! signature of a partial schedule is its zero-indegree set `z`, the ops that can run next. That is the same key: what has
//! not run yet is exactly `z` and everything behind it, so `z` and the executed set determine each other. The executed set is
//! kept because the memory in use follows from it; it is hashed incrementally (one XOR per op).
//!
//! | the paper | here |
//! |---|---|
//! | `z_i`, the signature | the executed set, of which `z_i` is [`SetTable::ready`] |
//! | `M_i`, the memoization of step `i` | [`Level`] |
//! | `s_i`, a partial schedule | the chain of [`Link`]s that ends in a set |
//! | `mu_i`, memory in use after `i` nodes | [`SetTable::in_use`] |
//! | `mu_peak`, memory while `u_i` runs (line 13) | `during` |
//! | `mu_peak,i`, the peak so far (line 14) | `Level::peak` |
//! | `tau`, the soft budget (Algorithm 2) | `budget`; `tau_max` is the peak of Kahn's order |
//! | `T`, the limit on a search step | `step_limit` |
//! | `s*`, `mu*` (equation 1; line 27) | [`Outcome::Solution`] |
//!
//! There are at most `2^n` sets, each is extended by at most `n` ops: `O(n * 2^n)` for the whole, far less for real
//! networks, whose precedence leaves few sets.
//!
//! Under a soft budget, partial schedules that exceed it are dropped. Then no complete schedule may remain; the least peak that
//! was dropped is a lower bound for all of them.

use crate::options::StepLimit;
use crate::set_table::{Move, SetTable};
use crate::{BudgetResult, Problem, bits};
use serenity_search::{Instant, StopReason, Watch};

pub(crate) use crate::rng::hash_keys;

/// How a run ended.
pub(crate) enum Outcome {
    /// The optimum, if it is within the budget.
    Solution { order: Vec<u32>, peak: u64 },
    /// Every order exceeds the budget; none peaks below `at_least`.
    NoSolution { at_least: u64 },
    /// One step cost more than the step limit.
    StepLimit,
    /// A limit of the whole run; no order peaks below `at_least`.
    Stopped { reason: StopReason, at_least: u64 },
}

impl Outcome {
    /// The `flag` of Algorithm 2.
    pub(crate) fn result(&self) -> BudgetResult {
        match self {
            Self::Solution { .. } => BudgetResult::Solution,
            Self::NoSolution { .. } => BudgetResult::NoSolution,
            Self::StepLimit => BudgetResult::Timeout,
            Self::Stopped { .. } => BudgetResult::Stopped,
        }
    }
}

/// The best partial schedule of every set of one step.
struct Level {
    sets: SetTable,
    peak: Vec<u64>,
    /// The last op of the best partial schedule, and the set before it.
    last: Vec<Link>,
}

/// One step back along a schedule.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    op: u32,
}

impl Level {
    fn clear(&mut self) {
        self.sets.clear();
        self.peak.clear();
        self.last.clear();
    }

    fn memory(&self) -> u64 {
        self.sets.memory() + 8 * (self.peak.capacity() + self.last.capacity()) as u64
    }

    /// Keeps a partial schedule of set `set` if it is the first or no worse than the best.
    fn offer(&mut self, set: usize, peak: u64, link: Link) {
        if set == self.peak.len() {
            self.peak.push(peak);
            self.last.push(link);
        } else if peak <= self.peak[set] {
            self.peak[set] = peak;
            self.last[set] = link;
        }
    }
}

/// Finds the least peak, looking only at schedules within `budget`.
pub(crate) fn search(
    problem: &Problem,
    budget: u64,
    step_limit: Option<StepLimit>,
    watch: &mut Watch,
) -> Outcome {
    let keys = hash_keys(problem.ops);
    let mut history: Vec<Vec<Link>> = Vec::with_capacity(problem.len());
    let mut history_memory = 0;
    let mut at_least = crate::bounds::simple(problem);
    let mut least_dropped = u64::MAX;

    let start = problem.at_start();
    if start > budget {
        return Outcome::NoSolution { at_least };
    }
    let mut current = Level { sets: SetTable::start(problem), peak: vec![start], last: Vec::new() };
    let mut next = Level { sets: SetTable::new(problem), peak: Vec::new(), last: Vec::new() };
    // A move compares or copies two bit sets, and looks at a few ops around it.
    let work = 2 * problem.words() as u64 + 16;

    for _ in 0..problem.len() {
        next.clear();
        let step_started = Instant::now();
        for from in 0..current.sets.len() {
            watch.visit(1);
            if let Some(StepLimit::States(most)) = step_limit
                && from as u64 >= most
            {
                return Outcome::StepLimit;
            }
            for op in bits::iter(current.sets.ready(from)) {
                if watch.time_to_look(work) {
                    let memory = current.memory() + next.memory() + history_memory;
                    if let Some(reason) = watch.stop(memory) {
                        return Outcome::Stopped { reason, at_least };
                    }
                    if let Some(StepLimit::Time(most)) = step_limit
                        && step_started.elapsed() > most
                    {
                        return Outcome::StepLimit;
                    }
                }
                let during = current.sets.in_use(from) + problem.allocated(current.sets.done(from), op);
                let peak = current.peak[from].max(during);
                if peak > budget {
                    least_dropped = least_dropped.min(peak);
                    continue;
                }
                let step = Move { from, op, key: keys[op as usize], during };
                let (set, _) = next.sets.reach(problem, &current.sets, step);
                next.offer(set, peak, Link { before: from as u32, op });
            }
        }
        let least = next.peak.iter().copied().min().unwrap_or(u64::MAX);
        at_least = at_least.max(least.min(least_dropped));
        watch.raise_bound(at_least);
        if next.sets.len() == 0 {
            return Outcome::NoSolution { at_least };
        }
        let links = std::mem::take(&mut next.last);
        history_memory += 8 * links.capacity() as u64;
        history.push(links);
        std::mem::swap(&mut current, &mut next);
    }
    Outcome::Solution { order: read_back(&history), peak: current.peak[0] }
}

fn read_back(history: &[Vec<Link>]) -> Vec<u32> {
    let mut state = 0;
    let mut order: Vec<u32> = history
        .iter()
        .rev()
        .map(|level| {
            let link = level[state as usize];
            state = link.before;
            link.op
        })
        .collect();
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Limits, OpIndex};
    use std::time::Duration;

    /// One input, `readers` ops that read it, and one that reads all their results.
    fn star(readers: u32) -> Problem {
        let mut buffers = vec![Buffer::given(1, (0..readers).map(OpIndex))];
        buffers.extend((0..readers).map(|op| Buffer::produced(2, OpIndex(op), [OpIndex(readers)])));
        Problem::new(readers + 1, buffers, []).unwrap()
    }

    fn stopped(problem: &Problem, limits: &Limits) -> (Option<StopReason>, u64) {
        let mut watch = Watch::new(limits, None);
        let reason = match search(problem, u64::MAX, None, &mut watch) {
            Outcome::Stopped { reason, .. } => Some(reason),
            _ => None,
        };
        (reason, watch.states)
    }

    #[test]
    fn limits_are_looked_at_where_a_step_has_one_state() {
        let chain = Problem::new(5000, Vec::new(), (1..5000).map(|i| (OpIndex(i - 1), OpIndex(i)))).unwrap();
        let limits = Limits::lasting(Duration::ZERO);
        let (reason, states) = stopped(&chain, &limits);
        assert!(reason == Some(StopReason::Time) && states < 1000, "{states} states");
    }

    #[test]
    fn limits_are_looked_at_where_a_state_has_thousands_of_successors() {
        let limits = Limits { memory: Some(1_000_000), ..Limits::default() };
        let (reason, states) = stopped(&star(2000), &limits);
        assert!(reason == Some(StopReason::Memory) && states < 10, "{states} states");
    }

    #[test]
    fn what_is_shown_while_it_runs_ends_at_the_optimum() {
        let limits = Limits::default();
        let mut watch = Watch::new(&limits, None);
        let Outcome::Solution { peak, .. } = search(&star(6), u64::MAX, None, &mut watch) else {
            panic!("there are no limits")
        };
        assert_eq!((peak, watch.bound), (13, 13));
        // Under a budget that is too tight, what was dropped is a bound.
        let mut watch = Watch::new(&limits, None);
        assert!(matches!(search(&star(6), 12, None, &mut watch), Outcome::NoSolution { at_least: 13 }));
        assert_eq!(watch.bound, 13);
    }
}
