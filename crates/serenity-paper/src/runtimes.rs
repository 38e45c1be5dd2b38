//! The cells on today's runtimes: what a stock TFLM and a stock `LiteRT` take for them, before and after.

use crate::cells::{CELLS, Cell, Origin};
use crate::page::{Headline, Part, Section, times_less};
use crate::semantics::{COPIES, Inputs, Run};
use crate::{Options, parallel};
use serenity::pipeline::Need;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Error, Format, Input, Loops, Optimized, ReadOptions, Rewrites, export, load_bytes, optimize};
use serenity_report::{Table, grouped};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Any);

/// A cell as a model of floats or of 8-bit integers. All figures are bytes.
struct Row {
    cell: &'static Cell,
    precision: Precision,
    /// The arena of 2019, in Kahn's order.
    simulated: u64,
    /// TFLM: as the model came, in the best order, with the paper's rules, with row windows too.
    tflm: [u64; 4],
    /// The whole arena of a 32-bit device: as the model came, and at last.
    whole: [u64; 2],
    /// `LiteRT`: as the model came, in the best order, with the paper's rules.
    litert: [u64; 3],
}

impl Row {
    fn measure(cell: &'static Cell, precision: Precision) -> Result<Self, Error> {
        let spec = cell.model();
        let bytes = export(&spec, Format::TfLite, precision)?.bytes;
        let input = load_bytes(&spec, bytes, Format::TfLite, &ReadOptions::default())?;
        let simulated = Run::kahn(input.graph(), COPIES)?.old_arena(Inputs::Kept)?;
        let planned = |model, rewrites, loops| {
            let options =
                serenity::Options { model, rewrites, loops, ..serenity::Options::for_input(&input) };
            optimize(&input, &options)
        };
        let ordered = planned(TFLM, Rewrites::None, None)?;
        let by_paper = planned(TFLM, Rewrites::Paper, None)?;
        // RandWire has no concatenation to divide, and looking for other rewrites of its sums takes minutes.
        let rewrites = if cell.origin == Origin::UnknownSeed { Rewrites::None } else { Rewrites::All };
        let looped = planned(TFLM, rewrites, Some(Loops::default()))?;
        let [by_order, by_rules] =
            [Rewrites::None, Rewrites::Paper].map(|rewrites| planned(MemoryModel::Litert, rewrites, None));
        let (by_order, by_rules) = (by_order?, by_rules?);
        let needs = |found: &Optimized| found.plan.after.needs();
        let before = ordered.plan.before;
        Ok(Self {
            cell,
            precision,
            simulated,
            tflm: [before.needs(), needs(&ordered), needs(&by_paper), needs(&looped)],
            whole: [whole(&input, before.needs()), Need::of(&looped.model, &looped.plan).bytes],
            litert: [by_order.plan.before.needs(), needs(&by_order), needs(&by_rules)],
        })
    }

    /// How much less by rewriting, windows included, than by the order alone.
    fn gain(&self) -> f64 {
        self.tflm[1] as f64 / self.tflm[3] as f64
    }
}

fn whole(input: &Input, head: u64) -> u64 {
    Need::with(input.tail(TFLM), head).bytes
}

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let cases: Vec<(&'static Cell, Precision)> = CELLS
        .iter()
        .flat_map(|cell| [Precision::Int8, Precision::Float32].map(|precision| (cell, precision)))
        .collect();
    let rows = parallel::map(&cases, options.threads, |&(cell, precision)| Row::measure(cell, precision))?;
    let mut table = Table::titled(
        "cell | network | numbers | #arena of 2019, simulated | #TFLM: as it came | #best order \
| #the paper's rules | #row windows | #times less than by the order \
| #whole arena: as it came | #with row windows | #LiteRT: as it came | #best order \
| #the paper's rules",
    );
    for row in &rows {
        let mut cells = vec![
            row.cell.name.to_owned(),
            row.cell.origin.of_one().to_owned(),
            numbers(row.precision).to_owned(),
            grouped(row.simulated.into()),
        ];
        cells.extend(row.tflm.map(|bytes| grouped(bytes.into())));
        cells.push(times_less(row.gain()));
        cells.extend(row.whole.into_iter().chain(row.litert).map(|bytes| grouped(bytes.into())));
        table.push(cells);
    }
    let of_int8: Vec<String> = rows
        .iter()
        .filter(|row| row.precision == Precision::Int8 && row.cell.name.starts_with("SwiftNet"))
        .map(|row| times_less(row.gain()))
        .collect();
    Ok(Section {
        title: "The cells on today's runtimes",
        headlines: vec![Headline {
            what: "SwiftNet A, B, C in int8 on a stock TFLM: less by row windows than by the order, bit for bit",
            here: of_int8.join(", "),
            paper: "1.20 † (by rewriting, simulated)".to_owned(),
            network: "3 reconstructions",
        }],
        parts: vec![
            Part::text(
                "The cells as .tflite models with weights (`serenity zoo export NAME --int8 -o net.tflite`; of RandWire, the first seed), in bytes: the arena of TensorFlow Lite in 2019 as it is \
                 simulated above, and what a stock runtime of today takes, for activations and scratch with every kernel set of TFLM, and in the arena of LiteRT's portable kernels. In these runtimes concatenations copy. \
                 In int8 the paper's first rule would round partial sums, so it is not made; row windows (`--loops`) run the concatenation and what reads it a few rows at a time, bit for bit. The \
                 whole arena of a 32-bit device includes what TFLM keeps for every operator, of which loops have more. `cargo test -p serenity-ml paper_cells` asks TFLM and LiteRT.",
            ),
            Part::Table("runtimes", table),
        ],
    })
}

fn numbers(precision: Precision) -> &'static str {
    match precision {
        Precision::Int8 => "int8",
        Precision::Float32 => "float32",
    }
}
