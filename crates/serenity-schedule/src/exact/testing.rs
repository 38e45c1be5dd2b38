//! Small random problems, and all sets that can have run, to test the rules against.

use crate::rng::Rng;
use crate::{Buffer, HandOver, OpIndex, Problem, bits};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// Problems of two to seven ops: results that are read by some, by none, or kept, an input, and now and then a sum that
/// two write.
pub(crate) fn problems() -> impl Iterator<Item = Problem> {
    let mut random = Rng::new(1);
    (0..300).map(move |_| draw(&mut random))
}

fn draw(random: &mut Rng) -> Problem {
    let ops = 2 + random.below(6) as u32;
    let mut buffers = Vec::new();
    for op in 0..ops {
        let readers: Vec<OpIndex> = (op + 1..ops).filter(|_| random.below(3) == 0).map(OpIndex).collect();
        let result = Buffer::produced(1 + random.below(9), OpIndex(op), readers);
        buffers.push(if random.below(4) == 0 { result.kept() } else { result });
    }
    buffers.push(Buffer::given(random.below(9), [OpIndex(random.below(u64::from(ops)) as u32)]));
    let mut edges = Vec::new();
    if ops > 2 && random.below(2) == 0 {
        let writers = vec![OpIndex(ops - 3), OpIndex(ops - 2)];
        edges.extend(writers.iter().map(|&writer| (writer, OpIndex(ops - 1))));
        buffers.push(Buffer { writers, ..Buffer::produced(5, OpIndex(0), [OpIndex(ops - 1)]) });
    }
    Problem::new(ops, buffers, edges).unwrap()
}

/// Problems of two to seven ops with sizes that recur, most of whose ops may write over some of what they read.
pub(crate) fn with_hand_overs(seed: u64) -> impl Iterator<Item = Problem> {
    let mut random = Rng::new(seed);
    (0..300).map(move |_| {
        let ops = 2 + random.below(6) as u32;
        let mut buffers =
            vec![Buffer::given(2, (0..ops).filter(|_| random.below(2) == 0).map(OpIndex)).kept()];
        buffers[0].to_end = buffers[0].readers.is_empty();
        for op in 0..ops {
            for _ in 0..=random.below(2) {
                let readers = (op + 1..ops).filter(|_| random.below(2) == 0).map(OpIndex);
                let result = Buffer::produced(0, OpIndex(op), readers);
                let result = Buffer { bytes: 1 + random.below(2), ..result };
                buffers.push(if random.below(4) == 0 { result.kept() } else { result });
            }
        }
        let mut hand_overs = Vec::new();
        for (new, written) in buffers.iter().enumerate() {
            for (old, read) in buffers.iter().enumerate() {
                let Some(&op) = written.writers.first() else { continue };
                let fits = new != old && read.readers.contains(&op) && written.bytes == read.bytes;
                if fits && random.below(4) > 0 {
                    hand_overs.push(HandOver { op, new, old });
                }
            }
        }
        Problem::with_hand_overs(ops, buffers, &hand_overs, []).unwrap()
    })
}

/// Layers of so many ops, each of which reads one to three results of the layer before, one of them read by no other of
/// its layer.
pub(crate) fn layers(ops: u32, width: u32, seed: u64) -> Problem {
    let mut random = Rng::new(seed);
    let mut readers: Vec<Vec<OpIndex>> = vec![Vec::new(); ops as usize];
    for op in width..ops {
        let before = (op / width - 1) * width;
        readers[(op - width) as usize].push(OpIndex(op));
        for _ in 0..random.below(3) {
            readers[(before + random.below(u64::from(width)) as u32) as usize].push(OpIndex(op));
        }
    }
    let result = |(op, readers): (u32, Vec<OpIndex>)| {
        let result = Buffer::produced(1 + random.below(99), OpIndex(op), readers);
        if op + width >= ops { result.kept() } else { result }
    };
    Problem::new(ops, (0..).zip(readers).map(result).collect(), []).unwrap()
}

/// Two problems in one, neither of which knows of the other.
pub(super) fn side_by_side(one: &Problem, other: &Problem) -> Problem {
    let shifted = |ops: &[OpIndex]| ops.iter().map(|op| OpIndex(op.0 + one.ops)).collect();
    let buffer =
        |b: &Buffer| Buffer { writers: shifted(&b.writers), readers: shifted(&b.readers), ..b.clone() };
    let predecessors = other.predecessors.iter().map(|list| list.iter().map(|&p| p + one.ops).collect());
    Problem::assemble(
        one.predecessors.iter().cloned().chain(predecessors).collect(),
        one.buffers.iter().cloned().chain(other.buffers.iter().map(buffer)).collect(),
        one.base + other.base,
    )
}

/// All sets of ops that can have run, each as one word, smaller ones before those that contain them.
pub(super) fn sets(problem: &Problem) -> Vec<u64> {
    let is_closed = |set: &u64| bits::iter(&[*set]).all(|op| can_run(problem, *set, op));
    (0..1 << problem.ops).filter(is_closed).collect()
}

fn can_run(problem: &Problem, set: u64, op: u32) -> bool {
    problem.predecessors[op as usize].iter().all(|&p| bits::contains(&[set], p))
}

/// The ops that can run after `set`, and what is in use while they do.
fn moves(problem: &Problem, set: u64) -> impl Iterator<Item = (u64, u64)> {
    let open = (0..problem.ops).filter(move |&op| !bits::contains(&[set], op) && can_run(problem, set, op));
    let in_use = problem.in_use_after(&[set]);
    open.map(move |op| (set | 1 << op, in_use + problem.allocated(&[set], op)))
}

/// The least peak of all orders.
pub(crate) fn least_peak(problem: &Problem) -> u64 {
    let mut least = BTreeMap::from([(0, problem.at_start())]);
    let mut last = problem.at_start();
    for set in sets(problem) {
        last = least[&set];
        for (next, during) in moves(problem, set) {
            let peak = least.entry(next).or_insert(u64::MAX);
            *peak = (*peak).min(last.max(during));
        }
    }
    last
}

/// All sets that can be reached from `set` with no more than `limit` in use.
pub(super) fn reachable(problem: &Problem, set: u64, limit: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::from([set]);
    let mut open = vec![set];
    while let Some(set) = open.pop() {
        for (next, _) in moves(problem, set).filter(|&(_, during)| during <= limit) {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// Is this an order of all ops in which each can run?
pub(super) fn is_order(problem: &Problem, order: &[u32]) -> bool {
    let mut done = vec![0; problem.words()];
    let all_can_run = order.iter().all(|&op| {
        let is_new = !bits::contains(&done, op);
        bits::insert(&mut done, op);
        is_new && problem.predecessors[op as usize].iter().all(|&p| bits::contains(&done, p))
    });
    all_can_run && order.len() == problem.len()
}
