//! What is better: the one order on plans.

use crate::by_kernels::mean_need;
use crate::need::whole_need;
use crate::variant::Changes;
use crate::{Loops, Need, Optimized};
use serenity_ir::Graph;
use serenity_loops::{RowLocal, instructions_of};
use serenity_runtimes::Kernels;

/// For every per cent of the whole arena that loops save, a run may take so many per cent more instructions.
const INSTRUCTIONS_FOR_BYTES: u128 = 4;

/// Less is better. With a budget, the least work of what fits it; otherwise what needs least, and of equals what changes least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Score {
    /// It fits the budget.
    Fits {
        /// Multiplications of a run.
        macs: u64,
        /// Instructions of a run on CMSIS-NN, by estimate.
        instructions: u64,
        /// What it needs.
        need: u64,
        /// What is changed for that.
        changes: Changes,
    },
    /// There is no budget, or it does not fit.
    Needs {
        /// What a device must have: for TFLM the whole arena, enough for each set of kernels that may run it.
        need: u64,
        /// What is changed for that.
        changes: Changes,
        /// The need in the mean of these sets of kernels.
        mean: u64,
        /// Instructions of a run on CMSIS-NN, by estimate.
        instructions: u64,
    },
}

/// What a planned model takes on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) need: u64,
    mean: u64,
    /// Does it fit the budget, if there is one?
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

    /// How good that is, for a plan that changes so much.
    pub(crate) fn score(&self, changes: Changes) -> Score {
        let Self { need, mean, fits, macs, instructions } = *self;
        if fits {
            Score::Fits { macs, instructions, need, changes }
        } else {
            Score::Needs { need, changes, mean, instructions }
        }
    }

    /// Are loops with this cost better than others?
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        self.score(Changes::LOOPS) < other.score(Changes::LOOPS)
    }

    /// Does a run of this take no more than a run of another?
    pub(crate) fn works_no_more_than(&self, other: &Self) -> bool {
        let work = |cost: &Self| (cost.macs, cost.instructions, cost.need);
        work(self) <= work(other)
    }
}

/// Decides whether loops are worth what they take: by a budget, or by what they save.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trade {
    pub(crate) loops: Loops,
    without: Cost,
    /// Does the estimate of instructions speak of these kernels? C without an interpreter has kernels of its own.
    knows_the_time: bool,
}

impl Trade {
    /// Loops are judged by what the model needs without any.
    pub(crate) fn new(loops: Loops, without: &Optimized) -> Self {
        let knows_the_time = !without.plan.model.kernels().is_some_and(Kernels::are_emitted);
        Self { loops, without: Cost::of(without, loops.enough), knows_the_time }
    }

    /// What a plan takes.
    pub(crate) fn cost(&self, one: &Optimized) -> Cost {
        Cost::of(one, self.loops.enough)
    }

    /// May loops be taken? They never make the whole arena larger, unless that fits, and they save enough for their time.
    pub(crate) fn accepts(&self, one: &Cost) -> bool {
        one.fits || (one.need <= self.without.need && self.are_worth_it(one.need, one.instructions))
    }

    /// Does a plan of so many bytes in all save enough for its instructions? Where something must fit, whatever it takes, and where the estimate does not know the kernels, always.
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

/// Multiplications of the row-local ops of a graph.
pub(crate) fn macs_of(graph: &Graph) -> u64 {
    graph.op_ids().filter_map(|op| RowLocal::of(graph, op)).map(|local| local.macs).sum()
}
