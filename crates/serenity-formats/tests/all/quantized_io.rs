//! Models that convert what they take and give, and the same without: which conversions may go, and which must stay.

use serde_json::json;
use serenity_formats::{Format, GraphFile, ModelFile, Port, QuantizedIo, ReadOptions};
use serenity_ir::{
    Attributes, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor, TensorId,
};
use std::sync::Arc;

fn tensor(name: &str, dtype: ElementType, quantization: Option<(f32, i64)>) -> Tensor {
    let shape = [1, 4, 4, 2];
    let quantization = quantization.map(|(scale, point)| Quantization {
        scales: vec![scale],
        zero_points: vec![point],
        axis: 0,
    });
    let bytes = dtype.bytes_of(&shape).unwrap();
    Tensor { shape: Some(shape.to_vec()), dtype: Some(dtype), quantization, ..Tensor::sized(name, bytes) }
}

/// A network in the making.
struct Net(GraphBuilder);

impl Net {
    fn new() -> Self {
        Self(GraphBuilder::new("net"))
    }

    fn input(&mut self, name: &str) -> TensorId {
        self.0.input(tensor(name, ElementType::Float32, None))
    }

    fn op(&mut self, kind: &str, inputs: &[TensorId], output: Tensor) -> TensorId {
        let name = output.name.clone();
        let output = self.0.tensor(output);
        let attributes = if kind == "ADD" { json!({"activation": "none"}) } else { json!({}) };
        self.0.push_op(Op {
            name,
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: vec![output],
            attributes: attributes.as_object().unwrap().clone(),
            extra: Attributes::new(),
        });
        output
    }

    fn int8(&mut self, kind: &str, name: &str, inputs: &[TensorId]) -> TensorId {
        self.op(kind, inputs, tensor(name, ElementType::Int8, Some((0.25, -3))))
    }

    fn quantize(&mut self, name: &str, input: TensorId, scale: f32) -> TensorId {
        self.op("QUANTIZE", &[input], tensor(name, ElementType::Int8, Some((scale, -3))))
    }

    fn float(&mut self, kind: &str, name: &str, input: TensorId) -> TensorId {
        self.op(kind, &[input], tensor(name, ElementType::Float32, None))
    }

    fn file(mut self, outputs: &[TensorId]) -> Arc<dyn ModelFile> {
        for &output in outputs {
            self.0.output(output);
        }
        let graph = self.0.build().unwrap();
        let operands =
            graph.ops().iter().map(|op| op.inputs.iter().map(|&t| Operand::Activation(t)).collect());
        let model = Model::new(graph.clone(), operands.collect(), Vec::new()).unwrap();
        read(Format::TfLite.create(&model).unwrap())
    }
}

fn read(bytes: Vec<u8>) -> Arc<dyn ModelFile> {
    Format::TfLite.read(bytes, &ReadOptions::default()).unwrap()
}

/// What became of it: names of inputs and outputs, kinds of its operators.
fn told(file: &dyn ModelFile) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    let graph = &file.graphs()[0];
    let names =
        |ids: &[TensorId]| ids.iter().map(|&id| graph.tensor(id).name.as_str()).collect::<Vec<&str>>();
    let kinds = graph.ops().iter().map(|op| op.kind.as_str()).collect();
    (names(graph.inputs()), names(graph.outputs()), kinds)
}

fn kept(io: &QuantizedIo) -> Vec<(Port, &str)> {
    io.kept.iter().map(|one| (one.port, one.reason.as_str())).collect()
}

/// Done again, nothing happens; and the bytes that are written are those of the graph.
fn converted(file: &dyn ModelFile) -> (Arc<dyn ModelFile>, QuantizedIo) {
    let (new, io) = file.with_quantized_io().unwrap();
    let (again, rest) = new.with_quantized_io().unwrap();
    assert!(rest.is_unchanged() && again.bytes() == new.bytes());
    assert_eq!(told(&*read(new.bytes().into_owned())), told(&*new));
    if io.is_unchanged() {
        assert_eq!(new.bytes(), file.bytes());
    }
    (new, io)
}

#[test]
fn conversions_at_both_ends_go() {
    let mut net = Net::new();
    let (x, other) = (net.input("x"), net.input("other"));
    let q = net.quantize("q", x, 0.5);
    let r = net.int8("RELU", "r", &[q]);
    let y = net.float("DEQUANTIZE", "y", r);
    let z = net.float("RELU", "z", other);
    let file = net.file(&[y, z]);
    let (new, io) = converted(&*file);
    assert_eq!(told(&*new), (vec!["q", "other"], vec!["r", "z"], vec!["RELU", "RELU"]));
    assert!(io.kept.is_empty(), "{io:?}");
    let ([input], [output]) = (&io.inputs[..], &io.outputs[..]) else { panic!("{io:?}") };
    assert_eq!((input.position, input.was.as_str(), input.name.as_str()), (0, "x", "q"));
    assert_eq!((&input.dtype, input.scale, input.zero_point), (&ElementType::Int8, 0.5, -3));
    assert_eq!((output.position, output.was.as_str(), output.name.as_str()), (0, "y", "r"));
    assert_eq!((output.scale, output.zero_point), (0.25, -3));
    // What is left of the floats takes no room.
    let graph = &new.graphs()[0];
    let bytes = |name: &str| graph.tensors().iter().find(|t| t.name == name).map(|t| t.bytes);
    assert_eq!((bytes("x").unwrap_or(0), bytes("y").unwrap_or(0), bytes("q")), (0, 0, Some(32)));
}

#[test]
fn floats_that_others_need_stay() {
    let mut net = Net::new();
    let (x, w) = (net.input("x"), net.input("w"));
    let q = net.quantize("q", x, 0.5);
    let r = net.int8("RELU", "r", &[q]);
    let y = net.float("DEQUANTIZE", "y", r);
    let a = net.float("RELU", "a", x);
    let b = net.float("RELU", "b", y);
    let v = net.quantize("v", w, 0.5);
    let u = net.int8("RELU", "u", &[v]);
    let file = net.file(&[y, a, b, u]);
    let (new, io) = converted(&*file);
    let reason = "RELU reads the floats as well";
    assert_eq!(kept(&io), [(Port::Input(0), reason), (Port::Output(0), reason)]);
    assert_eq!(told(&*new).0, ["x", "v"]);
    assert_eq!(told(&*new).1, ["y", "a", "b", "u"]);
}

#[test]
fn whole_numbers_that_others_read_become_an_output_as_well() {
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.quantize("q", x, 0.5);
    let r = net.int8("RELU", "r", &[q]);
    let y = net.float("DEQUANTIZE", "y", r);
    let s = net.int8("RELU", "s", &[r]);
    let z = net.float("DEQUANTIZE", "z", s);
    let (new, io) = converted(&*net.file(&[z, y]));
    assert_eq!(told(&*new), (vec!["q"], vec!["s", "r"], vec!["RELU", "RELU"]));
    assert_eq!((io.changed().count(), io.kept.len()), (3, 0));
}

#[test]
fn no_tensor_is_an_input_or_an_output_twice() {
    // Straight through: the input goes, the output stays.
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.quantize("q", x, 0.5);
    let y = net.float("DEQUANTIZE", "y", q);
    let (new, io) = converted(&*net.file(&[y]));
    assert_eq!(told(&*new), (vec!["q"], vec!["y"], vec!["DEQUANTIZE"]));
    assert_eq!(kept(&io), [(Port::Output(0), "`q` would be an input or an output more than once")]);

    // Two outputs of the same numbers: the first goes.
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.quantize("q", x, 0.5);
    let r = net.int8("RELU", "r", &[q]);
    let (y, z) = (net.float("DEQUANTIZE", "y", r), net.float("DEQUANTIZE", "z", r));
    let (new, io) = converted(&*net.file(&[y, z]));
    assert_eq!(told(&*new), (vec!["q"], vec!["r", "z"], vec!["RELU", "DEQUANTIZE"]));
    assert_eq!(kept(&io).len(), 1);

    // What the input would become is an output already.
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.quantize("q", x, 0.5);
    let (new, io) = converted(&*net.file(&[q]));
    assert_eq!(told(&*new), (vec!["x"], vec!["q"], vec!["QUANTIZE"]));
    assert_eq!(kept(&io), [(Port::Input(0), "`q` would be an input or an output more than once")]);

    // An input that is an output as well.
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.quantize("q", x, 0.5);
    let r = net.int8("RELU", "r", &[q]);
    let (new, io) = converted(&*net.file(&[r, x]));
    assert_eq!((told(&*new).0, io.kept.len()), (vec!["x"], 1));
}

#[test]
fn an_input_that_is_quantised_several_times() {
    let several = |scale: f32| {
        let mut net = Net::new();
        let x = net.input("x");
        let (a, b) = (net.quantize("a", x, 0.5), net.quantize("b", x, scale));
        let r = net.int8("ADD", "r", &[a, b]);
        converted(&*net.file(&[r]))
    };
    let (new, io) = several(0.5);
    assert_eq!(told(&*new), (vec!["a"], vec!["r"], vec!["ADD"]));
    assert_eq!((io.changed().count(), new.graphs()[0].ops()[0].inputs.len()), (1, 2));
    let (new, io) = several(0.25);
    assert_eq!(told(&*new).0, ["x"]);
    assert_eq!(kept(&io), [(Port::Input(0), "it is quantised in several ways")]);
}

#[test]
fn models_that_convert_nothing_are_left_alone() {
    let mut net = Net::new();
    let x = net.input("x");
    let y = net.float("RELU", "y", x);
    let (_, io) = converted(&*net.file(&[y]));
    assert_eq!(io, QuantizedIo::default());
}

#[test]
fn numbers_without_a_scale_stay() {
    let mut net = Net::new();
    let x = net.input("x");
    let q = net.op("QUANTIZE", &[x], tensor("q", ElementType::Int8, None));
    let r = net.op("RELU", &[q], tensor("r", ElementType::Int8, None));
    let y = net.float("DEQUANTIZE", "y", r);
    let (new, io) = converted(&*net.file(&[y]));
    assert_eq!((told(&*new).0, told(&*new).1, io.kept.len()), (vec!["x"], vec!["y"], 2));
}

#[test]
fn only_tflite_models_can_change() {
    let mut net = Net::new();
    let x = net.input("x");
    let y = net.float("RELU", "y", x);
    net.0.output(y);
    let error = GraphFile::from(net.0.build().unwrap()).with_quantized_io().unwrap_err();
    assert!(error.to_string().contains("only those of a `.tflite` model"), "{error}");
}
