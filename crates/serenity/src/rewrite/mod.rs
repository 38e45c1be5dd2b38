//! Rewriting a model: in its graph and, where it came from a file, in the file.

mod applied;
mod paper;
mod search;

use crate::effort::{MOST_COSTS, MOST_OPS_OF_LATER_ROUNDS, REWRITING_ROUNDS};
use crate::judge::Seed;
use crate::need::whole_need;
use crate::planning::no_worse_than;
use crate::{Error, Input, Options, Plan, Rewrites, plan_graphs};
use serenity_formats::{FileError, Problem};
use serenity_ir::Graph;
use serenity_rewrite::{Choice, ErrorBounds, Patch, Settings, Sums, apply};
use serenity_runtimes::{Kernels, MemoryModel, MemoryModelExt};
use serenity_search::StopReason;
use std::time::Instant;

pub use applied::{AppliedRewrite, RewriteChoice, RewriteCost};
pub use search::rewritten_graph;

use search::choose_rewrites;

/// A model after some rewrites.
struct Rewritten {
    /// The model, read again from its new bytes if it was read from a file.
    input: Input,
    /// What was done.
    applied: Vec<AppliedRewrite>,
}

/// What the rules are allowed for a runtime: the paper counts with ops that add into an accumulator, whatever the type of its elements; real ones
/// have an addition, and must compute what the model computes unless it may be rounded more than once.
pub fn rewrite_settings(model: MemoryModel, rewrites: Rewrites) -> Settings {
    if model.runtime().accumulates() {
        Settings { sums: Sums::Accumulator, rounds_integers: true }
    } else {
        Settings { sums: Sums::Chain, rounds_integers: rewrites == Rewrites::Approximate }
    }
}

/// All patches of such rewrites that the rules propose for the main graph of a model, as far as they hold for what its file says.
pub fn possible_rewrites(input: &Input, model: MemoryModel, rewrites: Rewrites) -> Vec<Patch> {
    let graph = input.graph();
    let settings = rewrite_settings(model, rewrites);
    let mut patches = serenity_rewrite::find(graph, &settings);
    patches.retain(|patch| match rewrites {
        Rewrites::None | Rewrites::Channels => false,
        Rewrites::Exact => patch.exact,
        Rewrites::Paper => paper::RULES.contains(&patch.rule),
        Rewrites::All | Rewrites::Approximate => true,
    });
    input.file.retain_possible(&settings, &mut patches);
    patches
}

/// Rewrites the main graph of a model by these patches, which must be among its [`possible_rewrites`].
///
/// # Errors
/// If the patches do not fit, or the file holds what cannot be carried over. What was rewritten is read again and compared with the rewritten
/// graph before it is given away, so any other error is a bug of ours.
pub fn rewrite(input: &Input, patches: &[Patch], model: MemoryModel) -> Result<Input, Error> {
    Ok(rewrite_with_bounds(input, patches, model)?.0)
}

/// The same, and how far partial results of whole numbers may be off, by op.
pub(crate) fn rewrite_with_bounds(
    input: &Input,
    patches: &[Patch],
    model: MemoryModel,
) -> Result<(Input, ErrorBounds), Error> {
    if patches.is_empty() {
        return Ok((input.clone(), ErrorBounds::new()));
    }
    let wrong = |source| Error::Rewrite { name: input.name.clone(), source };
    let rewriting =
        apply(input.graph(), patches, &rewrite_settings(model, Rewrites::default())).map_err(wrong)?;
    let in_file = |source| Error::File { path: input.name.clone(), source };
    let (rewriting, bounds) = input.file.widened(rewriting).map_err(in_file)?;
    Ok((input.with_file(input.file.rewritten(&rewriting).map_err(in_file)?), bounds))
}

/// Plans a model as it is and with the best rewrites found, and takes what needs less; as it is if that makes no difference. What the plan says of `before` is said of
/// the model as it came.
///
/// More freedom never ends worse: what is found with stricter rewrites, and for kernels of any kind, is kept if nothing better is found. A file that
/// cannot be changed without loss is no error: it is planned as it is.
pub(crate) fn optimize_input(input: &Input, options: &Options) -> Result<(Option<Input>, Plan), Error> {
    let started = Instant::now();
    let as_it_is = AsItIs::new(input, options)?;
    let mut best: Option<Found> = None;
    for &rewrites in options.rewrites.and_stricter() {
        let search = || for_kernels(&as_it_is, &Options { rewrites, ..options.clone() }, options.rewrites);
        best = Some(match best {
            None => search()?,
            Some(strict) if !strict.offers_more => strict,
            Some(strict) => strict.among(search()?, input),
        });
    }
    let Found { rewritten, mut plan, .. } = best.unwrap_or_else(|| Found::as_it_is(&as_it_is.plan));
    plan.stats.elapsed = started.elapsed();
    plan.interrupted = options.limits.interrupted();
    Ok((rewritten, plan))
}

/// A model with the plans that it gets without rewriting.
struct AsItIs<'a> {
    input: &'a Input,
    plan: Plan,
    /// For kernels of any kind, if its own are of one, and its arena is planned: such a plan holds for all.
    for_any: Option<(MemoryModel, Plan)>,
}

impl<'a> AsItIs<'a> {
    fn new(input: &'a Input, options: &Options) -> Result<Self, Error> {
        let any = options.model.with_kernels(Kernels::Any);
        let for_any = if options.plan_arena && any != options.model {
            Some((any, plan_graphs(input.graphs(), &Options { model: any, ..options.clone() })?))
        } else {
            None
        };
        let known: Vec<Seed> = for_any.iter().filter_map(|(_, plan)| Seed::of(plan)).collect();
        Ok(Self { input, plan: no_worse_than(input.graphs(), options, &known)?, for_any })
    }
}

/// A plan, and the rewritten model if it is that which was planned.
struct Found {
    rewritten: Option<Input>,
    plan: Plan,
    /// Were there rewrites, of this model or of what became of it, that were not looked at although they may be made?
    offers_more: bool,
}

impl Found {
    /// Nothing.
    fn as_it_is(plan: &Plan) -> Self {
        Self { rewritten: None, plan: plan.clone(), offers_more: false }
    }

    /// What needs less on a device; this if both need the same.
    fn or(self, other: Self, input: &Input) -> Self {
        let need = |found: &Self| whole_need(found.rewritten.as_ref().unwrap_or(input), &found.plan);
        let offers_more = self.offers_more || other.offers_more;
        let better = if need(&other) < need(&self) { other } else { self };
        Self { offers_more, ..better }
    }

    /// The same, when the other was chosen among more.
    fn among(self, more: Self, input: &Input) -> Self {
        let covering = more.plan.choice;
        let mut better = self.or(more, input);
        let choice = better.plan.choice.zip(covering).map(|(choice, covering)| choice.among(&covering));
        better.plan.choice = choice;
        better
    }
}

/// The best found for the kernels of `options`: at worst, what holds for kernels of any kind. In the end, all that are `wanted` may be made.
fn for_kernels(as_it_is: &AsItIs, options: &Options, wanted: Rewrites) -> Result<Found, Error> {
    let AsItIs { input, plan, for_any } = as_it_is;
    if wanted == Rewrites::Paper {
        return paper::in_passes(input, plan, options);
    }
    let Some((model, plan_for_any)) = for_any else { return in_rounds(input, plan, options, wanted) };
    // First, so that what the clock cuts is what might have been better.
    let strict = in_rounds(input, plan_for_any, &Options { model: *model, ..options.clone() }, wanted)?;
    let found = in_rounds(input, plan, options, wanted)?;
    let (Some(rewritten), Some(known)) = (&strict.rewritten, Seed::of(&strict.plan)) else {
        return Ok(found);
    };
    let options = Options { given_plan: None, ..options.clone() };
    let without = plan.after.needs();
    let plan = no_worse_than(rewritten.graphs(), &options, &[known])?;
    let Plan { rewrites, choice, .. } = strict.plan;
    let choice = choice.map(|choice| choice.for_other_kernels(without, plan.after.needs()));
    let plan = Plan { before: found.plan.before, rewrites, choice, ..plan };
    Ok(found.or(Found { plan, ..strict }, input))
}

/// Looks for rewrites with which a model needs less than as it is, and again, since what was rewritten may offer places that were not there before.
fn in_rounds(input: &Input, as_it_is: &Plan, options: &Options, wanted: Rewrites) -> Result<Found, Error> {
    let mut found = Found::as_it_is(as_it_is);
    for round in 0..REWRITING_ROUNDS {
        let current = found.rewritten.as_ref().unwrap_or(input);
        if round > 0 && current.graph().ops().len() > MOST_OPS_OF_LATER_ROUNDS {
            break;
        }
        let candidates = possible_rewrites(current, options.model, options.rewrites);
        found.offers_more |= possible_rewrites(current, options.model, wanted).len() > candidates.len();
        // A plan of the arena that the model came with speaks of tensors that are gone.
        let given_plan = options.given_plan.clone().filter(|_| round == 0);
        let choice =
            choose_rewrites(current, &candidates, &Options { given_plan, ..options.clone() }, round > 0);
        if round == 0 && choice.sets > 0 {
            let needs = found.plan.after.needs();
            found.plan.choice = Some(RewriteChoice::of(&choice, needs, needs));
        }
        if choice.patches.is_empty() {
            break;
        }
        let next = match rewrite_by(current, &choice.patches, round, options.model) {
            Err(Error::File { source: FileError { problem: Problem::CannotKeep, .. }, .. }) => break,
            other => other?,
        };
        let smaller = plan_graphs(next.input.graphs(), &Options { given_plan: None, ..options.clone() })?;
        if whole_need(&next.input, &smaller) >= whole_need(current, &found.plan) {
            break;
        }
        found.take(next, smaller, &choice, round);
    }
    Ok(found)
}

impl Found {
    /// Takes what a round of rewriting has made of it.
    fn take(&mut self, next: Rewritten, smaller: Plan, choice: &Choice, round: usize) {
        let mut rewrites = std::mem::take(&mut self.plan.rewrites);
        rewrites.extend(next.applied);
        let mut chosen = RewriteChoice::of(choice, self.plan.after.needs(), smaller.after.needs());
        if let (Some(before), true) = (self.plan.choice, round > 0) {
            // Another set in the first round might have offered more in the second: of that nothing is known.
            let stopped = chosen.stopped.or(Some(StopReason::Heuristic));
            let sets = before.sets + choice.sets;
            chosen = RewriteChoice { sets, without: before.without, floor: 0, stopped, ..chosen };
        }
        self.plan = Plan { before: self.plan.before, rewrites, choice: Some(chosen), ..smaller };
        self.rewritten = Some(next.input);
    }
}

/// Applies what was chosen, each with what it is worth by itself.
fn rewrite_by(
    input: &Input,
    chosen: &[(Patch, Option<u64>)],
    round: usize,
    model: MemoryModel,
) -> Result<Rewritten, Error> {
    let patches: Vec<Patch> = chosen.iter().map(|(patch, _)| patch.clone()).collect();
    let (new, bounds) = rewrite_with_bounds(input, &patches, model)?;
    let costs = costs(input.graph(), &patches, rewrite_settings(model, Rewrites::default()));
    let applied = chosen.iter().zip(costs).map(|((patch, gain), cost)| AppliedRewrite {
        error: bounds.get(&patch.op()).copied(),
        ..AppliedRewrite::new(patch, round, *gain, cost)
    });
    Ok(Rewritten { input: new, applied: applied.collect() })
}

/// What each of some patches adds to a graph beside the others.
pub(crate) fn costs(graph: &Graph, patches: &[Patch], settings: Settings) -> Vec<RewriteCost> {
    let make = |patches: &[Patch]| apply(graph, patches, &settings).ok();
    let (all, none) = (make(patches), make(&[]));
    let cost = |(index, patch): (usize, &Patch)| {
        let (without, with) = if patches.len() > MOST_COSTS {
            (none.clone(), make(std::slice::from_ref(patch)))
        } else {
            let others = patches.iter().enumerate().filter(|(other, _)| *other != index);
            (make(&others.map(|(_, patch)| patch.clone()).collect::<Vec<_>>()), all.clone())
        };
        let cost = without.zip(with).map(|(without, with)| RewriteCost::between(graph, &without, &with));
        cost.unwrap_or_default()
    };
    patches.iter().enumerate().map(cost).collect()
}
