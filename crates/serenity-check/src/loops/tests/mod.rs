//! Small models with loops, made by hand: right ones, and ones with a single mistake.

mod carried;
mod chance;
mod halves;
mod net;
mod numeric;
mod plans;
mod striped;
