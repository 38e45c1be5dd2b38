//! The networks: the paper's table 1.

use crate::cells::seeds;
use crate::page::{Part, Section};
use crate::semantics::build;
use crate::statistics::Spread;
use crate::{Options, parallel};
use serenity::Error;
use serenity::zoo::{macs, weights};
use serenity_report::Table;

/// Name, network of the zoo and where it comes from; the paper's MACs and weights in millions, and its accuracy.
const NETWORKS: [([&str; 3], [&str; 3]); 4] = [
    (["DARTS, ImageNet", "darts-imagenet", "published"], ["574.0", "4.7", "73.3 %"]),
    (
        [
            "SwiftNet, human presence",
            "swiftnet?full=true&wiring=fitted",
            "reconstruction; stem and head are guesses",
        ],
        ["57.4", "0.2497", "95.1 %"],
    ),
    (["RandWire, CIFAR-10", "randwire-cifar10?k=4", RANDOM], ["111.0", "1.2", "93.6 %"]),
    (["RandWire, CIFAR-100", "randwire-cifar100?k=4", RANDOM], ["160.0", "4.7", "74.5 %"]),
];

const RANDOM: &str = "reconstruction: channels fitted, median of the seeds";

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let mut table = Table::titled(
        "network | origin | #operators | #MAC, million | #paper | #weights, million | #paper \
| #top-1 in the paper",
    );
    for ([name, spec, origin], [paper_macs, paper_weights, accuracy]) in NETWORKS {
        let specs = if origin == RANDOM { seeds(spec, options) } else { vec![spec.to_owned()] };
        let sizes = parallel::map(&specs, options.threads, |spec| {
            let graph = build(spec)?;
            Ok([graph.ops().len() as f64, macs(&graph) as f64 / 1e6, weights(&graph) as f64 / 1e6])
        })?;
        let median = |column: usize| Spread::of(sizes.iter().map(|size| size[column])).median;
        table.push([
            name,
            origin,
            &format!("{:.0}", median(0)),
            &format!("{:.1}", median(1)),
            paper_macs,
            &format!("{:.2}", median(2)),
            paper_weights,
            accuracy,
        ]);
    }
    Ok(Section {
        title: "The networks (table 1)",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "What the cells are part of; SwiftNet has cell A in the wiring `fitted`. MACs are those of convolutions and dense layers. DARTS has 529.9 M where 574.0 M are published: its weights \
                 agree, so the network does, and what else was counted is not said; all its batch norms, activations, additions and pools together would add about 15 M. SwiftNet's stem and head are guesses. Accuracy is the one thing of the paper that is not computed here: figure 2, figure 14 \
                 (appendix A) and the last column of table 1 need trained weights, and those of the zoo are random; scheduling does not change it.",
            ),
            Part::Table("networks", table),
        ],
    })
}
