//! Three descriptions of each kernel against each other, on random small shapes: the planner's table of distances, the
//! replay, and the kernel played element by element and judged byte by byte.

mod control;
mod copying;
mod elements;
mod graphs;
mod naive;
mod samples;
mod sliding;

use super::{Nearest, Verdict, Whole, replay};
use graphs::OneOp;
use naive::Naive;
use serenity_ir::{Graph, OpId, TensorId};
use serenity_runtimes::{Kernels, Overlap, overlaps};

fn nearest(graph: &Graph, op: OpId, kernels: Kernels, input: TensorId, output: TensorId) -> Nearest {
    super::nearest(graph, &Whole::new(graph, op), kernels, input, output)
}

/// Small numbers by chance, the same on every run.
struct Chance(u64);

impl Chance {
    fn from(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) as i64 % (high - low + 1)
    }

    fn pair(&mut self, low: i64, high: i64) -> [i64; 2] {
        [self.from(low, high), self.from(low, high)]
    }

    fn coin(&mut self) -> bool {
        self.from(0, 1) == 1
    }
}

/// The distance that the table asks for, between the operand and the result at these places among the activations.
fn asked(op: OneOp, kernels: Kernels, input: usize, output: usize) -> Option<i64> {
    let graph = op.graph();
    let (input, output) = (graph.op(OpId(0)).inputs[input], graph.op(OpId(0)).outputs[output]);
    let is_it = |found: &Overlap| {
        (found.input, found.output) == (input, output) && !found.exact && !found.is_backward
    };
    overlaps(&graph, OpId(0), kernels).into_iter().find(is_it).map(|found| found.distance as i64)
}

/// Replays a graph of one op with the input so many bytes above the output, or below it.
fn replayed(graph: &Graph, kernels: Kernels, [input, output]: [TensorId; 2], distance: i64) -> Verdict {
    let above = |distance: i64| u64::try_from(distance).unwrap_or(0);
    replay(graph, OpId(0), kernels, (input, above(distance)), (output, above(-distance)))
}

/// Table and replay must ask for just what the naive kernel shows, or for disjointness if that is as much.
fn assert_tight(op: OneOp, kernels: Kernels, output_bytes: i64, naive: &Naive) {
    assert_tight_between(op, kernels, [0, 0], output_bytes, naive);
}

/// Table and replay must ask for just what the naive kernel shows, for the operand and the result at these places among
/// the activations.
fn assert_tight_between(
    op: OneOp,
    kernels: Kernels,
    [input, output]: [usize; 2],
    output_bytes: i64,
    naive: &Naive,
) {
    let shown = Some(naive.least_distance).filter(|&distance| distance < output_bytes);
    let told = op.to_string();
    assert_eq!(asked(op.clone(), kernels, input, output), shown, "{told}");
    let graph = op.graph();
    let pair = [graph.op(OpId(0)).inputs[input], graph.op(OpId(0)).outputs[output]];
    let found = nearest(&graph, OpId(0), kernels, pair[0], pair[1]).at_least;
    assert_eq!(found.map(|distance| distance as i64), shown, "{told}");
    assert_replayed(&graph, kernels, pair, naive, &told);
}

/// At every distance that tells anything, the replay must say what the naive kernel shows.
fn assert_replayed(graph: &Graph, kernels: Kernels, pair: [TensorId; 2], naive: &Naive, told: &str) {
    let least = naive.least_distance;
    let below = -(graph.tensor(pair[0]).bytes as i64);
    let distances = [least + 16, least + 1, least, least - 1, least - 2, least - 16, least / 2, 3, 1, 0];
    let lower = [-1, -2, -7, -16, below / 2, below + 1, below, below - 3];
    for distance in distances.into_iter().chain(lower) {
        let lost = naive.lost_bytes(distance);
        match replayed(graph, kernels, pair, distance) {
            Verdict::Safe => assert!(lost.is_empty(), "{told} at {distance}: {lost:?}"),
            Verdict::Overwrites { byte, .. } => {
                assert!(lost.contains(&(byte as i64)), "{told} at {distance}: {byte} is not in {lost:?}");
            }
            // What begins below is not looked at where it is not told which part of it is read.
            Verdict::Unknown { kind } => {
                let is_partly_told = ["SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V"].contains(&kind.as_str());
                assert!(distance < 0 && is_partly_told, "{told} at {distance}");
            }
        }
    }
}

/// What the table allows must be safe in the replay, and what the replay allows must be safe in truth; neither need be tight.
fn assert_enough(op: OneOp, kernels: Kernels, naive: &Naive) {
    let distance = asked(op.clone(), kernels, 0, 0);
    let told = op.to_string();
    assert!(distance.is_none_or(|distance| distance >= naive.least_distance), "{told}");
    let (graph, pair) = op.with_ends();
    let found = nearest(&graph, OpId(0), kernels, pair[0], pair[1]).at_least;
    assert_eq!(found.map(|found| found as i64), distance, "{told}");
    for distance in distance.into_iter().chain([naive.least_distance - 1, 2, 1, 0, -1, -5]) {
        if replayed(&graph, kernels, pair, distance) == Verdict::Safe {
            assert!(naive.lost_bytes(distance).is_empty(), "{told} at {distance}");
        }
    }
}
