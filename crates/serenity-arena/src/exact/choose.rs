//! Chooses where to branch: which items might rest at the lowest offset left, and which of them to try first.

use super::model::{Item, Model};
use super::state::{NOWHERE, State};
use serenity_search::mix;
use std::cmp::Reverse;
use std::ops::Range;

/// A way to choose where to branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The section with the lowest floor; of those, the tightest.
    LowestSection,
    /// The section with the lowest middle between its floor and how high that floor may get at most: low and tight.
    MiddleSection,
    /// The item with the lowest offset.
    LowestItem,
    /// The item with the lowest middle, taken over the tightest of its sections.
    MiddleItem,
}

/// What makes an item come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Steps it lives.
    Duration,
    /// Bytes.
    Size,
    /// Bytes times sections.
    Area,
    /// Bytes times steps.
    LongArea,
    /// Others it lives with.
    Neighbours,
    /// The most that is alive in one of its sections.
    Pressure,
}

/// A rule and priorities, fixed for all nodes of one search.
pub(super) struct Strategy {
    pub(super) rule: Rule,
    /// Higher is first.
    pub(super) priority: Vec<u64>,
}

impl Strategy {
    /// With a `seed` other than 0, keys are multiplied by a number between a half and one and a half.
    pub(super) fn new(model: &Model, rule: Rule, keys: &[Key], seed: u64) -> Self {
        let mut order: Vec<usize> = (0..model.items.len()).collect();
        let values: Vec<Vec<u128>> = keys.iter().map(|&key| values(model, key)).collect();
        let noise = |item: usize| {
            if seed == 0 { 1024 } else { 512 + u128::from(mix(seed ^ mix(item as u64)) % 1024) }
        };
        order.sort_by_key(|&item| {
            let mut ranks = values.iter().map(|values| values[item]);
            // Only the first key is shaken: the others settle ties.
            let first = ranks.next().unwrap_or(0) * noise(item);
            (first, ranks.collect::<Vec<_>>(), Reverse(item))
        });
        let mut priority = vec![0; order.len()];
        for (rank, item) in order.into_iter().enumerate() {
            priority[item] = rank as u64;
        }
        Self { rule, priority }
    }

    /// Adds to `candidates` the items to branch on, the first to be tried first: one of them rests at its lowest
    /// offset, or none does. `false` if there is no place to branch.
    pub(super) fn choose(
        &self,
        state: &mut State,
        sections: &Range<usize>,
        candidates: &mut Vec<u32>,
    ) -> bool {
        match self.rule {
            Rule::LowestSection | Rule::MiddleSection => self.choose_section(state, sections, candidates),
            Rule::LowestItem | Rule::MiddleItem => self.choose_item(state, sections, candidates),
        }
    }

    fn choose_section(&self, state: &mut State, sections: &Range<usize>, candidates: &mut Vec<u32>) -> bool {
        state.choice += 1;
        while let Some(section) = self.first_section(state, sections) {
            if is_eligible(state, section) {
                let start = candidates.len();
                let floor = state.floor[section];
                let resting =
                    state.model.members(section).iter().filter(|&&i| rests_at(state, i as usize, floor));
                candidates.extend(resting);
                candidates[start..].sort_unstable_by_key(|&item| Reverse(self.priority[item as usize]));
                return true;
            }
            state.rejected[section] = state.choice;
        }
        false
    }

    /// The first of the sections that look eligible.
    fn first_section(&self, state: &mut State, sections: &Range<usize>) -> Option<usize> {
        let mut best = (NOWHERE, NOWHERE);
        let mut chosen = None;
        for section in sections.clone() {
            let floor = state.floor[section];
            if floor == NOWHERE {
                continue;
            }
            let slack = state.capacity - state.need(section);
            let rank =
                if self.rule == Rule::LowestSection { (floor, slack) } else { (floor + slack / 2, slack) };
            if rank < best && state.rejected[section] != state.choice && !is_spoiled(state, section) {
                best = rank;
                chosen = Some(section);
            }
        }
        chosen
    }

    fn choose_item(&self, state: &mut State, sections: &Range<usize>, candidates: &mut Vec<u32>) -> bool {
        let mut best = (NOWHERE, NOWHERE, Reverse(0));
        let mut chosen = None;
        for item in state.model.beginning_in(sections.clone()) {
            if !state.is_open(item) || state.refused[item] {
                continue;
            }
            let priority = Reverse(self.priority[item]);
            let rank = if self.rule == Rule::LowestItem {
                (state.lowest[item], 0, priority)
            } else {
                let lived = state.model.items[item].sections.clone();
                let slack = state.capacity - lived.map(|section| state.need(section)).max().unwrap_or(0);
                (state.lowest[item] + slack / 2, slack, priority)
            };
            if rank < best && !state.may_slide_beneath(item) && !state.shares_from_below(item, |_| false) {
                best = rank;
                chosen = Some(item);
            }
        }
        let Some(item) = chosen else { return false };
        candidates.push(item as u32);
        let lowest = state.lowest[item];
        let model = state.model;
        let twins = model.members(model.items[item].sections.start).iter().filter(|&&other| {
            let other = other as usize;
            other != item && rests_at(state, other, lowest) && are_twins(model, item, other)
        });
        candidates.extend(twins);
        true
    }
}

fn rests_at(state: &State, item: usize, offset: i64) -> bool {
    state.lowest[item] == offset && !state.refused[item]
}

/// What spoiled a section the last time most often still does.
fn is_spoiled(state: &mut State, section: usize) -> bool {
    let spoiler = state.spoiler[section] as usize;
    rests_at(state, spoiler, state.floor[section]) && state.may_slide_beneath(spoiler)
}

/// Does something rest at the floor, with nothing that could still slide beneath it?
fn is_eligible(state: &mut State, section: usize) -> bool {
    let model = state.model;
    let floor = state.floor[section];
    let mut rests = false;
    for &item in model.members(section) {
        let item = item as usize;
        if rests_at(state, item, floor) {
            // What may begin at the very offset of the item is a candidate itself.
            let is_candidate = |other: usize| {
                rests_at(state, other, floor) && model.items[other].sections.contains(&section)
            };
            let shares = model.items[item].shares && state.shares_from_below(item, is_candidate);
            if shares || state.may_slide_beneath(item) {
                state.spoiler[section] = item as u32;
                return false;
            }
            rests = true;
        }
    }
    rests
}

/// Can the two change places without anybody noticing?
pub(super) fn are_twins(model: &Model, one: usize, other: usize) -> bool {
    let (a, b) = (&model.items[one], &model.items[other]);
    a.sections == b.sections
        && a.size == b.size
        && a.alignment == b.alignment
        && !a.shares
        && !b.shares
        // Permission to share bytes with something fixed shows here only.
        && model.blocked.of(one) == model.blocked.of(other)
}

fn values(model: &Model, key: Key) -> Vec<u128> {
    let mut totals = vec![0_i64; model.sections()];
    if key == Key::Pressure {
        for item in &model.items {
            totals[item.sections.clone()].iter_mut().for_each(|total| *total += item.span);
        }
    }
    let value = |index: usize, item: &Item| -> u128 {
        let bytes = item.span as u128;
        match key {
            Key::Duration => item.duration as u128,
            Key::Size => bytes,
            Key::Area => bytes * item.sections.len() as u128,
            Key::LongArea => bytes * item.duration as u128,
            Key::Neighbours => model.neighbours(index) as u128,
            Key::Pressure => totals[item.sections.clone()].iter().max().map_or(0, |&most| most as u128),
        }
    };
    model.items.iter().enumerate().map(|(index, item)| value(index, item)).collect()
}
