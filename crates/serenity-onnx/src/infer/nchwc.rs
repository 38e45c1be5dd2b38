//! The operators of ONNX Runtime that work on channels in blocks, which only its own optimiser writes.
//!
//! A tensor of theirs has as many channels as whole blocks hold. How many that are is a matter of the machine that the
//! file was optimised on: 8 or 16.

use super::call::one;
use super::table::is_among;
use super::window::Channels;
use super::{Call, window};
use crate::fact::Fact;
use crate::proto::{Graph, Node};
use std::collections::HashMap;

/// The domain of these operators.
pub(super) const DOMAIN: &str = "com.microsoft.nchwc";

/// What a graph tells about the size of a block.
#[derive(Default)]
pub(super) struct Blocks<'a> {
    /// Is there a convolution whose results fill no blocks of 16?
    is_eight: bool,
    /// The channels of tensors that convolutions read, as their weights have them.
    convolved: HashMap<&'a str, u64>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(graph: &Graph<'a>) -> Self {
        let is_blocked = |node: &&Node<'_>| node.domain == DOMAIN && node.op_type == "Conv";
        let mut convolutions = graph.nodes.iter().filter(is_blocked).peekable();
        if convolutions.peek().is_none() {
            return Self::default();
        }
        let constants: HashMap<&str, Vec<u64>> =
            graph.initializers.iter().filter_map(|t| Some((t.name, t.fact().shape?))).collect();
        let mut blocks = Self::default();
        for node in convolutions {
            let (Some(&input), Some(&weights)) = (node.inputs.first(), node.inputs.get(1)) else { continue };
            let Some(&[to, from, ..]) = constants.get(weights).map(Vec::as_slice) else { continue };
            let groups = node.int("group").and_then(|groups| u64::try_from(groups).ok()).unwrap_or(1);
            blocks.is_eight |= to % 16 != 0;
            blocks.convolved.insert(input, from.saturating_mul(groups));
        }
        blocks
    }

    /// So many channels in whole blocks, in a tensor of this name.
    fn filled(&self, channels: u64, tensor: &str) -> Option<u64> {
        let [by_8, by_16] = [8, 16].map(|block| channels.checked_next_multiple_of(block));
        if by_8 == by_16 || self.is_eight {
            return by_8;
        }
        self.convolved.get(tensor).copied().filter(|&wanted| Some(wanted) == by_8 || Some(wanted) == by_16)
    }
}

/// Is this one of them?
pub(super) fn knows(domain: &str, op_type: &str) -> bool {
    const KNOWN: &str =
        "AveragePool Conv GlobalAveragePool GlobalMaxPool MaxPool ReorderInput ReorderOutput Upsample";
    domain == DOMAIN && is_among(op_type, KNOWN)
}

/// The facts of the outputs of an operator that is [known](knows).
pub(super) fn infer(call: &Call<'_, '_>, blocks: &Blocks<'_>) -> Option<Vec<Fact>> {
    let order = Channels::of(call);
    match call.node.op_type {
        "Conv" => window::convolution(call),
        "AveragePool" | "MaxPool" => window::pool(call),
        "GlobalAveragePool" | "GlobalMaxPool" => window::global_pool(call),
        "ReorderInput" => {
            let mut shape = order.first(call.shape(0)?)?;
            let channels = shape.get_mut(1)?;
            *channels = blocks.filled(*channels, call.node.outputs.first()?)?;
            one(call.data_type(0), shape)
        }
        "ReorderOutput" => {
            let mut shape = call.shape(0)?.to_vec();
            *shape.get_mut(1)? = u64::try_from(call.int_attribute("channels")?).ok()?;
            one(call.data_type(0), order.as_given(shape)?)
        }
        "Upsample" => {
            let (shape, scales) = (call.shape(0)?, call.ints_attribute("scales")?);
            let scaled = |(&size, &scale): (&u64, &i64)| size.checked_mul(u64::try_from(scale).ok()?);
            let scaled: Option<Vec<u64>> = shape.iter().zip(scales).map(scaled).collect();
            one(call.data_type(0), scaled.filter(|all| all.len() == shape.len())?)
        }
        _ => None,
    }
}
