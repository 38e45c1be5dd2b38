//! One run of the network on random data, to bring its weights to where training would have them.
//!
//! With random weights alone, activations grow or fade from layer to layer and many channels are dead. Training does
//! not leave a network so: every convolution of these networks is followed by a batch normalisation (here folded into
//! kernel and bias). So we do what the normalisation does. Layer by layer, with the statistics of this run, each
//! channel is brought to a mean and a spread of its own, of a size that all share. What each tensor ranged over is kept: that is what
//! quantisation needs to know.

use super::draft::{Draft, DraftOp, Values};
use super::kernels::{self, Map};
use crate::net::Window;
use crate::rng::Rng;
use serde_json::Value;
use serenity_ir::Operand;

/// The values that a tensor takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f32,
    pub(super) high: f32,
}

/// The values that the caller may give, and that we give in the run.
const INPUT: Range = Range { low: -1.0, high: 1.0 };

/// Standard deviation after a convolution: what comes out lies about where inputs lie, so that the pieces of a
/// concatenation can share one scale.
const SPREAD: f64 = 0.25;
/// The same where 6 is the largest value: some values should reach it.
const SPREAD_BELOW_6: f64 = 2.0;
/// The same for the logits: some classes should be more likely than others, and none certain.
const SPREAD_OF_LOGITS: f64 = 2.0;

/// Normalises all weights of `draft`; returns what each tensor ranged over.
pub(super) fn settle(draft: &mut Draft) -> Vec<Range> {
    let mut readers_left = vec![0_usize; draft.tensors.len()];
    draft.ops.iter().flat_map(DraftOp::inputs).for_each(|tensor| readers_left[tensor.index()] += 1);
    let mut maps: Vec<Option<Map>> = vec![None; draft.tensors.len()];
    let mut ranges = vec![INPUT; draft.tensors.len()];
    for (index, input) in draft.inputs.iter().enumerate() {
        let mut map = Map::zeros(&draft.tensors[input.index()].shape);
        let mut rng = draft.rng(u64::MAX - index as u64);
        map.values.iter_mut().for_each(|value| *value = (2.0 * rng.unit() - 1.0) as f32);
        maps[input.index()] = Some(map);
    }
    for index in 0..draft.ops.len() {
        let op = &draft.ops[index];
        let reads: Vec<&Map> = op.inputs().filter_map(|tensor| maps[tensor.index()].as_ref()).collect();
        let mut weights: Vec<Values> = op.constants().map(|c| draft.constants[c].values.clone()).collect();
        // The stream of the last constant: that is the bias, for which no random numbers were drawn.
        let mut rng = draft.rng(op.constants().last().unwrap_or(0) as u64);
        let out = Map::zeros(&draft.tensors[op.output.index()].shape);
        let map = run(op, &reads, &mut weights, out, &mut rng);
        for (constant, values) in op.constants().zip(weights) {
            draft.constants[constant].values = values;
        }
        for tensor in op.inputs() {
            readers_left[tensor.index()] -= 1;
            if readers_left[tensor.index()] == 0 {
                maps[tensor.index()] = None;
            }
        }
        ranges[op.output.index()] = range(&map);
        maps[op.output.index()] = Some(map);
    }
    ranges
}

fn range(map: &Map) -> Range {
    map.values.iter().fold(Range { low: f32::MAX, high: f32::MIN }, |range, &value| Range {
        low: range.low.min(value),
        high: range.high.max(value),
    })
}

/// Runs one op; a convolution is normalised on the way.
fn run(op: &DraftOp, reads: &[&Map], weights: &mut [Values], out: Map, rng: &mut Rng) -> Map {
    let window = Window::of_attributes(&op.attributes);
    let activation = op.attributes.get("activation").and_then(Value::as_str).unwrap_or("none");
    let [x, ..] = reads else { return out };
    let spread = if activation == "relu6" { SPREAD_BELOW_6 } else { SPREAD };
    let mut result = match (op.kind, &mut weights[..]) {
        ("CONV_2D", [Values::Real(kernel), Values::Real(bias)]) => {
            let mut raw = kernels::convolve(x, kernel, &window, out);
            Normalisation::new(&raw, is_biased(op), spread, rng).apply(&mut raw, kernel, Layout::Rows, bias);
            raw
        }
        ("DEPTHWISE_CONV_2D", [Values::Real(kernel), Values::Real(bias)]) => {
            let mut raw = kernels::convolve_depthwise(x, kernel, &window, out);
            Normalisation::new(&raw, is_biased(op), spread, rng).apply(
                &mut raw,
                kernel,
                Layout::Columns,
                bias,
            );
            raw
        }
        ("FULLY_CONNECTED", [Values::Real(kernel), Values::Real(bias)]) => {
            let mut raw = kernels::multiply(x, kernel, out);
            Normalisation::new(&raw, true, SPREAD_OF_LOGITS, rng).apply(&mut raw, kernel, Layout::Rows, bias);
            raw
        }
        ("MUL", [Values::Real(factor)]) => kernels::scale(x, factor[0], out),
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
        // The end of a network: nothing reads it, and what it ranges over is known.
        _ => out,
    };
    kernels::activate(&mut result, activation);
    result
}

fn is_biased(op: &DraftOp) -> bool {
    op.attributes.get("bias") == Some(&Value::Bool(true))
}

/// Where the weights of one filter lie in a kernel.
#[derive(Clone, Copy)]
enum Layout {
    /// Side by side.
    Rows,
    /// At every position one of each filter.
    Columns,
}

/// A factor and a shift for each channel.
struct Normalisation {
    factors: Vec<f32>,
    shifts: Vec<f32>,
}

impl Normalisation {
    /// Factors and shifts that bring each channel of `raw` to a standard deviation of about `spread`, and a mean near 0 if it may
    /// have a bias.
    fn new(raw: &Map, biased: bool, spread: f64, rng: &mut Rng) -> Self {
        let channels = raw.channels;
        let positions = (raw.height * raw.width) as f64;
        let mut sums = vec![0.0_f64; channels];
        let mut squares = vec![0.0_f64; channels];
        for pixel in raw.values.chunks_exact(channels) {
            for ((sum, square), &value) in sums.iter_mut().zip(&mut squares).zip(pixel) {
                *sum += f64::from(value);
                *square += f64::from(value) * f64::from(value);
            }
        }
        // A channel of few positions says little about its own mean and variance; then those of the tensor stand in.
        let trust = 1.0 - 1.0 / positions;
        let overall = squares.iter().sum::<f64>() / (positions * channels as f64);
        let mut factors = Vec::with_capacity(channels);
        let mut shifts = Vec::with_capacity(channels);
        for (sum, square) in sums.into_iter().zip(squares) {
            let mean = if biased { trust * sum / positions } else { 0.0 };
            let variance = (trust * (square / positions - mean * mean) + (1.0 - trust) * overall).max(0.0);
            // A channel that is constant, or nearly so, is left alone rather than blown up.
            let deviation = if variance > 1e-12 * overall && variance > 0.0 { variance.sqrt() } else { 1.0 };
            let factor = spread * (0.75 + 0.5 * rng.unit()) / deviation;
            let shift = if biased { spread * (rng.unit() - 0.5) } else { 0.0 };
            factors.push(factor as f32);
            shifts.push((shift - factor * mean) as f32);
        }
        Self { factors, shifts }
    }

    fn apply(&self, raw: &mut Map, kernel: &mut [f32], layout: Layout, bias: &mut [f32]) {
        let filters = self.factors.len();
        let taps = kernel.len() / filters;
        for (index, weight) in kernel.iter_mut().enumerate() {
            *weight *= self.factors[match layout {
                Layout::Rows => index / taps,
                Layout::Columns => index % filters,
            }];
        }
        bias.copy_from_slice(&self.shifts);
        for pixel in raw.values.chunks_exact_mut(filters) {
            for ((value, factor), shift) in pixel.iter_mut().zip(&self.factors).zip(&self.shifts) {
                *value = *value * factor + shift;
            }
        }
    }
}

/// The constants of an op that are kernels and biases, if it has them.
pub(super) fn kernel_and_bias(op: &DraftOp) -> Option<(usize, usize)> {
    match op.operands[..] {
        [Operand::Activation(_), Operand::Constant(kernel), Operand::Constant(bias)]
            if ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"].contains(&op.kind) =>
        {
            Some((kernel, bias))
        }
        _ => None,
    }
}
