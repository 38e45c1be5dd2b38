//! What was gained, and what is proved about it.

use super::{int8_io, loops};
use crate::Failure;
use crate::args::OptimizeArgs;
use crate::commands::{
    as_typed, count, duration, factor, for_shell, missing, onnx, tflm, title, unknown, verdict,
};
use crate::picture;
use crate::printable::printable;
use crate::progress::thousands;
use crate::size::Size;
use serde_json::Value;
use serenity::runtimes::Kernels;
use serenity::scheduling::Algorithm;
use serenity::search::Proof;
use serenity::{
    Account, AppliedRewrite, Decision, FastSession, Format, Input, NeedWithKernels, Options, Plan,
    RewriteCost, Rewrites, refused_by_tflm,
};
use std::io::Write;
use std::time::Duration;

pub(super) struct Report<'a> {
    args: &'a OptimizeArgs,
    /// As it came.
    input: &'a Input,
    /// What the plan speaks of: as it came, or rewritten.
    planned: &'a Input,
    plan: &'a Plan,
    account: Account<'a>,
    /// From reading the model to the plan, whatever was tried on the way.
    elapsed: Duration,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        args: &'a OptimizeArgs,
        input: &'a Input,
        planned: &'a Input,
        plan: &'a Plan,
        elapsed: Duration,
    ) -> Self {
        Self { args, input, planned, plan, account: Account::new(input, planned, plan), elapsed }
    }

    /// Is the budget kept, if there is one?
    pub(super) fn fits(&self) -> Option<bool> {
        self.args.budget.map(|budget| self.account.fits(budget.0))
    }

    pub(super) fn to_json(&self) -> Value {
        let mut object = self.account.to_json(self.args.budget.map(|budget| budget.0));
        object["seconds"] = self.elapsed.as_secs_f64().into();
        object["output"] = self.args.output.clone().into();
        object
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (graph, plan) = (self.input.graph(), self.plan);
        let ops = count(plan.before.ops as u64, "op");
        let after = plan.loops.as_ref().map_or(plan.after.ops, |loops| loops.order.len());
        let fast = plan.session.as_ref().and_then(|session| session.as_ref().ok());
        let rewritten = match fast {
            Some(fast) => format!(", {after} as ONNX Runtime {} optimises it", printable(&fast.version)),
            None if plan.rewrites.is_empty() => String::new(),
            None => format!(", {after} after rewriting"),
        };
        let ops = fast.map_or(ops, |fast| count(fast.nodes as u64, "op"));
        let looped = plan
            .loops
            .as_ref()
            .map_or_else(String::new, |applied| format!(", {}", count(applied.loops.len() as u64, "loop")));
        let name = title(graph, &self.args.input);
        writeln!(out, "{name}: {ops}{rewritten}{looped}, memory model `{}`\n", plan.model)?;
        tflm::print_refused(self.input, plan.model, out)?;
        tflm::print_note(self.input, plan.model, out)?;
        self.print_table(out)?;
        int8_io::print(plan, out)?;
        self.print_rewrites(out)?;
        loops::print(self.args, self.input, self.planned, plan, self.fits() == Some(true), out)?;
        self.print_proofs(out)?;
        writeln!(
            out,
            "\n  {} {}, {}, {}\n",
            if plan.algorithm == Algorithm::File {
                "searched for".to_owned()
            } else {
                format!("found by {} in", plan.algorithm)
            },
            duration(self.elapsed),
            count(plan.stats.states, "state"),
            count(plan.stats.pieces.len() as u64, "piece")
        )?;
        self.print_picture(out)?;
        self.print_fit(out)?;
        onnx::print_notes(self.input, self.plan, self.args.output.as_deref(), out)?;
        unknown::print(&self.plan.unknown, &self.args.input, out)?;
        self.print_next_steps(out)
    }

    fn print_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let has_arena = plan.after.arena.is_some();
        // What loops hand on lies in the same bytes, and would count several times in a peak.
        let has_peak = plan.loops.is_none();
        let heading = match (has_arena, has_peak) {
            (true, true) => format!("{:>12} {:>14} {:>14}", "arena", "bytes", "peak"),
            (true, false) => format!("{:>12} {:>14}", "arena", "bytes"),
            (false, _) => format!("{:>12} {:>14}", "peak", "bytes"),
        };
        writeln!(out, "  {:<14} {heading}", "")?;
        let at_least = if plan.counts_everything() { "" } else { "at least; " };
        let mut row = |label: &str, arena: Option<u64>, peak: u64, remark: &str| {
            let arena = match arena {
                Some(bytes) => format!("{:>12} {:>14}", Size(bytes), thousands(bytes)),
                None if has_arena => format!("{:>27}", ""),
                None => format!("{:>12}", Size(peak)),
            };
            let peak = if has_peak { format!(" {:>14}", thousands(peak)) } else { String::new() };
            writeln!(out, "  {label:<14} {arena}{peak}   {at_least}{remark}")
        };
        let gain = match (plan.before.needs(), plan.after.needs()) {
            (before, after) if after < before && !plan.counts_everything() => {
                "less of what is known; more cannot be said".to_owned()
            }
            (before, after) if after < before => format!(
                "{:.2}x less ({:.1} % saved)",
                factor(before, after),
                (1.0 - after as f64 / before as f64) * 100.0
            ),
            _ if plan.model.kernels() == Some(Kernels::Any) && plan.offsets.is_some() => {
                "as much with the hungriest kernels; others are below".to_owned()
            }
            _ if plan.session.as_ref().is_some_and(Result::is_ok) => "as much".to_owned(),
            _ if plan.reorders() => "as much is asked for, but the arena rounds it up less".to_owned(),
            _ => "the model's own order is kept".to_owned(),
        };
        let before = match &plan.session {
            Some(Ok(FastSession { measured: Ok(_), .. })) => "a default session, as measured",
            Some(Ok(_)) => "a default session, as predicted",
            _ => "the order of the model",
        };
        row("before", plan.before.arena, plan.before.peak, before)?;
        if !has_arena {
            row("Kahn's order", None, self.kahn()?, "breadth first, the paper's baseline")?;
        }
        row("after", plan.after.arena, plan.after.peak, &gain)?;
        // With loops, nothing is known of what others need.
        if plan.loops.is_some() && plan.least() == 0 {
            return Ok(());
        }
        let is_rewritten =
            matches!(&plan.session, Some(Ok(FastSession { rewrites, .. })) if !rewrites.is_empty());
        let verdict = match plan.is_optimal() {
            true if is_rewritten => "proved for these rewrites",
            true => "proved optimal",
            false => "not proved, see below",
        };
        row("lower bound", plan.after.arena.map(|_| plan.least()), plan.bound, verdict)?;
        Ok(())
    }

    /// What is proved of what, and what ended the rest.
    fn print_proofs(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let decisions = plan.decisions();
        let kernels =
            plan.model.kernels().map_or_else(String::new, |kernels| format!(", kernels `{kernels}`"));
        let under = format!("memory model `{}`{kernels}", plan.model);
        if plan.is_optimal() {
            let nothing: Vec<&str> = decisions.iter().map(|(decision, ..)| self.none(*decision)).collect();
            let verb = if nothing.len() == 1 { "needs" } else { "need" };
            writeln!(out, "\n  proved: {} {verb} less ({under})", nothing.join(" and "))?;
        } else if !plan.unknown.is_empty() {
            writeln!(out, "\n  {} ({under})", verdict(plan))?;
        } else {
            writeln!(out, "\n  what is proved ({under}):")?;
            if plan.loops.is_some() {
                writeln!(out, "  {:<9} the same bit for bit, followed row by row in this arena", "loops")?;
            }
            for (decision, proof, bound) in decisions {
                let verdict = match (proof, decision) {
                    (Proof::Optimal, Decision::Rewrites) => "no other set needs less".to_owned(),
                    (Proof::Optimal, Decision::Order) if plan.rewrites.is_empty() => {
                        "no other needs less".to_owned()
                    }
                    (Proof::Optimal, Decision::Order) => "no other needs less, for these rewrites".to_owned(),
                    (Proof::Optimal, Decision::Places) => "no others need less, for this order".to_owned(),
                    (Proof::Gap { stopped }, _) if bound == 0 => {
                        format!("not proved, {}", plan.interrupted.unwrap_or(stopped))
                    }
                    (Proof::Gap { stopped }, _) => {
                        let stopped = plan.interrupted.unwrap_or(stopped);
                        format!("not proved, {stopped}; none needs less than {}", thousands(bound))
                    }
                };
                writeln!(out, "  {:<9} {verdict}", decision.name())?;
            }
        }
        if let Some(reason) = plan.interrupted {
            writeln!(out, "  note: {reason}, so another run may end with another result")?;
        }
        Ok(())
    }

    fn print_rewrites(&self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(Ok(fast)) = &self.plan.session
            && !fast.rewrites.is_empty()
        {
            let places = count(fast.rewrites.len() as u64, "place");
            writeln!(out, "\n  rewritten before that ({places}), the same up to rounding:")?;
            for text in &fast.rewrites {
                writeln!(out, "  - {}", printable(text))?;
            }
        }
        if self.args.rewrite.are_off_by_default(self.plan.model, &self.args.runtime) {
            writeln!(
                out,
                "\n  not rewritten: XNNPACK, LiteRT's default, packs the weights of every operator, and more\n  operators may take more; without it, say --kernels reference"
            )?;
        }
        if self.plan.rewrites.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n  rewritten first ({}):", count(self.plan.rewrites.len() as u64, "place"))?;
        for rewrite in &self.plan.rewrites {
            // Only LiteRT's optimised kernels are ever named, which run nothing but its files.
            let rounds = !rewrite.rounds_in.is_empty() && self.input.file.format() == Format::TfLite;
            let exact = match (rewrite.exact, rounds) {
                (true, false) => "bit for bit",
                (true, true) => "bit for bit (but up to rounding in LiteRT's optimised kernels)",
                (false, _) => "up to rounding",
            };
            writeln!(out, "  - {}, the same {exact}: {}", rewrite.rule, printable(&rewrite.text))?;
            writeln!(out, "    {}", worth(rewrite))?;
        }
        if let Some(choice) = &self.plan.choice {
            let [without, with] = [choice.without, choice.with].map(thousands);
            let sets = count(choice.sets as u64, "set");
            writeln!(out, "  chosen among {sets}: {without} bytes without, {with} with these")?;
        }
        Ok(())
    }

    /// What is said of a decision that is proved.
    fn none(&self, decision: Decision) -> &'static str {
        match decision {
            Decision::Rewrites
                if self.args.rewrite.on(self.plan.model, &self.args.runtime) == Rewrites::Exact =>
            {
                "no set of exact rewrites"
            }
            Decision::Rewrites => "no set of rewrites",
            Decision::Order => "no order",
            Decision::Places => "no places",
        }
    }

    fn kahn(&self) -> Result<u64, Failure> {
        let options = Options { model: self.plan.model, algorithm: Algorithm::Kahn, ..Options::default() };
        Ok(serenity::schedule(self.input.graph(), &options)?.after.peak)
    }

    fn print_picture(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let (old, new) = (self.account.profile_before(), self.account.profile_after());
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
        let legend = if new.peak() < old.peak() { "█ after  ░ before" } else { "█ bytes in use" };
        let known = if plan.counts_everything() { "" } else { " (of known size)" };
        writeln!(out, "memory over time, op by op   {legend}{known}")?;
        for row in picture::memory_over_time(&old, &new, width) {
            writeln!(out, "{row}")?;
        }
        Ok(())
    }

    /// Does it fit what the user has?
    fn print_fit(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (before, after) = (self.account.needed(), self.account.needs());
        if let Some((_, tail)) = self.account.tails {
            let margin = tail.margin(self.plan.after.needs());
            let at_least = if self.plan.counts_everything() { "" } else { "at least " };
            writeln!(
                out,
                "\nthe whole arena on a 32-bit device: {at_least}{} bytes before, {} after (about {} of them persist; add {} to be safe)",
                thousands(before),
                thousands(after),
                thousands(tail.arm32),
                thousands(margin)
            )?;
            self.print_sets(out)?;
            if tail.unknown_kernels > 0 {
                writeln!(
                    out,
                    "note: TFLM has no kernel that we know for {} of the model: your build must have one",
                    count(tail.unknown_kernels, "operator")
                )?;
            }
        }
        let is_run = refused_by_tflm(self.input, self.plan.model).is_empty();
        if let Some((_, tail)) = self.account.tails.filter(|_| self.plan.counts_everything() && is_run) {
            let margin = tail.margin(self.plan.after.needs());
            let boards = self.account.boards(after + margin);
            let new = boards.len() - self.account.boards(before + margin).len();
            match boards.first() {
                Some(smallest) => writeln!(
                    out,
                    "boards with that much RAM: {} of {}, the smallest is {} ({}, {}){}",
                    boards.len(),
                    serenity::boards().len(),
                    smallest.name,
                    smallest.chip,
                    Size(smallest.ram),
                    if new > 0 { format!("; {new} more than before") } else { String::new() }
                )?,
                None => writeln!(out, "no board we know has that much on-chip RAM")?,
            }
        }
        if let Some(budget) = self.args.budget {
            match missing(after, budget) {
                0 if !self.plan.counts_everything() => {
                    let (needs, budget) = (thousands(after), budget.to_string());
                    writeln!(
                        out,
                        "\n{}",
                        unknown::why_no_budget(&self.plan.unknown, &self.args.input, &needs, &budget)
                    )?;
                }
                0 => writeln!(out, "\nfits {budget} with {} bytes to spare", thousands(budget.0 - after))?,
                bytes => writeln!(out, "\ndoes not fit {budget}: {} bytes are missing", thousands(bytes))?,
            }
        }
        Ok(())
    }

    /// What that is with each set of kernels, if it is not known which will run it.
    fn print_sets(&self, out: &mut impl Write) -> Result<(), Failure> {
        let needs = serenity::needs_by_kernels(self.planned, self.plan);
        if needs.len() < 2 {
            return Ok(());
        }
        let list = |counted: bool| {
            let of_set = |need: &&NeedWithKernels| need.counted == counted;
            let text = |need: &NeedWithKernels| {
                format!("{} {}", thousands(need.total.unwrap_or(need.arena)), need.kernels)
            };
            needs.iter().filter(of_set).map(text).collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "  enough for each of {}", list(true))?;
        writeln!(out, "  but not for {}: --kernels says which yours are", list(false))?;
        Ok(())
    }

    fn print_next_steps(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (args, plan) = (self.args, self.plan);
        let given = as_typed(&args.input, &args.read, &args.runtime);
        let is_fast = matches!(plan.session, Some(Ok(_)));
        // Then the plan is for the file that is written.
        let written = args.output.as_deref().filter(|_| is_fast);
        let input = written.map_or_else(|| given.clone(), for_shell);
        let loops = format!("{}{}", args.loops.as_typed(), if args.int8_io { " --int8-io" } else { "" });
        let format = self.input.file.format();
        let extension = format.extensions()[0];
        writeln!(out)?;
        if self.input.plan().is_some() && plan.reorders() && plan.offsets.is_none() {
            writeln!(
                out,
                "note: the plan of the arena that the model came with is for another order: it is dropped"
            )?;
        }
        let in_place =
            args.output.as_ref().is_some_and(|path| serenity::write::is_same_file(path, &args.input));
        match (&args.output, &args.plan) {
            (None, _)
                if is_fast
                    || plan.reorders()
                    || plan.offsets.is_some()
                    || !plan.rewrites.is_empty()
                    || plan.int8_io.as_ref().is_some_and(|io| !io.changed.is_empty()) =>
            {
                writeln!(
                    out,
                    "write it:    serenity optimize {given}{loops} -o smaller.{extension} --plan plan.json"
                )?;
            }
            (Some(path), _) if in_place => writeln!(out, "written over `{path}`")?,
            (Some(path), None) => writeln!(out, "written to `{path}`")?,
            (Some(path), Some(plan)) => {
                writeln!(out, "written to `{path}`; prove it:  serenity check {} {input}", for_shell(plan))?;
            }
            (None, Some(plan)) => writeln!(out, "prove it:    serenity check {} {input}", for_shell(plan))?,
            (None, None) => {}
        }
        if let Some(path) = &args.output
            && format.has_weights()
            && !in_place
        {
            let is_exact = match &plan.session {
                Some(Ok(fast)) => fast.rewrites.is_empty(),
                _ => plan.rewrites.iter().all(|rewrite| rewrite.exact),
            };
            let tolerance = if is_exact { "" } else { " --tolerance 1e-5" };
            let (input, path) = (for_shell(&args.input), for_shell(path));
            writeln!(out, "run both:    serenity verify {input} {path}{tolerance}")?;
        }
        writeln!(out, "look closer: serenity inspect {input}   who is alive at the peak")?;
        // Orders are compared as the plan counts them.
        let counted = if plan.model.is_planned() && args.runtime.runtime.is_none() {
            " --runtime tflm-planned"
        } else {
            ""
        };
        writeln!(out, "compare:     serenity sample {input}{counted}   how good are random orders?")?;
        if args.budget.is_none() {
            writeln!(
                out,
                "must fit:    serenity optimize {given}{loops} --budget 250KB   exit code 1 if it does not"
            )?;
        }
        Ok(())
    }
}

/// What a rewrite gains by itself, and what it costs.
fn worth(rewrite: &AppliedRewrite) -> String {
    let gain = match rewrite.gain {
        Some(0) => "worth nothing alone".to_owned(),
        Some(gain) => format!("worth {} bytes", thousands(gain)),
        None => "not measured alone".to_owned(),
    };
    let RewriteCost { ops, weight_bytes, additions } = rewrite.cost;
    let costs: Vec<String> = [
        (ops, if ops.abs() == 1 { "op" } else { "ops" }),
        (weight_bytes, "bytes of weights"),
        (additions, "additions"),
    ]
    .into_iter()
    .filter(|(amount, _)| *amount != 0)
    .map(|(amount, what)| {
        let sign = if amount < 0 { "-" } else { "+" };
        format!("{sign}{} {what}", thousands(amount.unsigned_abs()))
    })
    .collect();
    if costs.is_empty() { format!("{gain}; costs nothing") } else { format!("{gain}; {}", costs.join(", ")) }
}
