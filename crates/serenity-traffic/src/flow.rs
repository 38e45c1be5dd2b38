//! The most worth that intervals can have which share a line of limited width, if parts of them may be taken: a flow of
//! greatest profit.
//!
//! Time is a line of nodes, and an arc that costs nothing leads from each to the next. An interval is an arc over the
//! steps that it covers, as wide as it is large. Whatever flows from the first node to the last crosses every step, so
//! at most as much as flows lies on intervals there; and every division of the width is such a flow.

use serenity_search::Limits;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Part of an interval may be taken, for so much profit a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) units: u64,
    pub(crate) profit: u64,
}

/// How many more arcs may be looked at, if nobody ends the search.
pub(crate) struct Work<'a> {
    left: u64,
    limits: &'a Limits,
}

impl<'a> Work<'a> {
    pub(crate) fn new(arcs: u64, limits: &'a Limits) -> Self {
        Self { left: arcs, limits }
    }

    /// Takes as much as looking at so many arcs takes; `false` if there is not so much.
    fn take(&mut self, arcs: u64) -> bool {
        let is_left = self.left >= arcs && !self.limits.are_over();
        self.left = if is_left { self.left - arcs } else { 0 };
        is_left
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// What a flow takes.
pub(crate) struct Packed {
    /// Units of each interval.
    pub(crate) taken: Vec<u64>,
    /// No choice has more profit than this; exactly what was taken has, unless the work ran out.
    pub(crate) most_profit: u128,
}

/// The most profitable choice of parts of `intervals` of which at most `width` units cover any step. Every arc looked
/// at costs one of `work`; when there is none left, what is known by then is returned.
pub(crate) fn pack(steps: usize, intervals: &[Interval], width: u64, work: &mut Work) -> Packed {
    let mut network = Network::new(steps, intervals);
    let (mut sent, mut profit, mut per_unit) = (0_u64, 0_i128, network.first_price());
    while sent < width && per_unit > 0 {
        if !work.take(network.arcs.len() as u64) {
            break;
        }
        // Each path is worth no more than the one before, so the rest of the width neither.
        per_unit = network.best_path();
        if per_unit <= 0 {
            break;
        }
        let units = network.send(width - sent);
        sent += units;
        profit += i128::from(units) * i128::from(per_unit);
    }
    let rest = i128::from(width - sent) * i128::from(per_unit.max(0));
    let taken = (0..intervals.len()).map(|i| network.arcs[2 * (network.nodes - 1 + i) + 1].room).collect();
    Packed { taken, most_profit: (profit + rest).unsigned_abs() }
}

#[derive(Clone, Copy)]
struct Arc {
    to: usize,
    room: u64,
    cost: i64,
}

struct Network {
    nodes: usize,
    /// In pairs: an arc, and the way back.
    arcs: Vec<Arc>,
    /// By node, its arcs: `leaving[begin[n]..begin[n + 1]]`.
    begin: Vec<usize>,
    leaving: Vec<usize>,
    /// With these no arc with room left costs less than nothing: distances from the first node.
    price: Vec<i64>,
    /// The arc by which each node is reached best.
    reached_by: Vec<usize>,
}

impl Network {
    fn new(steps: usize, intervals: &[Interval]) -> Self {
        let nodes = steps + 1;
        let line = (0..steps).map(|step| (step, step + 1, u64::MAX / 4, 0));
        let over = intervals.iter().map(|i| (i.first, i.last + 1, i.units, -(i.profit as i64)));
        let mut arcs = Vec::with_capacity(2 * (steps + intervals.len()));
        let mut froms = Vec::with_capacity(arcs.capacity());
        for (from, to, room, cost) in line.chain(over) {
            arcs.extend([Arc { to, room, cost }, Arc { to: from, room: 0, cost: -cost }]);
            froms.extend([from, to]);
        }
        let mut begin = vec![0; nodes + 1];
        for &from in &froms {
            begin[from + 1] += 1;
        }
        for node in 0..nodes {
            begin[node + 1] += begin[node];
        }
        let mut next = begin.clone();
        let mut leaving = vec![0; arcs.len()];
        for (arc, &from) in froms.iter().enumerate() {
            leaving[next[from]] = arc;
            next[from] += 1;
        }
        let mut network =
            Self { nodes, arcs, begin, leaving, price: vec![0; nodes], reached_by: vec![0; nodes] };
        // All arcs lead forward at first: one pass finds the distances.
        let mut price = vec![0_i64; nodes];
        for node in 0..nodes {
            for &arc in network.leaving_of(node) {
                let Arc { to, room, cost } = network.arcs[arc];
                if room > 0 {
                    price[to] = price[to].min(price[node] + cost);
                }
            }
        }
        network.price = price;
        network
    }

    fn leaving_of(&self, node: usize) -> &[usize] {
        &self.leaving[self.begin[node]..self.begin[node + 1]]
    }

    /// What the best path is worth a unit, before anything is sent.
    fn first_price(&self) -> i64 {
        -self.price[self.nodes - 1]
    }

    /// Finds the most profitable path with room, and returns its profit a unit.
    fn best_path(&mut self) -> i64 {
        let mut distance = vec![i64::MAX; self.nodes];
        distance[0] = 0;
        let mut queue = BinaryHeap::from([Reverse((0_i64, 0_usize))]);
        while let Some(Reverse((so_far, node))) = queue.pop() {
            if so_far > distance[node] {
                continue;
            }
            for &arc in &self.leaving[self.begin[node]..self.begin[node + 1]] {
                let Arc { to, room, cost } = self.arcs[arc];
                let length = so_far + cost + self.price[node] - self.price[to];
                if room > 0 && length < distance[to] {
                    distance[to] = length;
                    self.reached_by[to] = arc;
                    queue.push(Reverse((length, to)));
                }
            }
        }
        // The line reaches every node.
        for (price, distance) in self.price.iter_mut().zip(&distance) {
            *price += distance;
        }
        self.price[0] - self.price[self.nodes - 1]
    }

    /// Sends as much along the path found as it takes, at most `most`.
    fn send(&mut self, most: u64) -> u64 {
        let mut path = Vec::new();
        let mut node = self.nodes - 1;
        while node != 0 {
            let arc = self.reached_by[node];
            path.push(arc);
            node = self.arcs[arc ^ 1].to;
        }
        let units = path.iter().map(|&arc| self.arcs[arc].room).fold(most, u64::min);
        for arc in path {
            self.arcs[arc].room -= units;
            self.arcs[arc ^ 1].room += units;
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(steps: usize, intervals: &[Interval], width: u64, work: u64) -> Packed {
        pack(steps, intervals, width, &mut Work::new(work, &Limits::default()))
    }

    fn interval(first: usize, last: usize, units: u64, profit: u64) -> Interval {
        Interval { first, last, units, profit }
    }

    #[test]
    fn two_short_ones_beat_a_long_one() {
        let intervals = [interval(0, 3, 5, 3), interval(0, 1, 5, 2), interval(2, 3, 4, 2)];
        let packed = packed(4, &intervals, 5, 1_000_000);
        assert_eq!((packed.taken, packed.most_profit), (vec![1, 4, 4], 19));
    }

    #[test]
    fn without_work_the_first_price_stands_for_all() {
        let intervals = [interval(0, 1, 5, 2), interval(1, 2, 5, 7)];
        assert_eq!(packed(3, &intervals, 5, 0).most_profit, 35);
        assert_eq!(packed(3, &intervals, 8, 0).most_profit, 56);
        assert_eq!(packed(3, &intervals, 8, 1_000).most_profit, 5 * 7 + 3 * 2);
    }

    #[test]
    fn a_line_without_intervals_or_width_has_no_profit() {
        assert_eq!(packed(0, &[], 5, 100).most_profit, 0);
        assert_eq!(packed(2, &[interval(0, 0, 3, 3)], 0, 100).most_profit, 0);
    }
}
