//! Windows of operators that became loops: what they are, what they take, and what the application must do.

use super::Job;
use crate::Failure;
use crate::args::Percent;
use crate::commands::{as_typed, count};
use crate::printable::printable;
use crate::progress::thousands;
use crate::screen::layout::{COMMAND, HANG};
use crate::size::Size;
use serenity::ir::Graph;
use serenity::loops::{Because, Floor};
use serenity::pipeline::{AppliedLoop, AppliedLoops, LoopsEstimate};
use serenity::runtimes::{Kernels, resolver_call};
use serenity::{Format, Input, Loops, Optimized, Options, Plan};
use std::io::Write;

/// What loops would give, if it is worth a line: one that says so, and how.
pub(super) fn hint(job: &Job, found: &Optimized, options: &Options) -> String {
    let is_asked = job.changes.loops.are_asked_for() || job.talk.json || job.changes.no_plan;
    if is_asked || found.model.file.format() != Format::TfLite {
        return String::new();
    }
    let estimate = serenity::pipeline::estimate_loops(found, Loops::default(), options);
    let is_worth_it = |estimate: &LoopsEstimate| estimate.arena < found.plan.after.needs() / 20 * 19;
    estimate.filter(is_worth_it).map_or_else(String::new, |LoopsEstimate { arena, extra_macs }| {
        let more = percent(extra_macs, extra_macs > 0.0);
        let input = as_typed(job.input, &job.read, &job.runtime);
        let arena = Size(arena);
        let int8_io = if job.changes.int8_io { " --int8-io" } else { "" };
        format!(
            "with loops:  {COMMAND}serenity optimize {input}{int8_io} --loops{HANG}   about {arena} of activations, {more} more MACs\n"
        )
    })
}

/// What became of --loops; `planned` is the model with them, `came` as it was. Does it fit the budget, if there is one?
pub(super) fn print(
    job: &Job,
    came: &Input,
    planned: &Input,
    plan: &Plan,
    fits: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let Some(most_extra_macs) = job.changes.loops.extra_macs() else { return Ok(()) };
    let most = Percent(most_extra_macs).to_string().replace('%', " %");
    let Some(applied) = &plan.loops else {
        match job.budget.filter(|_| fits) {
            Some(budget) => writeln!(out, "\n  no loops: the model fits {budget} without them")?,
            None => {
                writeln!(
                    out,
                    "\n  no loops: none saves enough memory for its time, with at most {most} more MACs"
                )?;
            }
        }
        return Ok(());
    };
    let number = count(applied.windows.len() as u64, "loop");
    writeln!(out, "\n  {number}, outputs the same bit for bit:")?;
    for one in &applied.windows {
        let [first, last] = &one.ends;
        writeln!(out, "  - {}", window(one.ops.len() as u64, first, last))?;
        writeln!(out, "    {}", way(one, applied.macs))?;
    }
    writeln!(out, "  together: {HANG}{}", together(applied, &most, file_growth(came, planned, plan)?))?;
    writeln!(out, "  {}", floor(&applied.floor))?;
    // Emitted code has loops without operators, and no resolver.
    if plan.model.kernels().is_some_and(Kernels::are_emitted) {
        return Ok(());
    }
    print_operators(came, planned, out)
}

/// So many characters fit a line.
const WIDTH: usize = 80;

/// Its ops in one line: of long names the end is shown, which tells more.
fn window(ops: u64, first: &str, last: &str) -> String {
    let ops = count(ops, "op");
    let [first, last] = [first, last].map(|name| printable(name).into_owned());
    if first == last {
        return format!("{ops}: `{}`", the_end_of(&first, WIDTH - ops.len() - 10));
    }
    let room = (WIDTH - ops.len() - 20) / 2;
    let room_for = |other: &str| room + room.saturating_sub(other.chars().count());
    let (shown_first, shown_last) =
        (the_end_of(&first, room_for(&last)), the_end_of(&last, room_for(&first)));
    format!("{ops}, from `{shown_first}` to `{shown_last}`")
}

fn the_end_of(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length + 1 - room).collect();
    format!("…{end}")
}

/// How a window is computed.
fn way(one: &AppliedLoop, macs: u64) -> String {
    let rows = if one.step == 1 { "1 row".to_owned() } else { format!("{} rows", thousands(one.step)) };
    let times = match one.iterations {
        1 => "once".to_owned(),
        iterations => format!("{} times", thousands(iterations)),
    };
    let shared = match (one.carries, one.extra_macs) {
        (true, extra) if one.peeled => {
            format!("overlapping rows kept, first rows ahead, {} more MACs", share(extra, macs))
        }
        (true, 0) => "overlapping rows kept".to_owned(),
        (true, extra) => format!("overlapping rows kept, {} more MACs", share(extra, macs)),
        (false, 0) => "nothing computed twice".to_owned(),
        (false, extra) => format!("overlapping rows computed again, {} more MACs", share(extra, macs)),
    };
    format!("{rows} at a time, {times}; {shared}")
}

/// What all loops take together.
fn together(applied: &AppliedLoops, most: &str, file_growth: i64) -> String {
    let sign = if file_growth < 0 { "-" } else { "+" };
    format!(
        "{} more MACs ({most} allowed), about {} more time with portable kernels, about {} more instructions with CMSIS-NN (an estimate, calibrated on five int8 models), {} bytes copied per run, {sign}{} bytes of file",
        share(applied.extra_macs, applied.macs),
        roughly(applied.extra_time, applied.time),
        roughly(applied.extra_instructions, applied.instructions),
        thousands(applied.copied),
        thousands(file_growth.unsigned_abs())
    )
}

/// What keeps all loops from needing less.
fn floor(Floor { bytes, why }: &Floor) -> String {
    let why = match why {
        Because::Inputs => "the network's input itself".to_owned(),
        Because::Op(name) => {
            let name = the_end_of(&printable(name), WIDTH - 40);
            format!("a tensor that `{name}` needs as a whole")
        }
    };
    format!("floor for loops: {} bytes, {why}", thousands(*bytes))
}

/// `12 %`: of an estimate no more than that is known.
fn roughly(part: u64, of: u64) -> String {
    match part as f64 / of.max(1) as f64 * 100.0 {
        percent if percent < 1.0 => "1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// `1.2 %`, never 0 for a little.
fn share(part: u64, of: u64) -> String {
    percent(part as f64 / of.max(1) as f64, part > 0)
}

fn percent(share: f64, is_some: bool) -> String {
    match share * 100.0 {
        percent if is_some && percent < 0.05 => "less than 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

fn file_growth(came: &Input, planned: &Input, plan: &Plan) -> Result<i64, Failure> {
    let size = serenity::pipeline::planned_model(planned, plan)?.len();
    Ok(size as i64 - came.file.bytes().len() as i64)
}

/// Operators that the model did not have.
fn new_operators(came: &Input, planned: &Input) -> Vec<String> {
    let mut kinds: Vec<&str> = Vec::new();
    for op in planned.graphs().iter().flat_map(Graph::ops) {
        let kind = op.kind.as_str();
        let is_old = came.graphs().iter().flat_map(Graph::ops).any(|old| old.kind == op.kind);
        if !is_old && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.into_iter().map(resolver_call).collect()
}

pub(super) fn print_operators(came: &Input, planned: &Input, out: &mut impl Write) -> Result<(), Failure> {
    let operators = new_operators(came, planned);
    if operators.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  also register these operators:")?;
    let mut line = String::from("   ");
    for operator in &operators {
        let call = format!(" {};", printable(operator));
        if line.len() + call.len() > WIDTH {
            writeln!(out, "{line}")?;
            line = String::from("   ");
        }
        line.push_str(&call);
    }
    writeln!(out, "{line}")?;
    if operators.iter().any(|operator| operator == "AddDynamicUpdateSlice()") {
        writeln!(out, "  AddDynamicUpdateSlice() needs TFLM of November 2025 or later")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_end_and_the_line_its_width() {
        let long = "functional_1/".repeat(20) + "relu";
        for (first, last) in
            [(&*long, "b"), ("a", &*long), (&*long, &*format!("{long}6")), (&*long, &*long), ("a", "b")]
        {
            let line = format!("  - {}", window(1234, first, last));
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert!(line.contains(&last[last.len().saturating_sub(6)..]), "{line}");
        }
        assert_eq!(window(3, "a", "b"), "3 ops, from `a` to `b`");
    }
}
