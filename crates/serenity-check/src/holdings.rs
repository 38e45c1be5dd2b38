//! Which memory there is, who fills it and who still wants it: the memory models once more, written down independently.

use serenity_ir::{
    ElementType, Graph, Kernels, MemoryModel, Op, OpId, Role, Tensor, TensorId, overlaps, scratch,
};
use std::cmp::Reverse;

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
        MemoryModel::Litert => share_as_litert_does(graph, &mut tensors),
        MemoryModel::Ort(_) => crate::ort::share(graph, &mut tensors),
        MemoryModel::Tflm(kernels) | MemoryModel::TflmPlanned(kernels) => {
            for (holding, tensor) in tensors.iter_mut().zip(graph.tensors()) {
                if let Some(holding) = holding {
                    holding.bytes = rounded(bytes_unpacked(tensor)) as i64;
                }
            }
            scratch = graph.op_ids().filter_map(|op| scratch_memory(graph, op, kernels)).collect();
            if matches!(model, MemoryModel::TflmPlanned(_)) {
                scratch.extend(graph.op_ids().filter_map(|op| saved(graph, op, kernels, &tensors)));
            }
        }
        // Plain, and what a later version may add without telling us: every tensor for itself.
        _ => {}
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
        for piece in &op.inputs {
            if let Some(piece) = &mut holdings[piece.index()] {
                piece.readers.extend(&view.readers);
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

fn share_as_litert_does(graph: &Graph, holdings: &mut [Option<Holding>]) {
    for &t in graph.inputs() {
        let unread = Holding { bytes: graph.tensor(t).bytes as i64, ..Holding::default() };
        holdings[t.index()].get_or_insert(unread).kept = true;
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
        let host = (0..operands).filter_map(|position| op.operand(position)).find(|&t| {
            let same_size = graph.tensor(t).bytes == graph.tensor(result).bytes;
            let is_free = !graph.is_input(t) && !graph.is_output(result);
            same_size
                && is_free
                && graph.tensor(t).bytes > 4
                && (!changes || nobody_else_looks(graph, op, lies_in[t.index()], &lies_in))
        });
        let Some(host) = host else { continue };
        let host = lies_in[host.index()];
        lies_in[result.index()] = host;
        let Some(guest) = holdings[result.index()].take() else { continue };
        let Some(memory) = &mut holdings[host.index()] else { continue };
        memory.readers.extend(guest.readers);
        memory.kept |= guest.kept;
        if changes {
            memory.writers.push(id);
        }
    }
}

/// Is everything that lies in this memory read by `op` alone, once, or by the ops that put the rest there?
fn nobody_else_looks(graph: &Graph, op: &Op, host: TensorId, lies_in: &[TensorId]) -> bool {
    let in_host = |t: &TensorId| lies_in[t.index()] == host;
    let reads = op.inputs.iter().filter(|t| in_host(t)).count();
    let others = graph.tensor_ids().filter(in_host).flat_map(|t| graph.consumers(t)).filter(|&&reader| {
        !std::ptr::eq(graph.op(reader), op) && !graph.op(reader).outputs.iter().any(&in_host)
    });
    reads <= 1 && others.count() == 0 && !graph.outputs().iter().any(in_host)
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

/// What an op with a plan saves while it runs: it writes over inputs that it alone reads, each output over one of them at most and each of them
/// under one output, whatever saves most first.
fn saved(graph: &Graph, op: OpId, kernels: Kernels, tensors: &[Option<Holding>]) -> Option<Holding> {
    let bytes_of = |t: TensorId| tensors[t.index()].as_ref().map_or(0, |holding| holding.bytes);
    let mut pairs: Vec<(i64, TensorId, TensorId)> = overlaps(graph, op, kernels)
        .into_iter()
        .filter(|pair| graph.consumers(pair.input).len() == 1 && !graph.is_output(pair.input))
        .map(|pair| {
            let (over, under) = (bytes_of(pair.input), bytes_of(pair.output));
            let lowest_end = rounded(pair.distance) as i64 + over;
            (over + under - under.max(lowest_end), pair.output, pair.input)
        })
        .filter(|&(bytes, ..)| bytes > 0)
        .collect();
    let mut bytes = 0;
    while let Some(&(most, output, input)) =
        pairs.iter().max_by_key(|&&(bytes, y, x)| (bytes, Reverse((y, x))))
    {
        bytes -= most;
        pairs.retain(|&(_, y, x)| y != output && x != input);
    }
    (bytes < 0).then(|| Holding { bytes, writers: vec![op], readers: vec![op], kept: false })
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
