//! Replaces every largest tree of a problem by a chain, in `O(n log n)`.
//!
//! An op is *closed* if all ops that it waits for are closed and awaited by it alone, and nobody else touches what it
//! reads. A closed op with all that leads to it is a tree, and a module (R10, [`modules`](super::modules)) without an
//! entry: it begins at the start. So its profile can replace it. This is Liu's theorem (1987) for trees; a search for the
//! profile, as for other modules, would take a state or more for each op.
//!
//! A profile is a chain of segments. On the way down to the minimum, each begins with a higher rise than the one before;
//! on the way up, seen from the end, likewise. So the profile of trees side by side is that of each, merged by rise:
//! heaps that are melded. Appending an op joins it with the last segments as long as nothing would stand still between
//! them.
//!
//! Trees that branch with time are trees in the reversed problem.

use super::contract::{ProfileStep, Region, contract};
use super::modules::Reduced;
use crate::Problem;

/// Replaces every largest tree by its chain: trees that join with time, then trees that branch.
pub(super) fn reduced(problem: &Problem) -> Reduced {
    let mut reduced = Reduced::new(problem);
    for forward in [true, false] {
        let regions = regions(&reduced.problem, forward);
        if !regions.is_empty() {
            let (problem, origins) = contract(&reduced.problem, &regions);
            let sequences = origins.iter().map(|ops| reduced.expand(ops)).collect();
            reduced = Reduced { problem, sequences };
        }
    }
    reduced
}

/// The trees whose chain is shorter than they are.
fn regions(problem: &Problem, forward: bool) -> Vec<Region> {
    let turned;
    let directed = if forward {
        problem
    } else {
        turned = problem.reversed();
        &turned
    };
    let mut trees = Trees::new(directed);
    let roots = trees.grow();
    let mut regions = Vec::new();
    for root in roots {
        let chain = trees.chain(root);
        let size: usize = chain.iter().map(|(_, ops)| ops.len()).sum();
        if chain.len() < size {
            regions.push(region(problem, chain, forward));
        }
    }
    regions
}

fn region(problem: &Problem, chain: Vec<(Segment, Vec<u32>)>, forward: bool) -> Region {
    let mut ops: Vec<u32> = chain.iter().flat_map(|(_, ops)| ops).copied().collect();
    ops.sort_unstable();
    let region = Region::new(problem, ops);
    let start = if forward { region.problem.at_start() } else { region.problem.at_end() };
    let mut height = start as i64;
    let mut steps = Vec::with_capacity(chain.len());
    for (segment, mut ops) in chain {
        let (before, during) = (height, height + segment.rise);
        height += segment.net;
        let after = if forward { height } else { before };
        for op in &mut ops {
            *op = region.ops.binary_search(op).unwrap_or_default() as u32;
        }
        if !forward {
            ops.reverse();
        }
        steps.push(ProfileStep { ops, during: during as u64, after: after as u64 });
    }
    if !forward {
        steps.reverse();
    }
    region.with_steps(steps)
}

/// Ops that run one after the other, and what they need, both from what is in use before them.
#[derive(Clone, Copy)]
struct Segment {
    /// The most in use on the way.
    rise: i64,
    /// What is in use after it.
    net: i64,
    /// Its first and its last op.
    head: u32,
    tail: u32,
}

impl Segment {
    /// How much the segment rises, seen backwards from its end.
    fn rise_from_behind(&self) -> i64 {
        self.rise - self.net
    }
}

/// The profile of a tree: two heaps.
#[derive(Clone, Copy, Default)]
struct Profile {
    /// To the minimum; the segment with the highest rise, which is the last, on top.
    down: Heap,
    /// From the minimum on; the segment with the lowest rise from behind, which is the last, on top.
    up: Heap,
}

struct Trees<'a> {
    problem: &'a Problem,
    heaps: Heaps,
    profiles: Vec<Option<Profile>>,
    /// The op that runs next in the same segment.
    next: Vec<u32>,
}

impl<'a> Trees<'a> {
    fn new(problem: &'a Problem) -> Self {
        let ops = problem.len();
        Self { problem, heaps: Heaps::default(), profiles: vec![None; ops], next: vec![u32::MAX; ops] }
    }

    /// Grows all trees; returns the roots of the largest.
    fn grow(&mut self) -> Vec<u32> {
        let mut is_root = vec![false; self.problem.len()];
        for &op in &self.problem.topological {
            if !self.is_closed(op) {
                continue;
            }
            let mut profile = Profile::default();
            for &p in &self.problem.predecessors[op as usize] {
                is_root[p as usize] = false;
                if let Some(Profile { down, up }) = self.profiles[p as usize].take() {
                    profile.down = self.heaps.meld(profile.down, down);
                    profile.up = self.heaps.meld(profile.up, up);
                }
            }
            self.append(&mut profile, self.segment(op));
            self.profiles[op as usize] = Some(profile);
            is_root[op as usize] = true;
        }
        (0..self.problem.ops).filter(|&op| is_root[op as usize]).collect()
    }

    fn is_closed(&self, op: u32) -> bool {
        let problem = self.problem;
        let awaited_alone = |&p: &u32| {
            self.profiles[p as usize].is_some() && problem.successors[p as usize].iter().all(|&s| s == op)
        };
        let (writes, reads) = (&problem.writes[op as usize], &problem.reads[op as usize]);
        // Backwards in time a buffer of several writers has readers that no edge puts right before each other.
        let mut read = reads.iter().filter(|&buffer| !writes.contains(buffer));
        if !read.all(|&buffer| self.is_last_reader(op, buffer)) {
            return false;
        }
        let touched = writes.iter().chain(reads);
        let mut touched = touched.map(|&buffer| &problem.buffers[buffer as usize]);
        problem.predecessors[op as usize].iter().all(awaited_alone)
            && touched.all(|buffer| {
                let is_own = buffer.readers.iter().all(|reader| reader.0 == op);
                buffer.writers.len() <= 1 && (!buffer.from_start || is_own)
            })
    }

    /// Who reads along with the last reader has run before it.
    fn is_last_reader(&self, op: u32, buffer: u32) -> bool {
        let before = &self.problem.predecessors[op as usize];
        let readers = &self.problem.buffers[buffer as usize].readers;
        readers.iter().all(|reader| reader.0 == op || before.binary_search(&reader.0).is_ok())
    }

    fn segment(&self, op: u32) -> Segment {
        let bytes = |list: &[u32]| -> i64 {
            list.iter().map(|&buffer| self.problem.buffers[buffer as usize].bytes as i64).sum()
        };
        let rise = bytes(&self.problem.writes[op as usize]);
        let is_last = |&&buffer: &&u32| self.is_last_reader(op, buffer);
        let freed: Vec<u32> = self.problem.reads[op as usize].iter().filter(is_last).copied().collect();
        Segment { rise, net: rise - bytes(&freed), head: op, tail: op }
    }

    fn append(&mut self, profile: &mut Profile, mut segment: Segment) {
        while let Some(last) = self.heaps.top(profile.up) {
            if segment.net > 0 && segment.rise < last.rise_from_behind() {
                break;
            }
            profile.up = self.heaps.pop(profile.up);
            segment = self.joined(last, segment);
        }
        if profile.up.is_some() || segment.net > 0 {
            profile.up = self.heaps.push(profile.up, segment, segment.rise_from_behind());
            return;
        }
        while let Some(last) = self.heaps.top(profile.down) {
            if last.net + segment.rise > last.rise {
                break;
            }
            profile.down = self.heaps.pop(profile.down);
            segment = self.joined(last, segment);
        }
        profile.down = self.heaps.push(profile.down, segment, -segment.rise);
    }

    fn joined(&mut self, first: Segment, second: Segment) -> Segment {
        self.next[first.tail as usize] = second.head;
        Segment {
            rise: first.rise.max(first.net + second.rise),
            net: first.net + second.net,
            head: first.head,
            tail: second.tail,
        }
    }

    /// The segments of a tree in order, and their ops.
    fn chain(&mut self, root: u32) -> Vec<(Segment, Vec<u32>)> {
        let Profile { down, up } = self.profiles[root as usize].unwrap_or_default();
        let mut segments = Vec::new();
        for mut heap in [up, down] {
            while let Some(segment) = self.heaps.top(heap) {
                heap = self.heaps.pop(heap);
                segments.push(segment);
            }
        }
        segments.reverse();
        segments.into_iter().map(|segment| (segment, self.ops(segment))).collect()
    }

    fn ops(&self, segment: Segment) -> Vec<u32> {
        let after = |&op: &u32| (op != segment.tail).then(|| self.next[op as usize]);
        std::iter::successors(Some(segment.head), after).collect()
    }
}

/// A heap, by its topmost node; none if it is empty.
type Heap = Option<u32>;

/// Leftist heaps: two can be melded in logarithmic time.
#[derive(Default)]
struct Heaps {
    nodes: Vec<Node>,
}

struct Node {
    segment: Segment,
    /// The least is on top.
    key: i64,
    left: Heap,
    right: Heap,
    /// The length of the path to the right.
    rank: u32,
}

impl Heaps {
    fn top(&self, heap: Heap) -> Option<Segment> {
        heap.map(|top| self.nodes[top as usize].segment)
    }

    fn push(&mut self, heap: Heap, segment: Segment, key: i64) -> Heap {
        self.nodes.push(Node { segment, key, left: None, right: None, rank: 1 });
        self.meld(heap, Some(self.nodes.len() as u32 - 1))
    }

    fn pop(&mut self, heap: Heap) -> Heap {
        let Node { left, right, .. } = self.nodes[heap? as usize];
        self.meld(left, right)
    }

    fn meld(&mut self, one: Heap, other: Heap) -> Heap {
        let (Some(mut top), Some(mut below)) = (one, other) else { return one.or(other) };
        if self.nodes[below as usize].key < self.nodes[top as usize].key {
            std::mem::swap(&mut top, &mut below);
        }
        let right = self.meld(self.nodes[top as usize].right, Some(below));
        let rank = |heaps: &Self, heap: Heap| heap.map_or(0, |node| heaps.nodes[node as usize].rank);
        let left = self.nodes[top as usize].left;
        let (left, right) = if rank(self, left) < rank(self, right) { (right, left) } else { (left, right) };
        let rank = rank(self, right) + 1;
        let node = &mut self.nodes[top as usize];
        (node.left, node.right, node.rank) = (left, right, rank);
        Some(top)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{is_order, least_peak, problems, side_by_side};
    use super::*;
    use crate::rng::Rng;
    use crate::{Buffer, OpIndex};

    /// Every op is read by one that comes later, or is a result; some read an input; some results are dead or kept.
    fn tree(ops: u32, random: &mut Rng) -> Problem {
        let mut buffers = Vec::new();
        for op in 0..ops {
            let reader = OpIndex(op + 1 + random.below(3) as u32);
            let readers = (reader.0 < ops).then_some(reader);
            let result = Buffer::produced(random.below(20), OpIndex(op), readers);
            buffers.push(if random.below(8) == 0 { result.kept() } else { result });
            if random.below(3) == 0 {
                buffers.push(Buffer::given(random.below(20), [OpIndex(op)]));
            }
            if random.below(4) == 0 {
                buffers.push(Buffer::produced(random.below(20), OpIndex(op), []));
            }
        }
        Problem::new(ops, buffers, []).unwrap()
    }

    fn assert_same_optimum(problem: &Problem) -> usize {
        let reduced = reduced(problem);
        let least = least_peak(problem);
        assert_eq!(least_peak(&reduced.problem), least);
        let order = reduced.expand(&reduced.problem.topological);
        assert!(is_order(problem, &order));
        assert_eq!(
            crate::walk::peak_of(problem, &order),
            crate::walk::peak_of(&reduced.problem, &reduced.problem.topological)
        );
        problem.len() - reduced.problem.len()
    }

    #[test]
    fn chains_need_as_much_as_their_trees() {
        let mut random = Rng::new(5);
        let mut saved = 0;
        for round in 0..4000 {
            let problem = tree(2 + random.below(8) as u32, &mut random);
            saved += assert_same_optimum(&if round % 2 == 0 { problem } else { problem.reversed() });
        }
        assert!(saved > 8000, "{saved}");
    }

    #[test]
    fn what_ops_of_a_chain_write_together_goes_with_the_last_that_reads_it() {
        let op = OpIndex;
        let together = Buffer { writers: vec![op(1), op(2), op(3)], ..Buffer::produced(60, op(1), [op(3)]) };
        let buffers = vec![
            Buffer::given(873, [op(0)]),
            Buffer::produced(247, op(0), [op(1)]),
            Buffer::produced(360, op(2), [op(3)]),
            together,
        ];
        assert_same_optimum(&Problem::new(4, buffers, [(op(1), op(2))]).unwrap());
    }

    #[test]
    fn trees_are_replaced_within_what_is_no_tree() {
        let mut random = Rng::new(6);
        let saved: usize = problems()
            .map(|problem| assert_same_optimum(&side_by_side(&problem, &tree(4, &mut random))))
            .sum();
        assert!(saved > 300, "{saved}");
        // Ops of a tree feed the rest of the network.
        for problem in problems() {
            let grown = grafted(&problem, &mut random);
            assert_same_optimum(&grown);
            assert_same_optimum(&grown.reversed());
        }
    }

    /// A tree whose root some op waits for.
    fn grafted(problem: &Problem, random: &mut Rng) -> Problem {
        let both = side_by_side(problem, &tree(4, random));
        let waiting = random.below(u64::from(problem.ops)) as usize;
        let mut predecessors = both.predecessors.clone();
        predecessors[waiting].push(both.ops - 1);
        Problem::assemble(predecessors, both.buffers, both.base)
    }
}
