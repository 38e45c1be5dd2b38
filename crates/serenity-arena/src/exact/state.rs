//! A partial placement, what follows from it, and the way back.
//!
//! Items are placed from the bottom up: one that is placed lies below all open items it lives with, unless those are known to
//! lie lower still. So an open item has a lowest offset at which it can *rest*: on the ground, on an obstacle, or on a placed item.
//! Every placement can be pushed down until all rest, without getting higher, so the search looks at no others.
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
    /// For open items the lowest offset at which they can rest; for placed ones their offset.
    pub(super) lowest: Vec<i64>,
    pub(super) open: Vec<bool>,
    pub(super) refused: Vec<bool>,
    refusals: usize,
    /// For each section, the lowest of its open items; [`NOWHERE`] if there are none.
    pub(super) floor: Vec<i64>,
    /// An open item at the floor, or a guess at one.
    floor_item: Vec<u32>,
    /// Cells that the open items of each section need.
    load: Vec<i64>,
    /// What sharing may save of that.
    saved: Vec<i64>,
    /// Open items that live both in a section and in the one before.
    pub(super) crossing: Vec<u32>,
    trail: Vec<Change>,
    /// Sections of which the floor or the load may have changed.
    dirty: Dirty,
    witnesses: Witnesses,
    scratch: Vec<u32>,
}

/// For each item the one that settled a question the last time: it most often does so again. Itself, if there is none yet.
struct Witnesses {
    in_the_way: Vec<u32>,
    beneath: Vec<u32>,
    support: Vec<u32>,
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

enum Change {
    Lowest(u32, i64),
    Floor(u32, i64),
    Saved(u32, i64),
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
}

impl<'a> State<'a> {
    pub(super) fn new(model: &'a Model, capacity: i64) -> Self {
        let (items, sections) = (model.items.len(), model.sections());
        let mut state = Self {
            model,
            capacity,
            least_violation: NOWHERE,
            lowest: vec![0; items],
            open: vec![true; items],
            refused: vec![false; items],
            refusals: 0,
            floor: vec![-1; sections],
            floor_item: (0..sections).map(|s| model.members(s).first().copied().unwrap_or(0)).collect(),
            load: vec![0; sections],
            saved: (0..sections).map(|s| model.shared.saving(s, &model.items, |_| true)).collect(),
            crossing: vec![0; sections + 1],
            trail: Vec::new(),
            dirty: Dirty { start: 0, end: sections },
            witnesses: Witnesses::new(items as u32),
            scratch: Vec::new(),
        };
        for (index, item) in model.items.iter().enumerate() {
            state.load[item.sections.clone()].iter_mut().for_each(|load| *load += item.span);
            state.crossing[item.sections.start + 1..item.sections.end]
                .iter_mut()
                .for_each(|count| *count += 1);
            state.lowest[index] = state.settle(index, 0);
        }
        state
    }

    /// What a section needs at least: the offset at which its open items end if they are stacked without a gap.
    pub(super) fn need(&self, section: usize) -> i64 {
        self.reach(section, self.floor[section])
    }

    /// What all sections need at least.
    pub(super) fn least_height(&self) -> i64 {
        let open = (0..self.floor.len()).filter(|&section| self.floor[section] < NOWHERE);
        open.map(|section| self.need(section) - self.padding(section)).max().unwrap_or(0)
    }

    /// How far the open items of a section reach if they begin at `floor` and leave no free cell beneath them.
    fn reach(&self, section: usize, floor: i64) -> i64 {
        let mut top = floor;
        let mut rest = self.load[section] - self.saved[section];
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
        let open = self.model.members(section).iter().map(|&i| i as usize).filter(|&i| self.open[i]);
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
            for partner in self.model.shared.of(item) {
                if partner.relation == Relation::Glue && !self.open[partner.item] {
                    let (offset, top) = self.extent(partner.item);
                    if offset < at && at < top {
                        at = top;
                    }
                }
            }
            if at == before {
                return at;
            }
        }
    }

    fn extent(&self, item: usize) -> (i64, i64) {
        (self.lowest[item], self.lowest[item] + self.model.items[item].span)
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
        self.open[item] = false;
        self.load[it.sections.clone()].iter_mut().for_each(|load| *load -= it.span);
        self.crossing[it.sections.start + 1..it.sections.end].iter_mut().for_each(|count| *count -= 1);
        self.dirty.add(&it.sections);
        if it.shares {
            self.update_savings(item);
        }
        for other in model.living_with(item) {
            if !self.open[other] || self.lowest[other] > top {
                continue;
            }
            let bed = if it.shares { self.bed(item, other, offset, top) } else { top };
            if self.lowest[other] <= bed {
                self.allow(other);
                self.raise(other, bed)?;
            }
        }
        Ok(())
    }

    fn update_savings(&mut self, item: usize) {
        let model = self.model;
        for &section in model.shared.sections(item) {
            let saving = model.shared.saving(section, &model.items, |i| self.open[i]);
            if saving != self.saved[section] {
                self.trail.push(Change::Saved(section as u32, self.saved[section]));
                self.saved[section] = saving;
            }
        }
    }

    /// Where `other` can rest on an item that lies from `offset` to `top`.
    fn bed(&self, item: usize, other: usize, offset: i64, top: i64) -> i64 {
        match self.relation(item, other) {
            Some(Relation::PartnerAbove(distance)) => offset + distance,
            Some(Relation::Glue) if self.lowest[other] <= offset => offset,
            _ => top,
        }
    }

    fn relation(&self, item: usize, other: usize) -> Option<Relation> {
        self.model
            .shared
            .of(item)
            .iter()
            .find(|partner| partner.item == other)
            .map(|partner| partner.relation)
    }

    /// Draws conclusions within these sections, until there are no more.
    pub(super) fn propagate(&mut self, sections: &Range<usize>) -> Result<(), DeadEnd> {
        loop {
            self.raise_floors()?;
            if self.refusals > 0 {
                self.raise_refused(sections)?;
            }
            if self.dirty.end == 0 {
                return Ok(());
            }
        }
    }

    fn raise_floors(&mut self) -> Result<(), DeadEnd> {
        let model = self.model;
        let Dirty { start, end } = std::mem::replace(&mut self.dirty, Dirty::NOTHING);
        for section in start..end {
            let floor = self.floor[section];
            let guess = self.floor_item[section] as usize;
            if floor == NOWHERE || (floor >= 0 && self.open[guess] && self.lowest[guess] == floor) {
                continue;
            }
            let mut lowest = NOWHERE;
            for &member in model.members(section) {
                let member = member as usize;
                if self.open[member] && self.lowest[member] < lowest {
                    lowest = self.lowest[member];
                    self.floor_item[section] = member as u32;
                    if lowest == floor {
                        break;
                    }
                }
            }
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

    fn raise_refused(&mut self, sections: &Range<usize>) -> Result<(), DeadEnd> {
        for item in self.model.beginning_in(sections.clone()) {
            if self.refused[item] && self.open[item] {
                let support = self.support(item);
                if support >= NOWHERE {
                    return Err(DeadEnd);
                }
                self.raise(item, support)?;
            }
        }
        Ok(())
    }

    /// The lowest offset at which a refused item can rest on an open one, or something not above its lowest offset.
    fn support(&mut self, item: usize) -> i64 {
        let it = &self.model.items[item];
        let witness = self.witnesses.support[item] as usize;
        if !it.shares && witness != item && self.open[witness] && self.extent(witness).1 <= self.lowest[item]
        {
            return self.lowest[item];
        }
        let mut support = self.own_support(item);
        if it.shares && self.model.shared.has_glue(item) {
            support = support.min(self.support_of_glued(item));
        }
        support
    }

    fn own_support(&mut self, item: usize) -> i64 {
        let model = self.model;
        let it = &model.items[item];
        let mut support = NOWHERE;
        for other in model.living_with(item) {
            if !self.open[other] || other == item {
                continue;
            }
            let relation = if it.shares { self.relation(item, other) } else { None };
            let bed = match relation {
                Some(Relation::PartnerBelow(distance)) => self.lowest[other] + distance,
                _ => self.extent(other).1,
            };
            if bed < support {
                support = bed;
                self.witnesses.support[item] = other as u32;
            }
        }
        let tops_of_blocks = model.blocked.of(item).iter().map(|&(_, to)| to);
        let glued =
            model.shared.of(item).iter().filter(|p| p.relation == Relation::Glue && !self.open[p.item]);
        let tops_of_glued = glued.map(|partner| self.extent(partner.item).1);
        tops_of_blocks.chain(tops_of_glued).filter(|&top| top >= self.lowest[item]).fold(support, i64::min)
    }

    /// Items that begin at the same offset need only one support among them.
    fn support_of_glued(&mut self, item: usize) -> i64 {
        let model = self.model;
        let mut glued = std::mem::take(&mut self.scratch);
        glued.clear();
        glued.push(item as u32);
        let mut support = NOWHERE;
        let mut next = 0;
        while let Some(&member) = glued.get(next) {
            next += 1;
            for partner in model.shared.of(member as usize) {
                let is_new = !glued.contains(&(partner.item as u32));
                if partner.relation == Relation::Glue && self.open[partner.item] && is_new {
                    if self.refused[partner.item] {
                        glued.push(partner.item as u32);
                        support = support.min(self.own_support(partner.item));
                    } else {
                        support = support.min(self.lowest[partner.item]);
                    }
                }
            }
        }
        self.scratch = glued;
        support
    }

    /// Can the item be placed without being in the way of any open one?
    pub(super) fn is_in_nobodys_way(&mut self, item: usize) -> bool {
        let model = self.model;
        let shares = model.items[item].shares;
        let (offset, top) = self.extent(item);
        let witness = self.witnesses.in_the_way[item] as usize;
        if !shares && witness != item && self.open[witness] && self.lowest[witness] < top {
            return false;
        }
        for other in model.living_with(item) {
            if !self.open[other] || other == item || self.lowest[other] >= top {
                continue;
            }
            let is_clear = shares
                && matches!(self.relation(item, other), Some(Relation::PartnerAbove(distance)) if self.lowest[other] >= offset + distance);
            if !is_clear {
                self.witnesses.in_the_way[item] = other as u32;
                return false;
            }
        }
        true
    }

    /// Is there an open item that could still slide beneath this one, where it rests now?
    pub(super) fn may_slide_beneath(&mut self, item: usize, ignoring: impl Fn(&Self, usize) -> bool) -> bool {
        let model = self.model;
        let shares = model.items[item].shares;
        let lowest = self.lowest[item];
        let witness = self.witnesses.beneath[item] as usize;
        if witness != item && self.open[witness] && self.extent(witness).1 <= lowest {
            return true;
        }
        for other in model.living_with(item) {
            if !self.open[other] || self.lowest[other] > lowest || other == item {
                continue;
            }
            let relation = if shares { self.relation(item, other) } else { None };
            let slides = match relation {
                Some(Relation::PartnerBelow(distance)) => {
                    self.lowest[other] + distance <= lowest && !ignoring(self, other)
                }
                _ => self.extent(other).1 <= lowest,
            };
            if slides {
                self.witnesses.beneath[item] = other as u32;
                return true;
            }
        }
        false
    }

    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back everything since the mark.
    pub(super) fn undo(&mut self, mark: usize) {
        self.dirty = Dirty::NOTHING;
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Change::Lowest(item, before)) => self.lowest[item as usize] = before,
                Some(Change::Floor(section, before)) => self.floor[section as usize] = before,
                Some(Change::Saved(section, before)) => self.saved[section as usize] = before,
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
                    self.open[item as usize] = true;
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
            if self.open[item] {
                self.allow(item);
            }
        }
    }
}
