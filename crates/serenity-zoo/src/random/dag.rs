//! Tiny graphs that cover every corner.
//!
//! Property tests compare an algorithm with brute force on thousands of these, so each must be small, and together
//! they must contain whatever a graph is allowed to contain. Sizes come from one of a few palettes a graph, because
//! ties and zeros break other things than arbitrary sizes do.

use super::{MOST_OPS, REFERENCE, SEED, Sketch};
use crate::catalog::Network;
use crate::options::Options;
use crate::rng::Rng;
use crate::{NetworkOption, ZooError};
use serenity_ir::{Graph, TensorId};

/// Any graph at all.
pub(crate) const RANDOM_DAG: Network = Network {
    name: "random-dag",
    summary: "small random graph that covers every corner, for property tests",
    reference: REFERENCE,
    reconstruction: false,
    options: &[
        NetworkOption::integer("ops", "8", (2, MOST_OPS), "number of ops, at most; how many is drawn"),
        SEED,
    ],
    make,
};

/// Where the sizes of a graph come from.
#[derive(Clone, Copy)]
enum Palette {
    Unit,
    SmallOrZero,
    PowersOfTwo,
    Arbitrary,
}

impl Palette {
    const ALL: [Self; 4] = [Self::Unit, Self::SmallOrZero, Self::PowersOfTwo, Self::Arbitrary];

    fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Unit => 1,
            Self::SmallOrZero => rng.below(5),
            Self::PowersOfTwo => 1 << rng.below(8),
            Self::Arbitrary => rng.between(1, 1000),
        }
    }
}

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut sketch = Sketch::new(options);
    let palette = Palette::ALL[sketch.rng.index(Palette::ALL.len())];
    let ops = sketch.rng.between(2, options.integer("ops"));
    // A graph that mostly reads what is recent is long and narrow, one that reads anything is shallow and wide.
    let reach = sketch.rng.between(1, 12) as usize;
    let mut tensors = Vec::new();
    for _ in 0..sketch.rng.below(4) {
        let bytes = palette.draw(&mut sketch.rng);
        tensors.push(sketch.input(bytes));
    }
    let inputs = tensors.len();
    while sketch.ops() < ops {
        let reads = draw_inputs(&mut sketch.rng, &tensors, reach);
        let left = ops - sketch.ops();
        tensors.extend(add_ops(&mut sketch, palette, &reads, left));
    }
    let outputs = draw_outputs(&mut sketch, &tensors, inputs);
    sketch.finish(&outputs)
}

/// None, one or several tensors, sometimes one of them twice.
fn draw_inputs(rng: &mut Rng, tensors: &[TensorId], reach: usize) -> Vec<TensorId> {
    if tensors.is_empty() || rng.one_in(10) {
        return Vec::new();
    }
    let recent = &tensors[tensors.len().saturating_sub(reach)..];
    let mut reads = Vec::new();
    for _ in 0..rng.between(1, 3) {
        let from = if rng.one_in(4) { tensors } else { recent };
        let tensor = from[rng.index(from.len())];
        if !reads.contains(&tensor) || rng.one_in(4) {
            reads.push(tensor);
        }
    }
    reads
}

/// Adds one op or, as far as `left` allows, a few that belong together; returns what others may read.
fn add_ops(sketch: &mut Sketch, palette: Palette, reads: &[TensorId], left: u64) -> Vec<TensorId> {
    let bytes = palette.draw(&mut sketch.rng);
    match sketch.rng.below(16) {
        0 | 1 if !reads.is_empty() => {
            let joined: u64 = reads.iter().map(|&t| sketch.bytes(t)).sum();
            // Concatenations of concatenations would soon outgrow any memory.
            let bytes = if joined < 1_000_000 { joined } else { bytes };
            vec![sketch.sized_op("CONCATENATION", reads, bytes)]
        }
        2 if !reads.is_empty() => vec![sketch.sized_op("ACCUMULATE", reads, bytes)],
        // As a rewritten convolution: partial results that only the accumulation reads.
        3 | 7 if !reads.is_empty() && (reads.len() as u64) < left => {
            let parts: Vec<TensorId> =
                reads.iter().map(|&t| sketch.sized_op("PARTIAL", &[t], bytes)).collect();
            vec![sketch.sized_op("ACCUMULATE", &parts, bytes)]
        }
        4 | 5 => {
            let sizes: Vec<u64> =
                (0..sketch.rng.between(2, 3)).map(|_| palette.draw(&mut sketch.rng)).collect();
            sketch.any_op("COMPUTE", reads, &sizes)
        }
        6 if sketch.rng.one_in(4) => sketch.any_op("COMPUTE", reads, &[]),
        _ => vec![sketch.sized_op("COMPUTE", reads, bytes)],
    }
}

/// Most of what nobody reads, and now and then something else, also a graph input.
fn draw_outputs(sketch: &mut Sketch, tensors: &[TensorId], inputs: usize) -> Vec<TensorId> {
    let mut outputs = Vec::new();
    for (index, &tensor) in tensors.iter().enumerate() {
        let wanted = if index < inputs {
            sketch.rng.one_in(8)
        } else if sketch.is_read(tensor) {
            sketch.rng.one_in(12)
        } else {
            !sketch.rng.one_in(4)
        };
        if wanted {
            outputs.push(tensor);
        }
    }
    outputs
}

#[cfg(test)]
mod tests {
    use crate::build;
    use serenity_ir::{Graph, Role};

    /// How many of a thousand graphs have a property.
    fn count(property: impl Fn(&Graph) -> bool) -> usize {
        (0..1000).filter(|seed| property(&build(&format!("random-dag?ops=8&seed={seed}")).unwrap())).count()
    }

    #[test]
    fn no_graph_is_larger_than_asked_for() {
        assert_eq!(count(|g| (2..=8).contains(&g.ops().len())), 1000);
        assert!(count(|g| g.ops().len() == 8) > 50);
        assert!(count(|g| g.ops().len() == 2) > 50);
    }

    #[test]
    fn every_corner_is_visited() {
        let any_op = |property: fn(&serenity_ir::Op) -> bool| count(|g| g.ops().iter().any(property));
        assert!(any_op(|op| op.outputs.len() > 1) > 100);
        assert!(any_op(|op| op.outputs.is_empty()) > 10);
        assert!(any_op(|op| op.inputs.is_empty()) > 100);
        assert!(any_op(|op| op.kind.role() == Role::Concat) > 100);
        assert!(any_op(|op| op.kind.role() == Role::Accumulate) > 100);
        assert!(any_op(|op| (1..op.inputs.len()).any(|i| op.inputs[..i].contains(&op.inputs[i]))) > 50);
        assert!(count(|g| g.inputs().is_empty()) > 100);
        assert!(count(|g| g.outputs().is_empty()) > 10);
        assert!(count(|g| g.inputs().iter().any(|t| g.outputs().contains(t))) > 50);
        assert!(count(|g| g.inputs().iter().any(|&t| g.consumers(t).is_empty())) > 50);
        assert!(count(|g| g.tensors().iter().any(|t| t.bytes == 0)) > 100);
        assert!(count(|g| g.tensors().iter().all(|t| t.bytes == 1)) > 50);
        let unused =
            |g: &Graph| g.tensor_ids().any(|t| g.consumers(t).is_empty() && !g.outputs().contains(&t));
        assert!(count(unused) > 100);
        let read_and_wanted =
            |g: &Graph| g.outputs().iter().any(|&t| !g.consumers(t).is_empty() && g.producer(t).is_some());
        assert!(count(read_and_wanted) > 50);
    }
}
