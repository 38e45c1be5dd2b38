//! Who depends on whom, transitively.

use serenity_ir::{Graph, OpId};

/// Answers one question after another, in memory that is linear in the graph.
pub(crate) struct Reach<'a> {
    graph: &'a Graph,
    /// By op, its place in an order that can run: whoever comes before another has a lower one.
    place: Vec<u32>,
    /// By op, the last question that has come across it.
    seen_by: Vec<u32>,
    question: u32,
    /// How many inputs of ops may still be looked at.
    left: u64,
}

impl<'a> Reach<'a> {
    /// One that answers no more once it has looked at so many inputs of ops.
    pub(crate) fn within(graph: &'a Graph, steps: u64) -> Self {
        let mut place = vec![0; graph.ops().len()];
        for (at, op) in graph.file_order().into_iter().enumerate() {
            place[op.index()] = at as u32;
        }
        Self { graph, place, seen_by: vec![0; graph.ops().len()], question: 0, left: steps }
    }

    /// Has it given up answering?
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Has `first` run whenever `then` has? Not known to have, once it is exhausted.
    pub(crate) fn precedes(&mut self, first: OpId, then: OpId) -> bool {
        if first == then {
            return true;
        }
        let lowest = self.place[first.index()];
        if lowest > self.place[then.index()] {
            return false;
        }
        self.question += 1;
        let mut open = vec![then];
        while let Some(op) = open.pop() {
            for &input in &self.graph.op(op).inputs {
                if self.left == 0 {
                    return false;
                }
                self.left -= 1;
                let Some(before) = self.graph.producer(input) else { continue };
                if before == first {
                    return true;
                }
                // Whoever comes earlier in the order cannot depend on `first`.
                let is_new =
                    std::mem::replace(&mut self.seen_by[before.index()], self.question) != self.question;
                if is_new && self.place[before.index()] > lowest {
                    open.push(before);
                }
            }
        }
        false
    }
}

/// By op: has it run whenever `op` has?
pub(crate) fn all_before(graph: &Graph, op: OpId) -> Vec<bool> {
    spread(graph, op, |op, next| next.extend(graph.op(op).inputs.iter().filter_map(|&t| graph.producer(t))))
}

/// By op: has `op` run whenever it has?
pub(crate) fn all_after(graph: &Graph, op: OpId) -> Vec<bool> {
    spread(graph, op, |op, next| next.extend(graph.op(op).outputs.iter().flat_map(|&t| graph.consumers(t))))
}

fn spread(graph: &Graph, from: OpId, neighbours: impl Fn(OpId, &mut Vec<OpId>)) -> Vec<bool> {
    let mut reached = vec![false; graph.ops().len()];
    let mut open = vec![from];
    while let Some(op) = open.pop() {
        if !std::mem::replace(&mut reached[op.index()], true) {
            neighbours(op, &mut open);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{GraphBuilder, Tensor, TensorId};
    use serenity_search::Random;

    /// Every pair of ops of random graphs, by all three.
    #[test]
    fn they_agree() {
        let mut random = Random(3);
        let mut below = |limit: usize| random.index(limit);
        for _ in 0..40 {
            let mut g = GraphBuilder::new("");
            let mut tensors: Vec<TensorId> = vec![g.input(Tensor::sized("", 1))];
            for _ in 0..12 {
                let inputs = [tensors[below(tensors.len())], tensors[below(tensors.len())]];
                tensors.push(g.op("", "X", &inputs, Tensor::sized("", 1)));
            }
            let graph = g.build().unwrap();
            let mut reach = Reach::within(&graph, u64::MAX);
            for op in graph.op_ids() {
                let (before, after) = (all_before(&graph, op), all_after(&graph, op));
                for other in graph.op_ids() {
                    assert_eq!(reach.precedes(other, op), before[other.index()], "{other} before {op}");
                    assert_eq!(reach.precedes(op, other), after[other.index()], "{other} after {op}");
                }
            }
        }
    }
}
