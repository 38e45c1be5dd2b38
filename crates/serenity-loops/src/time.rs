//! Estimates how much longer a model with loops takes.
//!
//! Times are in multiplications of TFLM's portable convolutions, of which a desktop computer does one in about a
//! nanosecond. The figures were measured there, with the Python package `tflite-micro`, as ratios of two models in one
//! run; `cargo bench --bench loop_time -p serenity-ml` measures them again. With kernels that multiply faster, copies
//! weigh more.

use crate::program::{Prices, Program};
use crate::rows::RowLocal;
use crate::window::Window;
use serenity_ir::{Graph, OpId};

/// A repeated multiplication: those at the edges of stripes are slower.
const AGAIN: f64 = 1.3;
/// An element of a result besides multiplications, to be scaled, clamped and stored; and one of an operator that
/// multiplies nothing.
const ELEMENT: f64 = 12.0;
const ELEMENT_ALONE: f64 = 3.0;
/// An element that is cut out of one long row.
const CUT: f64 = 1.2;
/// An element that is found by its position in four dimensions.
const FOUND: f64 = 3.0;
/// An element of a row that is widened, or carried on.
const MOVED: f64 = 2.3;
/// A call of an operator of the body.
const STEP: f64 = 100.0;

/// The estimated time of a graph without loops.
pub fn time_of(graph: &Graph) -> u64 {
    let of = |op: OpId| {
        let macs = RowLocal::of(graph, op).map_or(0, |local| local.macs);
        let shapes = graph.op(op).outputs.iter().filter_map(|&t| graph.tensor(t).shape.as_ref());
        let made: f64 = shapes.map(|shape| shape.iter().map(|&side| side as f64).product::<f64>()).sum();
        macs as f64 + made * of_an_element(macs)
    };
    graph.op_ids().map(of).sum::<f64>() as u64
}

fn of_an_element(macs: u64) -> f64 {
    if macs > 0 { ELEMENT } else { ELEMENT_ALONE }
}

/// The estimated time that a loop adds: for what it computes again, and what it copies.
pub(crate) fn extra_time(window: &Window, program: &Program) -> u64 {
    let took = |op: &RowLocal| {
        let made = window.graph.tensor(op.output).bytes as i64 / window.item(op.output);
        made as f64 * of_an_element(op.macs)
    };
    let prices = Prices { cut: CUT, found: FOUND, widened: MOVED, carried: MOVED, step: STEP };
    let run = |op: usize, elements: f64| elements * of_an_element(window.ops[op].macs);
    let [iteration, ahead] = program.costs(window, &prices, run);
    let before: f64 = window.ops.iter().map(|op| took(op)).sum();
    (program.extra_macs as f64 * AGAIN + program.iterations as f64 * iteration + ahead - before).max(0.0)
        as u64
}
