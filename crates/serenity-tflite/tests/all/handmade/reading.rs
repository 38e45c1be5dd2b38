//! What is read, and what is refused.

use crate::handmade::file::{
    File, INT8, INT32, STRING, Sub, Tensor, Value, activation, constant, diamond, operator, single,
};
use serde_json::json;
use serenity_ir::{Graph, OpId, Quantization, TensorId, UnknownKind};
use serenity_tflite::{Error, Model, OFFLINE_PLAN, ReadOptions, RefusedPlan, Storage};

fn read(file: &File) -> Model {
    Model::parse(file.bytes()).unwrap()
}

fn refusal(sub_graph: Sub) -> String {
    Model::parse(single(sub_graph).bytes()).unwrap_err().to_string()
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.tensors().iter().map(|tensor| tensor.name.as_str()).collect()
}

/// Two operators in a row, to be spoiled.
fn chain() -> Sub {
    Sub {
        tensors: vec![activation("x", 10), activation("a", 10), activation("y", 10)],
        operators: vec![operator("RELU", &[0], &[1]), operator("RELU", &[1], &[2])],
        inputs: vec![0],
        outputs: vec![2],
    }
}

#[test]
fn activations_are_the_graph_and_constants_are_attributes() {
    let model = read(&diamond());
    let graph = &model.graphs()[0];
    assert_eq!(names(graph), ["x", "a", "b", "y", "z"]);
    assert_eq!(graph.name(), "main");
    let conv = graph.op(OpId(0));
    assert_eq!((conv.name.as_str(), conv.kind.as_str()), ("a", "CONV_2D"));
    assert_eq!(conv.inputs, [TensorId(0)]);
    let expected = json!({
        "stride": [3, 2], "padding": "valid", "dilation": [1, 1], "activation": "relu6", "kernel": [3, 3], "bias": false,
        "constants": {"1": {"name": "weights", "shape": [1, 3, 3, 4], "dtype": "int8", "values": vec![1; 36]}},
        "absent": [2],
    });
    assert_eq!(json!(conv.attributes), expected);
    let concat = graph.op(OpId(2));
    assert_eq!(concat.inputs, [TensorId(1), TensorId(2), TensorId(1)]);
    assert_eq!(json!(concat.attributes), json!({"axis": 0, "activation": "none"}));
    assert_eq!(graph.op(OpId(3)).attributes["axes"], json!([0, 0]));
    assert_eq!(graph.op(OpId(3)).attributes["keep_dims"], json!(true));
    let quantization = Quantization { scales: vec![0.5], zero_points: vec![3], axis: 0 };
    assert_eq!(graph.tensor(TensorId(2)).quantization, Some(quantization));
    assert_eq!(graph.tensor(TensorId(1)).quantization, None);
}

#[test]
fn the_files_own_tables_are_offered() {
    let model = read(&diamond());
    let tables = &model.sub_graphs()[0];
    assert_eq!(tables.tensors().len(), 7);
    assert_eq!(tables.tensors()[2].storage, Storage::Constant);
    assert_eq!(model.constant(0, 2), Some([1; 36].as_slice()));
    assert_eq!(model.constant(0, 0), None);
    assert_eq!(tables.graph_tensor(2), None);
    assert_eq!(tables.graph_tensor(3), Some(TensorId(2)));
    assert_eq!(tables.file_tensor(TensorId(4)), Some(6));
    assert_eq!(tables.operators()[0].inputs, [Some(0), Some(2), None]);
    assert_eq!(model.description(), "made by hand");
}

#[test]
fn open_dimensions_count_as_the_file_gives_them() {
    let mut sub_graph = chain();
    for tensor in &mut sub_graph.tensors {
        tensor.signature = vec![-1];
        tensor.shape = vec![20];
    }
    let model = read(&single(sub_graph));
    let tensor = model.graphs()[0].tensor(TensorId(1));
    assert_eq!(tensor.bytes, 20);
    assert_eq!(tensor.extra["shape_signature"], json!([-1]));
    assert_eq!(model.sub_graphs()[0].tensors()[1].shape_signature, Some(vec![-1]));
}

#[test]
fn unknown_operators_are_called_by_number_and_custom_ones_by_name() {
    let mut sub_graph = chain();
    sub_graph.operators[0].kind = "newer";
    sub_graph.operators[1].kind = "CUSTOM:Mine";
    let model = read(&single(sub_graph));
    let kinds: Vec<&str> = model.graphs()[0].ops().iter().map(|op| op.kind.as_str()).collect();
    assert_eq!(kinds, ["BUILTIN_1000", "CUSTOM:Mine"]);
}

#[test]
fn what_is_not_known_is_told() {
    let told = |sub_graph: Sub| {
        let model = read(&single(sub_graph));
        model.graphs()[0]
            .unknown()
            .iter()
            .map(|unknown| (unknown.kind, unknown.name.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(chain()), []);
    // Two strangers keep their order, because nobody says that they need not; one alone is tied to nothing.
    let mut sub_graph = chain();
    sub_graph.operators[0].kind = "newer";
    assert_eq!(told(sub_graph.clone()), []);
    sub_graph.operators[1].kind = "CUSTOM:Mine";
    let held = |name: &str| (UnknownKind::Order, name.to_owned());
    assert_eq!(told(sub_graph.clone()), [held("a"), held("y")]);
    // Those that are known to be pure are free.
    sub_graph.operators[1].kind = "CUSTOM:TFLite_Detection_PostProcess";
    assert_eq!(told(sub_graph), []);
    // A variable is state that is known.
    let mut sub_graph = chain();
    sub_graph.tensors.push(Tensor { variable: true, ..activation("state", 4) });
    sub_graph.operators[0].inputs.push(3);
    sub_graph.operators[1].inputs.push(3);
    assert_eq!(told(sub_graph), []);
    // Text has no size before the run.
    let mut sub_graph = chain();
    sub_graph.tensors[1].dtype = STRING;
    assert_eq!(told(sub_graph), [(UnknownKind::Size, "a".to_owned())]);
}

#[test]
fn outputs_may_be_inputs_constants_unused_or_read_again() {
    let mut sub_graph = chain();
    sub_graph.tensors.push(constant("c", &[2], INT8, 1));
    sub_graph.tensors.push(activation("unused", 5));
    sub_graph.tensors.push(activation("untouched", 6));
    sub_graph.operators[1].outputs.push(4);
    sub_graph.outputs = vec![0, 1, 3, 2];
    let model = read(&File { buffers: vec![vec![7, 8]], ..single(sub_graph) });
    let graph = &model.graphs()[0];
    assert_eq!(graph.outputs(), [TensorId(0), TensorId(1), TensorId(2)]);
    assert_eq!(model.sub_graphs()[0].outputs(), [0, 1, 3, 2]);
    assert_eq!(names(graph), ["x", "a", "y", "unused", "untouched"]);
}

#[test]
fn constants_fold_only_if_asked_to() {
    let mut sub_graph = chain();
    sub_graph.tensors.push(constant("half", &[10], INT8, 1));
    sub_graph.tensors.push(activation("whole", 10));
    sub_graph.operators.insert(0, operator("DEQUANTIZE", &[3], &[4]));
    sub_graph.operators[2] = operator("ADD", &[1, 4], &[2]);
    let file = File { buffers: vec![vec![7; 10]], ..single(sub_graph) };
    assert_eq!(read(&file).graphs()[0].ops().len(), 3);
    let folded = Model::parse_with(file.bytes(), ReadOptions { fold_constants: true }).unwrap();
    let graph = &folded.graphs()[0];
    assert_eq!((graph.ops().len(), names(graph)), (2, vec!["x", "a", "y"]));
    assert_eq!(folded.sub_graphs()[0].file_operator(OpId(0)), Some(1));
    assert_eq!(graph.op(OpId(1)).attributes["constants"]["1"]["name"], "whole");
    assert!(folded.reordered(&[vec![OpId(0), OpId(1)]]).is_err());
}

#[test]
fn an_empty_tensor_from_nowhere_is_an_empty_constant() {
    let mut sub_graph = chain();
    sub_graph.tensors.push(Tensor { dtype: INT32, ..activation("nothing", 0) });
    sub_graph.operators[1].inputs.push(3);
    let model = read(&single(sub_graph));
    assert_eq!(model.graphs()[0].op(OpId(1)).inputs, [TensorId(1)]);
    assert_eq!(model.sub_graphs()[0].tensors()[3].storage, Storage::Constant);
}

#[test]
fn other_files_are_refused() {
    for bytes in [b"".as_slice(), b"TFL3", b"\x08\0\0\0ONNX"] {
        assert_eq!(Model::parse(bytes.to_vec()).unwrap_err(), Error::Identifier);
    }
    let message = Model::parse(b"\x08\0\0\0TFL3".to_vec()).unwrap_err().to_string();
    assert_eq!(
        message,
        "model: the table at byte 8 does not lie within the file's 8 bytes; the file is damaged or cut short"
    );
}

#[test]
fn faults_name_their_place() {
    let mut sub_graph = chain();
    sub_graph.operators[1].inputs = vec![99];
    assert_eq!(refusal(sub_graph), "sub-graph 0, operator 1, inputs: tensor 99 of 3");
    let mut sub_graph = chain();
    sub_graph.outputs = vec![-2];
    assert_eq!(refusal(sub_graph), "sub-graph 0, outputs: tensor -2 of 3");
    let mut sub_graph = chain();
    sub_graph.tensors[2].buffer = 4;
    assert_eq!(refusal(sub_graph), "sub-graph 0, tensor 2: buffer 4 of 1");
    let mut sub_graph = chain();
    sub_graph.tensors[2].shape = vec![1, -5];
    assert_eq!(
        refusal(sub_graph),
        "sub-graph 0, tensor 2 (`y`): the shape [1, -5] has a negative dimension; convert the model with fixed shapes"
    );
    let mut sub_graph = chain();
    sub_graph.tensors[2].shape = vec![i32::MAX; 3];
    assert!(refusal(sub_graph).contains("of int8 has more bytes than can be counted"));
    let mut sub_graph = chain();
    sub_graph.tensors[2].dtype = 77;
    assert_eq!(refusal(sub_graph), "sub-graph 0, tensor 2 (`y`): element type 77 is newer than this program");
    let mut sub_graph = chain();
    sub_graph.operators.swap(0, 1);
    assert_eq!(
        refusal(sub_graph),
        "sub-graph 0, operator 0, inputs: tensor 1 (`a`) is read before anything has written it"
    );
    let mut sub_graph = chain();
    sub_graph.operators[1].outputs = vec![1];
    assert!(refusal(sub_graph).starts_with("sub-graph 0: tensor `a` is written by both"));
}

#[test]
fn a_model_without_operators_passes_on_what_it_is_given() {
    let passes_on = Sub { operators: Vec::new(), outputs: vec![0], ..chain() };
    let model = read(&single(passes_on));
    let graph = &model.graphs()[0];
    assert_eq!(
        (graph.ops().len(), graph.inputs(), graph.outputs()),
        (0, &[TensorId(0)][..], &[TensorId(0)][..])
    );
}

/// As TFLM reads them: any version, any number of sub-graphs, of several the last, and whatever follows the last offset.
#[test]
fn plans_are_read_as_the_runtime_reads_them() {
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let with = |plans: &[Vec<u8>]| {
        let file = File { buffers: plans.to_vec(), ..single(chain()) };
        let metadata = (1..=plans.len() as u32).map(|buffer| (OFFLINE_PLAN, buffer)).collect();
        read(&File { metadata, ..file }).offline_plan()
    };
    let plan = |offsets: &[i32]| [&[1, 1, offsets.len() as i32][..], offsets].concat();
    for version in [-5, 0, 1, 2, 7] {
        for sub_graphs in [-1, 0, 1, 1000] {
            let found = with(&[words(&[version, sub_graphs, 3, 0, -1, 32])]).unwrap().unwrap();
            assert_eq!((found.sub_graphs, found.offsets), (sub_graphs, vec![0, -1, 32]));
        }
    }
    let longer = with(&[[words(&plan(&[0, -1, 32])), vec![5; 7]].concat()]).unwrap().unwrap();
    assert_eq!(longer.offsets, [0, -1, 32]);
    let last = with(&[words(&plan(&[0, -1, 32])), words(&plan(&[-1, -1, 48]))]).unwrap().unwrap();
    assert_eq!(last.offsets, [-1, -1, 48]);
    let wrong_count = RefusedPlan::Count { offsets: 2, tensors: 3 };
    let right = words(&plan(&[0, -1, 32]));
    for plans in [[words(&plan(&[0, 16])), right.clone()], [right.clone(), words(&plan(&[0, 16]))]] {
        assert_eq!(with(&plans), Err(wrong_count.clone()));
    }
    for short in [Vec::new(), words(&[1, 1]), words(&[1, 1, 3, 0, -1]), words(&[1, 1, -1])] {
        assert_eq!(with(&[short]), Err(RefusedPlan::CutShort));
    }
    let outside = RefusedPlan::Outside { tensor: "a".into(), distance: 16 };
    assert_eq!(with(&[words(&plan(&[0, -16, 32]))]), Err(outside));
}

#[test]
fn a_constant_cannot_be_written() {
    let mut sub_graph = chain();
    sub_graph.tensors[2] = constant("y", &[2], INT8, 1);
    let message = Model::parse(File { buffers: vec![vec![7, 8]], ..single(sub_graph) }.bytes());
    assert_eq!(
        message.unwrap_err().to_string(),
        "sub-graph 0, operator 1, outputs: tensor 2 (`y`) is a constant and cannot be written"
    );
}

#[test]
fn bodies_are_listed_and_may_be_empty() {
    let mut main = chain();
    main.operators[0] = operator("IF", &[0], &[1]).with(92, &[(0, Value::Int(1)), (1, Value::Int(2))]);
    main.operators[1] = operator("STABLEHLO_CASE", &[1], &[2]).with(223, &[(0, Value::Ints(vec![2, 1, 2]))]);
    let body =
        Sub { inputs: vec![0], outputs: vec![0], tensors: vec![activation("x", 10)], ..Sub::default() };
    let file = File { sub_graphs: vec![main.clone(), chain(), body], ..File::default() };
    let model = read(&file);
    assert_eq!(model.graphs()[0].op(OpId(0)).attributes["bodies"], json!([1, 2]));
    assert_eq!(model.sub_graphs()[0].operators()[1].bodies, [2, 1, 2]);
    assert_eq!(model.graphs()[2].ops().len(), 0);

    let missing = File { sub_graphs: vec![main.clone(), chain()], ..File::default() };
    let message = Model::parse(missing.bytes()).unwrap_err().to_string();
    assert_eq!(message, "sub-graph 0, operator 0, options: sub-graph 2 of 2");
    let endless = File { sub_graphs: vec![main.clone(), main.clone(), main], ..File::default() };
    let message = Model::parse(endless.bytes()).unwrap_err().to_string();
    assert_eq!(message, "sub-graph 0: it runs itself, or a sub-graph that does");
}

#[test]
fn an_ethos_u_operator_has_working_memory() {
    let sub_graph = |kind| Sub {
        tensors: vec![activation("x", 16), activation("scratch", 4096), activation("y", 8)],
        inputs: vec![0],
        outputs: vec![2],
        operators: vec![operator(kind, &[1, 0], &[2])],
    };
    let model = Model::parse(single(sub_graph("CUSTOM:ethos-u")).bytes()).unwrap();
    let graph = &model.graphs()[0];
    let names: Vec<&str> = graph.inputs().iter().map(|&t| graph.tensor(t).name.as_str()).collect();
    assert_eq!(names, ["x", "scratch"]);
    // The file itself takes but one input.
    assert_eq!(model.sub_graphs()[0].inputs(), [0]);
    assert!(refusal(sub_graph("CUSTOM:other")).contains("`scratch`) is read before anything has written it"));
}
