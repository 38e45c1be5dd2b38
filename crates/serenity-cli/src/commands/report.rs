//! `serenity report`: a page about a model.

use super::page::{self, PageFiles};
use super::{as_typed, for_shell, missing, title, with_search};
use crate::args::ReportArgs;
use crate::progress::{ProgressLine, thousands};
use crate::signals::cancel_on_signal;
use crate::size::GivenSize;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::account::{StatedBudget, StatedVerdict};
use serenity::pipeline::Need;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{Optimized, Options};
use serenity_page::{Page, PageOptions};
use std::io::Write;

pub(crate) fn run(args: &ReportArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    page::check_targets(Some(("-o", &args.output)), args.svg.as_deref(), &args.input, &[])?;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let target = args.changes.target(&args.runtime, args.budget);
    let options = target.options(&input, target.model(&input)?)?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = Options {
        progress,
        plan_arena: !args.changes.no_plan,
        ..with_search(options, &args.search, &cancel)?
    };
    let found = serenity::optimize(&input, &options)?;
    let asked = PageOptions {
        budget: args.budget.map(|budget| budget.bytes),
        budget_typed: args.budget.map_or_else(String::new, GivenSize::as_argument),
        ways: None,
        typed: as_typed(&args.input, &args.read, &args.runtime),
        orders: args.orders,
    };
    let drawn = serenity_page::page(&input, &found, &options, &asked);
    drop(line);
    let files = PageFiles::of(&drawn, Some(&args.output), args.svg.as_deref());
    serenity::write::write_together(&files.files().collect::<Vec<_>>())?;
    let fits = args.budget.map(|budget| found.plan.fits(Need::of(&found.model, &found.plan), budget.bytes));
    if args.talk.json {
        let object = stated(args, &found, &drawn, &files, fits);
        writeln!(out, "{}", json::object("report", Some(&args.input), object))?;
    } else {
        print(args, &drawn, &files, out)?;
    }
    Ok(if fits == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done })
}

/// `serenity report`: what the page says first, and which files were written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reported<'a> {
    /// The name of the graph; may be empty.
    graph: &'a str,
    /// The memory model.
    runtime: MemoryModel,
    /// For TFLM: the kernels that it is built with.
    kernels: Option<Kernels>,
    /// What `before` and `after` count, for people: for a .tflite on TFLM the whole arena of a 32-bit device, otherwise
    /// the runtime's arena or the peak.
    counts: &'a str,
    /// Bytes that the model needs as it came.
    before: u64,
    /// Bytes that the planned model needs.
    after: u64,
    #[serde(flatten)]
    proof: StatedVerdict<'a>,
    /// What sets the need, in sentences, the most important first.
    why: &'a [String],
    #[serde(flatten)]
    fit: StatedBudget,
    /// The page.
    output: &'a str,
    /// The size of the page.
    bytes: usize,
    /// The pictures written by --svg.
    pictures: Vec<&'a str>,
}

fn stated<'a>(
    args: &'a ReportArgs,
    found: &'a Optimized,
    drawn: &'a Page,
    files: &'a PageFiles,
    fits: Option<bool>,
) -> Reported<'a> {
    let Optimized { model, plan, .. } = found;
    let known = args.budget.filter(|_| plan.counts_everything());
    let missing = known.map(|budget| missing(Need::of(model, plan).to_be_safe(), budget));
    let budget = args.budget.map(|budget| budget.bytes);
    Reported {
        graph: &plan.graph,
        runtime: plan.model,
        kernels: plan.model.kernels(),
        counts: &drawn.headline.counts,
        before: drawn.headline.before,
        after: drawn.headline.after,
        proof: StatedVerdict::of(plan),
        why: &drawn.headline.why,
        fit: StatedBudget { budget, fits, missing },
        output: &args.output,
        bytes: files.page_bytes(),
        pictures: files.pictures(),
    }
}

fn print(args: &ReportArgs, drawn: &Page, files: &PageFiles, out: &mut impl Write) -> Result<(), Failure> {
    let headline = &drawn.headline;
    let unit = headline.unit;
    let known = |bytes: u64| match bytes {
        0 if headline.at_least => "unknown".to_owned(),
        bytes if headline.at_least => format!("at least {}", unit.size(bytes)),
        bytes => unit.size(bytes),
    };
    writeln!(out, "{}: {} before, {} after", headline.counts, known(headline.before), known(headline.after))?;
    if !headline.fit_text.is_empty() {
        writeln!(out, "{}", headline.fit_text)?;
    }
    if let Some(why) = headline.why.first() {
        writeln!(out, "{}", crate::printable::printable(why))?;
    }
    let bytes = files.page_bytes() as u64;
    writeln!(
        out,
        "\npage written to {} ({} bytes); open it in a browser",
        for_shell(&args.output),
        thousands(bytes)
    )?;
    if let Some(folder) = &args.svg {
        writeln!(out, "{} pictures written to {}", files.pictures().len(), for_shell(folder))?;
    }
    Ok(())
}
