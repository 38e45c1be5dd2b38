//! The networks: the paper's table 1.

use crate::cells::seeds;
use crate::page::{Part, Section};
use crate::semantics::build;
use crate::statistics::Spread;
use crate::{Options, parallel};
use serenity::Error;
use serenity::zoo::{macs, weights};
use serenity_report::{Column, Table};

struct Network {
    name: &'static str,
    spec: &'static str,
    is_random: bool,
    origin: &'static str,
    macs: &'static str,
    weights: &'static str,
    accuracy: &'static str,
}

const NETWORKS: [Network; 4] = [
    Network {
        name: "DARTS, ImageNet",
        spec: "darts-imagenet",
        is_random: false,
        origin: "published",
        macs: "574.0",
        weights: "4.7",
        accuracy: "73.3 %",
    },
    Network {
        name: "SwiftNet, human presence",
        spec: "swiftnet?full=true&wiring=fitted",
        is_random: false,
        origin: "reconstruction; stem and head are guesses",
        macs: "57.4",
        weights: "0.2497",
        accuracy: "95.1 %",
    },
    Network {
        name: "RandWire, CIFAR-10",
        spec: "randwire-cifar10?k=4",
        is_random: true,
        origin: "reconstruction: channels fitted, median of the seeds",
        macs: "111.0",
        weights: "1.2",
        accuracy: "93.6 %",
    },
    Network {
        name: "RandWire, CIFAR-100",
        spec: "randwire-cifar100?k=4",
        is_random: true,
        origin: "reconstruction: channels fitted, median of the seeds",
        macs: "160.0",
        weights: "4.7",
        accuracy: "74.5 %",
    },
];

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let mut table = Table::new([
        Column::text("network"),
        Column::text("origin"),
        Column::number("operators"),
        Column::number("MAC, million"),
        Column::number("paper"),
        Column::number("weights, million"),
        Column::number("paper"),
        Column::number("top-1 in the paper"),
    ]);
    for network in &NETWORKS {
        let specs =
            if network.is_random { seeds(network.spec, options) } else { vec![network.spec.to_owned()] };
        let sizes = parallel::map(&specs, options.threads, |spec| {
            let graph = build(spec)?;
            Ok([graph.ops().len() as f64, macs(&graph) as f64 / 1e6, weights(&graph) as f64 / 1e6])
        })?;
        let median = |column: usize| Spread::of(sizes.iter().map(|size| size[column])).median;
        table.push([
            network.name,
            network.origin,
            &format!("{:.0}", median(0)),
            &format!("{:.1}", median(1)),
            network.macs,
            &format!("{:.2}", median(2)),
            network.weights,
            network.accuracy,
        ]);
    }
    Ok(Section {
        title: "The networks",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "What the cells are part of. Weights of the zoo are random, so there is no accuracy to measure.",
            ),
            Part::Table("networks", table),
        ],
    })
}
