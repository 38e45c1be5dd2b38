//! The real models of the shared folder: every activation has a size, the file's order costs what it is known to cost,
//! and writing changes nothing but the order of the nodes.

use serenity_ir::Lifetimes;
use serenity_ir::{OpId, json};
use serenity_judges::{shared, shared_files};
use serenity_onnx::{Model, NodeSource, ReadOptions};
use std::path::Path;

fn models() -> Vec<(String, Vec<u8>)> {
    let paths = shared_files("models", "onnx");
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn parse(name: &str, bytes: &[u8]) -> Model {
    Model::parse(bytes, &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The column `file_order` of the table of optima.
fn listed_peak(optima: &str, name: &str) -> u64 {
    let row = optima.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|row| row[0] == name);
    row.unwrap()[2].parse().unwrap()
}

/// The order that always runs the ready op of the highest index.
fn highest_first(graph: &serenity_ir::Graph) -> Vec<OpId> {
    let mut order = Vec::new();
    let mut done = vec![false; graph.ops().len()];
    while order.len() < done.len() {
        let ready = |op: &OpId| !done[op.index()] && graph.predecessors(*op).iter().all(|p| done[p.index()]);
        let op = graph.op_ids().filter(ready).last().unwrap();
        done[op.index()] = true;
        order.push(op);
    }
    order
}

#[test]
fn graphs_are_those_of_the_collection() {
    let Some(graphs) = shared("graphs") else { return };
    let optima = std::fs::read_to_string(graphs.join("OPTIMA.tsv")).unwrap();
    for (name, bytes) in models() {
        let model = parse(&name, &bytes);
        let graph = model.graph();
        assert!(model.unsized_tensors().is_empty(), "{name}: {:?}", model.unsized_tensors());
        let known = std::fs::read_to_string(graphs.join(format!("{name}.json"))).unwrap();
        let known = json::parse(&known).unwrap();
        let peak = |g: &serenity_ir::Graph| Lifetimes::of(g).profile(&g.file_order()).peak();
        println!("{name}: {} ops, peak {}", graph.ops().len(), peak(graph));
        assert_eq!(peak(graph), peak(&known), "{name}");
        assert_eq!(peak(graph), listed_peak(&optima, &name), "{name}");
        assert_eq!(graph.ops().len(), known.ops().len(), "{name}");
        for (ours, theirs) in graph.ops().iter().zip(known.ops()) {
            assert_eq!(ours.kind, theirs.kind, "{name}: {}", ours.name);
            // The collection lists an operand that is read twice once.
            let sizes = |g: &serenity_ir::Graph, op: &serenity_ir::Op| {
                [&op.inputs, &op.outputs].map(|list| {
                    let first = list.iter().enumerate().filter(|(n, t)| !list[..*n].contains(t));
                    first.map(|(_, &t)| g.tensor(t).bytes).collect::<Vec<_>>()
                })
            };
            assert_eq!(sizes(graph, ours), sizes(&known, theirs), "{name}: {}", ours.name);
        }
    }
}

#[test]
fn the_files_order_gives_back_the_file() {
    for (name, bytes) in models() {
        let model = parse(&name, &bytes);
        assert!(model.reordered(&model.graph().file_order()).unwrap() == bytes, "{name}");
        let mut edit = model.edit().unwrap();
        edit.set_nodes((0..model.graph().ops().len() + model.folded().len()).map(NodeSource::Kept).collect());
        assert!(edit.finish().unwrap() == bytes, "{name}");
    }
}

#[test]
fn what_an_operator_reads_can_be_found_in_the_file() {
    for (name, bytes) in models() {
        let model = parse(&name, &bytes);
        let (mut found, mut missing) = (0, 0);
        for op in model.graph().op_ids() {
            let (node, described) = (model.node_of(op), model.graph().op(op));
            let outputs = model.node_outputs(node).into_iter().filter(|name| !name.is_empty());
            let known = described.outputs.iter().map(|&t| model.graph().tensor(t).name.clone());
            assert!(
                known.filter(|name| !name.starts_with("state#")).eq(outputs),
                "{name}: {}",
                described.name
            );
            for (position, operand) in model.node_inputs(node).iter().enumerate() {
                let Some(description) = described.constant(position) else { continue };
                assert_eq!(description.name(), Some(operand.as_str()), "{name}");
                let Some(constant) = model.constant(operand) else {
                    missing += 1;
                    continue;
                };
                assert_eq!(description.shape().as_ref(), Some(&constant.shape), "{name}: {operand}");
                assert_eq!(description.dtype().as_ref(), Some(&constant.dtype), "{name}: {operand}");
                found += 1;
            }
        }
        println!("{name}: {found} constants, {missing} that nodes compute");
        assert!(found > missing || name.starts_with("light_") || name.contains("qdq"), "{name}");
    }
}

#[test]
fn another_order_comes_back_as_written() {
    for (name, bytes) in models() {
        let model = parse(&name, &bytes);
        let order = highest_first(model.graph());
        let written = model.reordered(&order).unwrap();
        let again = parse(&name, &written);
        assert_eq!(written.len(), bytes.len());
        let ops = |model: &Model, order: &[OpId]| -> Vec<String> {
            order
                .iter()
                .map(|&op| {
                    model.graph().op(op).outputs.iter().map(|&t| model.graph().tensor_label(t)).collect()
                })
                .collect()
        };
        assert_eq!(ops(&model, &order), ops(&again, &again.graph().file_order()), "{name}");
        assert_eq!(model.folded().len(), again.folded().len());
    }
}
