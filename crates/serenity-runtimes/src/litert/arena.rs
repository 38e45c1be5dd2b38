//! The arena of LiteRT's main graph; every sub-graph has an arena of its own.
//!
//! Its planner decides once, before the run, which tensors share memory and when memory is freed. Then it places in
//! rounds: the first ends with the first op whose result has no known size, and when that has run, the rest is placed
//! around what is there. A tensor that was to share the memory of one that turns out to lie on the heap gets its own
//! after all, which is never freed.

use super::{litert_hosts, ties};
use crate::arena::Demand;
use crate::{Arena, Content, Piece};
use crate::{LitertKernels, LitertPlace};
use serenity_arena::{Buffer, FOREVER, Options, Planner, Problem, Step, place};
use serenity_ir::{Graph, OpId, TensorId};
use std::cmp::Reverse;

/// The alignment of LiteRT's tensors in bytes.
pub(super) const ALIGNMENT: u64 = 64;

/// A tensor that the planner considers in one round; not all of them get a place.
struct Considered {
    content: Content,
    buffer: Buffer,
    gets_a_place: bool,
}

/// The arena, if the graph runs in this order; `None` if it would be absurdly large.
pub(super) fn arena(graph: &Graph, order: &[OpId]) -> Option<Arena> {
    let kernels = LitertKernels::of(graph);
    let pieces: Vec<Piece> = placed(&Plan::new(graph, order, &kernels), order)?
        .into_iter()
        .map(|(content, buffer)| Piece { content, bytes: buffer.size, offset: buffer.offset.unwrap_or(0) })
        .collect();
    let bytes = pieces.iter().map(|piece| piece.offset + piece.bytes).max().unwrap_or(0);
    Some(Arena { bytes, pieces })
}

/// All buffers, in the order in which the planner takes them, and for each tensor the one in whose memory it lies.
pub(super) fn demands(graph: &Graph, order: &[OpId]) -> Option<(Vec<Demand>, Vec<TensorId>)> {
    let kernels = LitertKernels::of(graph);
    let plan = Plan::new(graph, order, &kernels);
    let hosts = graph.tensor_ids().map(|t| if plan.shares(t) { plan.hosts[t.index()] } else { t }).collect();
    let anywhere = |(content, buffer)| Demand { content, buffer: Buffer { offset: None, ..buffer } };
    Some((placed(&plan, order)?.into_iter().map(anywhere).collect(), hosts))
}

/// Everything at its place.
fn placed(plan: &Plan, order: &[OpId]) -> Option<Vec<(Content, Buffer)>> {
    let mut placed = Vec::new();
    let mut round = Vec::new();
    for (step, &op) in order.iter().enumerate() {
        round.extend(ties::as_listed(plan.candidates(step, op)));
        if plan.kernels.pauses(op) || step + 1 == order.len() {
            place_round(std::mem::take(&mut round), &mut placed)?;
        }
    }
    Some(placed)
}

/// Places the new buffers around those that are still there.
fn place_round(mut round: Vec<Considered>, placed: &mut Vec<(Content, Buffer)>) -> Option<()> {
    ties::sort(&mut round, |a, b| importance(a).cmp(&importance(b)));
    let new: Vec<(Content, Buffer)> =
        round.into_iter().filter(|c| c.gets_a_place).map(|c| (c.content, c.buffer)).collect();
    let Some(start) = new.iter().map(|(_, buffer)| buffer.lower).min() else { return Some(()) };
    let mut buffers: Vec<Buffer> =
        placed.iter().map(|&(_, buffer)| buffer).filter(|b| b.upper > start).collect();
    // From low to high, which is how the planner keeps them.
    buffers.sort_by_key(|buffer| buffer.offset);
    let there = buffers.len();
    buffers.extend(new.iter().map(|&(_, buffer)| buffer));
    let problem = Problem::new(buffers, ALIGNMENT).ok()?;
    let offsets = place(&problem, &Options::new(Planner::LiteRt)).offsets;
    placed.extend(
        new.iter().zip(&offsets[there..]).map(|(&(content, buffer), &offset)| (content, buffer.at(offset))),
    );
    Some(())
}

/// The planner's order: what stays for the whole run by number, then the largest first, then by first step.
fn importance(candidate: &Considered) -> (bool, u32, Reverse<u64>, Step) {
    let Buffer { lower, upper, size, .. } = candidate.buffer;
    match candidate.content {
        Content::Tensor { tensor, .. } if lower == 0 && upper == FOREVER => (false, tensor.0, Reverse(0), 0),
        _ => (true, 0, Reverse(size), lower),
    }
}

/// What is decided before the run.
struct Plan<'a> {
    graph: &'a Graph,
    kernels: &'a LitertKernels,
    hosts: Vec<TensorId>,
    /// The last step at which the memory of a tensor is read, by host.
    last_read: Vec<Option<Step>>,
}

impl<'a> Plan<'a> {
    fn new(graph: &'a Graph, order: &[OpId], kernels: &'a LitertKernels) -> Self {
        // What comes after the first pause is not prepared yet, so the planner takes it all for tensors of the arena.
        let prepared =
            order.iter().position(|&op| kernels.pauses(op)).map_or(order, |pause| &order[..=pause]);
        let mut is_prepared = vec![false; graph.ops().len()];
        for op in prepared {
            is_prepared[op.index()] = true;
        }
        let hosts = litert_hosts(graph, |tensor| match graph.producer(tensor) {
            Some(op) if !is_prepared[op.index()] => LitertPlace::Arena,
            _ => kernels.place(tensor),
        });
        let mut last_read = vec![None; graph.tensors().len()];
        for (step, &op) in order.iter().enumerate() {
            for input in &graph.op(op).inputs {
                last_read[hosts[input.index()].index()] = Some(step as Step);
            }
        }
        Self { graph, kernels, hosts, last_read }
    }

    /// What comes up for placing with the op that runs at `step`.
    fn candidates(&self, step: usize, op: OpId) -> Vec<Considered> {
        let inputs = if step == 0 { self.graph.inputs() } else { &[] };
        let tensors = inputs.iter().chain(&self.graph.op(op).outputs);
        let tensors = tensors.filter_map(|&tensor| self.tensor(tensor, step as Step));
        let temporaries = self.kernels.temporaries(op).iter().map(|temporary| Considered {
            content: Content::Scratch { graph: 0, op },
            buffer: Buffer::new(temporary.bytes, step as Step..step as Step + 1),
            gets_a_place: temporary.place == LitertPlace::Arena,
        });
        tensors.chain(temporaries).collect()
    }

    fn tensor(&self, tensor: TensorId, first: Step) -> Option<Considered> {
        let place = self.kernels.place(tensor);
        let bytes = self.graph.tensor(tensor).bytes;
        if bytes == 0 || matches!(place, LitertPlace::Heap | LitertPlace::Later | LitertPlace::Folded) {
            return None;
        }
        let is_host = self.hosts[tensor.index()] == tensor;
        let is_kept = self.graph.is_input(tensor) || self.graph.is_output(tensor);
        let last_read = self.last_read[tensor.index()].filter(|_| is_host && !is_kept);
        Some(Considered {
            content: Content::Tensor { graph: 0, tensor },
            buffer: Buffer::new(bytes, first..last_read.map_or(FOREVER, |last| last + 1)),
            gets_a_place: place == LitertPlace::Arena && !self.shares(tensor),
        })
    }

    /// Does it lie in the memory of another tensor when the planner comes to place it?
    fn shares(&self, tensor: TensorId) -> bool {
        let host = self.hosts[tensor.index()];
        host != tensor && self.kernels.place(host) == LitertPlace::Arena && !self.moves_to_the_heap(host)
    }

    /// A reshape to a computed shape, of a tensor that it cannot share, moves its result to the heap when it runs. Its
    /// place in the arena stays reserved.
    fn moves_to_the_heap(&self, tensor: TensorId) -> bool {
        let is_reshaped = self.graph.producer(tensor).is_some_and(|op| self.kernels.pauses(op));
        is_reshaped
            && self.kernels.place(tensor) == LitertPlace::Arena
            && self.hosts[tensor.index()] == tensor
    }
}

/// Every figure was read off the runtime itself, with models of just these ops.
#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    /// The arena, and where these tensors lie in it.
    fn offsets(graph: &str, tensors: impl IntoIterator<Item = u32>) -> (u64, Vec<Option<u64>>) {
        let graph = sketch(graph);
        let arena = arena(&graph, &graph.file_order()).unwrap();
        let offset = |tensor: u32| {
            let content = Content::Tensor { graph: 0, tensor: TensorId(tensor) };
            arena.pieces.iter().find(|piece| piece.content == content).map(|piece| piece.offset)
        };
        (arena.bytes, tensors.into_iter().map(offset).collect())
    }

    #[test]
    fn what_nobody_reads_stays() {
        // The first operand of the kernel is the axis.
        let graph = "x:128; a:32 b:32 c:32 d:32 = SPLIT int32#[] x; \
                     z:32 = ABS b; w:32 = NEG z; v:32 = ABS w; -> v";
        let expected = [128, 320, 192, 256, 384, 320, 384].map(Some).to_vec();
        assert_eq!(offsets(graph, 1..8), (416, expected));
    }

    #[test]
    fn of_many_equals_the_library_decides() {
        let parts: Vec<String> = (0..20).map(|part| format!("p{part}:64")).collect();
        let sum = |at| format!("s{at}:64 = MAXIMUM s{} p{at}", at - 1);
        let sums = (1..20).map(sum).collect::<Vec<_>>().join("; ").replace("s0 ", "p0 ");
        let parts = parts.join(" ");
        let graph = format!("input:1280; x:1280 = ABS input; {parts} = SPLIT int32#[] x; {sums}; -> s19");
        let expected = [
            3264, 3200, 3776, 3136, 3072, 3008, 2944, 2880, 2816, 2752, 2688, 2560, 2624, 3328, 3392, 3456,
            3520, 3584, 3648, 3712,
        ];
        assert_eq!(offsets(&graph, 2..22), (3840, expected.map(Some).to_vec()));
    }

    #[test]
    fn after_a_result_of_unknown_size_the_rest_is_placed_around_what_is_there() {
        let graph = "x:64 order:8; y:64 = TRANSPOSE x order; \
                     a:64 = RESHAPE y; b:64 = ABS a; c:64 = NEG b; d:64 = ABS c; -> d";
        assert_eq!(offsets(graph, 3..7), (256, [128, 192, 128, 192].map(Some).to_vec()));
    }

    #[test]
    fn sharing_that_was_planned_in_vain_is_never_given_back() {
        let graph = "x:64 order:8; y:64 = TRANSPOSE x order; z:64 = TRANSPOSE y order; \
                     a:64 = RESHAPE z; b:64 = ABS a; c:64 = NEG b; d:64 = ABS c; e:64 = NEG d; -> e";
        assert_eq!(offsets(graph, 4..9), (320, [128, 192, 256, 192, 256].map(Some).to_vec()));
    }

    #[test]
    fn a_reshaping_to_a_computed_shape_shares_or_keeps_an_empty_place() {
        let graph = "x:64 shape:8; a:64 = ABS x; y:64 = RESHAPE a shape; b:64 = ABS y; c:64 = NEG b; -> c";
        assert_eq!(offsets(graph, 2..6), (256, vec![Some(128), None, Some(192), Some(128)]));
        let graph = "x:64 shape:8; y:64 = RESHAPE x shape; a:64 = ABS y; b:64 = NEG a; c:64 = ABS b; -> c";
        assert_eq!(offsets(graph, 3..6), (256, [192, 128, 192].map(Some).to_vec()));
    }
}
