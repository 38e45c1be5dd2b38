//! A lower bound on the traffic of all orders.
//!
//! A buffer is *open* from the first op that touches it until the last. Every order has a step at which at least as
//! many bytes are open as the least possible peak of open bytes. Those that are not on chip then were dropped before
//! and will be read again, or are written now and dropped: each byte costs a read, and also a write unless it is
//! off-chip anyway (inputs, results).

use serenity_ir::Graph;
use serenity_pipeline::stages::problem::edges;
use serenity_schedule::{self as scheduling, Buffer, Limits, OpIndex, Options, Problem};
use serenity_traffic::{Grain, TouchedBuffer, Touches};

/// A lower bound on the peak of open bytes of every order. Pages pass one by one while an op runs, so it is 0 for them.
pub(super) fn least_alive(graph: &Graph, touches: &Touches, grain: Grain, limits: Limits) -> u64 {
    if grain == Grain::Page {
        return 0;
    }
    let open = |buffer: &TouchedBuffer| {
        let ops: Vec<OpIndex> = buffer.ops.iter().map(|op| OpIndex(op.0)).collect();
        Buffer { bytes: buffer.bytes, writers: ops.clone(), readers: ops, from_start: false, to_end: false }
    };
    let buffers = touches.buffers().iter().filter(|b| b.ops.len() > 1).map(open).collect();
    let edges = edges(graph);
    match Problem::new(graph.ops().len() as u32, buffers, edges) {
        Ok(problem) => scheduling::schedule(&problem, &Options { limits, ..Options::default() }).bound,
        Err(_) => 0,
    }
}

/// A lower bound on the bytes that any order moves with `on_chip` bytes of on-chip memory.
pub(super) fn bound(touches: &Touches, least_alive: u64, on_chip: u64) -> u64 {
    let dropped = least_alive.saturating_sub(on_chip);
    let is_off_chip_anyway = |b: &&TouchedBuffer| b.is_input || b.is_result;
    let without_a_write: u64 = touches
        .buffers()
        .iter()
        .filter(|b| b.ops.len() > 1)
        .filter(is_off_chip_anyway)
        .map(|b| b.bytes)
        .sum();
    dropped + dropped.saturating_sub(without_a_write)
}
