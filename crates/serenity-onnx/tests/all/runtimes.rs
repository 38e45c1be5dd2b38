//! Real models edited by hand, and judged by the outside: `onnx.checker` accepts them in full, and ONNX Runtime computes the same.

use serenity_ir::{ElementType, OpId};
use serenity_judges::{Inputs, shared_files};
use serenity_onnx::{Attribute, Edit, Model, NodeSource, ReadOptions};
use std::collections::BTreeMap;

/// A change under way: the new list so far, and the file that it comes from.
struct Change<'m> {
    model: &'m Model,
    edit: Edit<'m>,
    nodes: Vec<NodeSource>,
}

impl Change<'_> {
    fn new_node(&mut self, op_type: &str, inputs: &[&str], output: &str, attributes: &[(&str, i64)]) {
        let attributes = attributes.iter().map(|&(name, value)| (name.to_owned(), Attribute::Int(value)));
        self.nodes.push(NodeSource::New {
            op_type: op_type.to_owned(),
            domain: String::new(),
            name: self.edit.fresh_name(&format!("{output}.{op_type}")),
            inputs: inputs.iter().map(|&name| name.to_owned()).collect(),
            outputs: vec![output.to_owned()],
            attributes: attributes.collect(),
        });
    }

    fn constant(&mut self, wanted: &str, dtype: &ElementType, shape: &[u64], data: Vec<u8>) -> String {
        let name = self.edit.fresh_name(wanted);
        self.edit.add_constant(&name, dtype, shape, data).unwrap();
        name
    }

    /// `extent` elements from `first` on, along one axis of a constant of 32-bit numbers.
    fn slice(&mut self, name: &str, axis: usize, first: u64, extent: u64) -> String {
        let whole = self.model.constant(name).unwrap();
        let row = whole.shape[axis + 1..].iter().product::<u64>() * 4;
        let (step, from, to) = (whole.shape[axis] * row, first * row, (first + extent) * row);
        let rows = whole.data.chunks_exact(step as usize);
        let data = rows.flat_map(|chunk| &chunk[from as usize..to as usize]).copied().collect();
        let shape = [&whole.shape[..axis], &[extent], &whole.shape[axis + 1..]].concat();
        self.constant(name, &whole.dtype, &shape, data)
    }

    /// The convolution of `op` with other operands.
    fn part(&mut self, op: OpId, inputs: Vec<String>, output: &str, group: Option<u64>) {
        let node = self.model.node_of(op);
        let name = self.edit.fresh_name(&self.model.graph().op(op).name);
        let group = group.map(|group| ("group".to_owned(), Attribute::Int(group as i64)));
        let (attributes, outputs) = (group.into_iter().collect::<BTreeMap<_, _>>(), vec![output.to_owned()]);
        self.nodes.push(NodeSource::Changed { node, name, inputs, outputs, attributes });
    }

    /// Channels of the tensor of this name.
    fn channels(&self, name: &str) -> u64 {
        let tensor = self.model.graph().tensors().iter().find(|tensor| tensor.name == name).unwrap();
        tensor.shape.as_ref().unwrap()[1]
    }

    /// A convolution of a concatenation becomes the sum of convolutions of its parts.
    fn split_over_concatenation(&mut self, conv: OpId) {
        let node = self.model.node_of(conv);
        let (inputs, output) = (self.model.node_inputs(node), self.model.node_outputs(node).remove(0));
        let input = self.model.graph().op(conv).inputs[0];
        let concat = self.model.graph().producer(input).unwrap();
        let (mut first, mut sum) = (0, None::<String>);
        let parts = self.model.node_inputs(self.model.node_of(concat));
        for (position, part) in parts.iter().enumerate() {
            let channels = self.channels(part);
            let mut operands = vec![part.clone(), self.slice(&inputs[1], 1, first, channels)];
            if position == 0 {
                operands.extend(inputs.get(2).cloned());
            }
            first += channels;
            let result = self.edit.fresh_name(&output);
            self.part(conv, operands, &result, None);
            sum = Some(match sum {
                None => result,
                Some(before) => {
                    let is_last = position + 1 == parts.len();
                    let next = if is_last { output.clone() } else { self.edit.fresh_name(&output) };
                    self.new_node("Add", &[&before, &result], &next, &[]);
                    next
                }
            });
        }
    }

    /// A depthwise convolution becomes two, of one channel and of the rest.
    fn split_depthwise(&mut self, conv: OpId) {
        let node = self.model.node_of(conv);
        let (inputs, output) = (self.model.node_inputs(node), self.model.node_outputs(node).remove(0));
        let all = self.channels(&inputs[0]);
        let mut results = Vec::new();
        for (first, end) in [(0, 1), (1, all)] {
            let bounds = [first, end, 1].map(|number| {
                self.constant("bound", &ElementType::Int64, &[1], number.to_le_bytes().to_vec())
            });
            let part = self.edit.fresh_name(&inputs[0]);
            self.new_node("Slice", &[&inputs[0], &bounds[0], &bounds[1], &bounds[2]], &part, &[]);
            let mut operands = vec![part];
            for name in &inputs[1..] {
                operands.push(self.slice(name, 0, first, end - first));
            }
            results.push(self.edit.fresh_name(&output));
            self.part(conv, operands, &results[results.len() - 1], Some(end - first));
        }
        self.new_node("Concat", &[&results[0], &results[1]], &output, &[("axis", 1)]);
    }

    /// Multiplies what an op reads.
    fn scale_input(&mut self, op: OpId, factors: &[f32]) {
        let node = self.model.node_of(op);
        let mut name = self.model.node_inputs(node).remove(0);
        for factor in factors {
            let constant = self.constant("factor", &ElementType::Float32, &[], factor.to_le_bytes().to_vec());
            let next = self.edit.fresh_name(&name);
            self.new_node("Mul", &[&name, &constant], &next, &[]);
            name = next;
        }
        let output = self.model.node_outputs(node).remove(0);
        self.part(op, vec![name], &output, None);
    }
}

/// Can it be split over the parts of a concatenation?
fn reads_concatenation(model: &Model, op: OpId) -> bool {
    let (graph, conv) = (model.graph(), model.graph().op(op));
    let is_whole = conv.attributes.get("group").is_none_or(|group| group == 1);
    let concat = conv.inputs.first().and_then(|&input| graph.producer(input)).map(|op| graph.op(op));
    is_float_convolution(model, op)
        && is_whole
        && concat.is_some_and(|concat| {
            concat.kind.as_str() == "Concat" && concat.inputs.len() > 1 && concat.attributes["axis"] == 1
        })
}

/// One group a channel, and one channel out for each that comes in?
fn is_depthwise(model: &Model, op: OpId) -> bool {
    let shape =
        |tensor: serenity_ir::TensorId| model.graph().tensor(tensor).shape.clone().unwrap_or_default();
    let conv = model.graph().op(op);
    is_float_convolution(model, op)
        && model.opset() >= 10
        && conv.attributes.get("group").and_then(serde_json::Value::as_u64).is_some_and(|group| {
            group > 1 && [conv.inputs[0], conv.outputs[0]].iter().all(|&t| shape(t).get(1) == Some(&group))
        })
}

fn is_float_convolution(model: &Model, op: OpId) -> bool {
    let names = model.node_inputs(model.node_of(op));
    let is_float = |name: &String| model.constant(name).is_some_and(|c| c.dtype == ElementType::Float32);
    model.graph().op(op).kind.as_str() == "Conv" && names[1..].iter().all(is_float)
}

fn is_relu(model: &Model, op: OpId) -> bool {
    model.graph().op(op).kind.as_str() == "Relu"
}

type Test = fn(&Model, OpId) -> bool;
type Rewrite = fn(&mut Change<'_>, OpId);

/// The file in which every op that `fits` is rewritten, and how many those are.
fn rewritten(model: &Model, fits: Test, rewrite: Rewrite) -> (Vec<u8>, usize) {
    let mut change = Change { model, edit: model.edit().unwrap(), nodes: Vec::new() };
    let mut count = 0;
    for op in model.graph().op_ids() {
        if fits(model, op) {
            rewrite(&mut change, op);
            count += 1;
        } else {
            change.nodes.push(NodeSource::Kept(model.node_of(op)));
        }
    }
    change.edit.set_nodes(change.nodes);
    (change.edit.finish().unwrap(), count)
}

#[test]
fn edited_models_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&str, Test, Rewrite); 3] = [
        ("concatenation", reads_concatenation, |change, op| change.split_over_concatenation(op)),
        ("depthwise", is_depthwise, |change, op| change.split_depthwise(op)),
        // Doubled and halved: not a bit of a float changes.
        ("relu", is_relu, |change, op| change.scale_input(op, &[2.0, 0.5])),
    ];
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for path in shared_files("models", "onnx") {
        let model = Model::parse(std::fs::read(&path).unwrap(), &ReadOptions::default()).unwrap();
        for (kind, fits, rewrite) in kinds {
            let (written, count) = rewritten(&model, fits, rewrite);
            if count == 0 {
                continue;
            }
            let file = folder.path().join(format!("{kind}_{}", path.file_name().unwrap().to_str().unwrap()));
            println!("{}: {count} rewritten", file.file_name().unwrap().display());
            std::fs::write(&file, written).unwrap();
            before.push(path.clone());
            after.push(file);
        }
    }
    let Some(verdicts) = serenity_judges::rewritten(&before, &after, &Inputs::default()) else { return };
    for (file, verdict) in after.iter().zip(&verdicts) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let serenity_judges::Verdict::Accepted(found) = verdict else { panic!("{name}: {verdict:?}") };
        println!("{name}: {:e} apart, the largest output is {}", found.difference, found.largest);
        let most = if name.starts_with("concatenation") { 1e-4 * found.largest } else { 0.0 };
        assert!(found.difference <= most && found.largest > 0.0, "{name}: {found:?}");
    }
}

#[test]
fn a_wrong_edit_is_seen() {
    let Some(path) =
        shared_files("models", "onnx").into_iter().find(|path| path.ends_with("yunet_n_320.onnx"))
    else {
        return;
    };
    let model = Model::parse(std::fs::read(&path).unwrap(), &ReadOptions::default()).unwrap();
    let (written, _) = rewritten(&model, is_relu, |change, op| change.scale_input(op, &[1.001]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.onnx");
    std::fs::write(&file, written).unwrap();
    let Some(verdicts) = serenity_judges::rewritten(&[path], &[file], &Inputs::default()) else { return };
    let found = verdicts[0].accepted();
    assert!(found.difference > 1e-3 * found.largest, "{found:?}");
}
