//! The gains that the paper's factor mixes, each by itself.

use crate::Options;
use crate::cells::{COMPUTED, Published};
use crate::footprints::{Footprint, Footprints};
use crate::page::{Headline, Part, Section, kb, times_less};
use crate::statistics::geometric_mean;
use serenity_report::{Axis, Bar, BarChart, BarSeries, Colour, Column, Table};

/// A change of one thing, all else being equal.
struct Gain {
    name: &'static str,
    /// Before and after, in bytes.
    of: fn(&Footprint) -> (u64, u64),
}

/// Each with the same semantics on both sides.
const GAINS: [Gain; 7] = [
    Gain { name: "order, with views", of: |f| (f.kahn_views.live, f.best_views.live) },
    Gain { name: "order, with copies", of: |f| (f.kahn_copies.live, f.best_copies.live) },
    Gain { name: "concat elision, Kahn's order", of: |f| (f.kahn_copies.live, f.kahn_views.live) },
    Gain { name: "concat elision, best orders", of: |f| (f.best_copies.live, f.best_views.live) },
    Gain { name: "allocator, Kahn's order", of: |f| (f.kahn_copies.old_arena, f.kahn_copies.least_arena) },
    Gain { name: "allocator, best order", of: |f| (f.best_views.old_arena, f.best_views.least_arena) },
    Gain { name: "inputs freed", of: |f| (f.tflite, f.kahn_copies.old_arena) },
];

const INPUTS_FREED: usize = 6;

/// What the paper calls the reduction by its scheduler.
const MIX: Gain = Gain { name: "the paper's mix", of: |f| (f.tflite, f.best_views.old_arena) };

type Bytes = fn(&Footprint) -> u64;

/// The way from TensorFlow Lite's side to ours, one step after the other, in the arena.
const STEPS: [(&str, Bytes); 6] = [
    ("TensorFlow Lite's side", |f| f.tflite),
    ("inputs freed", |f| f.kahn_copies.old_arena),
    ("concat as view", |f| f.kahn_views.old_arena),
    ("best order", |f| f.best_views.old_arena),
    ("least arena", |f| f.best_views.least_arena),
    ("rewritten", |f| f.rewritten.least_arena),
];

pub(crate) fn section(cells: &[Footprints], options: &Options) -> Section {
    let mean = |gain: &Gain| times_less(geometric_mean(cells.iter().map(|cell| cell.factor(gain.of).median)));
    Section {
        title: "The gains apart",
        headlines: vec![
            Headline {
                what: "of that, the order alone (same semantics on both sides: views, live sum), geometric mean",
                here: mean(&GAINS[0]),
                paper: "not given".to_owned(),
                network: "all nine cells, 8 reconstructions",
            },
            Headline {
                what: "of that, inputs freed after their last reader, which TensorFlow Lite's side keeps",
                here: mean(&GAINS[INPUTS_FREED]),
                paper: "not given".to_owned(),
                network: "all nine cells, 8 reconstructions",
            },
        ],
        parts: vec![
            Part::text(
                "The paper's factor mixes the order, the concatenations that need no copy, inputs that are freed early, and what the allocator makes of all. Here each is \
                 changed alone, with the same semantics on both sides; times less memory. Order and elision are measured on the live sum, the \
                 allocator by the old arena against the least one. RandWire has no concatenation.",
            ),
            Part::Table("gains", factors(cells, options)),
            Part::Figure("gains", "The gains apart, and the paper's mix", bars(cells)),
            Part::text(
                "One step after the other, in KB of arena: the first four columns are the paper's mix (1st over 4th), the fifth is what an exact \
                 allocator adds, the sixth what rewriting adds. The paper's peaks have the old arena.",
            ),
            Part::Table("gains-by-step", steps(cells, options)),
        ],
    }
}

fn factors(cells: &[Footprints], options: &Options) -> Table {
    let gains = || GAINS.iter().chain([&MIX]);
    let numbers = gains().map(|gain| Column::number(gain.name));
    let mut table = Table::new(
        [Column::text("cell"), Column::text("network")]
            .into_iter()
            .chain(numbers)
            .chain([Column::number("paper")]),
    );
    for cell in cells {
        let mut row = vec![cell.cell.name.to_owned(), cell.cell.origin.in_words(options)];
        row.extend(gains().map(|gain| times_less(cell.factor(gain.of).median)));
        row.push(cell.cell.marked(published(cell), 2));
        table.push(row);
    }
    let mean = |of: &dyn Fn(&Footprints) -> f64| times_less(geometric_mean(cells.iter().map(of)));
    let mut row = vec!["geometric mean".to_owned(), COMPUTED.to_owned()];
    row.extend(gains().map(|gain| mean(&|cell| cell.factor(gain.of).median)));
    row.push(mean(&published));
    table.push(row);
    table
}

fn published(cell: &Footprints) -> f64 {
    cell.cell.published.tflite / cell.cell.published.scheduled
}

fn steps(cells: &[Footprints], options: &Options) -> Table {
    let numbers = STEPS.iter().map(|(name, _)| Column::number(*name));
    let paper =
        ["TensorFlow Lite", "scheduled", "rewritten"].map(|side| Column::number(format!("paper: {side}")));
    let mut table =
        Table::new([Column::text("cell"), Column::text("network")].into_iter().chain(numbers).chain(paper));
    for cell in cells {
        let values = STEPS.iter().map(|(_, of)| kb(cell.kb(of)));
        let Published { tflite, scheduled, rewritten, .. } = cell.cell.published;
        let paper = [tflite, scheduled, rewritten].map(|kb| cell.cell.marked(kb, 0));
        let names = [cell.cell.name.to_owned(), cell.cell.origin.in_words(options)];
        table.push(names.into_iter().chain(values).chain(paper));
    }
    table
}

fn bars(cells: &[Footprints]) -> String {
    let shown = [
        (&MIX, "the paper's mix", Colour::Grey),
        (&GAINS[0], "order alone", Colour::Blue),
        (&GAINS[2], "concat elision alone", Colour::Orange),
        (&GAINS[4], "allocator alone", Colour::Purple),
    ];
    let series = shown.map(|(gain, name, colour)| {
        let bars = cells.iter().map(|cell| {
            let spread = cell.factor(gain.of);
            Bar {
                spread: cell.is_drawn().then_some((spread.low, spread.high)),
                label: times_less(spread.median),
                ..Bar::of(spread.median)
            }
        });
        BarSeries::new(name, colour, bars.collect())
    });
    BarChart {
        title: "What the paper's factor is made of".to_owned(),
        subtitle: "times less memory; each gain alone, with the same semantics on both sides; RandWire: medians over seeds".to_owned(),
        value_axis: Axis::linear("times less"),
        groups: cells.iter().map(|cell| cell.cell.short.to_owned()).collect(),
        series: series.to_vec(),
        reference: None,
    }
    .to_svg()
}
