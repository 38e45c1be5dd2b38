//! Finds the channels that can be removed.

use super::forward::{Ranges, ranges};
use super::network::{Apart, Mix, Network, Numbers, Step};
use super::range::Range;
use super::ties::Groups;
use std::collections::BTreeMap;

/// What is left after so many passes stays: a file could be made to take as many as it has channels.
const MOST_PASSES: usize = 64;

/// The channels of a network that stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Per tensor: the channels that stay, at least one; `None` if all do.
    pub kept: Vec<Option<Vec<usize>>>,
    /// Per mixing step: what is added to the bias of each channel of its result, including removed ones. Only steps
    /// whose bias changes.
    pub folded: BTreeMap<usize, Vec<i64>>,
}

impl Narrowing {
    /// Everything stays.
    pub(super) fn none(network: &Network) -> Self {
        Self { kept: vec![None; network.tensors.len()], folded: BTreeMap::new() }
    }

    /// Do all channels stay?
    pub fn is_empty(&self) -> bool {
        self.kept.iter().all(Option::is_none)
    }
}

/// `None` if `stop` said so.
pub(super) fn narrow(network: &Network, stop: &dyn Fn() -> bool) -> Option<Narrowing> {
    if !is_sound(network) {
        return Some(Narrowing::none(network));
    }
    let mut removal = Removal::new(network, stop)?;
    // What goes may have been the last reader of something else. As a rule the first pass finds all, and the second
    // finds nothing.
    for _ in 0..MOST_PASSES {
        if !removal.pass(stop)? {
            break;
        }
    }
    Some(removal.narrowing())
}

/// Does every step name tensors that are there, and channels that these have?
fn is_sound(network: &Network) -> bool {
    let count = |tensor: usize| network.tensors.get(tensor).map(|channels| channels.count);
    network.steps.iter().all(|step| match step {
        Step::Opaque(tensors) => tensors.iter().all(|&tensor| count(tensor).is_some()),
        Step::Mix(mix) => match (count(mix.input), count(mix.output)) {
            (Some(from), Some(to)) => {
                Some(mix.weights.len()) == from.checked_mul(to) && mix.sums.bias.len() == to
            }
            _ => false,
        },
        Step::Apart(apart) => count(apart.output).is_some_and(|to| is_covered(apart, to, &count)),
    })
}

/// Does every channel of a result belong to some that are read, and are all that belong together there?
fn is_covered(apart: &Apart, to: usize, count: &dyn Fn(usize) -> Option<usize>) -> bool {
    let mut is_made = vec![false; to];
    for tie in &apart.inputs {
        let Some(from) = count(tie.input) else { return false };
        if from.checked_mul(tie.repeats).is_none_or(|all| all > to) {
            return false;
        }
        for result in (0..from).flat_map(|channel| tie.results(channel)) {
            match result.and_then(|result| is_made.get_mut(result)) {
                Some(is_made) => *is_made = true,
                None => return false,
            }
        }
    }
    is_made.iter().all(|&is_made| is_made)
}

struct Removal<'n> {
    network: &'n Network,
    ranges: Ranges,
    groups: Groups,
    /// By group: the channels of it.
    members: BTreeMap<usize, Vec<(usize, usize)>>,
    /// By tensor: the steps that mix its channels.
    readers: Vec<Vec<usize>>,
    /// By channel that stands for a group: is it gone?
    is_gone: Vec<bool>,
    /// By tensor: how many channels are left.
    left: Vec<usize>,
}

impl<'n> Removal<'n> {
    fn new(network: &'n Network, stop: &dyn Fn() -> bool) -> Option<Self> {
        let groups = Groups::of(network, stop)?;
        let mut is_fixed: Vec<bool> = network.tensors.iter().map(|tensor| tensor.is_fixed).collect();
        let mut readers = vec![Vec::new(); network.tensors.len()];
        for (index, step) in network.steps.iter().enumerate() {
            match step {
                Step::Opaque(tensors) => tensors.iter().for_each(|&tensor| is_fixed[tensor] = true),
                Step::Mix(mix) => readers[mix.input].push(index),
                Step::Apart(_) => {}
            }
        }
        let mut members: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (tensor, channels) in network.tensors.iter().enumerate() {
            for channel in 0..channels.count {
                members.entry(groups.group(tensor, channel)).or_default().push((tensor, channel));
            }
        }
        members.retain(|_, members| members.iter().all(|&(tensor, _)| !is_fixed[tensor]));
        Some(Self {
            network,
            ranges: ranges(network, stop)?,
            is_gone: vec![false; groups.len()],
            left: network.tensors.iter().map(|tensor| tensor.count).collect(),
            groups,
            members,
            readers,
        })
    }

    /// Removes what nobody needs now; did anything go? `None` if `stop` said so. The last groups come first, since with
    /// them their readers go.
    fn pass(&mut self, stop: &dyn Fn() -> bool) -> Option<bool> {
        let found: Vec<usize> = self.members.keys().copied().collect();
        let mut has_changed = false;
        for group in found.into_iter().rev() {
            if stop() {
                return None;
            }
            let members = &self.members[&group];
            let is_needed = members.iter().any(|&(tensor, channel)| {
                self.readers[tensor].iter().any(|&reader| self.needs(reader, channel))
            });
            if is_needed || self.leaves_nothing(members) {
                continue;
            }
            for (tensor, _) in self.members.remove(&group).unwrap_or_default() {
                self.left[tensor] -= 1;
            }
            self.is_gone[group] = true;
            has_changed = true;
        }
        Some(has_changed)
    }

    /// Would a tensor be left without channels?
    fn leaves_nothing(&self, members: &[(usize, usize)]) -> bool {
        let mut going: BTreeMap<usize, usize> = BTreeMap::new();
        for &(tensor, _) in members {
            *going.entry(tensor).or_default() += 1;
        }
        going.iter().any(|(&tensor, &going)| going >= self.left[tensor])
    }

    fn mix(&self, step: usize) -> Option<&'n Mix> {
        match &self.network.steps[step] {
            Step::Mix(mix) => Some(mix),
            _ => None,
        }
    }

    /// Channels of the result of a step that stay.
    fn kept_results(&self, mix: &Mix) -> impl Iterator<Item = usize> {
        (0..self.network.tensors[mix.output].count)
            .filter(|&result| !self.is_gone[self.groups.group(mix.output, result)])
    }

    /// Would a step compute something else without a channel that it reads, whatever was added to its bias?
    fn needs(&self, step: usize, channel: usize) -> bool {
        let Some(mix) = self.mix(step) else { return true };
        let from = &self.network.tensors[mix.input];
        let pair = |result: usize| result * from.count + channel;
        if self.kept_results(mix).all(|result| mix.weights.is_zero(pair(result))) {
            return false;
        }
        let Some(constant) = self.ranges.of[mix.input][channel].constant() else { return true };
        if Range::one(constant) == Range::one(from.numbers.zero()) {
            return !mix.weights.are_finite();
        }
        let can_fold = matches!(from.numbers, Numbers::Whole { .. })
            && mix.takes_bias
            && !mix.sums.sees_border
            && self.kept_results(mix).all(|result| self.ranges.is_bounded[step][result]);
        !can_fold
    }

    fn narrowing(&self) -> Narrowing {
        let kept = self.network.tensors.iter().enumerate().map(|(tensor, channels)| {
            let stays = |channel: &usize| !self.is_gone[self.groups.group(tensor, *channel)];
            (self.left[tensor] < channels.count).then(|| (0..channels.count).filter(stays).collect())
        });
        let folded = (0..self.network.steps.len())
            .filter_map(|step| Some((step, self.folded(step)?)))
            .filter(|(_, folded)| folded.iter().any(|&added| added != 0));
        Narrowing { kept: kept.collect(), folded: folded.collect() }
    }

    /// What the channels that go would have added to the sums of a step.
    fn folded(&self, step: usize) -> Option<Vec<i64>> {
        let mix = self.mix(step)?;
        let from = &self.network.tensors[mix.input];
        let mut added = vec![0; self.network.tensors[mix.output].count];
        if from.numbers == Numbers::Real {
            return Some(added);
        }
        for channel in 0..from.count {
            let constant = self.ranges.of[mix.input][channel].constant();
            let is_gone = self.is_gone[self.groups.group(mix.input, channel)];
            let Some(constant) = constant.filter(|_| is_gone) else { continue };
            for result in self.kept_results(mix) {
                let (positive, negative) = mix.weights.pair(result * from.count + channel);
                // Whole numbers that add up to no more than 32 bits.
                added[result] += ((positive + negative) * (constant - from.numbers.zero())) as i64;
            }
        }
        Some(added)
    }
}
