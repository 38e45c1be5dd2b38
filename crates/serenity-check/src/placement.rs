//! Is a plan of the arena safe: does nothing that is still needed get written over?
//!
//! TFLM checks neither overlap nor alignment of a plan that it finds in a model. So this is the last who looks.

use serenity_ir::{ElementType, Graph, Kernels, OpId, Tensor, TensorId, overlaps};
use std::fmt;

/// TFLM's alignment in bytes.
const ALIGNMENT: u64 = 16;

/// Sub-graphs may run sub-graphs, but a plan for more steps than this is not believed.
const MOST_STEPS: u64 = 1 << 24;

/// A tensor of one of a model's graphs, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which graph.
    pub graph: usize,
    /// Which of its tensors.
    pub tensor: TensorId,
    /// Its name.
    pub label: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor {} (`{}`)", self.tensor, self.label)?;
        if self.graph > 0 { write!(f, " of graph {}", self.graph) } else { Ok(()) }
    }
}

/// Something wrong with a plan of the arena.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementFault {
    /// It is not about these graphs.
    #[error("the plan places the tensors of other graphs: {0}")]
    Shape(String),
    /// A tensor without a place.
    #[error("{0} has no place")]
    Missing(Place),
    /// A tensor that begins where none may.
    #[error("{place} begins at {offset}, which is no multiple of {ALIGNMENT}")]
    Unaligned {
        /// Which.
        place: Place,
        /// Where.
        offset: u64,
    },
    /// A tensor that ends outside of the arena.
    #[error("{place} ends at {end}, beyond the arena of {arena} bytes")]
    Outside {
        /// Which.
        place: Place,
        /// Where.
        end: u64,
        /// The size of the arena.
        arena: u64,
    },
    /// Two tensors that are needed at once lie in the same bytes.
    #[error("{0} and {1} are needed at once and share bytes")]
    Clash(Place, Place),
    /// Sub-graphs that run each other without end.
    #[error("the sub-graphs run each other without end")]
    Endless,
}

/// First and last step of every tensor of one graph; `None` for what no op touches.
type Steps = Vec<Option<(u64, u64)>>;

/// First and last step of a tensor, and where it lies.
#[derive(Clone, Copy)]
struct Life {
    graph: usize,
    tensor: TensorId,
    steps: Option<(u64, u64)>,
    begin: u64,
    end: u64,
}

/// Everything that is wrong with a plan: `offsets` by graph and tensor, for these orders, in an arena of so many bytes.
pub fn placement_faults(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: &[Vec<Option<u64>>],
    arena: u64,
) -> Vec<PlacementFault> {
    if let Some(reason) = misfit(graphs, orders, offsets) {
        return vec![PlacementFault::Shape(reason)];
    }
    let Some(steps) = steps(graphs, orders) else { return vec![PlacementFault::Endless] };
    let name = |life: &Life| Place {
        graph: life.graph,
        tensor: life.tensor,
        label: graphs[life.graph].tensor_label(life.tensor),
    };
    let mut faults = Vec::new();
    let mut lives = Vec::new();
    for (graph, g) in graphs.iter().enumerate() {
        for tensor in g.tensor_ids() {
            let bytes = bytes_in_arena(g.tensor(tensor));
            if bytes == 0 {
                continue;
            }
            let mut life = Life { graph, tensor, steps: steps[graph][tensor.index()], begin: 0, end: 0 };
            let Some(offset) = offsets[graph][tensor.index()] else {
                faults.push(PlacementFault::Missing(name(&life)));
                continue;
            };
            (life.begin, life.end) = (offset, offset.saturating_add(bytes));
            if offset % ALIGNMENT != 0 {
                faults.push(PlacementFault::Unaligned { place: name(&life), offset });
            }
            if life.end > arena {
                faults.push(PlacementFault::Outside { place: name(&life), end: life.end, arena });
            }
            lives.push(life);
        }
    }
    // By where they begin, so that only neighbours can share bytes.
    lives.sort_by_key(|life| (life.begin, life.graph, life.tensor));
    for (i, low) in lives.iter().enumerate() {
        for high in lives[i + 1..].iter().take_while(|high| high.begin < low.end) {
            if meet_in_time(low, high) && !may_share(graphs, kernels, low, high) {
                faults.push(PlacementFault::Clash(name(low), name(high)));
            }
        }
    }
    faults
}

/// Why this is no plan for these graphs.
fn misfit(graphs: &[&Graph], orders: &[&[OpId]], offsets: &[Vec<Option<u64>>]) -> Option<String> {
    if graphs.len() != orders.len() || graphs.len() != offsets.len() {
        return Some(format!(
            "{} graphs, {} orders, {} lists of offsets",
            graphs.len(),
            orders.len(),
            offsets.len()
        ));
    }
    let wrong = |(graph, offsets): &(&&Graph, &Vec<Option<u64>>)| graph.tensors().len() != offsets.len();
    let (graph, offsets) = graphs.iter().zip(offsets).find(wrong)?;
    Some(format!("{} tensors, {} offsets", graph.tensors().len(), offsets.len()))
}

fn meet_in_time(a: &Life, b: &Life) -> bool {
    // What no op touches is never needed.
    let (Some(a), Some(b)) = (a.steps, b.steps) else { return false };
    a.0 <= b.1 && b.0 <= a.1
}

/// May the two share bytes, because one op reads one of them for the last time and writes the other? `low` begins no higher than `high`.
fn may_share(graphs: &[&Graph], kernels: Kernels, low: &Life, high: &Life) -> bool {
    let graph = graphs[low.graph];
    let permits = |output: &Life, input: &Life| {
        let (Some(written), Some(read)) = (output.steps, input.steps) else { return false };
        let Some(op) = graph.producer(output.tensor) else { return false };
        // The reader is gone and the writer begins at one and the same step, and the result is not wanted.
        low.graph == high.graph
            && read.1 == written.0
            && !graph.is_output(input.tensor)
            && overlaps(graph, op, kernels).iter().any(|pair| {
                pair.output == output.tensor
                    && pair.input == input.tensor
                    && pair.allows(input.begin, output.begin)
            })
    };
    permits(low, high) || (low.begin == high.begin && permits(high, low))
}

fn bytes_in_arena(tensor: &Tensor) -> u64 {
    let bytes = match (&tensor.dtype, &tensor.shape) {
        (Some(ElementType::Int4), Some(shape)) => shape.iter().product(),
        _ => tensor.bytes,
    };
    bytes.div_ceil(ALIGNMENT) * ALIGNMENT
}

/// When each tensor is needed, on the one time line of all graphs: every op is a step, and every sub-graph is entered with one.
fn steps(graphs: &[&Graph], orders: &[&[OpId]]) -> Option<Vec<Steps>> {
    /// What is still to be done, the next last.
    enum Todo {
        Enter(usize),
        Run(usize, OpId),
        Finish(usize, OpId),
        Leave(usize),
    }
    let mut steps: Vec<Steps> = graphs.iter().map(|g| vec![None; g.tensors().len()]).collect();
    let mut touch = |graph: usize, tensors: &[TensorId], now: u64| {
        for t in tensors {
            let life = &mut steps[graph][t.index()];
            *life = Some(life.map_or((now, now), |(first, last)| (first, last.max(now))));
        }
    };
    let mut now = 0;
    let mut todo = vec![Todo::Enter(0)];
    while let Some(next) = todo.pop() {
        if now > MOST_STEPS || todo.len() as u64 > MOST_STEPS {
            return None;
        }
        match next {
            Todo::Enter(graph) => {
                // The main graph is there at step 0; every other is entered with a step of its own.
                now += u64::from(!todo.is_empty());
                touch(graph, graphs[graph].inputs(), now);
                todo.push(Todo::Leave(graph));
                todo.extend(orders[graph].iter().rev().map(|&op| Todo::Run(graph, op)));
            }
            Todo::Run(graph, id) => {
                now += 1;
                let op = graphs[graph].op(id);
                touch(graph, &op.outputs, now);
                todo.push(Todo::Finish(graph, id));
                let bodies = op.attributes.get("bodies").and_then(|bodies| bodies.as_array());
                let bodies =
                    bodies.into_iter().flatten().filter_map(|body| usize::try_from(body.as_u64()?).ok());
                let bodies: Vec<usize> = bodies.filter(|&body| body < graphs.len()).collect();
                todo.extend(bodies.into_iter().rev().map(Todo::Enter));
            }
            Todo::Finish(graph, id) => {
                let op = graphs[graph].op(id);
                touch(graph, &op.inputs, now);
                touch(graph, &op.outputs, now);
            }
            Todo::Leave(graph) => touch(graph, graphs[graph].outputs(), now),
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::GraphBuilder;

    /// `x` (32 bytes) through `RELU` to `a` (32), through `CONV_2D` to `y` (16).
    fn chain() -> Graph {
        let mut g = GraphBuilder::new("");
        let tensor =
            |name: &str, elements| Tensor::shaped(name, vec![1, elements], ElementType::Int8).unwrap();
        let x = g.input(tensor("x", 32));
        let a = g.op("a", "RELU", &[x], tensor("a", 32));
        let y = g.op("y", "CONV_2D", &[a], tensor("y", 16));
        g.output(y);
        g.build().unwrap()
    }

    fn faults(offsets: [u64; 3], arena: u64) -> Vec<String> {
        let graph = chain();
        let order = graph.file_order();
        let offsets = vec![offsets.map(Some).to_vec()];
        placement_faults(&[&graph], &[&order], Kernels::Any, &offsets, arena)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn in_place_is_allowed_where_the_kernel_allows_it_and_nowhere_else() {
        assert_eq!(faults([0, 32, 0], 64), Vec::<String>::new());
        assert_eq!(faults([0, 0, 32], 48), Vec::<String>::new());
        assert_eq!(
            faults([0, 32, 48], 64),
            ["tensor 1 (`a`) and tensor 2 (`y`) are needed at once and share bytes"]
        );
        assert_eq!(
            faults([0, 16, 48], 64),
            ["tensor 0 (`x`) and tensor 1 (`a`) are needed at once and share bytes"]
        );
    }

    #[test]
    fn places_are_aligned_and_inside_and_complete() {
        assert_eq!(faults([0, 40, 0], 72), ["tensor 1 (`a`) begins at 40, which is no multiple of 16"]);
        assert_eq!(faults([0, 32, 0], 63), ["tensor 1 (`a`) ends at 64, beyond the arena of 63 bytes"]);
        let graph = chain();
        let order = graph.file_order();
        let missing =
            placement_faults(&[&graph], &[&order], Kernels::Any, &[vec![Some(0), None, Some(0)]], 64);
        assert_eq!(missing[0].to_string(), "tensor 1 (`a`) has no place");
        let wrong = placement_faults(&[&graph], &[&order], Kernels::Any, &[vec![]], 64);
        assert_eq!(wrong[0].to_string(), "the plan places the tensors of other graphs: 3 tensors, 0 offsets");
    }
}
