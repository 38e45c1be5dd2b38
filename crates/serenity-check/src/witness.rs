//! Checking the proof of a lower bound.
//!
//! A witness is a chain of cuts ([`cuts`](crate::cuts)), or names an op and chains of tensors. While the op runs, at least one tensor of each chain is in use, whatever the order:
//!
//! 1. the first has been written by then: it is an input, or the op or one before it writes it;
//! 2. if one is gone, all its readers have run, among them one that depends on a writer of the next: so that has been written;
//! 3. the last is not gone: it is a result, or the op or one after it reads it.
//!
//! A tensor lends no more than its size to all chains together. So the bytes of the chains, and the op's own scratch, are a lower bound for every
//! order.

use crate::cuts::{CutWitness, proved_by_cuts};
use crate::holdings::{Figure, Holding, Holdings, holdings};
use crate::reach::{Reach, all_after, all_before};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId, TensorId};

/// How many inputs of ops are looked at to find who depends on whom. What our searches prove takes thousands; this takes about a second.
const MOST_STEPS: u64 = 1 << 27;

pub(crate) const TOO_LONG: &str = "checking it takes too long";

/// The proof of a lower bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Witness {
    /// One op proves it alone.
    Op(OpWitness),
    /// It takes many steps.
    Cuts(CutWitness),
}

/// The proof of a lower bound by one op.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpWitness {
    /// While this op runs, so much is in use.
    pub op: OpId,
    /// At least one tensor of each is in use then.
    pub chains: Vec<WitnessChain>,
}

/// Tensors of which at least one is in use while an op runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessChain {
    /// What it adds to the bound.
    pub bytes: u64,
    /// The tensors, in the order in which they take over from each other.
    pub tensors: Vec<TensorId>,
}

/// The lower bound that a witness proves.
///
/// # Errors
/// What is wrong with it.
pub fn proved_bound(graph: &Graph, model: MemoryModel, witness: &Witness) -> Result<u64, String> {
    proved_by(graph, &holdings(graph, model, Figure::Peak), witness)
}

/// The lower bound that a witness proves for these holdings.
pub(crate) fn proved_by(graph: &Graph, holdings: &Holdings, witness: &Witness) -> Result<u64, String> {
    match witness {
        Witness::Op(witness) => proved_by_op(graph, holdings, witness),
        Witness::Cuts(witness) => proved_by_cuts(graph, holdings, witness),
    }
}

fn proved_by_op(graph: &Graph, holdings: &Holdings, witness: &OpWitness) -> Result<u64, String> {
    let op = witness.op;
    if op.index() >= graph.ops().len() {
        return Err(format!("it names op {op}, but the graph has only {} ops", graph.ops().len()));
    }
    let (before, after) = (all_before(graph, op), all_after(graph, op));
    let mut reach = Reach::within(graph, MOST_STEPS);
    let mut lent = vec![0_i128; graph.tensors().len()];
    // What the op needs besides its tensors is in use whenever it runs, and what it saves is not.
    let own: i128 = holdings.scratch.iter().filter(|s| s.writers == [op]).map(|s| s.bytes).sum();
    let mut bound = own - holdings.in_place.most_saved(op, &holdings.tensors);
    for chain in &witness.chains {
        let mut memory: Vec<&Holding> = Vec::new();
        for &t in &chain.tensors {
            let holding = holdings.tensors.get(t.index()).and_then(Option::as_ref);
            let holding = holding.ok_or_else(|| format!("tensor {t} has no memory of its own"))?;
            memory.push(holding);
            // In 128 bits: no sum of as many 64-bit numbers as fit a memory overflows, so nothing can slip past the comparison.
            let sum = &mut lent[t.index()];
            *sum += i128::from(chain.bytes);
            if *sum > holding.bytes {
                return Err(format!("it counts more bytes of tensor {t} than it has"));
            }
        }
        let (Some(first), Some(last)) = (memory.first(), memory.last()) else {
            return Err("it has an empty chain".to_owned());
        };
        if !first.writers.is_empty() && !first.writers.iter().any(|w| before[w.index()]) {
            return Err(format!("tensor {} need not have been written when op {op} runs", chain.tensors[0]));
        }
        for (i, pair) in memory.windows(2).enumerate() {
            let follows = pair[1].writers.is_empty()
                || pair[0].readers.iter().any(|&r| pair[1].writers.iter().any(|&w| reach.precedes(w, r)));
            if reach.is_exhausted() {
                return Err(TOO_LONG.to_owned());
            }
            if !follows && !pair[0].kept {
                return Err(format!(
                    "tensor {} need not exist when {} is gone",
                    chain.tensors[i + 1],
                    chain.tensors[i]
                ));
            }
        }
        let wanted = last.kept || last.readers.iter().any(|r| after[r.index()]);
        if !wanted {
            return Err(format!(
                "tensor {} may be gone when op {op} runs",
                chain.tensors[chain.tensors.len() - 1]
            ));
        }
        bound += i128::from(chain.bytes);
    }
    u64::try_from(bound).map_err(|_| "it counts less than the op saves".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{least_peak, small_graph};
    use serenity_ir::{GraphBuilder, Tensor, sketch};
    use serenity_search::Random;

    /// Thousands of witnesses that nobody derived from a flow: whatever is accepted is true.
    #[test]
    fn no_forgery_proves_more_than_the_least_peak() {
        let mut random = Random(7);
        let (mut accepted, mut tight) = (0, 0);
        for _ in 0..400 {
            let graph = small_graph(&mut random, 2..6);
            for model in [MemoryModel::Plain, MemoryModel::Paper] {
                let least = least_peak(&graph, model);
                for _ in 0..60 {
                    let op = OpId(random.below(graph.ops().len() as u64 + 1) as u32);
                    let chains = (0..random.below(4)).map(|_| {
                        let tensor = |random: &mut Random| {
                            TensorId(random.below(graph.tensors().len() as u64 + 1) as u32)
                        };
                        let tensors: Vec<TensorId> =
                            (0..random.below(4)).map(|_| tensor(&mut random)).collect();
                        let size = tensors.first().and_then(|t| graph.tensors().get(t.index()));
                        let bytes = match random.below(6) {
                            0 => u64::MAX - random.below(3),
                            1 => (1 << 63) + random.below(3),
                            2 => random.below(40),
                            _ => size.map_or(0, |tensor| tensor.bytes),
                        };
                        WitnessChain { bytes, tensors }
                    });
                    let witness = Witness::Op(OpWitness { op, chains: chains.collect() });
                    if let Ok(bound) = proved_bound(&graph, model, &witness) {
                        assert!(bound <= least, "{bound} > {least}: {witness:?} {graph:?}");
                        accepted += 1;
                        tight += usize::from(bound == least);
                    }
                }
            }
        }
        assert!(accepted > 1000 && tight > 0, "{accepted} {tight}");
    }

    /// As many chains as a file has room for: memory stays linear, and what takes too long is refused.
    #[test]
    fn a_hundred_thousand_chains_do_not_explode() {
        const OPS: usize = 50_000;
        let mut g = GraphBuilder::new("");
        let mut tensors = vec![g.input(Tensor::sized("", 1))];
        for op in 0..OPS {
            let result = g.op("", "X", &tensors[op..], Tensor::sized("", 1));
            g.output(result);
            tensors.push(result);
        }
        let graph = g.build().unwrap();
        let proved = |pair: &dyn Fn(usize) -> [usize; 2]| {
            let chain = |i| WitnessChain { bytes: 0, tensors: pair(i % OPS).map(|t| tensors[t]).to_vec() };
            let op = OpId(OPS as u32 - 1);
            let witness = Witness::Op(OpWitness { op, chains: (0..100_000).map(chain).collect() });
            proved_bound(&graph, MemoryModel::Plain, &witness)
        };
        assert_eq!(proved(&|i| [i, i + 1]), Ok(0));
        // Who reads the first depends on who writes the next, by all that lies between.
        assert_eq!(proved(&|i| [OPS - 1, i + 1]), Err("checking it takes too long".to_owned()));
    }

    /// 2^63 bytes are more than any tensor has.
    #[test]
    fn a_chain_of_absurd_size_is_refused() {
        let graph = sketch("x:8; y:8 = X x; -> y");
        for bytes in [9, i64::MAX as u64, 1 << 63, u64::MAX] {
            let chains = vec![WitnessChain { bytes, tensors: vec![TensorId(0)] }];
            let witness = Witness::Op(OpWitness { op: OpId(0), chains });
            let proved = proved_bound(&graph, MemoryModel::Plain, &witness);
            assert_eq!(proved, Err("it counts more bytes of tensor 0 than it has".to_owned()));
        }
    }
}
