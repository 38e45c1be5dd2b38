//! How good random orders are: the paper's figure 3b.

use crate::Options;
use crate::cells::{FIRST_A, FITTED, FITTED_A};
use crate::page::{Headline, Part, Section, kb, percent};
use crate::semantics::{Run, VIEWS, build};
use crate::statistics::from_zero;
use serenity::Error;
use serenity::runtimes::MemoryModelExt;
use serenity::schedule::Limits;
use serenity::schedule::distribution::{Distribution, count, sample};
use serenity_report::{Axis, Colour, Line, LineChart, Mark, Shape, Table, grouped};

/// What the paper's edge device has for activations.
const BUDGET: u64 = 250_000;

/// Fixed, so that every machine draws the same orders.
const SEED: u64 = 1;

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let fitted = Orders::of(FITTED_A, options)?;
    let first = Orders::of(FIRST_A, options)?;
    let Orders { optimum, measures } = &fitted;
    let optimum = *optimum;
    let mut table = Table::titled("measure | network | #orders | #within 250 KB | #optimal | #median, KB");
    for (network, Orders { optimum, measures }) in
        [(FITTED, &fitted), ("reconstruction, wiring `first`", &first)]
    {
        for (name, peaks) in measures {
            table.push([
                (*name).to_owned(),
                network.to_owned(),
                grouped(peaks.total()),
                percent(peaks.share_within(BUDGET)),
                percent(peaks.share_within(*optimum)),
                kb(peaks.quantile(0.5).unwrap_or(0) as f64 / 1000.0),
            ]);
        }
    }
    table.push(["the paper", "published", "not given", "4.1 %", "0.04 %", ""]);
    let here =
        |of: &dyn Fn(&Distribution) -> f64| measures.first().map_or(String::new(), |m| percent(of(&m.1)));
    let headline =
        |what, here, paper: &str| Headline { what, here, paper: paper.to_owned(), network: FITTED };
    Ok(Section {
        title: "Random orders (figure 3b)",
        headlines: vec![
            headline("SwiftNet A: orders within 250 KB", here(&|p| p.share_within(BUDGET)), "4.1 %"),
            headline("SwiftNet A: orders that are optimal", here(&|p| p.share_within(optimum)), "0.04 %"),
        ],
        parts: vec![
            Part::text(
                "The peaks of random orders of SwiftNet cell A (live sum, concatenations as views); the picture shows the wiring `fitted`. 'Random' must be defined: drawing an operator \
                 among those that can run next favours some orders, so all orders are counted too, which is exact. The crosses are what the paper says of its own cell; ours was \
                 chosen so that the curve of all orders passes through them.",
            ),
            Part::Table("random-orders", table),
            Part::Figure(
                "random-orders",
                "Cumulative distribution of the peaks of random orders",
                chart(measures, optimum),
            ),
        ],
    })
}

/// The orders of one wiring.
struct Orders {
    optimum: u64,
    /// By what 'random' means.
    measures: Vec<(&'static str, Distribution)>,
}

impl Orders {
    fn of(spec: &str, options: &Options) -> Result<Self, Error> {
        let graph = build(spec)?;
        let problem = serenity::pipeline::problem(&graph, &VIEWS.lifetimes(&graph));
        let optimum = Run::best(&graph, VIEWS)?.live_sum();
        let (drawn, _) = sample(&problem, options.orders, SEED, &Limits::default(), None);
        let mut measures = vec![("drawn, uniform among the operators that can run next", drawn)];
        // Millions of orders, but few sets of executed operators: counting takes no time. It could only fail on a larger graph.
        if let Ok(all) = count(&problem, &Limits::default(), None) {
            measures.insert(0, ("all orders, each counts the same", all));
        }
        Ok(Self { optimum, measures })
    }
}

fn chart(measures: &[(&str, Distribution)], optimum: u64) -> String {
    let colours = [Colour::Blue, Colour::Orange];
    let lines = measures.iter().zip(colours).map(|((name, peaks), colour)| {
        let mut seen = 0;
        let points = peaks.peaks().map(|(peak, orders)| {
            seen += orders;
            (peak as f64 / 1000.0, 100.0 * seen as f64 / peaks.total() as f64)
        });
        Line { name: (*name).to_owned(), colour, points: from_zero(points.collect()), shape: Shape::Steps }
    });
    LineChart {
        title: "Peaks of random orders of SwiftNet A".to_owned(),
        subtitle: "share of the orders that need no more; a reconstruction of the cell".to_owned(),
        bottom_axis: Axis { from: Some(150.0), ..Axis::linear("peak memory, KB") },
        value_axis: Axis { to: Some(100.0), ..Axis::linear("% of the orders") },
        lines: lines.collect(),
        marks: vec![
            Mark::Upright(optimum as f64 / 1000.0, format!("optimum {}", kb(optimum as f64 / 1000.0))),
            Mark::Upright(BUDGET as f64 / 1000.0, "250 KB".to_owned()),
            Mark::Point((250.0, 4.1), "the paper: 4.1 %".to_owned()),
            Mark::Point((200.7, 0.04), "the paper: 0.04 %".to_owned()),
        ],
    }
    .to_svg()
}
