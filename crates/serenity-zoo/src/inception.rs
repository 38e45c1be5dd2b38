//! `GoogLeNet`, or Inception v1: Szegedy et al., "Going Deeper with Convolutions", CVPR 2015.
//!
//! Nine modules of four branches (1x1; 1x1 and 3x3; 1x1 and 5x5; pool and 1x1) that are concatenated. Local response
//! normalisation and the auxiliary classifiers are left out, as all later implementations do.

use crate::catalog::Network;
use crate::net::{Activation, Conv, Feature, Net, Pool, Window, dtype_option};
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::Graph;

/// The whole network.
pub(crate) const INCEPTION: Network = Network {
    name: "inception",
    summary: "GoogLeNet (Inception v1) for ImageNet",
    reference: "Szegedy et al., CVPR 2015, arXiv:1409.4842",
    reconstruction: false,
    options: &[
        NetworkOption::integer("resolution", "224", (32, 1024), "height and width of the image"),
        dtype_option("float32"),
    ],
    make,
};

/// Filters of one module, in the order and under the names of the paper's table.
struct Module {
    name: &'static str,
    conv1: u64,
    reduce3: u64,
    conv3: u64,
    reduce5: u64,
    conv5: u64,
    pool_proj: u64,
}

const fn module(name: &'static str, filters: [u64; 6]) -> Module {
    let [conv1, reduce3, conv3, reduce5, conv5, pool_proj] = filters;
    Module { name, conv1, reduce3, conv3, reduce5, conv5, pool_proj }
}

const STAGES: [&[Module]; 3] = [
    &[module("3a", [64, 96, 128, 16, 32, 32]), module("3b", [128, 128, 192, 32, 96, 64])],
    &[
        module("4a", [192, 96, 208, 16, 48, 64]),
        module("4b", [160, 112, 224, 24, 64, 64]),
        module("4c", [128, 128, 256, 24, 64, 64]),
        module("4d", [112, 144, 288, 32, 64, 64]),
        module("4e", [256, 160, 320, 32, 128, 128]),
    ],
    &[module("5a", [256, 160, 320, 32, 128, 128]), module("5b", [384, 192, 384, 48, 128, 128])],
];

const fn relu(size: u64) -> Conv {
    Conv::square(size).then(Activation::Relu)
}

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let resolution = options.integer("resolution");
    let halve = Window::square(3).stride(2);
    let image = net.input("input", [resolution, resolution, 3]);
    let x = net.conv("stem/conv1", image, 64, relu(7).stride(2));
    let x = net.pool("stem/pool1", x, Pool::Max, halve);
    let x = net.conv("stem/reduce2", x, 64, relu(1));
    let mut x = net.conv("stem/conv2", x, 192, relu(3));
    for (stage, modules) in STAGES.iter().enumerate() {
        x = net.pool(&format!("pool{}", stage + 2), x, Pool::Max, halve);
        for module in *modules {
            x = add_module(&mut net, module, x);
        }
    }
    let x = net.classifier(x, 1000);
    net.finish(x)
}

fn add_module(net: &mut Net, module: &Module, x: Feature) -> Feature {
    let at = |layer: &str| format!("{}/{layer}", module.name);
    let one = net.conv(&at("1x1"), x, module.conv1, relu(1));
    let three = net.conv(&at("3x3_reduce"), x, module.reduce3, relu(1));
    let three = net.conv(&at("3x3"), three, module.conv3, relu(3));
    let five = net.conv(&at("5x5_reduce"), x, module.reduce5, relu(1));
    let five = net.conv(&at("5x5"), five, module.conv5, relu(5));
    let pool = net.pool(&at("pool"), x, Pool::Max, Window::square(3));
    let pool = net.conv(&at("pool_proj"), pool, module.pool_proj, relu(1));
    net.concat(&at("concat"), &[one, three, five, pool])
}
