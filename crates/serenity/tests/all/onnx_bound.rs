//! ONNX Runtime's own planner never needs less than the bound, on random graphs of the operators that it treats in a special way.

use serenity::Options;
use serenity::ir::{ElementType, Graph, GraphBuilder, OpId, Tensor, TensorId};
use serenity::pipeline::plan_graphs;
use serenity::runtimes::{MemoryModel, MemoryModelExt, OrtOrder, OrtSetup};
use serenity::search::Random;

const KINDS: [&str; 8] = ["Conv", "Relu", "Relu", "Reshape", "Add", "Concat", "DequantizeLinear", "Sigmoid"];

fn graph(random: &mut Random) -> Graph {
    let floats = |name: String, size: u64| Tensor {
        shape: Some(vec![1, size]),
        dtype: Some(ElementType::Float32),
        ..Tensor::sized(name, 4 * size)
    };
    let mut builder = GraphBuilder::new("random");
    let mut tensors: Vec<(TensorId, u64)> = vec![(builder.input(floats("x".into(), 8)), 8)];
    for number in 0..7 + random.index(3) {
        let kind = KINDS[random.index(KINDS.len())];
        let picks = if matches!(kind, "Add" | "Concat") { 2 } else { 1 };
        let inputs: Vec<(TensorId, u64)> = (0..picks).map(|_| tensors[random.index(tensors.len())]).collect();
        let keeps = !matches!(kind, "Conv" | "Concat");
        let size = if keeps { inputs[0].1 } else { [4, 8, 8, 16][random.index(4)] };
        let ids: Vec<TensorId> = inputs.iter().map(|&(t, _)| t).collect();
        let name = format!("{kind}{number}");
        tensors.push((builder.op(name.clone(), kind, &ids, floats(name, size)), size));
    }
    builder.output(tensors[tensors.len() - 1].0);
    builder.output(tensors[1 + random.index(tensors.len() - 1)].0);
    builder.build().unwrap()
}

/// Any order that can run.
fn order(graph: &Graph, random: &mut Random) -> Vec<OpId> {
    let mut order: Vec<OpId> = Vec::new();
    while order.len() < graph.ops().len() {
        let is_ready = |op: &OpId| {
            !order.contains(op) && graph.predecessors(*op).iter().all(|before| order.contains(before))
        };
        let ready: Vec<OpId> = graph.op_ids().filter(is_ready).collect();
        order.push(ready[random.index(ready.len())]);
    }
    order
}

/// Every way to set up a session.
fn setups() -> impl Iterator<Item = OrtSetup> {
    OrtOrder::all().flat_map(|(_, order)| [true, false].map(|reuse| OrtSetup { order, reuse }))
}

#[test]
fn no_order_of_the_file_needs_less_than_the_bound() {
    let mut random = Random(1);
    for number in 0..40 {
        let graph = graph(&mut random);
        for setup in setups() {
            let (walk, model) = (setup.order, MemoryModel::Ort(setup));
            let plan =
                plan_graphs(std::slice::from_ref(&graph), &Options { model, ..Options::default() }).unwrap();
            let needs = |file: &[OpId]| model.arena(&[&graph], &[file], None).unwrap().bytes;
            assert!(
                plan.bound <= plan.after.peak && plan.bound <= plan.after.needs(),
                "graph {number} {walk} {} {:?} {:?}\n{}",
                plan.bound,
                plan.after,
                plan.order,
                serenity::ir::json::write(&graph)
            );
            assert_eq!(needs(plan.file_order()), plan.after.needs(), "graph {number}");
            assert_eq!(needs(&graph.file_order()), plan.before.needs(), "graph {number}");
            for _ in 0..20 {
                let file = order(&graph, &mut random);
                assert!(needs(&file) >= plan.bound, "graph {number} in {walk} order from {file:?}");
            }
        }
    }
}
