//! A plan: the order of the operators, the other decisions, and what is proved about them.

use crate::{AppliedLoops, AppliedRewrite, FastSession, Need, NoFast, RewriteChoice, StatedPlan};
use serde_json::{Value, json};
use serenity_check::{PlacementFault, Witness, placement_faults};
use serenity_formats::{NarrowedChannels, QuantizedIo};
use serenity_ir::{Graph, OpId, Unknown};
use serenity_runtimes::{MemoryModel, Offsets};
use serenity_schedule::{Algorithm, Stats};
use serenity_search::{Proof, StopReason};

/// The memory that running a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The most activation memory in use at any time.
    pub peak: u64,
    /// The arena that the runtime's own planner makes; `None` if the memory model has no such planner.
    pub arena: Option<u64>,
    /// The number of ops that run.
    pub ops: usize,
}

impl Footprint {
    /// The deciding figure: the arena where it is known, otherwise the peak.
    pub fn needs(&self) -> u64 {
        self.arena.unwrap_or(self.peak)
    }
}

/// The order in which to run a network, its offsets and changes, and what is proved about them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The network's name.
    pub graph: String,
    /// The memory model that all figures are about.
    pub model: MemoryModel,
    /// The algorithm that found the order: `file` if it is the model's own, whatever was tried.
    pub algorithm: Algorithm,
    /// The ops in execution order, by their index in the model.
    pub order: Vec<OpId>,
    /// The order to write into the file, for a runtime that runs files in an order of its own: it then runs `order`.
    pub steering: Option<Vec<OpId>>,
    /// The order of the graphs after the main one, if the model has several.
    pub bodies: Vec<Vec<OpId>>,
    /// The offsets of the tensors of each graph, if they were planned; `None` for tensors that take no room.
    pub offsets: Option<Offsets>,
    /// The change of inputs and outputs to integers, if it was asked for. If any changed, all other fields but `before`
    /// are about the changed model.
    pub int8_io: Option<QuantizedIo>,
    /// The channels that were removed, if any. If so, all other fields but `before` are about the model without them.
    pub constant_channels: Option<NarrowedChannels>,
    /// The rewrites that were made. If there are any, all other fields but `before` are about the rewritten model.
    pub rewrites: Vec<AppliedRewrite>,
    /// How the rewrites were chosen, if there was a choice.
    pub choice: Option<RewriteChoice>,
    /// The loops that windows of operators became. If there are any, all other fields but `before` are about the model
    /// with loops.
    pub loops: Option<AppliedLoops>,
    /// If ONNX Runtime was to optimise the model first: how it did, or why it could not be used and the model was only
    /// ordered. If it did, `before` is a default session of the original model, and all other fields are about the file
    /// to write.
    pub session: Option<Result<FastSession, NoFast>>,
    /// Facts about the model that are not known. If there are any, nothing is proved; where they hide bytes, every
    /// figure is a minimum.
    pub unknown: Vec<Unknown>,
    /// The memory of the model as it came.
    pub before: Footprint,
    /// The memory of the model with this plan.
    pub after: Footprint,
    /// A lower bound on the peak of every order.
    pub bound: u64,
    /// A lower bound on the arena of every order and every placement, if it is higher than the bound on peaks.
    pub arena_bound: Option<u64>,
    /// Whether the bound proves the order and, where tensors are placed, the offsets. For the rewrites, see
    /// [`choice`](Self::choice).
    pub proof: Proof,
    /// Whether the offsets are proved best for this order, if they were planned.
    pub places: Option<Proof>,
    /// The limit or signal that ended the search, if any: another run may then give another plan.
    pub interrupted: Option<StopReason>,
    /// A proof of the bound on peaks that can be checked without a search, if there is one.
    pub witness: Option<Witness>,
    /// The work of the search.
    pub stats: Stats,
}

impl Plan {
    /// Takes the original orders of the model; the bound may then prove something else.
    pub(crate) fn keep_own_order(&mut self, graphs: &[Graph]) {
        let mut orders = graphs.iter().map(Graph::file_order);
        self.take_order(orders.next().unwrap_or_default(), self.before);
        self.bodies = orders.collect();
        self.offsets = None;
        self.places = None;
        self.algorithm = Algorithm::File;
    }

    /// Takes another order of the main graph, which needs `needs`.
    pub(crate) fn take_order(&mut self, order: Vec<OpId>, needs: Footprint) {
        if self.after.peak != needs.peak {
            self.witness = None;
        }
        self.order = order;
        self.after = needs;
        self.settle_proof();
    }

    /// A lower bound on [`Footprint::needs`] of every order.
    pub fn least(&self) -> u64 {
        self.bound.max(self.arena_bound.unwrap_or(0))
    }

    /// Sets the proof: optimal if the need meets the bound and nothing is unknown.
    pub(crate) fn settle_proof(&mut self) {
        if self.meets_bound() && self.unknown.is_empty() {
            self.proof = Proof::Optimal;
        } else if self.proof == Proof::Optimal {
            // The order with the least peak is known, but not the smallest arena that can be made of it.
            self.proof = Proof::Gap { stopped: StopReason::Heuristic };
        }
    }

    /// Does the original order of the model need no more?
    pub(crate) fn is_no_gain(&self) -> bool {
        self.after.needs() >= self.before.needs()
    }

    /// The orders of the main graph and of its sub-graphs.
    pub fn orders(&self) -> Vec<&[OpId]> {
        std::iter::once(&self.order).chain(&self.bodies).map(Vec::as_slice).collect()
    }

    /// The faults that the independent checker finds in the offsets of the tensors; none if they were not planned.
    pub fn placement_faults(&self, graphs: &[Graph]) -> Vec<PlacementFault> {
        let (Some(offsets), Some(arena), Some(kernels)) =
            (&self.offsets, self.after.arena, self.model.kernels())
        else {
            return Vec::new();
        };
        placement_faults(&graphs.iter().collect::<Vec<_>>(), &self.orders(), kernels, offsets, arena)
    }

    /// Is it proved that no combination of rewrites, order and placement needs less? Never if anything is unknown.
    pub fn is_optimal(&self) -> bool {
        self.overall().is_optimal()
    }

    /// The proof for all decisions together.
    pub fn overall(&self) -> Proof {
        let proofs = self.decisions().into_iter().map(|(_, proof, _)| proof);
        match proofs.filter_map(Proof::stopped).max() {
            None => Proof::Optimal,
            // If the search was interrupted, that may be why something is unproved.
            Some(stopped) => Proof::Gap { stopped: self.interrupted.unwrap_or(stopped) },
        }
    }

    /// Every decision, its proof, and its lower bound: the rewrites, if there was a choice; the order for these
    /// rewrites, with any placement; the placement for this order, if there is one. Nothing is proved while anything is
    /// unknown.
    pub fn decisions(&self) -> Vec<(Decision, Proof, u64)> {
        let known = |proof| {
            if self.unknown.is_empty() { proof } else { Proof::Gap { stopped: StopReason::Unknown } }
        };
        let rewrites = self.choice.map(|choice| match self.loops {
            None => (Decision::Rewrites, known(choice.proof()), choice.floor),
            // The rewrites were chosen for the model without loops: with loops, others may need less.
            Some(_) => {
                (Decision::Rewrites, known(Proof::Gap { stopped: StopReason::Heuristic }), self.least())
            }
        });
        let order = (Decision::Order, known(self.proof), self.least());
        let places = self.places.map(|places| {
            // No placement of this order goes below the bound for all orders.
            let proof = known(if self.proof.is_optimal() { Proof::Optimal } else { places });
            let bound = if proof.is_optimal() { self.after.needs() } else { self.least() };
            (Decision::Places, proof, bound)
        });
        rewrites.into_iter().chain([order]).chain(places).collect()
    }

    /// Do other runs with the same options give the same plan? Not if a deadline or a signal ended this one.
    pub fn is_reproducible(&self) -> bool {
        self.interrupted.is_none() && !self.overall().is_by_the_clock()
    }

    /// Does the need meet the bound? With [`unknown`](Self::unknown) ops that keep their positions, this only says that
    /// no order that keeps them there needs less.
    pub fn meets_bound(&self) -> bool {
        self.after.needs() <= self.least()
    }

    /// Does every figure count all memory? If not, the figures are minimums: they prove no budget kept and nothing
    /// saved.
    pub fn counts_everything(&self) -> bool {
        !Unknown::any_hides_bytes(&self.unknown)
    }

    /// Does a plan with this [need](Need::of) fit into `budget` bytes? Not if it may need more than is known.
    pub fn fits(&self, need: Need, budget: u64) -> bool {
        self.counts_everything() && need.to_be_safe() <= budget
    }

    /// Are the rewrites proved to be the best choice? `None` if there was no choice.
    pub fn is_choice_proved(&self) -> Option<bool> {
        self.choice.map(|choice| choice.is_proved() && self.unknown.is_empty())
    }

    /// Why the plan is not proved optimal, for people; `None` if it is.
    pub fn stopped(&self) -> Option<String> {
        let summary = Unknown::summary(&self.unknown);
        summary.or_else(|| self.overall().stopped().map(|stopped| stopped.to_string()))
    }

    /// How far the need may be above the least possible, as a share of the bound; 0 if it is proved optimal.
    pub fn gap(&self) -> f64 {
        let least = self.least();
        if least == 0 { 0.0 } else { (self.after.needs() - least) as f64 / least as f64 }
    }

    /// The order of the ops in the file.
    pub fn file_order(&self) -> &[OpId] {
        self.steering.as_deref().unwrap_or(&self.order)
    }

    /// Does it keep every operator and every channel of the original model? Loops, changed inputs and outputs, and ONNX
    /// Runtime's optimisations do not count.
    pub fn keeps_operators(&self) -> bool {
        self.rewrites.is_empty() && self.constant_channels.is_none()
    }

    /// Does this plan list the ops in an order other than the model's?
    pub fn reorders(&self) -> bool {
        self.file_order().iter().enumerate().any(|(position, op)| op.index() != position)
    }

    /// The plan as a JSON object; `PlanFile` reads it back.
    pub fn to_json(&self) -> Value {
        json!(StatedPlan::of(self))
    }
}

/// One of the things that a plan decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Which rewrites to make.
    Rewrites,
    /// In which order the ops run.
    Order,
    /// Where the tensors lie.
    Places,
}

serenity_search::named! { Decision { "rewrites" => Rewrites, "order" => Order, "places" => Places } }
