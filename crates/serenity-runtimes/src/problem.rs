//! From a model and its orders to a placement problem, for any planner.

use crate::Content;
use crate::arena::Demand;
use serenity_arena::{Buffer, Overlap, Problem, ProblemError, Step};
use serenity_ir::{BufferId, HandOver, Lifetimes, OpId, TensorId};
use std::collections::BTreeMap;

/// The buffers of a model as a planner takes them, and their contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaProblem {
    /// The buffers: sizes as the runtime counts them, and its alignment.
    pub problem: Problem,
    /// The content of each buffer, in the same order.
    pub contents: Vec<Content>,
    /// The tensors that share each buffer under the memory model, in the graph that its content names. Empty for
    /// scratch.
    pub tensors: Vec<Vec<TensorId>>,
}

impl ArenaProblem {
    /// The problem with another alignment.
    ///
    /// # Errors
    /// If the alignment is 0, or makes the sizes absurdly large.
    pub fn aligned(self, alignment: u64) -> Result<Self, ProblemError> {
        let problem = Problem::new(self.problem.buffers().to_vec(), alignment)?
            .with_overlaps(self.problem.overlaps().to_vec())?;
        Ok(Self { problem, ..self })
    }
}

/// The buffer of each tensor, by graph and tensor.
pub(crate) fn tensor_buffers(contents: &[Content]) -> BTreeMap<(usize, TensorId), usize> {
    let named = contents.iter().enumerate().filter_map(|(buffer, content)| match *content {
        Content::Tensor { graph, tensor } => Some(((graph, tensor), buffer)),
        Content::Scratch { .. } => None,
    });
    named.collect()
}

pub(crate) fn assemble(demands: Vec<Demand>, alignment: u64, overlaps: Vec<Overlap>) -> Option<ArenaProblem> {
    let contents: Vec<Content> = demands.iter().map(|demand| demand.content).collect();
    let buffers = demands.into_iter().map(|demand| demand.buffer).collect();
    let problem = Problem::new(buffers, alignment).and_then(|p| p.with_overlaps(overlaps)).ok()?;
    let own = |content: &Content| match *content {
        Content::Tensor { tensor, .. } => vec![tensor],
        Content::Scratch { .. } => Vec::new(),
    };
    let tensors = contents.iter().map(own).collect();
    Some(ArenaProblem { problem, contents, tensors })
}

/// The placement problem for a memory model without a runtime: its buffers, at any byte, with permission to write over
/// what an op of this order reads last.
pub(crate) fn by_lifetimes(lifetimes: &Lifetimes, order: &[OpId]) -> Option<ArenaProblem> {
    let hand_overs = lifetimes.hand_overs();
    // What the first op writes over was there before it.
    let start = Step::from(order.first().is_some_and(|op| hand_overs.iter().any(|pair| pair.op == *op)));
    let mut step = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        step[op.index()] = start + position as Step;
    }
    let end = start + order.len().max(1) as Step;
    let (mut demands, mut tensors) = (Vec::new(), Vec::new());
    let mut position_of = BTreeMap::new();
    for (id, buffer) in lifetimes.buffers().iter().enumerate() {
        let first = buffer.writers.iter().map(|op| step[op.index()]).min();
        let last = buffer.readers.iter().map(|op| step[op.index()]).max();
        let lower = first.filter(|_| !buffer.from_start).unwrap_or(0);
        let upper = last.filter(|_| !buffer.to_end).map_or(end, |last| last + 1).max(lower + 1);
        let content = match (buffer.tensors.first(), buffer.writers.first()) {
            (Some(&tensor), _) => Content::Tensor { graph: 0, tensor },
            (None, Some(&op)) => Content::Scratch { graph: 0, op },
            (None, None) => continue,
        };
        position_of.insert(BufferId::from_index(id), demands.len());
        demands.push(Demand { content, buffer: Buffer::new(buffer.bytes, lower..upper) });
        tensors.push(buffer.tensors.clone());
    }
    let is_handed_over = |pair: &&HandOver| {
        let last = lifetimes.buffer(pair.old).readers.iter().map(|op| step[op.index()]).max();
        last == Some(step[pair.op.index()])
    };
    let overlap = |pair: &HandOver| {
        Some(Overlap::same_offset(*position_of.get(&pair.new)?, *position_of.get(&pair.old)?))
    };
    let overlaps = hand_overs.iter().filter(is_handed_over).filter_map(overlap).collect();
    Some(ArenaProblem { tensors, ..assemble(demands, 1, overlaps)? })
}
