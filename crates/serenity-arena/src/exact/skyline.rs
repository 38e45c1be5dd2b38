//! Where open items can rest, in a placement that is built from the bottom up.
//!
//! The floor of a section is the lowest of its open items, and an item is as low as the highest floor among its
//! sections. If an item is placed, those that it lives with rest on top of it or higher; sections of which all open
//! items rest higher are raised, and with them other items; and so on, to the fixed point. Only sections are looked at
//! again whose lowest item was lifted.

use super::model::Model;
use crate::problem::common_divisor;
use std::ops::Range;

/// An item that is placed, and a section without open items, are above everything.
const NOWHERE: i32 = i32::MAX;

/// A problem in units of the common divisor of all sizes, without permissions to share bytes and without obstacles.
pub(super) struct Ground {
    pub(super) unit: i64,
    pub(super) target: i32,
    pub(super) sizes: Vec<i32>,
    /// For each section, what its items need.
    pub(super) loads: Vec<i32>,
    /// The first section of each item, and the one after its last.
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The items of each section, ascending, one section after the other.
    members: Vec<u32>,
    /// The items of each section by their end.
    by_end: Vec<u32>,
    first_member: Vec<u32>,
}

/// Where open items can rest.
#[derive(Clone)]
pub(super) struct Skyline {
    /// For each section, the lowest offset of its open items.
    pub(super) floor: Vec<i32>,
    /// For each section, an open item at that offset.
    witness: Vec<u32>,
    /// For each open item, the lowest offset.
    pub(super) lowest: Vec<i32>,
}

impl Skyline {
    pub(super) fn is_open(&self, item: usize) -> bool {
        self.lowest[item] != NOWHERE
    }
}

/// Room to work in.
#[derive(Default)]
pub(super) struct Desk {
    /// Sections whose witness was lifted.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    /// For each section, how low and tight it is; none if it cannot be chosen.
    ranks: Vec<i64>,
}

impl Ground {
    /// `None` if the problem is of another kind, or if its numbers are too large.
    pub(super) fn new(model: &Model, target: u64) -> Option<Self> {
        let is_plain =
            !model.has_obstacles && model.items.iter().all(|item| item.rests_anywhere && !item.shares);
        if !is_plain {
            return None;
        }
        let unit = model.spans.iter().fold(0, |unit, &span| common_divisor(unit, span as u64)).max(1);
        let target = i32::try_from(target / unit).ok().filter(|&target| target < NOWHERE / 4)?;
        let in_units = |&span: &i64| i32::try_from(span / unit as i64);
        let sizes: Vec<i32> = model.spans.iter().map(in_units).collect::<Result<_, _>>().ok()?;
        let mut loads = vec![0_i32; model.sections()];
        let mut members = Vec::new();
        let mut by_end = Vec::new();
        let mut first_member = vec![0];
        for (section, load) in loads.iter_mut().enumerate() {
            members.extend_from_slice(model.members(section));
            by_end.extend_from_slice(model.members(section));
            by_end[first_member[section] as usize..]
                .sort_by_key(|&item| model.items[item as usize].sections.end);
            first_member.push(members.len() as u32);
            for &item in model.members(section) {
                *load = load.checked_add(sizes[item as usize]).filter(|&load| load <= target)?;
            }
        }
        let starts = model.items.iter().map(|item| item.sections.start as u32).collect();
        let ends = model.items.iter().map(|item| item.sections.end as u32).collect();
        Some(Self { unit: unit as i64, target, sizes, loads, starts, ends, members, by_end, first_member })
    }

    /// The skyline before anything is placed.
    pub(super) fn skyline(&self) -> Skyline {
        let witness = (0..self.loads.len()).map(|section| self.members(section)[0]);
        Skyline {
            floor: vec![0; self.loads.len()],
            witness: witness.collect(),
            lowest: vec![0; self.sizes.len()],
        }
    }

    pub(super) fn members(&self, section: usize) -> &[u32] {
        &self.members[self.first_member[section] as usize..self.first_member[section + 1] as usize]
    }

    fn members_by_end(&self, section: usize) -> &[u32] {
        &self.by_end[self.first_member[section] as usize..self.first_member[section + 1] as usize]
    }

    /// The sections in which an item lives.
    pub(super) fn lived(&self, item: usize) -> Range<usize> {
        self.starts[item] as usize..self.ends[item] as usize
    }

    /// Size times sections.
    pub(super) fn area(&self, item: usize) -> i64 {
        self.lived(item).len() as i64 * i64::from(self.sizes[item])
    }

    /// The section to branch on: low and tight, and nothing can slide beneath the items at its floor.
    pub(super) fn choose(&self, sky: &Skyline, load: &[i32], desk: &mut Desk) -> Option<usize> {
        let rank = |(&floor, &load): (&i32, &i32)| {
            let slack = self.target.wrapping_sub(floor).wrapping_sub(load);
            let middle = i64::from(floor).wrapping_mul(2).wrapping_add(i64::from(slack));
            if load == 0 { i64::MAX } else { middle << 32 | i64::from(slack) }
        };
        desk.ranks.clear();
        desk.ranks.extend(sky.floor.iter().zip(load).map(rank));
        loop {
            let least = desk.ranks.iter().fold(i64::MAX, |least, &rank| least.min(rank));
            if least == i64::MAX {
                return None;
            }
            let section = desk.ranks.iter().position(|&rank| rank == least)?;
            let Some(spoiler) = self.spoiler(sky, section) else { return Some(section) };
            for section in self.lived(spoiler) {
                if sky.floor[section] == sky.lowest[spoiler] {
                    desk.ranks[section] = i64::MAX;
                }
            }
        }
    }

    /// An item that rests at the floor of a section, and beneath which others could still slide in another section.
    fn spoiler(&self, sky: &Skyline, section: usize) -> Option<usize> {
        let floor = sky.floor[section];
        let mut resting = self.members(section).iter().map(|&item| item as usize);
        resting.find(|&item| {
            sky.lowest[item] == floor && sky.floor[self.lived(item)].iter().any(|&other| other < floor)
        })
    }

    /// Calls `tell(section, is lived in by the item, floor)` for each section with a new floor if `item` is placed where
    /// it rests, and each in which it lives, until that returns false. Conclusions from the new floors are not drawn.
    pub(super) fn floors_after(
        &self,
        item: usize,
        sky: &Skyline,
        mut tell: impl FnMut(usize, bool, i32) -> bool,
    ) -> bool {
        let lived = self.lived(item);
        let (start, end) = (lived.start as u32, lived.end as u32);
        let top = sky.lowest[item] + self.sizes[item];
        for section in lived.clone() {
            if !tell(section, true, self.floor_without(item, section, sky, top)) {
                return false;
            }
        }
        // Items that are lifted live on one side of the item as well. There, the others hold the floor down.
        let is_lifted = |other: &&u32| sky.lowest[**other as usize] < top;
        let first = self.members(lived.start).iter().find(is_lifted);
        for section in first.map_or(start, |&other| self.starts[other as usize]) as usize..lived.start {
            if sky.floor[section] < top && self.ends[sky.witness[section] as usize] > start {
                let others = self.members_by_end(section).iter();
                let others = others.take_while(|&&other| self.ends[other as usize] <= start);
                let floor = least_from(sky.floor[section], top, others, sky);
                if floor > sky.floor[section] && !tell(section, false, floor) {
                    return false;
                }
            }
        }
        let last = self.members_by_end(lived.end - 1).iter().rev().find(is_lifted);
        for section in lived.end..last.map_or(end, |&other| self.ends[other as usize]) as usize {
            if sky.floor[section] < top && self.starts[sky.witness[section] as usize] < end {
                let others = self.members(section).iter().rev();
                let others = others.take_while(|&&other| self.starts[other as usize] >= end);
                let floor = least_from(sky.floor[section], top, others, sky);
                if floor > sky.floor[section] && !tell(section, false, floor) {
                    return false;
                }
            }
        }
        true
    }

    /// The floor of a section in which an item lives, once that is placed and ends at `top`.
    fn floor_without(&self, item: usize, section: usize, sky: &Skyline, top: i32) -> i32 {
        if sky.witness[section] as usize != item {
            return top;
        }
        let others = self.members(section).iter().filter(|&&other| other as usize != item);
        least_from(top, NOWHERE, others, sky).max(top)
    }

    /// Raises a section to the next offset at which one of its items can rest. `false` if what is open does not fit then.
    pub(super) fn raise(&self, sky: &mut Skyline, section: usize, load: &[i32], desk: &mut Desk) -> bool {
        let floor = sky.floor[section];
        let lowest = self.members(section).iter().map(|&item| sky.lowest[item as usize]);
        let next = lowest.filter(|&lowest| lowest > floor).min().unwrap_or(NOWHERE);
        if next == NOWHERE || next + load[section] > self.target {
            return false;
        }
        self.begin(desk);
        self.lift(sky, section, next, desk);
        self.settle(sky, load, desk)
    }

    /// Places an item where it rests. `load` is that of the others. `false` if what is open does not fit then.
    pub(super) fn place(&self, sky: &mut Skyline, item: usize, load: &[i32], desk: &mut Desk) -> bool {
        let top = sky.lowest[item] + self.sizes[item];
        self.begin(desk);
        sky.lowest[item] = NOWHERE;
        self.mark(sky, item, desk);
        for section in self.lived(item) {
            self.lift(sky, section, top, desk);
        }
        self.settle(sky, load, desk)
    }

    fn begin(&self, desk: &mut Desk) {
        desk.dirty.clear();
        desk.is_dirty.clear();
        desk.is_dirty.resize(self.loads.len(), false);
    }

    /// Lifts the open items of a section to `least`.
    fn lift(&self, sky: &mut Skyline, section: usize, least: i32, desk: &mut Desk) {
        for &item in self.members(section) {
            if sky.lowest[item as usize] < least {
                sky.lowest[item as usize] = least;
                self.mark(sky, item as usize, desk);
            }
        }
    }

    /// Notes the sections whose witness an item was.
    fn mark(&self, sky: &Skyline, item: usize, desk: &mut Desk) {
        for section in self.lived(item) {
            if sky.witness[section] as usize == item && !desk.is_dirty[section] {
                desk.is_dirty[section] = true;
                desk.dirty.push(section as u32);
            }
        }
    }

    /// Draws all conclusions. `false` if what is open does not fit any more.
    fn settle(&self, sky: &mut Skyline, load: &[i32], desk: &mut Desk) -> bool {
        while let Some(section) = desk.dirty.pop() {
            let section = section as usize;
            desk.is_dirty[section] = false;
            let members = self.members(section).iter();
            let floor = sky.floor[section];
            let (mut least, mut witness) = (NOWHERE, sky.witness[section]);
            for &item in members {
                let lowest = sky.lowest[item as usize];
                if lowest < least {
                    (least, witness) = (lowest, item);
                    if least == floor {
                        break;
                    }
                }
            }
            sky.witness[section] = witness;
            if least != floor {
                sky.floor[section] = least;
                if load[section] > 0 && least > self.target - load[section] {
                    return false;
                }
                if load[section] > 0 {
                    self.lift(sky, section, least, desk);
                }
            }
        }
        true
    }
}

/// The least of `most` and the lowest offsets of some items. Stops looking at one that is not above `bound`.
fn least_from<'a>(bound: i32, most: i32, items: impl Iterator<Item = &'a u32>, sky: &Skyline) -> i32 {
    let mut least = most;
    for &item in items {
        least = least.min(sky.lowest[item as usize]);
        if least <= bound {
            break;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::super::model::Direction;
    use super::*;
    use crate::{Buffer, Problem};
    use serenity_search::Random;

    fn draw(numbers: &mut Random) -> Ground {
        let count = 2 + numbers.below(30);
        let buffer = |_| {
            let (a, b) = (numbers.below(20) as i64, numbers.below(20) as i64);
            Buffer::new(1 + numbers.below(9), a.min(b)..a.max(b) + 1)
        };
        let problem = Problem::new((0..count).map(buffer).collect(), 1).unwrap();
        let model = Model::new(&problem, Direction::Forwards, u64::MAX).unwrap();
        Ground::new(&model, 1 << 20).unwrap()
    }

    /// The lowest offsets after items were lifted to `least`, and the floors, by the definition.
    fn fixed_point(ground: &Ground, least: &[i32]) -> (Vec<i32>, Vec<i32>) {
        let mut lowest = least.to_vec();
        loop {
            let floor: Vec<i32> = floors(ground, &lowest);
            let raised = |item: usize| {
                let highest = floor[ground.lived(item)].iter().copied().fold(0, i32::max);
                if lowest[item] == NOWHERE { NOWHERE } else { lowest[item].max(highest) }
            };
            let raised: Vec<i32> = (0..lowest.len()).map(raised).collect();
            if raised == lowest {
                return (lowest, floor);
            }
            lowest = raised;
        }
    }

    fn floors(ground: &Ground, lowest: &[i32]) -> Vec<i32> {
        let floor = |section| ground.members(section).iter().map(|&item| lowest[item as usize]).min();
        (0..ground.loads.len()).map(|section| floor(section).unwrap_or(NOWHERE)).collect()
    }

    /// The lowest offsets with an item placed, before any conclusion.
    fn lifted(ground: &Ground, sky: &Skyline, item: usize) -> Vec<i32> {
        let (lived, top) = (ground.lived(item), sky.lowest[item] + ground.sizes[item]);
        let lift = |(other, &lowest): (usize, &i32)| {
            let lives = ground.lived(other);
            let meets = lives.start < lived.end && lived.start < lives.end;
            if other == item {
                NOWHERE
            } else if meets {
                lowest.max(top)
            } else {
                lowest
            }
        };
        sky.lowest.iter().enumerate().map(lift).collect()
    }

    #[test]
    fn the_skyline_is_the_fixed_point() {
        let mut numbers = Random(3);
        let mut placed = 0;
        for _ in 0..400 {
            let ground = draw(&mut numbers);
            let (mut sky, mut desk, mut load) = (ground.skyline(), Desk::default(), ground.loads.clone());
            while let Some(section) = ground.choose(&sky, &load, &mut desk) {
                let floor = sky.floor[section];
                if numbers.one_in(4) {
                    let mut least = sky.lowest.clone();
                    let above = |&item: &u32| Some(sky.lowest[item as usize]).filter(|&at| at > floor);
                    let next = ground.members(section).iter().filter_map(above).min().unwrap_or(NOWHERE);
                    let can_rise = ground.raise(&mut sky, section, &load, &mut desk);
                    assert_eq!(can_rise, next != NOWHERE);
                    if can_rise {
                        for &item in ground.members(section) {
                            least[item as usize] = least[item as usize].max(next);
                        }
                        assert_eq!((sky.lowest.clone(), sky.floor.clone()), fixed_point(&ground, &least));
                        continue;
                    }
                }
                let resting = ground.members(section).iter().find(|&&i| sky.lowest[i as usize] == floor);
                let item = *resting.unwrap() as usize;
                let least = lifted(&ground, &sky, item);
                let mut told = sky.floor.clone();
                ground.floors_after(item, &sky, |section, _, floor| {
                    told[section] = floor;
                    true
                });
                assert_eq!(told, floors(&ground, &least));
                load[ground.lived(item)].iter_mut().for_each(|load| *load -= ground.sizes[item]);
                assert!(ground.place(&mut sky, item, &load, &mut desk));
                assert_eq!((sky.lowest.clone(), sky.floor.clone()), fixed_point(&ground, &least));
                placed += 1;
            }
            assert!(load.iter().all(|&load| load == 0));
        }
        assert!(placed > 4000, "{placed}");
    }
}
