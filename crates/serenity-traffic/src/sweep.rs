//! The traffic of one order for several on-chip sizes.

use crate::bound::bound;
use crate::plan::Plan;
use crate::{Demand, Grain, TrafficError, belady, exact, greedy};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::MemoryModel;
use serenity_search::Limits;

/// Bytes moved, each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes {
    /// From off-chip memory.
    pub reads: u64,
    /// To off-chip memory.
    pub writes: u64,
}

impl Bytes {
    /// Both ways together.
    pub fn bytes(self) -> u64 {
        self.reads + self.writes
    }
}

/// Off-chip traffic of one order for one on-chip size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The on-chip memory in bytes.
    pub on_chip: u64,
    /// What moves in any case: the first load of every input that is read, one store of every output. Part of no other figure.
    pub compulsory: Bytes,
    /// What else moves by Belady's rule, as in the paper. May rise with the on-chip size.
    pub belady: Bytes,
    /// What else moves by the best plan found: never more than by Belady's rule.
    pub best: Bytes,
    /// What else moves at least, in both directions together, whatever is kept and dropped: for this order, not for others.
    pub bound: u64,
    /// Is [`best`](Self::best) proved to be the least for this order?
    pub is_optimal: bool,
    /// Ops that need more than the on-chip memory by themselves, in the order in which they run: their operands stream.
    pub oversize_ops: Vec<OpId>,
}

/// The traffic of `graph` if its ops run in `order`, with `on_chip` bytes of on-chip memory.
///
/// # Errors
/// If `order` is not an order of the graph's ops that can run, or the sizes are beyond any device.
pub fn traffic(
    graph: &Graph,
    model: MemoryModel,
    order: &[OpId],
    on_chip: u64,
    grain: Grain,
) -> Result<Traffic, TrafficError> {
    let demand = Demand::new(graph, model, order, grain)?;
    Ok(demand.sweep_within(&[on_chip], &Limits::default()).remove(0))
}

/// What is known for one on-chip size, taken by itself.
struct Found {
    belady: Bytes,
    best: Bytes,
    bound: u64,
}

impl Demand {
    /// The traffic for several on-chip sizes, in the order given. [`Traffic::best`] never rises from a size to a larger
    /// one. If a limit ends the search, bounds are lower and plans simpler than they could be.
    pub fn sweep_within(&self, on_chip: &[u64], limits: &Limits) -> Vec<Traffic> {
        let mut sizes = self.common_sizes(on_chip.iter().copied().max().unwrap_or(0));
        sizes.extend(on_chip);
        sizes.sort_unstable();
        sizes.dedup();
        let mut found: Vec<Found> = sizes.iter().map(|&size| self.alone(size, limits)).collect();
        // A plan for a smaller memory is one for a larger too, and a bound for a larger one for a smaller.
        for i in 1..found.len() {
            if found[i - 1].best.bytes() < found[i].best.bytes() {
                found[i].best = found[i - 1].best;
            }
        }
        for i in (1..found.len()).rev() {
            found[i - 1].bound = found[i - 1].bound.max(found[i].bound);
        }
        let answer = |&on_chip: &u64| {
            let found = &found[sizes.binary_search(&on_chip).unwrap_or(0)];
            Traffic {
                on_chip,
                compulsory: self.compulsory,
                belady: found.belady,
                best: found.best,
                bound: found.bound,
                is_optimal: found.best.bytes() == found.bound,
                oversize_ops: self.oversize_ops(on_chip),
            }
        };
        on_chip.iter().map(answer).collect()
    }

    /// What Belady's rule moves, as [`Traffic::belady`], without the search for a better plan.
    pub fn belady(&self, on_chip: u64) -> Bytes {
        belady::belady(self, self.capacity(on_chip)).cost(self)
    }

    /// What a quick plan moves: an upper bound on [`Traffic::best`] for whoever compares many orders.
    pub fn estimate(&self, on_chip: u64) -> Bytes {
        self.cheapest(&self.quick_plans(self.capacity(on_chip))).1
    }

    /// Powers of two below `most`, of bytes and of thousands of bytes, of a size that matters.
    fn common_sizes(&self, most: u64) -> Vec<u64> {
        let unit = self.grain.unit();
        let smallest = self.gaps.iter().map(|g| g.units).min().unwrap_or(u64::MAX).saturating_mul(unit);
        let largest = self.most_alive().saturating_mul(unit);
        let powers = (0..63).flat_map(|k| [1_u64 << k, (1_u64 << k).saturating_mul(1000)]);
        powers.filter(|&size| smallest <= size && size < largest.min(most)).collect()
    }

    /// Units on chip at most if nothing is dropped.
    fn most_alive(&self) -> u64 {
        let mut change = vec![(0_u64, 0_u64); self.order.len() + 1];
        for buffer in &self.buffers {
            if let [first, .., last] = buffer.steps[..] {
                change[first].0 += buffer.units;
                change[last + 1].1 += buffer.units;
            }
        }
        let mut alive = 0;
        let after = change.iter().map(|(come, go)| {
            alive = alive + come - go;
            alive
        });
        after.max().unwrap_or(0)
    }

    fn quick_plans(&self, capacity: u64) -> Vec<Plan> {
        let by_rule = belady::belady(self, capacity);
        let by_length = greedy::by_length(self);
        let mut filled = crate::plan::Draft::of(self, capacity, &by_rule);
        greedy::fill(&mut filled, &by_length);
        let others = [by_length, greedy::by_version(self)];
        let others = others.iter().map(|gaps| greedy::in_order(self, capacity, gaps));
        [by_rule, filled.plan].into_iter().chain(others).collect()
    }

    /// The plan that moves least, the first of several.
    fn cheapest<'a>(&self, plans: &'a [Plan]) -> (&'a Plan, Bytes) {
        let mut best = (&plans[0], plans[0].cost(self));
        for plan in &plans[1..] {
            let cost = plan.cost(self);
            if cost.bytes() < best.1.bytes() {
                best = (plan, cost);
            }
        }
        best
    }

    fn alone(&self, on_chip: u64, limits: &Limits) -> Found {
        let capacity = self.capacity(on_chip);
        let unit = self.grain.unit();
        let mut plans = self.quick_plans(capacity);
        let belady = plans[0].cost(self);
        let quick = self.cheapest(&plans).1.bytes();
        if quick == 0 {
            return Found { belady, best: Bytes::default(), bound: 0 };
        }
        let relaxed = bound(self, capacity, quick / unit, limits);
        plans.push(greedy::in_order(self, capacity, &greedy::by_share(self, &relaxed.kept)));
        let mut bound = relaxed.units * unit;
        let cost = self.cheapest(&plans).1.bytes();
        if cost > bound {
            let (better, is_least) = exact::improve(self, capacity, cost / unit);
            plans.extend(better);
            if is_least {
                bound = self.cheapest(&plans).1.bytes();
            }
        }
        Found { belady, best: self.cheapest(&plans).1, bound }
    }
}
