//! A new order by permuting the vector of operators where it stands.
//!
//! Each of its slots holds the distance forward to one operator's table, so an entry that moves to another slot gets
//! the distance from there. No other byte changes.

use crate::Model;
use crate::flat::{Fault, Table};
use crate::schema::{model as slot, sub_graph};
use std::ops::Range;

/// A file, and where it differs from the old one: the vectors of operators.
type Permuted = (Vec<u8>, Vec<Range<usize>>);

/// The file with its operators in the given order, one list of operator numbers for each sub-graph; `None` if that
/// cannot be done in place: two sub-graphs share their vectors, or an operator's table lies before a slot that is to
/// name it (in a file made to confuse: no table fits between the slots).
pub(crate) fn permuted(model: &Model, orders: &[Vec<usize>]) -> Result<Option<Permuted>, Fault> {
    let mut bytes = model.bytes.clone();
    let mut vectors = Vec::new();
    let root = Table::root(&model.bytes)?;
    for (table, order) in root.tables(slot::SUB_GRAPHS)?.iter().zip(orders) {
        let operators = table?.tables(sub_graph::OPERATORS)?;
        vectors.push(operators.slot(0)..operators.slot(operators.len()));
        let tables: Vec<usize> =
            operators.iter().map(|table| table.map(|table| table.position())).collect::<Result<_, _>>()?;
        for (position, &operator) in order.iter().enumerate() {
            let at = operators.slot(position);
            let distance = tables[operator].checked_sub(at).and_then(|d| u32::try_from(d).ok());
            let (Some(distance), Some(slot)) = (distance, bytes.get_mut(at..at + 4)) else {
                return Ok(None);
            };
            slot.copy_from_slice(&distance.to_le_bytes());
        }
    }
    vectors.sort_unstable_by_key(|vector| vector.start);
    let shared = vectors.windows(2).any(|pair| pair[0].end > pair[1].start);
    Ok((!shared).then_some((bytes, vectors)))
}
