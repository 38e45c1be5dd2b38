//! `constant-channels`: removes channels that are constant or never read.
//!
//! Takes a [`Network`]: the channels of every tensor and, per step, which channels it reads to make which, as far as a
//! reader of files can tell. Returns a [`Narrowing`]: the channels that stay, and what is added to the biases of steps
//! that read removed channels. There are three parts, one file each: which numbers a channel can hold (`forward`),
//! which channels must stay or go together (`ties`), and which can go (`removal`).
//!
//! Nothing here knows a file format, and nothing is rounded: what a sum becomes is followed for every way in which the
//! known kernels round it, and a channel counts as constant only if they agree. The proof is in the `DESIGN.md` of this
//! crate.

mod forward;
mod network;
mod range;
mod removal;
#[cfg(test)]
mod tests;
mod ties;

pub use network::{Apart, Channels, Clamp, Mix, Network, Numbers, Step, Sums, Tie, Transfer, Weights};
pub use removal::Narrowing;

/// The name of the rule, for messages and scripts.
pub const CONSTANT_CHANNELS: &str = "constant-channels";

/// Finds the channels that can be removed from a network without changing a bit of its outputs. Calls `stop` at every
/// step and, if that returns true, removes nothing.
///
/// ```
/// use serenity_rewrite::constant_channels::{Channels, Clamp, Mix, Network, Numbers, Step, Sums, Weights, narrow};
/// // Three channels of int8 are made of one, the second of them with weights of zero; one is made of these.
/// let whole = |count, is_fixed| Channels {
///     count, is_fixed, numbers: Numbers::Whole { scale: 1.0, zero_point: 0, least: -128, most: 127 },
/// };
/// let mix = |input, output, all: [i32; 3], bias: Vec<f64>| {
///     let mut weights = Weights::default();
///     all.into_iter().for_each(|weight| weights.push([weight].into_iter()));
///     let sums = Sums { sees_border: false, scales: Some(vec![1.0; bias.len()]), clamp: Clamp::NONE, bias };
///     Step::Mix(Mix { input, output, weights, sums, takes_bias: true })
/// };
/// let network = Network {
///     tensors: vec![whole(1, true), whole(3, false), whole(1, true)],
///     steps: vec![mix(0, 1, [5, 0, 6], vec![0.0, 7.0, 0.0]), mix(1, 2, [2, 3, 4], vec![1.0])],
/// };
/// let narrowing = narrow(&network, &|| false);
/// assert_eq!(narrowing.kept[1], Some(vec![0, 2]));
/// // The channel was 7 everywhere, and its weight is 3.
/// assert_eq!(narrowing.folded[&1], vec![21]);
/// ```
pub fn narrow(network: &Network, stop: &dyn Fn() -> bool) -> Narrowing {
    removal::narrow(network, stop).unwrap_or_else(|| Narrowing::none(network))
}
