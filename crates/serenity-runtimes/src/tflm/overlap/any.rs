//! What every set of kernels allows.
//!
//! Vectors, blocks, loops from back to front, work shared between cores: nothing is known of the order. But if element
//! `i` of the output is made from element `i` of the input and from no other, as large as it, then whoever writes it
//! has read what lay there, and nobody else wants that any more. So the very same offset is safe, and nothing else is.
//!
//! This holds for kernels that read each element but once. It does not for those that pass over the input several times
//! (`SOFTMAX`), nor surely where a smaller operand is broadcast: a kernel may spread that over the output first. Vector
//! libraries compute logistic and hyperbolic tangent of floats in several passes, and forbid overlaps (Cadence's for
//! its fourth `HiFi` does): these are left alone. `SLICE` is the same code in every set of kernels known.

use super::copies;
use super::elementwise::{in_place, operands_read_once};
use super::safe::Pair;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType};

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        // Nobody replaces the portable kernel.
        SLICE => copies::slice(call),
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call),
        LOGISTIC | TANH if call.dtype(0) == Some(ElementType::Float32) => None,
        operator => in_place(call, operands_read_once(operator)?),
    }
}
