//! What rewriting gains beyond the paper's two rules.

use crate::cells::{CELLS, Cell, Origin};
use crate::page::{Headline, Part, Section, kb, times_less};
use crate::rewriting::rewritten;
use crate::semantics::{Run, VIEWS, build};
use crate::statistics::{Spread, geometric_mean};
use crate::{Options, parallel};
use serenity::Error;
use serenity::pipeline::rewritten_graph;
use serenity_report::Table;

/// Random networks for which the best set is searched: each takes a few hundred searches for an order.
const MOST_SEEDS: u64 = 30;

/// The least live sums of one network, in bytes.
struct Least {
    ordered: u64,
    by_papers_rules: u64,
    by_all_rules: u64,
    is_proved: bool,
}

impl Least {
    fn measure(spec: &str) -> Result<Self, Error> {
        let graph = build(spec)?;
        let options = serenity::Options { model: VIEWS, ..serenity::Options::default() };
        let choice = rewritten_graph(&graph, &options)?.1;
        Ok(Self {
            ordered: Run::best(&graph, VIEWS)?.live_sum(),
            by_papers_rules: Run::best(&rewritten(&graph)?, VIEWS)?.live_sum(),
            by_all_rules: choice.after,
            is_proved: choice.is_proved(),
        })
    }
}

/// A cell with what was found for its networks.
struct Row {
    cell: Cell,
    networks: Vec<Least>,
}

impl Row {
    fn median(&self, of: fn(&Least) -> u64) -> f64 {
        Spread::of(self.networks.iter().map(|least| of(least) as f64)).median
    }

    /// How many times less than by the order alone.
    fn gain(&self, of: fn(&Least) -> u64) -> Spread {
        Spread::of(self.networks.iter().map(|least| least.ordered as f64 / of(least) as f64))
    }
}

pub(crate) fn section(options: &Options) -> Result<Section, Error> {
    let options = &Options { seeds: options.seeds.min(MOST_SEEDS), ..*options };
    // The other RandWire cells are drawn in the same way, and differ in their sizes only.
    let cells = CELLS.iter().take_while(|cell| cell.name != "RandWire CIFAR-10 B");
    let rows = cells.map(|cell| {
        let networks = parallel::map(&cell.specs(options), options.threads, |spec| Least::measure(spec))?;
        Ok(Row { cell: *cell, networks })
    });
    let rows: Vec<Row> = rows.collect::<Result<_, Error>>()?;
    let mut table = Table::titled(
        "cell | network | #best order, KB | #the paper's rules, KB | #all rules, KB | #times less \
| #5 % | #95 % | #choices proved best | #paper: rewriting, times less",
    );
    for row in &rows {
        let Cell { name, origin, published, .. } = row.cell;
        let gain = row.gain(|least| least.by_all_rules);
        let spread = |value: f64| {
            if origin == Origin::UnknownSeed { times_less(value) } else { String::new() }
        };
        let proved = row.networks.iter().filter(|least| least.is_proved).count();
        table.push([
            name.to_owned(),
            origin.in_words(options),
            kb(row.median(|least| least.ordered) / 1000.0),
            kb(row.median(|least| least.by_papers_rules) / 1000.0),
            kb(row.median(|least| least.by_all_rules) / 1000.0),
            times_less(gain.median),
            spread(gain.low),
            spread(gain.high),
            format!("{proved} of {}", row.networks.len()),
            row.cell.marked(published.scheduled / published.rewritten, 2),
        ]);
    }
    let mean = |of: fn(&Least) -> u64, rows: &[&Row]| {
        times_less(geometric_mean(rows.iter().map(|row| row.gain(of).median)))
    };
    let all: Vec<&Row> = rows.iter().collect();
    let random: Vec<&Row> = rows.iter().filter(|row| row.cell.origin == Origin::UnknownSeed).collect();
    Ok(Section {
        title: "Beyond the paper's rules",
        headlines: vec![
            Headline {
                what: "rewriting over order alone, the paper's two rules, live sum, geometric mean",
                here: mean(|least| least.by_papers_rules, &all),
                paper: "1.20 † (with the allocator)".to_owned(),
                network: "five cells, 4 reconstructions",
            },
            Headline {
                what: "the same with the best set of all our rules",
                here: mean(|least| least.by_all_rules, &all),
                paper: "not given".to_owned(),
                network: "five cells, 4 reconstructions",
            },
            Headline {
                what: "of that, RandWire, whose sums accumulate in place",
                here: mean(|least| least.by_all_rules, &random),
                paper: "1.00 †".to_owned(),
                network: "reconstruction: the seeds are not public",
            },
        ],
        parts: vec![
            Part::text(
                "Least live sums: with the best order alone, after the paper's two rules wherever they fit, and with the set of all our rules that a search finds \
                 best. Ours also push concatenations behind whatever treats channels apart, join nested ones, and let sums accumulate in place, each term when it \
                 is there, which is what RandWire (WS, 32 nodes, K = 4, P = 0.75) needs. The search tries every set where there are few, and then its choice is \
                 proved; otherwise there may be better ones. `times less` compares with the best order alone.",
            ),
            Part::Table("beyond", table),
        ],
    })
}
