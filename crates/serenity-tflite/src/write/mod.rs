//! Changing a model without losing a byte.
//!
//! There are two ways. Where only the order of operators changes, the vector that lists them is permuted [in place](in_place). Everything
//! else is a new root [in front](node) of the old file. Either way the result is read again and [compared](compare) before it is given away.

mod assemble;
mod carry;
mod compare;
mod edit;
mod in_place;
mod new_options;
mod node;
mod options;
mod parts;
mod reorder;

pub use edit::{Edit, Edited, NewOptions, NewTensor, OperatorSource, OptionValue};
