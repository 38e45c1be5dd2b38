//! A partial placement, its consequences, and how to undo it.
//!
//! Items are placed from the bottom up: one that is placed lies below all open items it lives with, unless those are
//! known to lie lower still. So an open item has a lowest offset at which it can *rest*: on the ground, on an obstacle,
//! or on a placed item. Every placement can be pushed down until all rest, without getting higher, so the search looks
//! at no others.
//!
//! An item may be *refused* at its lowest offset: then it rests on an item that is still open.

use super::model::Model;
use super::sharing::Relation;
use std::ops::Range;

/// Higher than anything, with room to add to it.
pub(super) const NOWHERE: i64 = i64::MAX / 4;

pub(super) struct State<'a> {
    pub(super) model: &'a Model,
    pub(super) capacity: i64,
    /// The lowest height that one of the branches cut off so far would have needed.
    pub(super) least_violation: i64,
    /// The lowest offset at which an open item can rest; [`NOWHERE`] for placed ones.
    pub(super) lowest: Vec<i64>,
    /// Where the placed items lie.
    pub(super) offset: Vec<i64>,
    pub(super) refused: Vec<bool>,
    refusals: usize,
    /// The offset at which nothing can slide beneath an item any more, if that is known.
    pub(super) clear_at: Vec<i64>,
    /// For each section, the lowest of its open items; [`NOWHERE`] if there are none.
    pub(super) floor: Vec<i64>,
    /// An open item at the floor, or a guess at one.
    floor_item: Vec<u32>,
    /// A member of each section beneath which something could slide once: a guess at one for which that is so.
    pub(super) spoiler: Vec<u32>,
    /// Choices made so far, and for each section the last one at which it was found not to be eligible.
    pub(super) choice: u64,
    pub(super) rejected: Vec<u64>,
    /// Bytes, in whole cells, that the open items of each section need.
    load: Vec<i64>,
    /// The part of the load that is saved because items may share bytes.
    saved: Vec<i64>,
    /// Open items that live both in a section and in the one before.
    pub(super) crossing: Vec<u32>,
    pub(super) trail: Vec<Change>,
    /// Sections of which the floor or the load may have changed.
    dirty: Dirty,
    /// Sections of which the floor or the load may have changed since the last call of [`Self::take_stirred`].
    stirred: Dirty,
    pub(super) just_placed: JustPlaced,
    pub(super) witnesses: Witnesses,
    pub(super) scratch: Vec<u32>,
    /// Items looked at while conclusions were drawn, since [`Self::take_looked_at`] was asked the last time.
    pub(super) looked_at: u64,
}

/// For each item the one that settled a question the last time: it most often does so again. Itself, if there is none yet.
pub(super) struct Witnesses {
    pub(super) in_the_way: Vec<u32>,
    pub(super) beneath: Vec<u32>,
    pub(super) support: Vec<u32>,
}

impl Witnesses {
    fn new(items: u32) -> Self {
        Self {
            in_the_way: (0..items).collect(),
            beneath: (0..items).collect(),
            support: (0..items).collect(),
        }
    }
}

/// The item that was placed last. In its sections no open item is lower than its top any more, unless they may share bytes.
#[derive(Default)]
pub(super) struct JustPlaced {
    sections: Range<usize>,
    top: i64,
    /// Some long-lived ones of those that rest on it now: likely to be the next floor, and in the way of others.
    pub(super) resting: [Option<u32>; RESTING],
}

const RESTING: usize = 4;

pub(super) enum Change {
    Lowest(u32, i64),
    Floor(u32, i64),
    Saved(u32, i64),
    Clear(u32, i64),
    Placed(u32),
    Refused(u32),
    Allowed(u32),
}

/// Nothing can come of this branch.
pub(super) struct DeadEnd;

/// A range of sections that grows.
#[derive(Clone, Copy)]
struct Dirty {
    start: usize,
    end: usize,
}

impl Dirty {
    const NOTHING: Self = Self { start: usize::MAX, end: 0 };

    fn add(&mut self, sections: &Range<usize>) {
        self.start = self.start.min(sections.start);
        self.end = self.end.max(sections.end);
    }

    fn take(&mut self) -> Option<Range<usize>> {
        let Self { start, end } = std::mem::replace(self, Self::NOTHING);
        (start < end).then_some(start..end)
    }
}

impl<'a> State<'a> {
    pub(super) fn new(model: &'a Model, capacity: i64) -> Self {
        let (items, sections) = (model.items.len(), model.sections());
        let mut state = Self {
            model,
            capacity,
            least_violation: NOWHERE,
            lowest: vec![0; items],
            offset: vec![0; items],
            refused: vec![false; items],
            refusals: 0,
            clear_at: vec![-1; items],
            // Not known yet, where there is anything at all.
            floor: (0..sections).map(|s| if model.members(s).is_empty() { NOWHERE } else { -1 }).collect(),
            floor_item: (0..sections).map(|s| model.members(s).first().copied().unwrap_or(0)).collect(),
            choice: 0,
            rejected: vec![0; sections],
            spoiler: (0..sections).map(|s| model.members(s).first().copied().unwrap_or(0)).collect(),
            load: vec![0; sections],
            saved: vec![0; sections],
            crossing: vec![0; sections + 1],
            trail: Vec::new(),
            dirty: Dirty { start: 0, end: sections },
            stirred: Dirty::NOTHING,
            just_placed: JustPlaced::default(),
            witnesses: Witnesses::new(items as u32),
            scratch: Vec::new(),
            looked_at: 0,
        };
        for (index, item) in model.items.iter().enumerate() {
            state.load[item.sections.clone()].iter_mut().for_each(|load| *load += item.span);
            state.crossing[item.sections.start + 1..item.sections.end]
                .iter_mut()
                .for_each(|count| *count += 1);
            state.lowest[index] = state.settle(index, 0);
        }
        for section in 0..sections {
            state.set_saving(section, model.shared.saving(section, &model.items, |_| true));
        }
        state
    }

    /// What a section with open items needs at least: the offset at which its open items end if they are stacked without a gap.
    #[inline]
    pub(super) fn need(&self, section: usize) -> i64 {
        if self.model.has_obstacles {
            self.reach(section, self.floor[section])
        } else {
            self.floor[section] + self.load[section]
        }
    }

    /// What all sections need at least.
    pub(super) fn least_height(&self) -> i64 {
        let open = (0..self.floor.len()).filter(|&section| self.floor[section] < NOWHERE);
        open.map(|section| self.need(section) - self.padding(section)).max().unwrap_or(0)
    }

    /// How far the open items of a section reach if they begin at `floor` and leave no free cell beneath them.
    fn reach(&self, section: usize, floor: i64) -> i64 {
        let mut top = floor;
        let mut rest = self.load[section];
        for &(start, end) in self.model.taken.of(section) {
            if end <= top {
                continue;
            }
            let free = (start - top).max(0);
            if rest <= free {
                break;
            }
            rest -= free;
            top = end;
        }
        top + rest
    }

    /// The last cell of the topmost item need not be full.
    fn padding(&self, section: usize) -> i64 {
        let open = self.model.members(section).iter().map(|&i| i as usize).filter(|&i| self.is_open(i));
        open.map(|i| self.model.items[i].span - self.model.items[i].size).max().unwrap_or(0)
    }

    /// The lowest offset from `at` on at which nothing that lies fixed is met.
    fn settle(&self, item: usize, mut at: i64) -> i64 {
        let it = &self.model.items[item];
        if it.rests_anywhere {
            return at;
        }
        loop {
            let before = at;
            at = (at + it.alignment - 1) / it.alignment * it.alignment;
            for &(from, to) in self.model.blocked.of(item) {
                if from < at && at < to {
                    at = to;
                }
            }
            for (_, offset, top) in self.glued(item) {
                if offset < at && at < top {
                    at = top;
                }
            }
            if at == before {
                return at;
            }
        }
    }

    /// The placed items that may begin where `item` does: which, from where, and to where.
    fn glued(&self, item: usize) -> impl Iterator<Item = (usize, i64, i64)> + '_ {
        let partners = self.model.shared.of(item).iter().map(|partner| (partner.item, partner.relation));
        let placed = partners.filter(|&(other, relation)| relation == Relation::Glue && !self.is_open(other));
        placed.map(|(other, _)| (other, self.offset[other], self.offset[other] + self.model.spans[other]))
    }

    /// Those of them that `item`, which is open, is not above yet, and where they lie.
    pub(super) fn glued_below(&self, item: usize) -> impl Iterator<Item = (usize, i64)> + '_ {
        let lowest = self.lowest[item];
        self.glued(item).filter(move |&(.., top)| lowest < top).map(|(other, offset, _)| (other, offset))
    }

    pub(super) fn extent(&self, item: usize) -> (i64, i64) {
        (self.lowest[item], self.top(item))
    }

    /// Where an open item ends if it rests at its lowest offset; far up for placed ones.
    pub(super) fn top(&self, item: usize) -> i64 {
        self.lowest[item] + self.model.spans[item]
    }

    pub(super) fn is_open(&self, item: usize) -> bool {
        self.lowest[item] < NOWHERE
    }

    fn violated(&mut self, height: i64) -> Result<(), DeadEnd> {
        self.least_violation = self.least_violation.min(height);
        Err(DeadEnd)
    }

    /// The item cannot rest below `at`.
    fn raise(&mut self, item: usize, at: i64) -> Result<(), DeadEnd> {
        let at = self.settle(item, at);
        if at <= self.lowest[item] {
            return Ok(());
        }
        let model = self.model;
        if at + model.items[item].size > self.capacity {
            return self.violated(at + model.items[item].size);
        }
        self.trail.push(Change::Lowest(item as u32, self.lowest[item]));
        self.lowest[item] = at;
        self.dirty.add(&model.items[item].sections);
        Ok(())
    }

    fn allow(&mut self, item: usize) {
        if self.refused[item] {
            self.refused[item] = false;
            self.refusals -= 1;
            self.trail.push(Change::Allowed(item as u32));
        }
    }

    /// The item does not rest at its lowest offset.
    pub(super) fn refuse(&mut self, item: usize) -> Result<(), DeadEnd> {
        if !self.refused[item] {
            self.refused[item] = true;
            self.refusals += 1;
            self.trail.push(Change::Refused(item as u32));
        }
        self.raise(item, self.lowest[item] + self.model.cell)
    }

    /// Puts an item to its lowest offset, beneath all open items it lives with.
    pub(super) fn place(&mut self, item: usize) -> Result<(), DeadEnd> {
        let model = self.model;
        let it = &model.items[item];
        let (offset, top) = self.extent(item);
        if offset + it.size > self.capacity {
            return self.violated(offset + it.size);
        }
        self.trail.push(Change::Placed(item as u32));
        self.lowest[item] = NOWHERE;
        self.offset[item] = offset;
        self.load[it.sections.clone()].iter_mut().for_each(|load| *load -= it.span);
        self.crossing[it.sections.start + 1..it.sections.end].iter_mut().for_each(|count| *count -= 1);
        self.dirty.add(&it.sections);
        if it.shares {
            self.update_savings(item);
        }
        self.just_placed = JustPlaced {
            sections: if it.shares { 0..0 } else { it.sections.clone() },
            top,
            resting: [None; RESTING],
        };
        for other in model.living_with(item) {
            if self.lowest[other] > top && !self.refused[other] {
                continue;
            }
            let bed = if it.shares { self.bed(item, other, offset, top) } else { top };
            // What was refused may rest on it also where alignment lifts it off.
            let bed = if self.refused[other] { self.settle(other, bed) } else { bed };
            if self.lowest[other] <= bed {
                self.allow(other);
                self.raise(other, bed)?;
                if self.lowest[other] == top {
                    self.remember_resting(other);
                }
            }
        }
        Ok(())
    }

    /// Keeps those that live longest.
    fn remember_resting(&mut self, item: usize) {
        let items = &self.model.items;
        let length = |entry: &Option<u32>| entry.map_or(0, |other| items[other as usize].sections.len());
        let shortest = self.just_placed.resting.iter_mut().min_by_key(|entry| length(entry));
        if let Some(entry) = shortest.filter(|entry| length(entry) < items[item].sections.len()) {
            *entry = Some(item as u32);
        }
    }

    fn update_savings(&mut self, item: usize) {
        let model = self.model;
        for &section in model.shared.sections(item) {
            let saving = model.shared.saving(section, &model.items, |i| self.is_open(i));
            if saving != self.saved[section] {
                self.trail.push(Change::Saved(section as u32, self.saved[section]));
                self.set_saving(section, saving);
            }
        }
    }

    fn set_saving(&mut self, section: usize, saving: i64) {
        self.load[section] += self.saved[section] - saving;
        self.saved[section] = saving;
    }

    /// Where `other` can rest on an item that lies from `offset` to `top`.
    fn bed(&self, item: usize, other: usize, offset: i64, top: i64) -> i64 {
        match self.relation(item, other) {
            Some(Relation::Beside { above, .. }) => offset + above,
            Some(Relation::Glue) if self.lowest[other] <= offset => offset,
            _ => top,
        }
    }

    pub(super) fn relation(&self, item: usize, other: usize) -> Option<Relation> {
        self.model
            .shared
            .of(item)
            .iter()
            .find(|partner| partner.item == other)
            .map(|partner| partner.relation)
    }

    /// Draws conclusions, until there are no more.
    pub(super) fn propagate(&mut self) -> Result<(), DeadEnd> {
        while let Some(sections) = self.dirty.take() {
            self.stirred.add(&sections);
            self.raise_floors(sections.clone())?;
            if self.refusals > 0 {
                self.raise_refused(sections)?;
            }
        }
        Ok(())
    }

    fn raise_floors(&mut self, dirty: Range<usize>) -> Result<(), DeadEnd> {
        for section in dirty {
            let floor = self.floor[section];
            if floor == NOWHERE || self.lowest[self.floor_item[section] as usize] == floor {
                continue;
            }
            let lowest = self.find_floor(section);
            if lowest != floor {
                self.trail.push(Change::Floor(section as u32, floor));
                self.floor[section] = lowest;
            }
            if lowest < NOWHERE {
                let need = self.need(section);
                if need > self.capacity && need - self.padding(section) > self.capacity {
                    return self.violated(need - self.padding(section));
                }
            }
        }
        Ok(())
    }

    fn find_floor(&mut self, section: usize) -> i64 {
        let model = self.model;
        let mut at_least = self.floor[section];
        if self.just_placed.sections.contains(&section) {
            at_least = at_least.max(self.just_placed.top);
            for item in self.just_placed.resting.into_iter().flatten() {
                if self.lowest[item as usize] == at_least
                    && model.items[item as usize].sections.contains(&section)
                {
                    self.floor_item[section] = item;
                    return at_least;
                }
            }
        }
        let mut lowest = NOWHERE;
        for &member in model.members(section) {
            if self.lowest[member as usize] < lowest {
                lowest = self.lowest[member as usize];
                self.floor_item[section] = member;
                if lowest <= at_least {
                    break;
                }
            }
        }
        lowest
    }

    /// What lives elsewhere has the support it had.
    fn raise_refused(&mut self, dirty: Range<usize>) -> Result<(), DeadEnd> {
        let model = self.model;
        for item in model.living_in(dirty) {
            self.looked_at += 1;
            if self.refused[item] && self.is_open(item) {
                let support = self.support(item);
                if support >= NOWHERE {
                    return Err(DeadEnd);
                }
                self.raise(item, support)?;
            }
        }
        Ok(())
    }

    /// The sections in which something has changed since the last time, within the given ones.
    pub(super) fn take_stirred(&mut self, within: &Range<usize>) -> Option<Range<usize>> {
        let Range { start, end } = self.stirred.take()?;
        let sections = start.max(within.start)..end.min(within.end);
        (sections.start < sections.end).then_some(sections)
    }

    /// Items looked at since the last time.
    pub(super) fn take_looked_at(&mut self) -> u64 {
        std::mem::take(&mut self.looked_at)
    }

    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back everything since the mark.
    pub(super) fn undo(&mut self, mark: usize) {
        (self.dirty, self.stirred) = (Dirty::NOTHING, Dirty::NOTHING);
        self.just_placed = JustPlaced::default();
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Change::Lowest(item, before)) => self.lowest[item as usize] = before,
                Some(Change::Floor(section, before)) => self.floor[section as usize] = before,
                Some(Change::Saved(section, before)) => self.set_saving(section as usize, before),
                Some(Change::Clear(item, before)) => self.clear_at[item as usize] = before,
                Some(Change::Refused(item)) => {
                    self.refused[item as usize] = false;
                    self.refusals -= 1;
                }
                Some(Change::Allowed(item)) => {
                    self.refused[item as usize] = true;
                    self.refusals += 1;
                }
                Some(Change::Placed(item)) => {
                    let it = &self.model.items[item as usize];
                    self.lowest[item as usize] = self.offset[item as usize];
                    self.load[it.sections.clone()].iter_mut().for_each(|load| *load += it.span);
                    self.crossing[it.sections.start + 1..it.sections.end]
                        .iter_mut()
                        .for_each(|count| *count += 1);
                }
                None => break,
            }
        }
    }

    /// Allows every open item of these sections to rest at its lowest offset again.
    pub(super) fn allow_all(&mut self, sections: &Range<usize>) {
        for item in self.model.beginning_in(sections.clone()) {
            if self.is_open(item) {
                self.allow(item);
            }
        }
    }
}
