//! TFLM with an arena plan in the model: outputs may be written over inputs that die with them.
//!
//! Let an op read `x` for the last time and write `y`, which may begin `d` bytes below it or more. Then the two span
//! `max(|y|, d + |x|)` bytes while it runs, and not `|x| + |y|`: so many bytes as that saves are handed over from `x`
//! to `y`. Handed over bytes are one buffer that both live in, the rest of `x` goes with the op and the rest of `y`
//! comes with it. The sum over all buffers is then what the op really needs, before, during and after. An op that goes
//! from back to front lets `y` begin above `x`, and it is the same.
//!
//! Only tensors that a single op reads are handed over here. Where several ops read a tensor, the order decides which
//! is the last, which only placement knows.

use super::{tflm_bytes, with_scratch};
use crate::{AtBest, Kernels, Overlap, TFLM_ALIGNMENT, overlaps};
use serenity_ir::{BufferId, Graph, Lifetimes, OpId, Storage, TensorId};
use std::collections::BTreeMap;

/// Bytes of a dying input that an output takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandOver {
    /// The tensor that dies.
    pub(super) input: TensorId,
    /// The tensor that is written over it.
    pub(super) output: TensorId,
    /// How many bytes they may share at most.
    pub(super) bytes: u64,
}

/// The most that the outputs of `op` may take over from inputs that die with it, as `dies` says. An output takes no
/// more than it needs from all its inputs together, an input gives no more than it has.
fn hand_overs(graph: &Graph, op: OpId, kernels: Kernels, dies: impl Fn(TensorId) -> bool) -> Vec<HandOver> {
    hand_overs_among(graph, &overlaps(graph, op, kernels), dies)
}

/// The most that outputs may take over from inputs that die with an op, if the overlaps that the op permits are known.
pub(super) fn hand_overs_among(
    graph: &Graph,
    permitted: &[Overlap],
    dies: impl Fn(TensorId) -> bool,
) -> Vec<HandOver> {
    let mut most: Vec<HandOver> = permitted
        .iter()
        .filter(|overlap| dies(overlap.input))
        .map(|overlap| HandOver {
            input: overlap.input,
            output: overlap.output,
            bytes: most_shared(graph, overlap),
        })
        .filter(|hand_over| hand_over.bytes > 0)
        .collect();
    most.sort_by_key(|h| (std::cmp::Reverse(h.bytes), h.output, h.input));
    let mut taken: Vec<HandOver> = Vec::new();
    for candidate in most {
        let HandOver { input, output, bytes } = candidate;
        if taken.iter().any(|h| h.input == input && h.output == output) {
            continue;
        }
        let used = |of: &dyn Fn(&&HandOver) -> bool| taken.iter().filter(of).map(|h| h.bytes).sum::<u64>();
        let wanted = tflm_bytes(graph.tensor(output)) - used(&|h| h.output == output);
        let left = tflm_bytes(graph.tensor(input)) - used(&|h| h.input == input);
        let bytes = bytes.min(wanted).min(left);
        if bytes > 0 {
            taken.push(HandOver { bytes, ..candidate });
        }
    }
    taken
}

/// The most bytes that two tensors can share under this permission, at offsets that TFLM takes.
fn most_shared(graph: &Graph, overlap: &Overlap) -> u64 {
    if overlap.exact && !overlap.distance.is_multiple_of(TFLM_ALIGNMENT) {
        return 0;
    }
    let [x, y] = [overlap.input, overlap.output].map(|tensor| tflm_bytes(graph.tensor(tensor)));
    overlap.most_shared(x, y, TFLM_ALIGNMENT)
}

/// Lifetimes that no order and no plan can beat: as [`MemoryModel::TflmPlanned`](crate::MemoryModel::TflmPlanned), but
/// where several ops read a tensor, each of them saves what it could save as the last.
///
/// Their least peak is a lower bound for the arena. Take an op that could save `m` bytes as the last reader. If it is
/// the last, its output costs `m` bytes less while it runs. Here `m` bytes of the output are not counted then, whether
/// it is the last or not, and only from the first reader of the output on; all else costs the same.
pub(super) fn planned_least_lifetimes(graph: &Graph, kernels: Kernels) -> Lifetimes {
    let mut shared = Shared::new(graph, kernels);
    shared.hand_over_at_most(graph, kernels, |shared, _, late| shared.count_late(late.output, late.bytes));
    shared.storage.into_lifetimes(graph)
}

/// Closer lifetimes that no order and no plan can beat: what each op could save as the last of several readers, it
/// saves only while it runs.
pub(super) fn planned_at_best(graph: &Graph, kernels: Kernels) -> AtBest {
    let mut shared = Shared::new(graph, kernels);
    let mut savings = BTreeMap::new();
    shared.hand_over_at_most(graph, kernels, |_, op, late| *savings.entry(op).or_insert(0) += late.bytes);
    AtBest { lifetimes: shared.storage.into_lifetimes(graph), savings: savings.into_iter().collect() }
}

/// The storage of TFLM with a plan: tensors with a single reader are handed over to its output.
pub(super) fn with_hand_over(graph: &Graph, kernels: Kernels) -> Storage {
    let mut shared = Shared::new(graph, kernels);
    for op in graph.file_order() {
        let is_private = |t: TensorId| graph.consumers(t) == [op] && !graph.is_output(t);
        let mut given = Vec::new();
        for hand_over in hand_overs(graph, op, kernels, is_private) {
            shared.hand_over(hand_over, &mut given);
        }
    }
    shared.storage
}

/// Storage in which tensors take over from each other, and the tensors in each buffer: without the latter, long chains
/// would take too long.
struct Shared {
    storage: Storage,
    tenants: Vec<Vec<TensorId>>,
}

impl Shared {
    fn new(graph: &Graph, kernels: Kernels) -> Self {
        let storage = with_scratch(graph, kernels);
        let mut tenants = vec![Vec::new(); storage.bytes.len()];
        for (tensor, parts) in storage.of.iter().enumerate() {
            for part in parts {
                tenants[part.index()].push(TensorId::from_index(tensor));
            }
        }
        Self { storage, tenants }
    }

    /// A new buffer of so many bytes.
    fn add(&mut self, bytes: u64) -> BufferId {
        self.storage.bytes.push(bytes);
        self.tenants.push(Vec::new());
        BufferId::from_index(self.storage.bytes.len() - 1)
    }

    fn let_in(&mut self, tensor: TensorId, part: BufferId) {
        self.storage.of[tensor.index()].push(part);
        self.tenants[part.index()].push(tensor);
    }

    /// Lets the output live in bytes of the input, but not in those that the same op has `given` to other outputs.
    fn hand_over(&mut self, HandOver { input, output, bytes }: HandOver, given: &mut Vec<BufferId>) {
        let mut left = bytes;
        for part in self.storage.of[input.index()].clone() {
            if left == 0 {
                break;
            }
            // Nothing is left of a buffer whose tensor lives in others altogether.
            if self.storage.bytes[part.index()] == 0 || given.contains(&part) {
                continue;
            }
            let kept = self.storage.bytes[part.index()].saturating_sub(left);
            if kept > 0 {
                self.split(part, kept);
            }
            left -= self.storage.bytes[part.index()];
            self.let_in(output, part);
            given.push(part);
        }
        self.storage.bytes[output.index()] -= bytes;
    }

    /// Hands over what one op alone reads, and asks `late` what becomes of what several read.
    fn hand_over_at_most(
        &mut self,
        graph: &Graph,
        kernels: Kernels,
        mut late: impl FnMut(&mut Self, OpId, HandOver),
    ) {
        for op in graph.file_order() {
            let mut given = Vec::new();
            for hand_over in hand_overs(graph, op, kernels, |t| !graph.is_output(t)) {
                if graph.consumers(hand_over.input) == [op] {
                    self.hand_over(hand_over, &mut given);
                } else {
                    late(self, op, hand_over);
                }
            }
        }
    }

    /// Does not count so many bytes of a tensor while it is written.
    fn count_late(&mut self, tensor: TensorId, bytes: u64) {
        let new = self.add(bytes);
        self.storage.bytes[tensor.index()] -= bytes;
        self.let_in(tensor, new);
        self.storage.late.insert(new, tensor);
    }

    /// Takes so many bytes out of a buffer, into a new one that the same tensors live in.
    fn split(&mut self, part: BufferId, bytes: u64) {
        let new = self.add(bytes);
        self.storage.bytes[part.index()] -= bytes;
        for tensor in self.tenants[part.index()].clone() {
            self.let_in(tensor, new);
        }
        if let Some(&tensor) = self.storage.late.get(&part) {
            self.storage.late.insert(new, tensor);
        }
    }
}
