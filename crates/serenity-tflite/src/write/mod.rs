//! Changing a model without losing a byte.

mod in_place;
mod reorder;
