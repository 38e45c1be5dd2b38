//! The variants of a model that [`optimize`](crate::optimize) tries, as a list that can be printed.

use crate::{Input, Options, Rewrites};
use serenity_runtimes::{Kernels, MemoryModel, has_counted_loops};
use std::fmt;

/// Which channels of a model are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channels {
    /// Without channels that are constant or never read.
    Needed,
    /// All channels of the original model.
    All,
}

serenity_search::named! { Channels { "needed" => Needed, "all" => All } }

/// One way to run a model: the changes made before its operators are ordered and its tensors are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Which channels are computed.
    pub channels: Channels,
    /// Which operators may be replaced by others that compute the same.
    pub rewrites: Rewrites,
    /// The runtime and the kernels that the search assumes. A plan for any kernels is right for each of the sets that
    /// they stand for.
    pub planned_for: MemoryModel,
    /// Whether windows of operators become loops over a few rows at a time.
    pub loops: bool,
}

/// How much a variant changes, to choose among variants that need the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Changes {
    loops: bool,
    /// Fewer channels come first: they also need less flash and less time.
    channels: Channels,
    rewrites: usize,
    for_other_kernels: bool,
}

impl Variant {
    /// The stage that progress on this variant belongs to.
    pub(crate) fn stage(self) -> &'static str {
        match (self.loops, self.rewrites) {
            (true, _) => "loops",
            (false, Rewrites::None) => "order and plan",
            (false, _) => "rewrites",
        }
    }

    /// How much this variant changes, for a model that will run on `target`.
    pub(crate) fn changes(self, target: MemoryModel) -> Changes {
        if self.loops {
            return Changes::LOOPS;
        }
        Changes {
            loops: false,
            channels: self.channels,
            rewrites: self.rewrites.and_stricter().len(),
            for_other_kernels: self.planned_for != target,
        }
    }
}

impl Changes {
    /// The changes of a variant with loops: only the time that they take decides, whatever else is changed.
    pub(crate) const LOOPS: Self =
        Self { loops: true, channels: Channels::Needed, rewrites: 0, for_other_kernels: false };
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rewrites = match self.rewrites {
            Rewrites::None | Rewrites::Channels => None,
            Rewrites::Exact => Some("exact rewrites"),
            Rewrites::Paper => Some("the paper's rewrites"),
            Rewrites::All => Some("all rewrites"),
            Rewrites::Approximate => Some("approximate rewrites"),
        };
        let channels = (self.channels == Channels::Needed).then_some("fewer channels");
        let loops = self.loops.then_some("loops");
        let parts: Vec<&str> = [channels, rewrites, loops].into_iter().flatten().collect();
        f.pad(&if parts.is_empty() { "order and places".to_owned() } else { parts.join(", ") })
    }
}

/// Every variant that is tried for a model, in this order: from the smallest change to the largest.
pub fn variants(input: &Input, options: &Options) -> Vec<Variant> {
    let (channels, targets, rewrites) =
        (channels(input, options), targets(options), rewrites(input, options));
    let mut all = Vec::new();
    let mut list = |channels: &[Channels], targets: &[MemoryModel], rewrites: &[Rewrites], loops: bool| {
        for &channels in channels {
            for &planned_for in targets {
                all.extend(rewrites.iter().map(|&rewrites| Variant {
                    channels,
                    rewrites,
                    planned_for,
                    loops,
                }));
            }
        }
    };
    // A plan for any kernels is taken as it is where it serves; what else is found for them is planned again for the target.
    let serving: Vec<MemoryModel> =
        targets.iter().copied().filter(|&one| serves(one, options.model)).collect();
    list(&channels, &serving, &[Rewrites::None], false);
    // Fewer channels first: if they need no more, nothing else is tried with all of them.
    let fewer_first: Vec<Channels> = channels.iter().rev().copied().collect();
    for one in rewrites {
        list(&fewer_first, &targets, std::slice::from_ref(one), false);
    }
    if options.loops.is_some() && options.plan_arena && options.model.kernels().is_some() {
        // A loop may save what rewriting saves, but split operators fit no window: both are tried.
        let both: Vec<Rewrites> = rewrites.last().copied().into_iter().chain([Rewrites::None]).collect();
        // Loops for the kernels of the target are mostly the best, which saves placing others.
        let own_first: Vec<MemoryModel> = targets.iter().rev().copied().collect();
        list(&fewer_first, &own_first, &both, true);
    }
    all
}

/// All channels, then fewer if channels may be removed.
fn channels(input: &Input, options: &Options) -> Vec<Channels> {
    let is_asked = !matches!(options.rewrites, Rewrites::None | Rewrites::Paper);
    let may_remove = is_asked && may_be_changed(input);
    if may_remove { vec![Channels::All, Channels::Needed] } else { vec![Channels::All] }
}

/// The sets of rewrites that are searched, the strictest first, so that more freedom never gives a worse plan.
pub(crate) fn rewrites(input: &Input, options: &Options) -> &'static [Rewrites] {
    if may_be_changed(input) { options.rewrites.and_stricter() } else { &[] }
}

/// A model with loops was rewritten before it got them. If the graph states which tensors share memory, that is unknown
/// for new operators.
fn may_be_changed(input: &Input) -> bool {
    let graphs: Vec<_> = input.graphs().iter().collect();
    !has_counted_loops(&graphs) && !input.graph().states_sharing()
}

/// Is a plan for the kernels of `planned_for` right for those of `target`?
fn serves(planned_for: MemoryModel, target: MemoryModel) -> bool {
    let sets = |model: MemoryModel| model.kernels().map_or(&[][..], Kernels::sets);
    sets(target).iter().all(|kernels| sets(planned_for).contains(kernels))
}

/// Any kernels, if the arena is planned for some; then those in question.
pub(crate) fn targets(options: &Options) -> Vec<MemoryModel> {
    let any = options.model.with_kernels(Kernels::Any);
    if options.plan_arena && any != options.model { vec![any, options.model] } else { vec![options.model] }
}
