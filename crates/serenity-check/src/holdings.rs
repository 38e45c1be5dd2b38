//! Which memory there is, who fills it and who still wants it: the memory models once more, written down independently.

use serenity_ir::{
    ElementType, Graph, Kernels, LitertKernels, LitertPlace, MemoryModel, OpId, Role, Tensor, TensorId,
    overlaps, scratch,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Memory with a life of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Less than 0 for what an op saves while it runs.
    pub(crate) bytes: i64,
    /// It is in use once one of these has begun, or from the start if there are none.
    pub(crate) writers: Vec<OpId>,
    /// It is in use until all of these have ended.
    pub(crate) readers: Vec<OpId>,
    /// The caller wants it in the end.
    pub(crate) kept: bool,
}

/// All memory of a graph under one memory model.
pub(crate) struct Holdings {
    /// By tensor; `None` for those that lie in the memory of others, or in none.
    pub(crate) tensors: Vec<Option<Holding>>,
    /// What ops need besides their tensors, or less than all of them.
    pub(crate) scratch: Vec<Holding>,
}

impl Holdings {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Holding> {
        self.tensors.iter().flatten().chain(&self.scratch)
    }
}

pub(crate) fn holdings(graph: &Graph, model: MemoryModel) -> Holdings {
    let mut tensors: Vec<Option<Holding>> = graph.tensor_ids().map(|t| own_memory(graph, t)).collect();
    let mut scratch = Vec::new();
    match model {
        MemoryModel::Paper => {
            // Backwards, so that a view of a view hands on what it has been handed.
            for op in graph.file_order().into_iter().rev() {
                share_as_the_paper_does(graph, op, &mut tensors);
            }
        }
        MemoryModel::Ort(_) => crate::ort::share(graph, &mut tensors),
        MemoryModel::Litert => {
            let kernels = LitertKernels::of(graph);
            share_as_litert_does(graph, &kernels, &mut tensors);
            scratch = graph.op_ids().filter_map(|op| temporaries(&kernels, op)).collect();
        }
        MemoryModel::Tflm(kernels) | MemoryModel::TflmPlanned(kernels) => {
            for (holding, tensor) in tensors.iter_mut().zip(graph.tensors()) {
                if let Some(holding) = holding {
                    holding.bytes = rounded(bytes_unpacked(tensor)) as i64;
                }
            }
            scratch = graph.op_ids().filter_map(|op| scratch_memory(graph, op, kernels)).collect();
            if model.is_planned() {
                scratch.extend(graph.op_ids().filter_map(|op| saved(graph, op, kernels, &tensors)));
            }
        }
        // Every tensor for itself.
        MemoryModel::Plain => {}
    }
    Holdings { tensors, scratch }
}

/// The memory of a tensor that shares with nobody; `None` if nobody wants it.
fn own_memory(graph: &Graph, t: TensorId) -> Option<Holding> {
    let kept = graph.is_output(t);
    let readers = graph.consumers(t).to_vec();
    let writers: Vec<OpId> = graph.producer(t).into_iter().collect();
    if writers.is_empty() && readers.is_empty() && !kept {
        return None;
    }
    let readers = if readers.is_empty() { writers.clone() } else { readers };
    Some(Holding { bytes: graph.tensor(t).bytes as i64, writers, readers, kept })
}

fn share_as_the_paper_does(graph: &Graph, id: OpId, holdings: &mut [Option<Holding>]) {
    let op = graph.op(id);
    let [result] = op.outputs[..] else { return };
    if op.kind.role() == Role::Concat && !op.inputs.is_empty() {
        // The pieces are wanted by whoever wants the view.
        let Some(view) = holdings[result.index()].take() else { return };
        // Each once, also if the view holds a piece twice: views of views would double them every time.
        for piece in op.inputs.iter().collect::<BTreeSet<_>>() {
            if let Some(piece) = &mut holdings[piece.index()] {
                piece.readers.extend(&view.readers);
                piece.readers.sort_unstable();
                piece.readers.dedup();
                piece.kept |= view.kept;
            }
        }
    } else if op.kind.role() == Role::Accumulate
        && op.inputs.iter().all(|&t| is_private_partial(graph, t, id))
    {
        // Whichever partial result comes first brings the sum to life.
        let partials: Vec<Holding> = op.inputs.iter().filter_map(|t| holdings[t.index()].take()).collect();
        if let Some(sum) = &mut holdings[result.index()] {
            for partial in partials {
                sum.bytes = sum.bytes.max(partial.bytes);
                sum.writers.extend(partial.writers);
            }
        }
    }
}

/// Only such a partial result may be written straight into the sum: one that an ordinary op computes for it alone.
fn is_private_partial(graph: &Graph, t: TensorId, sum: OpId) -> bool {
    let computed = graph.producer(t).is_some_and(|p| graph.op(p).kind.role() == Role::Compute);
    computed && graph.consumers(t) == [sum] && !graph.is_output(t)
}

fn share_as_litert_does(graph: &Graph, kernels: &LitertKernels, holdings: &mut [Option<Holding>]) {
    let is_elsewhere = |t: TensorId| kernels.place(t) != LitertPlace::Arena;
    // Memory is given back after the last read, so never if there is none. Inputs are the caller's.
    for t in graph.tensor_ids().filter(|&t| graph.is_input(t) || graph.consumers(t).is_empty()) {
        if graph.is_input(t) {
            let unread = Holding { bytes: graph.tensor(t).bytes as i64, ..Holding::default() };
            holdings[t.index()].get_or_insert(unread);
        }
        if let Some(holding) = &mut holdings[t.index()] {
            holding.kept = true;
        }
    }
    // Where a tensor lies: in the memory of another, which may itself lie elsewhere.
    let mut lies_in: Vec<TensorId> = graph.tensor_ids().collect();
    for id in graph.file_order() {
        let op = graph.op(id);
        let Some(&result) = op.outputs.first() else { continue };
        let (operands, changes) = match op.kind.as_str() {
            "RESHAPE" | "EXPAND_DIMS" | "SQUEEZE" | "BITCAST" => (1, false),
            "SOFTMAX" | "DYNAMIC_UPDATE_SLICE" => (1, true),
            "ADD" | "SUB" | "MUL" | "DIV" => (2, true),
            _ => continue,
        };
        let chosen = (0..operands).filter_map(|position| op.operand(position)).find(|&t| {
            let same_size = graph.tensor(t).bytes == graph.tensor(result).bytes;
            let is_free = !graph.is_input(t) && !graph.is_output(result);
            let can_change = graph.tensor(t).bytes > 4 && uses(graph, t) == 1;
            same_size && is_free && !is_elsewhere(t) && (can_change || !changes)
        });
        let Some(host) = chosen.map(|t| lies_in[t.index()]) else { continue };
        if changes && uses(graph, host) > 1 {
            continue;
        }
        lies_in[result.index()] = host;
        let Some(guest) = holdings[result.index()].take() else { continue };
        let Some(memory) = &mut holdings[host.index()] else { continue };
        memory.readers.extend(guest.readers);
        if changes {
            memory.writers.push(id);
        }
    }
    for t in graph.tensor_ids().filter(|&t| is_elsewhere(t)) {
        holdings[t.index()] = None;
    }
}

/// How often a tensor is read, and whether the caller wants it.
fn uses(graph: &Graph, t: TensorId) -> usize {
    let reads = |&op: &OpId| graph.op(op).inputs.iter().filter(|&&input| input == t).count();
    graph.consumers(t).iter().map(reads).sum::<usize>() + usize::from(graph.is_output(t))
}

fn temporaries(kernels: &LitertKernels, op: OpId) -> Option<Holding> {
    let in_arena = kernels.temporaries(op).iter().filter(|temporary| temporary.place == LitertPlace::Arena);
    let bytes: u64 = in_arena.map(|temporary| temporary.bytes).sum();
    (bytes > 0).then(|| Holding { bytes: bytes as i64, writers: vec![op], readers: vec![op], kept: false })
}

/// TFLM gives each int4 element a byte.
fn bytes_unpacked(tensor: &Tensor) -> u64 {
    match (&tensor.dtype, &tensor.shape) {
        (Some(ElementType::Int4), Some(shape)) => shape.iter().product(),
        _ => tensor.bytes,
    }
}

fn rounded(bytes: u64) -> u64 {
    bytes.div_ceil(16) * 16
}

fn scratch_memory(graph: &Graph, op: OpId, kernels: Kernels) -> Option<Holding> {
    let own = scratch(graph, op, kernels);
    let bytes: u64 = own.into_iter().chain(graph.op(op).workspace()).map(rounded).sum();
    (bytes > 0).then(|| Holding { bytes: bytes as i64, writers: vec![op], readers: vec![op], kept: false })
}

/// What an op with a plan saves while it runs: it writes over inputs that it alone reads. What saves most comes first; nothing is shared twice.
fn saved(graph: &Graph, op: OpId, kernels: Kernels, tensors: &[Option<Holding>]) -> Option<Holding> {
    let bytes_of = |t: TensorId| tensors[t.index()].as_ref().map_or(0, |holding| holding.bytes);
    let mut pairs: Vec<(i64, TensorId, TensorId)> = overlaps(graph, op, kernels)
        .into_iter()
        .filter(|pair| graph.consumers(pair.input).len() == 1 && !graph.is_output(pair.input))
        .filter(|pair| !pair.exact || pair.distance % 16 == 0)
        .map(|pair| {
            let reach = bytes_of(pair.output) - rounded(pair.distance) as i64;
            (reach.min(bytes_of(pair.input)), pair.output, pair.input)
        })
        .collect();
    pairs.sort_by_key(|&(bytes, y, x)| (Reverse(bytes), y, x));
    let mut left: BTreeMap<TensorId, i64> = BTreeMap::new();
    let mut done = BTreeSet::new();
    let mut saved = 0;
    for (bytes, y, x) in pairs {
        if !done.insert((y, x)) {
            continue;
        }
        let (of_y, of_x) =
            (left.get(&y).copied().unwrap_or(bytes_of(y)), left.get(&x).copied().unwrap_or(bytes_of(x)));
        let shared = bytes.min(of_y).min(of_x).max(0);
        left.insert(y, of_y - shared);
        left.insert(x, of_x - shared);
        saved += shared;
    }
    (saved > 0).then(|| Holding { bytes: -saved, writers: vec![op], readers: vec![op], kept: false })
}

/// Who depends on whom, transitively, for a few ops of interest.
pub(crate) struct Reach<'a> {
    graph: &'a Graph,
    before: Vec<Option<Vec<bool>>>,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self { graph, before: vec![None; graph.ops().len()] }
    }

    /// Has `first` run whenever `then` has?
    pub(crate) fn precedes(&mut self, first: OpId, then: OpId) -> bool {
        let graph = self.graph;
        let before = self.before[then.index()].get_or_insert_with(|| {
            let mut seen = vec![false; graph.ops().len()];
            seen[then.index()] = true;
            let mut open = vec![then];
            while let Some(op) = open.pop() {
                for p in graph.predecessors(op) {
                    if !std::mem::replace(&mut seen[p.index()], true) {
                        open.push(p);
                    }
                }
            }
            seen
        });
        before[first.index()]
    }
}
