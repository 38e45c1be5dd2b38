//! What else would make a model need less: the cheapest first, each with what it would need then.

use super::PageOptions;
use crate::{
    Input, Loops, Need, Optimized, Options, Rewrites, boards, estimate_loops, optimize, plan_graphs,
};
use serenity_formats::Format;
use serenity_report::page::{Remedy, size};
use serenity_runtimes::{Kernels, MemoryModel};

/// Shares of more multiplications that are tried, the cheapest first.
const MORE_MACS: [f64; 2] = [0.1, 0.5];
/// Estimates may be too low by one part in so many.
const ESTIMATES_ARE_WITHIN: u64 = 20;

/// Everything that can be done, as far as it is worth a line. Where nothing was to fit, only what costs no search.
pub(super) fn remedies(
    input: &Input,
    found: &Optimized,
    options: &Options,
    asked: &PageOptions,
) -> Vec<Remedy> {
    let need = Need::of(&found.model, &found.plan);
    let is_over = asked.budget.is_some_and(|budget| !found.plan.fits(need, budget));
    let is_under = asked.budget.is_some() && !is_over;
    if is_under {
        return Vec::new();
    }
    let case = Case { input, found, options, asked, need, is_over };
    let mut remedies: Vec<Remedy> = Vec::new();
    remedies.extend(case.kernels());
    remedies.extend(case.int8_io());
    remedies.extend(case.loops(None));
    if is_over && !remedies.iter().any(|remedy| remedy.fits == Some(true)) && case.may_choose_kernels() {
        remedies.extend(case.loops(Some(Kernels::Reference)));
    }
    // Of those that help, the cheapest that fits comes first.
    remedies.sort_by_key(|remedy| remedy.fits == Some(false));
    if is_over {
        remedies.extend(case.impossible(&remedies));
        remedies.extend(case.board());
    }
    remedies
}

/// What loops would give.
#[derive(Clone, Copy)]
struct Looped {
    /// The share of more multiplications that was allowed, and that they take.
    most: f64,
    extra: f64,
    need: Need,
    /// Were they made, or only estimated?
    is_sure: bool,
}

struct Case<'a> {
    input: &'a Input,
    found: &'a Optimized,
    options: &'a Options,
    asked: &'a PageOptions,
    need: Need,
    is_over: bool,
}

impl Case<'_> {
    fn remedy(&self, text: String, flags: &str, need: Option<Need>) -> Remedy {
        let budget = self.asked.budget;
        let limit = budget.map_or_else(String::new, |budget| format!(" --budget {budget}"));
        Remedy {
            text,
            command: Some(format!("serenity optimize {}{flags}{limit}", self.asked.typed)),
            needs: need.map(|need| need.bytes),
            fits: budget.zip(need).map(|(budget, need)| need.to_be_safe() <= budget),
        }
    }

    /// Were no kernels named, where they matter?
    fn may_choose_kernels(&self) -> bool {
        self.options.plan_arena && self.options.model.without_plan() == MemoryModel::Tflm(Kernels::Any)
    }

    /// Kernels that are known allow more to be written in place.
    fn kernels(&self) -> Vec<Remedy> {
        if !self.is_over || self.found.plan.loops.is_some() || !self.may_choose_kernels() {
            return Vec::new();
        }
        let with = |kernels: Kernels| {
            let model = self.options.model.with_kernels(kernels);
            let options = Options { model, rewrites: Rewrites::None, loops: None, ..self.options.clone() };
            let plan = plan_graphs(self.found.model.graphs(), &options).ok()?;
            let need = Need::of(&self.found.model, &plan);
            (need.bytes < self.need.bytes).then(|| {
                let text = format!(
                    "If TFLM is built with the `{kernels}` kernels, say so: then more may be written in place, and it needs {}.",
                    size(need.bytes)
                );
                self.remedy(text, &format!(" --kernels {kernels}"), Some(need))
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
        let need = Need::of(&model, &plan);
        (need.bytes < self.need.bytes).then(|| {
            self.remedy(format!("{what}, and at most {}.", size(need.bytes)), " --int8-io", Some(need))
        })
    }

    /// Windows of operators, a few rows at a time; with these kernels if any are named.
    fn loops(&self, kernels: Option<Kernels>) -> Option<Remedy> {
        if self.input.file.format() != Format::TfLite || self.found.plan.loops.is_some() {
            return None;
        }
        let model = kernels.map_or(self.options.model, |kernels| self.options.model.with_kernels(kernels));
        let options = Options { model, ..self.options.clone() };
        let planned;
        let found = if kernels.is_some() {
            let as_it_is = Options { rewrites: Rewrites::None, loops: None, ..options.clone() };
            let plan = plan_graphs(self.found.model.graphs(), &as_it_is).ok()?;
            planned = Optimized { model: self.found.model.clone(), plan };
            &planned
        } else {
            self.found
        };
        let Need { bytes: whole, margin } = Need::of(&found.model, &found.plan);
        let tail = whole - found.plan.after.needs();
        let mut best: Option<Looped> = None;
        for most in MORE_MACS {
            let loops = Loops { most_extra_macs: most, enough: self.asked.budget };
            let Some(estimate) = estimate_loops(found, loops, &options) else { continue };
            let need = Need { bytes: estimate.arena + tail, margin };
            let mut looped = Looped { most, extra: estimate.extra_macs, need, is_sure: false };
            // An estimate is a few per cent off, and too low rather than too high: what seems to fit is made, to be sure.
            let at_worst = need.to_be_safe() + need.bytes / ESTIMATES_ARE_WITHIN;
            if self.asked.budget.is_some_and(|budget| at_worst <= budget)
                && let Ok(made) = optimize(self.input, &Options { loops: Some(loops), ..options.clone() })
            {
                let applied = made.plan.loops.as_ref();
                looped.extra =
                    applied.map_or(0.0, |loops| loops.extra_macs as f64 / loops.macs.max(1) as f64);
                looped.need = Need::of(&made.model, &made.plan);
                looped.is_sure = true;
            }
            let is_less = |than: u64| looped.need.bytes < than;
            if is_less(self.need.bytes / 20 * 19) && best.is_none_or(|best| is_less(best.need.bytes)) {
                best = Some(looped);
            }
            let fits = |budget| best.is_some_and(|best| best.need.to_be_safe() <= budget);
            if self.asked.budget.is_none_or(fits) {
                break;
            }
        }
        let Looped { most, extra, need, is_sure } = best?;
        let with = kernels.map_or_else(String::new, |kernels| format!(", with the `{kernels}` kernels"));
        let about = if is_sure { "" } else { "about " };
        let more = if extra > 0.0 {
            format!("{:.1} % more multiplications", (100.0 * extra).max(0.1))
        } else {
            "no more multiplications".to_owned()
        };
        let text = format!(
            "Compute the widest parts a few rows at a time, in loops{with}: {about}{} for {more}, the same bit for bit.",
            size(need.bytes)
        );
        let kernels = kernels.map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
        let is_more = most > MORE_MACS[0];
        let share = if is_more { format!(" --max-extra-macs {:.0}%", 100.0 * most) } else { String::new() };
        let flags = format!("{kernels} --loops{share}");
        let mut remedy = self.remedy(text, &flags, Some(need));
        // What was only estimated, and fits by little, may or may not.
        if !is_sure && remedy.fits == Some(true) {
            remedy.fits = None;
        }
        Some(remedy)
    }

    /// What no order and no places can do, if nothing else fits.
    fn impossible(&self, others: &[Remedy]) -> Option<Remedy> {
        let budget = self.asked.budget?;
        let plan = &self.found.plan;
        let least = plan.least() + (self.need.bytes - plan.after.needs());
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
        // Of others, nobody knows what a board must have.
        self.found.model.tail(self.found.plan.model)?;
        let board = boards().into_iter().find(|board| board.ram >= self.need.to_be_safe())?;
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
