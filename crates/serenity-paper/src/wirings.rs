//! `SwiftNet` cell A: what is known of it, and the wirings that have been found for that.

use crate::cells::{FIRST_A, FITTED_A, MIXED_A};
use crate::optimal_orders::Optimal;
use crate::page::{Part, Section, kb, percent};
use crate::rewriting::{nodes, rewritten};
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use serenity::Error;
use serenity::ir::{Graph, Operator, Role};
use serenity::runtimes::MemoryModelExt;
use serenity::schedule::Limits;
use serenity::schedule::distribution::count;
use serenity_report::Table;

pub(crate) fn section() -> Result<Section, Error> {
    let mut table = Table::titled(
        "wiring | network | #nodes | #TensorFlow Lite, KB | #live sum, KB \
| #with the allocator, KB | #orders within 250 KB | #optimal \
| a depthwise convolution of a concatenation",
    );
    table.push([
        "the paper's own",
        "published",
        "21 → 33",
        "551.0",
        "200.7 → 188.2",
        "250.9 → 225.8",
        "4.1 %",
        "0.04 %",
        "not known",
    ]);
    for (name, spec) in [("`fitted`", FITTED_A), ("`mixed`", MIXED_A), ("`first`", FIRST_A)] {
        table.push(row(name, spec)?);
    }
    Ok(Section {
        title: "SwiftNet A, and how far it is known",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "The wiring of SwiftNet was not published. `zoo:swiftnet-a` (the wiring `first`) was found by search so that it has the paper's nodes and its peaks before \
                 rewriting; afterwards it needs less than the paper's. `zoo:swiftnet-a?wiring=fitted` was searched for with what is known after rewriting and of the \
                 random orders as well, and is the one used on this page, because only a cell with these figures can be compared with them; `first` is the default everywhere else, because both rules rewrite it and it was not \
                 chosen by what rewriting makes of it; `mixed` was asked in addition to hold a depthwise convolution of a concatenation, so that both rules rewrite it. \
                 **Both were chosen by these figures, so that they have them is no evidence for anything**; what they are good for is to \
                 compare algorithms on a cell like the paper's. `→` is before and after rewriting; of the allocator the least and the largest of 200 optimal orders.",
            ),
            Part::Table("swiftnet-a", table),
        ],
    })
}

fn row(name: &str, spec: &str) -> Result<Vec<String>, Error> {
    let graph = build(spec)?;
    let rewritten = rewritten(&graph)?;
    let live =
        |graph: &Graph| -> Result<f64, Error> { Ok(Run::best(graph, VIEWS)?.live_sum() as f64 / 1000.0) };
    let arenas = |graph: &Graph| -> Result<String, Error> {
        let [least, _, largest] = Optimal::of(graph)?.arena;
        Ok(if least < largest { format!("{} to {}", kb(least), kb(largest)) } else { kb(least) })
    };
    let tflite = Run::kahn(&graph, COPIES)?.old_arena(Inputs::Kept)?;
    let problem = serenity::pipeline::problem(&graph, &VIEWS.lifetimes(&graph));
    let share = |bytes: u64| {
        count(&problem, &Limits::default(), None)
            .map_or(String::new(), |all| percent(all.share_within(bytes)))
    };
    let best = Run::best(&graph, VIEWS)?.live_sum();
    Ok(vec![
        name.to_owned(),
        "reconstruction".to_owned(),
        format!("{} → {}", nodes(&graph), nodes(&rewritten)),
        kb(tflite as f64 / 1000.0),
        format!("{} → {}", kb(live(&graph)?), kb(live(&rewritten)?)),
        format!("{} → {}", arenas(&graph)?, arenas(&rewritten)?),
        share(250_000),
        share(best),
        if has_depthwise_of_concat(&graph) { "yes" } else { "no" }.to_owned(),
    ])
}

fn has_depthwise_of_concat(graph: &Graph) -> bool {
    graph.ops().iter().any(|op| {
        let is_joined = |&input: &_| {
            graph.producer(input).is_some_and(|producer| graph.op(producer).kind.role() == Role::Concat)
        };
        op.kind.operator() == Operator::DEPTHWISE_CONV_2D && op.inputs.iter().any(is_joined)
    })
}
