//! Checking a chain of cuts: a lower bound that takes many steps.
//!
//! Take any order that stays below the bound. Each step says of two ops which one it runs first, or that there is no
//! such order:
//!
//! 1. *While an op runs, what has run is closed:* with every op it holds the producers of what that op reads, and all
//!    ops that run before it by an earlier step. [`Cuts::least`] is the least that is in use over all closed sets, a
//!    minimum cut. Where that reaches the bound, there is no such set.
//! 2. *If there is none in which the second op has run while the first one runs,* the first runs before the second. *If
//!    there is none in which the first has not run while the second one runs,* likewise.
//! 3. *If it is taken that the second runs before the first, and steps that follow leave an op no set at all,* the
//!    first runs before the second.
//! 4. *If an op has no set at all,* and nothing is taken for granted, no order stays below the bound.
//!
//! A circle of ops that wait for each other leaves each of them no set, so it needs no rule of its own.

use crate::holdings::Holdings;
use crate::witness::TOO_LONG;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::{Graph, OpId};
use std::collections::VecDeque;

/// The proof of a lower bound by a chain of cuts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CutWitness {
    /// No order stays below this many bytes.
    pub bound: u64,
    /// What every order that did would have to keep to, until none is left.
    pub steps: Vec<CutStep>,
}

/// One step of a chain of cuts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum CutStep {
    /// `first` runs before `second`, because otherwise too much is in use while one of them runs.
    Edge {
        /// The op that runs before
        first: OpId,
        /// this one.
        second: OpId,
        /// The one of them during which too much would be in use.
        running: OpId,
    },
    /// `first` runs before `second`, because the opposite leads to a contradiction.
    Probe {
        /// The op that runs before
        first: OpId,
        /// this one.
        second: OpId,
        /// What follows if `second` runs before `first`. The last step is a contradiction.
        otherwise: Vec<CutStep>,
    },
    /// Too much is in use while `running` runs, whatever has run before.
    Contradiction {
        /// The op that no order has room for.
        running: OpId,
    },
}

/// Edges of networks that are looked at in all. The longest chains that our searches write take a tenth.
const MOST_WORK: u64 = 1 << 31;

/// Edges of a network. Those of our searches have a few for every op and tensor.
const MOST_EDGES: usize = 1 << 22;

/// More than all tensors together.
const UNLIMITED: u128 = 1 << 100;

/// The bound that a chain of cuts proves.
pub(crate) fn proved_by_cuts(
    graph: &Graph,
    holdings: &Holdings,
    witness: &CutWitness,
) -> Result<u64, String> {
    let touched: usize =
        holdings.tensors.iter().flatten().map(|m| 4 + m.writers.len() + m.readers.len()).sum();
    let inputs: usize = graph.ops().iter().map(|op| 1 + op.inputs.len()).sum();
    if touched + inputs > MOST_EDGES {
        return Err(TOO_LONG.to_owned());
    }
    let mut cuts = Cuts::new(graph, holdings, witness.bound);
    if cuts.follow(&witness.steps)? {
        Ok(witness.bound)
    } else {
        Err("its cuts end without a contradiction".to_owned())
    }
}

const SOURCE: usize = 0;
const SINK: usize = 1;

/// A network in which a set of events is on the side of the source: ops have begun, ops have ended, memory has been
/// written, memory is no longer wanted. An edge without limit says that its first event needs its second.
struct Cuts<'a> {
    graph: &'a Graph,
    holdings: &'a Holdings,
    bound: i128,
    /// By node, its edges. Every edge stands at an even index, its reverse behind it.
    edges: Vec<Vec<u32>>,
    to: Vec<u32>,
    capacity: Vec<u128>,
    work: u64,
}

impl<'a> Cuts<'a> {
    fn new(graph: &'a Graph, holdings: &'a Holdings, bound: u64) -> Self {
        let ops = graph.ops().len();
        let mut cuts = Self {
            graph,
            holdings,
            bound: i128::from(bound),
            edges: vec![Vec::new(); 2 + 2 * ops],
            to: Vec::new(),
            capacity: Vec::new(),
            work: 0,
        };
        for op in graph.op_ids() {
            cuts.needs(Self::ended(op), Self::begun(op));
            for p in graph.predecessors(op) {
                cuts.needs(Self::begun(op), Self::ended(p));
            }
        }
        for memory in holdings.tensors.iter().flatten() {
            let Ok(bytes) = u128::try_from(memory.bytes) else { continue };
            let (written, unwanted) = (cuts.add_node(), cuts.add_node());
            cuts.add_edge(written, unwanted, bytes);
            if memory.writers.is_empty() {
                cuts.needs(SOURCE, written);
            }
            memory.writers.iter().for_each(|&writer| cuts.needs(Self::begun(writer), written));
            if memory.kept {
                cuts.needs(unwanted, SINK);
            }
            memory.readers.iter().for_each(|&reader| cuts.needs(unwanted, Self::ended(reader)));
        }
        cuts
    }

    fn begun(op: OpId) -> usize {
        2 + 2 * op.index()
    }

    fn ended(op: OpId) -> usize {
        3 + 2 * op.index()
    }

    fn add_node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn add_edge(&mut self, from: usize, to: usize, capacity: u128) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.edges[from].push(self.to.len() as u32);
            self.to.push(to as u32);
            self.capacity.push(capacity);
        }
    }

    fn needs(&mut self, event: usize, other: usize) {
        self.add_edge(event, other, UNLIMITED);
    }

    /// Takes back the last edges, until there are so many.
    fn shorten(&mut self, edges: usize) {
        // The last edge of a node is the last that was added to it. What one edge leads to has its reverse.
        for node in self.to.drain(edges..).rev() {
            self.edges[node as usize].pop();
        }
        self.capacity.truncate(edges);
    }

    /// Follows steps; do they end in a contradiction?
    fn follow(&mut self, steps: &[CutStep]) -> Result<bool, String> {
        for (i, step) in steps.iter().enumerate() {
            let (first, second) = match *step {
                CutStep::Contradiction { running } => {
                    self.known(running)?;
                    return match (i + 1 == steps.len(), self.has_room(running, None)?) {
                        (_, true) => Err(format!("there may be room for op {running}")),
                        (false, _) => Err("it goes on after a contradiction".to_owned()),
                        (true, false) => Ok(true),
                    };
                }
                CutStep::Edge { first, second, running } => {
                    self.distinct(first, second)?;
                    let assumed = if running == first {
                        (SOURCE, Self::ended(second))
                    } else if running == second {
                        (Self::begun(first), SINK)
                    } else {
                        return Err(format!("op {running} is not one of op {first} and op {second}"));
                    };
                    if self.has_room(running, Some(assumed))? {
                        return Err(format!("op {first} need not run before op {second}"));
                    }
                    (first, second)
                }
                CutStep::Probe { first, second, ref otherwise } => {
                    self.distinct(first, second)?;
                    let edges = self.to.len();
                    self.needs(Self::begun(first), Self::ended(second));
                    let is_refuted = self.follow(otherwise)?;
                    self.shorten(edges);
                    if !is_refuted {
                        return Err(format!("op {second} may run before op {first}"));
                    }
                    (first, second)
                }
            };
            self.needs(Self::begun(second), Self::ended(first));
        }
        Ok(false)
    }

    fn known(&self, op: OpId) -> Result<(), String> {
        let ops = self.graph.ops().len();
        if op.index() < ops {
            return Ok(());
        }
        Err(format!("it names op {op}, but the graph has only {ops} ops"))
    }

    fn distinct(&self, first: OpId, second: OpId) -> Result<(), String> {
        self.known(first)?;
        self.known(second)?;
        if first == second { Err(format!("op {first} cannot run before itself")) } else { Ok(()) }
    }

    /// Is there a set below the bound while `op` runs? With an edge more that states what is assumed.
    fn has_room(&mut self, op: OpId, assumed: Option<(usize, usize)>) -> Result<bool, String> {
        let own = self.holdings.scratch.iter().filter(|s| s.writers == [op]).map(|s| s.bytes).sum::<i128>();
        let saved = self.holdings.in_place.most_saved(op, &self.holdings.tensors);
        let room = self.bound.saturating_sub(own).saturating_add(saved);
        let Ok(room) = u128::try_from(room) else { return Ok(false) };
        let edges = self.to.len();
        self.needs(SOURCE, Self::begun(op));
        self.needs(Self::ended(op), SINK);
        if let Some((event, other)) = assumed {
            self.needs(event, other);
        }
        let reached = self.pushes(room);
        self.shorten(edges);
        reached.map(|reached| !reached)
    }

    /// Does so much flow from the source to the sink? What flows crosses every cut, so no set has less in use.
    fn pushes(&mut self, wanted: u128) -> Result<bool, String> {
        let mut left = self.capacity.clone();
        let mut total = 0;
        while total < wanted {
            self.work += self.to.len() as u64;
            if self.work > MOST_WORK {
                return Err(TOO_LONG.to_owned());
            }
            let distance = self.distances(&left);
            let mut next = vec![0; self.edges.len()];
            let mut is_dead_end = true;
            while total < wanted
                && let Some(pushed) = self.push_along_one_path(&mut left, &distance, &mut next)
            {
                total += pushed;
                is_dead_end = false;
            }
            if is_dead_end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// By node, how many edges it is from the source.
    fn distances(&self, left: &[u128]) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.edges.len()];
        distance[SOURCE] = 0;
        let mut open = VecDeque::from([SOURCE]);
        while let Some(node) = open.pop_front() {
            for &edge in &self.edges[node] {
                let to = self.to[edge as usize] as usize;
                if left[edge as usize] > 0 && distance[to] == u32::MAX {
                    distance[to] = distance[node] + 1;
                    open.push_back(to);
                }
            }
        }
        distance
    }

    /// Follows edges that lead away from the source; those that lead nowhere are not tried again.
    fn push_along_one_path(
        &mut self,
        left: &mut [u128],
        distance: &[u32],
        next: &mut [usize],
    ) -> Option<u128> {
        let mut path: Vec<u32> = Vec::new();
        let mut node = SOURCE;
        while node != SINK {
            self.work += 1;
            let Some(&edge) = self.edges[node].get(next[node]) else {
                let back = path.pop()?;
                node = self.to[back as usize ^ 1] as usize;
                next[node] += 1;
                continue;
            };
            let to = self.to[edge as usize] as usize;
            if left[edge as usize] > 0 && distance[to] == distance[node] + 1 && distance[to] != u32::MAX {
                path.push(edge);
                node = to;
            } else {
                next[node] += 1;
            }
        }
        let pushed = path.iter().map(|&edge| left[edge as usize]).min()?;
        for edge in path {
            left[edge as usize] -= pushed;
            left[edge as usize ^ 1] += pushed;
        }
        Some(pushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holdings::{Figure, holdings};
    use crate::testing::{least_peak, small_graph};
    use serenity_facts::MemoryModel;
    use serenity_ir::sketch;
    use serenity_search::Random;

    fn proved(graph: &Graph, holdings: &Holdings, bound: u64, steps: &[CutStep]) -> bool {
        let witness = CutWitness { bound, steps: steps.to_vec() };
        proved_by_cuts(graph, holdings, &witness) == Ok(bound)
    }

    /// All that can be stated of two ops.
    fn edges(graph: &Graph) -> Vec<CutStep> {
        let pairs = graph.op_ids().flat_map(|first| graph.op_ids().map(move |second| (first, second)));
        pairs
            .flat_map(|(first, second)| {
                [first, second].map(|running| CutStep::Edge { first, second, running })
            })
            .collect()
    }

    /// Takes every step that the checker lets pass, until nothing is left to take. Does that end in a contradiction?
    fn prove(cuts: &mut Cuts, may_probe: bool) -> bool {
        let mut taken = Vec::new();
        loop {
            for running in cuts.graph.op_ids() {
                if cuts.follow(&[CutStep::Contradiction { running }]) == Ok(true) {
                    return true;
                }
            }
            let mut steps = edges(cuts.graph);
            steps
                .retain(|step| !taken.contains(step) && cuts.follow(std::slice::from_ref(step)) == Ok(false));
            taken.extend(steps.iter().cloned());
            if !steps.is_empty() {
                continue;
            }
            if !may_probe {
                return false;
            }
            let ops = cuts.graph.op_ids();
            let pairs = ops.flat_map(|a| cuts.graph.op_ids().map(move |b| (a, b))).filter(|(a, b)| a != b);
            let mut found = false;
            for (first, second) in pairs.collect::<Vec<_>>() {
                let edges = cuts.to.len();
                cuts.needs(Cuts::begun(second), Cuts::ended(first));
                let is_refuted = prove(cuts, false);
                cuts.shorten(edges);
                let step = CutStep::Probe { first: second, second: first, otherwise: Vec::new() };
                if is_refuted && !taken.contains(&step) {
                    cuts.needs(Cuts::begun(first), Cuts::ended(second));
                    taken.push(step);
                    found = true;
                }
            }
            if !found {
                return false;
            }
        }
    }

    /// Whatever is let pass, together it proves no more than the least peak, and mostly that.
    #[test]
    fn all_steps_that_pass_prove_the_least_peak_at_most() {
        let mut random = Random(11);
        let (mut asked, mut reached) = (0, 0);
        for _ in 0..60 {
            let graph = small_graph(&mut random, 4..7);
            for model in [MemoryModel::Plain, MemoryModel::Paper] {
                let least = least_peak(&graph, model);
                let holdings = holdings(&graph, model, Figure::Peak);
                let proves = |bound| prove(&mut Cuts::new(&graph, &holdings, bound), true);
                assert!(!proves(least + 1), "more than {least} of {graph:?}");
                asked += 1;
                reached += usize::from(proves(least));
            }
        }
        assert!(reached > asked * 9 / 10, "{reached} of {asked}");
    }

    /// Thousands of chains that nobody derived from a search.
    #[test]
    fn no_forgery_passes() {
        let mut random = Random(5);
        for _ in 0..400 {
            let graph = small_graph(&mut random, 4..7);
            let least = least_peak(&graph, MemoryModel::Plain);
            let holdings = holdings(&graph, MemoryModel::Plain, Figure::Peak);
            for _ in 0..20 {
                let steps: Vec<CutStep> =
                    (0..random.below(5)).map(|_| made_up(&graph, &mut random)).collect();
                assert!(!proved(&graph, &holdings, least + 1, &steps), "{steps:?} of {graph:?}");
            }
        }
    }

    fn made_up(graph: &Graph, random: &mut Random) -> CutStep {
        let mut op = || OpId(random.below(graph.ops().len() as u64 + 1) as u32);
        let (first, second) = (op(), op());
        match random.below(4) {
            0 => CutStep::Contradiction { running: first },
            1 => {
                let otherwise = (0..random.below(3)).map(|_| made_up(graph, random)).collect();
                CutStep::Probe { first, second, otherwise }
            }
            _ => CutStep::Edge { first, second, running: if random.below(2) == 0 { first } else { second } },
        }
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let graph = sketch("x:1; a:10 = X x; a2:1 = X a; b:10 = X x; b2:1 = X b; y:1 = X a2 b2; -> y");
        let holdings = holdings(&graph, MemoryModel::Plain, Figure::Peak);
        let refused = |steps: Vec<CutStep>| {
            let witness = CutWitness { bound: 13, steps };
            proved_by_cuts(&graph, &holdings, &witness).unwrap_err()
        };
        let [first, second, third] = [OpId(0), OpId(2), OpId(9)];
        let probe = |otherwise| CutStep::Probe { first, second, otherwise };
        assert!(refused(Vec::new()).contains("without a contradiction"));
        assert!(refused(vec![CutStep::Contradiction { running: first }]).contains("may be room for op 0"));
        assert!(refused(vec![CutStep::Contradiction { running: third }]).contains("names op 9"));
        assert!(
            refused(vec![CutStep::Edge { first, second: first, running: first }]).contains("before itself")
        );
        let stranger = CutStep::Edge { first, second, running: OpId(1) };
        assert!(refused(vec![stranger]).contains("is not one of"));
        assert!(refused(vec![probe(Vec::new())]).contains("op 2 may run before op 0"));
        let edge = CutStep::Edge { first, second, running: first };
        assert!(refused(vec![edge]).contains("need not run before"));
    }
}
