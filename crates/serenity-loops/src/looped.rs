//! A model in which windows of the main graph run as loops.

use crate::emit::{Chosen, emit};
use crate::instructions::extra_instructions;
use crate::program::Program;
use crate::rows::RowLocal;
use crate::speed::Measured;
use crate::time::extra_time;
use crate::window::Window;
use crate::{halo, lines};
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::BTreeSet;

/// A window of the main graph that becomes a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its ops, as they follow each other in the order of the model.
    pub ops: Vec<OpId>,
    /// The tensor that enters, which is cut into stripes.
    pub enters: TensorId,
    /// Are rows that stripes share carried from one iteration to the next? If not, they are computed again.
    pub carries: bool,
    /// Are the rows that the first iteration needs computed ahead of the loop? If not, additional iterations compute
    /// them.
    pub peeled: bool,
    /// Rows of the leaving tensor per iteration.
    pub step: u64,
}

/// The cost of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopCost {
    /// How often its body runs.
    pub iterations: u64,
    /// Multiplications that the loop adds.
    pub extra_macs: u64,
    /// Bytes that the loop copies in total, besides what its operators do.
    pub copied: u64,
    /// Estimated time that the loop adds, in multiplications, as for [`time_of`](crate::time_of).
    pub extra_time: u64,
    /// The result of its last op.
    pub leaves: TensorId,
}

/// The graphs of a model in which windows of the main graph run as loops, and the origins of their ops.
///
/// Tensors of the old main graph keep their ids in the new one; those that exist only as stripes are left with no bytes
/// and the shape `[0]`. New tensors follow. A constant of a new op is described in full by its attribute `constants`:
/// `shape`, `dtype`, `quantization` if it has one, and either all its `values` or the one value that `fill`s it.
#[derive(Clone, Debug)]
pub struct Looped {
    /// The main graph first, then the sub-graphs of the model, unchanged, then the condition and the body of each loop,
    /// which its `WHILE` names in the attribute `bodies`.
    pub graphs: Vec<Graph>,
    /// Per graph and op: the op of the old main graph that it stands for, on stripes or unchanged, with the constants
    /// of that op at all positions for which it has none of its own; `None` for the ops of the loop itself. Empty for
    /// the sub-graphs of the model.
    pub origins: Vec<Vec<Option<OpId>>>,
}

impl Loop {
    fn locals(&self, graph: &Graph) -> Option<Vec<RowLocal>> {
        let is_there = |op: &OpId| op.index() < graph.ops().len();
        if self.ops.is_empty() || !self.ops.iter().all(is_there) {
            return None;
        }
        self.ops.iter().map(|&op| RowLocal::of(graph, op)).collect()
    }

    fn program(&self, window: &Window) -> Option<Program> {
        let step = i64::try_from(self.step).ok()?;
        if !window.ops[0].inputs.contains(&self.enters) {
            return None;
        }
        if self.carries {
            return lines::program(window, step, self.peeled);
        }
        // Nothing is carried, so nothing can be computed ahead.
        if self.peeled { None } else { halo::program(window, self.enters, step) }
    }

    /// The cost of this loop; `None` if the ops cannot become such a loop.
    pub fn cost(&self, graph: &Graph) -> Option<LoopCost> {
        let locals = self.locals(graph)?;
        let window = Window::new(graph, locals.iter().collect())?;
        let program = self.program(&window)?;
        Some(LoopCost {
            iterations: program.iterations as u64,
            extra_macs: program.extra_macs.max(0) as u64,
            copied: program.copied(&window) as u64,
            extra_time: extra_time(&window, &program),
            leaves: program.leaves,
        })
    }

    /// Estimated instructions that the loop adds. `None` if the ops cannot become such a loop.
    pub fn extra_instructions(&self, graph: &Graph, on: Measured) -> Option<u64> {
        let locals = self.locals(graph)?;
        let window = Window::new(graph, locals.iter().collect())?;
        Some(extra_instructions(&window, &self.program(&window)?, on.speed()))
    }
}

impl Looped {
    /// The model with these windows of its main graph as loops, and its ops in this order. `None` if one cannot become
    /// such a loop, its ops do not follow each other, or two of them share an op.
    pub fn new(graphs: &[Graph], order: &[OpId], loops: &[Loop]) -> Option<Self> {
        let main = graphs.first()?;
        let follow = |one: &Loop| order.windows(one.ops.len().max(1)).any(|run| run == one.ops);
        let mut looped = BTreeSet::new();
        let are_apart = loops.iter().flat_map(|one| &one.ops).all(|op| looped.insert(*op));
        if !are_apart || !loops.iter().all(follow) {
            return None;
        }
        let locals: Vec<Vec<RowLocal>> = loops.iter().map(|one| one.locals(main)).collect::<Option<_>>()?;
        let chosen = loops.iter().zip(&locals).map(|(one, locals)| {
            let window = Window::new(main, locals.iter().collect())?;
            let program = one.program(&window)?;
            Some(Chosen { window, program })
        });
        emit(graphs, order, &chosen.collect::<Option<Vec<_>>>()?)
    }

    /// These loops, if the main graph that they were made of was itself made of another: `origins` maps its ops to
    /// those of the other one.
    #[must_use]
    pub fn of(mut self, origins: &[OpId]) -> Self {
        for origin in self.origins.iter_mut().flatten().flatten() {
            *origin = origins.get(origin.index()).copied().unwrap_or(*origin);
        }
        self
    }

    /// All values of a constant of a new op, as integers.
    pub fn numbers(&self, graph: usize, op: OpId, position: usize) -> Option<Vec<i64>> {
        let described = self.graphs.get(graph)?.op(op).constant(position)?;
        described.values().or_else(|| {
            let elements: u64 = described.shape()?.iter().product();
            Some(vec![described.fill()?; usize::try_from(elements).ok()?])
        })
    }
}
