//! Changing a model without losing a byte.
//!
//! There are two ways. Where only the order of operators changes, the vector that lists them is permuted [in
//! place](in_place). Everything else is a new root [in front](node) of the old file, of which only the bytes of
//! constants that are gone get [another use](reuse). Either way the result is read again and [compared](compare) before
//! it is given away.

mod assemble;
mod carry;
mod compact;
mod compare;
mod edit;
mod extents;
mod in_place;
mod interface;
mod new_options;
mod node;
mod options;
mod parts;
mod ranges;
mod reorder;
mod reuse;
mod sub_graphs;

pub use edit::{Edit, Edited, NewOptions, NewTensor, OperatorSource, OptionValue};
