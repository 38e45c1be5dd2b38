//! What only the file can tell about whether an identity holds: the weights themselves.

use super::constants;
use serenity_ir::{ElementType, Graph, OpId, Operator};
use serenity_rewrite::{Action, Patch, Settings, can_widen, slice};
use serenity_tflite::Model;

/// How many operators may unpack weights before a convolution reads them: `DENSIFY`, then `DEQUANTIZE`.
const MOST_STEPS: usize = 2;

/// Does what a rule proposes for the main graph hold for what the file says?
pub(super) fn hold(model: &Model, graph: &Graph, patch: &Patch) -> bool {
    match &patch.action {
        Action::Bypass { op, changes } => {
            has_a_fixed_size(model, *op)
                && changes.iter().all(|change| multiplies_zero_to_zero(model, 0, graph, change.op))
        }
        Action::Split { op, .. } => {
            has_plain_results(model, *op)
                && has_plain_constants(model, graph, *op)
                && (patch.exact || has_room_for_parts(model, graph, *op))
        }
        Action::Accumulate { op, .. } => has_plain_results(model, *op) && !has_whole_numbers(graph, *op),
        Action::Relayout(region) => {
            let is_plain = |&op: &OpId| {
                has_a_fixed_size(model, op)
                    && has_plain_results(model, op)
                    && has_plain_constants(model, graph, op)
            };
            region.transposes.iter().chain(&region.ops).all(is_plain)
        }
    }
}

/// How a window lies over an image depends on its size, which a caller may change where the model leaves it open. The
/// batch does not matter.
fn has_a_fixed_size(model: &Model, op: OpId) -> bool {
    let sub_graph = &model.sub_graphs()[0];
    let operator = &sub_graph.operators()[op.index()];
    operator.inputs.iter().chain(&operator.outputs).flatten().all(|&tensor| {
        let signature = sub_graph.tensors()[tensor].shape_signature.as_deref().unwrap_or_default();
        signature.iter().skip(1).all(|&dim| dim >= 0)
    })
}

/// New tensors like those that the operator writes can be described.
fn has_plain_results(model: &Model, op: OpId) -> bool {
    let sub_graph = &model.sub_graphs()[0];
    let outputs = &sub_graph.operators()[op.index()].outputs;
    outputs.iter().flatten().all(|&tensor| sub_graph.tensors()[tensor].is_plain)
}

/// Partial results are floats, or whole numbers whose range is known.
fn has_room_for_parts(model: &Model, graph: &Graph, op: OpId) -> bool {
    !has_whole_numbers(graph, op)
        || can_widen(graph, op, &|op, position| constants::operand(model, op, position))
}

/// Does it write numbers that are rounded to a scale?
fn has_whole_numbers(graph: &Graph, op: OpId) -> bool {
    graph.op(op).outputs.iter().any(|&output| !Settings::default().may_round(graph.tensor(output)))
}

/// Parts can be taken of constants that are in the file as they are, packed and whole.
fn has_plain_constants(model: &Model, graph: &Graph, op: OpId) -> bool {
    let sub_graph = &model.sub_graphs()[0];
    let operator = &sub_graph.operators()[op.index()];
    operator.inputs.iter().flatten().filter(|&&tensor| sub_graph.graph_tensor(tensor).is_none()).all(
        |&tensor| {
            let described = &sub_graph.tensors()[tensor];
            let is_per_axis = described.quantization.as_ref().is_none_or(|quantization| {
                !quantization.is_per_axis()
                    || described.shape.get(quantization.axis as usize)
                        == Some(&(quantization.scales.len() as u64))
            });
            model.constant(0, tensor).is_some_and(|data| {
                slice(data, &described.shape, &described.dtype, 0, 0, 0).is_some()
                    || described.shape.is_empty()
            }) && is_per_axis
                && described.is_plain
                && graph.op(op).outputs.len() == 1
        },
    )
}

/// Zero times infinity is not zero; and a kernel that starts its sum from a bias of -0 gets 0 if it adds a product of zero.
fn multiplies_zero_to_zero(model: &Model, index: usize, graph: &Graph, op: OpId) -> bool {
    let operands = &model.sub_graphs()[index].operators()[op.index()].inputs;
    let tensor = |position: usize| operands.get(position).copied().flatten();
    let stored = |tensor| Stored::of(model, index, graph, tensor);
    let filter = tensor(1).and_then(stored);
    let bias = tensor(2).map(stored);
    filter.is_some_and(|filter| filter.is_finite())
        && bias.is_none_or(|bias| bias.is_some_and(|bias| bias.has_no_negative_zero()))
}

/// Numbers that are in the file.
struct Stored<'a> {
    data: &'a [u8],
    dtype: &'a ElementType,
}

impl<'a> Stored<'a> {
    /// What a tensor holds or, if it is unpacked first, what it is unpacked from; `None` if it is not known before the run.
    fn of(model: &'a Model, index: usize, graph: &Graph, mut tensor: usize) -> Option<Self> {
        let sub_graph = &model.sub_graphs()[index];
        for _ in 0..MOST_STEPS {
            let Some(id) = sub_graph.graph_tensor(tensor) else { break };
            let writer = &sub_graph.operators()[graph.producer(id)?.index()];
            let [Some(source)] = writer.inputs.as_slice() else { return None };
            if !matches!(Operator::named(&writer.kind), Operator::DEQUANTIZE | Operator::DENSIFY) {
                return None;
            }
            tensor = *source;
        }
        Some(Self { data: model.constant(index, tensor)?, dtype: &sub_graph.tensors()[tensor].dtype })
    }

    fn is_finite(&self) -> bool {
        match self.dtype {
            ElementType::Float32 => {
                words(self.data, u32::from_le_bytes).all(|bits| f32::from_bits(bits).is_finite())
            }
            // All bits of the exponent set: infinity, or no number.
            ElementType::Float16 => words(self.data, u16::from_le_bytes).all(|bits| bits & 0x7c00 != 0x7c00),
            ElementType::Int4 | ElementType::Int8 | ElementType::UInt8 => true,
            _ => false,
        }
    }

    fn has_no_negative_zero(&self) -> bool {
        match self.dtype {
            ElementType::Float32 => words(self.data, u32::from_le_bytes).all(|bits| bits != 1 << 31),
            ElementType::Float16 => words(self.data, u16::from_le_bytes).all(|bits| bits != 1 << 15),
            ElementType::Int8
            | ElementType::UInt8
            | ElementType::Int16
            | ElementType::Int32
            | ElementType::Int64 => true,
            _ => false,
        }
    }
}

fn words<T, const N: usize>(data: &[u8], read: impl Fn([u8; N]) -> T) -> impl Iterator<Item = T> {
    data.as_chunks().0.iter().map(move |&bytes| read(bytes))
}
