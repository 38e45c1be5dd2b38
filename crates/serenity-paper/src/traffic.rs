//! Off-chip traffic over on-chip sizes: the paper's figure 11.

use crate::cells::{CELLS, COMPUTED, Cell};
use crate::page::{Headline, Part, Section, kb, times_less};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Run, VIEWS, build};
use crate::statistics::{Spread, geometric_mean};
use crate::{Options, parallel};
use serenity::Error;
use serenity::memories;
use serenity_report::{Axis, Bar, BarChart, BarSeries, Colour, Column, Line, LineChart, Shape, Table};
use serenity_traffic::{Demand, Grain};

/// On-chip memory in KiB.
const SIZES: [u64; 6] = [32, 64, 128, 256, 512, 1024];

/// The size for which the paper gives a figure.
const HEADLINE: usize = 3;
const PUBLISHED: &str = "1.76";

/// The ways to run a network.
const SIDES: usize = 4;
const TFLITE: usize = 0;
const KAHN_VIEWS: usize = 1;
const SCHEDULED: usize = 2;
const REWRITTEN: usize = 3;

/// Bytes by side and by size.
type Moved = [[u64; SIZES.len()]; SIDES];

struct Row {
    cell: &'static Cell,
    networks: Vec<Moved>,
}

impl Row {
    fn kb(&self, side: usize, size: usize) -> f64 {
        Spread::of(self.networks.iter().map(|moved| moved[side][size] as f64 / 1000.0)).median
    }

    /// How much less `after` moves than `before`: infinite where nothing is left, none where there was nothing to begin with.
    fn factor(&self, before: usize, after: usize, size: usize) -> Option<f64> {
        let networks = self.networks.iter().filter(|moved| moved[before][size] > 0);
        let factors: Vec<f64> =
            networks.map(|moved| moved[before][size] as f64 / moved[after][size] as f64).collect();
        // Where most networks fit anyway, the rest says nothing about the cell.
        (2 * factors.len() > self.networks.len()).then(|| Spread::of(factors).median)
    }
}

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let measure = |cell: &'static Cell| -> Result<Row, Error> {
        let networks = parallel::map(&cell.specs(options), options.threads, |spec| moved(spec))?;
        Ok(Row { cell, networks })
    };
    let rows: Vec<Row> = CELLS.iter().map(measure).collect::<Result<_, _>>()?;
    let headline = |what, side: usize, paper: &str| {
        let (mean, cells) = mean(&rows, TFLITE, side, HEADLINE);
        let together = times_less(together(&rows, side));
        Headline {
            what,
            here: format!("{together} all cells together, {} mean of {cells}", times_less(mean)),
            paper: paper.to_owned(),
            network: "nine cells, 8 reconstructions",
        }
    };
    Ok(Section {
        title: "Off-chip traffic (figure 11)",
        headlines: vec![
            headline(
                "less off-chip traffic with 256 KiB on chip, with rewriting, as the abstract pairs it",
                REWRITTEN,
                PUBLISHED,
            ),
            headline("the same by scheduling alone", SCHEDULED, "not given"),
        ],
        parts: vec![
            Part::text(
                "Bytes of activations moved between on-chip and off-chip memory by Belady's rule, in pages of 1 KiB. The first load of an input and the \
                 last store of an output are not counted: no order avoids them. `fits` says that TensorFlow Lite's side moves nothing to begin with, \
                 `eliminated` that ours moves nothing any more; the geometric mean is over the other cells. How the paper took its mean is not known. \
                 The scheduled order has the least peak, which need not be the least traffic: on a small chip rewriting can move more. The third \
                 column changes the order alone, with views on both sides. `serenity traffic zoo:NAME --grain page --objective peak --before tflite --rewrite paper` counts one network the \
                 same way.",
            ),
            Part::text("With 256 KiB on chip:"),
            Part::Table("traffic-256-kib", at_headline(&rows, options)),
            Part::Figure(
                "traffic-256-kib",
                "Off-chip traffic of every cell with 256 KiB on chip",
                bars(&rows),
            ),
            Part::text(
                "Over on-chip sizes, as the paper draws it: for every cell and size, how many times less than TensorFlow Lite. A cell that fits \
                 anyway has no bar, nor has one whose traffic is gone.",
            ),
            Part::Figure(
                "traffic-by-size",
                "Reduction of off-chip traffic by cell and on-chip size",
                by_size(&rows),
            ),
            Part::text("Scheduled, times less than TensorFlow Lite:"),
            Part::Table("traffic-reduction", reductions(&rows, SCHEDULED, options)),
            Part::text("The same with rewriting, which is what the figure shows:"),
            Part::Table("traffic-reduction-rewritten", reductions(&rows, REWRITTEN, options)),
            Part::Figure("traffic-sweep", "Off-chip traffic of all cells over on-chip sizes", sweep(&rows)),
            Part::text("All values are in [traffic.csv](traffic.csv)."),
            Part::Data("traffic", all(&rows, options)),
        ],
    })
}

/// What one network moves.
fn moved(spec: &str) -> Result<Moved, Error> {
    let graph = &build(spec)?;
    let rewritten = &rewritten(graph)?;
    let sides = [
        (COPIES, Run::kahn(graph, COPIES)?),
        (VIEWS, Run::kahn(graph, VIEWS)?),
        (VIEWS, Run::best(graph, VIEWS)?),
        (VIEWS, Run::best(rewritten, VIEWS)?),
    ];
    let mut moved = Moved::default();
    for (moved, (model, run)) in moved.iter_mut().zip(&sides) {
        let refused =
            |source| Error::from(memories::Error::Traffic { graph: graph.name().to_owned(), source });
        let demand = Demand::new(run.graph, *model, &run.order, Grain::Page).map_err(refused)?;
        *moved = SIZES.map(|kib| demand.belady(kib * 1024).bytes());
    }
    Ok(moved)
}

/// What all cells together move with the headline's size, before over after.
fn together(rows: &[Row], side: usize) -> f64 {
    let total = |side: usize| rows.iter().map(|row| row.kb(side, HEADLINE)).sum::<f64>();
    total(TFLITE) / total(side)
}

/// The geometric mean over cells that move anything on both sides, and how many these are.
fn mean(rows: &[Row], before: usize, after: usize, size: usize) -> (f64, usize) {
    let factors: Vec<f64> =
        rows.iter().filter_map(|row| row.factor(before, after, size)).filter(|f| f.is_finite()).collect();
    (geometric_mean(factors.iter().copied()), factors.len())
}

fn in_words(factor: Option<f64>) -> String {
    match factor {
        None => "fits".to_owned(),
        Some(factor) if factor.is_finite() => times_less(factor),
        Some(_) => "eliminated".to_owned(),
    }
}

fn at_headline(rows: &[Row], options: &Options) -> Table {
    let mut table = Table::titled(
        "cell | network | #order alone, times less | #TensorFlow Lite, KB | #scheduled, KB \
| #rewritten, KB | #scheduled, times less | #rewritten, times less | #paper",
    );
    for row in rows {
        table.push([
            row.cell.name.to_owned(),
            row.cell.origin.in_words(options),
            in_words(row.factor(KAHN_VIEWS, SCHEDULED, HEADLINE)),
            kb(row.kb(TFLITE, HEADLINE)),
            kb(row.kb(SCHEDULED, HEADLINE)),
            kb(row.kb(REWRITTEN, HEADLINE)),
            in_words(row.factor(TFLITE, SCHEDULED, HEADLINE)),
            in_words(row.factor(TFLITE, REWRITTEN, HEADLINE)),
            "not given".to_owned(),
        ]);
    }
    let mean = |before, after| times_less(mean(rows, before, after, HEADLINE).0);
    let mut last =
        vec!["geometric mean where any is left".to_owned(), COMPUTED.to_owned(), mean(KAHN_VIEWS, SCHEDULED)];
    last.extend([String::new(), String::new(), String::new()]);
    last.extend([mean(TFLITE, SCHEDULED), mean(TFLITE, REWRITTEN), PUBLISHED.to_owned()]);
    table.push(last);
    table
}

fn reductions(rows: &[Row], side: usize, options: &Options) -> Table {
    let sizes = SIZES.map(|kib| Column::number(format!("{kib} KiB")));
    let mut table = Table::new([Column::text("cell"), Column::text("network")].into_iter().chain(sizes));
    for row in rows {
        let factors = (0..SIZES.len()).map(|size| in_words(row.factor(TFLITE, side, size)));
        table.push([row.cell.name.to_owned(), row.cell.origin.in_words(options)].into_iter().chain(factors));
    }
    let means = (0..SIZES.len()).map(|size| match mean(rows, TFLITE, side, size) {
        (_, 0) => String::new(),
        (mean, _) => times_less(mean),
    });
    table.push(["geometric mean where any is left".to_owned(), COMPUTED.to_owned()].into_iter().chain(means));
    // The abstract's figure is with rewriting.
    let published = if side == REWRITTEN { PUBLISHED } else { "not given" };
    table.push(["the paper's mean", "published", "", "", "", published, "", ""]);
    table
}

fn all(rows: &[Row], options: &Options) -> Table {
    let mut table = Table::titled(
        "cell | network | #on chip, KiB | #TensorFlow Lite, KB | #Kahn's order with views, KB \
| #scheduled, KB | #rewritten, KB",
    );
    for row in rows {
        for (size, kib) in SIZES.iter().enumerate() {
            let moved = (0..SIDES).map(|side| kb(row.kb(side, size)));
            let names = [row.cell.name.to_owned(), row.cell.origin.in_words(options), kib.to_string()];
            table.push(names.into_iter().chain(moved));
        }
    }
    table
}

fn bars(rows: &[Row]) -> String {
    let series = |name: &str, colour: Colour, side: usize| {
        let bars = rows.iter().map(|row| {
            let moved = row.kb(side, HEADLINE);
            Bar { label: format!("{moved:.0}"), ..Bar::of(moved) }
        });
        BarSeries::new(name, colour, bars.collect())
    };
    BarChart {
        title: "Off-chip traffic with 256 KiB on chip".to_owned(),
        subtitle: "activations moved by Belady's rule in pages of 1 KiB; RandWire: medians over seeds"
            .to_owned(),
        value_axis: Axis::linear("KB"),
        groups: rows.iter().map(|row| row.cell.short.to_owned()).collect(),
        series: vec![
            series("TensorFlow Lite", Colour::Grey, TFLITE),
            series("best order", Colour::Blue, SCHEDULED),
            series("rewritten, best order", Colour::Green, REWRITTEN),
        ],
        reference: None,
    }
    .to_svg()
}

/// The sizes that the paper draws.
const DRAWN: usize = 4;

fn by_size(rows: &[Row]) -> String {
    let colours = [Colour::Grey, Colour::Blue, Colour::Green, Colour::Orange];
    let series = colours.into_iter().enumerate().take(DRAWN).map(|(size, colour)| {
        let bar = |row: &Row| {
            let factor = row.factor(TFLITE, REWRITTEN, size);
            let value = factor.filter(|factor| factor.is_finite());
            Bar { value, label: in_words(factor), ..Bar::default() }
        };
        BarSeries::new(format!("{} KiB on chip", SIZES[size]), colour, rows.iter().map(bar).collect())
    });
    BarChart {
        title: "Reduction of off-chip traffic against TensorFlow Lite, by on-chip size".to_owned(),
        subtitle: "times less, rewritten and in the best order; RandWire: medians over seeds".to_owned(),
        value_axis: Axis::linear("times less"),
        groups: rows.iter().map(|row| row.cell.short.to_owned()).collect(),
        series: series.collect(),
        reference: None,
    }
    .to_svg()
}

fn sweep(rows: &[Row]) -> String {
    let line = |name: &str, colour: Colour, side: usize| {
        let total = |size: usize| rows.iter().map(|row| row.kb(side, size)).sum::<f64>();
        let points = SIZES.iter().enumerate().map(|(size, &kib)| (kib as f64, total(size)));
        Line { name: name.to_owned(), colour, points: points.collect(), shape: Shape::Dots }
    };
    LineChart {
        title: "Off-chip traffic of all cells together".to_owned(),
        subtitle: "over on-chip sizes; activations moved by Belady's rule in pages of 1 KiB".to_owned(),
        bottom_axis: Axis {
            ticks: SIZES.map(|kib| (kib as f64, kib.to_string())).to_vec(),
            ..Axis::logarithmic("on-chip memory, KiB")
        },
        value_axis: Axis::linear("KB"),
        lines: vec![
            line("TensorFlow Lite", Colour::Grey, TFLITE),
            line("best order", Colour::Blue, SCHEDULED),
            line("rewritten, best order", Colour::Green, REWRITTEN),
        ],
        marks: Vec::new(),
    }
    .to_svg()
}
