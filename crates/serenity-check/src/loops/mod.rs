//! Windows that run as loops: does a looped model compute what the original does, in the arena that a plan gives it?
//!
//! Nothing of the loops is believed. Both models are run on *terms* instead of numbers: the content of a range of bytes
//! is a list of pieces of values, and a value is an input, some numbers, or what an op makes of the rows that it reads.
//! Counters and tables of begins are numbers, so loops run iteration by iteration, as they will. Ops that only move
//! bytes are followed byte by byte, wherever they come from. An op that computes may claim to be a copy of an op of the
//! original; it is then compared with that, kind, options, types and constants, and makes the same term of the same
//! rows. If all outputs hold the same terms in the end, they hold the same numbers for every input: a stripe with too
//! small a halo, a carry that begins wrong or a row that was written over shows as another term.
//!
//! The plan is followed in the same way: the arena is one memory, every op reads what lies there when it runs, and
//! scratch destroys all that TFLM does not take to be needed. Where an op writes over what it reads, the replay of its
//! kernel must allow it; copies onto themselves are no copies (`overlap.rs`).
//!
//! Assumed: an op that computes row by row makes equal rows of equal rows, however high the picture is. That is exact
//! for integers, and for floats as long as the kernel adds up in an order that does not depend on the height, and no
//! weight is infinite or no number.
//!
//! One run takes time in the order of the rows and pieces that are read. Beyond ten million, it is given up.

mod acts;
mod checks;
mod fault;
mod identity;
mod machine;
mod memory;
mod moves;
mod operands;
mod overlap;
mod places;
mod program;
mod rows;
mod tell;
mod terms;
#[cfg(test)]
mod tests;
mod whiles;
pub(crate) mod windows;

pub use fault::{At, LoopFault};

use machine::{Frames, MOST_STEPS, Machine};
use places::Places;
use program::Program;
use serenity_facts::Kernels;
use serenity_ir::{Graph, OpId};
use std::collections::BTreeSet;
use tell::{Difference, Teller};
use terms::{Piece, Terms};

/// The values of a constant, by graph, op and position: asked for where an op's attributes do not give them. A reader
/// of files leaves out long ones.
pub type Numbers<'a> = dyn Fn(usize, OpId, usize) -> Option<Vec<i64>> + 'a;

/// By graph and op: the op of the original's main graph that it is said to be a copy of.
pub type Origins = [Vec<Option<OpId>>];

/// A model that runs.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    /// The main graph first.
    pub graphs: &'a [&'a Graph],
    /// By graph: the order in which its ops run.
    pub orders: &'a [&'a [OpId]],
    /// The values of long constants.
    pub numbers: &'a Numbers<'a>,
}

/// A plan of the arena.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The kernels that will run.
    pub kernels: Kernels,
    /// Where tensors lie, by graph and tensor.
    pub offsets: &'a [Vec<Option<u64>>],
}

/// Everything that keeps `looped` from computing what `original` does, each tensor in memory of its own. Sub-graphs of
/// the original must be in the looped model as they were, with the same numbers.
pub fn equivalence_faults(original: &Model, looped: &Model, origins: &Origins) -> Vec<LoopFault> {
    compare(original, looped, origins, None).unwrap_or_else(|fault| vec![fault])
}

/// Everything that keeps `looped` from computing what `original` does, in an arena with this plan.
pub fn replay_loops(original: &Model, looped: &Model, origins: &Origins, plan: &Plan) -> Vec<LoopFault> {
    compare(original, looped, origins, Some(plan)).unwrap_or_else(|fault| vec![fault])
}

/// Everything that keeps `hopping`, which takes the newest rows of a window in each run, from computing what `original`
/// does with the whole window, in an arena with this plan. What it [carries](Graph::carried) from run to run lies where
/// the plan says, and nothing but the new rows is written between two runs.
///
/// The arena holds garbage before the first run. So what is found at the end of a window holds for every window: it does
/// not matter what the runs before have left.
pub fn replay_hops(original: &Model, hopping: &Model, origins: &Origins, plan: &Plan) -> Vec<LoopFault> {
    let replay = || {
        let frames = frames(original.graphs, hopping.graphs)?;
        let none = |_: usize, _: OpId, _: usize| None;
        let before = Program::of(original.graphs, original.orders, &none, &|_| false)?;
        let after = Program::copied(hopping.graphs, hopping.orders, &before, origins, hopping.numbers)?;
        let mut terms = Terms::default();
        let places = Places::apart(original.graphs)?;
        let (expected, _) = Machine::new(&before, &places, &mut terms, 0, MOST_STEPS).outputs()?;
        let places = Places::planned(hopping.graphs, hopping.orders, plan.kernels, plan.offsets, false)?;
        let machine = Machine::new(&after, &places, &mut terms, 1, MOST_STEPS);
        let (found, _) = machine.outputs_of_hops(&frames)?;
        Ok(wrong_rows(&[&before, &after], &terms, &expected, &found))
    };
    replay().unwrap_or_else(|fault| vec![fault])
}

/// The rows that a run takes of the window of the original. All other inputs are carried.
fn frames(original: &[&Graph], hopping: &[&Graph]) -> Result<Frames, LoopFault> {
    let shape = |reason: &str| LoopFault::Shape(reason.to_owned());
    let (Some(whole), Some(hops)) = (original.first(), hopping.first()) else {
        return Err(shape("no graph"));
    };
    let (&[window], Some(&frames)) = (whole.inputs(), hops.inputs().first()) else {
        return Err(shape("the original must have one input, and the other one at least that"));
    };
    let carried = hops.carried();
    let are_carried = hops.inputs()[1..].iter().all(|&t| carried.iter().any(|&(input, _)| input == t));
    if !are_carried || carried.iter().any(|&(input, _)| input == frames) {
        return Err(shape("an input is neither the new rows nor carried"));
    }
    let rows = |graph: &Graph, t| match (graph.tensor(t).shape.as_deref(), &graph.tensor(t).dtype) {
        (Some(&[1, rows, width, depth]), Some(dtype)) => Some((rows, (width, depth, dtype.clone()))),
        _ => None,
    };
    let (all, new) =
        rows(whole, window).zip(rows(hops, frames)).ok_or_else(|| shape("an input is no image"))?;
    let bytes = [(whole, window), (hops, frames)].map(|(graph, t)| graph.tensor(t).bytes);
    if all.1 != new.1 || new.0 == 0 || bytes[1] == 0 || new.0 > all.0 {
        return Err(shape("the new rows are no rows of the window"));
    }
    let ends = |graph: &Graph| {
        let outputs = graph.outputs().iter().take(whole.outputs().len());
        let describe = |&t: &serenity_ir::TensorId| {
            let tensor = graph.tensor(t);
            (tensor.shape.clone(), tensor.dtype.clone(), tensor.quantization.clone())
        };
        outputs.map(describe).collect::<Vec<_>>()
    };
    if ends(whole) != ends(hops) || whole.tensor(window).quantization != hops.tensor(frames).quantization {
        return Err(shape("it has other inputs or outputs"));
    }
    Ok(Frames { bytes: bytes[0], hop: bytes[1], outputs: whole.outputs().len() })
}

/// Everything that keeps a model from computing in an arena with this plan what it computes with each tensor in memory
/// of its own. How often its loops run must not depend on its input.
pub fn replay_model(model: &Model, plan: &Plan) -> Vec<LoopFault> {
    let replay = || {
        let program = Program::of(model.graphs, model.orders, model.numbers, &|_| false)?;
        let mut terms = Terms::default();
        let places = Places::apart(model.graphs)?;
        let expected = Machine::new(&program, &places, &mut terms, 0, MOST_STEPS).outputs()?;
        in_arena(&[&program], model, plan, expected, &mut terms)
    };
    replay().unwrap_or_else(|fault| vec![fault])
}

fn compare(
    original: &Model,
    looped: &Model,
    origins: &Origins,
    plan: Option<&Plan>,
) -> Result<Vec<LoopFault>, LoopFault> {
    let own_numbers = |graph: usize, op, position| {
        // Ids of the main graph's ops are others in the looped model.
        (graph > 0).then(|| (original.numbers)(graph, op, position))?
    };
    let striped = striped(original.graphs, looped.graphs, origins);
    let before = Program::of(original.graphs, original.orders, &own_numbers, &|op| striped.contains(&op))?;
    let after = Program::copied(looped.graphs, looped.orders, &before, origins, looped.numbers)?;
    check_ends(original.graphs, looped.graphs)?;
    let mut terms = Terms::default();
    let places = Places::apart(original.graphs)?;
    let (expected, _) = Machine::new(&before, &places, &mut terms, 0, MOST_STEPS).outputs()?;
    let programs = [&before, &after];
    let places = Places::apart(looped.graphs)?;
    let (found, steps) = Machine::new(&after, &places, &mut terms, 1, MOST_STEPS).outputs()?;
    let faults = wrong_rows(&programs, &terms, &expected, &found);
    match plan {
        Some(plan) if faults.is_empty() => in_arena(&programs, looped, plan, (expected, steps), &mut terms),
        _ => Ok(faults),
    }
}

/// Ops of the original of which there is a copy that makes something of another size.
fn striped(original: &[&Graph], looped: &[&Graph], origins: &Origins) -> BTreeSet<OpId> {
    let made = |graph: &Graph, op: OpId| -> Vec<u64> {
        graph.op(op).outputs.iter().map(|&t| graph.tensor(t).bytes).collect()
    };
    let mut found = BTreeSet::new();
    for (graph, origins) in looped.iter().zip(origins) {
        for (op, origin) in graph.op_ids().zip(origins) {
            let Some(origin) = *origin else { continue };
            let is_there = original.first().is_some_and(|main| origin.index() < main.ops().len());
            if is_there && made(original[0], origin) != made(graph, op) {
                found.insert(origin);
            }
        }
    }
    found
}

/// Runs the last of the programs in its arena, with either version of `WHILE`. `expected`: what its outputs should
/// hold, and how many steps it takes apart.
fn in_arena(
    programs: &[&Program],
    model: &Model,
    plan: &Plan,
    (expected, steps): (Vec<Vec<Piece>>, u64),
    terms: &mut Terms,
) -> Result<Vec<LoopFault>, LoopFault> {
    // What a run apart takes is enough, but for contents in more pieces: a loop that goes on is one whose counter was
    // written over.
    let most_steps = steps.saturating_mul(4);
    let Some(program) = programs.last() else { return Ok(Vec::new()) };
    for (number, are_outputs_late) in [false, true].into_iter().enumerate() {
        let places =
            Places::planned(model.graphs, model.orders, plan.kernels, plan.offsets, are_outputs_late)?;
        let run = programs.len() + number;
        let (found, _) = Machine::new(program, &places, terms, run, most_steps).outputs()?;
        let faults = wrong_rows(programs, terms, &expected, &found);
        if !faults.is_empty() {
            return Ok(faults);
        }
    }
    Ok(Vec::new())
}

/// What is given and what is wanted must be the same in both models.
fn check_ends(original: &[&Graph], looped: &[&Graph]) -> Result<(), LoopFault> {
    let ends = |graph: &Graph| {
        let describe = |&t: &serenity_ir::TensorId| {
            let tensor = graph.tensor(t);
            (tensor.bytes, tensor.shape.clone(), tensor.dtype.clone(), tensor.quantization.clone())
        };
        let of = |list: &[serenity_ir::TensorId]| list.iter().map(describe).collect::<Vec<_>>();
        (of(graph.inputs()), of(graph.outputs()))
    };
    if ends(original[0]) != ends(looped[0]) {
        return Err(LoopFault::Shape("the looped model has other inputs or outputs".to_owned()));
    }
    match (1..original.len()).find(|&index| looped.get(index) != Some(&original[index])) {
        Some(index) => Err(LoopFault::Shape(format!("graph {index} is not what it was"))),
        None => Ok(()),
    }
}

/// The first row of each output that does not hold what it should.
fn wrong_rows(
    programs: &[&Program],
    terms: &Terms,
    expected: &[Vec<Piece>],
    found: &[Vec<Piece>],
) -> Vec<LoopFault> {
    let Some(main) = programs.first().map(|program| program.graphs[0]) else { return Vec::new() };
    let teller = Teller { terms, programs };
    let mut faults = Vec::new();
    for (&output, (expected, found)) in main.outputs().iter().zip(expected.iter().zip(found)) {
        if expected == found {
            continue;
        }
        let tensor = main.tensor(output);
        let bytes: u64 = expected.iter().map(|piece| piece.bytes).sum();
        let rows = match tensor.shape.as_deref() {
            Some(&[1, rows, _, _]) if rows > 0 && bytes.is_multiple_of(rows) => rows,
            _ => 1,
        };
        let cut = |content: &[Piece], row: u64| {
            terms.cut(content, row * (bytes / rows), (row + 1) * (bytes / rows))
        };
        let row = (0..rows).find(|&row| cut(expected, row) != cut(found, row)).unwrap_or(0);
        let Difference { reader, expected, found } = teller.difference(&cut(expected, row), &cut(found, row));
        let output = main.tensor_label(output);
        faults.push(LoopFault::Row { output, row, reader, expected, found });
    }
    faults
}
