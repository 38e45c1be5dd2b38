//! The operations that a cell chooses from.
//!
//! All convolutions are pre-activation: `ReLU`, convolution, batch normalisation (folded). The `ReLU` reads a state
//! that others read too, so it cannot be fused into the op before it.

use crate::net::{Activation, Conv, Feature, Net, Pool, Window};

/// What an edge of a cell does to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Nothing; with stride 2, a factorised reduction.
    Skip,
    /// A 3x3 max pool.
    MaxPool,
    /// A 3x3 average pool.
    AveragePool,
    /// Two depthwise separable convolutions in a row; the first has the stride.
    Separable(u64),
    /// One depthwise separable convolution with dilation 2.
    Dilated(u64),
    /// A 1x7 and a 7x1 convolution.
    Split7x7,
}

/// What counts as one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    /// `ReLU`, depthwise and pointwise convolution together, as the paper counts.
    Node,
    /// What a runtime executes.
    Split,
}

impl Operation {
    /// A short name for op names.
    pub(super) fn label(self) -> String {
        match self {
            Self::Skip => "skip".to_owned(),
            Self::MaxPool => "max3x3".to_owned(),
            Self::AveragePool => "avg3x3".to_owned(),
            Self::Separable(size) => format!("sep{size}x{size}"),
            Self::Dilated(size) => format!("dil{size}x{size}"),
            Self::Split7x7 => "conv1x7_7x1".to_owned(),
        }
    }

    /// Adds the operation to `net`; its ops are named under `at`.
    pub(super) fn apply(
        self,
        net: &mut Net,
        at: &str,
        x: Feature,
        stride: u64,
        granularity: Granularity,
    ) -> Feature {
        let filters = x.channels;
        let pool = Window::square(3).stride(stride);
        match self {
            Self::Skip if stride == 1 => x,
            Self::Skip => factorized_reduction(net, at, x, filters),
            Self::MaxPool => net.pool(at, x, Pool::Max, pool),
            Self::AveragePool => net.pool(at, x, Pool::Average, pool),
            Self::Separable(size) => {
                let conv = Conv::square(size);
                let x = separable(net, &format!("{at}/first"), x, conv.stride(stride), granularity);
                separable(net, &format!("{at}/second"), x, conv, granularity)
            }
            Self::Dilated(size) => {
                separable(net, at, x, Conv::square(size).stride(stride).dilation(2), granularity)
            }
            Self::Split7x7 => {
                let x = net.relu(&format!("{at}/relu"), x);
                let row = Window { stride: [1, stride], ..Window::of([1, 7]) };
                let column = Window { stride: [stride, 1], ..Window::of([7, 1]) };
                let x = net.conv(&format!("{at}/1x7"), x, filters, Conv::with(row).without_bias());
                net.conv(&format!("{at}/7x1"), x, filters, Conv::with(column))
            }
        }
    }
}

/// `ReLU`, depthwise, pointwise, batch normalisation.
fn separable(net: &mut Net, at: &str, x: Feature, conv: Conv, granularity: Granularity) -> Feature {
    let filters = x.channels;
    match granularity {
        Granularity::Node => net.separable(at, x, filters, conv.after(Activation::Relu)),
        Granularity::Split => {
            let x = net.relu(&format!("{at}/relu"), x);
            let x = net.depthwise(&format!("{at}/dw"), x, conv.without_bias());
            net.conv(&format!("{at}/pw"), x, filters, Conv::square(1))
        }
    }
}

/// `ReLU`, 1x1 convolution, batch normalisation.
pub(super) fn relu_conv(
    net: &mut Net,
    at: &str,
    x: Feature,
    filters: u64,
    granularity: Granularity,
) -> Feature {
    match granularity {
        Granularity::Node => net.conv(at, x, filters, Conv::square(1).after(Activation::Relu)),
        Granularity::Split => {
            let x = net.relu(&format!("{at}/relu"), x);
            net.conv(&format!("{at}/conv"), x, filters, Conv::square(1))
        }
    }
}

/// Halves height and width without losing every other pixel: two strided 1x1 convolutions, the second one shifted by
/// a row and a column, each with half of the filters. An odd size is padded first, so that both halves have the same
/// size.
pub(super) fn factorized_reduction(net: &mut Net, at: &str, x: Feature, filters: u64) -> Feature {
    let half = Conv::square(1).stride(2);
    let x = net.relu(&format!("{at}/relu"), x);
    let even = net.conv(&format!("{at}/even"), x, filters / 2, half);
    let padded = match (x.height % 2, x.width % 2) {
        (0, 0) => x,
        (below, right) => net.pad(&format!("{at}/pad"), x, below, right),
    };
    let shifted = net.without_first_row_and_column(&format!("{at}/shift"), padded);
    let odd = net.conv(&format!("{at}/odd"), shifted, filters - filters / 2, half);
    net.concat(&format!("{at}/concat"), &[even, odd])
}
