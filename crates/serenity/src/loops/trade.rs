//! Which loops are worth what they take.

use crate::by_kernels::mean_need;
use crate::need::whole_need;
use crate::{Loops, Need, Optimized};
use serenity_ir::Graph;
use serenity_loops::{RowLocal, instructions_of};
use serenity_runtimes::Kernels;

/// For every per cent of the whole arena that loops save, a run may take so many per cent more instructions.
const INSTRUCTIONS_FOR_BYTES: u128 = 4;

/// What a planned model takes on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// The whole arena, enough for each set of kernels that may run it.
    whole: u64,
    /// The whole arena in the mean of these sets.
    mean: u64,
    /// Does it fit the budget, if there is one?
    fits: bool,
    /// Multiplications of a run.
    macs: u64,
    /// Instructions of a run on CMSIS-NN, by estimate.
    instructions: u64,
}

/// Decides between plans: by a budget, or by what loops save against what they take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trade {
    pub(crate) loops: Loops,
    without: Taken,
    /// Does the estimate of instructions speak of these kernels? C without an interpreter has kernels of its own.
    knows_the_time: bool,
}

impl Trade {
    /// Loops are judged by what the model needs without any.
    pub(crate) fn new(loops: Loops, without: &Optimized) -> Self {
        let knows_the_time = !without.plan.model.kernels().is_some_and(Kernels::are_emitted);
        Self { loops, without: loops.taken(without), knows_the_time }
    }

    /// What a plan takes.
    pub(crate) fn taken(&self, one: &Optimized) -> Taken {
        self.loops.taken(one)
    }

    /// May loops be taken? They never make the whole arena larger, unless that fits, and they save enough for their time.
    pub(crate) fn accepts(&self, one: &Taken) -> bool {
        one.fits || (one.whole <= self.without.whole && self.are_worth_it(one.whole, one.instructions))
    }

    /// Does a plan of so many bytes in all save enough for its instructions? Where something must fit, whatever it takes, and where the estimate does not know the kernels, always.
    pub(crate) fn are_worth_it(&self, whole: u64, instructions: u64) -> bool {
        if self.loops.enough.is_some() || !self.knows_the_time {
            return true;
        }
        let saved = u128::from(self.without.whole.saturating_sub(whole));
        let extra = u128::from(instructions.saturating_sub(self.without.instructions));
        let (all, run) = (u128::from(self.without.whole), u128::from(self.without.instructions));
        saved > 0 && saved * run * INSTRUCTIONS_FOR_BYTES >= extra * all
    }
}

impl Loops {
    /// Does a model fit what a device has?
    pub(crate) fn are_enough(&self, optimized: &Optimized) -> bool {
        self.enough.is_some_and(|enough| Need::of(&optimized.model, &optimized.plan).to_be_safe() <= enough)
    }

    pub(crate) fn taken(&self, one: &Optimized) -> Taken {
        let (macs, instructions) = match &one.plan.loops {
            Some(loops) => (loops.macs + loops.extra_macs, loops.instructions + loops.extra_instructions),
            None => (macs_of(one.model.graph()), instructions_of(one.model.graph())),
        };
        let whole = whole_need(&one.model, &one.plan);
        Taken { whole, mean: mean_need(one), fits: self.are_enough(one), macs, instructions }
    }
}

impl Taken {
    /// Does it fit the budget, if there is one?
    pub(crate) fn fits(&self) -> bool {
        self.fits
    }

    /// Is this better than another? If both fit the budget, the one that multiplies less. If none fits, or there is no budget, the one that needs less; of equals, the one that needs less in the mean of the
    /// kernels that may run it, or takes less time.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        match (self.fits, other.fits) {
            (true, true) => self.work() < other.work(),
            (false, false) => self.size() < other.size(),
            (fits, _) => fits,
        }
    }

    fn size(&self) -> (u64, u64, u64) {
        (self.whole, self.mean, self.instructions)
    }

    /// What a run takes, multiplications first; of plans that take the same, the one that needs less.
    pub(crate) fn work(&self) -> (u64, u64, u64) {
        (self.macs, self.instructions, self.whole)
    }
}

/// Multiplications of the row-local ops of a graph.
pub(crate) fn macs_of(graph: &Graph) -> u64 {
    graph.op_ids().filter_map(|op| RowLocal::of(graph, op)).map(|local| local.macs).sum()
}
