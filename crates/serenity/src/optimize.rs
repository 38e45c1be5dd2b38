//! The pipeline.

use crate::{Error, Footprint, Plan, bridge};
use serenity_check::{Claim, Witness, WitnessChain, check};
use serenity_ir::{Graph, Lifetimes, MemoryModel, OpId};
use serenity_schedule::{
    self as scheduling, Algorithm, Limits, Problem, ProgressFn, Proof, Rules, Schedule, StepLimit,
};

/// Everything a caller may choose.
#[derive(Clone, Default)]
pub struct Options {
    /// How the runtime that will run the model spends memory.
    pub model: MemoryModel,
    /// How to find the order.
    pub algorithm: Algorithm,
    /// Adaptive soft budgeting's limit on one search step.
    pub step_limit: StepLimit,
    /// Which rules the exact engine uses.
    pub rules: Rules,
    /// Threads for the exact engine; the answer does not depend on it.
    pub threads: usize,
    /// When to give up proving and take the best so far.
    pub limits: Limits,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

/// Finds the order in which `graph` needs the least memory. Where no order is better than the model's own, the model's own.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn optimize(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let mut plan = unchecked(graph, options);
    if plan.after.peak >= plan.before.peak {
        plan.keep_own_order(graph.file_order());
    }
    verified(graph, plan)
}

/// Orders `graph` with exactly the algorithm asked for, better or worse than the model's own order.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn schedule(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    verified(graph, unchecked(graph, options))
}

fn unchecked(graph: &Graph, options: &Options) -> Plan {
    let lifetimes = options.model.lifetimes(graph);
    let problem = bridge::problem(graph, &lifetimes);
    let found = scheduling::schedule(
        &problem,
        &scheduling::Options {
            algorithm: options.algorithm,
            step_limit: options.step_limit,
            limits: options.limits.clone(),
            progress: options.progress.clone(),
            rules: options.rules.clone(),
            threads: options.threads,
        },
    );
    // Where it ends early there is nothing to prove, and no time to prove it.
    let witness = match found.proof {
        Proof::Optimal => witness(&lifetimes, &problem, &found),
        Proof::Gap { .. } => None,
    };
    let ops = graph.ops().len();
    Plan {
        graph: graph.name().to_owned(),
        model: options.model,
        algorithm: options.algorithm,
        order: found.order.iter().map(|op| OpId(op.0)).collect(),
        before: Footprint { peak: lifetimes.profile(&graph.file_order()).peak(), ops },
        after: Footprint { peak: found.peak, ops },
        bound: found.bound,
        proof: found.proof,
        witness,
        stats: found.stats,
    }
}

/// A proof of the bound in terms of the graph, if one op alone gives it.
fn witness(lifetimes: &Lifetimes, problem: &Problem, found: &Schedule) -> Option<Witness> {
    let proof = scheduling::witness(problem, &bridge::buffers(lifetimes), &found.order, found.bound)?;
    let chain = |chain: &scheduling::Chain| WitnessChain {
        bytes: chain.bytes,
        tensors: chain.buffers.iter().map(|&b| lifetimes.buffers()[b].tensors[0]).collect(),
    };
    Some(Witness { op: OpId(proof.op.0), chains: proof.chains.iter().map(chain).collect() })
}

/// Nothing leaves this crate that the independent checker does not accept.
fn verified(graph: &Graph, plan: Plan) -> Result<Plan, Error> {
    let claim = Claim {
        model: plan.model,
        order: &plan.order,
        peak: plan.after.peak,
        bound: plan.bound,
        optimal: plan.is_optimal(),
        witness: plan.witness.as_ref(),
    };
    let report = check(graph, &claim);
    if report.is_valid() {
        Ok(plan)
    } else {
        Err(Error::CheckFailed { graph: plan.graph, faults: report.faults })
    }
}
