//! TFLM with an arena plan in the model: outputs may be written over inputs that die with them.
//!
//! Let an op read `x` for the last time and write `y`, which may begin `d` bytes below it or more. Then the two span
//! `max(|y|, d + |x|)` bytes while it runs, and not `|x| + |y|`: so many bytes as that saves are handed over from `x` to `y`. Handed over bytes
//! are one buffer that both live in, the rest of `x` goes with the op and the rest of `y` comes with it. The sum over all buffers is then
//! what the op really needs, before, during and after.
//!
//! Only tensors that one op alone reads are handed over here. Where several read a tensor, the order decides who is the last: that
//! is for whoever knows the order (placement does).

use super::storage::Storage;
use super::tflm::tflm_bytes;
use crate::{BufferId, Graph, Kernels, Lifetimes, OpId, Overlap, TFLM_ALIGNMENT, TensorId, overlaps};

/// Bytes that an op saves by writing its output over a dying input: together they take so much less than side by side.
pub fn bytes_handed_over(graph: &Graph, overlap: &Overlap) -> u64 {
    let (x, y) = (tflm_bytes(graph.tensor(overlap.input)), tflm_bytes(graph.tensor(overlap.output)));
    let distance = overlap.distance.next_multiple_of(TFLM_ALIGNMENT);
    (x + y).saturating_sub(y.max(x.saturating_add(distance)))
}

/// The overlap that saves most for each output of `op`, among inputs that `may_go` says die with it. No input is written over twice.
pub fn best_overlaps(
    graph: &Graph,
    op: OpId,
    kernels: Kernels,
    may_go: impl Fn(TensorId) -> bool,
) -> Vec<(Overlap, u64)> {
    let mut candidates: Vec<(Overlap, u64)> = overlaps(graph, op, kernels)
        .into_iter()
        .filter(|overlap| may_go(overlap.input))
        .map(|overlap| (overlap, bytes_handed_over(graph, &overlap)))
        .filter(|&(_, bytes)| bytes > 0)
        .collect();
    candidates.sort_by_key(|&(overlap, bytes)| (std::cmp::Reverse(bytes), overlap.output, overlap.input));
    let mut chosen: Vec<(Overlap, u64)> = Vec::new();
    for (overlap, bytes) in candidates {
        let is_new = |c: &(Overlap, u64)| c.0.output != overlap.output && c.0.input != overlap.input;
        if chosen.iter().all(is_new) {
            chosen.push((overlap, bytes));
        }
    }
    chosen
}

/// Lifetimes that no order and no plan can beat: as [`MemoryModel::TflmPlanned`](crate::MemoryModel::TflmPlanned), but where several ops read
/// a tensor, what each of them could save as the last is never counted at all.
///
/// Their least peak is a lower bound for the arena. Take an op that saves `m` bytes in some order: there its output costs `m` less while it
/// runs, here as long as it lives, and everything else costs the same.
pub fn planned_bound(graph: &Graph, kernels: Kernels) -> Lifetimes {
    let mut storage = Storage::with_scratch(graph, kernels);
    for op in graph.file_order() {
        for (overlap, bytes) in best_overlaps(graph, op, kernels, |t| !graph.is_output(t)) {
            if graph.consumers(overlap.input) == [op] {
                storage.hand_over(overlap.input, overlap.output, bytes);
            } else {
                storage.bytes[overlap.output.index()] -= bytes;
            }
        }
    }
    storage.into_lifetimes(graph)
}

impl Storage {
    /// TFLM's with a plan: as without, but what dies is handed over.
    pub(super) fn with_hand_over(graph: &Graph, kernels: Kernels) -> Self {
        let mut storage = Self::with_scratch(graph, kernels);
        for op in graph.file_order() {
            let is_private = |t: TensorId| graph.consumers(t) == [op] && !graph.is_output(t);
            for (overlap, bytes) in best_overlaps(graph, op, kernels, is_private) {
                storage.hand_over(overlap.input, overlap.output, bytes);
            }
        }
        storage
    }

    /// Lets `y` live in so many bytes of `x`.
    fn hand_over(&mut self, x: TensorId, y: TensorId, bytes: u64) {
        let mut left = bytes;
        for part in self.of[x.index()].clone() {
            if left == 0 {
                break;
            }
            let kept = self.bytes[part.index()].saturating_sub(left);
            if kept > 0 {
                self.split(part, kept);
            }
            left -= self.bytes[part.index()];
            self.of[y.index()].push(part);
        }
        self.bytes[y.index()] -= bytes;
    }

    /// Takes so many bytes out of a buffer, into a new one that the same tensors live in.
    fn split(&mut self, part: BufferId, bytes: u64) {
        let new = BufferId::from_index(self.bytes.len());
        self.bytes.push(bytes);
        self.bytes[part.index()] -= bytes;
        for parts in self.of.iter_mut().filter(|parts| parts.contains(&part)) {
            parts.push(new);
        }
    }
}
