//! Items that may share bytes, seen from either side.

use super::lists::Lists;
use super::model::Item;
use super::obstacles::up;
use crate::{Problem, Sharing};

/// How an item stands to another with which it may share bytes.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    pub(super) item: usize,
    pub(super) relation: Relation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The partner may begin this far above or this far below, or more: on one side or on both, less than where it
    /// would lie apart.
    Beside { above: i64, below: i64 },
    /// Both may begin at the same offset.
    Glue,
}

impl Relation {
    /// What the writer sees of what it is written over, and the other way round, if it may begin so far below or so far above.
    fn beside(below: i64, above: i64) -> (Self, Self) {
        (Self::Beside { above: below, below: above }, Self::Beside { above, below })
    }
}

/// A permission, in the one section in which both live.
#[derive(Clone, Copy)]
struct Pair {
    writer: usize,
    over: usize,
    /// How much of the writer has to lie below `over` at least.
    below: i64,
    /// The most bytes, in whole cells, that the two can share.
    saving: i64,
}

pub(super) struct Shared {
    partners: Lists<Partner>,
    /// By section, then by writer.
    by_writer: Lists<Pair>,
    /// By section, then by what is written over.
    by_over: Lists<Pair>,
    sections: Lists<usize>,
}

impl Shared {
    pub(super) fn new(problem: &Problem, items: &[Item], sections: usize, cell: i64) -> Self {
        let mut item_of = vec![None; if problem.overlaps().is_empty() { 0 } else { problem.buffers().len() }];
        for (index, item) in items.iter().enumerate().take(item_of.len()) {
            item_of[item.buffer] = Some(index);
        }
        let mut partners = Vec::new();
        let mut pairs = Vec::new();
        for overlap in problem.overlaps() {
            let (Some(writer), Some(over)) = (item_of[overlap.writer], item_of[overlap.over]) else {
                continue;
            };
            let (y, x) = (&items[writer], &items[over]);
            // Offsets differ by whole cells.
            let cells = |distance: u64, lower: &Item| up(distance.min(lower.span as u64) as i64, cell);
            let (to_over, to_writer) = match overlap.how {
                Sharing::SameOffset => (Relation::Glue, Relation::Glue),
                Sharing::Below { distance } => Relation::beside(cells(distance, y), x.span),
                Sharing::EitherWay { below, above } => {
                    Relation::beside(cells(below, y), cells(above.get(), x))
                }
            };
            let in_cells = |distance: u64| up(distance as i64, cell) as u64;
            let saving = overlap.how.most_shared(y.span as u64, x.span as u64, in_cells) as i64;
            if saving == 0 {
                continue;
            }
            partners.push((writer, Partner { item: over, relation: to_over }));
            partners.push((over, Partner { item: writer, relation: to_writer }));
            let section = x.sections.start.max(y.sections.start);
            let below = cells(overlap.how.least_below(), y);
            pairs.push((section, Pair { writer, over, below, saving }));
        }
        pairs.sort_unstable_by_key(|&(section, pair)| (section, pair.over, pair.writer));
        let by_over = Lists::new(sections, pairs.iter().copied());
        pairs.sort_unstable_by_key(|&(section, pair)| (section, pair.writer, pair.over));
        let by_writer = Lists::new(sections, pairs.iter().copied());
        let mut at: Vec<(usize, usize)> = pairs
            .iter()
            .flat_map(|&(section, pair)| [(pair.writer, section), (pair.over, section)])
            .collect();
        at.sort_unstable();
        at.dedup();
        Self {
            partners: Lists::new(items.len(), partners.iter().copied()),
            by_writer,
            by_over,
            sections: Lists::new(items.len(), at.iter().copied()),
        }
    }

    /// Those with which an item may share bytes.
    pub(super) fn of(&self, item: usize) -> &[Partner] {
        self.partners.of(item)
    }

    /// The sections in which an item may share bytes: at its beginning, at its end.
    pub(super) fn sections(&self, item: usize) -> &[usize] {
        self.sections.of(item)
    }

    /// May it begin at the same offset as another?
    pub(super) fn has_glue(&self, item: usize) -> bool {
        self.of(item).iter().any(|partner| partner.relation == Relation::Glue)
    }

    /// The most bytes, in whole cells, that the open items of a section can save by sharing.
    ///
    /// What dies in a section lies apart, and so does what begins in it. So a writer shares no more than its own bytes
    /// with all that it is written over, less those below the lowest of them; and what is written over shares no more
    /// than its own bytes.
    pub(super) fn saving(&self, section: usize, items: &[Item], is_open: impl Fn(usize) -> bool) -> i64 {
        let open = |pair: &&Pair| is_open(pair.writer) && is_open(pair.over);
        let by = |pairs: &[Pair], whose: fn(&Pair) -> usize, counts_below: bool| -> i64 {
            pairs
                .chunk_by(|a, b| whose(a) == whose(b))
                .map(|group| {
                    let saved: i64 = group.iter().filter(open).map(|pair| pair.saving).sum();
                    let below = group.iter().filter(open).map(|pair| pair.below).min().unwrap_or(0);
                    saved.min(items[whose(&group[0])].span - if counts_below { below } else { 0 })
                })
                .sum()
        };
        let by_writer = by(self.by_writer.of(section), |pair| pair.writer, true);
        by_writer.min(by(self.by_over.of(section), |pair| pair.over, false))
    }
}
