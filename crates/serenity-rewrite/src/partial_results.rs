//! Partial results of integers: how wide they must be, and how far the sum may then be off.
//!
//! A quantised convolution of pieces rounds each partial result to its own scale and then every sum of them, which the
//! convolution of the whole does once. So this is no identity, and made only if asked for. Scales are chosen so that
//! nothing is cut off whatever the input: a product `w (x - z)` lies between its values at the least and the largest
//! `x`, and both are summed up over all weights of an output channel. Then an error comes from rounding alone. Whatever
//! the kernels, one rounding is off by less than a step: half a step to the nearest, and less than half a step where a
//! multiplication was rounded before. The errors add up, and an activation makes none of them larger.

use crate::{NewConstant, Rewriting};
use serenity_ir::{Constant, ElementType, Graph, OpId, Operator, Quantization, Tensor, TensorId};
use std::collections::BTreeMap;

/// Per op of the old graph that became a sum of integers: how far its result may be off, in steps of its scale.
pub type ErrorBounds = BTreeMap<OpId, f64>;

/// Where an output channel may lie, in real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    low: f64,
    high: f64,
}

/// The constant operands of the old ops, by their position among the operands.
pub type Constants<'a> = dyn Fn(OpId, usize) -> Option<Constant> + 'a;

/// Can partial results of this op be given a scale that is wide enough?
pub fn can_widen(graph: &Graph, op: OpId, constants: &Constants<'_>) -> bool {
    let parts = || {
        if graph.op(op).kind.operator() != Operator::CONV_2D {
            return None;
        }
        let &[input] = graph.op(op).inputs.as_slice() else { return None };
        let &[output] = graph.op(op).outputs.as_slice() else { return None };
        range_of(graph.tensor(output))?;
        let weights = constants(op, WEIGHTS)?;
        intervals(graph.tensor(input), &weights, constants(op, BIAS).as_ref())
    };
    parts().is_some()
}

/// Gives all partial results of integers, and their sums except the last, a scale that is wide enough. Floats stay as
/// they are. `None` if there is no such scale for some of them.
pub fn widen(rewriting: Rewriting, constants: &Constants<'_>) -> Option<(Rewriting, ErrorBounds)> {
    let mut scales: Vec<(TensorId, Quantization)> = Vec::new();
    let mut bounds = ErrorBounds::new();
    let graph = &rewriting.graph;
    for (&old, terms) in &rewriting.terms {
        // Ops are written in the order in which their results are added.
        let mut terms = terms.clone();
        terms.sort_unstable();
        let first = graph.op(*terms.first()?);
        if first.kind.operator() != Operator::CONV_2D || graph.tensor(first.outputs[0]).quantization.is_none()
        {
            continue;
        }
        let mut total: Option<(TensorId, Vec<Interval>)> = None;
        let mut errors = 0.0;
        for &term in &terms {
            let op = graph.op(term);
            let origin = &rewriting.origins[term.index()];
            let whole = constants(old, WEIGHTS)?;
            let weights = match origin.constants.get(&WEIGHTS) {
                Some(part) => part.make(&whole, String::new()).ok()??,
                None => whole,
            };
            let has_bias = origin.constants.get(&BIAS) != Some(&NewConstant::Zeros);
            let bias = if has_bias { constants(old, BIAS) } else { None };
            let (&[input], &[output]) = (op.inputs.as_slice(), op.outputs.as_slice()) else { return None };
            let part = intervals(graph.tensor(input), &weights, bias.as_ref())?;
            errors += wide(graph, output, &part, &mut scales)?;
            let Some((sum, so_far)) = total else {
                total = Some((output, part));
                continue;
            };
            let &[addition] = graph.consumers(output) else { return None };
            let addition = graph.op(addition);
            let &[next] = addition.outputs.as_slice() else { return None };
            if !addition.inputs.contains(&sum) || addition.kind.operator() != Operator::ADD {
                return None;
            }
            let added: Vec<Interval> =
                so_far.iter().zip(&part).map(|(one, other)| one.plus(*other)).collect();
            if term != *terms.last()? {
                errors += wide(graph, next, &added, &mut scales)?;
            }
            total = Some((next, added));
        }
        let (result, _) = total?;
        let step = f64::from(*graph.tensor(result).quantization.as_ref()?.scales.first()?);
        // The last addition rounds, and so did the convolution of the whole.
        bounds.insert(old, errors / step + 2.0);
    }
    let Rewriting { mut graph, origins, terms } = rewriting;
    for (tensor, quantization) in scales {
        graph = graph.with_quantization(tensor, quantization);
    }
    Some((Rewriting { graph, origins, terms }, bounds))
}

/// Where convolutions have them.
const WEIGHTS: usize = 1;
const BIAS: usize = 2;

impl Interval {
    fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    fn around(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Of a product with a factor of either sign.
    fn times(self, factor: f64) -> Self {
        let (one, other) = (self.low * factor, self.high * factor);
        Self { low: one.min(other), high: one.max(other) }
    }
}

/// The least and the largest number of a type whose partial results can be described.
fn range_of(tensor: &Tensor) -> Option<(i64, i64)> {
    match tensor.dtype.as_ref()? {
        ElementType::Int8 => Some((i8::MIN.into(), i8::MAX.into())),
        ElementType::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        _ => None,
    }
}

/// One scale for the whole tensor, and what stands for 0.
fn single(quantization: &Quantization) -> Option<(f64, i64)> {
    let &[scale] = quantization.scales.as_slice() else { return None };
    let zero_point = quantization.zero_points.first().copied().unwrap_or(0);
    (scale.is_finite() && scale > 0.0).then_some((f64::from(scale), zero_point))
}

/// By output channel: where the products of these weights with any input lie, the bias added.
fn intervals(input: &Tensor, weights: &Constant, bias: Option<&Constant>) -> Option<Vec<Interval>> {
    let (least, largest) = range_of(input)?;
    let (scale, zero_point) = single(input.quantization.as_ref()?)?;
    if !(least..=largest).contains(&zero_point) || weights.dtype != ElementType::Int8 {
        return None;
    }
    // The zero point is among the values, so this holds 0: a weight that lies over the border adds nothing else.
    let element = Interval { low: (least - zero_point) as f64, high: (largest - zero_point) as f64 };
    let channels = usize::try_from(*weights.shape.first()?).ok()?;
    let scales = weights.quantization.as_ref()?;
    if channels == 0 || scales.zero_points.iter().any(|&zero| zero != 0) || scales.axis != 0 {
        return None;
    }
    let bias = match bias {
        Some(bias) => bias_of(bias, channels)?,
        None => vec![0; channels],
    };
    let of_channel = |(channel, filter): (usize, &[u8])| {
        let weight_scale = *scales.scales.get(if scales.is_per_axis() { channel } else { 0 })?;
        let start = bias[channel] as f64;
        let start = Interval { low: start, high: start };
        let sum = filter.iter().fold(start, |sum, &byte| sum.plus(element.times(f64::from(byte as i8))));
        let step = scale * f64::from(weight_scale);
        (step.is_finite() && step > 0.0).then(|| sum.times(step))
    };
    let size = weights.data.len() / channels;
    if size == 0 || size * channels != weights.data.len() {
        return None;
    }
    weights.data.chunks_exact(size).enumerate().map(of_channel).collect()
}

/// One number per channel, in steps of the accumulator.
fn bias_of(bias: &Constant, channels: usize) -> Option<Vec<i64>> {
    let numbers: Vec<i64> = match bias.dtype {
        ElementType::Int32 => {
            bias.data.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes).into()).collect()
        }
        ElementType::Int64 => {
            bias.data.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
        }
        _ => return None,
    };
    (numbers.len() == channels).then_some(numbers)
}

/// Notes a scale with which nothing of these is cut off, and returns it: a rounding is off by less than that.
fn wide(
    graph: &Graph,
    tensor: TensorId,
    channels: &[Interval],
    scales: &mut Vec<(TensorId, Quantization)>,
) -> Option<f64> {
    let described = graph.tensor(tensor);
    let (least, largest) = range_of(described)?;
    let zero = Interval { low: 0.0, high: 0.0 };
    let all = channels.iter().fold(zero, |all, &channel| all.around(channel));
    let (scale, zero_point) = if described.dtype == Some(ElementType::Int16) {
        // The kernels want 0 for 0 there.
        (all.high.max(-all.low) / largest as f64, 0)
    } else {
        // A step less than there are, since the zero point is a whole number.
        let scale = (all.high - all.low) / (largest - least - 1) as f64;
        (scale, (least as f64 - all.low / scale).ceil() as i64)
    };
    // Rounded up: a scale that is a little too small would cut off a little.
    let scale = (scale as f32).next_up();
    if !scale.is_finite() || scale <= f32::MIN_POSITIVE {
        // Nothing but zeros comes out, which any scale can say.
        let (scale, _) = single(described.quantization.as_ref()?)?;
        return Some(scale);
    }
    let quantization = Quantization { scales: vec![scale], zero_points: vec![zero_point], axis: 0 };
    scales.push((tensor, quantization));
    Some(f64::from(scale))
}
