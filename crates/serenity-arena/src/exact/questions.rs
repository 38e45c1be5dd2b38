//! Tests that the search makes before it places an item.

use super::sharing::Relation;
use super::state::{Change, State};

impl State<'_> {
    /// Can the item be placed without being in the way of any open one?
    pub(super) fn is_in_nobodys_way(&mut self, item: usize) -> bool {
        let model = self.model;
        let shares = model.items[item].shares;
        let (offset, top) = self.extent(item);
        let witness = self.witnesses.in_the_way[item] as usize;
        if !shares && witness != item && self.lowest[witness] < top {
            return false;
        }
        for other in self.just_placed.resting.into_iter().flatten() {
            let lives_with = || {
                let (a, b) = (&model.items[item].sections, &model.items[other as usize].sections);
                a.start < b.end && b.start < a.end
            };
            if !shares && self.lowest[other as usize] < top && other as usize != item && lives_with() {
                self.witnesses.in_the_way[item] = other;
                return false;
            }
        }
        for other in model.living_with(item) {
            if self.lowest[other] >= top || other == item {
                continue;
            }
            let is_clear = shares
                && matches!(self.relation(item, other), Some(Relation::Beside { above, .. }) if self.lowest[other] >= offset + above);
            if !is_clear {
                self.witnesses.in_the_way[item] = other as u32;
                return false;
            }
        }
        true
    }

    /// Is there an open item that could still slide beneath this one, where it rests now? Partners that may share its
    /// bytes are left out: [`Self::shares_from_below`] tells about them.
    pub(super) fn may_slide_beneath(&mut self, item: usize) -> bool {
        let lowest = self.lowest[item];
        if self.clear_at[item] == lowest {
            return false;
        }
        let witness = self.witnesses.beneath[item] as usize;
        if witness != item && self.top(witness) <= lowest {
            return true;
        }
        let model = self.model;
        let it = &model.items[item];
        // Where nothing open is lower, nothing can be beneath. The sign is negative if some difference is: this loop is
        // hot, and so it is done several at a time.
        let differences = self.floor[it.sections.clone()].iter().map(|&floor| floor - lowest);
        if differences.fold(0, |signs, difference| signs | difference) < 0 {
            for other in model.living_with(item) {
                let fits = self.top(other) <= lowest;
                if fits && !(it.shares && self.is_below(item, other)) {
                    self.witnesses.beneath[item] = other as u32;
                    return true;
                }
            }
        }
        // Others only rise from here on, until this is taken back.
        self.trail.push(Change::Clear(item as u32, self.clear_at[item]));
        self.clear_at[item] = lowest;
        false
    }

    fn is_below(&self, item: usize, other: usize) -> bool {
        matches!(self.relation(item, other), Some(Relation::Beside { below, .. }) if below < self.model.spans[other])
    }

    /// Is there an open partner that could be written over this item, where it rests now? Some may be left out.
    pub(super) fn shares_from_below(&self, item: usize, leave_out: impl Fn(usize) -> bool) -> bool {
        self.model.shared.of(item).iter().any(|partner| match partner.relation {
            Relation::Beside { below, .. } if below < self.model.spans[partner.item] => {
                let slides = self.lowest[partner.item] + below <= self.lowest[item];
                slides && !leave_out(partner.item)
            }
            Relation::Beside { .. } | Relation::Glue => false,
        })
    }
}
