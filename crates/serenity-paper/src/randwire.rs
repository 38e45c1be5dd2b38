//! `RandWire`: how much the order gains depends on what counts as an operator.

use crate::cells::seeds;
use crate::page::{Headline, Part, Section, times_less};
use crate::rewriting::accumulating;
use crate::semantics::{Run, VIEWS, build};
use crate::statistics::{Spread, from_zero};
use crate::{Options, parallel};
use serenity::Error;
use serenity_report::{Axis, Colour, Column, Line, LineChart, Mark, Shape, Table};

/// What counts as an operator.
struct Granularity {
    in_words: &'static str,
    /// The zoo's option `ops`.
    ops: &'static str,
    /// Do sums add up in place, each term when it is there?
    accumulates: bool,
    colour: Colour,
}

const GRANULARITIES: [Granularity; 4] = [
    Granularity {
        in_words: "whole node one operator",
        ops: "node",
        accumulates: false,
        colour: Colour::Blue,
    },
    Granularity {
        in_words: "sum, depthwise, pointwise",
        ops: "split",
        accumulates: false,
        colour: Colour::Green,
    },
    Granularity {
        in_words: "the same, sums of two",
        ops: "binary",
        accumulates: false,
        colour: Colour::Orange,
    },
    Granularity {
        in_words: "the same, sums accumulate in place",
        ops: "split",
        accumulates: true,
        colour: Colour::Purple,
    },
];

/// Random networks whose sums accumulate: with so many writers of one buffer, proving an order takes seconds.
const MOST_ACCUMULATING: u64 = 20;

/// The published reductions of the five cells, least and largest.
const PUBLISHED: (f64, f64) = (1.25, 1.69);

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let mut table = Table::new([
        Column::text("a node as operators"),
        Column::text("network"),
        Column::number("operators, median"),
        Column::number("Kahn's over best order"),
        Column::number("5 %"),
        Column::number("95 %"),
        Column::number("paper, five cells"),
    ]);
    let mut lines = Vec::new();
    let mut headlines = Vec::new();
    for Granularity { in_words, ops, accumulates, colour } in GRANULARITIES {
        let most = if accumulates { MOST_ACCUMULATING } else { u64::MAX };
        let options = &Options { seeds: options.seeds.min(most), ..*options };
        let specs = seeds(&format!("randwire-cifar10?stage=1&dtype=float16&ops={ops}"), options);
        let drawn = parallel::map(&specs, options.threads, |spec| order_alone(spec, accumulates))?;
        let factor = Spread::of(drawn.iter().map(|d| d.0));
        let operators = Spread::of(drawn.iter().map(|d| d.1));
        table.push([
            in_words.to_owned(),
            format!("reconstruction, {} seeds", options.seeds),
            format!("{:.0}", operators.median),
            times_less(factor.median),
            times_less(factor.low),
            times_less(factor.high),
            format!("{} to {}", PUBLISHED.0, PUBLISHED.1),
        ]);
        if ops == "node" {
            headlines.push(Headline {
                what: "RandWire: order alone, median (5 to 95 % of the seeds)",
                here: format!(
                    "{} ({} to {})",
                    times_less(factor.median),
                    times_less(factor.low),
                    times_less(factor.high)
                ),
                paper: format!("{} to {}", PUBLISHED.0, PUBLISHED.1),
                network: "reconstruction: the seeds are not public",
            });
        }
        lines.push(Line {
            name: in_words.to_owned(),
            colour,
            points: shares(drawn.iter().map(|d| d.0)),
            shape: Shape::Steps,
        });
    }
    Ok(Section {
        title: "RandWire over seeds",
        headlines,
        parts: vec![
            Part::text(
                "The paper gives one value a cell, for seeds that are not known; one seed says little. Cell A for CIFAR-10 (WS, 32 nodes, K = 4, \
                 P = 0.75), Kahn's order over the best one, live sum on both sides:",
            ),
            Part::Table("randwire-granularity", table),
            Part::Figure("randwire-seeds", "Gain by the order over random wirings", chart(lines)),
        ],
    })
}

/// How much less the best order needs than Kahn's, and the number of operators.
fn order_alone(spec: &str, accumulates: bool) -> Result<(f64, f64), Error> {
    let graph = build(spec)?;
    let graph = if accumulates { accumulating(&graph)? } else { graph };
    let (kahn, best) = (Run::kahn(&graph, VIEWS)?, Run::best(&graph, VIEWS)?);
    Ok((kahn.live_sum() as f64 / best.live_sum() as f64, graph.ops().len() as f64))
}

/// The share of values up to each of them, in percent.
fn shares(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let all = values.len() as f64;
    let points = values.iter().enumerate().map(|(index, &value)| (value, 100.0 * (index + 1) as f64 / all));
    from_zero(points.collect())
}

fn chart(lines: Vec<Line>) -> String {
    LineChart {
        title: "RandWire: gain by the order alone over random wirings".to_owned(),
        subtitle:
            "share of the seeds up to a gain; the dashed lines are the paper's five cells, least and largest"
                .to_owned(),
        bottom_axis: Axis { from: Some(1.0), ..Axis::linear("times less memory than Kahn's order") },
        value_axis: Axis { to: Some(100.0), ..Axis::linear("% of the seeds") },
        lines,
        marks: [PUBLISHED.0, PUBLISHED.1].map(|gain| Mark::Upright(gain, gain.to_string())).to_vec(),
    }
    .to_svg()
}
