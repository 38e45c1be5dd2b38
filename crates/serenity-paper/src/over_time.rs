//! Memory over time for `SwiftNet` cell A: the paper's figure 12.

use crate::cells::FITTED_A;
use crate::page::{Part, Section, kb};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use serenity::Error;
use serenity_report::{Axis, Colour, Column, Line, LineChart, Mark, Shape, Table};

pub(crate) fn section() -> Result<Section, Error> {
    let graph = build(FITTED_A)?;
    let rewritten = rewritten(&graph)?;
    let runs = [
        ("TensorFlow Lite", Colour::Grey, Run::kahn(&graph, COPIES)?, Inputs::Kept),
        ("best order", Colour::Blue, Run::best(&graph, VIEWS)?, Inputs::Freed),
        ("rewritten, best order", Colour::Green, Run::best(&rewritten, VIEWS)?, Inputs::Freed),
    ];
    let mut table = Table::new([
        Column::text("run"),
        Column::text("network"),
        Column::number("step"),
        Column::text("operator"),
        Column::number("live sum, bytes"),
        Column::number("top of the old arena, bytes"),
    ]);
    let (mut live_lines, mut arena_lines) = (Vec::new(), Vec::new());
    for (name, colour, run, inputs) in &runs {
        let arena = run.old_arena_over_time(*inputs)?;
        let live: Vec<u64> = run.profile().steps.iter().map(|step| step.during).collect();
        for (step, (&op, (live, top))) in run.order.iter().zip(live.iter().zip(&arena)).enumerate() {
            let operator = run.graph.op_label(op);
            table.push([
                (*name).to_owned(),
                "reconstruction".to_owned(),
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
    let chart = |title: &str, lines: Vec<Line>, [scheduled, rewritten]: [f64; 2]| {
        let mark =
            |value: f64, what: &str| Mark::Across(value, format!("the paper, {what}: {} KB", kb(value)));
        LineChart {
            title: title.to_owned(),
            subtitle: "a reconstruction of the cell; each step runs one operator".to_owned(),
            bottom_axis: Axis { to: Some(last_step), ..Axis::linear("step") },
            value_axis: Axis::linear("KB"),
            lines,
            marks: vec![mark(scheduled, "scheduled"), mark(rewritten, "rewritten")],
        }
        .to_svg()
    };
    Ok(Section {
        title: "Memory over time",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "SwiftNet cell A (reconstruction), with the allocator (the topmost byte in use of the old arena) and without (the sum of live \
                 tensors). TensorFlow Lite's side copies at concatenations and keeps the input.",
            ),
            Part::Figure(
                "memory-over-time-arena",
                "Memory over time of SwiftNet A with the allocator",
                chart("SwiftNet A over time, with the allocator", arena_lines, [250.9, 225.8]),
            ),
            Part::Figure(
                "memory-over-time-live",
                "Memory over time of SwiftNet A without the allocator",
                chart("SwiftNet A over time, without the allocator", live_lines, [200.7, 188.2]),
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
