//! Ops on floats. Sums are taken in the order of `TFLite`'s reference kernels.

use super::attributes::{self, activation, limits};
use super::grid::{self, Grid};
use super::resize::{self, Mapping};
use super::value::{Data, Value};
use super::window::{self, Summation, Window};
use serenity_ir::Op;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Floats of 32 bits, which is what models are made of, or of 64, to tell errors from rounding.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn of(value: f32) -> Self;
    fn exp(self) -> Self;
    fn tanh(self) -> Self;
    /// The elements of a tensor, which must be of this type.
    fn elements(data: &Data) -> &Grid<Self>;
}

impl Real for f32 {
    fn of(value: f32) -> Self {
        value
    }

    fn exp(self) -> Self {
        f32::exp(self)
    }

    fn tanh(self) -> Self {
        f32::tanh(self)
    }

    fn elements(data: &Data) -> &Grid<Self> {
        let Data::Float(grid) = data else { panic!("not floats: {data:?}") };
        grid
    }
}

impl Real for f64 {
    fn of(value: f32) -> Self {
        value.into()
    }

    fn exp(self) -> Self {
        f64::exp(self)
    }

    fn tanh(self) -> Self {
        f64::tanh(self)
    }

    fn elements(data: &Data) -> &Grid<Self> {
        let Data::Double(grid) = data else { panic!("not doubles: {data:?}") };
        grid
    }
}

fn clamp<R: Real>(value: R, low: R, high: R) -> R {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// What an op makes of its operands.
pub(super) fn compute<R: Real>(op: &Op, operands: &[&Value]) -> Grid<R> {
    let zero = R::of(0.0);
    let elements = |position: usize| R::elements(&operands[position].data);
    let x = || elements(0);
    let floats = || (0..operands.len()).map(|position| elements(position).clone()).collect::<Vec<_>>();
    let pairwise = |combine: &dyn Fn(R, R) -> R| grid::broadcast(x(), elements(1), combine);
    let result = match op.kind.as_str() {
        "CONV_2D" | "DEPTHWISE_CONV_2D" => convolve(op, operands),
        "CONCATENATION" => grid::concatenate(&floats(), attributes::number(op, "axis")),
        "ADD" => pairwise(&|a, b| a + b),
        "SUB" => pairwise(&|a, b| a - b),
        "MUL" => pairwise(&|a, b| a * b),
        "PRELU" => pairwise(&|x, slope| if x >= zero { x } else { x * slope }),
        "ADD_N" => {
            let zeros = x().map(|_| zero);
            floats().iter().fold(zeros, |sum, term| {
                assert_eq!(sum.shape, term.shape, "terms of `{}`", op.name);
                grid::broadcast(&sum, term, |a, b| a + b)
            })
        }
        "MAX_POOL_2D" => window::pool(x(), &Window::of(op), |met| {
            met.iter()
                .copied()
                .fold(R::of(f32::MIN), |largest, value| if value > largest { value } else { largest })
        }),
        "AVERAGE_POOL_2D" => window::pool(x(), &Window::of(op), mean),
        "MEAN" => grid::reduce(
            x(),
            &attributes::numbers(op, "axes", operands[1]),
            attributes::is_set(op, "keep_dims"),
            mean,
        ),
        "PAD" => grid::pad(x(), &attributes::paddings(op, operands[1]), zero),
        "PADV2" => grid::pad(x(), &attributes::paddings(op, operands[1]), elements(2).values[0]),
        "RESIZE_NEAREST_NEIGHBOR" => resize::nearest(x(), attributes::size(op, operands[1]), Mapping::of(op)),
        "RESIZE_BILINEAR" => resize::bilinear(x(), attributes::size(op, operands[1]), Mapping::of(op)),
        kind => {
            let alpha = if kind == "LEAKY_RELU" { attributes::real(op, "alpha") } else { 0.0 };
            x().map(|value| elementwise(kind, R::of(alpha), value))
        }
    };
    activated(&result, activation(op))
}

/// An op on each element by itself; `alpha` is the slope of a leaky `ReLU`.
fn elementwise<R: Real>(kind: &str, alpha: R, x: R) -> R {
    let [zero, one, three, six] = [0.0, 1.0, 3.0, 6.0].map(R::of);
    match kind {
        "RELU" => {
            if x < zero {
                zero
            } else {
                x
            }
        }
        "RELU6" => clamp(x, zero, six),
        "LOGISTIC" => one / (one + (-x).exp()),
        "TANH" => x.tanh(),
        "HARD_SWISH" => x * clamp(x + three, zero, six) / six,
        "LEAKY_RELU" => {
            if x > zero {
                x
            } else {
                x * alpha
            }
        }
        other => panic!("no op of kind {other} on floats"),
    }
}

fn mean<R: Real>(values: &[R]) -> R {
    values.iter().fold(R::of(0.0), |sum, &value| sum + value) / R::of(values.len() as f32)
}

fn activated<R: Real>(grid: &Grid<R>, activation: &str) -> Grid<R> {
    let [low, high] = limits(activation);
    let (low, high) = (R::of(low.unwrap_or(f32::MIN)), R::of(high.unwrap_or(f32::MAX)));
    grid.map(|value| clamp(value, low, high))
}

fn convolve<R: Real>(op: &Op, operands: &[&Value]) -> Grid<R> {
    let elements = |position: usize| R::elements(&operands[position].data);
    let (x, kernel, window) = (elements(0), elements(1), Window::of(op));
    let bias = (operands.len() > 2).then(|| &elements(2).values);
    let sums = Summation {
        zero: R::of(0.0),
        accumulate: |sum, element: R, weight: R| sum + element * weight,
        finish: |sum, filter: usize| sum + bias.map_or(R::of(0.0), |bias| bias[filter]),
    };
    if op.kind.as_str() == "CONV_2D" {
        window::convolve(x, kernel, &window, &sums)
    } else {
        window::convolve_depthwise(x, kernel, attributes::number(op, "multiplier"), &window, &sums)
    }
}
