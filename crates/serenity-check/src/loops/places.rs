//! Where tensors lie: each in memory of its own, or all in one arena by a plan.

use super::fault::LoopFault;
use super::overlap::Range;
use crate::arena::tflm::bytes_unpacked;
use crate::timeline::Timeline;
use serenity_facts::Kernels;
use serenity_ir::{Graph, OpId, TensorId};

/// Beyond this no arena reaches, and sums stay within 64 bits.
const MOST_BYTES: u64 = 1 << 62;

/// Bytes in which nothing lies: from, to.
type Gaps = Vec<(u64, u64)>;

/// Places of all tensors, by graph.
pub(super) struct Places {
    ranges: Vec<Vec<Range>>,
    plan: Option<Rules>,
}

/// What goes on in a common arena.
struct Rules {
    kernels: Kernels,
    /// By graph and op: where scratch may lie while it runs.
    gaps: Vec<Vec<Gaps>>,
    are_outputs_late: bool,
}

impl Places {
    /// Nothing shares bytes.
    pub(super) fn apart(graphs: &[&Graph]) -> Result<Self, LoopFault> {
        let mut end = 0_u64;
        let mut place = |bytes: u64| {
            let begin = end;
            end = end.checked_add(bytes).filter(|&end| end <= MOST_BYTES)?;
            Some(Range { begin, bytes })
        };
        let ranges =
            graphs.iter().map(|graph| graph.tensors().iter().map(|t| place(bytes_unpacked(t))).collect());
        let ranges: Option<Vec<Vec<Range>>> = ranges.collect();
        let too_large = || LoopFault::Shape("its tensors are larger than any memory".to_owned());
        Ok(Self { ranges: ranges.ok_or_else(too_large)?, plan: None })
    }

    /// As a plan says. `are_outputs_late`: which of both versions of `WHILE` runs.
    pub(super) fn planned(
        graphs: &[&Graph],
        orders: &[&[OpId]],
        kernels: Kernels,
        offsets: &[Vec<Option<u64>>],
        are_outputs_late: bool,
    ) -> Result<Self, LoopFault> {
        let shape = |reason: String| LoopFault::Shape(reason);
        if graphs.len() != offsets.len() {
            return Err(shape(format!("{} graphs, {} lists of offsets", graphs.len(), offsets.len())));
        }
        let mut ranges = Vec::new();
        for (graph, offsets) in graphs.iter().zip(offsets) {
            if graph.tensors().len() != offsets.len() {
                return Err(shape(format!("{} tensors, {} offsets", graph.tensors().len(), offsets.len())));
            }
            let place = |tensor: TensorId| {
                let bytes = bytes_unpacked(graph.tensor(tensor));
                let begin = if bytes == 0 { Some(0) } else { offsets[tensor.index()] };
                let is_inside = |begin: &u64| begin.checked_add(bytes).is_some_and(|end| end <= MOST_BYTES);
                let begin = begin.filter(is_inside);
                let nowhere =
                    || shape(format!("tensor {tensor} (`{}`) has no place", graph.tensor_label(tensor)));
                Ok(Range { begin: begin.ok_or_else(nowhere)?, bytes })
            };
            ranges.push(graph.tensor_ids().map(place).collect::<Result<Vec<Range>, LoopFault>>()?);
        }
        let Some(line) = Timeline::of(graphs, orders) else {
            return Err(shape("the sub-graphs run each other without end".to_owned()));
        };
        let gaps = gaps(&line, &ranges);
        Ok(Self { ranges, plan: Some(Rules { kernels, gaps, are_outputs_late }) })
    }

    pub(super) fn range(&self, graph: usize, tensor: TensorId) -> Range {
        self.ranges[graph][tensor.index()]
    }

    /// The kernels whose rules hold where tensors share bytes; `None` if they do not.
    pub(super) fn kernels(&self) -> Option<Kernels> {
        self.plan.as_ref().map(|plan| plan.kernels)
    }

    pub(super) fn gaps(&self, graph: usize, op: OpId) -> &[(u64, u64)] {
        self.plan.as_ref().map_or(&[], |plan| &plan.gaps[graph][op.index()])
    }

    pub(super) fn are_outputs_late(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.are_outputs_late)
    }
}

/// TFLM places the scratch of an op around the tensors that it takes to be needed while the op runs: nothing else is safe there.
fn gaps(line: &Timeline, ranges: &[Vec<Range>]) -> Vec<Vec<Gaps>> {
    let mut tensors = Vec::new();
    for (ranges, spans) in ranges.iter().zip(&line.tensors) {
        tensors.extend(ranges.iter().zip(spans).filter_map(|(range, span)| Some((*range, (*span)?))));
    }
    tensors.sort_unstable_by_key(|(range, _)| range.begin);
    let top = tensors.iter().map(|(range, _)| range.begin + range.bytes).max().unwrap_or(0);
    let of_op = |span: &Option<(u64, u64)>| {
        let Some((first, last)) = *span else { return Vec::new() };
        let mut gaps = Vec::new();
        let mut end = 0;
        for (range, (born, dead)) in &tensors {
            if *born <= last && first <= *dead {
                if range.begin > end {
                    gaps.push((end, range.begin));
                }
                end = end.max(range.begin + range.bytes);
            }
        }
        gaps.extend((end < top).then_some((end, top)));
        gaps
    };
    line.ops.iter().map(|ops| ops.iter().map(of_op).collect()).collect()
}
