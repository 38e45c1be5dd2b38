//! The loops that were made, as a plan lists them.

use super::Ground;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::{OpId, TensorId};
use serenity_loops::{Floor, Loop, LoopCost, Measured, instructions_of, instructions_on, time_of};

/// The loops that a model got: windows of ops that run over stripes of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedLoops {
    /// The ops of the (rewritten) model without loops, in execution order.
    pub order: Vec<OpId>,
    /// Did every reader of a padding first get one of its own? Then ops and tensors of `windows` are numbered as in the
    /// model in which it did, its ops in `order`.
    pub spread: bool,
    /// Multiplications of the row-local operators without loops.
    pub macs: u64,
    /// Multiplications that the loops add.
    pub extra_macs: u64,
    /// Bytes that the loops copy in a run, besides what their operators do.
    pub copied: u64,
    /// The estimated time of a run without loops, in multiplications of portable kernels.
    pub time: u64,
    /// The time that the loops add to a run.
    pub extra_time: u64,
    /// The instructions of a run without loops on CMSIS-NN: an estimate, calibrated on five int8 models.
    pub instructions: u64,
    /// The instructions that the loops add to a run, for what they compute again, copy, and call once per stripe.
    pub extra_instructions: u64,
    /// The loops.
    #[schemars(length(min = 1))]
    pub windows: Vec<AppliedLoop>,
    /// The estimated instructions of a run with loops, where they are known; JSON does not state them.
    #[serde(skip)]
    pub runs: Vec<(Measured, u64)>,
    /// A lower bound on the memory of this model with any loops; JSON does not state it.
    #[serde(skip)]
    pub floor: Floor,
}

/// A loop that a model got: ops that follow each other and run as one loop over stripes of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedLoop {
    /// The ops, by their positions in the (rewritten) model without loops, as they follow each other.
    #[schemars(length(min = 1))]
    pub ops: Vec<OpId>,
    /// The tensor of the model without loops that is cut into stripes.
    pub enters: TensorId,
    /// The tensor that the loop makes.
    pub leaves: TensorId,
    /// Are rows that stripes share carried from one to the next? If not, they are computed again.
    pub carries: bool,
    /// Are the rows that the first iteration needs computed ahead of the loop? If not, additional iterations compute
    /// them.
    pub peeled: bool,
    /// Rows of `leaves` per iteration.
    #[schemars(range(min = 1))]
    pub step: u64,
    /// How often its body runs.
    #[schemars(range(min = 1))]
    pub iterations: u64,
    /// Multiplications that it adds.
    pub extra_macs: u64,
    /// Bytes that it copies in a run.
    pub copied: u64,
    /// The time that it adds to a run, in multiplications of portable kernels.
    pub extra_time: u64,
    /// The names of its first and its last op, for people; JSON does not state them.
    #[serde(skip)]
    pub ends: [String; 2],
}

impl AppliedLoop {
    /// The loop itself, without its costs.
    pub fn to_loop(&self) -> Loop {
        let Self { ref ops, enters, carries, peeled, step, .. } = *self;
        Loop { ops: ops.clone(), enters, carries, peeled, step }
    }
}

/// Loops with their costs and names; `None` if one cannot be made.
pub(super) fn applied(ground: &Ground, loops: Vec<Loop>, macs: u64) -> Option<AppliedLoops> {
    let main = &ground.graphs[0];
    let name = |op: Option<&OpId>| op.map_or_else(String::new, |&op| main.op_label(op));
    let extra = |on| loops.iter().map(|one| one.extra_instructions(main, on)).sum::<Option<u64>>();
    let extra_instructions = extra(Measured::CmsisNn)?;
    let run = |on| Some((on, instructions_on(on, main)? + extra(on)?));
    let runs = Measured::ALL.into_iter().filter_map(run).collect();
    let window = |Loop { ops, enters, carries, peeled, step }: Loop, cost: LoopCost| {
        let LoopCost { iterations, extra_macs, copied, extra_time, leaves } = cost;
        let ends = [name(ops.first()), name(ops.last())];
        AppliedLoop {
            ops,
            enters,
            leaves,
            carries,
            peeled,
            step,
            iterations,
            extra_macs,
            copied,
            extra_time,
            ends,
        }
    };
    let windows = loops.into_iter().map(|one| one.cost(main).map(|cost| window(one, cost)));
    let windows: Vec<AppliedLoop> = windows.collect::<Option<_>>()?;
    Some(AppliedLoops {
        order: ground.before.clone(),
        spread: ground.origins.is_some(),
        macs,
        extra_macs: windows.iter().map(|one| one.extra_macs).sum(),
        copied: windows.iter().map(|one| one.copied).sum(),
        time: time_of(main),
        extra_time: windows.iter().map(|one| one.extra_time).sum(),
        instructions: instructions_of(main),
        extra_instructions,
        windows,
        runs,
        floor: Floor::of(main),
    })
}
