//! What else would make a model need less: the cheapest first, each with what it would need then.

use super::PageOptions;
use crate::rewrite::whole_need;
use crate::{Input, Loops, Optimized, Options, Rewrites, boards, estimate_loops, plan_graphs};
use serenity_formats::Format;
use serenity_report::page::{Remedy, size};
use serenity_runtimes::{Kernels, MemoryModel};

/// Shares of more multiplications that are tried, the cheapest first.
const MORE_MACS: [f64; 3] = [0.1, 0.5, 2.0];

/// Everything that can be done, as far as it is worth a line. Where nothing was to fit, only what costs no search.
pub(super) fn remedies(
    input: &Input,
    found: &Optimized,
    options: &Options,
    asked: &PageOptions,
) -> Vec<Remedy> {
    let needs = whole_need(&found.model, &found.plan);
    let is_over = asked.budget.is_some_and(|budget| !found.plan.fits(needs, budget));
    let is_under = asked.budget.is_some() && !is_over;
    if is_under {
        return Vec::new();
    }
    let case = Case { input, found, options, asked, needs, is_over };
    let mut remedies: Vec<Remedy> = Vec::new();
    remedies.extend(case.kernels());
    remedies.extend(case.int8_io());
    remedies.extend(case.loops());
    // Of those that help, the cheapest that fits comes first.
    remedies.sort_by_key(|remedy| remedy.fits == Some(false));
    if is_over {
        remedies.extend(case.impossible(&remedies));
        remedies.extend(case.board());
    }
    remedies
}

struct Case<'a> {
    input: &'a Input,
    found: &'a Optimized,
    options: &'a Options,
    asked: &'a PageOptions,
    needs: u64,
    is_over: bool,
}

impl Case<'_> {
    fn remedy(&self, text: String, flags: &str, needs: Option<u64>) -> Remedy {
        let budget = self.asked.budget;
        let limit = budget.map_or_else(String::new, |budget| format!(" --budget {budget}"));
        Remedy {
            text,
            command: Some(format!("serenity optimize {}{flags}{limit}", self.asked.typed)),
            needs,
            fits: budget.zip(needs).map(|(budget, needs)| needs <= budget),
        }
    }

    /// Kernels that are known allow more to be written in place.
    fn kernels(&self) -> Vec<Remedy> {
        let MemoryModel::Tflm(Kernels::Any) = self.options.model.without_plan() else { return Vec::new() };
        if !self.is_over || !self.options.plan_arena || self.found.plan.loops.is_some() {
            return Vec::new();
        }
        let with = |kernels: Kernels| {
            let model = self.options.model.with_kernels(kernels);
            let options = Options { model, rewrites: Rewrites::None, loops: None, ..self.options.clone() };
            let plan = plan_graphs(self.found.model.graphs(), &options).ok()?;
            let needs = whole_need(&self.found.model, &plan);
            (needs < self.needs).then(|| {
                let text = format!(
                    "If TFLM is built with the `{kernels}` kernels, say so: then more may be written in place, and it needs {}.",
                    size(needs)
                );
                self.remedy(text, &format!(" --kernels {kernels}"), Some(needs))
            })
        };
        [Kernels::Reference, Kernels::CmsisNn].into_iter().filter_map(with).collect()
    }

    /// Floats at the ends are four times as large.
    fn int8_io(&self) -> Option<Remedy> {
        if self.options.int8_io
            || self.input.file.format() != Format::TfLite
            || self.found.plan.loops.is_some()
        {
            return None;
        }
        let (model, io) = self.input.with_quantized_io().ok()?;
        let ports = io.changed.len();
        if ports == 0 {
            return None;
        }
        let what = format!(
            "Let the model take and give whole numbers instead of floats ({ports} input{} or output{} converted inside): another contract for the application",
            if ports == 1 { "" } else { "s" },
            if ports == 1 { " is" } else { "s are" }
        );
        if !self.is_over {
            return Some(self.remedy(format!("{what}."), " --int8-io", None));
        }
        let options =
            Options { rewrites: Rewrites::None, loops: None, given_plan: None, ..self.options.clone() };
        let plan = plan_graphs(model.graphs(), &options).ok()?;
        let needs = whole_need(&model, &plan);
        (needs < self.needs)
            .then(|| self.remedy(format!("{what}, and at most {}.", size(needs)), " --int8-io", Some(needs)))
    }

    /// Windows of operators, a few rows at a time.
    fn loops(&self) -> Option<Remedy> {
        if self.input.file.format() != Format::TfLite || self.found.plan.loops.is_some() {
            return None;
        }
        let tail = self.needs - self.found.plan.after.needs();
        let mut best: Option<(f64, f64, u64)> = None;
        for most_extra_macs in MORE_MACS {
            let loops = Loops { most_extra_macs, enough: self.asked.budget };
            let Some(estimate) = estimate_loops(self.found, loops, self.options) else { continue };
            let needs = estimate.arena + tail;
            if needs < self.needs / 20 * 19 && best.is_none_or(|best| needs < best.2) {
                best = Some((most_extra_macs, estimate.extra_macs, needs));
            }
            let is_enough = self.asked.budget.is_none_or(|budget| best.is_some_and(|best| best.2 <= budget));
            if is_enough {
                break;
            }
        }
        let (most, extra, needs) = best?;
        let text = format!(
            "Compute the widest parts a few rows at a time, in loops: about {} for {:.1} % more multiplications, the same bit for bit.",
            size(needs),
            100.0 * extra
        );
        let flags = if most > MORE_MACS[0] {
            format!(" --loops --max-extra-macs {:.0}%", 100.0 * most)
        } else {
            " --loops".to_owned()
        };
        Some(self.remedy(text, &flags, Some(needs)))
    }

    /// What no order and no places can do, if nothing else fits.
    fn impossible(&self, others: &[Remedy]) -> Option<Remedy> {
        let budget = self.asked.budget?;
        let plan = &self.found.plan;
        let least = plan.least() + (self.needs - plan.after.needs());
        let is_proved = plan.unknown.is_empty() && least > budget;
        let what = if others.iter().any(|remedy| remedy.fits == Some(true)) {
            "Without one of these"
        } else {
            "As it is"
        };
        is_proved.then(|| Remedy {
            text: format!(
                "{what}, {} is impossible for these operators: proved, no order and no places need less than {}. A smaller input, fewer channels or a model that is cut in two would.",
                size(budget),
                size(least)
            ),
            ..Remedy::default()
        })
    }

    fn board(&self) -> Option<Remedy> {
        let tail = self.found.model.tail(self.found.plan.model)?;
        let wanted = self.needs + tail.margin(self.found.plan.after.needs());
        let board = boards().into_iter().find(|board| board.ram >= wanted)?;
        Some(Remedy {
            text: format!(
                "A larger device: the smallest board we know that holds it is {} ({}, {}).",
                board.name,
                board.chip,
                size(board.ram)
            ),
            ..Remedy::default()
        })
    }
}
