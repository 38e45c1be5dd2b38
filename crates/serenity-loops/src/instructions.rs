//! Estimates the instructions of a model.
//!
//! For CMSIS-NN and emitted C, the cost of a multiply-accumulate was measured on an emulated Cortex-M4, layer by layer.
//! For the portable kernels and ESP-NN it was fitted to five int8 models, which TFLM ran on an emulated 32-bit Arm
//! processor. Besides, loops copy rows, and call their operators once per stripe; that was fitted to the same models.
//!
//! | model | TFLM with CMSIS-NN, loops / none | portable / CMSIS-NN | ESP-NN / CMSIS-NN | emitted C | with loops |
//! |---|---|---|---|---|---|
//! | `MLPerf` Tiny keyword spotting | 1.39 (1.39) | 5.80 (4.89) | 3.40 (2.96) | 4.17 M (4.48 M) | |
//! | `MLPerf` Tiny visual wake words | 1.15 (1.15) | 4.25 (4.26) | 2.58 (2.63) | 7.37 M (7.38 M) | 7.56 M (7.71 M) |
//! | `MLPerf` Tiny ResNet-8 | 1.13 (1.13) | 3.71 (3.87) | 3.00 (2.97) | 15.2 M (15.0 M) | 16.8 M (16.7 M) |
//! | person detection of TFLM | 1.17 (1.16) | 4.30 (4.31) | 2.46 (2.57) | 10.8 M (11.5 M) | |
//! | `MobileNetV2` 0.35, 96x96 | 1.13 (1.13) | 4.36 (4.17) | 2.59 (2.46) | 18.7 M (20.9 M) | 21.0 M (22.7 M) |
//!
//! Estimates are in brackets. `benchmarks/cortex-m4/run` measures emitted C.

use crate::program::{Prices, Program};
use crate::rows::RowLocal;
use crate::speed::{Layer, Measured, Speed};
use crate::window::Window;
use serenity_ir::{Call, Graph};

/// The estimated instructions of a graph without loops, on CMSIS-NN.
pub fn instructions_of(graph: &Graph) -> u64 {
    run_on(Measured::CmsisNn.speed(), graph)
}

/// The estimated instructions of a graph without loops; `None` if it multiplies numbers of a type for which nothing was
/// measured.
pub fn instructions_on(on: Measured, graph: &Graph) -> Option<u64> {
    let calls = || graph.op_ids().map(|op| Call::new(graph, op));
    let is_measured = calls().all(|call| Layer::of(&call).is_measured(&call));
    is_measured.then(|| run_on(on.speed(), graph))
}

fn run_on(speed: &Speed, graph: &Graph) -> u64 {
    let of = |call: Call| {
        let results = call.op.outputs.iter().filter_map(|&t| graph.tensor(t).layout());
        let elements = results.map(|result| result.count as f64).sum::<f64>();
        let layer = Layer::of(&call);
        elements * layer.of_element(speed)
    };
    graph.op_ids().map(|op| of(Call::new(graph, op))).sum::<f64>() as u64
}

/// The instructions that a loop adds: for what it computes again, what it copies, and every call of an operator.
pub(crate) fn extra_instructions(window: &Window, program: &Program, on: &Speed) -> u64 {
    let prices = Prices { cut: on.cut, found: on.found, widened: 0.0, carried: on.carried, step: on.step };
    let run = |op: usize, elements: f64| {
        let layer = window.ops[op].layer;
        elements * layer.of_element(on) + layer.of_call(on)
    };
    let [iteration, ahead] = program.costs(window, &prices, run);
    let whole = |local: &&RowLocal| local.results as f64 * local.layer.of_element(on);
    let before: f64 = window.ops.iter().map(whole).sum();
    let after = program.iterations as f64 * iteration + ahead;
    (after - before).max(0.0) as u64
}
