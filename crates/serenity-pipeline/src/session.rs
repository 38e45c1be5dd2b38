//! A search for the best variant of a model. It solves nothing twice and keeps every attempt.

use crate::attempt::{Attempt, Figures, NoPlan};
use crate::by_kernels::needs_no_more;
use crate::need::whole_need;
use crate::score::{Cost, Trade};
use crate::stages::channels::narrowed;
use crate::stages::judge::Seed;
use crate::stages::loops::{AskedLoops, with_loops};
use crate::stages::place::no_worse_than;
use crate::stages::rewrite::{Searched, search_rewrites};
use crate::variant::{Channels, Variant, rewrites, targets};
use crate::{Error, Input, Loops, Optimized, Options, Plan, RewriteChoice, Rewrites};
use serenity_formats::NarrowedChannels;
use serenity_runtimes::MemoryModel;
use serenity_search::Instant;
use std::cell::OnceCell;
use std::rc::Rc;

/// A variant that was tried: a plan for the kernels of the target, or why it has none.
type Tried = Result<Rc<Optimized>, NoPlan>;

pub(crate) struct Session<'a> {
    came: &'a Input,
    options: &'a Options,
    started: Instant,
    /// The model without unneeded channels, computed on demand.
    narrowed: OnceCell<Option<(Input, NarrowedChannels)>>,
    /// Plans of models that are not rewritten.
    as_they_are: Memo<(Channels, MemoryModel), Optimized>,
    /// What the searches for rewrites found.
    searched: Memo<(Channels, Rewrites, MemoryModel), Searched>,
    /// The best plans without loops, from which loops are made.
    bases: Memo<(Channels, MemoryModel), Optimized>,
    log: Vec<(Variant, Tried)>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(came: &'a Input, options: &'a Options) -> Self {
        Self {
            came,
            options,
            started: Instant::now(),
            narrowed: OnceCell::new(),
            as_they_are: Memo::new(),
            searched: Memo::new(),
            bases: Memo::new(),
            log: Vec::new(),
        }
    }

    /// Tries one variant: transforms the model, orders and places it, and checks the result.
    pub(crate) fn attempt(&mut self, variant: Variant) -> Result<(), Error> {
        let tried = match self.model(variant.channels)? {
            None => Err(NoPlan::NoChannel),
            Some(_) if self.is_better_with_fewer_channels(variant) => Err(NoPlan::FewerChannels),
            Some(_) if variant.loops => self.looped(variant)?,
            Some(_) => self.without_loops(variant)?.and_then(|found| self.if_it_serves(found)),
        };
        self.log.push((variant, tried));
        Ok(())
    }

    /// The best of all variants that were tried.
    pub(crate) fn best_of_all(&self) -> Optimized {
        self.chosen(|_| true, self.budget())
    }

    /// The best of the variants without loops that were tried, whatever the budget of the loops.
    pub(crate) fn best_without_loops(&self) -> Optimized {
        self.chosen(|variant| !variant.loops, None)
    }

    /// The best of the variants that are wanted, with the attempts at them.
    fn chosen(&self, is_wanted: impl Fn(&Variant) -> bool, budget: Option<u64>) -> Optimized {
        let chosen = self.best(&is_wanted, budget).unwrap_or_default();
        let (variant, tried) = &self.log[chosen];
        let mut best = match tried {
            Ok(best) => Optimized::clone(best),
            Err(_) => unreachable!("the model as it came is a variant that serves"),
        };
        if !variant.loops {
            best.plan.choice = self.choice(*variant, &best.plan);
        }
        best.plan.stats.elapsed = self.started.elapsed();
        best.plan.interrupted = best.plan.interrupted.or(self.options.limits.interrupted());
        let wanted = self.log.iter().enumerate().filter(|(_, (variant, _))| is_wanted(variant));
        let attempts = wanted.map(|(at, (variant, tried))| Attempt {
            variant: *variant,
            outcome: tried.as_ref().map(|found| Figures::of(found, self.came)).map_err(|why| *why),
            is_chosen: at == chosen,
        });
        best.attempts = attempts.collect();
        best
    }

    /// Does the model without unneeded channels need no more, before rewrites and loops? Then only that one is
    /// rewritten and gets loops.
    fn is_better_with_fewer_channels(&self, variant: Variant) -> bool {
        let need = |channels| {
            let as_it_is =
                Variant { channels, rewrites: Rewrites::None, planned_for: self.options.model, loops: false };
            let (_, tried) = self.log.iter().find(|(variant, _)| *variant == as_it_is)?;
            tried.as_ref().ok().map(|found| whole_need(&found.model, &found.plan))
        };
        let is_changed = variant.loops || variant.rewrites != Rewrites::None;
        let (fewer, all) = (need(Channels::Needed), need(Channels::All));
        variant.channels == Channels::All
            && is_changed
            && fewer.zip(all).is_some_and(|(fewer, all)| fewer <= all)
    }

    /// The index in the log of the best variant that is wanted.
    fn best(&self, is_wanted: impl Fn(&Variant) -> bool, budget: Option<u64>) -> Option<usize> {
        let score = |at: usize| {
            let (variant, tried) = &self.log[at];
            let found = tried.as_ref().ok().filter(|_| is_wanted(variant))?;
            Some((Cost::of(found, budget).score(variant.changes(self.options.model)), at))
        };
        (0..self.log.len()).filter_map(score).min().map(|(_, at)| at)
    }

    fn cost(&self, found: &Optimized) -> Cost {
        Cost::of(found, self.budget())
    }

    fn budget(&self) -> Option<u64> {
        self.options.loops.and_then(|loops| loops.enough)
    }

    /// Rejects a plan with which some kernels that may run the model need more than for the model as it came.
    fn if_it_serves(&self, found: Rc<Optimized>) -> Tried {
        let is_as_it_came = found.plan.keeps_operators() && found.plan.loops.is_none();
        let serves = is_as_it_came || needs_no_more(&found.model, &found.plan, self.came, self.options);
        if serves { Ok(found) } else { Err(NoPlan::OtherKernels) }
    }

    /// The model with these channels; `None` if it has no unneeded channels to remove.
    fn model(&self, channels: Channels) -> Result<Option<Input>, Error> {
        if channels == Channels::All {
            return Ok(Some(self.came.clone()));
        }
        if self.narrowed.get().is_none() {
            let _ = self.narrowed.set(narrowed(self.came, self.options)?);
        }
        Ok(self.narrowed().map(|(model, _)| model.clone()))
    }

    fn narrowed(&self) -> Option<&(Input, NarrowedChannels)> {
        self.narrowed.get().and_then(Option::as_ref)
    }

    fn options(&self, channels: Channels, rewrites: Rewrites, model: MemoryModel) -> Options {
        // The memory plan stored in the model is for the original sizes of its tensors.
        let given_plan = self.options.given_plan.clone().filter(|_| channels == Channels::All);
        Options { model, given_plan, rewrites, ..self.options.clone() }
    }

    /// The plan of a model that is not rewritten. The search for a plan for certain kernels starts from the plan for
    /// any kernels.
    fn as_it_is(&mut self, channels: Channels, model: MemoryModel) -> Result<Rc<Optimized>, Error> {
        if let Some(known) = self.as_they_are.get(&(channels, model)) {
            return Ok(known);
        }
        let any = targets(self.options)[0];
        let seed = if model == any { None } else { Seed::of(&self.as_it_is(channels, any)?.plan) };
        let input = self.model(channels)?.unwrap_or_else(|| self.came.clone());
        let options = self.options(channels, Rewrites::None, model);
        let plan = no_worse_than(input.graphs(), &options, seed.as_slice())?;
        let mut found = Optimized::new(input, plan);
        if channels == Channels::Needed {
            // `before` is about the model as it came.
            found.plan.before = self.as_it_is(Channels::All, model)?.plan.before;
            found.plan.constant_channels = self.narrowed().map(|(_, channels)| channels.clone());
        }
        Ok(self.as_they_are.keep((channels, model), found))
    }

    /// The result of the search for rewrites, planned for `model`.
    fn search(
        &mut self,
        channels: Channels,
        rewrites: Rewrites,
        model: MemoryModel,
    ) -> Result<Rc<Searched>, Error> {
        if let Some(known) = self.searched.get(&(channels, rewrites, model)) {
            return Ok(known);
        }
        let as_it_is = self.as_it_is(channels, model)?;
        let options = self.options(channels, rewrites, model);
        let any = targets(self.options)[0];
        let for_any = if model == any { None } else { self.searched.get(&(channels, rewrites, any)) };
        let found = search_rewrites(&as_it_is, &options, self.options.rewrites, for_any.as_deref())?;
        Ok(self.searched.keep((channels, rewrites, model), found))
    }

    fn without_loops(&mut self, variant: Variant) -> Result<Tried, Error> {
        let Variant { channels, rewrites, planned_for, .. } = variant;
        let target = self.options.model;
        if rewrites == Rewrites::None {
            return Ok(Ok(self.as_it_is(channels, planned_for)?));
        }
        if let Some(stricter) = rewrites.next_stricter()
            && !self.offers_more(channels, stricter)
        {
            return Ok(Err(NoPlan::NothingMore));
        }
        let found = self.search(channels, rewrites, planned_for)?;
        let Some(rewritten) = &found.rewritten else { return Ok(Err(NoPlan::NoRewrite)) };
        if planned_for == target {
            return Ok(Ok(Rc::new(rewritten.clone())));
        }
        let Some(seed) = Seed::of(&rewritten.plan) else { return Ok(Err(NoPlan::NoRewrite)) };
        let options = Options { given_plan: None, ..self.options(channels, rewrites, target) };
        let plan = no_worse_than(rewritten.model.graphs(), &options, &[seed])?;
        let as_it_is = self.as_it_is(channels, target)?;
        let Plan { rewrites, choice, constant_channels, .. } = rewritten.plan.clone();
        let choice =
            choice.map(|choice| choice.for_other_kernels(as_it_is.plan.after.needs(), plan.after.needs()));
        let plan = Plan { before: as_it_is.plan.before, rewrites, choice, constant_channels, ..plan };
        Ok(Ok(Rc::new(Optimized::new(rewritten.model.clone(), plan))))
    }

    /// Did a stricter search leave out rewrites that are permitted here?
    fn offers_more(&self, channels: Channels, stricter: Rewrites) -> bool {
        let of_stricter = |(key, _): &&((Channels, Rewrites, MemoryModel), Rc<Searched>)| {
            (key.0, key.1) == (channels, stricter)
        };
        self.searched.entries.iter().filter(of_stricter).any(|(_, found)| found.offers_more)
    }

    /// How the rewrites of a plan were chosen. A search among more rewrites proves more about all sets of them.
    fn choice(&self, variant: Variant, plan: &Plan) -> Option<RewriteChoice> {
        let steps = rewrites(self.came, self.options);
        let searches: Vec<(Rewrites, Rc<Searched>)> = steps
            .iter()
            .filter_map(|&step| {
                Some((step, self.searched.get(&(variant.channels, step, variant.planned_for))?))
            })
            .collect();
        let mut choices = searches.iter().filter_map(|(step, search)| Some((*step, search.choice?)));
        let own = if plan.rewrites.is_empty() {
            let (first, choice) = choices.next()?;
            // A search proves nothing about a plan that is not its own.
            (first, Some(choice).filter(|choice| choice.with == plan.after.needs())?)
        } else {
            let is_own = |(step, _): &(Rewrites, RewriteChoice)| *step == variant.rewrites;
            (choices.find(is_own)?.0, plan.choice?)
        };
        Some(choices.fold(own.1, |choice, (_, more)| choice.among(&more)))
    }

    /// The best plan without loops for some kernels: loops are made of it and compared with it.
    fn base(&mut self, channels: Channels, model: MemoryModel) -> Result<Option<Rc<Optimized>>, Error> {
        if let Some(known) = self.bases.get(&(channels, model)) {
            return Ok(Some(known));
        }
        let best = if model == self.options.model {
            let best = self.best(|variant| !variant.loops && variant.channels == channels, self.budget());
            best.and_then(|at| Some((self.log[at].0, Rc::clone(self.log[at].1.as_ref().ok()?))))
        } else {
            Some(self.best_for_any(channels, model)?)
        };
        let Some((variant, best)) = best else { return Ok(None) };
        let mut best = Optimized::clone(&best);
        best.plan.choice = self.choice(variant, &best.plan);
        Ok(Some(self.bases.keep((channels, model), best)))
    }

    /// The best plan without loops for any kernels, from the searches of each set of rewrites.
    fn best_for_any(
        &mut self,
        channels: Channels,
        any: MemoryModel,
    ) -> Result<(Variant, Rc<Optimized>), Error> {
        let as_it_is = self.as_it_is(channels, any)?;
        let variant = |rewrites: Rewrites| Variant { channels, rewrites, planned_for: any, loops: false };
        let mut best = (variant(Rewrites::None), as_it_is);
        for &rewrites in rewrites(self.came, self.options) {
            let searched = self.searched.get(&(channels, rewrites, any));
            if let Some(found) = searched.and_then(|searched| searched.rewritten.clone())
                && whole_need(&found.model, &found.plan) < whole_need(&best.1.model, &best.1.plan)
                && needs_no_more(&found.model, &found.plan, self.came, &self.options(channels, rewrites, any))
            {
                best = (variant(rewrites), Rc::new(found));
            }
        }
        Ok(best)
    }

    /// A variant with loops, made of the best one without.
    fn looped(&mut self, variant: Variant) -> Result<Tried, Error> {
        let Variant { channels, planned_for, .. } = variant;
        let (target, loops) = (self.options.model, self.options.loops.unwrap_or_default());
        let Some(own) = self.base(channels, target)? else { return Ok(Err(NoPlan::OtherKernels)) };
        if self.fits_with_less_work_than(&own) {
            return Ok(Err(NoPlan::FitsAlready));
        }
        let Some(base) = self.base(channels, planned_for)? else { return Ok(Err(NoPlan::OtherKernels)) };
        let start = match (variant.rewrites, base.plan.rewrites.is_empty()) {
            (Rewrites::None, false) => self.as_it_is(channels, planned_for)?,
            (Rewrites::None, true) | (_, false) => Rc::clone(&base),
            (_, true) => return Ok(Err(NoPlan::NotRewritten)),
        };
        let Some(trade) = self.trade(loops) else { return Ok(Err(NoPlan::NoLoops)) };
        let of_start = if planned_for == target { trade } else { Trade::new(loops, &base) };
        let options = self.options(channels, self.options.rewrites, planned_for);
        let for_target = Options { model: target, ..options.clone() };
        let need_so_far = self.best(|_| true, self.budget()).and_then(|at| self.log[at].1.as_ref().ok());
        let need_so_far = need_so_far.map_or(u64::MAX, |best| whole_need(&best.model, &best.plan));
        let asked = AskedLoops {
            came: self.came,
            trade: &of_start,
            options: &options,
            target: &for_target,
            need_so_far,
        };
        let Some(mut found) = with_loops(&start, &asked)? else {
            return Ok(Err(NoPlan::NoLoops));
        };
        if planned_for != target {
            let without = own.plan.choice.map(|choice| choice.without);
            found.plan.choice = found
                .plan
                .choice
                .map(|choice| choice.for_other_kernels(without.unwrap_or(choice.without), choice.with));
        }
        found.plan.before = own.plan.before;
        found.plan.constant_channels.clone_from(&own.plan.constant_channels);
        let is_accepted = trade.accepts(&trade.cost(&found));
        Ok(if is_accepted { Ok(Rc::new(found)) } else { Err(NoPlan::NoLoops) })
    }

    /// The rule by which loops are judged: against the least that the model needs without any.
    fn trade(&self, loops: Loops) -> Option<Trade> {
        let smallest = |at: usize| {
            let (variant, tried) = &self.log[at];
            let found = tried.as_ref().ok().filter(|_| !variant.loops)?;
            Some((whole_need(&found.model, &found.plan), variant.changes(self.options.model), at))
        };
        let (.., at) = (0..self.log.len()).filter_map(smallest).min()?;
        Some(Trade::new(loops, self.log[at].1.as_ref().ok()?))
    }

    /// Does a variant without loops fit the budget, or one with no more work than this model takes without loops?
    fn fits_with_less_work_than(&self, base: &Optimized) -> bool {
        let fits = |at: usize| {
            let (variant, tried) = &self.log[at];
            let cost = self.cost(tried.as_ref().ok()?);
            Some(cost.fits && (!variant.loops || cost.works_no_more_than(&self.cost(base))))
        };
        (0..self.log.len()).filter_map(fits).any(|fits| fits)
    }
}

/// Results of searches, keyed by their inputs.
struct Memo<K, V> {
    entries: Vec<(K, Rc<V>)>,
}

impl<K: PartialEq, V> Memo<K, V> {
    fn new() -> Self {
        Self { entries: Vec::new() }
    }

    fn get(&self, key: &K) -> Option<Rc<V>> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| Rc::clone(value))
    }

    fn keep(&mut self, key: K, value: V) -> Rc<V> {
        let value = Rc::new(value);
        self.entries.push((key, Rc::clone(&value)));
        value
    }
}
