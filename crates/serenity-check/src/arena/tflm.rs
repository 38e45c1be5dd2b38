//! TFLM's head: its greedy planner, around what an offline plan has placed.
//!
//! Everything is a rectangle of steps and bytes. What the plan places comes first and is believed. The others come by size, the largest first, of
//! equals the one with the higher number, and each takes the lowest gap among those that meet it in time. Numbers go over the tensors of all graphs, then
//! over the scratch of all ops in the order in which they are prepared. What no op touches meets only its like.

use crate::timeline::{Span, Timeline};
use serenity_ir::{ElementType, Graph, OpId, Tensor};
use serenity_runtimes::{Kernels, scratch};

/// TFLM rounds every size up to a multiple of this.
const ALIGNMENT: u64 = 16;

struct Rectangle {
    bytes: u64,
    /// `None` for what no op touches.
    steps: Option<Span>,
    offset: Option<u64>,
}

impl Rectangle {
    fn meets(&self, other: &Self) -> bool {
        match (self.steps, other.steps) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            (None, None) => true,
            _ => false,
        }
    }
}

/// Of kernels that are not known, with those for which it is largest.
pub(super) fn head(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: Option<&[Vec<Option<u64>>]>,
) -> Option<u64> {
    let heads: Option<Vec<u64>> =
        kernels.sets().iter().map(|&set| head_of(graphs, orders, set, offsets)).collect();
    heads?.into_iter().max()
}

fn head_of(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: Option<&[Vec<Option<u64>>]>,
) -> Option<u64> {
    let line = Timeline::of(graphs, orders)?;
    let mut all = Vec::new();
    for (g, graph) in graphs.iter().enumerate() {
        for (t, tensor) in graph.tensors().iter().enumerate() {
            let offset = offsets.and_then(|offsets| *offsets.get(g)?.get(t)?);
            all.push(Rectangle {
                bytes: rounded(bytes_unpacked(tensor))?,
                steps: line.tensors[g][t],
                offset,
            });
        }
    }
    for (g, graph) in graphs.iter().enumerate() {
        for &op in orders[g] {
            for bytes in scratch(graph, op, kernels).into_iter().chain(graph.op(op).workspace()) {
                let steps = line.ops[g][op.index()];
                all.push(Rectangle { bytes: rounded(bytes)?, steps, offset: None });
            }
        }
    }
    all.retain(|rectangle| rectangle.bytes > 0);
    place(&mut all)?;
    let ends = all.iter().map(|rectangle| rectangle.offset?.checked_add(rectangle.bytes));
    ends.collect::<Option<Vec<u64>>>().map(|ends| ends.into_iter().max().unwrap_or(0))
}

/// Gives an offset to all that have none; `None` if that overflows.
fn place(all: &mut [Rectangle]) -> Option<()> {
    let (mut there, mut waiting): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|&i| all[i].offset.is_some());
    there.sort_by_key(|&i| all[i].offset);
    waiting.reverse();
    // Stable, so that of equals the higher number stays first.
    waiting.sort_by_key(|&i| std::cmp::Reverse(all[i].bytes));
    for i in waiting {
        let mut lowest = 0_u64;
        for other in there.iter().map(|&other| &all[other]).filter(|other| other.meets(&all[i])) {
            let offset = other.offset?;
            if lowest.checked_add(all[i].bytes)? <= offset {
                break;
            }
            lowest = lowest.max(offset.checked_add(other.bytes)?);
        }
        let at = there.partition_point(|&other| all[other].offset <= Some(lowest));
        there.insert(at, i);
        all[i].offset = Some(lowest);
    }
    Some(())
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
