//! A node of a random graph as ops.

use crate::net::{Activation, Conv, Feature, InputWeight, Net};
use crate::options::Options;

/// What counts as one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    /// The whole node.
    Node,
    /// The sum, the depthwise and the pointwise convolution.
    Split,
    /// As `Split`, with sums of two.
    Binary,
}

impl Granularity {
    pub(super) fn of(options: &Options) -> Self {
        match options.choice("ops") {
            "split" => Self::Split,
            "binary" => Self::Binary,
            _ => Self::Node,
        }
    }
}

/// Weighted sum, `ReLU`, separable convolution. The factor of a single input is left out: the convolution absorbs it.
pub(super) fn add(
    net: &mut Net,
    at: &str,
    reads: &[Feature],
    filters: u64,
    conv: Conv,
    granularity: Granularity,
) -> Feature {
    let relu_first = conv.after(Activation::Relu);
    match (granularity, reads) {
        (Granularity::Node, [only]) => net.separable(at, *only, filters, relu_first),
        (Granularity::Node, _) => net.separable_of_sum(at, reads, filters, relu_first),
        (Granularity::Split | Granularity::Binary, _) => {
            let summed =
                sum(net, &format!("{at}/sum"), reads, InputWeight::Learned, Activation::Relu, granularity);
            // The ReLU is fused into the sum, if there is one.
            let conv = if reads.len() > 1 { conv } else { relu_first };
            let x = net.depthwise(&format!("{at}/dw"), summed, conv.without_bias());
            net.conv(&format!("{at}/pw"), x, filters, Conv::square(1))
        }
    }
}

/// The sum of `terms`, each times `weight`, as one op or as a chain of additions; a single term is returned as it is.
pub(super) fn sum(
    net: &mut Net,
    at: &str,
    terms: &[Feature],
    weight: InputWeight,
    activation: Activation,
    granularity: Granularity,
) -> Feature {
    match terms {
        [only] => *only,
        [first, rest @ .., last] if granularity == Granularity::Binary => {
            let (mut total, mut factor) = (*first, weight);
            for (index, term) in rest.iter().enumerate() {
                let name = format!("{at}/add{index}");
                total = net.weighted_sum(&name, &[total, *term], &[factor, weight], Activation::None);
                factor = InputWeight::Fixed(1.0);
            }
            let name = format!("{at}/add{}", rest.len());
            net.weighted_sum(&name, &[total, *last], &[factor, weight], activation)
        }
        _ => net.weighted_sum(at, terms, &vec![weight; terms.len()], activation),
    }
}
