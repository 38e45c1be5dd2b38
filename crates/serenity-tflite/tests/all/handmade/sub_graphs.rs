//! Sub-graphs that are added: parts of the main one that move there, and loops that run them.

use crate::handmade::file::{File, INT8, INT32, Sub, Tensor, Value, activation, constant, operator, single};
use serde_json::json;
use serenity_ir::{Attributes, ElementType, OpId};
use serenity_tflite::{Edit, Error, Model, NewOptions, NewTensor, OFFLINE_PLAN, OfflinePlan, OperatorSource};

/// A convolution with a scale for each of its two channels, an image of two rows, and a plan for both.
fn convolution() -> Model {
    let plan = OfflinePlan { sub_graphs: 1, offsets: vec![-1; 4] };
    let file = File {
        buffers: vec![vec![1, 2], vec![7; 8], plan.to_bytes()],
        metadata: vec![(OFFLINE_PLAN, 3)],
        ..single(Sub {
            tensors: vec![
                Tensor { shape: vec![1, 2, 1, 1], ..activation("x", 0) },
                Tensor {
                    scales: vec![0.5, 0.25],
                    zero_points: vec![0, 0],
                    ..constant("w", &[2, 1, 1, 1], INT8, 1)
                },
                constant("b", &[2], INT32, 2),
                Tensor { shape: vec![1, 2, 1, 2], ..activation("y", 0) },
            ],
            operators: vec![operator("CONV_2D", &[0, 1, 2], &[3]).with(
                1,
                &[(0, Value::Byte(0)), (1, Value::Int(1)), (2, Value::Int(1)), (3, Value::Byte(1))],
            )],
            inputs: vec![0],
            outputs: vec![3],
        })
    };
    Model::parse(file.bytes()).unwrap()
}

fn tensor(name: &str, shape: &[u64], dtype: ElementType) -> NewTensor {
    NewTensor {
        name: name.into(),
        shape: shape.to_vec(),
        shape_signature: None,
        dtype,
        buffer: 0,
        quantization: None,
    }
}

fn numbers(edit: &mut Edit, sub_graph: usize, values: &[i32]) -> usize {
    let buffer = edit.add_buffer(values.iter().flat_map(|value| value.to_le_bytes()).collect());
    let shape = vec![values.len() as u64];
    let dtype = ElementType::Int32;
    edit.add_tensor(sub_graph, NewTensor { buffer, ..tensor("", &shape, dtype) }).unwrap()
}

fn new(edit: &mut Edit, kind: &str, inputs: &[usize], output: usize) -> OperatorSource {
    new_with(edit, kind, inputs, &[output], &Attributes::new())
}

fn new_with(
    edit: &mut Edit,
    kind: &str,
    inputs: &[usize],
    outputs: &[usize],
    attributes: &Attributes,
) -> OperatorSource {
    let some = |list: &[usize]| list.iter().copied().map(Some).collect();
    OperatorSource::New {
        code: edit.operator_code(kind, 1).unwrap(),
        inputs: some(inputs),
        outputs: some(outputs),
        options: NewOptions::of(kind, attributes).unwrap(),
    }
}

/// `CONV_2D` in a body that runs twice on the whole image. What it computes does not matter here.
fn looped(model: &Model) -> Result<Model, Error> {
    let mut edit = model.edit();
    let states = [("i", vec![1], ElementType::Int32), ("z", vec![1, 2, 1, 2], ElementType::Int8)];
    let [condition, body] = ["condition", "body"].map(|name| edit.add_sub_graph(name, 0).unwrap());
    for sub_graph in [condition, body] {
        for (name, shape, dtype) in states.clone() {
            edit.add_tensor(sub_graph, tensor(name, &shape, dtype))?;
        }
    }

    let goes_on = edit.add_tensor(condition, tensor("goes on", &[1], ElementType::Bool))?;
    let end = numbers(&mut edit, condition, &[2]);
    let less = new(&mut edit, "LESS", &[0, end], goes_on);
    edit.set_operators(condition, vec![less])?;
    edit.set_inputs_outputs(condition, vec![0, 1], vec![goes_on])?;

    let [row, made, next] = [
        ("row", vec![1, 2, 1, 1], ElementType::Int8),
        ("made", vec![1, 2, 1, 2], ElementType::Int8),
        ("next", vec![1], ElementType::Int32),
    ]
    .map(|(name, shape, dtype)| edit.add_tensor(body, tensor(name, &shape, dtype)).unwrap());
    let [begin, size] = [[0; 4], [1, 2, 1, 1]].map(|values| numbers(&mut edit, body, &values));
    let [table, one] = [[1, 2].as_slice(), &[1]].map(|values| numbers(&mut edit, body, values));
    let [weights, bias] = [1, 2].map(|tensor| edit.copy_constant(body, tensor).unwrap());
    let operators = vec![
        new(&mut edit, "SLICE", &[1, begin, size], row),
        OperatorSource::Changed {
            operator: 0,
            inputs: [row, weights, bias].map(Some).to_vec(),
            outputs: vec![Some(made)],
            options: json!({"padding": "valid"}).as_object().unwrap().clone(),
        },
        new(&mut edit, "SLICE", &[table, 0, one], next),
    ];
    edit.set_operators(body, operators)?;
    edit.set_inputs_outputs(body, vec![0, 1], vec![next, made])?;

    let [z, i] = [("z0", vec![1, 2, 1, 2], ElementType::Int8), ("i1", vec![1], ElementType::Int32)]
        .map(|(name, shape, dtype)| edit.add_tensor(0, tensor(name, &shape, dtype)).unwrap());
    let zero = numbers(&mut edit, 0, &[0]);
    let concat = json!({"axis": 3}).as_object().unwrap().clone();
    let bodies = json!({"bodies": [condition, body]}).as_object().unwrap().clone();
    let operators = vec![
        new_with(&mut edit, "CONCATENATION", &[0, 0], &[z], &concat),
        new_with(&mut edit, "WHILE", &[zero, z], &[i, 3], &bodies),
    ];
    edit.set_operators(0, operators)?;
    let edited = edit.finish()?;
    assert_eq!(edited.dropped_metadata, [OFFLINE_PLAN]);
    Model::parse(edited.bytes)
}

#[test]
fn operators_move_to_new_sub_graphs_with_their_options_and_constants() {
    let model = convolution();
    let read = looped(&model).unwrap();
    assert!(read.bytes().ends_with(&model.bytes()[model.bytes().len() - 100..]));
    assert_eq!(read.offline_plan(), Ok(None));
    let names: Vec<&str> = read.sub_graphs().iter().map(serenity_tflite::SubGraph::name).collect();
    assert_eq!(names, ["main", "condition", "body"]);
    let [main, condition, body] = read.graphs() else { panic!("{:?}", read.graphs()) };
    assert_eq!(main.op(OpId(1)).bodies().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(condition.op(OpId(0)).constant(1).unwrap().values(), Some(vec![2]));
    let (before, after) = (model.graphs()[0].op(OpId(0)), body.op(OpId(1)));
    let mut expected = before.attributes.clone();
    expected.insert("padding".into(), json!("valid"));
    assert_eq!(after.attributes, expected);
    assert_eq!(after.attributes["constants"]["1"]["quantization"]["scales"], json!([0.5, 0.25]));

    let sub_graph = &read.sub_graphs()[2];
    let weights = sub_graph.operators()[1].inputs[1].unwrap();
    let (copy, old) = (&sub_graph.tensors()[weights], &read.sub_graphs()[0].tensors()[1]);
    assert_eq!((copy, copy.buffer), (old, 1));
}

#[test]
fn what_a_new_sub_graph_cannot_hold_is_refused() {
    let model = convolution();
    let mut edit = model.edit();
    assert!(edit.add_sub_graph("far", 1).is_err());
    assert!(edit.set_inputs_outputs(1, vec![0], vec![3]).is_err());
    assert!(edit.copy_constant(0, 1).is_err());
    let body = edit.add_sub_graph("body", 0).unwrap();
    assert_eq!(body, 1);
    assert!(edit.retire_tensor(body, 0).is_err());
    let error = edit.copy_constant(body, 0).unwrap_err().to_string();
    assert!(error.ends_with("tensor `x` is not a constant"), "{error}");
    let mut kept = edit.clone();
    kept.set_operators(body, vec![OperatorSource::Kept(0)]).unwrap();
    let error = kept.finish().unwrap_err().to_string();
    assert!(error.contains("operator 0 cannot go to sub-graph 1: the tensors that it names"), "{error}");
    edit.set_inputs_outputs(body, vec![0], Vec::new()).unwrap();
    assert_eq!(edit.finish().unwrap_err().to_string(), "sub-graph 1, inputs: tensor 0 of 0");
}

#[test]
fn operators_on_state_stay_where_they_are() {
    let main = Sub {
        tensors: vec![activation("x", 1), activation("a", 1), activation("b", 1)],
        operators: vec![operator("CUSTOM:Mine", &[0], &[1]), operator("CUSTOM:Mine", &[1], &[2])],
        inputs: vec![0],
        outputs: vec![2],
    };
    let model = Model::parse(single(main).bytes()).unwrap();
    let mut edit = model.edit();
    let body = edit.add_sub_graph("body", 0).unwrap();
    for name in ["x", "a"] {
        edit.add_tensor(body, tensor(name, &[1], ElementType::Int8)).unwrap();
    }
    let moved = OperatorSource::Rewired { operator: 0, inputs: vec![Some(0)], outputs: vec![Some(1)] };
    edit.set_operators(body, vec![moved]).unwrap();
    assert!(edit.finish().unwrap_err().to_string().contains("it must keep its place among others"));
}

#[test]
fn options_come_from_attributes() {
    let of = |kind: &str, attributes: serde_json::Value| {
        NewOptions::of(kind, attributes.as_object().unwrap()).map_err(|error| error.to_string())
    };
    let reshape = of("RESHAPE", json!({"new_shape": [1, -1]})).unwrap();
    let ints = serenity_tflite::OptionValue::Ints(vec![1, -1]);
    assert_eq!(reshape, NewOptions::Table { kind: 17, fields: vec![(0, ints)] });
    let by_operand = of("RESHAPE", json!({"constants": {"1": {"shape": [1], "values": [4]}}}));
    assert_eq!(by_operand, Ok(NewOptions::Table { kind: 17, fields: Vec::new() }));
    let refused = |kind, attributes| of(kind, attributes).unwrap_err();
    assert!(refused("RESHAPE", json!({})).ends_with("a new `RESHAPE` with no shape"));
    assert!(refused("WHILE", json!({"bodies": [1]})).ends_with("with other than two `bodies`"));
    assert!(refused("CONV_2D", json!({})).contains("not known here"));
}
