//! Finds what a refused item can rest on.

use super::sharing::Relation;
use super::state::{NOWHERE, State};

impl State<'_> {
    /// The lowest offset at which a refused item can rest on an open one, or something not above its lowest offset.
    pub(super) fn support(&mut self, item: usize) -> i64 {
        let it = &self.model.items[item];
        let witness = self.witnesses.support[item] as usize;
        if !it.shares && witness != item && self.top(witness) <= self.lowest[item] {
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
            self.looked_at += 1;
            if !self.is_open(other) || other == item {
                continue;
            }
            let relation = if it.shares { self.relation(item, other) } else { None };
            let bed = match relation {
                Some(Relation::Beside { below, .. }) => self.lowest[other] + below,
                _ => self.top(other),
            };
            if bed < support {
                support = bed;
                self.witnesses.support[item] = other as u32;
            }
        }
        let tops_of_blocks = model.blocked.of(item).iter().map(|&(_, to)| to);
        let glued =
            model.shared.of(item).iter().filter(|p| p.relation == Relation::Glue && !self.is_open(p.item));
        let tops_of_glued = glued.map(|partner| self.offset[partner.item] + model.spans[partner.item]);
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
                if partner.relation == Relation::Glue && self.is_open(partner.item) && is_new {
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
}
