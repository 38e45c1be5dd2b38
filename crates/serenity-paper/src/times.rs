//! What a clock says: the paper's figure 13 and its table 2.

use crate::Options;
use crate::cells::{CELLS, Cell, FITTED};
use crate::effort::{TimedSearch, timed};
use crate::page::{Part, Section};
use crate::rewriting::rewritten;
use crate::semantics::build;
use crate::statistics::Spread;
use serenity::Error;
use serenity::schedule::Algorithm;
use serenity_report::{Axis, Bar, BarChart, BarSeries, Colour, Table, significant};
use std::time::Duration;

/// Random networks whose times are taken.
const MOST_SEEDS: u64 = 20;

/// The two algorithms of which the time per cell is shown.
const SHOWN: [Algorithm; 2] = [Algorithm::DpDivideBudget, Algorithm::Exact];

/// A cell: milliseconds by rewriting (no, yes) and algorithm.
struct Row {
    cell: &'static Cell,
    milliseconds: [[f64; 2]; 2],
}

/// The section of what was measured. Searches run one after the other, so that they do not disturb each other.
pub(crate) fn section(options: &Options, efforts: &[TimedSearch]) -> Result<Section, Error> {
    let options = &Options { seeds: options.seeds.min(MOST_SEEDS), ..*options };
    let rows: Vec<Row> = CELLS.iter().map(|cell| measure(cell, options)).collect::<Result<_, _>>()?;
    Ok(Section {
        title: "Time to schedule (figure 13 and table 2)",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "Median time of a few searches. The paper's times are for its own networks, on another machine and in another language: they stand \
                 here for reference, not as a race. In its text are the averages, 40.6 s without and 48.8 s with rewriting, and the sums for SwiftNet, 37.9 s and 111.9 s; the times of \
                 single cells (†) are its figure 13 as remembered, and agree with these.",
            ),
            Part::Table("times-cells", by_cell(&rows, options)),
            Part::Figure("times-cells", "Time to schedule every cell", chart(&rows)),
            Part::text(
                "The whole of SwiftNet (reconstruction, cell A in the wiring `fitted`) by each of the paper's algorithms, and by our exact engine:",
            ),
            Part::Table("times-algorithms", by_algorithm(efforts)),
        ],
    })
}

fn measure(cell: &'static Cell, options: &Options) -> Result<Row, Error> {
    let mut drawn: [[Vec<f64>; 2]; 2] = Default::default();
    for spec in cell.specs(options) {
        let graph = build(&spec)?;
        for (is_rewritten, graph) in [&graph, &rewritten(&graph)?].into_iter().enumerate() {
            for (which, algorithm) in SHOWN.into_iter().enumerate() {
                drawn[is_rewritten][which].push(milliseconds(timed(graph, algorithm)?.1));
            }
        }
    }
    Ok(Row {
        cell,
        milliseconds: drawn.map(|by_algorithm| by_algorithm.map(|times| Spread::of(times).median)),
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn by_cell(rows: &[Row], options: &Options) -> Table {
    let mut table = Table::titled(
        "cell | network | #dp+dc+asb, ms | #exact, ms | #paper, s | #rewritten: dp+dc+asb, ms \
| #rewritten: exact, ms | #paper, s",
    );
    for row in rows {
        let by_rewriting = row.milliseconds.iter().zip(row.cell.published.seconds);
        let times = by_rewriting.flat_map(|(times, paper)| {
            times.map(|time| significant(time, 3)).into_iter().chain([format!("{paper:.1} †")])
        });
        let names = [row.cell.name.to_owned(), row.cell.origin.in_words(options)];
        table.push(names.into_iter().chain(times));
    }
    table
}

fn by_algorithm(efforts: &[TimedSearch]) -> Table {
    let mut table =
        Table::titled("rewriting | algorithm | network | operators and partitions | #time, ms | #paper");
    for effort in efforts {
        table.push([
            if effort.is_rewritten { "yes" } else { "no" },
            &effort.algorithm.to_string(),
            FITTED,
            &effort.operators(),
            &significant(milliseconds(effort.time), 3),
            effort.paper,
        ]);
    }
    table
}

fn chart(rows: &[Row]) -> String {
    let series = |name: &str, colour: Colour, rewritten: usize, algorithm: usize| {
        let bars = rows.iter().map(|row| {
            let time = row.milliseconds[rewritten][algorithm];
            let paper = (algorithm == 0).then_some(row.cell.published.seconds[rewritten] * 1e3);
            Bar { label: significant(time, 2), reference: paper, ..Bar::of(time) }
        });
        BarSeries::new(name, colour, bars.collect())
    };
    BarChart {
        title: "Time to schedule a cell".to_owned(),
        subtitle: "milliseconds, the scale is logarithmic; the paper reports 40,600 and 48,800 on average"
            .to_owned(),
        value_axis: Axis::logarithmic("ms"),
        groups: rows.iter().map(|row| row.cell.short.to_owned()).collect(),
        series: vec![
            series("dp+dc+asb, the paper's algorithm", Colour::Grey, 0, 0),
            series("exact engine", Colour::Blue, 0, 1),
            series("rewritten: dp+dc+asb", Colour::Orange, 1, 0),
            series("rewritten: exact engine", Colour::Green, 1, 1),
        ],
        reference: Some("the paper's algorithm in the paper †".to_owned()),
    }
    .to_svg()
}
