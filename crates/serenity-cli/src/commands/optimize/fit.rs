//! Says whether the model fits the budget.

use super::report::Report;
use crate::Failure;
use crate::commands::budget::Question;
use crate::commands::count;
use crate::progress::thousands;
use crate::screen::layout::HANG;
use crate::screen::style::{GOOD, NOTE, paint};
use serenity::account::refused_by_tflm;
use serenity::pipeline::{Need, NeedWithKernels};
use std::io::Write;

impl Report<'_> {
    pub(super) fn print_fit(&self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some((_, tail)) = self.account.tails {
            let need @ Need { bytes, margin } = self.account.need();
            let head = self.plan.after.needs();
            let at_least = if self.plan.counts_everything() { "" } else { "at least " };
            writeln!(
                out,
                "\n{}: {HANG}{} activations + {} TFLM bookkeeping + {} margin",
                paint(GOOD, format!("set the arena to {at_least}{} bytes", thousands(need.to_be_safe()))),
                thousands(head),
                thousands(bytes - head),
                thousands(margin)
            )?;
            self.print_sets(out)?;
            if tail.unknown_kernels > 0 {
                writeln!(
                    out,
                    "{} TFLM has no known kernel for {}: your build must provide one",
                    paint(NOTE, "note:"),
                    count(tail.unknown_kernels, "operator")
                )?;
            }
            self.print_boards(out)?;
        }
        self.print_kernels_to_avoid(out)?;
        self.print_budget(out)
    }

    /// A plan for one set of kernels may be wrong with others, and nothing in TFLM tells whoever runs it there.
    fn print_kernels_to_avoid(&self, out: &mut impl Write) -> Result<(), Failure> {
        let avoid = serenity::pipeline::kernels_to_avoid(self.planned, self.plan);
        let Some(kernels) = self.plan.model.kernels().filter(|_| !avoid.is_empty()) else { return Ok(()) };
        let names: Vec<String> = avoid.iter().map(|set| format!("`{set}`")).collect();
        let remedy = if kernels.are_emitted() { "" } else { " (--kernels any plans for all)" };
        writeln!(
            out,
            "{} this plan is for `{kernels}` kernels; with {} outputs may be wrong{remedy}",
            paint(NOTE, "note:"),
            names.join(", ")
        )?;
        Ok(())
    }

    fn print_boards(&self, out: &mut impl Write) -> Result<(), Failure> {
        if !self.plan.counts_everything() || !refused_by_tflm(self.input, self.plan.model).is_empty() {
            return Ok(());
        }
        let boards = self.account.boards(self.account.need().to_be_safe());
        let before = self.account.boards(self.account.needed().to_be_safe());
        let new = boards.len().saturating_sub(before.len());
        match boards.first() {
            Some(smallest) => writeln!(
                out,
                "boards with enough RAM: {HANG}{} of {}, the smallest is {} ({}, {} KiB){}",
                boards.len(),
                serenity::boards::boards().len(),
                smallest.name,
                smallest.chip,
                smallest.ram >> 10,
                if new > 0 { format!("; {new} more than before") } else { String::new() }
            )?,
            None => writeln!(out, "no known board has that much on-chip RAM")?,
        }
        Ok(())
    }

    fn print_budget(&self, out: &mut impl Write) -> Result<(), Failure> {
        let Some(budget) = self.job.budget else { return Ok(()) };
        let question = Question {
            budget,
            need: self.account.need(),
            fault: None,
            unknown: &self.plan.unknown,
            counts_everything: self.plan.counts_everything(),
            source: self.job.input,
            manner: "",
        };
        question.answer(out)?;
        Ok(())
    }

    /// What that is with each set of kernels, if it is not known which will run it.
    fn print_sets(&self, out: &mut impl Write) -> Result<(), Failure> {
        let needs = serenity::pipeline::needs_by_kernels(self.planned, self.plan);
        if needs.len() < 2 {
            return Ok(());
        }
        let whole = self.account.need().bytes;
        let list = |is_enough: bool| {
            let of_set = |need: &&NeedWithKernels| {
                is_enough == (need.counted || need.total.is_some_and(|total| total <= whole))
            };
            let text = |need: &NeedWithKernels| {
                format!("{} ({})", need.kernels, thousands(need.total.unwrap_or(need.arena)))
            };
            needs.iter().filter(of_set).map(text).collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "  enough for these kernels: {HANG}{}", list(true))?;
        let others = list(false);
        if !others.is_empty() {
            writeln!(out, "  not enough for: {HANG}{others}; name yours with --kernels")?;
        }
        Ok(())
    }
}
