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
    use serenity_ir::{GraphBuilder, Op, OpKind, Tensor};

    fn split(builder: &mut GraphBuilder, whole: TensorId, parts: &[TensorId]) {
        builder.push_op(Op {
            name: String::new(),
            kind: OpKind::new("SPLIT"),
            inputs: vec![whole],
            outputs: parts.to_vec(),
            // The first operand of the kernel is the axis.
            attributes: [("constants".to_owned(), serde_json::json!({"0": {"shape": []}}))]
                .into_iter()
                .collect(),
            extra: serde_json::Map::new(),
        });
    }

    fn offsets(builder: GraphBuilder, tensors: &[TensorId]) -> (u64, Vec<Option<u64>>) {
        let graph = builder.build().unwrap();
        let arena = arena(&graph, &graph.file_order()).unwrap();
        let offset = |&tensor: &TensorId| {
            let is_it = |piece: &&Piece| piece.content == Content::Tensor { graph: 0, tensor };
            arena.pieces.iter().find(is_it).map(|piece| piece.offset)
        };
        (arena.bytes, tensors.iter().map(offset).collect())
    }

    fn chain(builder: &mut GraphBuilder, from: TensorId, kinds: &[&str]) -> Vec<TensorId> {
        let mut last = from;
        let mut tensors = Vec::new();
        for &kind in kinds {
            last = builder.op(kind, kind, &[last], Tensor::sized(kind, 64));
            tensors.push(last);
        }
        builder.output(last);
        tensors
    }

    #[test]
    fn what_nobody_reads_stays() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 128));
        let parts = [(); 4].map(|()| g.tensor(Tensor::sized("part", 32)));
        split(&mut g, x, &parts);
        let z = g.op("z", "ABS", &[parts[1]], Tensor::sized("z", 32));
        let w = g.op("w", "NEG", &[z], Tensor::sized("w", 32));
        let v = g.op("v", "ABS", &[w], Tensor::sized("v", 32));
        g.output(v);
        let (bytes, offsets) = offsets(g, &[parts[0], parts[1], parts[2], parts[3], z, w, v]);
        assert_eq!((bytes, offsets), (416, [128, 320, 192, 256, 384, 320, 384].map(Some).to_vec()));
    }

    #[test]
    fn of_many_equals_the_library_decides() {
        let mut g = GraphBuilder::new("");
        let input = g.input(Tensor::sized("input", 1280));
        let x = g.op("x", "ABS", &[input], Tensor::sized("x", 1280));
        let parts: Vec<TensorId> = (0..20).map(|_| g.tensor(Tensor::sized("part", 64))).collect();
        split(&mut g, x, &parts);
        let mut last = parts[0];
        for &part in &parts[1..] {
            last = g.op("", "MAXIMUM", &[last, part], Tensor::sized("", 64));
        }
        g.output(last);
        let expected = [
            3264, 3200, 3776, 3136, 3072, 3008, 2944, 2880, 2816, 2752, 2688, 2560, 2624, 3328, 3392, 3456,
            3520, 3584, 3648, 3712,
        ];
        assert_eq!(offsets(g, &parts), (3840, expected.map(Some).to_vec()));
    }

    #[test]
    fn after_a_result_of_unknown_size_the_rest_is_placed_around_what_is_there() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 64));
        let order = g.input(Tensor::sized("order", 8));
        let y = g.op("y", "TRANSPOSE", &[x, order], Tensor::sized("y", 64));
        let tensors = chain(&mut g, y, &["RESHAPE", "ABS", "NEG", "ABS"]);
        assert_eq!(offsets(g, &tensors), (256, [128, 192, 128, 192].map(Some).to_vec()));
    }

    #[test]
    fn sharing_that_was_planned_in_vain_is_never_given_back() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 64));
        let order = g.input(Tensor::sized("order", 8));
        let y = g.op("y", "TRANSPOSE", &[x, order], Tensor::sized("y", 64));
        let z = g.op("z", "TRANSPOSE", &[y, order], Tensor::sized("z", 64));
        let tensors = chain(&mut g, z, &["RESHAPE", "ABS", "NEG", "ABS", "NEG"]);
        assert_eq!(offsets(g, &tensors), (320, [128, 192, 256, 192, 256].map(Some).to_vec()));
    }

    #[test]
    fn a_reshaping_to_a_computed_shape_shares_or_keeps_an_empty_place() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 64));
        let shape = g.input(Tensor::sized("shape", 8));
        let a = g.op("a", "ABS", &[x], Tensor::sized("a", 64));
        let y = g.op("y", "RESHAPE", &[a, shape], Tensor::sized("y", 64));
        let tensors = chain(&mut g, y, &["ABS", "NEG"]);
        let all = [&[a, y][..], &tensors].concat();
        assert_eq!(offsets(g, &all), (256, vec![Some(128), None, Some(192), Some(128)]));

        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 64));
        let shape = g.input(Tensor::sized("shape", 8));
        let y = g.op("y", "RESHAPE", &[x, shape], Tensor::sized("y", 64));
        let tensors = chain(&mut g, y, &["ABS", "NEG", "ABS"]);
        assert_eq!(offsets(g, &tensors), (256, [192, 128, 192].map(Some).to_vec()));
    }
}
