//! Where the result of an op lies over one of its operands: is that safe?
//!
//! For ops that compute, the replay of their kernels decides. Copies that move nothing are safe by themselves,
//! whichever kernels run: no port replaces `SLICE`, `CONCATENATION` or `DYNAMIC_UPDATE_SLICE`, and `RESHAPE` does
//! nothing in place.
//! - Bytes that are copied onto themselves stay what they are, in one `memcpy` or one by one. So an op is safe if each
//!   of its copies goes onto itself or reads what no copy writes: then the order of the copies does not matter.
//! - `SLICE` and `DYNAMIC_UPDATE_SLICE` take the numbers that say where from into variables of their own before they
//!   write anything.
//! - `DYNAMIC_UPDATE_SLICE` copies all of its operand unless it lies where the result does, then the update into it. In
//!   place, the update may come from anywhere but from bytes that it goes to, unless they are the very same. Otherwise
//!   the first copy would write over an update inside the result.

use super::acts::Move;
use super::moves::{Copy, From};
use crate::replay::{Verdict, replay};
use serenity_facts::Kernels;
use serenity_ir::{Graph, OpId, TensorId};

/// So many bytes from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) begin: u64,
    pub(super) bytes: u64,
}

impl Range {
    pub(super) fn meets(self, other: Self) -> bool {
        let (a, b) = (self, other);
        a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes
    }
}

/// More copies than this are left to the replay of the kernel.
const MOST_COPIES: usize = 256;

/// Is an op that moves bytes safe where its activations lie, by `places` for each operand, and its result at `output`?
pub(super) fn moves_in_place(kind: Move, copies: &[Copy], places: &[Option<Range>], output: Range) -> bool {
    if copies.len() > MOST_COPIES {
        return false;
    }
    let source = |copy: &Copy| match copy.from {
        From::Operand { position, offset } => {
            let place = places.get(position).copied().flatten()?;
            Some(Range { begin: place.begin + offset, bytes: copy.bytes })
        }
        From::Pattern(_) => None,
    };
    let target = |copy: &Copy| Range { begin: output.begin + copy.to, bytes: copy.bytes };
    match kind {
        Move::Reshape | Move::Slice | Move::Concatenation { .. } => {
            copies.iter().enumerate().all(|(i, copy)| {
                let Some(read) = source(copy) else { return true };
                copies.iter().enumerate().all(|(j, other)| {
                    let is_onto_itself = i == j && read == target(copy);
                    is_onto_itself || !read.meets(target(other))
                })
            })
        }
        Move::Update => match copies {
            // The update is as large as the result.
            [update] => {
                source(update).is_none_or(|read| read == target(update) || !read.meets(target(update)))
            }
            [whole, updates @ ..] => {
                let in_place = source(whole).is_some_and(|read| read == output);
                let is_apart = source(whole).is_none_or(|read| !read.meets(output));
                let is_safe = |update: &Copy| {
                    let Some(read) = source(update) else { return true };
                    let in_one_piece = updates.len() == 1;
                    let to = target(update);
                    !read.meets(output) || (in_place && in_one_piece && (read == to || !read.meets(to)))
                };
                (in_place || is_apart) && updates.iter().all(is_safe)
            }
            [] => true,
        },
        Move::Crop | Move::Pad | Move::Fill => false,
    }
}

/// Which operand of an op that moves bytes only says where from, and is read before anything is written.
pub(super) fn is_read_first(kind: Move, position: usize) -> bool {
    matches!((kind, position), (Move::Slice, 1 | 2) | (Move::Update, 2))
}

/// Why the kernel may not write its output where its input lies.
pub(super) fn replay_fault(
    graph: &Graph,
    op: OpId,
    kernels: Kernels,
    input: (TensorId, u64),
    output: (TensorId, u64),
) -> Option<String> {
    match replay(graph, op, kernels, input, output) {
        Verdict::Safe => None,
        Verdict::Overwrites { byte, element } => {
            Some(format!("element {element} over byte {byte} before it has read it"))
        }
        Verdict::Unknown { kind } => Some(format!("and how `{kind}` reads and writes is not known")),
    }
}
