//! Which memory there is, who fills it and who still wants it: the memory models once more, written down independently.

use crate::arena::{litert, tflm::bytes_unpacked};
use crate::replay::{Whole, nearest};
use crate::stated::InPlace;
use serenity_facts::{Kernels, LitertKernels, LitertPlace, MemoryModel, scratch};
use serenity_ir::{Graph, Op, OpId, Role, TensorId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Memory with a life of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Less than 0 for what an op saves while it runs.
    pub(crate) bytes: i128,
    /// It is in use once one of these has begun, or from the start if there are none.
    pub(crate) writers: Vec<OpId>,
    /// It is in use until all of these have ended.
    pub(crate) readers: Vec<OpId>,
    /// The caller wants it in the end.
    pub(crate) kept: bool,
}

impl Holding {
    /// Memory of one op while it runs.
    pub(crate) fn during(op: OpId, bytes: i128) -> Self {
        Self { bytes, writers: vec![op], readers: vec![op], kept: false }
    }
}

/// All memory of a graph under one memory model.
pub(crate) struct Holdings {
    /// By tensor; `None` for those that lie in the memory of others, or in none.
    pub(crate) tensors: Vec<Option<Holding>>,
    /// What ops need besides their tensors, or less than all of them.
    pub(crate) scratch: Vec<Holding>,
    /// What ops may write over what, depending on what has run.
    pub(crate) in_place: InPlace,
}

impl Holdings {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Holding> {
        self.tensors.iter().flatten().chain(&self.scratch)
    }
}

/// What the order decides, decided for the worse or for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// As the memory model counts: what an op saves only if others have run before is not saved.
    Peak,
    /// As no arena can undercut, whatever the order and the plan: whatever could be saved is.
    Arena,
}

pub(crate) fn holdings(graph: &Graph, model: MemoryModel, figure: Figure) -> Holdings {
    let mut tensors: Vec<Option<Holding>> = graph.tensor_ids().map(|t| own_memory(graph, t)).collect();
    let mut scratch = Vec::new();
    let mut in_place = InPlace::default();
    match model {
        MemoryModel::Paper => {
            // Backwards, so that a view of a view hands on what it has been handed.
            for op in graph.file_order().into_iter().rev() {
                share_as_the_paper_does(graph, op, &mut tensors);
            }
        }
        MemoryModel::Ort(setup) => scratch = crate::ort::share(graph, setup, &mut tensors, figure),
        MemoryModel::Litert => {
            let kernels = LitertKernels::of(graph);
            share_as_litert_does(graph, &kernels, &mut tensors);
            scratch = graph.op_ids().filter_map(|op| temporaries(&kernels, op)).collect();
        }
        MemoryModel::Tflm(kernels) | MemoryModel::TflmPlanned(kernels) => {
            for (holding, tensor) in tensors.iter_mut().zip(graph.tensors()) {
                if let Some(holding) = holding {
                    holding.bytes = rounded(bytes_unpacked(tensor));
                }
            }
            scratch = graph.op_ids().filter_map(|op| scratch_memory(graph, op, kernels)).collect();
            if model.is_planned() {
                scratch.extend(graph.op_ids().filter_map(|op| saved(graph, op, kernels, &tensors, figure)));
            }
        }
        // Every tensor for itself, unless the graph says otherwise.
        MemoryModel::Plain => in_place = crate::stated::share(graph, &mut tensors),
    }
    Holdings { tensors, scratch, in_place }
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
    Some(Holding { bytes: i128::from(graph.tensor(t).bytes), writers, readers, kept })
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
            let unread = Holding { bytes: i128::from(graph.tensor(t).bytes), ..Holding::default() };
            holdings[t.index()].get_or_insert(unread);
        }
        if let Some(holding) = &mut holdings[t.index()] {
            holding.kept = true;
        }
    }
    let guests = litert::hosts(graph, |t| !is_elsewhere(t));
    for id in graph.file_order() {
        let Some(&result) = graph.op(id).outputs.first() else { continue };
        let litert::Guest { host, changes } = guests[result.index()];
        if host == result {
            continue;
        }
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

fn temporaries(kernels: &LitertKernels, op: OpId) -> Option<Holding> {
    let in_arena = kernels.temporaries(op).iter().filter(|temporary| temporary.place == LitertPlace::Arena);
    let bytes: i128 = in_arena.map(|temporary| i128::from(temporary.bytes)).sum();
    (bytes > 0).then(|| Holding::during(op, bytes))
}

fn rounded(bytes: u64) -> i128 {
    (i128::from(bytes) + 15) / 16 * 16
}

fn scratch_memory(graph: &Graph, op: OpId, kernels: Kernels) -> Option<Holding> {
    let own = scratch(graph, op, kernels);
    let bytes: i128 = own.into_iter().chain(graph.op(op).workspace()).map(rounded).sum();
    (bytes > 0).then(|| Holding::during(op, bytes))
}

/// What an op with a plan saves while it runs: it writes over inputs that it alone reads or, where everything counts
/// that could be saved, over all that it might be the last to read.
fn saved(
    graph: &Graph,
    op: OpId,
    kernels: Kernels,
    tensors: &[Option<Holding>],
    figure: Figure,
) -> Option<Holding> {
    let bytes_of = |t: TensorId| tensors[t.index()].as_ref().map_or(0, |holding| holding.bytes);
    let may_die =
        |t: TensorId| !graph.is_output(t) && (figure == Figure::Arena || graph.consumers(t).len() == 1);
    let Op { inputs, outputs, .. } = graph.op(op);
    let call = Whole::new(graph, op);
    // By result and operand, the most that they can share.
    let mut pairs: BTreeMap<(TensorId, TensorId), i128> = BTreeMap::new();
    for &input in inputs.iter().collect::<BTreeSet<_>>().into_iter().filter(|&&input| may_die(input)) {
        for &output in outputs {
            let nearest = nearest(graph, &call, kernels, input, output);
            // The one that begins below, the other, and how far apart they begin.
            let places = [
                (output, input, nearest.at_least),
                (output, input, nearest.exactly.filter(|place| place % 16 == 0)),
                (input, output, nearest.below),
            ];
            for (lower, upper, distance) in places {
                let Some(distance) = distance else { continue };
                let shared = (bytes_of(lower) - rounded(distance)).min(bytes_of(upper)).max(0);
                let most = pairs.entry((output, input)).or_default();
                *most = shared.max(*most);
            }
        }
    }
    let saved = match figure {
        Figure::Peak => shared_in_turn(&pairs, bytes_of),
        Figure::Arena => most_shared(&pairs, bytes_of),
    };
    (saved > 0).then(|| Holding::during(op, -saved))
}

/// What saves most comes first; nothing is shared twice.
fn shared_in_turn(pairs: &BTreeMap<(TensorId, TensorId), i128>, bytes_of: impl Fn(TensorId) -> i128) -> i128 {
    let mut by_gain: Vec<_> = pairs.iter().map(|(&(y, x), &bytes)| (bytes, y, x)).collect();
    by_gain.sort_by_key(|&(bytes, y, x)| (Reverse(bytes), y, x));
    let mut left: BTreeMap<TensorId, i128> = BTreeMap::new();
    let mut saved = 0;
    for (bytes, y, x) in by_gain {
        let of_y = left.get(&y).copied().unwrap_or_else(|| bytes_of(y));
        let of_x = left.get(&x).copied().unwrap_or_else(|| bytes_of(x));
        let shared = bytes.min(of_y).min(of_x).max(0);
        left.insert(y, of_y - shared);
        left.insert(x, of_x - shared);
        saved += shared;
    }
    saved
}

/// No more than this is shared, however the pairs lie: no result shares more than it has, and no operand gives more.
fn most_shared(pairs: &BTreeMap<(TensorId, TensorId), i128>, bytes_of: impl Fn(TensorId) -> i128) -> i128 {
    let limit = |side: &dyn Fn(&(TensorId, TensorId)) -> TensorId| -> i128 {
        let mut sums: BTreeMap<TensorId, i128> = BTreeMap::new();
        for (pair, bytes) in pairs {
            *sums.entry(side(pair)).or_default() += bytes;
        }
        sums.into_iter().map(|(t, sum)| sum.min(bytes_of(t))).sum()
    };
    limit(&|pair| pair.0).min(limit(&|pair| pair.1))
}
