//! What a plan says of a whole model: all its graphs, the runtime's arena, the places in it.

use crate::arena::litert::stale_reads;
use crate::arena::{self, ort};
use crate::bound::largest_tensor;
use crate::deep::reprove_figure;
use crate::holdings::{Figure, Holdings, holdings};
use crate::nested::{with_bounds, with_peaks};
use crate::order::faults as order_faults;
use crate::peak::peak_of;
use crate::witness::proved_by;
use crate::{
    Fault, PlacementFault, Reproved, Shown, Witness, at, best_shown, peak, placement_faults, reprove,
};
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, Op, OpId, Operator};

/// What a plan says of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelClaim<'a> {
    /// The memory model it speaks of.
    pub model: MemoryModel,
    /// The ops of the main graph in the order in which they run.
    pub order: &'a [OpId],
    /// The order in which they stand in the file, if the runtime makes `order` of that.
    pub file_order: Option<&'a [OpId]>,
    /// The orders of the graphs after the main one.
    pub bodies: &'a [Vec<OpId>],
    /// Where a plan in the model places the tensors, by graph and tensor: a plan of ours, or the one that the model came with.
    pub offsets: Option<Offsets<'a>>,
    /// The most memory in use at any time.
    pub peak: u64,
    /// No order peaks below this.
    pub peak_bound: u64,
    /// The size of the runtime's arena, if it is stated.
    pub arena: Option<u64>,
    /// No order and no plan needs less than this: of the arena if it is stated, otherwise at the peak.
    pub bound: u64,
    /// Is that claimed to be all that is needed?
    pub optimal: bool,
    /// The proof of the bound on peaks, if the plan carries one.
    pub witness: Option<&'a Witness>,
}

/// Places of tensors.
#[derive(Clone, Copy, Debug)]
pub struct Offsets<'a> {
    /// By graph, by tensor.
    pub places: &'a [Vec<Option<u64>>],
    /// Is it the plan that makes them? Those that a model came with are taken as they are.
    pub planned: bool,
}

/// The result of checking a plan of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReport {
    /// Everything found wrong.
    pub faults: Vec<Fault>,
    /// The largest lower bound on peaks that this crate can show.
    pub shown: Shown,
    /// The largest lower bound that this crate can show on the deciding figure: the arena if it is stated, otherwise
    /// the peak.
    pub shown_need: Shown,
    /// Is the stated bound on peaks no more than what is shown?
    pub peak_bound_verified: bool,
    /// Is the stated bound on the deciding figure no more than what is shown?
    pub bound_verified: bool,
}

/// Checks all that a plan says of a model: of its graphs, the main one first.
///
/// # Panics
/// If there is no graph.
pub fn check_model(graphs: &[&Graph], claim: &ModelClaim) -> ModelReport {
    let mut faults = impossible_orders(graphs, claim);
    let bounds = with_bounds(graphs, claim.model, Figure::Peak);
    let mut memory = holdings(&bounds, claim.model, Figure::Peak);
    let shown = if shares_states(graphs, claim) {
        largest_of_main(graphs, claim)
    } else {
        best_shown(&bounds, &memory, claim.witness)
    };
    // Nothing can be said of what cannot run.
    if faults.is_empty() {
        let orders = orders(claim);
        let mut main = bounds;
        if graphs.len() > 1 {
            main = with_peaks(graphs, &orders, claim.model);
            memory = holdings(&main, claim.model, Figure::Peak);
        }
        let (mut actual, op) = peak_of(&memory, claim.order);
        if let Some(in_places) =
            claim.offsets.and_then(|offsets| in_places(graphs, &orders, claim.model, offsets.places))
        {
            actual = in_places;
        }
        if actual != claim.peak {
            faults.push(Fault::Peak { claimed: claim.peak, actual, place: at(&main, op) });
        }
        check_arena(graphs, &orders, claim, &mut faults);
        check_witness(&main, &memory, claim, &mut faults);
    }
    check_bounds(claim, &mut faults);
    let shown_need = match claim.arena {
        Some(_) if shares_states(graphs, claim) => largest_of_main(graphs, claim),
        Some(_) => {
            let model = model_of_bounds(claim);
            let main = with_bounds(graphs, model, Figure::Arena);
            best_shown(&main, &holdings(&main, model, Figure::Arena), claim.witness)
        }
        None => shown.clone(),
    };
    ModelReport {
        peak_bound_verified: claim.peak_bound <= shown.bytes,
        bound_verified: claim.bound <= shown_need.bytes,
        shown,
        shown_need,
        faults,
    }
}

/// Tries to prove the bounds of a claim again, visiting at most `most_states` sets of executed ops for each: that on
/// peaks, and that on what counts, whose [`Reproved::No`] only says that it cannot be shown so.
///
/// # Panics
/// If there is no graph.
pub fn reprove_model(
    graphs: &[&Graph],
    claim: &ModelClaim,
    most_states: u64,
    stop: &dyn Fn() -> bool,
) -> (Reproved, Reproved) {
    let main = with_bounds(graphs, claim.model, Figure::Peak);
    if shares_states(graphs, claim) {
        let shown = largest_of_main(graphs, claim).bytes;
        let of = |bound: u64| {
            if bound <= shown { Reproved::Yes { states: 0 } } else { Reproved::GaveUp { states: 0 } }
        };
        return (of(claim.peak_bound), of(claim.bound));
    }
    let of_peaks = reprove(&main, claim.model, claim.peak_bound, most_states, stop);
    if claim.arena.is_none() {
        return (of_peaks, of_peaks);
    }
    let model = model_of_bounds(claim);
    let main = with_bounds(graphs, model, Figure::Arena);
    (of_peaks, reprove_figure(&main, model, Figure::Arena, claim.bound, most_states, stop))
}

/// The peak of a model whose graphs run in these orders, with the places of a plan in the model, if it has one.
///
/// # Panics
/// If there is no graph, or an order is not one of its graph.
pub fn model_peak(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    model: MemoryModel,
    places: Option<&[Vec<Option<u64>>]>,
) -> u64 {
    places
        .and_then(|places| in_places(graphs, orders, model, places))
        .unwrap_or_else(|| peak(&with_peaks(graphs, orders, model), model, orders[0]).0)
}

/// The peak where a plan may lay tensors that loops hand on, or both ends of what is carried from run to run, into the
/// same bytes: each byte in which something lies counts once. `None` if there is neither, or no plan is followed.
fn in_places(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    model: MemoryModel,
    places: &[Vec<Option<u64>>],
) -> Option<u64> {
    let kernels = model.kernels().filter(|_| hands_on(graphs))?;
    arena::tflm::most_in_use(graphs, orders, kernels, places)
}

/// Do loops hand something on, or does a run hand something to the next?
fn hands_on(graphs: &[&Graph]) -> bool {
    let is_loop = |op: &Op| op.kind.operator() == Operator::WHILE;
    graphs.iter().any(|graph| graph.ops().iter().any(is_loop)) || !graphs[0].carried().is_empty()
}

/// The order in which ONNX Runtime runs a file whose nodes stand in the order `file`; other runtimes follow the file.
///
/// # Panics
/// If it is not an order of the graph.
pub fn ort_order(graph: &Graph, file: &[OpId], model: MemoryModel) -> Vec<OpId> {
    model.ort().map_or_else(|| file.to_vec(), |setup| ort::run(graph, file, setup).order)
}

fn orders<'a>(claim: &ModelClaim<'a>) -> Vec<&'a [OpId]> {
    std::iter::once(claim.order).chain(claim.bodies.iter().map(Vec::as_slice)).collect()
}

/// With a plan in the model an op may write over what it reads last, whoever made the plan.
fn model_of_bounds(claim: &ModelClaim) -> MemoryModel {
    if claim.offsets.is_some() { claim.model.with_plan() } else { claim.model }
}

/// May a plan lay tensors that loops hand on into the same bytes? Then nothing adds up, and all that is sure of an
/// arena is that each tensor fits.
fn shares_states(graphs: &[&Graph], claim: &ModelClaim) -> bool {
    model_of_bounds(claim).is_planned() && hands_on(graphs)
}

fn largest_of_main(graphs: &[&Graph], claim: &ModelClaim) -> Shown {
    largest_tensor(graphs[0], &holdings(graphs[0], model_of_bounds(claim), Figure::Arena))
}

fn impossible_orders(graphs: &[&Graph], claim: &ModelClaim) -> Vec<Fault> {
    let mut faults: Vec<Fault> = order_faults(graphs[0], claim.order).into_iter().map(Fault::Order).collect();
    let (given, wanted) = (claim.bodies.len(), graphs.len() - 1);
    if given != wanted {
        faults.push(Fault::Bodies { given, wanted });
    }
    for (index, (graph, order)) in graphs[1..].iter().zip(claim.bodies).enumerate() {
        let of_body = order_faults(graph, order).into_iter();
        faults.extend(of_body.map(|fault| Fault::BodyOrder { graph: index + 1, fault }));
    }
    if let Some(file) = claim.file_order {
        faults.extend(order_faults(graphs[0], file).into_iter().map(Fault::Order));
    }
    if faults.is_empty() && claim.model == MemoryModel::Litert {
        for (graph, order) in graphs.iter().zip(orders(claim)) {
            // What goes wrong in the model's own order too is not for a plan to mend.
            let known = stale_reads(graph, &graph.file_order());
            let new = stale_reads(graph, order).into_iter().filter(|stale| !known.contains(stale));
            faults.extend(new.map(|(op, t)| Fault::Stale {
                op,
                label: graph.op_label(op),
                tensor: graph.tensor_label(t),
            }));
        }
    }
    faults
}

fn check_arena(graphs: &[&Graph], orders: &[&[OpId]], claim: &ModelClaim, faults: &mut Vec<Fault>) {
    let planned = claim.offsets.filter(|offsets| offsets.planned);
    let Some(claimed) = claim.arena else {
        if planned.is_some() {
            let reason = "but no `arena` for them to lie in".to_owned();
            faults.push(Fault::Offsets { reason });
        }
        return;
    };
    if let (MemoryModel::Ort(setup), file) = (claim.model, claim.file_order.unwrap_or(claim.order)) {
        let runs = ort::run(graphs[0], file, setup).order;
        if let Some(position) = (0..runs.len()).find(|&i| runs[i] != claim.order[i]) {
            let op = runs[position];
            faults.push(Fault::OtherOrder { position, op, label: graphs[0].op_label(op) });
        }
    } else if let Some(file) = claim.file_order
        && file != claim.order
    {
        let position = (0..file.len()).find(|&i| file[i] != claim.order[i]).unwrap_or(0);
        let label = graphs[0].op_label(file[position]);
        faults.push(Fault::OtherOrder { position, op: file[position], label });
    }
    if let Some(offsets) = planned {
        match claim.model.kernels() {
            Some(kernels) => {
                let of_places = placement_faults(graphs, orders, kernels, offsets.places, claimed);
                faults.extend(of_places.into_iter().map(Fault::Placement));
            }
            None => {
                faults.push(Fault::Offsets { reason: format!("but `{}` takes no such plan", claim.model) });
            }
        }
        if faults.iter().any(|fault| matches!(fault, Fault::Placement(PlacementFault::Shape(_)))) {
            return;
        }
    }
    let in_file: Vec<&[OpId]> =
        std::iter::once(claim.file_order.unwrap_or(claim.order)).chain(orders[1..].iter().copied()).collect();
    let places = claim.offsets.map(|offsets| offsets.places);
    match arena::arena(graphs, &in_file, claim.model, places) {
        Some(actual) if actual == claimed => {}
        Some(actual) => faults.push(Fault::Arena { claimed, actual }),
        None if has_arena(claim.model) => faults.push(Fault::EndlessArena { claimed }),
        None => faults.push(Fault::NoArena { claimed, model: claim.model }),
    }
}

fn has_arena(model: MemoryModel) -> bool {
    model.is_runtime()
}

/// A witness is there to prove the bound on peaks.
fn check_witness(main: &Graph, memory: &Holdings, claim: &ModelClaim, faults: &mut Vec<Fault>) {
    let Some(witness) = claim.witness else { return };
    match proved_by(main, memory, witness) {
        Ok(proved) if proved >= claim.peak_bound => {}
        Ok(proved) => {
            let reason = format!("it shows {proved} bytes, not {}", claim.peak_bound);
            faults.push(Fault::Witness { reason });
        }
        Err(reason) => faults.push(Fault::Witness { reason }),
    }
}

/// Do the figures agree with each other?
fn check_bounds(claim: &ModelClaim, faults: &mut Vec<Fault>) {
    let ModelClaim { bound, peak_bound, peak, arena, .. } = *claim;
    if peak_bound > peak {
        faults.push(Fault::BoundAbovePeak { bound: peak_bound, peak });
    }
    if bound < peak_bound {
        let reason = "though whatever is in use at a peak needs room".to_owned();
        faults.push(Fault::Bounds { bound, peak_bound, reason });
    }
    match arena {
        None if bound > peak_bound => {
            let reason = "though no arena is stated that it could speak of".to_owned();
            faults.push(Fault::Bounds { bound, peak_bound, reason });
        }
        Some(arena) if bound > arena => faults.push(Fault::BoundAboveArena { bound, arena }),
        _ => {}
    }
    // Less may be claimed than is true.
    match arena {
        Some(arena) if claim.optimal && bound < arena => {
            faults.push(Fault::ArenaNotProved { bound, arena });
        }
        None if claim.optimal && bound < peak => faults.push(Fault::NotProved { bound, peak }),
        _ => {}
    }
}
