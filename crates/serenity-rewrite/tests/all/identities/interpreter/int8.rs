//! Ops on quantised 8-bit integers, bit for bit as `TFLite`'s reference kernels compute them.

use super::attributes::{self, activation, limits};
use super::fixed_point::Factor;
use super::grid::{self, Grid};
use super::hard_swish::HardSwish;
use super::resize::{self, Mapping};
use super::value::Value;
use super::window::{self, Summation, Window};
use serenity_ir::{Op, Quantization};

/// A scale and a zero point for a whole tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Affine {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

impl Affine {
    fn of(quantization: Option<&Quantization>) -> Self {
        let quantization = quantization.expect("a tensor of integers is quantised");
        let &[scale] = quantization.scales.as_slice() else { panic!("one scale, not {quantization:?}") };
        let zero = quantization.zero_points.first().map_or(0, |&zero| zero as i32);
        Self { scale, zero }
    }

    /// The stored integer for a real number, unclamped.
    fn store(self, real: f32) -> i32 {
        self.zero + (real / self.scale).round() as i32
    }

    /// Keeps a stored number within what fits and what the fused activation allows.
    fn clamp(self, activation: &str, stored: i32) -> i8 {
        let [low, high] = limits(activation);
        let low = low.map_or(-128, |low| self.store(low).max(-128));
        let high = high.map_or(127, |high| self.store(high).min(127));
        stored.max(low).min(high) as i8
    }
}

/// What an op makes of its operands, if the result is quantised like this.
pub(super) fn compute(op: &Op, operands: &[&Value], result: Option<&Quantization>) -> Grid<i8> {
    let to = Affine::of(result);
    let x = operands[0].int8();
    let from = |position: usize| Affine::of(operands[position].quantization.as_ref());
    let clamp = |stored| to.clamp(activation(op), stored);
    // Ops that only choose or average elements cannot change what the integers stand for.
    let unscaled = || assert_eq!(from(0), to, "`{}` must keep the quantisation", op.name);
    match op.kind.as_str() {
        "CONV_2D" | "DEPTHWISE_CONV_2D" => convolve(op, operands, from(0), to),
        "CONCATENATION" => {
            let rescaled = |(position, piece): (usize, &&Value)| {
                let from = from(position);
                piece.int8().map(|stored| if from == to { stored } else { rescale(stored, from, to) })
            };
            let pieces: Vec<Grid<i8>> = operands.iter().enumerate().map(rescaled).collect();
            grid::concatenate(&pieces, attributes::number(op, "axis")).map(|stored| clamp(stored.into()))
        }
        "ADD" | "SUB" => {
            let sum = Sum::new(from(0), from(1), to, op.kind.as_str() == "SUB");
            grid::broadcast(x, operands[1].int8(), |a, b| clamp(sum.of(a, b)))
        }
        "MUL" => {
            let (a, b) = (from(0), from(1));
            // A product of floats, not of doubles.
            let factor = Factor::of(f64::from(a.scale * b.scale / to.scale));
            grid::broadcast(x, operands[1].int8(), |x, y| {
                clamp(to.zero + factor.times((i32::from(x) - a.zero) * (i32::from(y) - b.zero)))
            })
        }
        "MAX_POOL_2D" => {
            unscaled();
            let largest = |met: &[i8]| clamp(met.iter().copied().fold(i8::MIN, i8::max).into());
            window::pool(x, &Window::of(op), largest)
        }
        "AVERAGE_POOL_2D" => {
            unscaled();
            window::pool(x, &Window::of(op), |met| clamp(average(met)))
        }
        "MEAN" => {
            let factor = Factor::of(f64::from(from(0).scale) / f64::from(to.scale));
            let mean = |values: &[i8]| {
                let sum: i32 = values.iter().map(|&stored| i32::from(stored) - from(0).zero).sum();
                clamp(to.zero + factor.over(values.len()).times(sum))
            };
            grid::reduce(
                x,
                &attributes::numbers(op, "axes", operands[1]),
                attributes::is_set(op, "keep_dims"),
                mean,
            )
        }
        "PAD" => grid::pad(x, &attributes::paddings(op, operands[1]), to.zero as i8),
        "PADV2" => grid::pad(x, &attributes::paddings(op, operands[1]), operands[2].int8().values[0]),
        "RESIZE_NEAREST_NEIGHBOR" => {
            unscaled();
            resize::nearest(x, attributes::size(op, operands[1]), Mapping::of(op))
        }
        "RESIZE_BILINEAR" => {
            unscaled();
            resize::bilinear_int8(x, attributes::size(op, operands[1]), Mapping::of(op))
        }
        "PRELU" => {
            let (x_is, slope_is) = (from(0), from(1));
            let above = Factor::of(f64::from(x_is.scale / to.scale));
            // A product of floats, not of doubles.
            let below = Factor::of(f64::from(x_is.scale * slope_is.scale / to.scale));
            grid::broadcast(x, operands[1].int8(), |x, slope| {
                let (x, slope) = (i32::from(x) - x_is.zero, i32::from(slope) - slope_is.zero);
                clamp(to.zero + if x >= 0 { above.times(x) } else { below.times(x * slope) })
            })
        }
        "RELU" => rectified(x, from(0), to, "relu"),
        "RELU6" => rectified(x, from(0), to, "relu6"),
        "LEAKY_RELU" => {
            let (from, alpha) = (from(0), f64::from(attributes::real(op, "alpha")));
            let scale = f64::from(from.scale) / f64::from(to.scale);
            let (above, below) =
                (Factor::of(scale), Factor::of(f64::from(from.scale) * alpha / f64::from(to.scale)));
            x.map(|stored| {
                let value = i32::from(stored) - from.zero;
                clamp(to.zero + if value >= 0 { above.times(value) } else { below.times(value) })
            })
        }
        "HARD_SWISH" => {
            let function = HardSwish::new(from(0), to);
            x.map(|stored| clamp(function.of(stored)))
        }
        "LOGISTIC" => looked_up(x, from(0), to, |real| 1.0 / (1.0 + (-real).exp())),
        "TANH" => looked_up(x, from(0), to, f32::tanh),
        other => panic!("no op of kind {other} on 8-bit integers"),
    }
}

fn convolve(op: &Op, operands: &[&Value], from: Affine, to: Affine) -> Grid<i8> {
    let (x, kernel, window) = (operands[0].int8(), operands[1].int8(), Window::of(op));
    let scales = &operands[1].quantization.as_ref().expect("a kernel of integers is quantised").scales;
    let factors: Vec<Factor> = scales
        .iter()
        .map(|&scale| Factor::of(f64::from(from.scale) * f64::from(scale) / f64::from(to.scale)))
        .collect();
    let bias = operands.get(2).map(|bias| &bias.int32().values);
    let sums = Summation {
        zero: 0_i32,
        accumulate: |sum, stored: i8, weight: i8| sum + (i32::from(stored) - from.zero) * i32::from(weight),
        finish: |sum, filter: usize| {
            let sum = sum + bias.map_or(0, |bias| bias[filter]);
            let factor = if factors.len() == 1 { factors[0] } else { factors[filter] };
            to.clamp(activation(op), to.zero + factor.times(sum))
        },
    };
    if op.kind.as_str() == "CONV_2D" {
        window::convolve(x, kernel, &window, &sums)
    } else {
        window::convolve_depthwise(x, kernel, attributes::number(op, "multiplier"), &window, &sums)
    }
}

/// The sum or difference of two tensors of different scales: both are brought to twice the larger one, with 20 more bits.
struct Sum {
    offsets: [i32; 2],
    factors: [Factor; 2],
    to: Factor,
    zero: i32,
}

impl Sum {
    const MORE_BITS: i32 = 20;

    fn new(a: Affine, b: Affine, to: Affine, is_difference: bool) -> Self {
        let common = f64::from(2.0 * a.scale.max(b.scale));
        let [first, second] = [a, b].map(|term| Factor::of(f64::from(term.scale) / common));
        Self {
            offsets: [a.zero, b.zero],
            factors: [first, if is_difference { second.negated() } else { second }],
            to: Factor::of(common / (f64::from(1 << Self::MORE_BITS) * f64::from(to.scale))),
            zero: to.zero,
        }
    }

    fn of(&self, a: i8, b: i8) -> i32 {
        let term = |at: usize, stored: i8| {
            self.factors[at].times((i32::from(stored) - self.offsets[at]) << Self::MORE_BITS)
        };
        self.zero + self.to.times(term(0, a) + term(1, b))
    }
}

/// What `TFLite` does to pieces of a concatenation that are quantised in another way.
fn rescale(stored: i8, from: Affine, to: Affine) -> i8 {
    let scale = from.scale * (1.0 / to.scale);
    let shift = -(from.zero as f32) * scale;
    ((f32::from(stored) * scale + shift).round() as i32 + to.zero).clamp(-128, 127) as i8
}

fn average(met: &[i8]) -> i32 {
    divided(met.iter().map(|&stored| i32::from(stored)).sum(), met.len() as i32)
}

/// Rounded to the nearest, halves away from zero.
fn divided(sum: i32, count: i32) -> i32 {
    if sum > 0 { (sum + count / 2) / count } else { (sum - count / 2) / count }
}

fn rectified(x: &Grid<i8>, from: Affine, to: Affine, activation: &str) -> Grid<i8> {
    // A quotient of floats, not of doubles.
    let factor = Factor::of(f64::from(from.scale / to.scale));
    x.map(|stored| to.clamp(activation, to.zero + factor.times(i32::from(stored) - from.zero)))
}

/// A function of real numbers, rounded: `TFLite` looks it up in a table of 256 entries.
fn looked_up(x: &Grid<i8>, from: Affine, to: Affine, function: impl Fn(f32) -> f32) -> Grid<i8> {
    let inverse = 1.0 / to.scale;
    x.map(|stored| {
        let real = from.scale * (i32::from(stored) - from.zero) as f32;
        let rounded = (function(real) * inverse).round() as i32;
        (rounded + to.zero).clamp(-128, 127) as i8
    })
}
