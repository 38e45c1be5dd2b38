//! Gives every reader of a padding one of its own.
//!
//! A `PAD` with several readers keeps them apart: each would have to be in one window with it. Padding costs nothing to
//! repeat, so every reader gets one of its own, directly before it. By itself that saves no memory, but padding inside
//! a window exists only as stripes.

use crate::rows::{RowLocal, Rows};
use serenity_ir::{Graph, GraphBuilder, OpId, TensorId};
use std::collections::BTreeMap;

/// The graphs of a model in which each padding has one reader.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The main graph first, with its ops in the given order; tensors of the old graph keep their ids.
    pub graphs: Vec<Graph>,
    /// Per op of the main graph: the op of the old graph that it stands for.
    pub origins: Vec<OpId>,
}

impl Spread {
    /// Gives every reader of a padding one of its own, with the ops in this order; `None` if every padding has one
    /// reader already.
    pub fn new(graphs: &[Graph], order: &[OpId]) -> Option<Self> {
        let main = graphs.first()?;
        let is_spread = |op: &OpId| {
            RowLocal::of(main, *op).is_some_and(|local| {
                matches!(local.rows, Rows::Padded { .. })
                    && main.consumers(local.output).len() > 1
                    && !main.is_output(local.output)
            })
        };
        let spread: BTreeMap<TensorId, OpId> =
            main.op_ids().filter(is_spread).map(|op| (main.op(op).outputs[0], op)).collect();
        if spread.is_empty() {
            return None;
        }
        let mut builder = GraphBuilder::new(main.name());
        for tensor in main.tensors() {
            builder.tensor(tensor.clone());
        }
        let mut left = spread.clone();
        let mut origins = Vec::new();
        for &op in order {
            if spread.values().any(|&padding| padding == op) {
                continue;
            }
            let mut reader = main.op(op).clone();
            let mut own: BTreeMap<TensorId, TensorId> = BTreeMap::new();
            for input in &mut reader.inputs {
                let Some(&padding) = spread.get(input) else { continue };
                if !own.contains_key(input) {
                    // The first takes the tensor that was there.
                    let output = match left.remove(input) {
                        Some(_) => *input,
                        None => builder.tensor(main.tensor(*input).clone()),
                    };
                    let mut copy = main.op(padding).clone();
                    copy.outputs = vec![output];
                    builder.push_op(copy);
                    origins.push(padding);
                    own.insert(*input, output);
                }
                *input = own[input];
            }
            builder.push_op(reader);
            origins.push(op);
        }
        main.inputs().iter().for_each(|&id| builder.mark_input(id));
        main.outputs().iter().for_each(|&id| builder.output(id));
        main.unknown().iter().for_each(|unknown| builder.unknown(unknown.clone()));
        builder.extra(main.extra().clone());
        let mut all = graphs.to_vec();
        all[0] = builder.build().ok()?;
        Some(Self { graphs: all, origins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    #[test]
    fn every_reader_gets_a_padding_right_before_it() {
        let graph = sketch(
            "x:int8[1,8,4,16]; p:int8[1,10,4,16] = PAD x [0,0,1,1,0,0,0,0]; \
             a:int8[1,10,4,16] = RELU p; b:int8[1,10,4,16] = ABS p; -> a b",
        );
        let spread = Spread::new(std::slice::from_ref(&graph), &graph.file_order()).unwrap();
        assert_eq!(spread.origins, [OpId(0), OpId(1), OpId(0), OpId(2)]);
        let [ref main] = spread.graphs[..] else { panic!("one graph") };
        assert!(main.tensors().iter().all(|tensor| main.tensor_ids().len() == 5 && tensor.bytes > 0));
        assert_ne!(main.op(OpId(1)).inputs, main.op(OpId(3)).inputs);
        assert!(Spread::new(&spread.graphs, &main.file_order()).is_none());
    }
}
