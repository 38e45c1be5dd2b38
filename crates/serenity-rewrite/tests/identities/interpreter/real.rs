//! Ops on 32-bit floats. Sums are taken in the order of `TFLite`'s reference kernels.

use super::attributes::{self, activation, limits};
use super::grid::{self, Grid};
use super::resize::{self, Mapping};
use super::value::Value;
use super::window::{self, Summation, Window};
use serenity_ir::Op;

/// What an op makes of its operands.
pub(super) fn compute(op: &Op, operands: &[&Value]) -> Grid<f32> {
    let x = || operands[0].float();
    let floats = || operands.iter().map(|operand| operand.float().clone()).collect::<Vec<_>>();
    let pairwise = |combine: fn(f32, f32) -> f32| grid::broadcast(x(), operands[1].float(), combine);
    let result = match op.kind.as_str() {
        "CONV_2D" | "DEPTHWISE_CONV_2D" => convolve(op, operands),
        "CONCATENATION" => grid::concatenate(&floats(), attributes::number(op, "axis")),
        "ADD" => pairwise(|a, b| a + b),
        "SUB" => pairwise(|a, b| a - b),
        "MUL" => pairwise(|a, b| a * b),
        "PRELU" => pairwise(|x, slope| if x >= 0.0 { x } else { x * slope }),
        "ADD_N" => {
            let zeros = x().map(|_| 0.0);
            floats().iter().fold(zeros, |sum, term| {
                assert_eq!(sum.shape, term.shape, "terms of `{}`", op.name);
                grid::broadcast(&sum, term, |a, b| a + b)
            })
        }
        "MAX_POOL_2D" => window::pool(x(), &Window::of(op), |met| {
            met.iter().copied().fold(f32::MIN, |largest, value| if value > largest { value } else { largest })
        }),
        "AVERAGE_POOL_2D" => window::pool(x(), &Window::of(op), mean),
        "MEAN" => grid::reduce(
            x(),
            &attributes::numbers(op, "axes", operands[1]),
            attributes::is_set(op, "keep_dims"),
            mean,
        ),
        "PAD" => grid::pad(x(), &attributes::paddings(op, operands[1]), 0.0),
        "PADV2" => grid::pad(x(), &attributes::paddings(op, operands[1]), operands[2].float().values[0]),
        "RESIZE_NEAREST_NEIGHBOR" => resize::nearest(x(), attributes::size(op, operands[1]), Mapping::of(op)),
        "RESIZE_BILINEAR" => resize::bilinear(x(), attributes::size(op, operands[1]), Mapping::of(op)),
        kind => {
            let alpha = if kind == "LEAKY_RELU" { attributes::real(op, "alpha") } else { 0.0 };
            x().map(|value| elementwise(kind, alpha, value))
        }
    };
    activated(&result, activation(op))
}

/// An op on each element by itself; `alpha` is the slope of a leaky `ReLU`.
fn elementwise(kind: &str, alpha: f32, x: f32) -> f32 {
    match kind {
        "RELU" => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        "RELU6" => x.clamp(0.0, 6.0),
        "LOGISTIC" => 1.0 / (1.0 + (-x).exp()),
        "TANH" => x.tanh(),
        "HARD_SWISH" => x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
        "LEAKY_RELU" => {
            if x > 0.0 {
                x
            } else {
                x * alpha
            }
        }
        other => panic!("no op of kind {other} on floats"),
    }
}

fn mean(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, value| sum + value) / values.len() as f32
}

fn activated(grid: &Grid<f32>, activation: &str) -> Grid<f32> {
    let [low, high] = limits(activation);
    grid.map(|value| value.clamp(low.unwrap_or(f32::MIN), high.unwrap_or(f32::MAX)))
}

fn convolve(op: &Op, operands: &[&Value]) -> Grid<f32> {
    let (x, kernel, window) = (operands[0].float(), operands[1].float(), Window::of(op));
    let bias = operands.get(2).map(|bias| &bias.float().values);
    let sums = Summation {
        zero: 0.0_f32,
        accumulate: |sum, element: f32, weight: f32| sum + element * weight,
        finish: |sum, filter: usize| sum + bias.map_or(0.0, |bias| bias[filter]),
    };
    if op.kind.as_str() == "CONV_2D" {
        window::convolve(x, kernel, &window, &sums)
    } else {
        window::convolve_depthwise(x, kernel, attributes::number(op, "multiplier"), &window, &sums)
    }
}
