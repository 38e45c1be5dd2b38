//! Checking the proof of a lower bound.
//!
//! A witness names an op and chains of tensors. While the op runs, at least one tensor of each chain is in use, whatever the order:
//!
//! 1. the first has been written by then: it is an input, or the op or one before it writes it;
//! 2. if one is gone, all its readers have run, among them one that depends on a writer of the next: so that has been written;
//! 3. the last is not gone: it is a result, or the op or one after it reads it.
//!
//! A tensor lends no more than its size to all chains together. So the bytes of the chains, and the op's own scratch, are a lower bound for every
//! order.

use crate::holdings::{Figure, Holding, Holdings, Reach, holdings};
use serenity_ir::{Graph, MemoryModel, OpId, TensorId};

/// The proof of a lower bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// While this op runs, so much is in use.
    pub op: OpId,
    /// At least one tensor of each is in use then.
    pub chains: Vec<WitnessChain>,
}

/// Tensors of which at least one is in use while the op of a [`Witness`] runs.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The same for a memory that is counted in another way.
pub(crate) fn proved_by(graph: &Graph, holdings: &Holdings, witness: &Witness) -> Result<u64, String> {
    let op = witness.op;
    if op.index() >= graph.ops().len() {
        return Err(format!("it names op {op}, but the graph has only {} ops", graph.ops().len()));
    }
    let mut reach = Reach::new(graph);
    let mut lent = vec![0_i128; graph.tensors().len()];
    // What the op needs besides its tensors is in use whenever it runs, and what it saves is not.
    let own: i128 = holdings.scratch.iter().filter(|s| s.writers == [op]).map(|s| s.bytes).sum();
    let mut bound = own;
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
        if !first.writers.is_empty() && !first.writers.iter().any(|&w| reach.precedes(w, op)) {
            return Err(format!("tensor {} need not have been written when op {op} runs", chain.tensors[0]));
        }
        for (i, pair) in memory.windows(2).enumerate() {
            let follows = pair[1].writers.is_empty()
                || pair[0].readers.iter().any(|&r| pair[1].writers.iter().any(|&w| reach.precedes(w, r)));
            if !follows && !pair[0].kept {
                return Err(format!(
                    "tensor {} need not exist when {} is gone",
                    chain.tensors[i + 1],
                    chain.tensors[i]
                ));
            }
        }
        let wanted = last.kept || last.readers.iter().any(|&r| reach.precedes(op, r));
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
