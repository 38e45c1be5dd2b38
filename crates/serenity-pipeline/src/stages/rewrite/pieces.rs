//! A floor under all sets of rewrites, from one piece of the network.
//!
//! At a *robust cut* one tensor leads from all ops before to all ops after, and no rewrite touches the op that writes
//! it. So a set of rewrites does to the ops between two cuts what its members there do, whatever the others are; and
//! if no set of these leaves the piece with a bound below what was found, no set of all does. The proof is in the
//! `DESIGN.md` of `serenity-rewrite`.

use super::rewrite_settings;
use crate::stages::order::search;
use crate::stages::problem::{buffers, edges};
use crate::{Input, Options};
use serenity_ir::Operator::{ADD, ADD_N, Add, Sum, WHILE};
use serenity_ir::{Graph, Lifetimes, OpId, Role};
use serenity_rewrite::{Choice, Patch, Settings, apply};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_schedule::{self as scheduling, Buffer, OpIndex, Problem};
use std::collections::BTreeSet;
use std::ops::Range;

/// The choice, proved if every set of rewrites of some piece needs as much as was found.
pub(super) fn settled(input: &Input, candidates: &[Patch], options: &Options, choice: Choice) -> Choice {
    let graph = input.graph();
    let model = if options.plan_arena { options.model.with_plan() } else { options.model };
    // Loops share memory in ways that these bounds know nothing of, and so may a stored plan.
    let is_plain = input.graphs().len() == 1
        && options.given_plan.is_none()
        && model.ort().is_none()
        && !graph.states_sharing()
        && graph.ops().iter().all(|op| op.kind.operator() != WHILE && !op.inputs.is_empty());
    if choice.is_proved() || !is_plain {
        return choice;
    }
    let search = Pieces { graph, candidates, options, model, wanted: choice.after };
    let mut sets = 0;
    let is_settled = pieces(graph, candidates).iter().any(|piece| search.always_needs_it(piece, &mut sets));
    let sets = choice.sets + sets;
    if is_settled {
        Choice { floor: choice.after, stopped: None, sets, ..choice }
    } else {
        Choice { sets, ..choice }
    }
}

/// The ops from one robust cut to the next: the op that writes what they all depend on, and their places in the order
/// of the file.
struct Piece {
    before: Option<OpId>,
    ops: BTreeSet<OpId>,
}

fn pieces(graph: &Graph, candidates: &[Patch]) -> Vec<Piece> {
    let is_touched: BTreeSet<OpId> = candidates.iter().flat_map(Patch::ops).collect();
    let order = graph.file_order();
    let mut place = vec![0; graph.ops().len()];
    for (at, op) in order.iter().enumerate() {
        place[op.index()] = at;
    }
    // By place: how many tensors lead from here or before to what comes later.
    let mut crossing = vec![0_i64; order.len() + 1];
    for tensor in graph.tensor_ids() {
        let last = graph.consumers(tensor).iter().map(|reader| place[reader.index()]).max();
        let last = if graph.is_output(tensor) { Some(order.len()) } else { last };
        let first = graph.producer(tensor).map_or(0, |writer| place[writer.index()]);
        if let Some(last) = last.filter(|&last| last > first) {
            crossing[first] += 1;
            crossing[last] -= 1;
        }
    }
    let mut open = 0;
    let (mut found, mut piece) = (Vec::new(), Piece { before: None, ops: BTreeSet::new() });
    for (at, &id) in order.iter().enumerate() {
        open += crossing[at];
        piece.ops.insert(id);
        let op = graph.op(id);
        let is_robust = op.kind.role() == Role::Compute
            && !is_touched.contains(&id)
            // An addition may be part of a sum that a patch changes.
            && !matches!(op.kind.operator(), ADD | ADD_N | Add | Sum);
        let is_cut = matches!(op.outputs.as_slice(), &[output] if !graph.is_output(output) && !graph.consumers(output).is_empty());
        if open == 1 && is_cut && is_robust {
            let next = Piece { before: Some(id), ops: BTreeSet::new() };
            found.push(std::mem::replace(&mut piece, next));
        }
    }
    found.push(piece);
    found
}

struct Pieces<'a> {
    graph: &'a Graph,
    candidates: &'a [Patch],
    options: &'a Options,
    model: MemoryModel,
    /// What the best set that was found needs.
    wanted: u64,
}

impl Pieces<'_> {
    /// Does the piece need as much as was found, with each set of its rewrites?
    fn always_needs_it(&self, piece: &Piece, sets: &mut usize) -> bool {
        let is_inside = |patch: &&Patch| patch.ops().iter().any(|op| piece.ops.contains(op));
        let inside: Vec<&Patch> = self.candidates.iter().filter(is_inside).collect();
        let most = self.options.effort.sets(piece.ops.len(), 1);
        let count = u32::try_from(inside.len()).ok().and_then(|count| 1_usize.checked_shl(count));
        // Partial results may be added in any order, of which only one would be looked at.
        let Some(count) = count.filter(|&count| count <= most && inside.iter().all(|patch| patch.exact))
        else {
            return false;
        };
        (0..count).all(|bits| {
            *sets += 1;
            let chosen = inside.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
            let set: Vec<Patch> = chosen.map(|(_, &patch)| patch.clone()).collect();
            self.options.limits.interrupted().is_none()
                && self.bound(piece, &set).is_none_or(|bound| bound >= self.wanted)
        })
    }

    /// A lower bound on the piece with these rewrites, for all orders and all plans of the arena; 0 if nothing is known,
    /// `None` if they cannot be applied.
    fn bound(&self, piece: &Piece, set: &[Patch]) -> Option<u64> {
        let settings: Settings = rewrite_settings(self.model, self.options.rewrites);
        let rewritten = apply(self.graph, set, &settings).ok()?;
        // Ops are written in the order of the file, and what is new comes right after what it is made of.
        let at = |wanted: OpId| rewritten.origins.iter().position(|origin| origin.op == Some(wanted));
        let Some(begin) = piece.before.map_or(Some(0), |before| Some(at(before)? + 1)) else {
            return Some(0);
        };
        let is_later = |op: Option<OpId>| op.is_some_and(|op| !piece.ops.contains(&op));
        let behind = rewritten.origins[begin..].iter().position(|origin| is_later(origin.op));
        let ops = begin..behind.map_or(rewritten.origins.len(), |behind| begin + behind);
        let states = self.options.effort.states_of_a_first_set();
        let limits = self.options.limits.working(states);
        let graph = &rewritten.graph;
        let lifetimes = self.model.least_lifetimes(graph);
        let Some(problem) = restricted(graph, &lifetimes, &ops) else { return Some(0) };
        let search = scheduling::Options {
            limits,
            wanted_below: Some(self.wanted),
            progress: None,
            ..search(self.options)
        };
        let bound = scheduling::schedule(&problem, &search).bound;
        let Some(best) = self.model.at_best(graph).filter(|_| bound < self.wanted) else {
            return Some(bound);
        };
        let Some(problem) = restricted(graph, &best.lifetimes, &ops) else { return Some(bound) };
        let inside = best.savings.iter().filter(|(op, _)| ops.contains(&op.index()));
        let savings: Vec<(OpIndex, u64)> =
            inside.map(|&(op, bytes)| (OpIndex((op.index() - ops.start) as u32), bytes)).collect();
        let most_moves = self.options.effort.for_a_draft().moves_with_savings();
        let bounds = (bound, self.wanted);
        let limits = &self.options.limits;
        let found =
            scheduling::with_savings(&problem, &savings, bounds, most_moves, limits, &self.options.memo);
        Some(found.at_least)
    }
}

/// The part of a problem that `ops` see, which all run after the op before them: of each buffer, no more than what is
/// sure to be in use while they run.
fn restricted(graph: &Graph, lifetimes: &Lifetimes, ops: &Range<usize>) -> Option<Problem> {
    if !lifetimes.hand_overs().is_empty() {
        return None;
    }
    let number = |op: OpIndex| ops.contains(&op.index()).then(|| OpIndex((op.index() - ops.start) as u32));
    let before = ops.start.checked_sub(1).map(|before| OpIndex(before as u32));
    let inside = |list: &[OpIndex]| list.iter().filter_map(|&op| number(op)).collect::<Vec<OpIndex>>();
    let restrict = |buffer: Buffer| {
        let from_start = buffer.from_start || before.is_some_and(|before| buffer.writers.contains(&before));
        let writers = inside(&buffer.writers);
        let readers = inside(&buffer.readers);
        let readers = if readers.is_empty() { writers.clone() } else { readers };
        Buffer { from_start, writers, readers, ..buffer }
    };
    let is_seen = |buffer: &Buffer| {
        (buffer.from_start || !buffer.writers.is_empty()) && (buffer.to_end || !buffer.readers.is_empty())
    };
    let buffers: Vec<Buffer> = buffers(lifetimes).into_iter().map(restrict).filter(is_seen).collect();
    let edges = edges(graph).filter_map(|(first, second)| Some((number(first)?, number(second)?)));
    Problem::new(ops.len() as u32, buffers, edges).ok()
}

#[cfg(test)]
mod tests;
