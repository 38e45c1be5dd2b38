//! What was gained, and what is proved about it.

use super::{Job, int8_io, loops};
use crate::commands::several::Done;
use crate::commands::{count, duration, missing, onnx, tflm, title, unknown};
use crate::picture;
use crate::printable::printable;
use crate::screen::picture_width;
use crate::screen::style::{TITLE, paint};
use crate::{Failure, Outcome};
use serde_json::{Value, json};
use serenity::runtimes::{Tail, main_graph};
use serenity::scheduling::Algorithm;
use serenity::{Footprint, Input, Need, NeedWithKernels, Plan};
use std::io::Write;
use std::time::Duration;

pub(super) struct Report<'a> {
    pub(super) job: &'a Job<'a>,
    /// As it came.
    pub(super) input: &'a Input,
    /// What the plan speaks of: as it came, or rewritten.
    pub(super) planned: &'a Input,
    pub(super) plan: &'a Plan,
    /// What TFLM keeps besides the head, before and after, if that is the target and the model is known.
    pub(super) tails: Option<(Tail, Tail)>,
    /// From reading the model to the plan, whatever was tried on the way.
    elapsed: Duration,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        job: &'a Job<'a>,
        input: &'a Input,
        planned: &'a Input,
        plan: &'a Plan,
        elapsed: Duration,
    ) -> Self {
        let tails = input.tail(plan.model).zip(planned.tail(plan.model));
        Self { job, input, planned, plan, tails, elapsed }
    }

    /// What must fit a device.
    pub(super) fn need(&self) -> Need {
        Need::of(self.planned, self.plan)
    }

    /// The same for the model as it came, without the margin.
    pub(super) fn needed_before(&self) -> u64 {
        let head = self.plan.before.needs();
        self.tails.map_or(head, |(tail, _)| tail.needed(head).arm32)
    }

    /// Is the budget kept, if there is one?
    pub(super) fn fits(&self) -> Option<bool> {
        self.job.budget.map(|budget| self.plan.fits(self.need(), budget.0))
    }

    /// The same in a row.
    pub(super) fn summary(&self) -> Done {
        let plan = self.plan;
        let known = if plan.counts_everything() { "" } else { "at least; " };
        let proof = if plan.is_optimal() { "proved" } else { "not proved" };
        let fit = match self.fits() {
            Some(false) => ", too large",
            Some(true) => ", fits",
            None => "",
        };
        Done {
            outcome: if self.fits() == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done },
            before: self.needed_before(),
            after: self.need().bytes,
            remark: format!("{known}{proof}{fit}"),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut object = self.plan.to_json();
        let footprint = |f: Footprint, tail: Option<Tail>| {
            let total = tail.map(|tail| tflm::whole_to_json(&tail, f.needs()));
            json!({"peak": f.peak, "arena": f.arena, "total": total, "ops": f.ops})
        };
        object["before"] = footprint(self.plan.before, self.tails.map(|(before, _)| before));
        object["after"] = footprint(self.plan.after, self.tails.map(|(_, after)| after));
        let needs = serenity::needs_by_kernels(self.planned, self.plan);
        if !needs.is_empty() {
            let of_set = |need: &NeedWithKernels| {
                let kernels = need.kernels.to_string();
                json!({"kernels": kernels, "arena": need.arena, "total": need.total, "counted": need.counted})
            };
            object["by_kernels"] = needs.iter().map(of_set).collect();
        }
        object["unsupported"] = tflm::refused_to_json(self.input, self.plan.model);
        object["plan_note"] = tflm::note_to_json(self.input, self.plan.model);
        object["seconds"] = self.elapsed.as_secs_f64().into();
        object["output"] = self.job.output.into();
        object["budget"] = self.job.budget.map(|budget| budget.0).into();
        object["fits"] = self.fits().into();
        let known = self.job.budget.filter(|_| self.plan.counts_everything());
        object["missing"] = known.map(|budget| missing(self.need().to_be_safe(), budget)).into();
        if let Some(options) = onnx::session_options(self.input, self.plan.model) {
            object["session_options"] = options;
        }
        if self.tails.is_some() && self.plan.counts_everything() {
            object["boards"] = self.boards().iter().map(|board| board.name).collect();
        }
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
        let name = paint(TITLE, title(graph, self.job.input));
        writeln!(out, "{name}: {ops}{rewritten}{looped}, memory model `{}`\n", plan.model)?;
        tflm::print_refused(self.input, plan.model, out)?;
        tflm::print_note(self.input, plan.model, out)?;
        self.print_figures(out)?;
        int8_io::print(plan, out)?;
        self.print_rewrites(out)?;
        loops::print(self.job, self.input, self.planned, plan, self.fits() == Some(true), out)?;
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
        onnx::print_notes(self.input, self.plan, self.job.output, out)?;
        unknown::print(&self.plan.unknown, self.job.input, out)?;
        self.print_next_steps(out)
    }

    fn print_picture(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        // Ops that run graphs need what those do.
        // Of what a default session runs, only what it asks for is known.
        let came = if matches!(plan.session, Some(Ok(_))) { self.planned } else { self.input };
        let came = &main_graph(came.graphs(), &[], plan.model);
        let graph = &main_graph(self.planned.graphs(), &plan.bodies, plan.model);
        let old = plan.model.lifetimes(came).profile(&plan.model.execution_order(came, &came.file_order()));
        let new = loops::profile(self.planned, plan)
            .unwrap_or_else(|| plan.model.lifetimes(graph).profile(&plan.order));
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
