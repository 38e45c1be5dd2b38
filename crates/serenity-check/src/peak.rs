//! The peak of one order, by giving every tensor a birth and a death.

use serenity_ir::{Graph, MemoryModel, OpId, Role, TensorId};

/// When a tensor occupies memory: positions of the order, both ends included. Graph inputs are born at the first.
#[derive(Clone, Copy)]
struct Life {
    bytes: u64,
    birth: usize,
    death: usize,
}

/// The peak of `order`, which must be one that can run, and the first op at which it is reached.
///
/// # Panics
/// If `order` is empty or names an op that does not exist.
pub fn peak(graph: &Graph, model: MemoryModel, order: &[OpId]) -> (u64, OpId) {
    let lives = lives(graph, model, order);
    let mut changes = vec![0_i128; order.len() + 1];
    for life in lives.into_iter().flatten() {
        changes[life.birth] += i128::from(life.bytes);
        changes[life.death + 1] -= i128::from(life.bytes);
    }
    let mut in_use = 0;
    let (mut peak, mut at) = (-1, 0);
    for (position, change) in changes[..order.len()].iter().enumerate() {
        in_use += change;
        if in_use > peak {
            (peak, at) = (in_use, position);
        }
    }
    (u64::try_from(peak).unwrap_or(0), order[at])
}

fn lives(graph: &Graph, model: MemoryModel, order: &[OpId]) -> Vec<Option<Life>> {
    let mut time = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        time[op.index()] = position;
    }
    let end = order.len() - 1;
    let mut lives: Vec<Option<Life>> = graph
        .tensor_ids()
        .map(|t| {
            let wanted = graph.is_output(t);
            let last_read = graph.consumers(t).iter().map(|c| time[c.index()]).max();
            let birth = match graph.producer(t) {
                Some(writer) => time[writer.index()],
                // An input that nobody wants never occupies memory, nor does a tensor that nothing touches.
                None if last_read.is_none() && !wanted => return None,
                None => 0,
            };
            let death = if wanted { end } else { last_read.unwrap_or(birth) };
            Some(Life { bytes: graph.tensor(t).bytes, birth, death })
        })
        .collect();
    if model == MemoryModel::Paper {
        share(graph, order, &mut lives);
    }
    lives
}

/// The paper's sharing: a concatenation occupies nothing, but its pieces live as long as it does; a sum of partial
/// results occupies memory from the first of them on, and they occupy none.
fn share(graph: &Graph, order: &[OpId], lives: &mut [Option<Life>]) {
    // Backwards, so that a view of a view has its death before it hands it on.
    for &id in order.iter().rev() {
        let op = graph.op(id);
        let [result] = op.outputs[..] else { continue };
        let Some(life) = lives[result.index()] else { continue };
        match op.kind.role() {
            Role::Concat if is_view(graph, id) => {
                for piece in &op.inputs {
                    if let Some(piece) = &mut lives[piece.index()] {
                        piece.death = piece.death.max(life.death);
                    }
                }
                lives[result.index()] = None;
            }
            Role::Accumulate if op.inputs.iter().all(|&t| is_private_partial(graph, t, id)) => {
                let partials: Vec<Life> = op.inputs.iter().filter_map(|t| lives[t.index()].take()).collect();
                let birth = partials.iter().map(|p| p.birth).fold(life.birth, usize::min);
                let bytes = partials.iter().map(|p| p.bytes).fold(life.bytes, u64::max);
                lives[result.index()] = Some(Life { bytes, birth, death: life.death });
            }
            _ => {}
        }
    }
}

/// Does this op make a view instead of a copy?
pub(crate) fn is_view(graph: &Graph, op: OpId) -> bool {
    let op = graph.op(op);
    op.kind.role() == Role::Concat && op.outputs.len() == 1 && !op.inputs.is_empty()
}

/// Only such a partial result may be written straight into the sum: one that an ordinary op computes for it alone.
pub(crate) fn is_private_partial(graph: &Graph, t: TensorId, sum: OpId) -> bool {
    let computed = graph.producer(t).is_some_and(|p| graph.op(p).kind.role() == Role::Compute);
    computed && graph.consumers(t) == [sum] && !graph.is_output(t)
}
