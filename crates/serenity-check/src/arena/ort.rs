//! One run of ONNX Runtime (1.31 on the CPU, no graph optimisation): which node runs when, and what its arena is asked for.
//!
//! Nodes are numbered as they stand in the file. A `DequantizeLinear` serves one reader; every further one gets a copy
//! of it, numbered behind all others. Before the run a plan is made along the order of execution: a result lies where
//! its first operand lies (a view, or written over it), or in the buffer of the same shape that was freed last unless
//! the session forbids that, or in a new one. A buffer is asked for when the first value in it is computed, and given
//! back after the last read of all that lie in it; never, if one of them is a result of the graph or is read by nobody.

use crate::ort::{Reuse, layout, reuse};
use serenity_facts::{OrtOrder, OrtSetup};
use serenity_ir::{Graph, OpId, Operator, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// What became of a file.
pub(crate) struct Run {
    /// The ops in the order in which they run first.
    pub(crate) order: Vec<OpId>,
    /// The most bytes asked for and not yet given back.
    pub(crate) requested: u64,
}

/// Runs a file whose nodes stand in the order `file`.
pub(crate) fn run(graph: &Graph, file: &[OpId], setup: OrtSetup) -> Run {
    let nodes = Nodes::load(graph, file);
    let steps = match setup.order {
        OrtOrder::Priority => nodes.by_priority(),
        OrtOrder::Default => nodes.backwards(),
    };
    let mut seen = BTreeSet::new();
    let ops = steps.iter().map(|&step| nodes.all[step].op);
    let mut order: Vec<OpId> = ops.filter(|&op| seen.insert(op)).collect();
    // The file may order ops by effects that the runtime knows nothing of. Then nothing is said of its order.
    if !crate::order::faults(graph, &order).is_empty() {
        order = file.to_vec();
    }
    Run { order, requested: most_requested(graph, &nodes, &steps, setup) }
}

struct Node {
    op: OpId,
    reads: Vec<usize>,
    writes: Vec<usize>,
}

/// Nodes read and write values: first one for each tensor, then those of the copies.
struct Nodes<'a> {
    graph: &'a Graph,
    all: Vec<Node>,
    tensor_of: Vec<TensorId>,
}

impl<'a> Nodes<'a> {
    fn load(graph: &'a Graph, file: &[OpId]) -> Self {
        // What keeps ops with effects in order is ours; the runtime does not see it.
        let values = |tensors: &[TensorId]| -> Vec<usize> {
            let is_ours = |t: &TensorId| {
                let tensor = graph.tensor(*t);
                tensor.bytes == 0 && tensor.dtype.is_none() && tensor.name.starts_with("state#")
            };
            tensors.iter().filter(|t| !is_ours(t)).map(|t| t.index()).collect()
        };
        let node = |&op: &OpId| Node {
            op,
            reads: values(&graph.op(op).inputs),
            writes: values(&graph.op(op).outputs),
        };
        let mut nodes =
            Self { graph, all: file.iter().map(node).collect(), tensor_of: graph.tensor_ids().collect() };
        nodes.copy_dequantizers();
        nodes
    }

    fn copy_dequantizers(&mut self) {
        let mut readers: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, node) in self.all.iter().enumerate() {
            for (position, &value) in node.reads.iter().enumerate() {
                readers.entry(value).or_default().push((number, position));
            }
        }
        for number in self.backwards() {
            let Node { op, ref writes, .. } = self.all[number];
            let &[value] = &writes[..] else { continue };
            if self.graph.op(op).kind.operator() != Operator::DequantizeLinear {
                continue;
            }
            let tensor = self.tensor_of[value];
            // The caller is served first.
            let served = usize::from(!self.graph.is_output(tensor));
            for &(reader, position) in readers.get(&value).into_iter().flatten().skip(served) {
                let copy = self.tensor_of.len();
                self.tensor_of.push(tensor);
                self.all[reader].reads[position] = copy;
                let reads = self.all[number].reads.clone();
                self.all.push(Node { op, reads, writes: vec![copy] });
            }
        }
    }

    /// By node: those whose results it reads, and those that read its results.
    fn neighbours(&self) -> (Vec<BTreeSet<usize>>, Vec<BTreeSet<usize>>) {
        let mut writer = vec![None; self.tensor_of.len()];
        for (number, node) in self.all.iter().enumerate() {
            for &value in &node.writes {
                writer[value] = Some(number);
            }
        }
        let mut before = vec![BTreeSet::new(); self.all.len()];
        let mut after = vec![BTreeSet::new(); self.all.len()];
        for (number, node) in self.all.iter().enumerate() {
            for from in node.reads.iter().filter_map(|&value| writer[value]) {
                before[number].insert(from);
                after[from].insert(number);
            }
        }
        (before, after)
    }

    /// `PRIORITY_BASED`: of all that can run, `Shape` and `Size` first, then the lowest number.
    fn by_priority(&self) -> Vec<usize> {
        let (mut before, after) = self.neighbours();
        let is_late = |n: usize| {
            !matches!(self.graph.op(self.all[n].op).kind.operator(), Operator::Shape | Operator::Size)
        };
        let mut ready: BTreeSet<(bool, usize)> =
            (0..self.all.len()).filter(|&n| before[n].is_empty()).map(|n| (is_late(n), n)).collect();
        let mut steps = Vec::new();
        while let Some((_, number)) = ready.pop_first() {
            steps.push(number);
            for &reader in &after[number] {
                before[reader].remove(&number);
                if before[reader].is_empty() {
                    ready.insert((is_late(reader), reader));
                }
            }
        }
        steps
    }

    /// `DEFAULT`: from the nodes that nothing reads, back to what they need, the highest number first; a node runs once
    /// all that it needs has run.
    fn backwards(&self) -> Vec<usize> {
        let (before, after) = self.neighbours();
        let mut is_entered = vec![false; self.all.len()];
        let mut steps = Vec::new();
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        for last in (0..self.all.len()).rev().filter(|&n| after[n].is_empty()) {
            is_entered[last] = true;
            path.push((last, before[last].iter().copied().collect()));
            while let Some((number, needs)) = path.last_mut() {
                match needs.pop() {
                    Some(next) if is_entered[next] => {}
                    Some(next) => {
                        is_entered[next] = true;
                        path.push((next, before[next].iter().copied().collect()));
                    }
                    None => {
                        steps.push(*number);
                        path.pop();
                    }
                }
            }
        }
        steps
    }
}

/// The buffer that each value lies in, named after the first value in it; `None` for memory of the caller's and of constants.
fn buffers(graph: &Graph, nodes: &Nodes, steps: &[usize], setup: OrtSetup) -> Vec<Option<usize>> {
    let is_result = |value: usize| graph.is_output(nodes.tensor_of[value]);
    let layout_of = |value: usize| layout(graph.tensor(nodes.tensor_of[value]), setup);
    let mut lies_in: Vec<Option<usize>> = (0..nodes.tensor_of.len()).map(Some).collect();
    // Of the values in a buffer: reads to come, writes to come, and the caller.
    let mut wanted = vec![0_usize; nodes.tensor_of.len()];
    for value in nodes.all.iter().flat_map(|node| node.reads.iter().chain(&node.writes)) {
        wanted[*value] += 1;
    }
    for t in graph.outputs() {
        wanted[t.index()] += 1;
    }
    for t in graph.inputs() {
        lies_in[t.index()] = None;
    }
    let mut freed: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for &step in steps {
        let node = &nodes.all[step];
        let op = graph.op(node.op);
        for (position, &result) in node.writes.iter().enumerate().filter(|(_, value)| !is_result(**value)) {
            let reuse = reuse(op).filter(|_| position == 0);
            let operand =
                reuse.and_then(|reuse| op.input_of(reuse.operand())).and_then(|input| node.reads.get(input));
            let place = match (reuse, operand) {
                (Some(Reuse::Reshapes), Some(&operand)) => Some(lies_in[operand]),
                (Some(Reuse::Reshapes), None) if op.constant(0).is_some() => Some(None),
                (Some(Reuse::Overwrites(_)), Some(&operand)) => {
                    let same = layout_of(operand).is_some() && layout_of(operand) == layout_of(result);
                    lies_in[operand].filter(|&buffer| same && wanted[buffer] == 1).map(Some)
                }
                _ => None,
            };
            let place =
                place.or_else(|| freed.get_mut(&layout_of(result).filter(|_| setup.reuse)?)?.pop().map(Some));
            if let Some(place) = place {
                lies_in[result] = place;
                if let Some(buffer) = place {
                    wanted[buffer] += wanted[result];
                }
            }
        }
        for &value in node.reads.iter().chain(&node.writes) {
            let Some(buffer) = lies_in[value] else { continue };
            wanted[buffer] = wanted[buffer].saturating_sub(1);
            if wanted[buffer] == 0
                && let Some(layout) = layout_of(buffer)
            {
                freed.entry(layout).or_default().push(buffer);
            }
        }
    }
    lies_in
}

fn most_requested(graph: &Graph, nodes: &Nodes, steps: &[usize], setup: OrtSetup) -> u64 {
    let lies_in = buffers(graph, nodes, steps, setup);
    // By buffer: the step after which it is given back.
    let mut last_read: BTreeMap<usize, usize> = BTreeMap::new();
    let mut is_read = vec![false; lies_in.len()];
    for (time, &step) in steps.iter().enumerate() {
        for &value in &nodes.all[step].reads {
            is_read[value] = true;
            last_read.extend(lies_in[value].map(|buffer| (buffer, time)));
        }
    }
    for (value, buffer) in lies_in.iter().enumerate() {
        if let Some(buffer) = buffer
            && (!is_read[value] || graph.is_output(nodes.tensor_of[value]))
        {
            last_read.remove(buffer);
        }
    }
    let bytes = |value: usize| i128::from(graph.tensor(nodes.tensor_of[value]).bytes);
    let mut change = vec![0_i128; steps.len() + 1];
    for (time, &step) in steps.iter().enumerate() {
        for &value in nodes.all[step].writes.iter().filter(|&&value| lies_in[value] == Some(value)) {
            change[time] += bytes(value);
            if let Some(&last) = last_read.get(&value) {
                change[last + 1] -= bytes(value);
            }
        }
    }
    let mut asked = 0;
    let sums = change[..steps.len()].iter().map(|change| {
        asked += change;
        asked
    });
    u64::try_from(sums.max().unwrap_or(0)).unwrap_or(u64::MAX)
}
