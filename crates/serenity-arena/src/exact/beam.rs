//! Keeps the most promising of many partial placements, all with equally many items: finds placements that leave no
//! slack, where a search depth first gets lost. It refutes nothing.
//!
//! Items are placed from the bottom up, as by the [search](mod@super::search). A partial placement is its *skyline*
//! ([`skyline`](super::skyline)): for each section, the lowest offset at which one of its open items can rest. At every
//! level, a section is chosen that is low and tight, and beneath whose resting items nothing can slide. One of these
//! items is placed; or, a few times, none of them is, and the section is raised to the next offset at which one could
//! rest.
//!
//! Placements are compared by the share of its slack that each section has wasted, in relation to what is placed. Of
//! several with the same items, only the best is kept.

use super::choose::are_twins;
use super::model::Model;
use super::skyline::{Desk, Ground, Skyline};
use crate::StopReason;
use serenity_search::{Watch, mix};
use std::cmp::Ordering;
use std::collections::HashSet;

/// How much a beam may do, and what it takes for promising.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Partial placements that are kept.
    pub(super) width: usize,
    /// How often a section may be raised before an item is placed.
    pub(super) raises: usize,
    pub(super) guide: Guide,
}

/// What makes a partial placement promising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guide {
    /// Little waste for the area that is placed.
    Even,
    /// Little waste, and sections that waste much count more.
    Worst,
    /// Little waste for the area that is placed, which counts twice.
    Far,
}

impl Shape {
    pub(super) const fn new(width: usize, raises: usize, guide: Guide) -> Self {
        Self { width, raises, guide }
    }
}

/// A share of one, in the sums that placements are compared by.
const ONE: i64 = 1 << 32;
/// A section without slack counts as if it had one part in so many of the target.
const LEAST_SLACK: i32 = 200;
/// A beam leaves one part in so many of the work to what comes after it.
const SHARE_FOR_OTHERS: u64 = 4;
/// Children that are looked at for each one that is kept: others may have the same items.
const CHILDREN_PER_PLACE: usize = 4;

/// So many sections looked at to branch, or to compare a child, take as long as a buffer that the search depth first looks at.
const SECTIONS_BRANCHED_ON: u64 = 4;
const SECTIONS_COMPARED: u64 = 32;

/// A problem, and how to search it.
pub(super) struct Beam {
    ground: Ground,
    /// For each item another one that it can change places with, and that is placed first.
    twins: Vec<Option<usize>>,
    /// For each section, the share of its slack that a unit is.
    shares: Vec<i64>,
    /// The sum of sizes times sections.
    area: i64,
    shape: Shape,
}

/// A partial placement.
struct Node {
    sky: Skyline,
    /// For each section, what its open items need.
    load: Vec<i32>,
    hash: u64,
    area: i64,
    /// Its last step.
    step: u32,
}

/// An item that was placed, and the step before it.
struct Step {
    before: u32,
    item: u32,
    offset: i32,
}

/// A placement with one item more than its parent.
struct Child {
    guide: f64,
    parent: u32,
    /// The skyline before the item was placed, among those of its level.
    sky: u32,
    item: u32,
    hash: u64,
}

/// The children of a level, and the skylines that they are made from.
struct Litter {
    skies: Vec<Skyline>,
    children: Vec<Child>,
    /// So many of the best are looked at. Children that are less promising than the last of them are not kept.
    most: usize,
    last: f64,
}

impl Litter {
    fn new(shape: Shape) -> Self {
        let most = CHILDREN_PER_PLACE * shape.width;
        Self { skies: Vec::new(), children: Vec::new(), most, last: f64::INFINITY }
    }

    fn add(&mut self, child: Child) {
        self.children.push(child);
        if self.children.len() >= 2 * self.most {
            self.keep_best();
        }
    }

    fn keep_best(&mut self) {
        if self.children.len() > self.most {
            let (_, last, _) = self.children.select_nth_unstable_by(self.most - 1, by_promise);
            self.last = last.guide;
            self.children.truncate(self.most);
        }
    }
}

/// The most promising first; no two are equal.
fn by_promise(one: &Child, other: &Child) -> Ordering {
    let rest = |child: &Child| (child.parent, child.sky, child.item);
    one.guide.total_cmp(&other.guide).then_with(|| rest(one).cmp(&rest(other)))
}

impl Beam {
    /// `None` if the problem is of another kind, or too large for so much memory.
    pub(super) fn new(model: &Model, target: u64, shape: Shape, memory: u64) -> Option<Self> {
        let ground = Ground::new(model, target)?;
        let (items, sections) = (ground.sizes.len(), ground.loads.len());
        let each = (shape.raises as u64 + 3) * 4 * (3 * sections + items) as u64;
        if shape.width as u64 * each > memory {
            return None;
        }
        let least = ground.target / LEAST_SLACK + 1;
        let slack = |load: i32| i64::from(ground.target - load + least);
        let shares = ground.loads.iter().map(|&load| ONE / slack(load)).collect();
        // Items are sorted by what they are, so twins stand side by side.
        let twins = (0..items).map(|item| item.checked_sub(1).filter(|&other| are_twins(model, item, other)));
        let twins = twins.collect();
        let area = (0..items).map(|item| ground.area(item)).sum();
        Some(Self { ground, twins, shares, area, shape })
    }

    /// An offset for each item; `None` if no placement within the target was found. Takes no more than a share of the work
    /// that is left, for there are other ways to go on.
    pub(super) fn run(&self, watch: &mut Watch) -> Result<Option<Vec<i64>>, StopReason> {
        let items = self.ground.sizes.len();
        let mut desk = Desk::default();
        let mut level = vec![Node {
            sky: self.ground.skyline(),
            load: self.ground.loads.clone(),
            hash: 0,
            area: 0,
            step: u32::MAX,
        }];
        let mut steps: Vec<Step> = Vec::new();
        let most = watch.left().work.map_or(u64::MAX, |left| left - left / SHARE_FOR_OTHERS);
        let mut spent = 0;
        for _ in 0..items {
            let mut litter = Litter::new(self.shape);
            for (parent, node) in level.iter().enumerate() {
                let work = self.expand(node, parent as u32, &mut desk, &mut litter);
                watch.states += 1;
                spent += work;
                if spent > most {
                    return Ok(None);
                }
                if let Some(reason) = watch.after(work) {
                    return Err(reason);
                }
            }
            level = self.best(&level, litter, &mut steps, &mut desk);
            if level.is_empty() {
                return Ok(None);
            }
        }
        let mut offsets = vec![0; items];
        let mut step = level[0].step;
        while let Some(Step { before, item, offset }) = steps.get(step as usize) {
            offsets[*item as usize] = i64::from(*offset) * self.ground.unit;
            step = *before;
        }
        Ok(Some(offsets))
    }

    /// Adds the children of a node. Returns the work it took.
    fn expand(&self, node: &Node, parent: u32, desk: &mut Desk, litter: &mut Litter) -> u64 {
        let ground = &self.ground;
        let mut sky = node.sky.clone();
        let mut work = 0;
        for raise in 0..=self.shape.raises {
            work += self.shares.len() as u64 / SECTIONS_BRANCHED_ON;
            let Some(section) = ground.choose(&sky, &node.load, desk) else { break };
            let floor = sky.floor[section];
            let waste = self.waste_of(&sky, &node.load);
            let mut is_used = false;
            for &item in ground.members(section) {
                let is_second = || self.twins[item as usize].is_some_and(|twin| sky.is_open(twin));
                if sky.lowest[item as usize] != floor || is_second() {
                    continue;
                }
                work += self.shares.len() as u64 / SECTIONS_COMPARED + 1;
                if let Some(guide) = self.guide(item as usize, &sky, node, (waste, litter.last)) {
                    let hash = node.hash ^ mix(u64::from(item) + 1);
                    let sky = litter.skies.len() as u32;
                    litter.add(Child { guide, parent, sky, item, hash });
                    is_used = true;
                }
            }
            if is_used {
                litter.skies.push(sky.clone());
            }
            if raise == self.shape.raises || !ground.raise(&mut sky, section, &node.load, desk) {
                break;
            }
        }
        work
    }

    /// The shares of slack that all sections have wasted.
    fn waste_of(&self, sky: &Skyline, load: &[i32]) -> i64 {
        let open = (0..load.len()).filter(|&section| load[section] > 0);
        open.map(|section| self.waste(section, sky.floor[section], load[section])).sum()
    }

    /// The share of its slack that a section has wasted, if its open items begin at `floor`.
    fn waste(&self, section: usize, floor: i32, load: i32) -> i64 {
        let one = i64::from(floor + load - self.ground.loads[section]) * self.shares[section];
        if self.shape.guide == Guide::Worst { (one >> 16) * (one >> 16) } else { one }
    }

    /// How promising a node is after one more item, the least first; `None` if what is open does not fit any more, or if
    /// it is less promising than `last`.
    fn guide(&self, item: usize, sky: &Skyline, node: &Node, (waste, last): (i64, f64)) -> Option<f64> {
        let mut waste = waste;
        let share = self.area as f64 / (node.area + self.ground.area(item)) as f64;
        let share = if self.shape.guide == Guide::Far { share * share } else { share };
        // Waste only grows from section to section; one more makes up for rounding.
        let most = (last / share - (ONE / 2) as f64) as i64;
        let most = most.saturating_add(1);
        let fits = self.ground.floors_after(item, sky, |section, is_lived, floor| {
            let load = node.load[section];
            waste -= self.waste(section, sky.floor[section], load);
            let load = if is_lived { load - self.ground.sizes[item] } else { load };
            if load > 0 {
                waste += self.waste(section, floor, load);
            }
            waste <= most && (load == 0 || floor + load <= self.ground.target)
        });
        fits.then(|| (waste + ONE / 2) as f64 * share)
    }

    /// The best of the children, each with other items placed.
    fn best(&self, level: &[Node], mut litter: Litter, steps: &mut Vec<Step>, desk: &mut Desk) -> Vec<Node> {
        litter.keep_best();
        let Litter { skies, mut children, .. } = litter;
        children.sort_unstable_by(by_promise);
        let mut seen = HashSet::new();
        let mut best = Vec::with_capacity(self.shape.width);
        for child in children {
            if best.len() == self.shape.width {
                break;
            }
            if !seen.contains(&child.hash) {
                let sky = skies[child.sky as usize].clone();
                let placed = self.placed(&level[child.parent as usize], sky, &child, steps, desk);
                seen.extend(placed.is_some().then_some(child.hash));
                best.extend(placed);
            }
        }
        best
    }

    /// `None` if what is open does not fit any more.
    fn placed(
        &self,
        parent: &Node,
        mut sky: Skyline,
        child: &Child,
        steps: &mut Vec<Step>,
        desk: &mut Desk,
    ) -> Option<Node> {
        let item = child.item as usize;
        let mut load = parent.load.clone();
        load[self.ground.lived(item)].iter_mut().for_each(|load| *load -= self.ground.sizes[item]);
        let offset = sky.lowest[item];
        if !self.ground.place(&mut sky, item, &load, desk) {
            return None;
        }
        steps.push(Step { before: parent.step, item: child.item, offset });
        let area = parent.area + self.ground.area(item);
        Some(Node { sky, load, hash: child.hash, area, step: steps.len() as u32 - 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::model::Direction;
    use crate::{Buffer, Options, Problem, place};
    use serenity_search::{Limits, Random};

    const GUIDES: [Guide; 3] = [Guide::Even, Guide::Worst, Guide::Far];

    fn draw(numbers: &mut Random, most: u64) -> Problem {
        let count = 2 + numbers.below(most);
        let buffer = |_| {
            let (a, b) = (numbers.below(12) as i64, numbers.below(12) as i64);
            Buffer::new(4 * numbers.below(9), a.min(b)..a.max(b) + 1)
        };
        Problem::new((0..count).map(buffer).collect(), 1).unwrap()
    }

    fn search(model: &Model, target: u64, shape: Shape) -> Option<Vec<i64>> {
        let limits = Limits::default();
        Beam::new(model, target, shape, u64::MAX)?.run(&mut Watch::new(&limits, None)).unwrap()
    }

    fn assert_valid(model: &Model, target: u64, offsets: &[i64]) {
        for (one, &at) in offsets.iter().enumerate() {
            assert!(at >= 0 && at + model.spans[one] <= target as i64);
            for other in model.living_with(one).filter(|&other| other != one) {
                let there = offsets[other];
                assert!(at + model.spans[one] <= there || there + model.spans[other] <= at);
            }
        }
    }

    #[test]
    fn what_it_finds_is_a_placement_and_nothing_below_the_optimum() {
        let mut numbers = Random(11);
        let (mut found, mut asked) = (0, 0);
        for round in 0..3000 {
            let problem = draw(&mut numbers, 10);
            let least = place(&problem, &Options::default()).height;
            let direction = if round % 2 == 0 { Direction::Forwards } else { Direction::Backwards };
            let model = Model::new(&problem, direction, u64::MAX).unwrap();
            if model.items.is_empty() {
                continue;
            }
            let shape = Shape::new(1 + round % 30, round % 5, GUIDES[round % 3]);
            assert_eq!(least.checked_sub(1).and_then(|below| search(&model, below, shape)), None);
            let offsets = search(&model, least, shape);
            if let Some(offsets) = &offsets {
                assert_valid(&model, least, offsets);
            }
            (found, asked) = (found + usize::from(offsets.is_some()), asked + 1);
        }
        assert!(asked > 2900 && found * 10 > asked * 9, "{found} of {asked}");
    }

    #[test]
    fn a_width_of_one_finds_a_place_for_everything_where_there_is_room() {
        let mut numbers = Random(12);
        for round in 0..300 {
            let problem = draw(&mut numbers, 60);
            let model = Model::new(&problem, Direction::Forwards, u64::MAX).unwrap();
            let target = model.spans.iter().sum::<i64>() as u64;
            if target > 0 {
                let offsets = search(&model, target, Shape::new(1, 0, GUIDES[round % 3])).unwrap();
                assert_valid(&model, target, &offsets);
            }
        }
    }

    #[test]
    fn too_little_memory_is_no_beam() {
        let model = Model::new(&draw(&mut Random(1), 9), Direction::Forwards, u64::MAX).unwrap();
        assert!(Beam::new(&model, 1000, Shape::new(100, 2, Guide::Even), 1000).is_none());
        assert!(Beam::new(&model, 1000, Shape::new(100, 2, Guide::Even), 1 << 20).is_some());
    }
}
