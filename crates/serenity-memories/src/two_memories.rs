//! A device with two memories: a small fast one and a large slow one.
//!
//! Takes the buffers of a model in one order of its ops, the bytes read and written in each, and two [`Memory`] sizes,
//! the preferred one first. Returns a [`Division`]: the memory and the offset of each buffer, chosen so that few bytes
//! are moved in the second memory, with a lower bound on them.
//!
//! Every buffer stays in one memory for its whole life. Each op counts as reading each of its inputs once and writing
//! each of its outputs once; scratch is written once and read once. The body of a loop counts once, and a view as if it
//! copied. What the caller writes before the run and reads after it does not count.
//!
//! Choosing what to put into the fast memory is a knapsack problem whose knapsack is a packing problem. Here the best choice by sizes
//! alone and some greedy ones are improved by exchanges, and every choice is placed by the exact planner: the division is always valid, and
//! optimal where it meets the bound.
//!
//! ```
//! use serenity_arena::{Buffer, Limits, Problem};
//! use serenity_memories::two_memories::{Memory, Traffic, divide};
//! // A chain of three; the one in the middle is read twice.
//! let buffers = vec![Buffer::new(60, 0..2), Buffer::new(50, 1..4), Buffer::new(60, 3..5)];
//! let traffic = [(60, 0), (100, 50), (0, 60)].map(|(read, written)| Traffic { read, written });
//! let memories = [Memory::new("fast", 100), Memory::new("slow", 1000)];
//! let division = divide(&Problem::new(buffers, 1).unwrap(), &traffic, memories, &Limits::default())?;
//! assert_eq!(division.memories[0].buffers, [(1, 0)]);
//! assert_eq!((division.memories[1].traffic.bytes(), division.bound), (120, 120));
//! # Ok::<(), serenity_memories::two_memories::NoRoom>(())
//! ```

mod bound;
mod frontier;
mod memory;
mod obvious;
mod search;
mod sections;
mod traffic;

use schemars::JsonSchema;
use search::Search;
use sections::Sections;
use serde::Serialize;
use serenity_arena::{Buffer, Limits, Overlap, Problem, Proof, StopReason};
use serenity_check::{PlacedBuffer, first_clash};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_runtimes::{ArenaProblem, Content, MemoryModel, MemoryModelExt};
use std::collections::BTreeMap;

pub use memory::{Memory, NoRoom};
pub use obvious::Obvious;
pub use traffic::{Traffic, traffic};

impl Memory {
    /// A memory of this name and size.
    pub fn new(name: impl Into<String>, capacity: u64) -> Self {
        Self { name: name.into(), capacity }
    }
}

/// A memory and the buffers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The memory.
    pub memory: Memory,
    /// The end of its topmost buffer, in bytes.
    pub used: u64,
    /// Bytes read and written in it during one run.
    pub traffic: Traffic,
    /// Its buffers: index in the problem, and offset.
    pub buffers: Vec<(usize, u64)>,
}

impl Filled {
    fn new(memory: Memory, buffers: Vec<(usize, u64)>, problem: &Problem, traffic: &[Traffic]) -> Self {
        let end = |&(b, offset): &(usize, u64)| offset + problem.buffers()[b].size;
        let used = buffers.iter().map(end).max().unwrap_or(0);
        let traffic = buffers.iter().fold(Traffic::default(), |sum, &(b, _)| sum.plus(traffic[b]));
        Self { memory, used, traffic, buffers }
    }
}

/// Which buffer lies in which memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The preferred memory, and the other one.
    pub memories: [Filled; 2],
    /// A lower bound on the bytes moved in the second memory by any division: the least for any choice whose sizes fit
    /// the first memory at every step, whether or not they can be placed without gaps. If there are too many choices:
    /// the excess at some steps that have no buffer in common, as if buffers could be cut into pieces.
    pub bound: u64,
    /// Does the division meet the bound? If not, why the search ended.
    pub proof: Proof,
}

/// Divides buffers among two memories, the preferred one first, so that few bytes are moved in the second.
///
/// Equal inputs give equal divisions, unless [`Limits::deadline`] ends the search; the proof then says so.
///
/// # Errors
/// If no division is found that fits.
///
/// # Panics
/// If there is not exactly one [`Traffic`] per buffer.
pub fn divide(
    problem: &Problem,
    traffic: &[Traffic],
    memories: [Memory; 2],
    limits: &Limits,
) -> Result<Division, NoRoom> {
    assert_eq!(problem.buffers().len(), traffic.len(), "one figure of traffic a buffer");
    let sections = Sections::new(problem);
    let capacities = [memories[0].capacity, memories[1].capacity];
    let together = capacities[0].saturating_add(capacities[1]);
    let excess = sections.most_in_use().saturating_sub(together);
    if excess > 0 {
        return Err(NoRoom { memories, missing: excess, proved: true });
    }
    let mut search = Search::new(problem, &sections, traffic, capacities, limits);
    let cheapest = frontier::cheapest(problem, &sections, traffic, capacities[0], &search);
    let mut choice = search.best_choice(&cheapest.in_fast, cheapest.bound.unwrap_or(0));
    if choice.overflow > 0 {
        return Err(NoRoom { memories, missing: choice.overflow, proved: false });
    }
    search.lower(&mut choice);
    let simple_bound = || bound::least_slow_traffic(problem, &sections, traffic, capacities[0], &search);
    let bound = cheapest.bound.unwrap_or_else(simple_bound);
    let proof = if choice.slow_bytes <= bound {
        Proof::Optimal
    } else {
        Proof::Gap { stopped: search.stopped.unwrap_or(StopReason::Heuristic) }
    };
    let [fast, slow] = memories;
    let filled = |memory: Memory, is_fast: bool| {
        let members: Vec<usize> = (0..traffic.len()).filter(|&b| choice.in_fast[b] == is_fast).collect();
        let offsets = if is_fast { &choice.fast_offsets } else { &choice.slow_offsets };
        let buffers = members.iter().map(|&b| (b, offsets[b])).collect();
        Filled::new(memory, buffers, problem, traffic)
    };
    Ok(Division { memories: [filled(fast, true), filled(slow, false)], bound, proof })
}

/// The buffers of a model, and what a run reads and writes in each.
pub struct Touched {
    /// The buffers.
    pub arena: ArenaProblem,
    /// One figure per buffer.
    pub traffic: Vec<Traffic>,
}

impl Touched {
    /// Those of these orders; `None` if the model has no arena.
    pub fn new(graphs: &[Graph], model: MemoryModel, orders: &[&[OpId]]) -> Option<Self> {
        let graphs: Vec<&Graph> = graphs.iter().collect();
        let arena = model.placement_problem(&graphs, orders)?;
        let traffic = traffic(&graphs, &arena);
        Some(Self { arena, traffic })
    }

    /// What a run reads and writes in all buffers.
    pub fn total(&self) -> Traffic {
        self.traffic.iter().copied().fold(Traffic::default(), Traffic::plus)
    }

    /// Divides the buffers so that what lies in the second memory costs little, where a byte that is read there costs `dearer[0]` more than in
    /// the first one, and a byte that is written `dearer[1]`. The bound is in this cost.
    ///
    /// # Errors
    /// If no division is found that fits.
    pub fn divide(
        &self,
        memories: [Memory; 2],
        dearer: [u64; 2],
        limits: &Limits,
    ) -> Result<Division, NoRoom> {
        let cost = |traffic: &Traffic| Traffic {
            read: traffic.read.saturating_mul(dearer[0]),
            written: traffic.written.saturating_mul(dearer[1]),
        };
        let costs: Vec<Traffic> = self.traffic.iter().map(cost).collect();
        let problem = &self.arena.problem;
        let Division { memories, bound, proof } = divide(problem, &costs, memories, limits)?;
        let counted = |Filled { memory, buffers, .. }| Filled::new(memory, buffers, problem, &self.traffic);
        Ok(Division { memories: memories.map(counted), bound, proof })
    }
}

/// A plan for a device with two memories.
#[derive(Clone, Debug)]
pub struct TwoMemories {
    /// The buffers of the model.
    pub arena: ArenaProblem,
    /// The memory and offset of each buffer.
    pub division: Division,
}

impl Division {
    /// The fault that the independent checker finds; `None` if the division is right.
    pub fn fault(&self, problem: &Problem) -> Option<String> {
        let buffers = problem.buffers();
        let mut seen = vec![false; buffers.len()];
        for Filled { memory, buffers: members, .. } in &self.memories {
            if let Some(&(b, _)) = members.iter().find(|&&(b, _)| std::mem::replace(&mut seen[b], true)) {
                return Some(format!("buffer {b} lies in two places"));
            }
            if members.iter().any(|&(b, begin)| begin + buffers[b].size > memory.capacity) {
                return Some(format!("`{}` overflows", memory.name));
            }
            if members.iter().any(|(_, offset)| offset % problem.alignment() != 0) {
                return Some(format!("a buffer in `{}` is not aligned", memory.name));
            }
            if let Some((x, y)) = clash(problem, members) {
                return Some(format!("buffers {x} and {y} clash in `{}`", memory.name));
            }
        }
        seen.iter().position(|&is_placed| !is_placed).map(|b| format!("buffer {b} lies nowhere"))
    }
}

/// Two buffers of one memory that are in use at once and share bytes although they may not, as the independent checker
/// finds them. `members` are the buffers in that memory, each with its offset.
pub fn clash(problem: &Problem, members: &[(usize, u64)]) -> Option<(usize, usize)> {
    let permitted: BTreeMap<(usize, usize), &Overlap> =
        problem.overlaps().iter().map(|overlap| ((overlap.writer, overlap.over), overlap)).collect();
    let place = |&(b, begin): &(usize, u64)| {
        let Buffer { size, lower, upper, .. } = problem.buffers()[b];
        PlacedBuffer { begin, end: begin + size, lower, upper }
    };
    let placed: Vec<PlacedBuffer> = members.iter().map(place).collect();
    let may_share = |y: usize, x: usize| {
        let ((y, y_at), (x, x_at)) = (members[y], members[x]);
        permitted.get(&(y, x)).is_some_and(|overlap| overlap.permits(y_at, x_at))
    };
    first_clash(&placed, may_share).map(|(x, y)| (members[x].0, members[y].0))
}

/// A memory and what lies in it, as JSON states it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedMemory<'a> {
    /// The memory.
    #[serde(flatten)]
    pub memory: &'a Memory,
    /// The end of its topmost buffer, in bytes.
    pub used: u64,
    /// Bytes read and written in it during one run.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// The tensors that lie in it.
    pub tensors: Vec<StatedTensor>,
    /// What ops need besides their tensors.
    pub scratch: Vec<StatedScratch>,
}

/// A tensor in a memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedTensor {
    /// The index of its graph; 0 for the main graph.
    pub graph: usize,
    /// Its id.
    pub tensor: TensorId,
    /// Its name.
    pub name: String,
    /// Its offset in this memory.
    pub offset: u64,
    /// Bytes reserved there.
    pub bytes: u64,
}

/// The scratch of an op in a memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedScratch {
    /// The index of its graph; 0 for the main graph.
    pub graph: usize,
    /// The op.
    pub op: OpId,
    /// Its offset in this memory.
    pub offset: u64,
    /// Bytes reserved there.
    pub bytes: u64,
}

impl TwoMemories {
    /// The contents of each memory, for the field `memories` of a plan.
    pub fn stated(&self, graphs: &[Graph]) -> [StatedMemory<'_>; 2] {
        self.division.memories.each_ref().map(|Filled { memory, used, traffic, buffers }| {
            let (mut tensors, mut scratch) = (Vec::new(), Vec::new());
            for &(buffer, offset) in buffers {
                let bytes = self.arena.problem.buffers()[buffer].size;
                match self.arena.contents[buffer] {
                    Content::Tensor { graph, .. } => {
                        // All that share the memory, each by its own name.
                        tensors.extend(self.arena.tensors[buffer].iter().map(|&tensor| {
                            let name = graphs[graph].tensor_label(tensor);
                            StatedTensor { graph, tensor, name, offset, bytes }
                        }));
                    }
                    Content::Scratch { graph, op } => {
                        scratch.push(StatedScratch { graph, op, offset, bytes });
                    }
                }
            }
            StatedMemory { memory, used: *used, traffic: *traffic, tensors, scratch }
        })
    }
}

#[cfg(test)]
mod tests;
