//! `MobileNet` v1: Howard et al., "`MobileNets`: Efficient Convolutional Neural Networks for Mobile Vision
//! Applications", 2017.
//!
//! A chain: there is only one order, so this is the network on which a scheduler must not claim a gain.

use crate::catalog::Network;
use crate::net::{Activation, Conv, Net, dtype_option};
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::Graph;

/// The whole network.
pub(crate) const MOBILENET: Network = Network {
    name: "mobilenet",
    summary: "MobileNet v1 for ImageNet, by default 0.25 wide at 128x128",
    reference: "Howard et al. 2017, arXiv:1704.04861",
    reconstruction: false,
    options: &[
        NetworkOption::integer("resolution", "128", (32, 1024), "height and width of the image"),
        NetworkOption::choice(
            "width",
            "0.25",
            &["0.25", "0.5", "0.75", "1.0"],
            "width multiplier of all layers",
        ),
        dtype_option("int8"),
    ],
    make,
};

/// Stride and filters, at full width, of each depthwise separable block.
const BLOCKS: [(u64, u64); 13] = [
    (1, 64),
    (2, 128),
    (1, 128),
    (2, 256),
    (1, 256),
    (2, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (1, 512),
    (2, 1024),
    (1, 1024),
];

fn make(options: &Options) -> Result<Graph, ZooError> {
    let quarters = match options.choice("width") {
        "0.5" => 2,
        "0.75" => 3,
        "1.0" => 4,
        _ => 1,
    };
    let scaled = |filters: u64| filters * quarters / 4;
    let relu6 = |size: u64, stride: u64| Conv::square(size).stride(stride).then(Activation::Relu6);
    let resolution = options.integer("resolution");
    let mut net = Net::with_dtype_option(options);
    let image = net.input("input", [resolution, resolution, 3]);
    let mut x = net.conv("stem", image, scaled(32), relu6(3, 2));
    for (index, (stride, filters)) in BLOCKS.into_iter().enumerate() {
        x = net.depthwise(&format!("block{index}/dw"), x, relu6(3, stride));
        x = net.conv(&format!("block{index}/pw"), x, scaled(filters), relu6(1, 1));
    }
    let x = net.classifier(x, 1000);
    net.finish(x)
}
