//! From real numbers to 8-bit integers, as runtimes want them.
//!
//! - An activation has one scale and one zero point, so that its range, made to contain 0, fills -128 to 127.
//! - The pieces of a concatenation and the concatenation, and what a pool, a pad or a slice reads and writes, share
//!   them: those ops move integers without looking at what they mean.
//! - A softmax writes multiples of 1/256 from 0 on, whatever its range.
//! - Weights lie symmetrically around 0, within -127 to 127, with one scale a filter (a dense layer: one scale).
//! - A bias is a 32-bit integer at the scale of the products it is added to.

use super::draft::{Draft, DraftConstant, DraftOp, Values};
use super::run::Range;
use crate::ZooError;
use serenity_ir::{Constant, ElementType, Model, Operand, Quantization, TensorId};

/// The model with 8-bit activations and weights; `ranges` is what each tensor ranges over.
pub(super) fn quantize(mut draft: Draft, ranges: &[Range]) -> Result<Model, ZooError> {
    let activations = quantize_activations(&draft, ranges);
    let mut quantized: Vec<Option<Constant>> = draft.constants.iter().map(|_| None).collect();
    for op in &draft.ops {
        if let (Some((kernel, bias)), Some(x)) = (kernel_and_bias(op), op.inputs().next()) {
            let weights = quantize_weights(&draft.constants[kernel], filter_axis(op));
            let scales = product_scales(&activations[x.index()], &weights);
            quantized[bias] = Some(quantize_bias(&draft.constants[bias], scales));
            quantized[kernel] = Some(weights);
        } else {
            for constant in op.constants() {
                if let Values::Real(_) = draft.constants[constant].values {
                    quantized[constant] = Some(quantize_weights(&draft.constants[constant], None));
                }
            }
        }
    }
    let constants = std::mem::take(&mut draft.constants);
    let constants = constants
        .into_iter()
        .zip(quantized)
        .map(|(constant, quantized)| quantized.unwrap_or_else(|| constant.into_constant()))
        .collect();
    draft.into_model(&ElementType::Int8, constants, activations)
}

/// The kernel and the bias of a layer with weights.
fn kernel_and_bias(op: &DraftOp) -> Option<(usize, usize)> {
    match op.operands[..] {
        [Operand::Activation(_), Operand::Constant(kernel), Operand::Constant(bias)]
            if ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"].contains(&op.kind) =>
        {
            Some((kernel, bias))
        }
        _ => None,
    }
}

fn quantize_activations(draft: &Draft, ranges: &[Range]) -> Vec<Quantization> {
    let mut groups = Groups::new(ranges.len());
    for op in draft.ops.iter().filter(|op| shares_scale(op)) {
        op.inputs().for_each(|input| groups.join(input, op.output));
    }
    let mut of_group = vec![Range { low: 0.0, high: 0.0 }; ranges.len()];
    for (tensor, range) in ranges.iter().enumerate() {
        let group = &mut of_group[groups.find(tensor)];
        *group = group.union(*range);
    }
    let mut result: Vec<Quantization> =
        (0..ranges.len()).map(|tensor| affine(of_group[groups.find(tensor)])).collect();
    for op in draft.ops.iter().filter(|op| op.kind == "SOFTMAX") {
        result[op.output.index()] = per_tensor(1.0 / 256.0, -128);
    }
    result
}

fn shares_scale(op: &DraftOp) -> bool {
    ["CONCATENATION", "AVERAGE_POOL_2D", "MAX_POOL_2D", "PAD", "STRIDED_SLICE"].contains(&op.kind)
}

/// Tensors that must have the same scale: a forest in which each tree is one group.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(tensors: usize) -> Self {
        Self { parents: (0..tensors).collect() }
    }

    fn find(&mut self, tensor: usize) -> usize {
        let mut at = tensor;
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, a: TensorId, b: TensorId) {
        let (a, b) = (self.find(a.index()), self.find(b.index()));
        self.parents[a.max(b)] = a.min(b);
    }
}

fn per_tensor(scale: f32, zero_point: i64) -> Quantization {
    Quantization { scales: vec![scale], zero_points: vec![zero_point], axis: 0 }
}

/// Fills -128 to 127 with a range that contains 0, so that 0 is exact.
fn affine(range: Range) -> Quantization {
    let width = range.high - range.low;
    if width <= 0.0 {
        return per_tensor(1.0, 0);
    }
    let scale = width / 255.0;
    per_tensor(scale, (-128 - (range.low / scale).round() as i64).clamp(-128, 127))
}

/// The dimension of the filters in a kernel; `None` where the format wants one scale for all.
fn filter_axis(op: &DraftOp) -> Option<usize> {
    match op.kind {
        "CONV_2D" => Some(0),
        "DEPTHWISE_CONV_2D" => Some(3),
        _ => None,
    }
}

fn quantize_weights(constant: &DraftConstant, axis: Option<usize>) -> Constant {
    let values = constant.reals();
    // The slice of an element: how many slices there are, and how many elements of one lie side by side.
    let slices = axis.map_or(1, |axis| constant.shape[axis] as usize);
    let inner = axis.map_or(values.len(), |axis| constant.shape[axis + 1..].iter().product::<u64>() as usize);
    let slice = |index: usize| index / inner.max(1) % slices;
    let mut largest = vec![0.0_f32; slices];
    for (index, value) in values.iter().enumerate() {
        largest[slice(index)] = largest[slice(index)].max(value.abs());
    }
    let scales: Vec<f32> =
        largest.into_iter().map(|largest| if largest > 0.0 { largest / 127.0 } else { 1.0 }).collect();
    let data = values
        .iter()
        .enumerate()
        .map(|(index, value)| (value / scales[slice(index)]).round().clamp(-127.0, 127.0) as i8 as u8)
        .collect();
    quantized(constant, ElementType::Int8, scales, axis, data)
}

/// The scale of input times weight, for each filter.
fn product_scales(input: &Quantization, weights: &Constant) -> Vec<f32> {
    let input = input.scales.first().copied().unwrap_or(1.0);
    weights
        .quantization
        .iter()
        .flat_map(|quantization| &quantization.scales)
        .map(|scale| input * scale)
        .collect()
}

fn quantize_bias(constant: &DraftConstant, scales: Vec<f32>) -> Constant {
    let values = constant.reals();
    let data = values
        .iter()
        .enumerate()
        .map(|(index, value)| (value / scales[index % scales.len()]).round() as i32)
        .flat_map(i32::to_le_bytes)
        .collect();
    quantized(constant, ElementType::Int32, scales, None, data)
}

/// The constant with these data, symmetric around 0.
fn quantized(
    constant: &DraftConstant,
    dtype: ElementType,
    scales: Vec<f32>,
    axis: Option<usize>,
    data: Vec<u8>,
) -> Constant {
    let axis = axis.unwrap_or(0) as u32;
    let quantization = Some(Quantization { zero_points: vec![0; scales.len()], scales, axis });
    let (name, shape) = (constant.name.clone(), constant.shape.clone());
    Constant { name, shape, dtype, quantization, data }
}
