//! Networks as models: basic ops, weights, and, if asked for, 8-bit integers.
//!
//! The graphs of the zoo are what the papers count and schedule; a model is what a runtime executes. Where the two
//! differ, one op of the graph becomes several, named after it, with tensors between them that the graph does not have.
//! So the peak memory of a model may differ from that of its graph:
//!
//! | op of the graph | ops of the model |
//! |---|---|
//! | a convolution with `input_activation` | `RELU` (`NAME.relu`), then the convolution |
//! | `SEPARABLE_CONV_2D` | the sum of its inputs if it has several (`NAME.sum`), else `RELU`, then `DEPTHWISE_CONV_2D` (`NAME.dw`) and `CONV_2D` |
//! | `ADD_N` | a chain of `ADD` (`NAME.add1`, …) |
//! | an input with a factor | `MUL` by a constant (`NAME.x0`, …); equal factors, as of an average, are one `MUL` after the sum (`NAME.sum`) |
//! | an input that costs 0 bytes | an input of the size of its shape |
//!
//! Everything else is one op for one op. Weights are random, but always the same for one name.

mod basic;
mod draft;
mod kernels;
mod normalise;
mod quantize;
mod run;

use crate::{ZooError, macs, weights};
use serenity_ir::{ElementType, Graph, Model};

/// The type of a model's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 32-bit floats everywhere.
    #[default]
    Float32,
    /// 8-bit integers for activations and weights, quantised from the same weights.
    Int8,
}

// The largest network that is given weights: what a file of 2 GiB can hold, and what one run can take.
const MOST_WEIGHTS: u64 = 400_000_000;
const MOST_MACS: u64 = 50_000_000_000;
const MOST_ACTIVATIONS: u64 = 500_000_000;

/// The network that `spec` names as a model that runtimes execute: basic ops, with weights. The spelling of a spec is that of
/// [`build`](crate::build); the element type that it asks for is that of the graph, and does not matter here.
///
/// # Errors
/// As for [`build`](crate::build), and if the network is a random graph, whose ops compute nothing in particular, or too large.
pub fn build_model(spec: &str, precision: Precision) -> Result<Model, ZooError> {
    let graph = crate::build(spec)?;
    for (what, amount, limit) in [
        ("weights", weights(&graph), MOST_WEIGHTS),
        ("multiply-accumulates", macs(&graph), MOST_MACS),
        ("activations", activations(&graph), MOST_ACTIVATIONS),
    ] {
        if amount > limit {
            return Err(ZooError::TooLarge { network: graph.name().to_owned(), what, amount, limit });
        }
    }
    let mut draft = basic::lower(&graph)?;
    let ranges = normalise::normalise(&mut draft);
    match precision {
        Precision::Int8 => {
            // The weights know the data of the first run; other data may range further.
            let again = run::run(&mut draft, 1, |layer| vec![1.0; layer.products.channels]);
            let ranges: Vec<run::Range> = ranges.into_iter().zip(again).map(|(a, b)| a.union(b)).collect();
            quantize::quantize(draft, &ranges)
        }
        Precision::Float32 => {
            let constants = std::mem::take(&mut draft.constants);
            let constants = constants.into_iter().map(draft::DraftConstant::into_constant).collect();
            draft.into_model(&ElementType::Float32, constants, Vec::new())
        }
    }
}

/// Elements of all tensors.
fn activations(graph: &Graph) -> u64 {
    let elements = |shape: &Vec<u64>| shape.iter().copied().fold(1, u64::saturating_mul);
    graph.tensors().iter().filter_map(|t| t.shape.as_ref()).map(elements).fold(0, u64::saturating_add)
}
