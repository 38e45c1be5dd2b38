//! `RandWire`: how much the order gains depends on what counts as an operator.

use crate::cells::{CELLS, Origin, Published, seeds};
use crate::page::{Headline, Part, Section, kb, times_less};
use crate::rewriting::accumulating;
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use crate::statistics::{Spread, from_zero};
use crate::{Options, parallel};
use serenity::Error;
use serenity_report::{Axis, Colour, Line, LineChart, Mark, Shape, Table};

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
    let mut table = Table::titled(
        "a node as operators | network | #operators, median | #Kahn's over best order | #5 % \
| #95 % | #paper, five cells",
    );
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
            format!("{} to {} †", PUBLISHED.0, PUBLISHED.1),
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
                paper: format!("{} to {} †", PUBLISHED.0, PUBLISHED.1),
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
    let neighbours = by_neighbours(options)?;
    Ok(Section {
        title: "RandWire over seeds",
        headlines,
        parts: vec![
            Part::text(
                "The paper gives one value per cell and no seed; one seed says little. Its text names neither the random graph nor its parameters: Watts-Strogatz graphs (WS) of \
                 32 nodes with K = 4 and P = 0.75 are what the RandWire paper (Xie et al., 2019) uses. Cell A for CIFAR-10 with these, Kahn's order over the best one, live sum on both sides:",
            ),
            Part::Table("randwire-granularity", table),
            Part::Figure("randwire-seeds", "Gain by the order over random wirings", chart(lines)),
            Part::text(
                "With 78 channels, those of the RandWire paper's small networks, all five scheduled peaks lie on a grid of half tensors (u is a tensor of 2 bytes per element: 39.9 KB in a first stage). \
                 With K = 4, the choice of the RandWire paper, most wirings need more than any of them; with K = 2 their level comes out. The text of this paper has no K, so which one was measured is not known. \
                 Medians over the seeds, and the range of 90 % of them; as the paper counts, with the old arena on both sides. The factor is the median of the seeds' factors.",
            ),
            Part::Table("randwire-neighbours", neighbours),
        ],
    })
}

/// The channels with which the published peaks are multiples of half a tensor.
const CHANNELS: u64 = 78;

fn by_neighbours(options: &Options) -> Result<Table, Error> {
    let mut table = Table::titled(
        "cell | network | #K | #TensorFlow Lite, KB | #paper | #scheduled, KB | #in u \
| #paper, KB | #in u | #times less | #paper",
    );
    for cell in CELLS.iter().filter(|cell| cell.origin == Origin::UnknownSeed) {
        let Published { tflite, scheduled, .. } = cell.published;
        // Each stage has half the elements of the one before it: A, B, C.
        let stage = cell.name.bytes().last().unwrap_or(b'A') - b'A';
        let unit = (16 * 16 * CHANNELS * 2) >> stage;
        for k in [4, 2] {
            let drawn = parallel::map(&cell.specs(options), options.threads, |spec| {
                let graph = build(&format!("{spec}&channels={CHANNELS}&k={k}"))?;
                let kahn = Run::kahn(&graph, COPIES)?.old_arena(Inputs::Kept)? as f64;
                Ok([kahn, Run::best(&graph, VIEWS)?.old_arena(Inputs::Freed)? as f64])
            })?;
            let range = |of: &dyn Fn(&[f64; 2]) -> f64, shown: &dyn Fn(f64) -> String| {
                let Spread { low, median, high } = Spread::of(drawn.iter().map(of));
                format!("{} ({} to {})", shown(median), shown(low), shown(high))
            };
            table.push([
                cell.name.to_owned(),
                format!("reconstruction, {} seeds", options.seeds),
                k.to_string(),
                range(&|drawn| drawn[0] / 1000.0, &kb),
                format!("{tflite:.0} †"),
                range(&|drawn| drawn[1] / 1000.0, &kb),
                range(&|drawn| drawn[1] / unit as f64, &units),
                format!("{scheduled:.0} †"),
                units(scheduled * 1000.0 / unit as f64),
                range(&|drawn| drawn[0] / drawn[1], &times_less),
                format!("{} †", times_less(tflite / scheduled)),
            ]);
        }
    }
    Ok(table)
}

/// To half a tensor.
fn units(tensors: f64) -> String {
    let halves = (2.0 * tensors).round() / 2.0;
    format!("{halves}")
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
