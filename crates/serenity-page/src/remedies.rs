//! Suggests what else would lower the memory of a model: the cheapest first, each with the need that it would lead to.

mod code;

use super::PageOptions;
use serenity::boards::boards;
use serenity::pipeline::{Need, estimate_loops, plan_graphs};
use serenity::{Input, Loops, Optimized, Options, Rewrites, optimize};
use serenity_formats::Format;
use serenity_report::page::{Remedy, Unit};
use serenity_runtimes::{Kernels, MemoryModel};

/// Shares of additional multiplications to try, the cheapest first.
const MORE_MACS: [f64; 2] = [0.1, 0.5];
/// Estimates may be too low by one part in this many.
const ESTIMATES_ARE_WITHIN: u64 = 20;

/// All suggestions that are worth a line. Without a budget, only those that take no search.
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
    remedies.extend(case.loops(Way::default()));
    if is_over {
        // Combines two remedies while none alone is enough.
        for way in case.combinations() {
            if !remedies.iter().any(|remedy| remedy.fits == Some(true)) {
                remedies.extend(case.loops(way));
            }
        }
        remedies.extend(case.code());
    }
    // Of those that help, the cheapest that fits comes first.
    remedies.sort_by_key(|remedy| remedy.fits == Some(false));
    if is_over {
        remedies.extend(case.proved(&remedies));
        remedies.extend(case.board());
    }
    remedies
}

/// Changes other than loops.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The kernels to name, if none were named.
    kernels: Option<Kernels>,
    /// Do inputs and outputs become integers?
    int8_io: bool,
}

/// The effect of loops.
#[derive(Clone, Copy)]
struct Looped {
    /// The share of additional multiplications that was allowed, and the share that the loops take.
    most: f64,
    extra: f64,
    need: Need,
    /// Were the loops made, or only estimated?
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
    fn unit(&self) -> Unit {
        Unit::of(self.asked.budget)
    }

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

    /// Do kernels matter, and were none named?
    fn may_choose_kernels(&self) -> bool {
        self.options.plan_arena && self.options.model.without_plan() == MemoryModel::Tflm(Kernels::Any)
    }

    /// If the kernels are named, more can be done in place.
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
                    self.unit().size(need.bytes)
                );
                self.remedy(text, &format!(" --kernels {kernels}"), Some(need))
            })
        };
        [Kernels::Reference, Kernels::CmsisNn].into_iter().filter_map(with).collect()
    }

    /// The model with integer inputs and outputs, and how many change; `None` if none do, or if that was asked for.
    fn quantized(&self) -> Option<(Input, usize)> {
        if self.options.int8_io || self.input.file.format() != Format::TfLite {
            return None;
        }
        let (model, io) = self.input.with_quantized_io().ok()?;
        (!io.is_unchanged()).then(|| (model, io.changed().count()))
    }

    /// Changes to combine with loops, the cheapest first.
    fn combinations(&self) -> Vec<Way> {
        let kernels = self.may_choose_kernels().then_some(Kernels::Reference);
        let with_kernels = kernels.filter(|_| self.found.plan.loops.is_none());
        let with_kernels = with_kernels.map(|kernels| Way { kernels: Some(kernels), int8_io: false });
        let with_io = self.quantized().map(|_| Way { kernels: None, int8_io: true });
        let with_both = with_io.zip(kernels).map(|(way, kernels)| Way { kernels: Some(kernels), ..way });
        [with_kernels, with_io, with_both].into_iter().flatten().collect()
    }

    /// Float inputs and outputs are four times as large.
    fn int8_io(&self) -> Option<Remedy> {
        if self.found.plan.loops.is_some() {
            return None;
        }
        let (model, ports) = self.quantized()?;
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
            self.remedy(
                format!("{what}, and at most {}.", self.unit().size(need.bytes)),
                " --int8-io",
                Some(need),
            )
        })
    }

    /// The plan to make loops of: the one that was found, or a new one with these changes.
    fn ground(&self, way: Way, options: &Options) -> Option<Optimized> {
        if way.kernels.is_none() && !way.int8_io {
            return Some(self.found.clone());
        }
        let model = if way.int8_io { self.quantized()?.0 } else { self.found.model.clone() };
        let given_plan = options.given_plan.clone().filter(|_| !way.int8_io);
        let as_it_is = Options { rewrites: Rewrites::None, loops: None, given_plan, ..options.clone() };
        let plan = plan_graphs(model.graphs(), &as_it_is).ok()?;
        Some(Optimized::new(model, plan))
    }

    /// Loops over a few rows at a time, combined with these changes.
    fn loops(&self, way: Way) -> Option<Remedy> {
        let is_looped = self.found.plan.loops.is_some() && !way.int8_io;
        if self.input.file.format() != Format::TfLite || is_looped {
            return None;
        }
        let model =
            way.kernels.map_or(self.options.model, |kernels| self.options.model.with_kernels(kernels));
        let options = Options { model, int8_io: self.options.int8_io || way.int8_io, ..self.options.clone() };
        let found = &self.ground(way, &options)?;
        let Need { bytes: whole, margin } = Need::of(&found.model, &found.plan);
        let tail = whole - found.plan.after.needs();
        let mut best: Option<Looped> = None;
        for most in MORE_MACS {
            let loops = Loops { most_extra_macs: most, enough: self.asked.budget };
            let Some(estimate) = estimate_loops(found, loops, &options) else { continue };
            let need = Need { bytes: estimate.arena + tail, margin };
            let mut looped = Looped { most, extra: estimate.extra_macs, need, is_sure: false };
            // Estimates are a few percent off, mostly too low: loops that seem to fit are made, to be sure.
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
        let with = way.kernels.map_or_else(String::new, |kernels| format!(", with the `{kernels}` kernels"));
        let about = if is_sure { "" } else { "about " };
        let more = if extra > 0.0 {
            format!("{:.1} % more multiplications", (100.0 * extra).max(0.1))
        } else {
            "no more multiplications".to_owned()
        };
        let io = if way.int8_io {
            "Let the model take and give whole numbers instead of floats (another contract for the application), and compute"
        } else {
            "Compute"
        };
        let text = format!(
            "{io} the widest parts a few rows at a time, in loops{with}: {about}{} for {more}, the same bit for bit.",
            self.unit().size(need.bytes)
        );
        let kernels = way.kernels.map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
        let io = if way.int8_io { " --int8-io" } else { "" };
        let is_more = most > MORE_MACS[0];
        let share = if is_more { format!("={:.0}%", 100.0 * most) } else { String::new() };
        let flags = format!("{kernels}{io} --loops{share}");
        let mut remedy = self.remedy(text, &flags, Some(need));
        // A mere estimate that fits by little is not certain.
        if !is_sure && remedy.fits == Some(true) {
            remedy.fits = None;
        }
        Some(remedy)
    }

    /// What is proved about the budget: that nothing can meet it, or only that no order and placement does.
    fn proved(&self, others: &[Remedy]) -> Option<Remedy> {
        let budget = self.asked.budget?;
        let plan = &self.found.plan;
        if !plan.unknown.is_empty() {
            return None;
        }
        let smaller = "A smaller input, fewer channels or a model that is cut in two would need less.";
        let inputs = self.bytes_of_inputs();
        if inputs > budget {
            let text = format!(
                "{} is impossible, whatever is done: the network's inputs alone take {}, in every order, with loops, with any kernels and in emitted C. {smaller}",
                self.unit().size(budget),
                self.unit().size(inputs)
            );
            return Some(Remedy { text, ..Remedy::default() });
        }
        let least = plan.least() + (self.need.bytes - plan.after.needs());
        let is_any_enough = others.iter().any(|remedy| remedy.fits == Some(true));
        let tried = if is_any_enough { "" } else { ", but nothing that was tried here is enough" };
        (least > budget).then(|| Remedy {
            text: format!(
                "Proved: with these operators, this runtime and these kernels, no order and no places need less than {}. The proof does not cover other kernels, loops, other inputs and outputs or emitted C{tried}. {smaller}",
                self.unit().size(least)
            ),
            ..Remedy::default()
        })
    }

    /// The inputs, as small as they can become: they are in memory before the first operator runs.
    fn bytes_of_inputs(&self) -> u64 {
        let quantized = self.input.with_quantized_io().ok();
        let model = quantized.as_ref().map_or(self.input, |(model, _)| model);
        let graph = model.graph();
        graph.inputs().iter().map(|&tensor| graph.tensor(tensor).bytes).fold(0, u64::saturating_add)
    }

    fn board(&self) -> Option<Remedy> {
        // Only for TFLM is it known what a board must have.
        self.found.model.tail(self.found.plan.model)?;
        let board = boards().into_iter().find(|board| board.ram >= self.need.to_be_safe())?;
        Some(Remedy {
            text: format!(
                "A larger device: the smallest board we know that holds it is {} ({}, {}).",
                board.name,
                board.chip,
                self.unit().size(board.ram)
            ),
            ..Remedy::default()
        })
    }
}
