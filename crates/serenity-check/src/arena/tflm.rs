//! TFLM's head: its greedy planner, around what an offline plan has placed.
//!
//! Everything is a rectangle of steps and bytes. What the plan places comes first and is believed. The others come by
//! size, the largest first, of equals the one with the higher number, and each takes the lowest gap among those that
//! meet it in time. Numbers go over the tensors of all graphs, then over the scratch of all ops in the order in which
//! they are prepared. What no op touches meets only its like.

use super::shelves::{Placed, Shelves};
use crate::timeline::{Span, Timeline};
use serenity_facts::{Kernels, scratch};
use serenity_ir::{ElementType, Graph, OpId, Tensor};
use std::collections::BTreeSet;

/// TFLM rounds every size up to a multiple of this.
const ALIGNMENT: u64 = 16;

/// The steps of what no op touches: none of the others'.
const NEVER: Span = (u64::MAX, u64::MAX);

#[derive(PartialEq, Eq)]
struct Rectangle {
    bytes: u64,
    steps: Span,
    offset: Option<u64>,
}

/// Of kernels that are not known, with those for which it is largest.
pub(super) fn head(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: Option<&[Vec<Option<u64>>]>,
) -> Option<u64> {
    most(graphs, orders, kernels, offsets, Shelves::top)
}

/// The most bytes in which something lies at any step, each counted once however many tensors share it. Of kernels that
/// are not known, with those for which it is most.
pub(crate) fn most_in_use(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: &[Vec<Option<u64>>],
) -> Option<u64> {
    most(graphs, orders, kernels, Some(offsets), |there| {
        let placed: Vec<&Placed> = there.iter().filter(|one| one.steps != NEVER).collect();
        let begins: BTreeSet<u64> = placed.iter().map(|one| one.steps.0).collect();
        begins.into_iter().map(|step| in_use(&placed, step)).max().unwrap_or(0)
    })
}

/// Bytes in which something lies at a step, of what comes by its place.
fn in_use(placed: &[&Placed], step: u64) -> u64 {
    let (mut bytes, mut top) = (0, 0);
    for one in placed.iter().filter(|one| one.steps.0 <= step && step <= one.steps.1) {
        bytes += one.end.saturating_sub(top.max(one.offset));
        top = top.max(one.end);
    }
    bytes
}

/// The most of a figure over the kernels that may run it.
fn most(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: Option<&[Vec<Option<u64>>]>,
    figure: impl Fn(&Shelves) -> u64,
) -> Option<u64> {
    let line = Timeline::of(graphs, orders)?;
    let mut known: Vec<Vec<Rectangle>> = Vec::new();
    let mut most = 0;
    for &set in kernels.sets() {
        let all = rectangles(graphs, orders, set, offsets, &line)?;
        // Kernels that ask for the same scratch come to the same.
        if !known.contains(&all) {
            most = most.max(figure(&laid_out(&all)?));
            known.push(all);
        }
    }
    Some(most)
}

/// What is to be placed with these kernels.
fn rectangles(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: Option<&[Vec<Option<u64>>]>,
    line: &Timeline,
) -> Option<Vec<Rectangle>> {
    let mut all = Vec::new();
    for (g, graph) in graphs.iter().enumerate() {
        for (t, tensor) in graph.tensors().iter().enumerate() {
            let offset = offsets.and_then(|offsets| *offsets.get(g)?.get(t)?);
            all.push(Rectangle {
                bytes: rounded(bytes_unpacked(tensor))?,
                steps: line.tensors[g][t].unwrap_or(NEVER),
                offset,
            });
        }
    }
    for (g, graph) in graphs.iter().enumerate() {
        for &op in orders[g] {
            for bytes in scratch(graph, op, kernels).into_iter().chain(graph.op(op).workspace()) {
                let steps = line.ops[g][op.index()].unwrap_or(NEVER);
                all.push(Rectangle { bytes: rounded(bytes)?, steps, offset: None });
            }
        }
    }
    all.retain(|rectangle| rectangle.bytes > 0);
    Some(all)
}

/// Each at its place; `None` if one ends where no number reaches.
fn laid_out(all: &[Rectangle]) -> Option<Shelves> {
    // Sizes are rounded, so that what begins where another ends is aligned.
    let mut there = Shelves::new([], 1);
    let mut waiting = Vec::new();
    for rectangle in all {
        match rectangle.offset {
            Some(offset) => there.insert(Placed::new(offset, rectangle.bytes, rectangle.steps)?),
            None => waiting.push(rectangle),
        }
    }
    waiting.reverse();
    // Stable, so that of equals the higher number stays first.
    waiting.sort_by_key(|rectangle| std::cmp::Reverse(rectangle.bytes));
    for &Rectangle { bytes, steps, .. } in waiting {
        let mut lowest = 0;
        let top = there.gaps(steps, bytes, |from, _| {
            lowest = from;
            true
        });
        there.insert(Placed::new(top.unwrap_or(lowest), bytes, steps)?);
    }
    Some(there)
}

/// TFLM gives each int4 element a byte.
pub(crate) fn bytes_unpacked(tensor: &Tensor) -> u64 {
    let unpacked = match (&tensor.dtype, &tensor.shape) {
        (Some(ElementType::Int4), Some(shape)) => shape.iter().try_fold(1_u64, |n, &d| n.checked_mul(d)),
        _ => None,
    };
    unpacked.unwrap_or(tensor.bytes)
}

/// `None` if that overflows.
fn rounded(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(ALIGNMENT)
}
