//! Replacing modules by chains.
//!
//! The step of a profile that begins with `a` in use, needs `d` on the way and leaves `b` becomes an op with a scratch
//! buffer of `d - max(a, b)` bytes. On the way down, bytes that entered the module go at the step; on the way up, bytes
//! that leave it come to life there; what is never given up goes straight from whoever brought it in to whoever takes
//! it out. Which of several entering (or leaving) buffers a byte is counted to does not matter: they are all in use
//! when the module begins (ends).

use crate::{Buffer, OpIndex, Problem};

/// One step of a module's profile, and so one op of the chain that replaces it.
#[derive(Clone)]
pub(super) struct ProfileStep {
    /// The ops it runs.
    pub(super) ops: Vec<u32>,
    /// The most the module has in use on the way.
    pub(super) during: u64,
    /// What it leaves in use.
    pub(super) after: u64,
}

impl ProfileStep {
    /// This step with its ops replaced by the ops that they stand for.
    pub(super) fn standing_for(self, origins: &[Vec<u32>]) -> Self {
        Self { ops: self.ops.iter().flat_map(|&op| &origins[op as usize]).copied().collect(), ..self }
    }
}

/// A module and the chain that replaces it.
pub(super) struct Region {
    /// Its ops in the problem, ascending.
    pub(super) ops: Vec<u32>,
    /// The module on its own.
    pub(super) problem: Problem,
    steps: Vec<ProfileStep>,
}

impl Region {
    /// The module of these ops (ascending) of `whole`.
    pub(super) fn new(whole: &Problem, ops: Vec<u32>) -> Self {
        let local = |op: u32| ops.binary_search(&op).ok().map(|i| i as u32);
        let inside = |list: &[OpIndex]| -> Vec<OpIndex> {
            list.iter().filter_map(|o| local(o.0)).map(OpIndex).collect()
        };
        let predecessors = ops
            .iter()
            .map(|&op| whole.predecessors[op as usize].iter().filter_map(|&p| local(p)).collect())
            .collect();
        let mut touched: Vec<u32> = ops
            .iter()
            .flat_map(|&op| whole.writes[op as usize].iter().chain(&whole.reads[op as usize]))
            .copied()
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let crossing = |&b: &u32| {
            let buffer = &whole.buffers[b as usize];
            let (writers, readers) = (inside(&buffer.writers), inside(&buffer.readers));
            // Whoever is outside has run before the module begins, or runs after it ends.
            let from_start = buffer.from_start || writers.len() < buffer.writers.len();
            let to_end = buffer.to_end || readers.len() < buffer.readers.len();
            // What is there before and after does not concern the module.
            (!(from_start && to_end)).then_some(Buffer {
                bytes: buffer.bytes,
                writers,
                readers,
                from_start,
                to_end,
            })
        };
        let buffers = touched.iter().filter_map(crossing).collect();
        Self { problem: Problem::assemble(predecessors, buffers, 0), ops, steps: Vec::new() }
    }

    /// With the chain that replaces it, given in the module's own numbering.
    pub(super) fn with_steps(mut self, steps: Vec<ProfileStep>) -> Self {
        let named = |step: ProfileStep| ProfileStep {
            ops: step.ops.iter().map(|&op| self.ops[op as usize]).collect(),
            ..step
        };
        self.steps = steps.into_iter().map(named).collect();
        self
    }

    /// By how many ops its chain is shorter.
    pub(super) fn saves(&self) -> usize {
        self.ops.len() - self.steps.len()
    }

    /// This region in the numbering of a module around it.
    pub(super) fn within(&self, outer: &Self) -> Self {
        let local = |ops: &[u32]| {
            ops.iter().filter_map(|op| outer.ops.binary_search(op).ok()).map(|at| at as u32).collect()
        };
        let step = |step: &ProfileStep| ProfileStep { ops: local(&step.ops), ..*step };
        Self {
            ops: local(&self.ops),
            problem: self.problem.clone(),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}

/// The problem with each of the (disjoint) modules replaced by its chain, and for every op the ops of `problem` it stands for.
pub(super) fn contract(problem: &Problem, regions: &[Region]) -> (Problem, Vec<Vec<u32>>) {
    let mut contraction = Contraction::new(problem, regions);
    for region in 0..regions.len() {
        contraction.settle(region);
    }
    contraction.finish()
}

const OUTSIDE: usize = usize::MAX;

/// A problem under reconstruction. Ops keep their numbers; the steps of chains come behind them.
struct Contraction<'a> {
    problem: &'a Problem,
    regions: &'a [Region],
    region_of: Vec<usize>,
    /// The number of the first step of each chain.
    first_step: Vec<u32>,
    buffers: Vec<Option<Buffer>>,
    /// The buffers that touch each module, old and new.
    touching: Vec<Vec<usize>>,
}

impl<'a> Contraction<'a> {
    fn new(problem: &'a Problem, regions: &'a [Region]) -> Self {
        let mut region_of = vec![OUTSIDE; problem.len()];
        let mut first_step = Vec::with_capacity(regions.len());
        let mut next = problem.ops;
        for (index, region) in regions.iter().enumerate() {
            for &op in &region.ops {
                region_of[op as usize] = index;
            }
            first_step.push(next);
            next += region.steps.len() as u32;
        }
        let mut contraction = Self {
            problem,
            regions,
            region_of,
            first_step,
            buffers: Vec::new(),
            touching: vec![Vec::new(); regions.len()],
        };
        for buffer in &problem.buffers {
            contraction.add(buffer.clone());
        }
        contraction
    }

    fn region(&self, op: OpIndex) -> usize {
        self.region_of.get(op.index()).copied().unwrap_or(OUTSIDE)
    }

    fn add(&mut self, buffer: Buffer) {
        if buffer.bytes == 0 {
            return;
        }
        let mut touched: Vec<usize> = buffer
            .writers
            .iter()
            .chain(&buffer.readers)
            .map(|&op| self.region(op))
            .filter(|&r| r != OUTSIDE)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        for region in touched {
            self.touching[region].push(self.buffers.len());
        }
        self.buffers.push(Some(buffer));
    }

    /// Replaces the buffers of one module by those of its chain.
    fn settle(&mut self, index: usize) {
        let (entering, leaving) = self.take_crossing(index);
        let mut entering = Pool::new(entering);
        let mut leaving = Pool::new(leaving);
        let mut in_use = entering.total();
        let mut scratch = Vec::new();
        let mut on_the_way_up = Vec::new();
        for (i, step) in self.regions[index].steps.iter().enumerate() {
            let op = OpIndex(self.first_step[index] + i as u32);
            scratch.push(Buffer::produced(step.during - step.after.max(in_use), op, []));
            if step.after <= in_use {
                for piece in entering.take(in_use - step.after) {
                    scratch.push(Buffer { readers: vec![op], to_end: false, ..piece });
                }
            } else {
                on_the_way_up.push((step.after - in_use, op));
            }
            in_use = step.after;
        }
        for (bytes, op) in on_the_way_up {
            for piece in leaving.take(bytes) {
                scratch.push(Buffer { writers: vec![op], from_start: false, ..piece });
            }
        }
        // What was never given up: as much has entered as leaves.
        for out in leaving.take(u64::MAX) {
            for into in entering.take(out.bytes) {
                let (readers, to_end) = (out.readers.clone(), out.to_end);
                scratch.push(Buffer { readers, to_end, ..into });
            }
        }
        for buffer in scratch {
            self.add(buffer);
        }
    }

    /// Takes away the buffers of a module, and returns the outer ends of those that cross its border.
    fn take_crossing(&mut self, index: usize) -> (Vec<Buffer>, Vec<Buffer>) {
        let (mut entering, mut leaving) = (Vec::new(), Vec::new());
        for id in std::mem::take(&mut self.touching[index]) {
            let Some(mut buffer) = self.buffers[id].take() else { continue };
            let inside = |op: &OpIndex| self.region(*op) == index;
            let outside = |list: &[OpIndex]| -> Vec<OpIndex> {
                list.iter().copied().filter(|op| !inside(op)).collect()
            };
            (buffer.writers, buffer.readers) = (outside(&buffer.writers), outside(&buffer.readers));
            let comes = buffer.from_start || !buffer.writers.is_empty();
            let stays = buffer.to_end || !buffer.readers.is_empty();
            match (comes, stays) {
                (false, false) => {}
                (false, true) => leaving.push(buffer),
                (true, false) => entering.push(buffer),
                // It only passes by.
                (true, true) => self.buffers[id] = Some(buffer),
            }
        }
        (entering, leaving)
    }

    /// Numbers the ops anew: in the old order, a chain where the first op of its module stood.
    fn finish(self) -> (Problem, Vec<Vec<u32>>) {
        let (problem, regions) = (self.problem, self.regions);
        let total = regions.iter().map(|r| r.steps.len()).sum::<usize>() + problem.len();
        let mut number = vec![u32::MAX; total];
        let mut origins: Vec<Vec<u32>> = Vec::new();
        for op in 0..problem.ops {
            let region = self.region_of[op as usize];
            if region == OUTSIDE {
                number[op as usize] = origins.len() as u32;
                origins.push(vec![op]);
            } else if op == regions[region].ops[0] {
                for (i, step) in regions[region].steps.iter().enumerate() {
                    number[self.first_step[region] as usize + i] = origins.len() as u32;
                    origins.push(step.ops.clone());
                }
            }
        }
        // The first step of a chain waits for all that its module waited for; who waited for the module waits for the last.
        let begin = |op: u32| match self.region_of[op as usize] {
            OUTSIDE => number[op as usize],
            region => number[self.first_step[region] as usize],
        };
        let end = |op: u32| match self.region_of[op as usize] {
            OUTSIDE => number[op as usize],
            region => number[self.first_step[region] as usize] + regions[region].steps.len() as u32 - 1,
        };
        let mut predecessors = vec![Vec::new(); origins.len()];
        for op in 0..problem.ops {
            let own = self.region_of[op as usize];
            for &p in &problem.predecessors[op as usize] {
                if own == OUTSIDE || self.region_of[p as usize] != own {
                    predecessors[begin(op) as usize].push(end(p));
                }
            }
        }
        for (index, region) in regions.iter().enumerate() {
            let first = number[self.first_step[index] as usize];
            for step in first + 1..first + region.steps.len() as u32 {
                predecessors[step as usize].push(step - 1);
            }
        }
        let renumber = |ops: Vec<OpIndex>| ops.into_iter().map(|op| OpIndex(number[op.index()])).collect();
        let buffers = self
            .buffers
            .into_iter()
            .flatten()
            .map(|b| Buffer { writers: renumber(b.writers), readers: renumber(b.readers), ..b })
            .collect();
        (Problem::assemble(predecessors, buffers, problem.base), origins)
    }
}

/// Buffers to be handed out piece by piece.
struct Pool {
    buffers: Vec<Buffer>,
}

impl Pool {
    fn new(buffers: Vec<Buffer>) -> Self {
        Self { buffers }
    }

    fn total(&self) -> u64 {
        self.buffers.iter().map(|b| b.bytes).sum()
    }

    /// Pieces that add up to `bytes`, or to all there is.
    fn take(&mut self, bytes: u64) -> Vec<Buffer> {
        let mut left = bytes;
        let mut pieces = Vec::new();
        while left > 0
            && let Some(last) = self.buffers.last_mut()
        {
            let piece = Buffer { bytes: last.bytes.min(left), ..last.clone() };
            left -= piece.bytes;
            last.bytes -= piece.bytes;
            if last.bytes == 0 {
                self.buffers.pop();
            }
            pieces.push(piece);
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::{self, ProfileWork};
    use super::super::testing::{NEVER, is_order, least_peak, problems, side_by_side};
    use super::*;
    use crate::Rules;

    fn chain_of(problem: &Problem, ops: std::ops::Range<u32>) -> Region {
        let region = Region::new(problem, ops.collect());
        let mut effort =
            ProfileWork { states: u64::MAX, spent: 0, memory: u64::MAX, stop: NEVER, is_cut: false };
        let steps = profile::of(&region.problem, &Rules::default(), &mut effort).unwrap();
        region.with_steps(steps)
    }

    #[test]
    fn a_chain_needs_as_much_as_its_module_whatever_runs_beside_it() {
        let small: Vec<Problem> = problems().filter(|problem| problem.len() < 6).collect();
        let mut saved = 0;
        for pair in small.windows(2) {
            let whole = side_by_side(&pair[0], &pair[1]);
            let first = chain_of(&whole, 0..pair[0].ops);
            let second = chain_of(&whole, pair[0].ops..whole.ops);
            saved += first.saves() + second.saves();
            for regions in [vec![first], vec![second]] {
                let (chained, origins) = contract(&whole, &regions);
                assert_eq!(chained.len(), whole.len() - regions[0].saves());
                assert_eq!(least_peak(&chained), least_peak(&whole));
                let order: Vec<u32> =
                    chained.topological.iter().flat_map(|&op| &origins[op as usize]).copied().collect();
                assert!(is_order(&whole, &order));
            }
        }
        assert!(saved > 100, "{saved}");
    }

    #[test]
    fn pieces_add_up() {
        let op = OpIndex;
        let mut pool = Pool::new(vec![Buffer::given(3, [op(0)]), Buffer::given(4, [op(1)])]);
        let bytes = |pieces: Vec<Buffer>| pieces.iter().map(|piece| piece.bytes).collect::<Vec<_>>();
        assert_eq!(bytes(pool.take(5)), [4, 1]);
        assert_eq!((pool.total(), bytes(pool.take(5)), pool.total()), (2, vec![2], 0));
    }
}
