//! The result: an order with its proof.

use serde_json::{Value, json};
use serenity_check::{Witness, WitnessChain};
use serenity_ir::{MemoryModel, OpId};
use serenity_schedule::{Algorithm, Proof, Stats};

/// What running a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The most activation memory in use at any time.
    pub peak: u64,
    /// How many ops run.
    pub ops: usize,
}

/// In which order to run a network, and what is proved about it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The network's name.
    pub graph: String,
    /// The memory model all figures speak of.
    pub model: MemoryModel,
    /// What found the order: `file` if it is the model's own, whatever was tried.
    pub algorithm: Algorithm,
    /// The ops in execution order, by their position in the model.
    pub order: Vec<OpId>,
    /// In the order the model came with.
    pub before: Footprint,
    /// In the order of this plan.
    pub after: Footprint,
    /// No order peaks below this.
    pub bound: u64,
    /// Whether that settles it.
    pub proof: Proof,
    /// A proof of the bound that can be checked without a search, if there is one.
    pub witness: Option<Witness>,
    /// What the search took.
    pub stats: Stats,
}

impl Plan {
    /// Takes the order the model came with, of which the bound may now say something else.
    pub(crate) fn keep_own_order(&mut self, order: Vec<OpId>) {
        self.order = order;
        self.after = self.before;
        self.algorithm = Algorithm::File;
        if self.after.peak == self.bound {
            self.proof = Proof::Optimal;
        }
    }

    /// Is it proved that no order needs less?
    pub fn is_optimal(&self) -> bool {
        self.proof == Proof::Optimal
    }

    /// How far the peak may be above the least possible, as a share of the bound; 0 if it is proved optimal.
    pub fn gap(&self) -> f64 {
        if self.bound == 0 { 0.0 } else { (self.after.peak - self.bound) as f64 / self.bound as f64 }
    }

    /// Does this plan run the ops in another order than the model?
    pub fn reorders(&self) -> bool {
        self.order.iter().enumerate().any(|(position, op)| op.index() != position)
    }

    /// The plan as a JSON object; [`PlanFile`](crate::PlanFile) reads it back.
    pub fn to_json(&self) -> Value {
        let order: Vec<u32> = self.order.iter().map(|op| op.0).collect();
        let stopped = match self.proof {
            Proof::Optimal => Value::Null,
            Proof::Gap { stopped } => stopped.to_string().into(),
        };
        json!({
            "graph": self.graph,
            "runtime": self.model.to_string(),
            "algorithm": self.algorithm.to_string(),
            "ops": self.after.ops,
            "peak": self.after.peak,
            "bound": self.bound,
            "proof": if self.is_optimal() { "optimal" } else { "gap" },
            "stopped": stopped,
            "states": self.stats.states,
            "pieces": self.stats.pieces,
            "seconds": self.stats.elapsed.as_secs_f64(),
            "order": order,
            "witness": self.witness.as_ref().map(witness_to_json),
        })
    }
}

fn witness_to_json(witness: &Witness) -> Value {
    let chain = |chain: &WitnessChain| {
        let tensors: Vec<u32> = chain.tensors.iter().map(|t| t.0).collect();
        json!({"bytes": chain.bytes, "tensors": tensors})
    };
    json!({"op": witness.op.0, "chains": witness.chains.iter().map(chain).collect::<Vec<_>>()})
}
