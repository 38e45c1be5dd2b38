//! The ranking of plans.

use crate::by_kernels::mean_need;
use crate::need::whole_need;
use crate::variant::Changes;
use crate::{Loops, Need, Optimized};
use serenity_ir::Graph;
use serenity_loops::{RowLocal, instructions_of};
use serenity_runtimes::Kernels;

/// For every percent of the whole arena that loops save, a run may take this many percent more instructions.
const INSTRUCTIONS_FOR_BYTES: u128 = 4;

/// The lower score is better. Among plans that fit the budget the one with the least work wins; otherwise the one that
/// needs least and, of equals, changes least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Score {
    /// The plan fits the budget.
    Fits {
        /// Multiplications of a run.
        macs: u64,
        /// Instructions of a run on CMSIS-NN, by estimate.
        instructions: u64,
        need: u64,
        changes: Changes,
    },
    /// There is no budget, or the plan does not fit it.
    Needs {
        /// What a device must have: for TFLM the whole arena that is enough for each set of kernels which may run it.
        need: u64,
        changes: Changes,
        /// The need, averaged over these sets of kernels.
        mean: u64,
        /// Instructions of a run on CMSIS-NN, by estimate.
        instructions: u64,
    },
}

/// What running a planned model takes on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) need: u64,
    mean: u64,
    /// False if there is no budget.
    pub(crate) fits: bool,
    pub(crate) macs: u64,
    pub(crate) instructions: u64,
}

impl Cost {
    pub(crate) fn of(one: &Optimized, budget: Option<u64>) -> Self {
        let (macs, instructions) = match &one.plan.loops {
            Some(loops) => (loops.macs + loops.extra_macs, loops.instructions + loops.extra_instructions),
            None => (macs_of(one.model.graph()), instructions_of(one.model.graph())),
        };
        let fits = budget.is_some_and(|budget| Need::of(&one.model, &one.plan).to_be_safe() <= budget);
        Self { need: whole_need(&one.model, &one.plan), mean: mean_need(one), fits, macs, instructions }
    }

    /// The score of a plan with this cost that makes these changes.
    pub(crate) fn score(&self, changes: Changes) -> Score {
        let Self { need, mean, fits, macs, instructions } = *self;
        if fits {
            Score::Fits { macs, instructions, need, changes }
        } else {
            Score::Needs { need, changes, mean, instructions }
        }
    }

    /// Do loops with this cost rank before loops with `other`?
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        self.score(Changes::LOOPS) < other.score(Changes::LOOPS)
    }

    /// Does a run with this cost take no more work than one with `other`?
    pub(crate) fn works_no_more_than(&self, other: &Self) -> bool {
        let work = |cost: &Self| (cost.macs, cost.instructions, cost.need);
        work(self) <= work(other)
    }
}

/// Decides whether loops are worth their cost: by a budget, or by the memory that they save.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trade {
    pub(crate) loops: Loops,
    without: Cost,
    /// Is the estimate of instructions about these kernels? Emitted C has kernels of its own.
    knows_the_time: bool,
}

impl Trade {
    /// Loops are compared with `without`, the plan without any.
    pub(crate) fn new(loops: Loops, without: &Optimized) -> Self {
        let knows_the_time = !without.plan.model.kernels().is_some_and(Kernels::are_emitted);
        Self { loops, without: Cost::of(without, loops.enough), knows_the_time }
    }

    pub(crate) fn cost(&self, one: &Optimized) -> Cost {
        Cost::of(one, self.loops.enough)
    }

    /// May loops with this cost be taken? They must fit the budget, or not enlarge the arena and save enough for their
    /// time.
    pub(crate) fn accepts(&self, one: &Cost) -> bool {
        one.fits || (one.need <= self.without.need && self.are_worth_it(one.need, one.instructions))
    }

    /// Does a plan of `need` bytes save enough for its instructions? Always true with a budget, and where the estimate
    /// does not know the kernels.
    pub(crate) fn are_worth_it(&self, need: u64, instructions: u64) -> bool {
        if self.loops.enough.is_some() || !self.knows_the_time {
            return true;
        }
        let saved = u128::from(self.without.need.saturating_sub(need));
        let extra = u128::from(instructions.saturating_sub(self.without.instructions));
        let (all, run) = (u128::from(self.without.need), u128::from(self.without.instructions));
        saved > 0 && saved * run * INSTRUCTIONS_FOR_BYTES >= extra * all
    }
}

/// Multiplications of the operators of a graph that work row by row, such as convolutions.
pub fn macs_of(graph: &Graph) -> u64 {
    graph.op_ids().filter_map(|op| RowLocal::of(graph, op)).map(|local| local.macs).sum()
}
