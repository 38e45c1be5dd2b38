//! The collection of real models, where it is at hand (`SERENITY_SHARED`, or `shared` beside the checkout).

use crate::handmade::order::another_order;
use serenity_ir::Lifetimes;
use serenity_ir::{Graph, OpId, TensorId, json};
use serenity_judges::{shared, shared_files};
use serenity_tflite::{Model, OFFLINE_PLAN, OfflinePlan, OperatorSource, ReadOptions};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Name and bytes of every model; empty, and said plainly, if the collection is not here.
fn models() -> Vec<(String, Vec<u8>)> {
    let paths = shared_files("models", "tflite");
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn own_orders(model: &Model) -> Vec<Vec<OpId>> {
    model.graphs().iter().map(|graph| graph.op_ids().collect()).collect()
}

#[test]
fn the_graphs_are_those_of_the_collection() {
    let Some(graphs) = shared("graphs") else { return };
    let table = std::fs::read_to_string(graphs.join("OPTIMA.tsv")).unwrap();
    let peaks: BTreeMap<&str, u64> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|fields| (fields[0], fields[2].parse().unwrap()))
        .collect();
    for (name, bytes) in models() {
        let model = Model::parse_with(bytes, ReadOptions { fold_constants: true }).unwrap();
        let graph = &model.graphs()[0];
        let path = graphs.join(format!("{name}.json"));
        let known = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(graph.ops().len(), known.ops().len(), "{name}");
        // The collection lists a tensor that is read twice only once, and orders state by other tensors of no size.
        let sizes = |graph: &Graph, ids: &[TensorId]| {
            let first = |&(position, id): &(usize, &TensorId)| !ids[..position].contains(id);
            let sizes = ids.iter().enumerate().filter(first).map(|(_, &id)| graph.tensor(id).bytes);
            sizes.filter(|&bytes| bytes > 0).collect::<Vec<u64>>()
        };
        for (ours, theirs) in graph.ops().iter().zip(known.ops()) {
            assert_eq!(ours.kind, theirs.kind, "{name}");
            assert_eq!(sizes(graph, &ours.inputs), sizes(&known, &theirs.inputs), "{name}: {}", ours.name);
            assert_eq!(sizes(graph, &ours.outputs), sizes(&known, &theirs.outputs), "{name}: {}", ours.name);
        }
        let peak = Lifetimes::of(graph).profile(&graph.file_order()).peak();
        assert_eq!(Some(&peak), peaks.get(name.as_str()), "{name}");
    }
}

#[test]
fn the_graphs_survive_json() {
    for (name, bytes) in models() {
        let model = Model::parse(bytes).unwrap();
        for graph in model.graphs() {
            assert!(json::parse(&json::write(graph)).unwrap() == *graph, "{name}");
        }
    }
}

#[test]
fn the_own_order_gives_the_same_file() {
    for (name, bytes) in models() {
        let model = Model::parse(bytes).unwrap();
        assert_eq!(model.reordered(&own_orders(&model)).unwrap(), model.bytes(), "{name}");
    }
}

#[test]
fn another_order_changes_only_the_operator_vectors() {
    for (name, bytes) in models() {
        let model = Model::parse(bytes).unwrap();
        let orders: Vec<Vec<OpId>> = model.graphs().iter().map(another_order).collect();
        let written = model.reordered(&orders).unwrap();
        assert_eq!(written.len(), model.bytes().len(), "{name}");
        let changed: Vec<usize> = (0..written.len()).filter(|&i| written[i] != model.bytes()[i]).collect();
        let operators: usize = model.graphs().iter().map(|graph| graph.ops().len()).sum();
        assert!(changed.len() <= 4 * operators, "{name}: {} bytes changed", changed.len());
        let read = Model::parse(written).unwrap();
        for (sub_graph, order) in orders.iter().enumerate() {
            let (old, new) = (&model.graphs()[sub_graph], &read.graphs()[sub_graph]);
            let names = |graph: &Graph, order: &[OpId]| {
                order.iter().map(|&op| graph.op(op).name.clone()).collect::<Vec<_>>()
            };
            assert_eq!(names(old, order), names(new, &new.file_order()), "{name}");
        }
    }
}

/// A new root in front: another order, and a plan that leaves everything to the runtime.
#[test]
fn a_new_root_keeps_the_old_file_behind_it() {
    for (name, bytes) in models() {
        let model = Model::parse(bytes).unwrap();
        let mut edit = model.edit();
        for (sub_graph, graph) in model.graphs().iter().enumerate() {
            let order = another_order(graph).into_iter().map(|op| OperatorSource::Kept(op.index()));
            edit.set_operators(sub_graph, order.collect()).unwrap();
        }
        let tensors = model.sub_graphs().iter().map(|sub_graph| sub_graph.tensors().len()).sum();
        let plan = OfflinePlan { sub_graphs: model.sub_graphs().len() as i32, offsets: vec![-1; tensors] };
        edit.set_metadata(OFFLINE_PLAN, plan.to_bytes());
        let edited = edit.finish().unwrap();
        assert_eq!(edited.dropped_metadata, Vec::<String>::new());
        let added = edited.bytes.len() - model.bytes().len();
        assert_eq!(added % 16, 0, "{name}");
        assert_eq!(&edited.bytes[added..], model.bytes(), "{name}");
        let read = Model::parse(edited.bytes).unwrap();
        assert_eq!(read.offline_plan(), Ok(Some(plan)), "{name}");
        // Another order makes the plan worthless.
        let back: Vec<Vec<OpId>> = read.graphs().iter().map(another_order).collect();
        let written = Model::parse(read.reordered(&back).unwrap()).unwrap();
        let changes = back.iter().any(|order| order.windows(2).any(|pair| pair[0] > pair[1]));
        assert_eq!(written.offline_plan() == Ok(None), changes, "{name}");
    }
}
