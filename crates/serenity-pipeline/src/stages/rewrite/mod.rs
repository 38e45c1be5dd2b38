//! Rewrites a model: its graph and, if it came from a file, the file.

mod applied;
mod branches;
mod paper;
mod pieces;
mod search;

use crate::effort::{MOST_COSTS, MOST_OPS_OF_LATER_ROUNDS, REWRITING_ROUNDS};
use crate::need::whole_need;
use crate::{Error, Input, Optimized, Options, Plan, Rewrites, plan_graphs};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_rewrite::{Choice, ErrorBounds, Patch, Settings, Sums, apply};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::StopReason;
use std::collections::BTreeSet;

pub use applied::{AppliedRewrite, RewriteChoice, RewriteCost};
pub use search::rewritten_graph;

use search::{Look, choose_rewrites, floor};

/// A model after some rewrites.
struct Rewritten {
    /// Read again from its new bytes if it came from a file.
    input: Input,
    applied: Vec<AppliedRewrite>,
}

/// What the rules may do for a runtime: the paper assumes ops that add into an accumulator of any element type; real
/// runtimes have an addition, and must keep the results unless integers may be rounded more than once.
pub fn rewrite_settings(model: MemoryModel, rewrites: Rewrites) -> Settings {
    if model.runtime().accumulates() {
        Settings { sums: Sums::Accumulator, rounds_integers: true }
    } else {
        Settings { sums: Sums::Chain, rounds_integers: rewrites == Rewrites::Approximate }
    }
}

/// All patches of these rewrites that the rules propose for the main graph of a model and that its file allows.
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

/// The patches that remove transpositions from the main graph of a model, as far as its file allows.
pub fn cancelled_transposes(input: &Input, model: MemoryModel) -> Vec<Patch> {
    let mut patches = serenity_rewrite::cancelled_transposes(input.graph());
    input.file.retain_possible(&rewrite_settings(model, Rewrites::default()), &mut patches);
    patches
}

/// Rewrites the main graph of a model by these patches, which must be among its [`possible_rewrites`].
///
/// # Errors
/// If the patches do not fit, or the file holds something that cannot be carried over. The rewritten file is read again
/// and compared with the rewritten graph before it is returned, so any other error is a bug of ours.
pub fn rewrite(input: &Input, patches: &[Patch], model: MemoryModel) -> Result<Input, Error> {
    Ok(rewrite_with_bounds(input, patches, model)?.0)
}

/// Rewrites the main graph of a model by these patches. Returns the new model, and per op how far partial results of
/// integers may be off.
///
/// # Errors
/// As [`rewrite`].
pub fn rewrite_with_bounds(
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

/// The result of a search for rewrites.
pub(crate) struct Searched {
    /// The rewritten model and its plan, if it needs less than the model as it is.
    pub(crate) rewritten: Option<Optimized>,
    /// How the rewrites were chosen, or that none were; `None` if there was no choice.
    pub(crate) choice: Option<RewriteChoice>,
    /// Are there permitted rewrites, of this model or of its rewritten form, that the search did not try?
    pub(crate) offers_more: bool,
}

impl Searched {
    /// The ops of the original model that the first round replaces.
    fn first_round(&self) -> Option<BTreeSet<OpId>> {
        let rewrites = &self.rewritten.as_ref()?.plan.rewrites;
        Some(
            rewrites
                .iter()
                .filter(|made| made.round == 0)
                .flat_map(|made| made.ops.iter().copied())
                .collect(),
        )
    }
}

/// Searches for the rewrites of `options` with which a planned model needs less; `wanted` are all that the caller
/// permits. `for_any` is what was found for any kernels, if these are others: the search begins with it. A file that
/// cannot be changed without loss is no error: nothing is rewritten then.
pub(crate) fn search_rewrites(
    as_it_is: &Optimized,
    options: &Options,
    wanted: Rewrites,
    for_any: Option<&Searched>,
) -> Result<Searched, Error> {
    let Optimized { model, plan, .. } = as_it_is;
    let found = if wanted == Rewrites::Paper {
        paper::in_passes(model, plan, options)?
    } else {
        in_rounds(model, plan, options, wanted, for_any)?
    };
    let Found { rewritten, plan, offers_more } = found;
    let choice = plan.choice;
    Ok(Searched { rewritten: rewritten.map(|model| Optimized::new(model, plan)), choice, offers_more })
}

/// A plan, and the rewritten model if the plan is for one.
struct Found {
    rewritten: Option<Input>,
    plan: Plan,
    /// Were there permitted rewrites, of this model or of its rewritten form, that the search did not try?
    offers_more: bool,
}

impl Found {
    /// The result of a search that rewrites nothing.
    fn as_it_is(plan: &Plan) -> Self {
        Self { rewritten: None, plan: plan.clone(), offers_more: false }
    }
}

/// Searches for rewrites with which a model needs less, and again in the rewritten model, which may offer new places.
fn in_rounds(
    input: &Input,
    as_it_is: &Plan,
    options: &Options,
    wanted: Rewrites,
    for_any: Option<&Searched>,
) -> Result<Found, Error> {
    let mut found = Found::as_it_is(as_it_is);
    let first = found.without_transposes(input, options)?;
    for round in first..first + REWRITING_ROUNDS {
        let current = found.rewritten.as_ref().unwrap_or(input);
        if round > first && current.graph().ops().len() > MOST_OPS_OF_LATER_ROUNDS {
            break;
        }
        let candidates = possible_rewrites(current, options.model, options.rewrites);
        found.offers_more |= possible_rewrites(current, options.model, wanted).len() > candidates.len();
        // A memory plan stored in the model is about tensors that later rounds have replaced.
        let given_plan = options.given_plan.clone().filter(|_| round == 0);
        let look = match for_any {
            None if round == first => Look::first(),
            Some(for_any) if round == 0 => Look::again(for_any.first_round().into_iter().collect()),
            _ => Look::again(Vec::new()),
        };
        let choice = choose_rewrites(current, &candidates, &Options { given_plan, ..options.clone() }, look);
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
    /// Removes transpositions that undo each other, round by round, while the model needs no more; returns how many rounds
    /// there were. Nothing is chosen: this only makes ops fewer, and needs no search.
    fn without_transposes(&mut self, input: &Input, options: &Options) -> Result<usize, Error> {
        for round in 0..REWRITING_ROUNDS {
            let current = self.rewritten.as_ref().unwrap_or(input);
            let patches = cancelled_transposes(current, options.model);
            if patches.is_empty() {
                return Ok(round);
            }
            let patches: Vec<(Patch, Option<u64>)> = patches.into_iter().map(|patch| (patch, None)).collect();
            let next = match rewrite_by(current, &patches, round, options.model) {
                Err(Error::File { source: FileError { problem: Problem::CannotKeep, .. }, .. }) => {
                    return Ok(round);
                }
                other => other?,
            };
            let plan = plan_graphs(next.input.graphs(), &Options { given_plan: None, ..options.clone() })?;
            if whole_need(&next.input, &plan) > whole_need(current, &self.plan) {
                return Ok(round);
            }
            let model = if options.plan_arena { options.model.with_plan() } else { options.model };
            let mut all = possible_rewrites(current, options.model, options.rewrites);
            all.extend(patches.iter().map(|(patch, _)| patch.clone()));
            let (before, after) = (self.plan.after.needs(), plan.after.needs());
            let floor = floor(current.graph(), &all, model).min(after);
            let stopped = Some(StopReason::Heuristic).filter(|_| floor < after);
            let choice = Choice { before, after, patches, others: Vec::new(), floor, stopped, sets: 1 };
            self.take(next, plan, &choice, round);
        }
        Ok(REWRITING_ROUNDS)
    }

    /// Takes the result of a round of rewriting.
    fn take(&mut self, next: Rewritten, smaller: Plan, choice: &Choice, round: usize) {
        let mut rewrites = std::mem::take(&mut self.plan.rewrites);
        rewrites.extend(next.applied);
        let mut chosen = RewriteChoice::of(choice, self.plan.after.needs(), smaller.after.needs());
        if let (Some(before), true) = (self.plan.choice, round > 0) {
            // Another set in the first round might have offered more in the second: nothing is proved about that.
            let stopped = chosen.stopped.or(Some(StopReason::Heuristic));
            let sets = before.sets + choice.sets;
            chosen = RewriteChoice { sets, without: before.without, floor: 0, stopped, ..chosen };
        }
        let Plan { before, .. } = self.plan;
        let constant_channels = self.plan.constant_channels.take();
        self.plan = Plan { before, constant_channels, rewrites, choice: Some(chosen), ..smaller };
        self.rewritten = Some(next.input);
    }
}

/// Applies the chosen patches, each with its gain.
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

/// What each patch adds to a graph beside the others.
pub fn costs(graph: &Graph, patches: &[Patch], settings: Settings) -> Vec<RewriteCost> {
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
