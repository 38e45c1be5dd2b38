//! A lower bound on the traffic of one order, whatever is kept and dropped.
//!
//! Keeping a gap saves a read; keeping all gaps of a version saves a write too. The write is shared out among the gaps
//! of its version: each gap that is dropped pays its share, and as all shares together make one write, a plan pays no
//! more than it really does. What is left is to keep gaps of the greatest worth, where at no step more is kept than
//! fits: allowed to keep parts of buffers, that is a flow. Every sharing-out gives a bound. A good one makes those gaps
//! pay that are dropped, so shares move there from round to round.

use crate::flow::{Interval, Work, pack};
use crate::{Demand, Grain};
use serenity_search::Limits;

/// A read, in the parts into which a write is shared out.
const ONE: u64 = 1 << 16;

/// Rounds of sharing-out, at most.
const ROUNDS: u64 = 6;

/// Arcs looked at, at most, for one bound: a fraction of a second. What is known by then is a bound too.
const MOST_WORK: u64 = 10_000_000;

/// A bound and what the relaxation keeps.
pub(crate) struct Bound {
    /// No plan costs fewer units.
    pub(crate) units: u64,
    /// Units that the relaxation keeps of each gap.
    pub(crate) kept: Vec<u64>,
}

/// The best bound found for a memory of `capacity` units, within `limits`. Nothing above `enough` is looked for.
pub(crate) fn bound(demand: &Demand, capacity: u64, enough: u64, limits: &Limits) -> Bound {
    let mut work = Work::new(MOST_WORK, limits);
    let mut shares = on_the_longest(demand);
    let mut best = Bound { units: 0, kept: vec![0; demand.gaps.len()] };
    let is_divided = demand.versions.iter().any(|v| v.costs_a_write && v.gaps.len() > 1);
    for round in 0..if is_divided { ROUNDS } else { 1 } {
        let found = with_shares(demand, capacity, &shares, &mut work);
        move_shares(demand, &mut shares, &found.kept, round);
        if round == 0 || found.units > best.units {
            best = found;
        }
        if best.units >= enough || work.is_done() {
            break;
        }
    }
    best
}

/// Every write is paid for by the longest gap of its version.
fn on_the_longest(demand: &Demand) -> Vec<u64> {
    let mut shares = vec![0; demand.gaps.len()];
    for version in demand.versions.iter().filter(|v| v.costs_a_write) {
        let longest = version.gaps.clone().max_by_key(|&g| (demand.gaps[g].to - demand.gaps[g].from, g));
        if let Some(gap) = longest {
            shares[gap] = ONE;
        }
    }
    shares
}

/// Some part of all shares goes to the gap of each version that is dropped most.
fn move_shares(demand: &Demand, shares: &mut [u64], kept: &[u64], round: u64) {
    for version in demand.versions.iter().filter(|v| v.costs_a_write) {
        let dropped = |g: usize| demand.gaps[g].units - kept[g];
        let Some(target) = version.gaps.clone().max_by_key(|&g| (dropped(g), shares[g], g)) else { continue };
        let mut moved = 0;
        for gap in version.gaps.clone() {
            let part = shares[gap] / (round + 2);
            shares[gap] -= part;
            moved += part;
        }
        shares[target] += moved;
    }
}

fn with_shares(demand: &Demand, capacity: u64, shares: &[u64], work: &mut Work) -> Bound {
    let interval = |(gap, &share): (&crate::demand::Gap, &u64)| Interval {
        // A whole buffer that is kept from its first touch on takes room during that op too. For later touches the gap before
        // counts, if that is kept; to be safe, only that one.
        first: if demand.grain == Grain::Tensor && !gap.has_previous { gap.from } else { gap.from + 1 },
        last: gap.to,
        units: gap.units,
        profit: ONE + share,
    };
    let intervals: Vec<Interval> = demand.gaps.iter().zip(shares).map(interval).collect();
    let packed = pack(demand.order.len(), &intervals, capacity, work);
    let all: u128 = intervals.iter().map(|i| u128::from(i.units) * u128::from(i.profit)).sum();
    // What a plan costs is a whole number of units.
    let units = all.saturating_sub(packed.most_profit).div_ceil(u128::from(ONE));
    Bound { units: u64::try_from(units).unwrap_or(u64::MAX), kept: packed.taken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use serenity_ir::{GraphBuilder, Tensor};
    use serenity_runtimes::MemoryModel;
    use serenity_search::Random;

    /// Chains with skips of all lengths.
    fn demand(seed: u64, grain: Grain) -> Demand {
        let mut random = Random(seed);
        let mut draw = |below: u64| random.below(below);
        let unit = grain.unit();
        let mut g = GraphBuilder::new("");
        let mut tensors = vec![g.input(Tensor::sized("x", unit * (1 + draw(4))))];
        for _ in 0..7 {
            let other = tensors[draw(tensors.len() as u64) as usize];
            let inputs = [tensors[tensors.len() - 1], other];
            tensors.push(g.op("", "X", &inputs, Tensor::sized("", unit * (1 + draw(4)))));
        }
        g.output(tensors[tensors.len() - 1]);
        let graph = g.build().unwrap();
        Demand::new(&graph, MemoryModel::Plain, &graph.file_order(), grain).unwrap()
    }

    #[test]
    fn the_relaxation_never_exceeds_the_least_traffic_and_often_meets_it() {
        let (mut met, mut cases) = (0, 0);
        for seed in 0..150 {
            for grain in [Grain::Tensor, Grain::Page] {
                let demand = demand(seed, grain);
                for capacity in [0, 2, 4, 6, 8, 10] {
                    let (plan, is_proved) = exact::improve(&demand, capacity, u64::MAX);
                    let least = plan.unwrap().cost(&demand).bytes() / grain.unit();
                    let relaxed = bound(&demand, capacity, u64::MAX, &Limits::default());
                    if is_proved {
                        assert!(relaxed.units <= least, "seed {seed}, {grain}, {capacity}: {least}");
                        met += usize::from(relaxed.units == least);
                        cases += 1;
                    }
                }
            }
        }
        println!("{met} of {cases} met");
        assert!(cases > 1000 && 2 * met > cases);
    }
}
