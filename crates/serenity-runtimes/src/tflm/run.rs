//! TensorFlow Lite for Microcontrollers: all sub-graphs share one arena and one time line.
//!
//! Graph inputs exist from the step at which their graph is entered. Every op is one step, and every sub-graph that an
//! op runs is entered with another; the inputs and outputs of the op live until the sub-graphs are done. A tensor that
//! no op touches is placed as well, at a step of its own.

use super::hand_over::hand_overs_among;
use super::parts::parts;
use super::ties::{self, Copies};
use super::{tflm_bytes, tflm_scratch};
use crate::arena::Demand;
use crate::problem::tensor_buffers;
use crate::{Content, Offsets};
use crate::{Kernels, Overlap, overlaps};
use serenity_arena::{Buffer, Step};
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// No real model takes more steps, or nests its sub-graphs deeper.
const MOST_STEPS: Step = 1 << 24;
const DEEPEST: usize = 64;

/// First and last step.
#[derive(Clone, Copy)]
struct Life(Step, Step);

/// The lifetime that TFLM gives to tensors that no op touches.
const UNTOUCHED: Life = Life(-1, -1);

impl Life {
    fn begin(&mut self, now: Step) {
        if self.0 < 0 {
            self.0 = now;
        }
    }

    fn extend(&mut self, now: Step) {
        self.1 = self.1.max(now);
    }
}

/// What the runtime knows about a model before it runs, for any order. Computed once, because thousands of orders are
/// tried.
#[derive(Clone)]
pub struct Facts<'a> {
    pub(super) graphs: Vec<&'a Graph>,
    /// By graph and tensor: bytes in the arena.
    bytes: Vec<Vec<u64>>,
    /// By graph and op: what it asks for besides its tensors, which outputs may lie over which inputs, and the
    /// sub-graphs that it runs.
    scratch: ByOp<Vec<u64>>,
    permitted: ByOp<Vec<Overlap>>,
    bodies: ByOp<Vec<usize>>,
    /// Copies that ties may avoid, if there are loops.
    copies: Option<Arc<Copies>>,
    /// The sets of kernels that may run the model, and the scratch of each; without sets that request the same as an
    /// earlier one.
    sets: Vec<(Kernels, ByOp<Vec<u64>>)>,
}

/// By graph and op.
type ByOp<T> = Vec<Vec<T>>;

impl<'a> Facts<'a> {
    /// The facts about these graphs, the main one first, with these kernels.
    pub fn new(graphs: &[&'a Graph], kernels: Kernels) -> Self {
        fn by_op<T>(graphs: &[&Graph], fact: impl Fn(&Graph, OpId) -> T) -> ByOp<T> {
            graphs.iter().map(|g| g.op_ids().map(|op| fact(g, op)).collect()).collect()
        }
        let scratch_of = |kernels: Kernels| by_op(graphs, |g, op| tflm_scratch(g, op, kernels));
        let mut sets: Vec<(Kernels, ByOp<Vec<u64>>)> = Vec::new();
        for &set in kernels.sets() {
            let scratch = scratch_of(set);
            if sets.iter().all(|(_, known)| *known != scratch) {
                sets.push((set, scratch));
            }
        }
        Self {
            graphs: graphs.to_vec(),
            bytes: graphs.iter().map(|g| g.tensors().iter().map(tflm_bytes).collect()).collect(),
            scratch: scratch_of(kernels),
            permitted: by_op(graphs, |g, op| overlaps(g, op, kernels)),
            bodies: by_op(graphs, |g, op| g.op(op).bodies().collect()),
            copies: Copies::of(graphs).map(Arc::new),
            sets,
        }
    }

    /// The sets of kernels that may run the model, without those that request the same as another.
    pub fn sets(&self) -> impl Iterator<Item = Kernels> {
        self.sets.iter().map(|(set, _)| *set)
    }

    /// The facts as each set of kernels sees them, if they differ from those for all sets: the best placement for one
    /// set may serve all. Arenas are still those of all sets.
    pub fn by_set(&self) -> Vec<Self> {
        let others = self.sets.iter().filter(|(_, scratch)| *scratch != self.scratch);
        others.map(|(_, scratch)| Self { scratch: scratch.clone(), ..self.clone() }).collect()
    }

    /// The facts as the first set of kernels sees them: the portable one, which requests the least.
    #[must_use]
    pub fn of_first_set(mut self) -> Self {
        if let Some((_, scratch)) = self.sets.first() {
            self.scratch.clone_from(scratch);
        }
        self
    }

    /// An offset for every tensor that takes room, by graph and tensor. Tensors that no op touches lie at the bottom,
    /// where they are in no other's way.
    pub(super) fn for_all_tensors(&self, place: impl Fn(usize, TensorId) -> Option<u64>) -> Offsets {
        let of_graph = |(graph, g): (usize, &&Graph)| {
            let place = |t: TensorId| place(graph, t).or((g.tensor(t).bytes > 0).then_some(0));
            g.tensor_ids().map(place).collect()
        };
        self.graphs.iter().enumerate().map(of_graph).collect()
    }
}

struct Walk<'a> {
    facts: &'a Facts<'a>,
    orders: &'a [&'a [OpId]],
    now: Step,
    tensors: Vec<Vec<Life>>,
    ops: Vec<Vec<Life>>,
}

/// What one run of a model needs in the arena.
pub(super) struct Run<'a> {
    walk: Walk<'a>,
}

impl<'a> Run<'a> {
    /// `None` if the sub-graphs call each other without end.
    pub(super) fn new(facts: &'a Facts<'a>, orders: &'a [&'a [OpId]]) -> Option<Self> {
        let graphs = &facts.graphs;
        let mut walk = Walk {
            facts,
            orders,
            now: 0,
            tensors: graphs.iter().map(|g| vec![UNTOUCHED; g.tensors().len()]).collect(),
            ops: graphs.iter().map(|g| vec![UNTOUCHED; g.ops().len()]).collect(),
        };
        walk.enter(0, 0)?;
        Some(Self { walk })
    }

    pub(super) fn graphs(&self) -> &[&'a Graph] {
        &self.walk.facts.graphs
    }

    /// Copies that ties may avoid; `None` if there are no loops.
    pub(super) fn copies(&self) -> Option<&Copies> {
        self.walk.facts.copies.as_deref()
    }

    /// The last step at which an op runs.
    pub(super) fn last_step(&self, graph: usize, op: OpId) -> Step {
        self.walk.ops[graph][op.index()].1
    }

    /// Is a tensor read for the last time by the op that writes `output`, once, and wanted by nobody else?
    pub(super) fn dies_with(&self, graph: usize, tensor: TensorId, output: TensorId) -> bool {
        let of = self.walk.facts.graphs[graph];
        let Some(op) = of.producer(output) else { return false };
        let last = self.walk.tensors[graph][tensor.index()].1;
        last == self.walk.ops[graph][op.index()].1
            && !of.is_output(tensor)
            && of.op(op).inputs.iter().filter(|&&input| input == tensor).count() == 1
    }

    /// Everything that TFLM's planner is asked to place, in its order: the tensors of all graphs, then the scratch of
    /// all ops, as much as it may be.
    pub(super) fn demands(&self) -> Vec<Demand> {
        self.demands_with(&self.walk.facts.scratch)
    }

    /// Everything that TFLM's planner is asked to place, in its order, with each set of kernels that may run the model.
    pub(super) fn demands_of_sets(&self) -> impl Iterator<Item = Vec<Demand>> {
        self.walk.facts.sets.iter().map(|(_, scratch)| self.demands_with(scratch))
    }

    fn demands_with(&self, scratch: &ByOp<Vec<u64>>) -> Vec<Demand> {
        let mut demands = Vec::new();
        let Facts { bytes, .. } = self.walk.facts;
        for (graph, sizes) in bytes.iter().enumerate() {
            for (tensor, &bytes) in sizes.iter().enumerate() {
                let Life(first, last) = self.walk.tensors[graph][tensor];
                if bytes > 0 {
                    let tensor = TensorId::from_index(tensor);
                    let content = Content::Tensor { graph, tensor };
                    demands.push(Demand { content, buffer: Buffer::new(bytes, first..last.max(first) + 1) });
                }
            }
        }
        for (graph, scratch) in scratch.iter().enumerate() {
            for &op in self.walk.orders[graph] {
                let Life(first, last) = self.walk.ops[graph][op.index()];
                for &bytes in &scratch[op.index()] {
                    let content = Content::Scratch { graph, op };
                    demands.push(Demand { content, buffer: Buffer::new(bytes, first..last.max(first) + 1) });
                }
            }
        }
        demands
    }

    /// The memory in use while each op of the main graph runs, in its order, if every op that can save something does.
    pub(super) fn live_by_op(&self) -> Vec<u64> {
        let in_use = self.live();
        let lives = self.walk.orders[0].iter().map(|op| self.walk.ops[0][op.index()]);
        lives
            .map(|Life(first, last)| {
                in_use[first as usize..=last as usize].iter().copied().max().unwrap_or(0)
            })
            .collect()
    }

    /// The steps at which each op of the main graph runs, in its order.
    pub(super) fn steps_by_op(&self) -> Vec<Range<Step>> {
        let lives = self.walk.orders[0].iter().map(|op| self.walk.ops[0][op.index()]);
        lives.map(|Life(first, last)| first..last + 1).collect()
    }

    /// The memory in use at each step, if every op that can save something does.
    pub(super) fn live(&self) -> Vec<u64> {
        let mut changes = vec![0_i128; self.walk.now as usize + 2];
        let Facts { bytes, scratch, .. } = self.walk.facts;
        let tensors = self.walk.tensors.iter().flatten().zip(bytes.iter().flatten().copied());
        let scratch = scratch.iter().flatten().map(|parts| parts.iter().sum());
        let ops = self.walk.ops.iter().flatten().zip(scratch);
        for (&Life(first, last), bytes) in tensors.chain(ops).filter(|(life, _)| life.0 >= 0) {
            changes[first as usize] += i128::from(bytes);
            changes[last.max(first) as usize + 1] -= i128::from(bytes);
        }
        for (index, op, step) in self.single_steps() {
            let permitted = &self.walk.facts.permitted[index][op.index()];
            if permitted.is_empty() {
                continue;
            }
            let graph = self.walk.facts.graphs[index];
            let taken = hand_overs_among(graph, permitted, |t| self.dies_at(index, t, step));
            let bytes: i128 = taken.iter().map(|h| i128::from(h.bytes)).sum();
            changes[step as usize] -= bytes;
            changes[step as usize + 1] += bytes;
        }
        self.take_off_ties(&mut changes);
        let in_use = changes.iter().scan(0, |sum, change| {
            *sum += change;
            Some(u64::try_from(*sum).unwrap_or(0))
        });
        in_use.collect()
    }

    /// Takes off what is counted too much where copies are void: of tensors that are tied and in use together, only the
    /// bytes count that somebody wants of some of them.
    fn take_off_ties(&self, changes: &mut [i128]) {
        if self.copies().is_none() {
            return;
        }
        let demands: Vec<Demand> =
            self.demands().into_iter().filter(|demand| demand.buffer.lower >= 0).collect();
        let contents: Vec<Content> = demands.iter().map(|demand| demand.content).collect();
        let buffers: Vec<Buffer> = demands.iter().map(|demand| demand.buffer).collect();
        for group in ties::groups(self, &buffers, &tensor_buffers(&contents)) {
            let steps: BTreeSet<Step> =
                group.iter().flat_map(|&(b, _)| buffers[b].lower..buffers[b].upper).collect();
            let wanted: Vec<(i64, Buffer)> = group
                .iter()
                .flat_map(|&(b, at)| {
                    let parts = match contents[b] {
                        Content::Tensor { graph, tensor } => parts(self, (graph, tensor), buffers[b]),
                        Content::Scratch { .. } => Vec::new(),
                    };
                    parts.into_iter().map(move |part| (at + part.from as i64, part.buffer))
                })
                .collect();
            for step in steps {
                let is_alive = |buffer: &Buffer| (buffer.lower..buffer.upper).contains(&step);
                let mut alive: Vec<(i64, i64)> = wanted
                    .iter()
                    .filter(|(_, buffer)| is_alive(buffer))
                    .map(|(at, buffer)| (*at, at + buffer.size as i64))
                    .collect();
                alive.sort_unstable();
                let (mut once, mut end) = (0, i64::MIN);
                for (from, to) in alive {
                    once += (to - from.max(end)).max(0);
                    end = end.max(to);
                }
                let all: u64 =
                    group.iter().map(|&(b, _)| buffers[b]).filter(is_alive).map(|buffer| buffer.size).sum();
                let twice = all as i64 - once;
                changes[step as usize] -= i128::from(twice);
                changes[step as usize + 1] += i128::from(twice);
            }
        }
    }

    /// Which outputs may be written over which inputs, because those die with the op that writes.
    pub(super) fn overlaps(&self) -> Vec<(usize, Overlap)> {
        let mut found = Vec::new();
        for (index, op, step) in self.single_steps() {
            let permitted = self.walk.facts.permitted[index][op.index()].iter();
            let permitted = permitted.filter(|overlap| self.dies_at(index, overlap.input, step));
            found.extend(permitted.map(|&overlap| (index, overlap)));
        }
        found
    }

    /// All ops that run, with their graph and step, but for those that run others: nobody knows when these read.
    fn single_steps(&self) -> impl Iterator<Item = (usize, OpId, Step)> {
        self.walk.ops.iter().enumerate().flat_map(|(graph, lives)| {
            let ops = lives.iter().enumerate();
            ops.filter(|(_, life)| life.0 > 0 && life.0 == life.1)
                .map(move |(op, life)| (graph, OpId::from_index(op), life.0))
        })
    }

    /// Is this a tensor that comes before a step and is read there for the last time?
    fn dies_at(&self, graph: usize, tensor: TensorId, step: Step) -> bool {
        let Life(first, last) = self.walk.tensors[graph][tensor.index()];
        first < step && last == step && !self.walk.facts.graphs[graph].is_output(tensor)
    }
}

impl Walk<'_> {
    fn enter(&mut self, index: usize, depth: usize) -> Option<()> {
        let facts = self.facts;
        let graph = *facts.graphs.get(index)?;
        if depth > DEEPEST {
            return None;
        }
        for &input in graph.inputs() {
            self.touch(index, input, true);
        }
        for &op in self.orders[index] {
            self.now += 1;
            if self.now > MOST_STEPS {
                return None;
            }
            let node = graph.op(op);
            for &output in &node.outputs {
                self.touch(index, output, true);
            }
            self.ops[index][op.index()].begin(self.now);
            for &body in &facts.bodies[index][op.index()] {
                self.now += 1;
                self.enter(body, depth + 1)?;
            }
            for &tensor in node.inputs.iter().chain(&node.outputs) {
                self.touch(index, tensor, false);
            }
            self.ops[index][op.index()].extend(self.now);
        }
        for &output in graph.outputs() {
            self.touch(index, output, false);
        }
        Some(())
    }

    fn touch(&mut self, graph: usize, tensor: TensorId, begins: bool) {
        let life = &mut self.tensors[graph][tensor.index()];
        if begins {
            life.begin(self.now);
        }
        life.extend(self.now);
    }
}
