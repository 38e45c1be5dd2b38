//! Keeps the most promising of many partial placements, all with equally many items: finds placements that leave no
//! slack, where a search depth first gets lost. It refutes nothing.
//!
//! Items are placed from the bottom up, as by the [search](mod@super::search). A partial placement is its *skyline*:
//! for each section, the lowest offset at which one of its open items can rest. If an item is placed, the items that it
//! lives with rest higher; sections of which all open items rest higher are raised; and so on. Then a section is chosen
//! that is low and tight, and beneath whose resting items nothing can slide. One of these items is placed; or, a few
//! times, none of them is, and the section is raised to the next offset at which one could rest.
//!
//! Placements are compared by the share of its slack that each section has wasted, in relation to what is placed. Of
//! several with the same items, only the best is kept.

use super::choose::are_twins;
use super::model::Model;
use crate::StopReason;
use crate::problem::common_divisor;
use serenity_search::{Watch, mix};
use std::collections::HashSet;
use std::ops::Range;

/// How much a beam may do.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Partial placements that are kept.
    pub(super) width: usize,
    /// How often a section may be raised before an item is placed.
    pub(super) raises: usize,
}

/// A share of one, in the sums that placements are compared by.
const ONE: i64 = 1 << 32;
/// A section without slack counts as if it had one part in so many of the target.
const LEAST_SLACK: i32 = 200;
/// Children that are looked at for each one that is kept: others may have the same items.
const CHILDREN_PER_PLACE: usize = 4;

/// An offset in units. Most problems are small enough for 16 bits, of which a processor compares more at a time.
pub(super) trait Height: Copy + Ord + Into<i32> + TryFrom<i32> {
    /// Above all others.
    const NONE: Self;

    /// A height that is known to be within the target.
    fn of(height: i32) -> Self {
        Self::try_from(height).unwrap_or(Self::NONE)
    }
}

impl Height for i16 {
    const NONE: Self = Self::MAX;
}

impl Height for i32 {
    const NONE: Self = Self::MAX;
}

/// A problem in units of the common divisor of all sizes, without permissions to share bytes and without obstacles.
pub(super) struct Beam<'m, H> {
    model: &'m Model,
    unit: i64,
    target: i32,
    sizes: Vec<i32>,
    sections: Vec<Range<usize>>,
    /// For each item another one that it can change places with, and that is placed first.
    twins: Vec<Option<usize>>,
    /// For each section, what its items need.
    loads: Vec<i32>,
    /// For each section, the share of its slack that a unit is.
    shares: Vec<i64>,
    area: i64,
    pw: i32,
    alpha: i32,
    size: Size,
    height: std::marker::PhantomData<H>,
}

/// Where open items can rest.
#[derive(Clone)]
struct Skyline<H> {
    /// For each section, the lowest of its open items.
    floor: Vec<H>,
    /// For each open item, the lowest offset.
    lowest: Vec<H>,
}

/// A partial placement.
struct Node<H> {
    sky: Skyline<H>,
    /// The sections in which the skyline does not yet know of the item that was placed last.
    stirred: Range<usize>,
    /// For each section, what its open items need.
    load: Vec<i32>,
    /// The open items.
    open: Vec<u32>,
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

/// Room to work in.
struct Desk<H> {
    is_open: Vec<bool>,
    /// The sections that cannot be chosen.
    is_spoiled: Vec<bool>,
    floor: Vec<H>,
}

impl<'m, H: Height> Beam<'m, H> {
    /// `None` if the problem is of another kind, or too large for so much memory or for these heights.
    pub(super) fn new(model: &'m Model, target: u64, size: Size, memory: u64) -> Option<Self> {
        let is_plain =
            !model.has_obstacles && model.items.iter().all(|item| item.rests_anywhere && !item.shares);
        let unit = model.spans.iter().fold(0, |unit, &span| common_divisor(unit, span as u64)).max(1);
        let target = i32::try_from(target / unit).ok().filter(|&target| target < H::NONE.into() / 4)?;
        let sections: Vec<Range<usize>> = model.items.iter().map(|item| item.sections.clone()).collect();
        let sizes: Vec<i32> = model
            .spans
            .iter()
            .map(|&span| i32::try_from(span / unit as i64))
            .collect::<Result<_, _>>()
            .ok()?;
        let mut loads = vec![0_i32; model.sections()];
        for (lived, &size) in sections.iter().zip(&sizes) {
            for load in &mut loads[lived.clone()] {
                *load = load.checked_add(size)?;
            }
        }
        let slack = |load: i32| i64::from(target.saturating_sub(load) + target / LEAST_SLACK + 1);
        let shares = loads.iter().map(|&load| ONE / slack(load)).collect();
        let area = sections.iter().zip(&sizes).map(|(lived, &size)| area(lived, size)).sum();
        let twins = (0..sizes.len()).map(|item| (0..item).rev().find(|&other| are_twins(model, item, other)));
        let each =
            (size.raises as u64 + 3) * 4 * (loads.len() + sizes.len()) as u64 + 16 * sizes.len() as u64;
        let fits = size.width as u64 * each <= memory && loads.iter().all(|&load| load <= target);
        (is_plain && fits).then(|| Self {
            model,
            unit: unit as i64,
            target,
            twins: twins.collect(),
            sizes,
            sections,
            loads,
            shares,
            area,
            pw: std::env::var("PW").map_or(1, |t| t.parse().unwrap()),
            alpha: std::env::var("ALPHA").map_or(1, |t| t.parse().unwrap()),
            size,
            height: std::marker::PhantomData,
        })
    }

    /// An offset for each item; `None` if no placement within the target was found.
    pub(super) fn run(&self, watch: &mut Watch) -> Result<Option<Vec<i64>>, StopReason> {
        let (items, sections) = (self.sizes.len(), self.loads.len());
        let mut level = vec![Node {
            sky: Skyline { floor: vec![H::of(0); sections], lowest: vec![H::of(0); items] },
            stirred: 0..0,
            load: self.loads.clone(),
            open: (0..items as u32).collect(),
            hash: 0,
            area: 0,
            step: u32::MAX,
        }];
        let mut steps: Vec<Step> = Vec::new();
        let mut desk = Desk {
            is_open: vec![false; items],
            is_spoiled: vec![false; sections],
            floor: vec![H::NONE; sections],
        };
        for _ in 0..items {
            let (mut skies, mut children) = (Vec::new(), Vec::new());
            for (parent, node) in level.iter().enumerate() {
                let work = self.expand(node, parent as u32, &mut desk, &mut skies, &mut children);
                watch.states += 1;
                if let Some(reason) = watch.after(work) {
                    return Err(reason);
                }
            }
            if children.is_empty() {
                return Ok(None);
            }
            level = self.best(&level, children, &skies, &mut steps);
        }
        let mut offsets = vec![0; items];
        let mut step = level[0].step;
        while let Some(Step { before, item, offset }) = steps.get(step as usize) {
            offsets[*item as usize] = i64::from(*offset) * self.unit;
            step = *before;
        }
        Ok(Some(offsets))
    }

    /// Adds the children of a node, and the skylines that they are made from. Returns the work it took.
    fn expand(
        &self,
        node: &Node<H>,
        parent: u32,
        desk: &mut Desk<H>,
        skies: &mut Vec<Skyline<H>>,
        children: &mut Vec<Child>,
    ) -> u64 {
        desk.is_open.fill(false);
        node.open.iter().for_each(|&item| desk.is_open[item as usize] = true);
        let mut sky = node.sky.clone();
        let mut stirred = node.stirred.clone();
        let mut work = 0;
        for raise in 0..=self.size.raises {
            work += node.open.len() as u64;
            if !self.tighten(&mut sky, stirred, node, desk) {
                break;
            }
            let Some((section, candidates)) = self.choose(&sky, node, desk) else { break };
            let waste = |section: usize| self.waste(section, sky.floor[section].into(), node.load[section]);
            let waste: i64 = (0..self.loads.len()).filter(|&s| node.load[s] > 0).map(waste).sum();
            for item in candidates {
                let is_second = self.twins[item as usize].is_some_and(|twin| desk.is_open[twin]);
                work += node.open.len() as u64 / 4;
                if !is_second && let Some(guide) = self.guide(item as usize, &sky, node, waste, desk) {
                    let hash = node.hash ^ mix(u64::from(item) + 1);
                    children.push(Child { guide, parent, sky: skies.len() as u32, item, hash });
                }
            }
            skies.push(sky.clone());
            let next = self.living_at(section, &desk.is_open).map(|item| sky.lowest[item]);
            match next.filter(|&lowest| lowest > sky.floor[section]).min() {
                Some(next) if raise < self.size.raises && next.into() + node.load[section] <= self.target => {
                    sky.floor[section] = next;
                    stirred = section..section + 1;
                }
                _ => break,
            }
        }
        work
    }

    /// The open items that live in some of these sections.
    fn living_in<'d>(
        &self,
        sections: Range<usize>,
        is_open: &'d [bool],
    ) -> impl Iterator<Item = usize> + use<'d, 'm, H> {
        self.model.living_in(sections).filter(|&item| is_open[item])
    }

    /// The open items of a section.
    fn living_at<'d>(
        &self,
        section: usize,
        is_open: &'d [bool],
    ) -> impl Iterator<Item = usize> + use<'d, 'm, H> {
        self.living_in(section..section + 1, is_open)
    }

    /// Draws all conclusions from the floors of the stirred sections. `false` if what is open does not fit any more.
    fn tighten(
        &self,
        sky: &mut Skyline<H>,
        mut stirred: Range<usize>,
        node: &Node<H>,
        desk: &mut Desk<H>,
    ) -> bool {
        while !stirred.is_empty() {
            let mut lifted = stirred.clone();
            for item in self.living_in(stirred, &desk.is_open) {
                let lived = self.sections[item].clone();
                let lowest = sky.floor[lived.clone()].iter().fold(H::of(0), |most, &floor| most.max(floor));
                if lowest > sky.lowest[item] {
                    sky.lowest[item] = lowest;
                    lifted = hull(&lifted, &lived);
                }
            }
            self.floors(&lifted, desk, |item| sky.lowest[item]);
            stirred = NOTHING;
            for section in lifted {
                let floor = desk.floor[section];
                if floor != H::NONE && floor > sky.floor[section] {
                    if floor.into() + node.load[section] > self.target {
                        return false;
                    }
                    sky.floor[section] = floor;
                    stirred = hull(&stirred, &(section..section + 1));
                }
            }
        }
        true
    }

    /// For some sections the lowest of their open items, which is at `lowest`.
    fn floors(&self, sections: &Range<usize>, desk: &mut Desk<H>, lowest: impl Fn(usize) -> H) {
        desk.floor[sections.clone()].fill(H::NONE);
        for item in self.living_in(sections.clone(), &desk.is_open) {
            let Range { start, end } = self.sections[item];
            let lowest = lowest(item);
            let inside = start.max(sections.start)..end.min(sections.end);
            desk.floor[inside].iter_mut().for_each(|floor| *floor = (*floor).min(lowest));
        }
    }

    /// The section to branch on, and the items that can rest at its floor.
    fn choose(&self, sky: &Skyline<H>, node: &Node<H>, desk: &mut Desk<H>) -> Option<(usize, Vec<u32>)> {
        desk.is_spoiled.fill(false);
        for &item in &node.open {
            let lived = self.sections[item as usize].clone();
            let lowest = sky.lowest[item as usize];
            // Where it rests at the floor of a section, others could still slide beneath it in another one.
            if sky.floor[lived.clone()].iter().fold(lowest, |least, &floor| least.min(floor)) < lowest {
                let floors = &sky.floor[lived.clone()];
                let spoiled = desk.is_spoiled[lived].iter_mut().zip(floors);
                spoiled.for_each(|(is_spoiled, &floor)| *is_spoiled |= floor == lowest);
            }
        }
        let rank = |section: usize| {
            let floor: i32 = sky.floor[section].into();
            let slack = self.target - floor - node.load[section];
            (2 * floor + slack, slack, section)
        };
        let open =
            (0..self.loads.len()).filter(|&section| node.load[section] > 0 && !desk.is_spoiled[section]);
        let (.., section) = open.map(rank).min()?;
        let floor = sky.floor[section];
        let resting = self.living_at(section, &desk.is_open).filter(|&item| sky.lowest[item] == floor);
        Some((section, resting.map(|item| item as u32).collect()))
    }

    /// How promising a node is after one more item, the least first; `None` if what is open does not fit any more.
    fn guide(
        &self,
        item: usize,
        sky: &Skyline<H>,
        node: &Node<H>,
        waste: i64,
        desk: &mut Desk<H>,
    ) -> Option<f64> {
        let lived = self.sections[item].clone();
        let top = H::of(sky.lowest[item].into() + self.sizes[item]);
        let lifted = self.living_in(lived.clone(), &desk.is_open).filter(|&other| sky.lowest[other] < top);
        let stirred = lifted.fold(NOTHING, |all, other| hull(&all, &self.sections[other]));
        self.floors(&stirred, desk, |other| {
            let Range { start, end } = self.sections[other];
            match sky.lowest[other] {
                _ if other == item => H::NONE,
                lowest if start < lived.end && lived.start < end => lowest.max(top),
                lowest => lowest,
            }
        });
        let mut waste = waste;
        for section in stirred {
            let load = node.load[section];
            if load == 0 {
                continue;
            }
            waste -= self.waste(section, sky.floor[section].into(), load);
            let load = if lived.contains(&section) { load - self.sizes[item] } else { load };
            if load > 0 {
                let floor: i32 = desk.floor[section].into();
                if floor + load > self.target {
                    return None;
                }
                waste += self.waste(section, floor, load);
            }
        }
        let placed = node.area + area(&lived, self.sizes[item]);
        let share = self.area as f64 / placed as f64;
        Some((waste + ONE / 2) as f64 * if self.alpha == 2 { share * share } else { share })
    }

    /// The share of its slack that a section has wasted, if its open items begin at `floor`.
    fn waste(&self, section: usize, floor: i32, load: i32) -> i64 {
        let one = i64::from(floor - (self.loads[section] - load)) * self.shares[section];
        if self.pw == 2 { (one >> 16) * (one >> 16) } else { one }
    }

    /// The best of the children, each with other items placed.
    fn best(
        &self,
        level: &[Node<H>],
        mut children: Vec<Child>,
        skies: &[Skyline<H>],
        steps: &mut Vec<Step>,
    ) -> Vec<Node<H>> {
        let by_promise = |one: &Child, other: &Child| {
            let rest = |child: &Child| (child.parent, child.sky, child.item);
            one.guide.total_cmp(&other.guide).then_with(|| rest(one).cmp(&rest(other)))
        };
        let most = CHILDREN_PER_PLACE * self.size.width;
        if children.len() > most {
            children.select_nth_unstable_by(most - 1, by_promise);
            children.truncate(most);
        }
        children.sort_unstable_by(by_promise);
        let mut seen = HashSet::new();
        children.retain(|child| seen.len() < self.size.width && seen.insert(child.hash));
        children.iter().map(|child| self.placed(&level[child.parent as usize], child, skies, steps)).collect()
    }

    fn placed(
        &self,
        parent: &Node<H>,
        child: &Child,
        skies: &[Skyline<H>],
        steps: &mut Vec<Step>,
    ) -> Node<H> {
        let mut sky = skies[child.sky as usize].clone();
        let mut load = parent.load.clone();
        let item = child.item as usize;
        let (lived, size) = (self.sections[item].clone(), self.sizes[item]);
        let offset: i32 = sky.lowest[item].into();
        sky.floor[lived.clone()].fill(H::of(offset + size));
        load[lived.clone()].iter_mut().for_each(|load| *load -= size);
        steps.push(Step { before: parent.step, item: child.item, offset });
        Node {
            sky,
            load,
            open: parent.open.iter().copied().filter(|&other| other != child.item).collect(),
            hash: child.hash,
            area: parent.area + area(&lived, size),
            stirred: lived,
            step: steps.len() as u32 - 1,
        }
    }
}

const NOTHING: Range<usize> = 0..0;

/// The shortest range that has all of both.
fn hull(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    if one.is_empty() { other.clone() } else { one.start.min(other.start)..one.end.max(other.end) }
}

fn area(lived: &Range<usize>, size: i32) -> i64 {
    lived.len() as i64 * i64::from(size)
}

#[cfg(test)]
mod tuning {
    use super::*;
    use crate::exact::model::Direction;

    #[test]
    fn tune() {
        let shared = std::path::Path::new("/work/shared/arena");
        for (name, target) in [("D", 986_112), ("J", 989_184)] {
            let text = std::fs::read_to_string(shared.join(format!("{name}.1048576.csv"))).unwrap();
            let problem = text
                .lines()
                .skip(1)
                .map(|l| {
                    let v: Vec<u64> = l.split(',').map(|x| x.parse().unwrap()).collect();
                    crate::Buffer::new(v[3], v[1] as i64..v[2] as i64)
                })
                .collect::<Vec<_>>();
            let problem = crate::Problem::new(problem, 1).unwrap();
            for size in if name == "D" {
                [(300, 2), (300, 6), (1000, 2), (1000, 6)]
            } else {
                [(100, 2), (100, 6), (300, 2), (300, 6)]
            } {
                for direction in [Direction::Forwards, Direction::Backwards] {
                    let model = Model::new(&problem, direction, u64::MAX).unwrap();
                    let beam =
                        Beam::<i16>::new(&model, target, Size { width: size.0, raises: size.1 }, u64::MAX)
                            .unwrap();
                    let limits = serenity_search::Limits::default();
                    let mut watch = Watch::new(&limits, None);
                    let start = std::time::Instant::now();
                    let found = beam.run(&mut watch);
                    eprintln!(
                        "{name} {size:?} {} sections {} {:.2} s, {} states",
                        model.sections(),
                        matches!(found, Ok(Some(_))),
                        start.elapsed().as_secs_f64(),
                        watch.states
                    );
                }
            }
        }
    }
}
