//! Orders that keep windows together.
//!
//! The order with the least peak may tear apart what could be one loop. Here a row-local op is merged with the only
//! reader of its result, so that they follow each other in every order; the tensor between them costs nothing, as in a
//! loop. The result is a smaller graph, each op of which stands for a tree of ops that ends in one.
//!
//! The graph stays acyclic: a tensor with one reader reaches other ops only through that reader.

use crate::rows::RowLocal;
use serenity_ir::{Graph, GraphBuilder, Op, OpId, Operator, TensorId};

/// Which ops are merged with the only reader of their result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Only concatenations.
    Concatenations,
    /// All row-local ops whose reader is row-local.
    All,
}

/// A graph whose ops each stand for several ops of another graph.
#[derive(Clone, Debug)]
pub struct Clusters {
    /// The smaller graph.
    pub graph: Graph,
    /// Per op of the smaller graph: the ops that it stands for, in an order in which they can run.
    members: Vec<Vec<OpId>>,
}

impl Clusters {
    /// `None` if no ops can be merged.
    pub fn new(graph: &Graph, joined: Joined) -> Option<Self> {
        let order = graph.file_order();
        // Per op, the last one of its cluster: readers come later in the order, so theirs is known.
        let mut ends: Vec<OpId> = graph.op_ids().collect();
        for &op in order.iter().rev() {
            if let Some(reader) = only_reader(graph, op, joined) {
                ends[op.index()] = ends[reader.index()];
            }
        }
        let mut members: Vec<Vec<OpId>> = vec![Vec::new(); ends.len()];
        for &op in &order {
            members[ends[op.index()].index()].push(op);
        }
        members.retain(|ops| !ops.is_empty());
        if members.len() == ends.len() {
            return None;
        }
        let mut builder = GraphBuilder::new(graph.name());
        for tensor in graph.tensors() {
            builder.tensor(tensor.clone());
        }
        for ops in &members {
            builder.push_op(outside(graph, ops)?);
        }
        graph.inputs().iter().for_each(|&id| builder.mark_input(id));
        graph.outputs().iter().for_each(|&id| builder.output(id));
        Some(Self { graph: builder.build().ok()?, members })
    }

    /// Expands an order of the smaller graph to one of the original graph.
    pub fn order(&self, order: &[OpId]) -> Vec<OpId> {
        order.iter().flat_map(|op| self.members[op.index()].iter().copied()).collect()
    }
}

/// The op that `op` is merged with, if that reads all its results.
fn only_reader(graph: &Graph, op: OpId, joined: Joined) -> Option<OpId> {
    let local = RowLocal::of(graph, op)?;
    let is_joined = joined == Joined::All || graph.op(op).kind.operator() == Operator::CONCATENATION;
    let &[reader] = graph.consumers(local.output) else { return None };
    let can_join = is_joined && !graph.is_output(local.output) && RowLocal::of(graph, reader).is_some();
    can_join.then_some(reader)
}

/// The last of some ops, with all inputs that come from outside.
fn outside(graph: &Graph, ops: &[OpId]) -> Option<Op> {
    let mut all = graph.op(*ops.last()?).clone();
    let is_made = |t: &TensorId| graph.producer(*t).is_some_and(|maker| ops.contains(&maker));
    let mut inputs: Vec<TensorId> =
        ops.iter().flat_map(|&op| graph.op(op).inputs.iter().copied()).filter(|t| !is_made(t)).collect();
    inputs.sort_unstable();
    inputs.dedup();
    all.inputs = inputs;
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::network;
    use serenity_ir::sketch;
    use serenity_search::Random;

    #[test]
    fn a_concatenation_is_one_with_its_reader() {
        let graph = sketch(
            "x:int8[1,8,8,4]; left:int8[1,8,8,4] = RELU x; right:int8[1,8,8,4] = ABS x; \
             both:int8[1,8,8,8] = CONCATENATION left right axis=3; y:int8[1,8,8,8] = RELU both; -> y",
        );
        let clusters = Clusters::new(&graph, Joined::Concatenations).unwrap();
        assert_eq!(clusters.members, [vec![OpId(0)], vec![OpId(1)], vec![OpId(2), OpId(3)]]);
        assert_eq!(
            clusters.order(&[OpId(1), OpId(0), OpId(2)]),
            [OpId(1), OpId(0), OpId(2), OpId(3)],
            "the branches still may run in any order"
        );
        let all = Clusters::new(&graph, Joined::All).unwrap();
        assert_eq!(all.members, [(0..4).map(OpId).collect::<Vec<_>>()]);
        assert!(Clusters::new(&all.graph, Joined::All).is_none());
    }

    #[test]
    fn every_order_of_clusters_is_one_of_the_graph() {
        let mut random = Random(1);
        let mut seen = 0;
        for _ in 0..500 {
            let graph = network(&mut random);
            for joined in [Joined::Concatenations, Joined::All] {
                let Some(clusters) = Clusters::new(&graph, joined) else { continue };
                seen += 1;
                let mut left = clusters.graph.op_ids().collect::<Vec<_>>();
                let mut order = Vec::new();
                while !left.is_empty() {
                    let at = random.index(left.len());
                    let is_ready = |op: OpId| {
                        clusters.graph.predecessors(op).iter().all(|before| order.contains(before))
                    };
                    if is_ready(left[at]) {
                        order.push(left.remove(at));
                    }
                }
                assert_eq!(graph.check_order(&clusters.order(&order)), Ok(()));
            }
        }
        assert!(seen > 500, "{seen}");
    }
}
