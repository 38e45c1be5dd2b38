//! What ONNX Runtime allocates on the CPU with graph optimisation off.
//!
//! Measured on version 1.31.1. Graph inputs belong to the caller. Every graph output has a buffer of its own until the
//! end of the run. An operator that only reshapes gives another name to its input's memory, which costs nothing if that
//! is the caller's or a constant. Some operators write over an input, if nobody reads it afterwards; here that counts
//! if nobody else reads it at all, whatever the order. What nobody reads is not released before the end, and neither is
//! memory that it shares.
//!
//! ONNX Runtime also gives a buffer of the same shape to a later tensor, and holds it in between. That depends on the
//! whole order, so it is not in the lifetimes: whoever wants the exact figure of one order must follow the runtime's
//! own planner.

use crate::OrtSetup;
use serenity_ir::Operator::*;
use serenity_ir::{Buffer, Graph, KnownDim, KnownShape, Lifetimes, Op, OpId, Storage, Tensor, TensorId};
use std::collections::HashSet;

/// What ONNX Runtime does with the memory of an operator's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrtSharing {
    /// The first output is the bytes of the first operand under another shape.
    View,
    /// The first output may be written over this operand.
    Overwrite(usize),
    /// It allocates a new buffer.
    None,
}

/// What ONNX Runtime does with the memory of the inputs of `op`.
pub(super) fn ort_sharing(op: &Op) -> OrtSharing {
    match op.kind.operator() {
        Reshape | Flatten | Squeeze | Unsqueeze | Identity => OrtSharing::View,
        Relu | LeakyRelu | Elu | Celu | Selu | ThresholdedRelu | Clip | HardSigmoid | Sigmoid | Tanh
        | Softplus | Softsign | Softmax | LogSoftmax | Shrink | Cast | ScatterElements | Trilu
        | MicrosoftTrilu => OrtSharing::Overwrite(0),
        // What a convolution adds to its result.
        FusedConv | NchwcConv => OrtSharing::Overwrite(3),
        _ => OrtSharing::None,
    }
}

impl OrtSharing {
    /// The operand whose memory is shared, if any.
    pub(super) fn operand(self) -> Option<usize> {
        match self {
            Self::View => Some(0),
            Self::Overwrite(operand) => Some(operand),
            Self::None => None,
        }
    }
}

/// Pairs of tensors of which the second may be written over the first, if ONNX Runtime knows that they have the same
/// shape, as the rules of the operator say.
pub fn overwrites(graph: &Graph) -> Vec<(TensorId, TensorId)> {
    let pair = |op: &Op| match ort_sharing(op) {
        OrtSharing::Overwrite(operand) => Some((op.operand(operand)?, *op.outputs.first()?)),
        OrtSharing::View | OrtSharing::None => None,
    };
    graph.ops().iter().filter_map(pair).collect()
}

/// Tensors with equal layouts can take each other's buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Layout<'g> {
    shape: &'g [u64],
    /// Bytes of two elements, so that types of less than a byte have a size too.
    elements: u64,
    /// What ONNX Runtime knows of the shape if not all of it: sizes and names.
    dims: &'g [KnownDim],
}

/// The layout of a tensor, if it has a dimension and ONNX Runtime knows its shape: each size, or a name for it, which
/// it compares. A file for a session without reuse is written with all that it must know ([`overwrites`]), so both know
/// the same.
pub(super) fn ort_layout(tensor: &Tensor, setup: OrtSetup) -> Option<Layout<'_>> {
    let shape = tensor.shape.as_deref().filter(|shape| !shape.is_empty())?;
    let dims: &[KnownDim] = match &tensor.known {
        _ if !setup.reuse => &[],
        KnownShape::Whole => &[],
        KnownShape::Partly(dims) if !dims.contains(&KnownDim::Open) => dims,
        KnownShape::Partly(_) | KnownShape::Nothing => return None,
    };
    Some(Layout { shape, elements: tensor.dtype.as_ref()?.bytes_of(&[2])?, dims })
}

/// Inputs cost nothing, and what may share memory in every order shares it.
pub(super) fn storage(graph: &Graph, setup: OrtSetup) -> Storage {
    with_doubtful(graph, setup).0
}

/// The storage in which all that may share memory in every order shares it, and the tensors that may be written over
/// one of their inputs in some orders only.
fn with_doubtful(graph: &Graph, setup: OrtSetup) -> (Storage, HashSet<TensorId>) {
    let mut doubtful = HashSet::new();
    let mut storage = Storage::one_buffer_a_tensor(graph);
    for &input in graph.inputs() {
        storage.bytes[input.index()] = 0;
    }
    // Of each buffer, how many reads are not by ops that write their result into it; the caller counts as a reader.
    let callers = |t: TensorId| usize::from(graph.is_input(t)) + usize::from(graph.is_output(t));
    let mut reads: Vec<usize> = graph.tensor_ids().map(|t| graph.consumers(t).len() + callers(t)).collect();
    for op in graph.file_order() {
        let node = graph.op(op);
        let sharing = ort_sharing(node);
        let Some(&output) = node.outputs.first().filter(|&&t| !graph.is_output(t)) else { continue };
        let Some(position) = sharing.operand() else { continue };
        let Some(input) = node.operand(position) else {
            if sharing == OrtSharing::View && node.constant(0).is_some() {
                // The constant's own memory, which nobody writes to.
                storage.bytes[output.index()] = 0;
                reads[output.index()] += 1;
            }
            continue;
        };
        let buffer = storage.of[input.index()][0];
        let is_view = sharing == OrtSharing::View;
        if !is_view && !can_overwrite(graph, setup, node, input, output) {
            continue;
        }
        if !is_view && reads[buffer.index()] > 1 {
            doubtful.insert(output);
            continue;
        }
        storage.of[output.index()] = vec![buffer];
        storage.is_view[output.index()] = is_view;
        storage.bytes[output.index()] = 0;
        reads[buffer.index()] += reads[output.index()];
        reads[buffer.index()] -= 1;
    }
    for t in graph.tensor_ids() {
        storage.stays[t.index()] = graph.producer(t).is_some() && graph.consumers(t).is_empty();
    }
    (storage, doubtful)
}

/// Lifetimes that ONNX Runtime never undercuts, in whatever order. As in [`MemoryModel::Ort`](crate::MemoryModel::Ort), but
///
/// - what may be written over an input in some orders counts only from its first reader on, because the saving ends there;
/// - what nobody reads counts only while it is computed, because another tensor may take its memory later; and
/// - a `DequantizeLinear` that several read is computed for each of them: its result counts while it is computed and
///   while one of them runs.
pub(super) fn ort_least_lifetimes(graph: &Graph, setup: OrtSetup) -> Lifetimes {
    let (storage, doubtful) = with_doubtful(graph, setup);
    let mut buffers = storage.into_lifetimes(graph).buffers().to_vec();
    let mut alone = Vec::new();
    for buffer in &mut buffers {
        buffer.to_end = buffer.tensors.iter().any(|&t| graph.is_output(t));
        if buffer.tensors.iter().any(|&t| is_copied(graph, t)) {
            let mut users: Vec<OpId> = buffer.writers.iter().chain(&buffer.readers).copied().collect();
            users.sort_unstable();
            users.dedup();
            let during = |op: OpId| Buffer {
                tensors: Vec::new(),
                writers: vec![op],
                readers: vec![op],
                to_end: false,
                ..*buffer
            };
            alone.extend(users.into_iter().map(during));
            buffer.bytes = 0;
        } else if buffer.tensors.first().is_some_and(|t| doubtful.contains(t)) {
            if buffer.tensors.iter().all(|&t| graph.consumers(t).is_empty()) {
                buffer.bytes = 0;
            }
            buffer.writers.clone_from(&buffer.readers);
        }
    }
    buffers.retain(|buffer| buffer.bytes > 0);
    buffers.extend(alone);
    Lifetimes::new(graph, buffers)
}

/// Does ONNX Runtime compute this tensor for each of its readers?
fn is_copied(graph: &Graph, tensor: TensorId) -> bool {
    let producer = graph.producer(tensor).map(|op| graph.op(op).kind.operator());
    let reads = graph.consumers(tensor).len() + usize::from(graph.is_output(tensor));
    producer == Some(DequantizeLinear) && reads > 1
}

/// Does the result fit exactly, and is the input read only once?
fn can_overwrite(graph: &Graph, setup: OrtSetup, op: &Op, input: TensorId, output: TensorId) -> bool {
    let layout = |t: TensorId| ort_layout(graph.tensor(t), setup);
    op.inputs.iter().filter(|&&t| t == input).count() == 1
        && layout(input).is_some()
        && layout(input) == layout(output)
}

#[cfg(test)]
mod tests {
    use super::super::tests::floats;
    use crate::{MemoryModel, MemoryModelExt, OrtSetup};
    use serenity_ir::{Graph, GraphBuilder, KnownDim, KnownShape, Tensor, TensorId, sketch};

    const ORT: MemoryModel = MemoryModel::Ort(OrtSetup::PLAIN);

    fn profile(graph: &Graph) -> Vec<u64> {
        let lifetimes = ORT.lifetimes(graph);
        lifetimes.profile(&graph.file_order()).steps.iter().map(|step| step.during).collect()
    }

    #[test]
    fn inputs_are_the_callers_and_a_last_reader_writes_over_its_input() {
        let graph = sketch(
            "x:float32[1,100]; a:float32[1,100] = Relu x; b:float32[1,100] = Relu a; \
             c:float32[1,100] = Add b b; d:float32[1,100] = Sigmoid c; -> d",
        );
        // Not over the input, not into the output, and Add never.
        assert_eq!(profile(&graph), [400, 400, 800, 800]);
    }

    #[test]
    fn what_others_read_or_reads_twice_or_has_another_layout_is_not_written_over() {
        let graph = sketch(
            "x:float32[1,1]; a:float32[1,10] = Conv x; b:float32[1,10] = Relu a; c:float32[1,10] = Clip b b; \
             d:int8[1,10] = Cast c; e:float32[1,20] = Concat a d; -> e",
        );
        assert!(ORT.lifetimes(&graph).buffers().iter().all(|b| b.tensors.len() == 1));
    }

    /// A name is as good as a size, if it is the same; without reuse the file is written so that all is known.
    #[test]
    fn what_is_not_known_to_have_one_shape_is_not_written_over() {
        let known = |dims: &[KnownDim]| KnownShape::Partly(dims.to_vec());
        let named = |name: &str| known(&[KnownDim::Named(name.to_owned()), KnownDim::Size(10)]);
        let cases = [
            (named("n"), named("n"), 1),
            (named("n"), named("m"), 2),
            (named("n"), KnownShape::Whole, 2),
            (known(&[KnownDim::Open, KnownDim::Size(10)]), known(&[KnownDim::Open, KnownDim::Size(10)]), 2),
            (KnownShape::Nothing, KnownShape::Nothing, 2),
        ];
        for (one, other, buffers) in cases {
            let mut g = GraphBuilder::new("");
            let x = g.input(floats("x", 1));
            let a = g.op("a", "Conv", &[x], Tensor { known: one, ..floats("a", 10) });
            let b = g.op("b", "Relu", &[a], Tensor { known: other, ..floats("b", 10) });
            let y = g.op("y", "Conv", &[b], floats("y", 1));
            g.output(y);
            let graph = g.build().unwrap();
            assert_eq!(ORT.lifetimes(&graph).buffers().len(), buffers + 1);
            assert_eq!(MemoryModel::Ort(OrtSetup::LEAN).lifetimes(&graph).buffers().len(), 2);
        }
    }

    #[test]
    fn a_view_shares_with_other_readers_and_is_free_on_what_is_not_the_runtimes() {
        let graph = sketch(
            "x:float32[1,10]; v:float32[1,10] = Reshape x; w:float32[1,10] = Relu v; \
             a:float32[1,10] = Flatten w; b:float32[1,10] = Relu a; c:float32[1,10] = Add b w; \
             -> c",
        );
        let [w, a, b, c] = [2, 3, 4, 5].map(TensorId);
        let tensors: Vec<Vec<TensorId>> =
            ORT.lifetimes(&graph).buffers().iter().map(|b| b.tensors.clone()).collect();
        assert_eq!(tensors, [vec![w, a], vec![b], vec![c]]);
    }

    #[test]
    fn what_nobody_reads_stays() {
        let graph = sketch("x:float32[1,1]; dead:float32[1,10] = Conv x; y:float32[1,1] = Conv x; -> y");
        assert_eq!(profile(&graph), [40, 44]);
    }
}
