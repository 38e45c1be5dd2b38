//! The independent checker of plans.
//!
//! Takes the graphs of a model and a [`ModelClaim`] about them: the order of each, the peak, the arena that the runtime
//! will need, the offsets of the tensors, and lower bounds for all orders. Returns a [`ModelReport`] with every fault
//! found. For a model in which windows run as loops, [`loops`] checks that it still computes the same.
//!
//! Guarantees: this crate cannot reach the code that it checks. It depends on two crates of the project, `serenity-ir`
//! and `serenity-facts`, which a test enforces (`tests/independence.rs`). Every plan passes through it before anything
//! is written.
//!
//! | taken from others | source |
//! |---|---|
//! | the graph, its operators, and how an operator's options and operands are read ([`Call`](serenity_ir::Call)) | `serenity-ir` |
//! | names of runtimes and kernel sets | `serenity-facts` |
//! | the scratch that TFLM's kernels ask for | `serenity-facts` |
//! | where LiteRT keeps each tensor, and what its kernels need besides | `serenity-facts` |
//!
//! An error in one of these is not found here: the tests that run the real runtimes find it.
//!
//! | derived here once more | the pipeline's own |
//! |---|---|
//! | whether an order can run | `serenity-ir` |
//! | lifetimes and the [`peak()`]: a birth and a death of every tensor on the time line of the one order | `serenity-runtimes`, and `serenity-schedule` with its sets of executed ops |
//! | who shares whose memory in LiteRT and ONNX Runtime, and in which order ONNX Runtime runs a file | `serenity-runtimes` |
//! | the [`arena()`] that each runtime's planner makes | `serenity-arena`, `serenity-runtimes` |
//! | whether an output may lie over an input: the kernel is [replayed](replay()) | a table of distances in `serenity-runtimes` |
//! | windows of convolutions and pools, and what [`loops`] compute | `Window` of `serenity-ir`, `serenity-loops` |
//! | where the rows of a [stream](check_stream) lie at every step | `serenity-loops` |
//! | lower bounds: from one place, from a [`Witness`], or from a search ([`reprove`]) | `serenity-schedule` |
//!
//! Not checked here, but by the pipeline's own code (`check_plan` of `serenity`, whose verdict says so): the changes
//! made to the model before it was planned (inputs and outputs, channels, rewrites, and how loops are made); the total
//! need on devices; when buffers of two memories are in use. Whether rewritten operators compute the same is checked by
//! neither: `serenity verify` runs both models.
//!
//! ```
//! use serenity_check::{ModelClaim, check_model};
//! use serenity_facts::MemoryModel;
//! use serenity_ir::{GraphBuilder, OpId, Tensor};
//! let mut builder = GraphBuilder::new("tiny");
//! let a = builder.op("a", "X", &[], Tensor::sized("a", 10));
//! let b = builder.op("b", "X", &[a], Tensor::sized("b", 5));
//! builder.output(b);
//! let graph = builder.build().unwrap();
//!
//! let claim = ModelClaim {
//!     model: MemoryModel::Plain,
//!     order: &[OpId(0), OpId(1)],
//!     file_order: None,
//!     bodies: &[],
//!     offsets: None,
//!     peak: 14,
//!     peak_bound: 14,
//!     arena: None,
//!     bound: 14,
//!     optimal: true,
//!     witness: None,
//! };
//! let report = check_model(&[&graph], &claim);
//! assert_eq!(report.faults[0].to_string(), "the peak is 15 bytes (at op 1, `b`), not 14");
//! ```

mod arena;
mod bound;
mod buffers;
mod cuts;
mod deep;
mod holdings;
pub mod loops;
mod model;
mod nested;
mod order;
mod ort;
mod peak;
mod placement;
mod reach;
mod replay;
mod slides;
mod stated;
mod streams;
#[cfg(test)]
mod testing;
mod timeline;
mod witness;

pub use arena::arena;
pub use bound::{Place, Shown};
pub use buffers::{PlacedBuffer, first_clash};
pub use cuts::{CutStep, CutWitness};
pub use deep::{Reproved, reprove};
pub use model::{ModelClaim, ModelReport, Offsets, check_model, model_peak, ort_order, reprove_model};
pub use order::{OrderFault, faults as order_faults};
pub use peak::peak;
pub use placement::{PlacementFault, TensorPlace, placement_faults, placement_faults_with};
pub use replay::{Verdict, replay};
pub use slides::{SlideAct, SlideClaim, SlideLine, SlideRing, SlideStep, check_slide};
pub use streams::{ClaimedLine, ClaimedStep, StreamClaim, StreamFault, check_stream};
pub use witness::{OpWitness, Witness, WitnessChain, proved_bound};

use holdings::Holdings;
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId};

/// Something a plan says that is not so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Fault {
    /// The order cannot run.
    #[error(transparent)]
    Order(#[from] OrderFault),
    /// A loop does not compute what the model did.
    #[error(transparent)]
    Loop(#[from] loops::LoopFault),
    /// The peak is not what is claimed.
    #[error("the peak is {actual} bytes ({place}), not {claimed}")]
    Peak { claimed: u64, actual: u64, place: String },
    /// The orders of a model are not as many as its graphs.
    #[error("`bodies` must hold an order for each of the {wanted} sub-graphs, not {given}")]
    Bodies { given: usize, wanted: usize },
    /// The order of a sub-graph cannot run.
    #[error("in graph {graph}: {fault}")]
    BodyOrder { graph: usize, fault: OrderFault },
    /// LiteRT would read what it has written over.
    #[error("op {op} (`{label}`) would read `{tensor}` after LiteRT has written over it")]
    Stale { op: OpId, label: String, tensor: String },
    /// ONNX Runtime runs the file in another order.
    #[error(
        "ONNX Runtime would not run the file in this order: at position {position} comes op {op} (`{label}`)"
    )]
    OtherOrder { position: usize, op: OpId, label: String },
    /// The arena is not what is claimed.
    #[error("the runtime's arena takes {actual} bytes, not {claimed}")]
    Arena { claimed: u64, actual: u64 },
    /// An arena is claimed for a memory model that has none.
    #[error("the plan states an arena of {claimed} bytes, but `{model}` stands for no runtime with one")]
    NoArena { claimed: u64, model: MemoryModel },
    /// Sub-graphs that run each other without end have no arena.
    #[error("the plan states an arena of {claimed} bytes, but the model does not come to an end")]
    EndlessArena { claimed: u64 },
    /// Offsets without the size of an arena, or for a runtime that takes none.
    #[error("the plan places tensors (`offsets`), {reason}")]
    Offsets { reason: String },
    /// A claimed lower bound is above the arena that the plan reaches.
    #[error("the bound of {bound} bytes is above the arena of {arena} that this plan reaches")]
    BoundAboveArena { bound: u64, arena: u64 },
    /// The plan is called optimal, but its bound does not prove it.
    #[error(
        "the plan is called optimal, but its bound of {bound} bytes leaves a gap below the arena of {arena}"
    )]
    ArenaNotProved { bound: u64, arena: u64 },
    /// The bound on the need is below the bound on peaks, or above it although no arena is stated.
    #[error("the bound of {bound} bytes is not that on peaks, {peak_bound}, {reason}")]
    Bounds { bound: u64, peak_bound: u64, reason: String },
    /// The offsets of the plan are not safe.
    #[error(transparent)]
    Placement(#[from] PlacementFault),
    /// A claimed lower bound is above the peak that the order reaches.
    #[error("the bound of {bound} bytes is above the peak of {peak} that this order reaches")]
    BoundAbovePeak { bound: u64, peak: u64 },
    /// The witness of the bound does not prove it.
    #[error("the proof of the bound does not hold: {reason}")]
    Witness { reason: String },
    /// A claimed lower bound is wrong: some order goes below it.
    #[error("the bound of {bound} bytes is wrong: there is an order that needs less")]
    BoundRefuted { bound: u64 },
    /// The plan is called optimal, but its bound does not prove it.
    #[error(
        "the plan is called optimal, but its bound of {bound} bytes leaves a gap below the peak of {peak}"
    )]
    NotProved { bound: u64, peak: u64 },
}

/// The largest lower bound that one place shows, or the witness.
pub(crate) fn best_shown(graph: &Graph, holdings: &Holdings, witness: Option<&Witness>) -> Shown {
    let shown = bound::shown(graph, holdings);
    match witness.map(|witness| (witness, witness::proved_by(graph, holdings, witness))) {
        Some((witness, Ok(bytes))) if bytes > shown.bytes => {
            let place = match witness {
                Witness::Op(OpWitness { op, chains }) => {
                    Place::Chains { op: *op, label: graph.op_label(*op), chains: chains.len() }
                }
                Witness::Cuts(witness) => Place::Cuts { steps: witness.steps.len() },
            };
            Shown { bytes, place }
        }
        _ => shown,
    }
}

/// Where a peak is reached, in words.
pub(crate) fn at(graph: &Graph, op: Option<OpId>) -> String {
    op.map_or("before any op".to_owned(), |op| format!("at op {op}, `{}`", graph.op_label(op)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holdings::{Figure, holdings};
    use serenity_ir::sketch;

    /// x -> a -> c, x -> b -> c; sizes 1, 10, 20, 5.
    fn diamond() -> Graph {
        sketch("x:1; a:10 = X x; b:20 = X x; c:30 = CONCAT a b; d:5 = X c; -> d")
    }

    /// Checks the claim that a graph in this order has this peak, and that no order is below the bound.
    fn check(graph: &Graph, model: MemoryModel, order: &[u32], peak: u64, bound: u64) -> ModelReport {
        let order: Vec<OpId> = order.iter().copied().map(OpId).collect();
        let claim = ModelClaim {
            model,
            order: &order,
            file_order: None,
            bodies: &[],
            offsets: None,
            peak,
            peak_bound: bound,
            arena: None,
            bound,
            optimal: true,
            witness: None,
        };
        check_model(&[graph], &claim)
    }

    fn faults(order: &[u32], peak: u64, bound: u64) -> Vec<String> {
        let report = check(&diamond(), MemoryModel::Plain, order, peak, bound);
        report.faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_right_plan_passes() {
        assert_eq!(faults(&[0, 1, 2, 3], 60, 60), Vec::<String>::new());
        assert_eq!(faults(&[1, 0, 2, 3], 60, 60), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_named() {
        assert_eq!(faults(&[0, 1, 3], 60, 60), ["op 2 (`c`) is missing from the order"]);
        assert_eq!(faults(&[0, 1, 1, 2, 3], 60, 60), ["op 1 (`b`) runs 2 times"]);
        assert_eq!(faults(&[0, 2, 1, 3], 60, 60), ["op 2 (`c`) reads `b` before op 1 (`b`) has written it"]);
        assert_eq!(faults(&[0, 1, 2, 3], 61, 61), ["the peak is 60 bytes (at op 2, `c`), not 61"]);
        assert_eq!(faults(&[0, 1, 2, 9], 60, 60).len(), 2);
        assert_eq!(
            faults(&[0, 1, 2, 3], 60, 61),
            ["the bound of 61 bytes is above the peak of 60 that this order reaches"]
        );
        assert_eq!(
            faults(&[0, 1, 2, 3], 60, 59),
            ["the plan is called optimal, but its bound of 59 bytes leaves a gap below the peak of 60"]
        );
    }

    #[test]
    fn the_paper_s_views_cost_nothing_and_keep_their_pieces() {
        let graph = diamond();
        assert_eq!(peak(&graph, MemoryModel::Paper, &graph.file_order()), (35, Some(OpId(3))));
        let report = check(&graph, MemoryModel::Paper, &[0, 1, 2, 3], 35, 35);
        assert!(report.faults.is_empty() && report.bound_verified);
        assert_eq!(report.shown.bytes, 35);
        assert_eq!(report.shown.place.to_string(), "op 3 (`d`) alone needs that much");
    }

    #[test]
    fn a_forged_claim_of_optimality_is_not_verified() {
        // Two branches of 10 bytes that shrink to 1: one after the other they need 12, side by side 21.
        let graph = sketch("x:1; a:10 = X x; a2:1 = X a; b:10 = X x; b2:1 = X b; y:1 = X a2 b2; -> y");
        let forged = check(&graph, MemoryModel::Plain, &[0, 2, 1, 3, 4], 21, 21);
        assert!(forged.faults.is_empty() && !forged.bound_verified);
        let true_but_not_obvious = check(&graph, MemoryModel::Plain, &[0, 1, 2, 3, 4], 12, 12);
        assert!(true_but_not_obvious.faults.is_empty() && !true_but_not_obvious.bound_verified);
    }

    #[test]
    fn inputs_and_results_can_be_the_witness() {
        let graph = |input: u64, output: u64| {
            let chain = |at| format!("x{at}:{input}; y{at}:{output} = X x{at}; -> y{at};");
            sketch(&(0..3).map(chain).collect::<String>())
        };
        let witness = |graph: Graph| {
            let holdings = holdings(&graph, MemoryModel::Plain, Figure::Peak);
            let shown = bound::shown(&graph, &holdings);
            (shown.bytes, shown.place)
        };
        assert_eq!(witness(graph(5, 1)), (15, Place::Inputs));
        assert_eq!(witness(graph(1, 5)), (15, Place::Results));
    }
}
