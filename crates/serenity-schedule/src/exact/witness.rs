//! A lower bound that can be checked by hand.
//!
//! The bound of an op `v` ([`cut_bound`](super::cut_bound)) is a minimum cut, and the maximum flow of the same size is
//! its proof. Taken apart into paths, the flow reads: *here are chains of buffers; while `v` runs, at least one buffer
//! of each chain is in use, whatever has run before.* The first buffer of a chain has been brought to life by then. If
//! it has gone, its readers have run, and with them what they depend on, which has brought the next one to life; and so
//! on. The last is still wanted by `v` or by something after it. A buffer lends no more than its size to all chains
//! together, so the bytes of the chains add up to a bound.

use super::closure::reached;
use super::cuts::Cut;
use crate::walk::steps_of;
use crate::{Buffer, OpIndex, Problem};

/// A proof that no order needs less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The op during which that much is in use.
    pub op: OpIndex,
    /// Chains of buffers, of each of which at least one buffer is in use while the op runs.
    pub chains: Vec<Chain>,
}

/// Buffers of which at least one is in use while the op of the [`Witness`] runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The bytes that it adds to the bound.
    pub bytes: u64,
    /// Indices of buffers, in the order in which they follow each other.
    pub buffers: Vec<usize>,
}

impl Witness {
    /// The bound that it proves.
    pub fn bytes(&self) -> u64 {
        self.chains.iter().map(|chain| chain.bytes).sum()
    }
}

/// How many ops are tried; each takes a maximum flow over the whole problem.
const MOST_TRIED: usize = 8;

/// Looks for an op that alone proves that no order of `problem` peaks below `bound`. `buffers` are those the problem
/// was made of, to which the chains refer; `order` is an optimal one.
///
/// There may be none: then the bound rests on the search.
///
/// # Panics
/// If `order` or `buffers` name ops that the problem does not have.
pub fn witness(problem: &Problem, buffers: &[Buffer], order: &[OpIndex], bound: u64) -> Option<Witness> {
    let order: Vec<u32> = order.iter().map(|op| op.0).collect();
    let steps = steps_of(problem, &order);
    // Only an op that needs that much in this order can need it in all.
    let candidates = (0..order.len()).filter(|&i| steps[i].during >= bound).map(|i| order[i]);
    candidates.take(MOST_TRIED).find_map(|op| {
        let ancestors = reached(op, &problem.predecessors, problem.words());
        let descendants = reached(op, &problem.successors, problem.words());
        let mut cut = Cut::new(problem, buffers, &ancestors, &descendants, Some(op));
        // What is counted twice while the op writes one over the other.
        if cut.value() < bound + problem.hand_overs.most_saved_in_all(op) {
            return None;
        }
        let mut chains: Vec<Chain> = cut
            .always
            .iter()
            .map(|&b| Chain { bytes: buffers[b].bytes, buffers: vec![b] })
            .filter(|chain| chain.bytes > 0)
            .collect();
        chains.extend(cut.paths());
        Some(Witness { op: OpIndex(op), chains })
    })
}

impl Cut<'_> {
    /// Takes a maximum flow apart.
    fn paths(&mut self) -> Vec<Chain> {
        let mut chains = Vec::new();
        while let Some((bytes, edges)) = self.network.take_path(Self::SOURCE, Self::SINK) {
            let buffer = |edge: &u32| {
                let found = self.buffer_edges.binary_search_by_key(edge, |&(edge, _)| edge);
                found.ok().map(|i| self.buffer_edges[i].1)
            };
            let buffers = edges.iter().filter_map(buffer).collect();
            chains.push(Chain { bytes, buffers });
        }
        chains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_which_buffers_stand_in_for_each_other() {
        // 0 writes x (10); 1 turns x into y (8); 2 turns y into z (10); 3 reads z and w, which 4 wrote; all end in 5.
        let op = OpIndex;
        let buffers = vec![
            Buffer::produced(10, op(0), [op(1)]),
            Buffer::produced(8, op(1), [op(2)]),
            Buffer::produced(10, op(2), [op(5)]),
            Buffer::given(30, [op(3)]),
            Buffer::produced(40, op(3), [op(5)]),
        ];
        let edges = [(op(0), op(3))];
        let problem = Problem::new(6, buffers.clone(), edges).unwrap();
        let order: Vec<OpIndex> = [0, 1, 3, 2, 5, 4].map(OpIndex).to_vec();
        // While 3 runs: 30 and 40, and 8 of x, y or z.
        let found = witness(&problem, &buffers, &order, 78).unwrap();
        assert_eq!((found.op, found.bytes()), (op(3), 78));
        assert!(found.chains.contains(&Chain { bytes: 8, buffers: vec![0, 1, 2] }));
        assert_eq!(witness(&problem, &buffers, &order, 79), None);
    }
}
