//! What a runtime's own planner makes of an order.
//!
//! A model comes as one graph a sub-graph, the main one first; an op that runs others names them in its attribute `bodies`.

mod litert;
mod planned;
mod problem;
mod tflm;
mod ties;

pub(crate) use planned::{Planned, live_peak, plan_arena};
pub use problem::{ArenaProblem, arena_problem};

use serenity_arena::{Buffer, Options, Planner, Problem, place};
use serenity_ir::{Graph, MemoryModel, OpId, TensorId};

/// What lies in a runtime's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A tensor of one of the model's graphs, and what shares its memory.
    Tensor {
        /// Which graph.
        graph: usize,
        /// Which of its tensors.
        tensor: TensorId,
    },
    /// What an op needs besides its tensors.
    Scratch {
        /// Which graph.
        graph: usize,
        /// Which of its ops.
        op: OpId,
    },
}

impl Content {
    /// What to call it: the name of the tensor, or whose scratch it is; with the number of its graph if that is not the main one.
    ///
    /// # Panics
    /// If it is none of these graphs' own.
    pub fn label(&self, graphs: &[&Graph]) -> String {
        let (graph, label) = match *self {
            Self::Tensor { graph, tensor } => (graph, graphs[graph].tensor_label(tensor)),
            Self::Scratch { graph, op } => (graph, format!("scratch of {}", graphs[graph].op_label(op))),
        };
        if graph == 0 { label } else { format!("{label} of graph {graph}") }
    }
}

/// One piece of a runtime's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it holds.
    pub content: Content,
    /// Its size, as the runtime counts it.
    pub bytes: u64,
    /// Where it begins.
    pub offset: u64,
}

/// A runtime's arena for activations, as its own planner lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// Its size: what TFLM calls the head, the span of LiteRT's arena, the most that ONNX Runtime asks its arena for in a first run.
    pub bytes: u64,
    /// All pieces, in the runtime's order; none for ONNX Runtime, which has no places before it runs.
    pub pieces: Vec<Piece>,
}

/// The time line of one run: who needs how much, from when to when.
struct Demand {
    content: Content,
    buffer: Buffer,
}

/// Offsets that a model's own plan gives its tensors: by graph, by tensor.
pub type Offsets = Vec<Vec<Option<u64>>>;

/// The arena that the runtime behind `model` will use if each graph runs in its order; `None` for a model that stands for no runtime, and for one whose sub-graphs call each other without end.
pub fn runtime_arena(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    model: MemoryModel,
    plan: Option<&Offsets>,
) -> Option<Arena> {
    match model {
        MemoryModel::Tflm(kernels) | MemoryModel::TflmPlanned(kernels) => {
            let mut demands = tflm::Run::new(graphs, orders, kernels)?.demands();
            for demand in &mut demands {
                if let Content::Tensor { graph, tensor } = demand.content {
                    demand.buffer.offset = plan.and_then(|plan| *plan.get(graph)?.get(tensor.index())?);
                }
            }
            tflm_arena(&demands)
        }
        MemoryModel::Litert => litert::arena(graphs.first()?, orders.first()?),
        MemoryModel::Ort(order) => {
            // Its arena grows as it goes: what it is asked for counts, there are no places.
            let bytes = crate::ort::Session::new(graphs.first()?, order).run(orders.first()?).requested;
            Some(Arena { bytes, pieces: Vec::new() })
        }
        MemoryModel::Plain | MemoryModel::Paper => None,
    }
}

/// What TFLM's planner makes of these demands.
fn tflm_arena(demands: &[Demand]) -> Option<Arena> {
    let buffers = demands.iter().map(|demand| demand.buffer).collect();
    let problem = Problem::new(buffers, serenity_ir::TFLM_ALIGNMENT).ok()?;
    let placement = place(&problem, &Options::new(Planner::Tflm));
    let pieces = demands
        .iter()
        .zip(&placement.offsets)
        .map(|(demand, &offset)| Piece { content: demand.content, bytes: demand.buffer.size, offset })
        .collect();
    Some(Arena { bytes: placement.height, pieces })
}

/// The sub-graphs that an op runs.
pub(crate) fn bodies(op: &serenity_ir::Op) -> Vec<usize> {
    let listed = op.attributes.get("bodies").and_then(serde_json::Value::as_array);
    listed.into_iter().flatten().filter_map(|index| usize::try_from(index.as_u64()?).ok()).collect()
}
