//! Windows of row-local operators as loops over stripes.
//!
//! In comes the main graph of a model; out comes a [`Looped`] one, in which a window of consecutive operators runs a few rows at a time.

mod looped;

pub use looped::Looped;
