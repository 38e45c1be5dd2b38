//! The graphs of a model, made ready to run.

use super::acts::{Act, is_of_lines};
use super::fault::{At, LoopFault};
use super::identity::{Identity, Sample, difference_by_rows, difference_of_all, is_only_moved};
use super::operands::{Operand, Who, operands};
use super::{Numbers, Origins};
use serenity_ir::{Graph, OpId};

/// Graphs, main first, and what is known of their ops.
pub(super) struct Program<'a> {
    pub(super) graphs: &'a [&'a Graph],
    pub(super) orders: &'a [&'a [OpId]],
    pub(super) ops: Vec<Vec<Prepared>>,
}

/// An op that is ready to run.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) identity: Identity,
    pub(super) operands: Vec<Operand>,
    pub(super) act: Act,
    /// Are its columns taken for rows?
    is_line: bool,
}

impl<'a> Program<'a> {
    /// A model as it is: every op is itself. `is_striped`: which ops of the main graph are to be compared with copies
    /// that run on stripes. Only those are followed by columns if they are one row high: a line may be long, and as one
    /// row it is followed in one step.
    pub(super) fn of(
        graphs: &'a [&'a Graph],
        orders: &'a [&'a [OpId]],
        numbers: &Numbers,
        is_striped: &dyn Fn(OpId) -> bool,
    ) -> Result<Self, LoopFault> {
        fits(graphs, orders)?;
        let mut ops = Vec::new();
        for (index, graph) in graphs.iter().enumerate() {
            let prepare = |op: OpId| {
                let is_line = index == 0 && is_striped(op) && is_of_lines(graph, graph.op(op));
                let who = Who { identity: Identity::Old { graph: index, op }, original: None, is_line };
                prepared(graphs, index, op, &who, &|position| numbers(index, op, position))
            };
            ops.push(graph.op_ids().map(prepare).collect());
        }
        Ok(Self { graphs, orders, ops })
    }

    /// A model of which ops are copies of ops of another one's main graph, as `origins` says. What it says is not believed.
    pub(super) fn copied(
        graphs: &'a [&'a Graph],
        orders: &'a [&'a [OpId]],
        original: &Program,
        origins: &Origins,
        numbers: &Numbers,
    ) -> Result<Self, LoopFault> {
        fits(graphs, orders)?;
        let mut ops = Vec::new();
        for (index, graph) in graphs.iter().enumerate() {
            let is_as_it_was = index > 0 && original.graphs.get(index) == Some(graph);
            let prepare = |op: OpId| {
                let numbers = |position: usize| numbers(index, op, position);
                let origin = origins.get(index).and_then(|of_graph| *of_graph.get(op.index())?);
                match origin {
                    Some(origin) => copied(graphs, index, op, original, origin, &numbers),
                    None if is_as_it_was => Ok(original.ops[index][op.index()].clone()),
                    None => {
                        let identity = Identity::New { graph: index, op };
                        let is_line = is_of_lines(graph, graph.op(op));
                        let who = Who { identity, original: None, is_line };
                        Ok(prepared(graphs, index, op, &who, &numbers))
                    }
                }
            };
            ops.push(graph.op_ids().map(prepare).collect::<Result<_, _>>()?);
        }
        Ok(Self { graphs, orders, ops })
    }

    /// An op by name.
    pub(super) fn at(&self, graph: usize, op: OpId, iteration: Option<u64>) -> At {
        at(self.graphs, graph, op, iteration)
    }
}

fn at(graphs: &[&Graph], graph: usize, op: OpId, iteration: Option<u64>) -> At {
    At { graph, op, label: graphs[graph].op_label(op), iteration }
}

fn prepared(
    graphs: &[&Graph],
    index: usize,
    op: OpId,
    who: &Who,
    numbers: &dyn Fn(usize) -> Option<Vec<i64>>,
) -> Prepared {
    let graph = graphs[index];
    let operands = operands(graph.op(op), who, numbers);
    let act = Act::of(graph, op, &operands, graphs.len(), who.is_line);
    Prepared { identity: who.identity, operands, act, is_line: who.is_line }
}

fn copied(
    graphs: &[&Graph],
    index: usize,
    op: OpId,
    original: &Program,
    origin: OpId,
    numbers: &dyn Fn(usize) -> Option<Vec<i64>>,
) -> Result<Prepared, LoopFault> {
    let other = |reason: String| LoopFault::OtherOp { at: at(graphs, index, op, None), origin, reason };
    let Some(theirs) = original.ops[0].get(origin.index()) else {
        return Err(other("there is no such op".to_owned()));
    };
    let old = Identity::Old { graph: 0, op: origin };
    let new = Identity::New { graph: index, op };
    let main = original.graphs[0];
    // A stripe of one row is no line.
    let who = Who { identity: new, original: Some((main.op(origin), old)), is_line: theirs.is_line };
    // What is not described in full belongs to the original, which is known by its name.
    let own = |position: usize| graphs[index].op(op).constant(position).and_then(|_| numbers(position));
    let numbers_of_moves: &dyn Fn(usize) -> Option<Vec<i64>> =
        if is_only_moved(&theirs.act) { &own } else { &|_| None };
    let mut ours = prepared(graphs, index, op, &who, numbers_of_moves);
    if ours.operands.len() != theirs.operands.len() {
        return Err(other("it has other operands".to_owned()));
    }
    let original = Sample { graph: main, op: main.op(origin), prepared: theirs };
    let copy = Sample { graph: graphs[index], op: graphs[index].op(op), prepared: &ours };
    let difference = match (&theirs.act, &ours.act) {
        (Act::Window(_) | Act::Rows(_), Act::Window(_) | Act::Rows(_)) => difference_by_rows(original, copy),
        _ => difference_of_all(original, copy),
    };
    match difference {
        None => ours.identity = old,
        // Which bytes move where is seen when they do.
        Some(_) if is_only_moved(&ours.act) => {}
        Some(reason) => return Err(other(reason)),
    }
    Ok(ours)
}

/// Is there one order for each graph, and can it run?
fn fits(graphs: &[&Graph], orders: &[&[OpId]]) -> Result<(), LoopFault> {
    if graphs.is_empty() || graphs.len() != orders.len() {
        let reason = format!("{} graphs, {} orders", graphs.len(), orders.len());
        return Err(LoopFault::Shape(reason));
    }
    for (index, (graph, order)) in graphs.iter().zip(orders).enumerate() {
        if let Some(fault) = crate::order::faults(graph, order).first() {
            return Err(LoopFault::Shape(format!("the order of graph {index} cannot run: {fault}")));
        }
    }
    Ok(())
}
