//! The allocator alone.

use crate::errors::{Failure, named};
use crate::model::{Model, checked_order};
use crate::search;
use crate::wishes::{Patience, RuntimeNames};
use pyo3::prelude::*;
use serenity::arena::{self, Buffer, Overlap, Placement, Planner, Problem, ProblemError};
use serenity::ir::{Graph, OpId};
use serenity::memories::two_memories::{Memory, NoRoom, Traffic, clash, divide as divide_buffers};
use serenity::runtimes::MemoryModelExt;
use serenity::search::CancelFlag;

/// Size, first step, step after the last, fixed offset.
type BufferFields = (u64, i64, i64, Option<u64>);

/// Offsets, height, bound, why it is not proved, seconds.
type Placed = (Vec<u64>, u64, u64, Option<String>, f64);

fn refused(error: ProblemError) -> Failure {
    Failure::request(format!("these buffers cannot be placed: {error}"), "change or leave out what it names")
}

fn solve(
    py: Python<'_>,
    problem: &Problem,
    planner: &str,
    capacity: Option<u64>,
    patience: &Patience,
) -> PyResult<Placement> {
    let (planner, cancel): (Planner, _) = (named(planner)?, CancelFlag::default());
    let limits = patience.limits(&cancel)?.working(patience.effort().placement_alone());
    let options = arena::Options { planner, capacity, limits, progress: None };
    let placed = search::run(py, None, &cancel, |_| arena::place(problem, &options))?;
    check(problem, &placed)?;
    Ok(placed)
}

/// Nothing leaves that the independent checker does not accept.
fn check(problem: &Problem, placement: &Placement) -> Result<(), Failure> {
    let placed: Vec<(usize, u64)> = placement.offsets.iter().copied().enumerate().collect();
    let Some((x, y)) = clash(problem, &placed) else { return Ok(()) };
    let is_fixed = [x, y].iter().any(|&b| problem.buffers()[b].offset.is_some());
    let message = format!("buffers {x} and {y} are in use at once and share bytes");
    Err(if is_fixed {
        Failure::request(message, "an offset that is fixed is in the way: change it, or leave it out")
    } else {
        Failure::bug(message)
    })
}

fn plain(placement: Placement) -> Placed {
    let stopped = placement.proof.stopped().map(|stopped| stopped.to_string());
    let seconds = placement.stats.elapsed.as_secs_f64();
    (placement.offsets, placement.height, placement.bound, stopped, seconds)
}

/// The problem that these buffers are.
fn problem(buffers: &[BufferFields], overlaps: &[(usize, usize)], align: u64) -> Result<Problem, Failure> {
    let mut all = Vec::with_capacity(buffers.len());
    for (index, &(size, lower, upper, offset)) in buffers.iter().enumerate() {
        if upper <= lower {
            return Err(Failure::request(
                format!("buffer {index} is in use from {lower} until before {upper}, which is never"),
                "give an upper that is above lower",
            ));
        }
        all.push(Buffer { offset, ..Buffer::new(size, lower..upper) });
    }
    let overlaps = overlaps.iter().map(|&(writer, over)| Overlap::same_offset(writer, over)).collect();
    let problem = Problem::new(all, align).and_then(|p| p.with_overlaps(overlaps)).map_err(refused)?;
    match problem.misaligned() {
        None => Ok(problem),
        Some((buffer, alignment)) => Err(Failure::request(
            format!("the fixed offset of buffer {buffer} is no multiple of {alignment}"),
            "change it, leave it out, or give another align",
        )),
    }
}

/// Places buffers. `overlaps`: which may be written over which, at the same offset.
#[pyfunction]
pub(crate) fn place(
    py: Python<'_>,
    buffers: Vec<BufferFields>,
    overlaps: Vec<(usize, usize)>,
    align: u64,
    planner: &str,
    capacity: Option<u64>,
    patience: Patience,
) -> PyResult<Placed> {
    let problem = problem(&buffers, &overlaps, align)?;
    Ok(plain(solve(py, &problem, planner, capacity, &patience)?))
}

/// The memory of each buffer and its offset there, the bytes used of each memory, the bytes moved in the second one, the bound on
/// them, and why they are not proved.
type Divided = (Vec<(usize, u64)>, Vec<u64>, u64, u64, Option<String>);

/// Divides buffers, each with the bytes read and written in it, among two memories, so that few bytes are moved in the second.
#[pyfunction]
pub(crate) fn divide(
    py: Python<'_>,
    buffers: Vec<BufferFields>,
    traffic: Vec<(u64, u64)>,
    memories: ((String, u64), (String, u64)),
    align: u64,
    patience: Patience,
) -> PyResult<Divided> {
    let problem = problem(&buffers, &[], align)?;
    if traffic.len() != buffers.len() {
        let message = format!("{} figures of traffic for {} buffers", traffic.len(), buffers.len());
        return Err(Failure::request(message, "give one pair (read, written) for each buffer").into());
    }
    let traffic: Vec<Traffic> = traffic.iter().map(|&(read, written)| Traffic { read, written }).collect();
    let memories = <[_; 2]>::from(memories).map(|(name, capacity)| Memory::new(name, capacity));
    let cancel = CancelFlag::default();
    let limits = patience.limits(&cancel)?.working(patience.effort().placement_alone());
    let no_room = |error: NoRoom| serenity::Error::from(serenity::memories::Error::from(error));
    let work = |_| divide_buffers(&problem, &traffic, memories.clone(), &limits);
    let division = search::run(py, None, &cancel, work)?.map_err(|error| Failure::from(no_room(error)))?;
    if let Some(fault) = division.fault(&problem) {
        return Err(Failure::bug(fault).into());
    }
    let mut places = vec![(0, 0); buffers.len()];
    for (index, filled) in division.memories.iter().enumerate() {
        for &(buffer, offset) in &filled.buffers {
            places[buffer] = (index, offset);
        }
    }
    let used = division.memories.iter().map(|filled| filled.used).collect();
    let stopped = division.proof.stopped().map(|stopped| stopped.to_string());
    Ok((places, used, division.memories[1].traffic.bytes(), division.bound, stopped))
}

/// What is placed for a model: a label, its tensors, when it is in use, its size.
type Content = (String, Vec<u32>, i64, i64, u64);

/// Places the tensors of a model whose ops run in this order, or in their own.
#[pyfunction]
pub(crate) fn place_model(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    order: Option<Vec<u32>>,
    target: RuntimeNames,
    align: Option<u64>,
    planner: &str,
    capacity: Option<u64>,
    patience: Patience,
) -> PyResult<(Vec<Content>, Placed)> {
    let input = &model.get().0;
    let runtime = target.model(input)?;
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let mut orders: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
    if let Some(order) = order {
        orders[0] = checked_order(graphs[0], &order)?;
    }
    let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let no_arena = || {
        Failure::from(serenity::Error::from(serenity::memories::Error::NoArena { graph: input.name.clone() }))
    };
    let arena = runtime.placement_problem(&graphs, &orders).ok_or_else(no_arena)?;
    let arena = match align {
        Some(align) => arena.aligned(align).map_err(refused)?,
        None => arena,
    };
    let placed = solve(py, &arena.problem, planner, capacity, &patience)?;
    let contents = arena.contents.iter().zip(&arena.tensors).zip(arena.problem.buffers());
    let contents = contents.map(|((content, tensors), buffer)| {
        let tensors = tensors.iter().map(|t| t.0).collect();
        (content.label(&graphs), tensors, buffer.lower, buffer.upper, buffer.size)
    });
    Ok((contents.collect(), plain(placed)))
}
