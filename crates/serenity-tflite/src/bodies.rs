//! Operators that run sub-graphs.

use crate::Error;
use crate::budget::Budget;
use crate::error::At;
use crate::flat::{Fault, Table};
use crate::operator::{FileOperator, Options};
use crate::sub_graph::SubGraph;

/// Where the options of one type keep the numbers of sub-graphs.
enum BodySlots {
    /// One number in each of these fields.
    Fields(&'static [usize]),
    /// A vector of numbers.
    Vector(usize),
}

/// By the number of the options' type, in the first union and in the second.
const FIRST: &[(u8, BodySlots)] = &[
    (16, BodySlots::Fields(&[0])),    // CallOptions
    (92, BodySlots::Fields(&[0, 1])), // IfOptions
    (93, BodySlots::Fields(&[0, 1])), // WhileOptions
    (103, BodySlots::Fields(&[0])),   // CallOnceOptions
];
const SECOND: &[(u8, BodySlots)] = &[
    (5, BodySlots::Vector(4)),        // StablehloCustomCallOptions
    (6, BodySlots::Fields(&[1])),     // StablehloReduceOptions
    (7, BodySlots::Fields(&[6])),     // StablehloScatterOptions
    (13, BodySlots::Fields(&[5])),    // StablehloReduceWindowOptions
    (14, BodySlots::Fields(&[2])),    // StablehloSortOptions
    (15, BodySlots::Fields(&[0, 1])), // StablehloWhileOptions
    (21, BodySlots::Fields(&[1])),    // StableHLOCompositeOptions
    (23, BodySlots::Vector(0)),       // StablehloCaseOptions
];

/// Finds out which sub-graphs each operator runs. No sub-graph may run itself, not even by way of others: the runtimes
/// would never end.
pub(crate) fn resolve(sub_graphs: &mut [SubGraph], bytes: &[u8], budget: &mut Budget) -> Result<(), Error> {
    let count = sub_graphs.len();
    for (index, sub_graph) in sub_graphs.iter_mut().enumerate() {
        for (number, operator) in sub_graph.operators.iter_mut().enumerate() {
            let place = || format!("sub-graph {index}, operator {number}, options");
            let bodies = numbers(operator, bytes).at(place)?;
            budget.take(64 * bodies.len(), place)?;
            for body in bodies {
                let Some(body) = usize::try_from(body).ok().filter(|&body| body < count) else {
                    let (what, index) = ("sub-graph", i64::from(body));
                    return Err(Error::Reference { place: place(), what, index, count });
                };
                operator.bodies.push(body);
            }
        }
    }
    refuse_recursion(sub_graphs)
}

fn numbers(operator: &FileOperator, bytes: &[u8]) -> Result<Vec<i32>, Fault> {
    let (kind, table, places) = match operator.options(bytes)? {
        Options::None => return Ok(Vec::new()),
        Options::First(kind, table) => (kind, table, FIRST),
        Options::Second(kind, table) => (kind, table, SECOND),
    };
    let read = |table: &Table, place: &BodySlots| match place {
        BodySlots::Fields(slots) => slots.iter().map(|&slot| table.number(slot, 0)).collect(),
        BodySlots::Vector(slot) => Ok(table.numbers(*slot)?.collect()),
    };
    places.iter().find(|(known, _)| *known == kind).map_or(Ok(Vec::new()), |(_, place)| read(&table, place))
}

/// Sub-graphs, each after all that it runs.
pub(crate) fn innermost_first(sub_graphs: &[SubGraph]) -> Vec<usize> {
    let mut callers = vec![Vec::new(); sub_graphs.len()];
    let mut waits_for = vec![0; sub_graphs.len()];
    for (index, sub_graph) in sub_graphs.iter().enumerate() {
        for &body in sub_graph.operators.iter().flat_map(|operator| &operator.bodies) {
            callers[body].push(index);
            waits_for[index] += 1;
        }
    }
    let mut order: Vec<usize> = (0..sub_graphs.len()).filter(|&index| waits_for[index] == 0).collect();
    let mut next = 0;
    while let Some(&done) = order.get(next) {
        next += 1;
        for &caller in &callers[done] {
            waits_for[caller] -= 1;
            if waits_for[caller] == 0 {
                order.push(caller);
            }
        }
    }
    order
}

fn refuse_recursion(sub_graphs: &[SubGraph]) -> Result<(), Error> {
    let mut ends = vec![false; sub_graphs.len()];
    for index in innermost_first(sub_graphs) {
        ends[index] = true;
    }
    match ends.iter().position(|&ends| !ends) {
        None => Ok(()),
        Some(index) => Err(Error::Invalid {
            place: format!("sub-graph {index}"),
            problem: "it runs itself, or a sub-graph that does".to_owned(),
        }),
    }
}
