//! Memory over time for `SwiftNet` cell A: the paper's figure 12.

use crate::cells::{FITTED, FITTED_A};
use crate::page::{Part, Section, kb};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use serenity::Error;
use serenity_report::{Axis, Colour, Line, LineChart, Mark, Shape, Table};

/// The peaks in the paper's text, in KB: with the allocator, and without.
const ARENA: [(f64, &str); 3] = [(551.0, "TensorFlow Lite"), (250.9, "scheduled"), (225.8, "rewritten")];
const LIVE: [(f64, &str); 2] = [(200.7, "scheduled"), (188.2, "rewritten")];

pub(crate) fn section() -> Result<Section, Error> {
    let graph = build(FITTED_A)?;
    let rewritten = rewritten(&graph)?;
    let runs = [
        ("TensorFlow Lite", Colour::Grey, Run::kahn(&graph, COPIES)?, Inputs::Kept),
        ("best order", Colour::Blue, Run::best(&graph, VIEWS)?, Inputs::Freed),
        ("rewritten, best order", Colour::Green, Run::best(&rewritten, VIEWS)?, Inputs::Freed),
    ];
    let mut table =
        Table::titled("run | network | #step | operator | #live sum, bytes | #top of the old arena, bytes");
    let (mut live_lines, mut arena_lines) = (Vec::new(), Vec::new());
    for (name, colour, run, inputs) in &runs {
        let arena = run.old_arena_over_time(*inputs)?;
        let live: Vec<u64> = run.profile().steps.iter().map(|step| step.during).collect();
        for (step, (&op, (live, top))) in run.order.iter().zip(live.iter().zip(&arena)).enumerate() {
            let operator = run.graph.op_label(op);
            table.push([
                (*name).to_owned(),
                FITTED.to_owned(),
                (step + 1).to_string(),
                operator,
                live.to_string(),
                top.to_string(),
            ]);
        }
        live_lines.push(line(name, *colour, &live));
        arena_lines.push(line(name, *colour, &arena));
    }
    let last_step = runs.iter().map(|run| run.2.order.len()).max().unwrap_or(0) as f64;
    let chart = |title: &str, lines: Vec<Line>, marks: &[(f64, &str)]| {
        let mark = |&(value, what): &_| Mark::Across(value, format!("the paper, {what}: {} KB", kb(value)));
        LineChart {
            title: title.to_owned(),
            subtitle: "a reconstruction of the cell; each step runs one operator".to_owned(),
            bottom_axis: Axis { to: Some(last_step), ..Axis::linear("step") },
            value_axis: Axis::linear("KB"),
            lines,
            marks: marks.iter().map(mark).collect(),
        }
        .to_svg()
    };
    Ok(Section {
        title: "Memory over time (figure 12)",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "SwiftNet cell A (reconstruction, wiring `fitted`), with the allocator (figure 12a: the topmost byte in use of the old arena) and without (figure 12b: the sum of live \
                 tensors). TensorFlow Lite's side copies at concatenations and keeps the input. **Figure 12a is not reproduced**: the paper goes from 250.9 to 225.8 KB by rewriting, we go from 225.8 to 238.3. \
                 The scheduler minimises the live sum, and the old arena makes more or less of each of the orders that have the least one: 200.7 to 250.9 KB before rewriting and 188.2 to 276.0 KB after it \
                 ([200 of them](#equally-optimal-orders)). Both of the paper's values lie within these ranges; which of its orders it took is not known.",
            ),
            Part::Figure(
                "memory-over-time-arena",
                "Memory over time of SwiftNet A with the allocator",
                chart("SwiftNet A over time, with the allocator", arena_lines, &ARENA),
            ),
            Part::Figure(
                "memory-over-time-live",
                "Memory over time of SwiftNet A without the allocator",
                chart("SwiftNet A over time, without the allocator", live_lines, &LIVE),
            ),
            Part::text("Every step is in [memory-over-time.csv](memory-over-time.csv)."),
            Part::Data("memory-over-time", table),
        ],
    })
}

fn line(name: &str, colour: Colour, bytes: &[u64]) -> Line {
    let mut points: Vec<(f64, f64)> =
        bytes.iter().enumerate().map(|(step, &bytes)| (step as f64, bytes as f64 / 1000.0)).collect();
    // The last step has a width too.
    if let Some(&(step, kb)) = points.last() {
        points.push((step + 1.0, kb));
    }
    Line { name: name.to_owned(), colour, points, shape: Shape::Steps }
}
