//! Small models with loops, made by hand: right ones, and ones with a single mistake.

mod carried;
mod net;
mod plans;
mod striped;
