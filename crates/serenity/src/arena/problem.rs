//! From a model and its orders to a placement problem, for any planner.

use super::{Content, Demand, litert, tflm};
use serenity_arena::{Buffer, Overlap, Problem, ProblemError, Sharing, Step};
use serenity_ir::{Graph, Kernels, MemoryModel, OpId, TFLM_ALIGNMENT, TensorId};
use std::collections::BTreeMap;

/// The buffers of a model as a planner takes them, and what lies in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaProblem {
    /// The buffers: sizes as the runtime counts them, and its alignment.
    pub problem: Problem,
    /// What each buffer holds, in the same order.
    pub contents: Vec<Content>,
    /// The tensors in each buffer, of the graph that its content names: those that share memory under the memory model. None for scratch.
    pub tensors: Vec<Vec<TensorId>>,
}

impl ArenaProblem {
    /// The same for another alignment.
    ///
    /// # Errors
    /// If the alignment is 0, or makes the sizes absurd.
    pub fn aligned(self, alignment: u64) -> Result<Self, ProblemError> {
        let problem = Problem::new(self.problem.buffers().to_vec(), alignment)?
            .with_overlaps(self.problem.overlaps().to_vec())?;
        Ok(Self { problem, ..self })
    }
}

/// What is to be placed if each graph runs in its order: the buffers with their lifetimes under `model`, and where a model knows of it (TFLM
/// with a plan) which outputs may be written over which inputs. Steps are those of the runtime; for a model that stands for none, the
/// positions of the ops.
///
/// `None` if sub-graphs call each other without end, or the sizes are absurd. Graphs after the main one count only for TFLM, which runs them
/// in the same arena. LiteRT stops to plan anew after an op whose result has no known size; here everything is placed at once.
///
/// ```
/// use serenity::{arena_problem, load, placement};
/// # fn main() -> Result<(), serenity::Error> {
/// let input = load("zoo:swiftnet-a")?;
/// let graph = input.graph();
/// let arena = arena_problem(&[graph], &[&graph.file_order()], input.default_model).unwrap();
/// let placement = placement::place(&arena.problem, &placement::Options::default());
/// assert_eq!((placement.height, placement.bound), (213_248, 213_248));
/// # Ok(()) }
/// ```
pub fn arena_problem(graphs: &[&Graph], orders: &[&[OpId]], model: MemoryModel) -> Option<ArenaProblem> {
    let (main, order) = (graphs.first()?, orders.first()?);
    match model {
        MemoryModel::Tflm(kernels) => {
            let demands = tflm::Run::new(graphs, orders, kernels)?.demands();
            assemble(demands, TFLM_ALIGNMENT, Vec::new())
        }
        MemoryModel::TflmPlanned(kernels) => for_a_plan(graphs, orders, kernels),
        MemoryModel::Litert => {
            let (demands, hosts) = litert::demands(main, order)?;
            let mut arena = assemble(demands, litert::ALIGNMENT, Vec::new())?;
            let buffers = tensor_buffers(&arena.contents);
            for (tensor, host) in main.tensor_ids().zip(hosts).filter(|(tensor, host)| tensor != host) {
                if let Some(&at) = buffers.get(&(0, host)) {
                    arena.tensors[at].push(tensor);
                }
            }
            Some(arena)
        }
        MemoryModel::Plain | MemoryModel::Paper | MemoryModel::Ort(_) => by_lifetimes(main, order, model),
    }
}

/// For a plan in the model. What no op touches needs none; outputs may lie over inputs.
fn for_a_plan(graphs: &[&Graph], orders: &[&[OpId]], kernels: Kernels) -> Option<ArenaProblem> {
    let run = tflm::Run::new(graphs, orders, kernels)?;
    let demands: Vec<_> = run.demands().into_iter().filter(|demand| demand.buffer.first >= 0).collect();
    let contents: Vec<Content> = demands.iter().map(|demand| demand.content).collect();
    let index = tensor_buffers(&contents);
    let mut sharing = BTreeMap::new();
    for (graph, overlap) in run.overlaps() {
        let ends = index.get(&(graph, overlap.output)).zip(index.get(&(graph, overlap.input)));
        if let (Some((&writer, &over)), Some(how)) = (ends, sharing_of(&overlap)) {
            // Where there are two ways to lie, the one that leaves a choice.
            let known = sharing.entry((writer, over)).or_insert(how);
            if let Sharing::Below { .. } = how {
                *known = how;
            }
        }
    }
    let overlaps = sharing.into_iter().map(|((writer, over), how)| Overlap { writer, over, how });
    assemble(demands, TFLM_ALIGNMENT, overlaps.collect())
}

/// How the two ends of a permission may lie, in the planner's terms; `None` if it has none for it.
fn sharing_of(overlap: &serenity_ir::Overlap) -> Option<Sharing> {
    match overlap {
        serenity_ir::Overlap { exact: false, distance, .. } => Some(Sharing::Below { distance: *distance }),
        serenity_ir::Overlap { exact: true, distance: 0, .. } => Some(Sharing::SameOffset),
        _ => None,
    }
}

/// Which buffer each tensor names, by graph and tensor.
pub(super) fn tensor_buffers(contents: &[Content]) -> BTreeMap<(usize, TensorId), usize> {
    let named = contents.iter().enumerate().filter_map(|(buffer, content)| match *content {
        Content::Tensor { graph, tensor } => Some(((graph, tensor), buffer)),
        Content::Scratch { .. } => None,
    });
    named.collect()
}

fn assemble(demands: Vec<Demand>, alignment: u64, overlaps: Vec<Overlap>) -> Option<ArenaProblem> {
    let contents: Vec<Content> = demands.iter().map(|demand| demand.content).collect();
    let buffers = demands.into_iter().map(|demand| demand.buffer).collect();
    let problem = Problem::new(buffers, alignment).and_then(|p| p.with_overlaps(overlaps)).ok()?;
    let own = |content: &Content| match *content {
        Content::Tensor { tensor, .. } => vec![tensor],
        Content::Scratch { .. } => Vec::new(),
    };
    let tensors = contents.iter().map(own).collect();
    Some(ArenaProblem { problem, contents, tensors })
}

/// For a memory model that stands for no runtime: its buffers, at any byte.
fn by_lifetimes(graph: &Graph, order: &[OpId], model: MemoryModel) -> Option<ArenaProblem> {
    let mut step = vec![0; graph.ops().len()];
    for (position, op) in order.iter().enumerate() {
        step[op.index()] = position as Step;
    }
    let end = order.len().saturating_sub(1) as Step;
    let lifetimes = model.lifetimes(graph);
    let (mut demands, mut tensors) = (Vec::new(), Vec::new());
    for buffer in lifetimes.buffers() {
        let first = buffer.writers.iter().map(|op| step[op.index()]).min();
        let last = buffer.readers.iter().map(|op| step[op.index()]).max();
        let first = first.filter(|_| !buffer.from_start).unwrap_or(0);
        let last = last.filter(|_| !buffer.to_end).unwrap_or(end).max(first);
        let content = match (buffer.tensors.first(), buffer.writers.first()) {
            (Some(&tensor), _) => Content::Tensor { graph: 0, tensor },
            (None, Some(&op)) => Content::Scratch { graph: 0, op },
            (None, None) => continue,
        };
        demands.push(Demand { content, buffer: Buffer::new(buffer.bytes, first, last) });
        tensors.push(buffer.tensors.clone());
    }
    Some(ArenaProblem { tensors, ..assemble(demands, 1, Vec::new())? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime_arena;
    use serenity_arena::{Options, Planner, place};

    /// Every network in its own order, under every memory model.
    #[test]
    fn the_bound_is_the_peak_and_a_runtimes_planner_gets_its_own_arena() {
        for network in ["swiftnet-b", "darts-cell", "randwire-cifar10?nodes=12"] {
            let graph = &serenity_zoo::build(network).unwrap();
            let order = graph.file_order();
            for (name, model) in MemoryModel::all() {
                let arena = arena_problem(&[graph], &[&order], model).unwrap();
                assert_eq!(arena.contents.len(), arena.problem.buffers().len());
                let peak = model.lifetimes(graph).profile(&order).peak();
                let placement = place(&arena.problem, &Options::default());
                if arena.problem.overlaps().is_empty() {
                    let slack = arena.problem.alignment() * arena.contents.len() as u64;
                    assert!((peak..=peak + slack).contains(&placement.bound), "{network} {name}");
                }
                let planner = match model {
                    MemoryModel::Tflm(_) => Planner::Tflm,
                    MemoryModel::Litert => Planner::LiteRt,
                    MemoryModel::Plain
                    | MemoryModel::Paper
                    | MemoryModel::TflmPlanned(_)
                    | MemoryModel::Ort(_) => continue,
                };
                let own = place(&arena.problem, &Options::new(planner));
                let runtime = runtime_arena(&[graph], &[&order], model, None).unwrap();
                assert_eq!(own.height, runtime.bytes, "{network} {name}");
                let offsets: Vec<u64> = runtime.pieces.iter().map(|piece| piece.offset).collect();
                assert_eq!(own.offsets, offsets, "{network} {name}");
            }
        }
    }
}
