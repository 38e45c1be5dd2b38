//! What was gained, and what is proved about it.

use super::{Job, attempts, channels, int8_io, loops};
use crate::commands::several::Done;
use crate::commands::{count, duration, onnx, soft_budgets, tflm, title, unknown};
use crate::picture;
use crate::printable::printable;
use crate::screen::picture_width;
use crate::screen::style::{TITLE, paint};
use crate::{Failure, Outcome};
use serenity::account::{Account, StatedAccount};
use serenity::pipeline::Attempt;
use serenity::schedule::Algorithm;
use serenity::{Input, Plan};
use std::io::Write;
use std::time::Duration;

pub(super) struct Report<'a> {
    pub(super) job: &'a Job<'a>,
    /// As it came.
    pub(super) input: &'a Input,
    /// What the plan speaks of: as it came, or rewritten.
    pub(super) planned: &'a Input,
    pub(super) plan: &'a Plan,
    /// Every variant that was tried.
    attempts: &'a [Attempt],
    pub(super) account: Account<'a>,
    /// From reading the model to the plan, whatever was tried on the way.
    elapsed: Duration,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        job: &'a Job<'a>,
        input: &'a Input,
        planned: &'a Input,
        plan: &'a Plan,
        attempts: &'a [Attempt],
        elapsed: Duration,
    ) -> Self {
        Self { job, input, planned, plan, attempts, account: Account::new(input, planned, plan), elapsed }
    }

    /// Is the budget kept, if there is one?
    pub(super) fn fits(&self) -> Option<bool> {
        self.job.budget.map(|budget| self.account.fits(budget.bytes))
    }

    /// The row of this model in the table of several models.
    pub(super) fn summary(&self) -> Done {
        let plan = self.plan;
        let proof = if plan.is_optimal() { "proved" } else { "not proved" };
        let fit = match self.fits() {
            Some(false) => ", too large",
            Some(true) => ", fits",
            None => "",
        };
        Done {
            outcome: if self.fits() == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done },
            before: self.account.needed().bytes,
            after: self.account.need().bytes,
            counts_everything: plan.counts_everything(),
            remark: format!("{proof}{fit}"),
        }
    }

    pub(super) fn stated(&self) -> StatedAccount<'a> {
        let mut account = self.account.stated(self.job.budget.map(|budget| budget.bytes));
        account.plan.seconds = self.elapsed.as_secs_f64();
        account
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
            .map_or_else(String::new, |applied| format!(", {}", count(applied.windows.len() as u64, "loop")));
        let name = paint(TITLE, title(graph, self.job.input));
        writeln!(out, "{name}: {ops}{rewritten}{looped}, memory model `{}`\n", plan.model)?;
        tflm::print_refused(self.input, plan.model, out)?;
        tflm::print_note(self.input, plan.model, out)?;
        if graph.ops().is_empty() {
            writeln!(out, "the model has no operators: there is nothing to change")?;
            self.print_fit(out)?;
            if let Some(path) = self.job.output {
                writeln!(out, "\nwritten to `{path}`")?;
            }
            return Ok(());
        }
        self.print_figures(out)?;
        self.print_fit(out)?;
        int8_io::print(plan, out)?;
        channels::print(plan, out)?;
        self.print_rewrites(out)?;
        loops::print(self.job, self.input, self.planned, plan, self.fits() == Some(true), out)?;
        self.print_proofs(out)?;
        if self.job.verbose {
            self.print_search(out)?;
        }
        writeln!(out)?;
        self.print_picture(out)?;
        onnx::print_notes(self.input, self.plan, self.job.output, out)?;
        unknown::print(&self.plan.unknown, self.job.input, out)?;
        attempts::print(self.job, self.attempts, self.plan.model, out)?;
        self.print_next_steps(out)
    }

    fn print_search(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let by = match plan.algorithm {
            Algorithm::File => "searched for".to_owned(),
            algorithm => format!("found by {algorithm} in"),
        };
        let (states, pieces) =
            (count(plan.stats.states, "state"), count(plan.stats.pieces.len() as u64, "piece"));
        writeln!(out, "\n  {by} {}, {states}, {pieces}", duration(self.elapsed))?;
        if !plan.stats.soft_budgets.is_empty() {
            writeln!(out)?;
            soft_budgets::print_stages(plan, self.elapsed, out)?;
            soft_budgets::print(plan, out)?;
        }
        Ok(())
    }

    fn print_picture(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let (old, new) = (self.account.profile_before(), self.account.profile_after());
        let width = picture_width();
        let legend = if new.peak() < old.peak() { "█ after  ░ before" } else { "█ bytes in use" };
        let known = if plan.counts_everything() { "" } else { " (of known size)" };
        writeln!(out, "memory over time   {legend}{known}")?;
        for row in picture::memory_over_time(&old, &new, width) {
            writeln!(out, "{row}")?;
        }
        Ok(())
    }
}
