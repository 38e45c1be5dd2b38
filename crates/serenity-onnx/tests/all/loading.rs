//! Judged by the outside: of every tensor, ONNX Runtime knows as much of the shape when it has loaded a file as we say.

use serde_json::Value;
use serenity_ir::{Graph, KnownShape, TensorId};
use serenity_judges::{KnownShapes, Verdict, known_shapes, network, python, shared_files};
use serenity_onnx::{Model, ReadOptions};
use std::path::PathBuf;

/// What a size that is open may be; no model has it.
const GIVEN: u64 = 7;

/// Models of whose graphs within graphs ONNX Runtime makes one, with names for sizes of its own.
const INLINED: [&str; 1] = ["silero_vad_openvino_16k"];

fn read(path: &PathBuf, seen: &KnownShapes) -> Option<Model> {
    let mut options = ReadOptions::default();
    for (name, dims) in &seen.inputs {
        let dims = dims.as_array().into_iter().flatten();
        let shape: Vec<u64> = dims.map(|dim| dim.as_u64().unwrap_or(GIVEN)).collect();
        options.shapes.insert(name.clone(), shape);
    }
    options.keep_constant_nodes = true;
    // Some are refused; why is tested elsewhere.
    Model::parse(std::fs::read(path).unwrap(), &options).ok()
}

/// As the judge puts it.
fn said(graph: &Graph, tensor: TensorId) -> Value {
    let tensor = graph.tensor(tensor);
    match &tensor.known {
        KnownShape::Whole => tensor.shape.clone().map_or(Value::Null, Value::from),
        part => serde_json::to_value(part).unwrap(),
    }
}

fn faults(path: &PathBuf, seen: &KnownShapes) -> Vec<String> {
    let name = path.file_stem().unwrap().to_string_lossy();
    if INLINED.contains(&&*name) {
        return Vec::new();
    }
    let Some(model) = read(path, seen) else { return Vec::new() };
    let graph = model.graph();
    let is_written = |t: &TensorId| graph.producer(*t).is_some();
    let judged = graph.tensor_ids().filter(is_written).filter_map(|t| {
        let tensor = graph.tensor(t);
        Some((tensor, said(graph, t), seen.shapes.get(&tensor.name)?, graph.op(graph.producer(t)?)))
    });
    let judged: Vec<_> = judged.collect();
    let open = judged.iter().filter(|(tensor, ..)| tensor.known != KnownShape::Whole).count();
    println!("{name}: {} shapes, {open} of them not wholly known", judged.len());
    let wrong = judged.iter().filter(|(_, said, seen, _)| said != *seen);
    wrong
        .map(|(tensor, said, seen, op)| {
            format!("{name}: `{}` of {}: {seen} is known, {said} said", tensor.name, op.kind.as_str())
        })
        .collect()
}

fn judge(models: &[PathBuf]) {
    let Some(verdicts) = known_shapes(models) else { return };
    let seen = models.iter().zip(verdicts.iter().map(Verdict::accepted));
    let found: Vec<String> = seen.flat_map(|(path, seen)| faults(path, seen)).collect();
    assert!(found.is_empty(), "{} wrong:\n{}", found.len(), found[..found.len().min(40)].join("\n"));
}

#[test]
fn onnx_runtime_knows_of_real_models_what_we_say_it_does() {
    judge(&[shared_files("models", "onnx"), shared_files("more-models", "onnx")].concat());
}

#[test]
fn onnx_runtime_knows_of_large_networks_what_we_say_it_does() {
    if python().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made =
        ["gpt", "vit", "unet"].map(|name| [true, false].map(|open| network(name, open, folder.path())));
    judge(&made.concat());
}
