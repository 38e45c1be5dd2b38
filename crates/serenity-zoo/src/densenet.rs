//! `DenseNet-BC`: Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks", CVPR 2017.
//!
//! In a dense block every layer (1x1 to four times the growth, then 3x3 to the growth) reads the concatenation of all
//! earlier ones. Between blocks, a 1x1 convolution and a pool halve channels and size. The default is `DenseNet-121`.
//!
//! The normalisation comes before the convolution and after a concatenation that others normalise differently, so it
//! cannot be folded: it is a 1x1 depthwise convolution, which is the same scale and shift, with the `ReLU` fused.

use crate::catalog::Network;
use crate::net::{Activation, Conv, Feature, Net, Pool, Window, dtype_option};
use crate::options::{Options, Values};
use crate::{NetworkOption, ZooError};
use serenity_ir::Graph;

/// The whole network.
pub(crate) const DENSENET: Network = Network {
    name: "densenet",
    summary: "DenseNet-BC, by default DenseNet-121 for ImageNet",
    reference: "Huang et al., CVPR 2017, arXiv:1608.06993",
    reconstruction: false,
    options: &[
        NetworkOption::integer("growth", "32", (1, 256), "channels that each layer adds"),
        NetworkOption::new(
            "blocks",
            "6-12-24-16",
            Values::Integers { count: 6, min: 1, max: 64 },
            "layers of each dense block",
        ),
        NetworkOption::integer("resolution", "224", (32, 1024), "height and width of the image"),
        dtype_option("float32"),
    ],
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let (growth, resolution) = (options.integer("growth"), options.integer("resolution"));
    let image = net.input("input", [resolution, resolution, 3]);
    let x = net.conv("stem/conv", image, 2 * growth, Conv::square(7).stride(2).then(Activation::Relu));
    let mut x = net.pool("stem/pool", x, Pool::Max, Window::square(3).stride(2));
    for (block, &layers) in options.integers("blocks").iter().enumerate() {
        if block > 0 {
            x = transition(&mut net, &format!("transition{block}"), x);
        }
        for layer in 0..layers {
            let at = format!("block{block}/layer{layer}");
            let new = dense_layer(&mut net, &at, x, growth);
            x = net.concat(&format!("{at}/concat"), &[x, new]);
        }
    }
    let x = normalise(&mut net, "head/norm", x);
    let x = net.classifier(x, 1000);
    net.finish(x)
}

fn normalise(net: &mut Net, name: &str, x: Feature) -> Feature {
    net.depthwise(name, x, Conv::square(1).then(Activation::Relu))
}

fn dense_layer(net: &mut Net, at: &str, x: Feature, growth: u64) -> Feature {
    let x = normalise(net, &format!("{at}/norm"), x);
    let x = net.conv(&format!("{at}/1x1"), x, 4 * growth, Conv::square(1).then(Activation::Relu));
    net.conv(&format!("{at}/3x3"), x, growth, Conv::square(3).without_bias())
}

fn transition(net: &mut Net, at: &str, x: Feature) -> Feature {
    let filters = x.channels / 2;
    let x = normalise(net, &format!("{at}/norm"), x);
    let x = net.conv(&format!("{at}/conv"), x, filters, Conv::square(1).without_bias());
    net.pool(&format!("{at}/pool"), x, Pool::Average, Window::square(2).stride(2))
}
