//! Orders that are all optimal, and what else differs between them: the arena and the traffic.

use crate::cells::{CELLS, Cell};
use crate::page::{Headline, Part, Section, kb, times_less};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use crate::statistics::Spread;
use crate::{Options, parallel};
use serenity::Error;
use serenity::ir::{Graph, OpId};
use serenity::memories;
use serenity::runtimes::MemoryModelExt;
use serenity::schedule::Limits;
use serenity::schedule::within::orders_within;
use serenity_report::{Table, grouped};
use serenity_traffic::{Demand, Grain};

/// How many orders are drawn of each graph.
const DRAWN: usize = 200;

/// Fixed, so that every machine draws the same orders.
const SEED: u64 = 1;

/// The on-chip memory for which the paper gives a figure.
const ON_CHIP: u64 = 256 * 1024;

/// Optimal orders of one graph.
pub(crate) struct Optimal {
    /// How many there are.
    pub(crate) orders: f64,
    /// KB of the arena of 2019: the least, the median, the largest of those drawn.
    pub(crate) arena: [f64; 3],
    /// KB moved with 256 KiB on chip: the least, the median, the largest of those drawn.
    traffic: [f64; 3],
}

impl Optimal {
    /// Of orders of least live sum, each as likely as any other.
    pub(crate) fn of(graph: &Graph) -> Result<Self, Error> {
        let least = Run::best(graph, VIEWS)?.live_sum();
        let problem = serenity::pipeline::problem(graph, &VIEWS.lifetimes(graph));
        let found = orders_within(&problem, least, DRAWN, SEED, &Limits::default())
            .map_err(|_| Error::from(memories::Error::NoArena { graph: graph.name().to_owned() }))?;
        let (mut arenas, mut traffic) = (Vec::new(), Vec::new());
        for drawn in &found.drawn {
            let order: Vec<OpId> = drawn.iter().map(|op| OpId(op.0)).collect();
            let run = Run::in_order(graph, VIEWS, order);
            arenas.push(run.old_arena(Inputs::Freed)? as f64 / 1000.0);
            traffic.push(moved(&run)? / 1000.0);
        }
        Ok(Self { orders: found.orders, arena: ends(arenas), traffic: ends(traffic) })
    }
}

/// The least, the median and the largest.
fn ends(values: Vec<f64>) -> [f64; 3] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(0.0, f64::max);
    [least, Spread::of(values).median, largest]
}

fn moved(run: &Run) -> Result<f64, Error> {
    let refused =
        |source| Error::from(memories::Error::Traffic { graph: run.graph.name().to_owned(), source });
    let demand = Demand::new(run.graph, run.model(), &run.order, Grain::Page).map_err(refused)?;
    Ok(demand.belady(ON_CHIP).bytes() as f64)
}

struct Row {
    cell: &'static Cell,
    is_rewritten: bool,
    /// TensorFlow Lite's side: KB of the arena, KB moved.
    tflite: [f64; 2],
    optimal: Optimal,
}

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let by_cell = parallel::map(&CELLS.each_ref(), options.threads, |cell| rows(cell))?;
    let rows: Vec<Row> = by_cell.into_iter().flatten().collect();
    let mut table = Table::titled(
        "cell | network | rewritten | #optimal orders | #arena, KB: least | #median | #largest \
| #times less than TensorFlow Lite | #traffic, KB: least | #median | #largest \
| #times less",
    );
    for Row { cell, is_rewritten, tflite, optimal } in &rows {
        let range = |before: f64, [least, _, largest]: [f64; 3]| {
            let [from, to] = [largest, least].map(|after| times_or_gone(before, after));
            if from == to { from } else { format!("{from} to {to}") }
        };
        let mut row = vec![
            cell.name.to_owned(),
            cell.origin.of_one().to_owned(),
            if *is_rewritten { "yes" } else { "no" }.to_owned(),
            many(optimal.orders),
        ];
        for (before, after) in tflite.iter().zip([optimal.arena, optimal.traffic]) {
            row.extend(after.map(kb));
            row.push(range(*before, after));
        }
        table.push(row);
    }
    let darts = rows.iter().find(|row| row.cell.name.starts_with("DARTS") && !row.is_rewritten);
    let headline = darts.map(|row| Headline {
        what: "traffic of DARTS with 256 KiB on chip, over its optimal orders: times less",
        here: format!(
            "{} to {}",
            times_or_gone(row.tflite[1], row.optimal.traffic[2]),
            times_or_gone(row.tflite[1], row.optimal.traffic[0])
        ),
        paper: "not given".to_owned(),
        network: "published",
    });
    Ok(Section {
        title: "Equally optimal orders",
        headlines: headline.into_iter().collect(),
        parts: vec![
            Part::text(format!(
                "Many orders have the least live sum, and they are not equally good otherwise: the old arena puts them into more or less memory, and they move more or \
                 less with 256 KiB on chip. {DRAWN} optimal orders of every cell, drawn so that each is as likely as any other; of RandWire, the first seed. A scheduler that \
                 looks at the live sum alone takes one of them by chance, ours and the paper's included.",
            )),
            Part::Table("optimal-orders", table),
        ],
    })
}

fn rows(cell: &'static Cell) -> Result<[Row; 2], Error> {
    let graph = build(&cell.one())?;
    let kahn = Run::kahn(&graph, COPIES)?;
    let tflite = [kahn.old_arena(Inputs::Kept)? as f64 / 1000.0, moved(&kahn)? / 1000.0];
    let row = |is_rewritten, graph: &Graph| -> Result<Row, Error> {
        Ok(Row { cell, is_rewritten, tflite, optimal: Optimal::of(graph)? })
    };
    Ok([row(false, &graph)?, row(true, &rewritten(&graph)?)?])
}

/// How many times less, if anything was there and anything is left.
fn times_or_gone(before: f64, after: f64) -> String {
    if before <= 0.0 {
        "fits".to_owned()
    } else if after > 0.0 {
        times_less(before / after)
    } else {
        "eliminated".to_owned()
    }
}

/// A number of orders: all digits while there are few.
pub(crate) fn many(orders: f64) -> String {
    if orders < 1e9 { grouped(orders as u128) } else { format!("{orders:.1e}") }
}
