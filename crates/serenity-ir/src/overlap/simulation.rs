//! Kernels played step by step on random small shapes: what is read when, what is written when, and how close the two may lie.

mod copying;
mod elements;
mod graphs;
mod sliding;

use crate::{Kernels, OpId, Overlap, overlaps};
use graphs::OneOp;

/// The order of reads and writes of one kernel, of one operand and one result.
#[derive(Default)]
struct Trace {
    /// Where the bytes written so far end.
    written: i64,
    least_distance: i64,
}

impl Trace {
    /// Reads what begins at this byte of the operand.
    fn read(&mut self, byte: i64) {
        if self.written > 0 {
            self.least_distance = self.least_distance.max(self.written - byte);
        }
    }

    /// Writes what ends at this byte of the result.
    fn write(&mut self, end: i64) {
        self.written = self.written.max(end);
    }

    /// A copy that may not overlap itself: it counts as written first.
    fn copy(&mut self, from: i64, to: i64, bytes: i64) {
        self.write(to + bytes);
        self.read(from);
    }
}

/// Small numbers by chance, the same on every run.
struct Chance(u64);

impl Chance {
    fn from(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) as i64 % (high - low + 1)
    }

    fn pair(&mut self, low: i64, high: i64) -> [i64; 2] {
        [self.from(low, high), self.from(low, high)]
    }

    fn coin(&mut self) -> bool {
        self.from(0, 1) == 1
    }
}

/// The distance that the formula asks for, between the operand and the result at these places among the activations.
fn asked(op: OneOp, kernels: Kernels, input: usize, output: usize) -> Option<i64> {
    let graph = op.graph();
    let (input, output) = (graph.op(OpId(0)).inputs[input], graph.op(OpId(0)).outputs[output]);
    let is_it = |found: &Overlap| (found.input, found.output, found.exact) == (input, output, false);
    overlaps(&graph, OpId(0), kernels).into_iter().find(is_it).map(|found| found.distance as i64)
}

/// The formula must ask for just what the trace shows, or for disjointness if that is as much.
fn assert_tight(op: OneOp, kernels: Kernels, output_bytes: i64, trace: &Trace) {
    let shown = Some(trace.least_distance).filter(|&distance| distance < output_bytes);
    let told = op.to_string();
    assert_eq!(asked(op, kernels, 0, 0), shown, "{told}");
}
