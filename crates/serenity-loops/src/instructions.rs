//! Estimates the instructions of a model with CMSIS-NN's kernels.
//!
//! With kernels that multiply fast, the rest of a loop weighs more: copied rows, and operators that are called once per
//! stripe. The cost of a multiply-accumulate was measured on a Cortex-M4, layer by layer. The cost of copies and calls
//! was fitted to five int8 models that TFLM ran with CMSIS-NN under emulation, with loops and without:
//!
//! | instructions with loops / without | measured | estimated |
//! |---|---|---|
//! | MLPerf Tiny keyword spotting | 1.39 | 1.39 |
//! | MLPerf Tiny visual wake words | 1.15 | 1.15 |
//! | MLPerf Tiny ResNet-8 | 1.13 | 1.13 |
//! | person detection of TFLM | 1.17 | 1.16 |
//! | MobileNetV2 0.35, 96x96 | 1.13 | 1.13 |

use crate::program::{Prices, Program};
use crate::window::Window;
use serenity_ir::Operator::{
    ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, MAX_POOL_2D, MUL, SUB,
};
use serenity_ir::{Call, Graph, OpId};

/// Instructions per element that is computed without weights, and per element for which two operands are scaled.
const ELEMENT: f64 = 10.0;
const ELEMENT_OF_TWO: f64 = 79.0;
/// Instructions per element that is cut out of one long row, that is found by its position in four dimensions, and that
/// is carried on.
const CUT: f64 = 5.3;
const FOUND: f64 = 13.3;
const CARRIED: f64 = 10.7;
/// Instructions per call of an operator of the body.
const STEP: f64 = 1700.0;
/// Instructions per weight of a pointwise convolution and call: the kernel adds up all weights before it multiplies.
const WEIGHT: f64 = 5.5;

/// The estimated instructions of a graph without loops, on CMSIS-NN.
pub fn instructions_of(graph: &Graph) -> u64 {
    graph.op_ids().map(|op| of_op(graph, op)).sum::<f64>() as u64
}

/// The instructions of an op without a loop.
fn of_op(graph: &Graph, op: OpId) -> f64 {
    let results = graph.op(op).outputs.iter().filter_map(|&t| graph.tensor(t).layout());
    results.map(|result| result.count as f64).sum::<f64>() * of_element(&Call::new(graph, op))
}

/// The instructions of an op with one result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions {
    whole: f64,
    of_element: f64,
    of_call: f64,
}

impl Instructions {
    pub(crate) fn of(call: &Call, results: i64) -> Self {
        let of_element = of_element(call);
        Self { whole: results as f64 * of_element, of_element, of_call: of_call(call) }
    }
}

/// The instructions of one element of the result of an op.
fn of_element(call: &Call) -> f64 {
    let filter = call.described(1).map(|filter| filter.shape);
    let taps = |height: u64, width: u64| height as f64 * width as f64;
    match (call.operator(), filter.as_deref()) {
        (CONV_2D, Some(&[_, 1, 1, depth])) => depth as f64 * of_pointwise(depth),
        (CONV_2D, Some(&[_, height, width, depth])) => {
            taps(height, width) * depth as f64 * if depth % 4 == 0 { 2.1 } else { 5.5 }
        }
        (DEPTHWISE_CONV_2D, Some(&[_, height, width, _])) => taps(height, width) * 8.8,
        (FULLY_CONNECTED, Some(&[_, depth])) => depth as f64 * 3.2,
        (AVERAGE_POOL_2D | MAX_POOL_2D, _) => {
            ELEMENT * call.kernel().map_or(1.0, |[height, width]| taps(height, width))
        }
        (ADD | SUB | MUL, _) => ELEMENT_OF_TWO,
        _ => ELEMENT,
    }
}

/// The instructions of a multiply-accumulate of a pointwise convolution: the fewer channels, the more overhead.
fn of_pointwise(depth: u64) -> f64 {
    match depth {
        0..=16 => 5.3,
        17..=64 => 2.4,
        _ => 2.0,
    }
}

/// The instructions of a call of a kernel, however few rows there are.
fn of_call(call: &Call) -> f64 {
    match call.described(1).and_then(|filter| filter.dims::<4>()) {
        Some([made, 1, 1, depth]) if call.operator() == CONV_2D => made as f64 * depth as f64 * WEIGHT,
        _ => 0.0,
    }
}

/// The instructions that a loop adds: for what it computes again, what it copies, and every call of an operator.
pub(crate) fn extra_instructions(window: &Window, program: &Program) -> u64 {
    let prices = Prices { cut: CUT, found: FOUND, widened: 0.0, carried: CARRIED, step: STEP };
    let run = |op: usize, elements: f64| {
        let Instructions { of_element, of_call, .. } = window.ops[op].instructions;
        elements * of_element + of_call
    };
    let [iteration, ahead] = program.costs(window, &prices, run);
    let before: f64 = window.ops.iter().map(|local| local.instructions.whole).sum();
    let after = program.iterations as f64 * iteration + ahead;
    (after - before).max(0.0) as u64
}
