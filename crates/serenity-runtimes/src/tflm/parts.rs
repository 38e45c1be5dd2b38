//! Parts of tensors that are wanted for a shorter time than the whole.
//!
//! Of the line buffer of a loop, which `SLICE` alone reads, each row is wanted until the last slice that has it; rows
//! to spare, which are there so that something can be written to them in every iteration, are not wanted at all. TFLM
//! knows nothing of that and does not look: other tensors of the plan may lie there.

use super::run::Run;
use super::ties::{GraphTensor, view};
use crate::TFLM_ALIGNMENT;
use serenity_arena::{Buffer, Step};
use serenity_ir::OpId;
use std::collections::BTreeSet;

/// Bytes of a tensor, from its first on, that are wanted until a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from: u64,
    pub(super) buffer: Buffer,
}

/// A tensor in parts, the lowest first; a single one if there is more to it than slices in one piece.
pub(super) fn parts(run: &Run, (index, tensor): GraphTensor, whole: Buffer) -> Vec<Part> {
    let graph = run.graphs()[index];
    let alone = || vec![Part { from: 0, buffer: whole }];
    let readers = graph.consumers(tensor);
    if graph.is_output(tensor) || readers.is_empty() {
        return alone();
    }
    let Some(made) = graph.producer(tensor).map(|op| run.last_step(index, op)) else { return alone() };
    let seen = |&op: &OpId| {
        let (at, bytes) = view(graph, op)?;
        Some((at, at.checked_add(bytes)?, run.last_step(index, op)))
    };
    let Some(seen) = readers.iter().map(seen).collect::<Option<Vec<(u64, u64, Step)>>>() else {
        return alone();
    };
    let down = |byte: u64| byte / TFLM_ALIGNMENT * TFLM_ALIGNMENT;
    let ends = seen.iter().flat_map(|&(from, to, _)| {
        [from, to].map(|end| [down(end), end.next_multiple_of(TFLM_ALIGNMENT)]).concat()
    });
    let cuts: BTreeSet<u64> = ends.chain([0, whole.size]).filter(|&cut| cut <= whole.size).collect();
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let mut found: Vec<Part> = Vec::new();
    for cut in cuts.windows(2) {
        let readers = seen.iter().filter(|(from, to, _)| *from < cut[1] && cut[0] < *to);
        // What nobody reads is written all the same.
        let upper = readers.map(|&(.., step)| step).max().unwrap_or(made) + 1;
        match found.last_mut() {
            Some(part) if part.buffer.upper == upper => part.buffer.size += cut[1] - cut[0],
            _ => found.push(Part { from: cut[0], buffer: Buffer { size: cut[1] - cut[0], upper, ..whole } }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernels;
    use crate::tflm::run::Facts;
    use serenity_ir::{TensorId, sketch};

    /// A buffer of 5 rows of `columns` bytes, of which two slices are taken: 4 rows at once, and the two in the middle
    /// of them last.
    fn wanted_until(columns: u64) -> Vec<(u64, u64, Step)> {
        let graph = sketch(&format!(
            "x:int8[1,5,{columns},1]; buffer:int8[1,5,{columns},1] = RELU x; \
             a:int8[1,4,{columns},1] = SLICE buffer [0,0,0,0] [1,4,{columns},1]; \
             b:int8[1,2,{columns},1] = SLICE buffer [0,1,0,0] [1,2,{columns},1]; -> a b"
        ));
        let (facts, order) = (Facts::new(&[&graph], Kernels::Any), graph.file_order());
        let orders = [order.as_slice()];
        let run = Run::new(&facts, &orders).unwrap();
        let whole = Buffer::new((5 * columns).next_multiple_of(TFLM_ALIGNMENT), 1..4);
        let parts = parts(&run, (0, TensorId(1)), whole);
        parts.iter().map(|part| (part.from, part.buffer.size, part.buffer.upper)).collect()
    }

    #[test]
    fn rows_are_wanted_until_the_last_slice_that_has_them() {
        assert_eq!(wanted_until(32), [(0, 32, 3), (32, 64, 4), (96, 32, 3), (128, 32, 2)]);
    }

    #[test]
    fn parts_begin_where_tensors_may() {
        // Rows end at 10, 20 …: what is in a block of 16 with something that is wanted longer stays with it.
        assert_eq!(wanted_until(10), [(0, 32, 4), (32, 16, 3), (48, 16, 2)]);
    }
}
