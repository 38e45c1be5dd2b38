//! Detects whether one model is the other with integers for inputs and outputs that were converted.

use serenity_formats::{Format, ModelFile, Port, QuantizedIo, ReadOptions};
use serenity_ir::{Graph, Tensor, TensorId};
use std::sync::Arc;

/// Inputs and outputs of the first model that are integers in the second because the first only converts them. All
/// others must be unchanged; if not, or if the files cannot be read, there are none, and the runtimes say what differs.
pub(super) fn quantized(a: &str, b: &str) -> Option<QuantizedIo> {
    let (a, b) = (read(a)?, read(b)?);
    let (converted, mut io) = a.with_quantized_io().ok()?;
    let [old, new, given] = [&a, &converted, &b].map(|file| &file.graphs()[0]);
    if old.inputs().len() != given.inputs().len() || old.outputs().len() != given.outputs().len() {
        return None;
    }
    let is_changed = |port: Port| !is_same(old, given, port) && is_same(new, given, port);
    io.inputs.retain(|one| is_changed(Port::Input(one.position)));
    io.outputs.retain(|one| is_changed(Port::Output(one.position)));
    io.kept.clear();
    let inputs = (0..old.inputs().len()).map(Port::Input);
    let mut ports = inputs.chain((0..old.outputs().len()).map(Port::Output));
    let is_told = |port: Port| is_same(old, given, port) || io.changed().any(|(changed, _)| changed == port);
    (ports.all(is_told) && !io.is_unchanged()).then_some(io)
}

/// The models that were made for a fast session of ONNX Runtime, and must be run in one.
pub(super) fn fast(paths: [&str; 2]) -> Vec<&str> {
    let is_fast = |path: &&str| read(path).is_some_and(|file| file.session().is_some());
    paths.into_iter().filter(is_fast).collect()
}

/// Positions of the inputs and outputs that the second model carries from run to run: then it takes the new rows of the
/// first one's window.
pub(super) fn carried(b: &str) -> Vec<[usize; 2]> {
    let Some(file) = read(b) else { return Vec::new() };
    let graph = &file.graphs()[0];
    let at = |list: &[TensorId], tensor: TensorId| list.iter().position(|&one| one == tensor);
    let pairs = graph.carried().into_iter();
    pairs.filter_map(|(i, o)| Some([at(graph.inputs(), i)?, at(graph.outputs(), o)?])).collect()
}

fn read(path: &str) -> Option<Arc<dyn ModelFile>> {
    let format = Format::of_path(path)?;
    format.read(std::fs::read(path).ok()?, &ReadOptions::default()).ok()
}

/// Do two models have the same input or output there, as far as their files say?
fn is_same(one: &Graph, other: &Graph, port: Port) -> bool {
    let (one, other) = (tensor(one, port), tensor(other, port));
    (&one.name, &one.shape, &one.dtype, &one.quantization)
        == (&other.name, &other.shape, &other.dtype, &other.quantization)
}

fn tensor(graph: &Graph, port: Port) -> &Tensor {
    let id: TensorId = match port {
        Port::Input(position) => graph.inputs()[position],
        Port::Output(position) => graph.outputs()[position],
    };
    graph.tensor(id)
}
