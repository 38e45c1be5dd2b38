//! How long a run takes, by estimate.

use crate::{Input, Plan};
use serenity_ir::Graph;
use serenity_loops::{Measured, instructions_on, time_of};
use serenity_runtimes::MemoryModel;

/// The work of a run in units that can be compared with each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// Instructions on a Cortex-M4, if the kernels were measured with such numbers.
    pub instructions: Option<u64>,
    /// Multiplications of portable kernels.
    time: Option<u64>,
}

impl Run {
    /// A model without loops.
    pub fn of(graph: &Graph, model: MemoryModel) -> Self {
        let Some(kernels) = model.kernels() else { return Self::default() };
        let on = Measured::of(kernels);
        let instructions = on.and_then(|on| instructions_on(on, graph)).filter(|&number| number > 0);
        Self { instructions, time: Some(time_of(graph)).filter(|&time| time > 0) }
    }

    /// A planned model.
    pub fn of_planned(planned: &Input, plan: &Plan) -> Self {
        let model = plan.model;
        let Some(loops) = &plan.loops else { return Self::of(planned.graph(), model) };
        let on = model.kernels().and_then(Measured::of);
        let run = loops.runs.iter().find(|(measured, _)| Some(*measured) == on);
        Self { instructions: run.map(|&(_, number)| number), time: Some(loops.time + loops.extra_time) }
    }

    /// A model of which the end is planned by itself: `now` is a run of that end, and `before` of the end as it was.
    /// Of its beginning, this share is computed.
    #[must_use]
    pub fn with_end(self, share: f64, before: Self, now: Self) -> Self {
        let changed = |whole: Option<u64>, before: Option<u64>, now: Option<u64>| {
            let beginning = whole?.saturating_sub(before.unwrap_or(0));
            Some((beginning as f64 * share) as u64 + now.unwrap_or(0))
        };
        Self {
            instructions: changed(self.instructions, before.instructions, now.instructions),
            time: changed(self.time, before.time, now.time),
        }
    }

    /// The share of time that this run takes more than another one; negative if it takes less.
    pub fn compared_with(self, before: Self) -> Option<f64> {
        let compared = |now: Option<u64>, before: Option<u64>| Some(now? as f64 / before? as f64 - 1.0);
        compared(self.instructions, before.instructions).or_else(|| compared(self.time, before.time))
    }
}
