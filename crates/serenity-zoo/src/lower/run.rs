//! A run of the network on random data.

use super::draft::{Draft, DraftOp, Values};
use super::kernels::{self, Map};
use crate::net::Window;
use serde_json::Value;

/// The values that a tensor takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f32,
    pub(super) high: f32,
}

impl Range {
    /// What the caller may give.
    const INPUT: Self = Self { low: -1.0, high: 1.0 };

    fn of(map: &Map) -> Self {
        map.values.iter().fold(Self { low: f32::MAX, high: f32::MIN }, |range, &value| Self {
            low: range.low.min(value),
            high: range.high.max(value),
        })
    }

    /// The smallest range that contains both.
    pub(super) fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// A layer with weights, between the products of its kernel and its bias.
pub(super) struct Layer<'a> {
    pub(super) op: &'a DraftOp,
    /// Input times kernel.
    pub(super) products: &'a Map,
    pub(super) kernel: &'a mut [f32],
    pub(super) bias: &'a mut [f32],
}

/// Runs the network on random inputs, different for each `run`; returns what each tensor ranged over. Every layer with
/// weights is shown to `adjust` before its bias is added. It may multiply the filters of the kernel by factors and set
/// the bias, and returns the factors.
pub(super) fn run(draft: &mut Draft, run: u64, mut adjust: impl FnMut(Layer) -> Vec<f32>) -> Vec<Range> {
    let mut readers_left = vec![0_usize; draft.tensors.len()];
    draft.ops.iter().flat_map(DraftOp::inputs).for_each(|tensor| readers_left[tensor.index()] += 1);
    let mut maps: Vec<Option<Map>> = vec![None; draft.tensors.len()];
    let mut ranges = vec![Range::INPUT; draft.tensors.len()];
    // Constants have the streams from 0 on, inputs those from the last one down.
    let mut stream = u64::MAX - run * draft.inputs.len() as u64;
    for input in &draft.inputs {
        let mut map = Map::zeros(&draft.tensors[input.index()].shape);
        let mut rng = draft.rng(stream);
        map.values.iter_mut().for_each(|value| *value = (2.0 * rng.unit() - 1.0) as f32);
        maps[input.index()] = Some(map);
        stream -= 1;
    }
    for op in &draft.ops {
        let reads: Vec<&Map> = op.inputs().filter_map(|tensor| maps[tensor.index()].as_ref()).collect();
        let mut weights: Vec<Values> =
            op.constants().map(|constant| std::mem::take(&mut draft.constants[constant].values)).collect();
        let out = Map::zeros(&draft.tensors[op.output.index()].shape);
        let mut map = execute(op, &reads, &mut weights, out, &mut adjust);
        kernels::activate(&mut map, op.activation());
        for (constant, values) in op.constants().zip(weights) {
            draft.constants[constant].values = values;
        }
        for tensor in op.inputs() {
            readers_left[tensor.index()] -= 1;
            if readers_left[tensor.index()] == 0 {
                maps[tensor.index()] = None;
            }
        }
        ranges[op.output.index()] = Range::of(&map);
        maps[op.output.index()] = Some(map);
    }
    ranges
}

/// An op without its activation.
fn execute(
    op: &DraftOp,
    reads: &[&Map],
    weights: &mut [Values],
    out: Map,
    adjust: &mut impl FnMut(Layer) -> Vec<f32>,
) -> Map {
    let [x, ..] = reads else { return out };
    let window = Window::of_attributes(&op.attributes);
    match (op.kind, weights) {
        ("MUL", [Values::Real(factor)]) => kernels::scale(x, factor[0], out),
        (kind, [Values::Real(kernel), Values::Real(bias)]) => {
            let mut map = match kind {
                "CONV_2D" => kernels::convolve(x, kernel, &window, out),
                "DEPTHWISE_CONV_2D" => kernels::convolve_depthwise(x, kernel, &window, out),
                _ => kernels::multiply(x, kernel, out),
            };
            let factors = adjust(Layer { op, products: &map, kernel, bias });
            kernels::scale_and_shift(&mut map, &factors, bias);
            map
        }
        ("ADD", _) => kernels::add(x, reads[reads.len() - 1], out),
        ("CONCATENATION", _) => kernels::concatenate(reads, out),
        ("AVERAGE_POOL_2D", _) => kernels::average_pool(x, &window, out),
        ("MAX_POOL_2D", _) => kernels::max_pool(x, &window, out),
        ("STRIDED_SLICE", _) => kernels::crop_or_pad(x, 1, out),
        ("PAD", _) => kernels::crop_or_pad(x, 0, out),
        ("MEAN", _) => kernels::mean(x, out),
        ("RELU", _) => {
            let mut map = (*x).clone();
            kernels::activate(&mut map, "relu");
            map
        }
        // A softmax is the end of a network: nothing reads it, and what it ranges over is known.
        _ => out,
    }
}

impl DraftOp {
    /// The activation that is fused into it.
    pub(super) fn activation(&self) -> &str {
        self.attributes.get("activation").and_then(Value::as_str).unwrap_or("none")
    }
}
