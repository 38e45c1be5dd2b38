//! What changes in a file, and what does not.

use crate::handmade::file::{
    File, INT8, INT32, Operator, Sub, Value, activation, constant, diamond, operator, single,
};
use crate::handmade::patch::{field, put, target, word};
use serde_json::json;
use serenity_ir::{ElementType, OpId, Quantization, TensorId};
use serenity_tflite::{
    Error, Model, NewOptions, NewTensor, OFFLINE_PLAN, OfflinePlan, OperatorSource, OptionValue,
};

fn ops(numbers: &[u32]) -> Vec<OpId> {
    numbers.iter().copied().map(OpId).collect()
}

fn kinds(model: &Model) -> Vec<&str> {
    model.graphs()[0].ops().iter().map(|op| op.kind.as_str()).collect()
}

#[test]
fn another_order_keeps_every_byte_but_the_list_of_operators() {
    let model = Model::parse(diamond().bytes()).unwrap();
    let written = model.reordered(&[ops(&[1, 0, 2, 3])]).unwrap();
    assert_eq!(written.len(), model.bytes().len());
    let changed: Vec<usize> = (0..written.len()).filter(|&i| written[i] != model.bytes()[i]).collect();
    assert!(changed.len() <= 8 && changed[changed.len() - 1] - changed[0] < 8, "{changed:?}");
    let read = Model::parse(written).unwrap();
    assert_eq!(kinds(&read), ["RELU", "CONV_2D", "CONCATENATION", "MEAN"]);
    assert_eq!(read.reordered(&[ops(&[1, 0, 2, 3])]).unwrap(), model.bytes());
}

#[test]
fn orders_that_cannot_run_are_refused() {
    let model = Model::parse(diamond().bytes()).unwrap();
    for order in [ops(&[2, 0, 1, 3]), ops(&[0, 1, 2]), ops(&[0, 1, 2, 3, 3])] {
        assert!(matches!(model.reordered(&[order]), Err(Error::Order { sub_graph: 0, .. })));
    }
    assert!(matches!(model.reordered(&[]), Err(Error::Edit(_))));
}

#[test]
fn sub_graphs_that_share_a_list_of_operators_get_a_new_root() {
    let sub_graph = diamond().sub_graphs.remove(0);
    let mut bytes = File { sub_graphs: vec![sub_graph.clone(), sub_graph], ..diamond() }.bytes();
    let sub_graphs = target(&bytes, field(&bytes, word(&bytes, 0), 2));
    let lists = [4, 8].map(|slot| field(&bytes, target(&bytes, sub_graphs + slot), 3));
    let shared = target(&bytes, lists[0]);
    put(&mut bytes, lists[1], (shared - lists[1]) as u32);
    let model = Model::parse(bytes).unwrap();
    let written = model.reordered(&[ops(&[0, 1, 2, 3]), ops(&[1, 0, 2, 3])]).unwrap();
    assert!(written.len() > model.bytes().len() && written.ends_with(model.bytes()));
    let read = Model::parse(written).unwrap();
    let first = |sub_graph: usize| read.graphs()[sub_graph].op(OpId(0)).kind.as_str();
    assert_eq!((first(0), first(1)), ("CONV_2D", "RELU"));
}

#[test]
fn a_plan_for_the_old_order_is_dropped_and_control_dependencies_move() {
    let plan = OfflinePlan { sub_graphs: 1, offsets: vec![0; 7] };
    let file = File {
        buffers: vec![vec![1; 36], vec![0; 8], plan.to_bytes(), vec![1, 1, 1, 2, 4]],
        metadata: vec![(OFFLINE_PLAN, 3), ("model_control_dependencies", 4)],
        ..diamond()
    };
    let model = Model::parse(file.bytes()).unwrap();
    assert_eq!(model.offline_plan(), Ok(Some(plan)));
    let mut edit = model.edit();
    edit.set_operators(0, [1, 0, 2, 3].map(OperatorSource::Kept).to_vec()).unwrap();
    assert_eq!(edit.finish().unwrap().dropped_metadata, [OFFLINE_PLAN]);
    assert_eq!(model.reordered(&[ops(&[0, 1, 2, 3])]).unwrap(), model.bytes());
    let read = Model::parse(model.reordered(&[ops(&[1, 0, 2, 3])]).unwrap()).unwrap();
    assert_eq!(read.offline_plan(), Ok(None));
    assert_eq!(read.metadata_bytes("model_control_dependencies"), Some([1, 1, 1, 0, 4].as_slice()));
}

#[test]
fn a_new_root_adds_and_replaces() {
    let model = Model::parse(diamond().bytes()).unwrap();
    let mut edit = model.edit();
    let buffer = edit.add_buffer(vec![9; 20]);
    let quantization = Some(Quantization { scales: vec![0.25, 0.5], zero_points: vec![1, 2], axis: 0 });
    let dtype = ElementType::Int8;
    let weight = NewTensor {
        name: "w".into(),
        shape: vec![20],
        shape_signature: None,
        dtype: dtype.clone(),
        buffer,
        quantization,
    };
    let sum = NewTensor {
        name: "s".into(),
        shape: vec![20],
        shape_signature: None,
        dtype,
        buffer: 0,
        quantization: None,
    };
    let weight = edit.add_tensor(0, weight).unwrap();
    let sum = edit.add_tensor(0, sum).unwrap();
    assert_eq!((weight, sum), (7, 8));
    let add = edit.operator_code("ADD", 1).unwrap();
    edit.set_operators(
        0,
        vec![
            OperatorSource::Kept(0),
            OperatorSource::New {
                code: add,
                inputs: vec![Some(1), Some(weight)],
                outputs: vec![Some(sum)],
                options: NewOptions::Table { kind: 11, fields: vec![(0, OptionValue::Byte(1))] },
            },
            OperatorSource::Rewired {
                operator: 2,
                inputs: vec![Some(0), Some(1), Some(sum)],
                outputs: vec![Some(4)],
            },
            OperatorSource::Kept(3),
        ],
    )
    .unwrap();
    edit.retire_tensor(0, 3).unwrap();
    edit.set_metadata("note", b"hello".to_vec());
    let edited = edit.finish().unwrap();
    assert!(edited.bytes.ends_with(model.bytes()));
    let read = Model::parse(edited.bytes).unwrap();
    assert_eq!(kinds(&read), ["CONV_2D", "ADD", "CONCATENATION", "MEAN"]);
    let graph = &read.graphs()[0];
    assert_eq!(graph.op(OpId(1)).attributes["activation"], "relu");
    assert_eq!(graph.op(OpId(1)).attributes["constants"]["1"]["quantization"]["axis"], 0);
    assert_eq!(graph.op(OpId(2)).attributes["axis"], 0);
    assert_eq!(read.constant(0, 7), Some([9; 20].as_slice()));
    assert_eq!(read.metadata_bytes("note"), Some(b"hello".as_slice()));
    let retired = read.sub_graphs()[0].graph_tensor(3).unwrap();
    assert_eq!((retired, graph.tensor(retired).bytes), (TensorId(2), 0));
    assert_eq!(read.description(), "made by hand");
}

/// A convolution without padding, and more of its options.
fn convolution(more: &[(u16, Value)]) -> Model {
    let mut options = vec![(0, Value::Byte(1)), (1, Value::Int(2)), (2, Value::Int(3)), (3, Value::Byte(1))];
    options.extend_from_slice(more);
    let file = single(Sub {
        tensors: vec![
            activation("x", 4),
            activation("p", 4),
            activation("y", 4),
            constant("w", &[1, 2, 2, 1], INT8, 1),
        ],
        operators: vec![operator("RELU", &[0], &[1]), operator("CONV_2D", &[1, 3], &[2]).with(1, &options)],
        inputs: vec![0],
        outputs: vec![2],
    });
    Model::parse(File { buffers: vec![vec![1; 4]], ..file }.bytes()).unwrap()
}

/// The convolution reads another tensor, and has other options.
fn with_options(model: &Model, options: &serde_json::Value) -> Result<Model, Error> {
    let mut edit = model.edit();
    let options = options.as_object().unwrap().clone();
    let (inputs, outputs) = (vec![Some(0), Some(3)], vec![Some(2)]);
    edit.set_operators(0, vec![OperatorSource::Changed { operator: 1, inputs, outputs, options }])?;
    edit.retire_tensor(0, 1)?;
    Model::parse(edit.finish()?.bytes)
}

#[test]
fn options_change_by_the_names_of_attributes() {
    // Dilations, and the type of the bias.
    let model = convolution(&[(4, Value::Int(5)), (6, Value::Byte(INT32))]);
    let before = model.graphs()[0].op(OpId(1));
    let read = with_options(&model, &json!({"padding": "same", "activation": "relu6"})).unwrap();
    let after = read.graphs()[0].op(OpId(0));
    let mut expected = before.attributes.clone();
    expected.insert("padding".into(), json!("same"));
    expected.insert("activation".into(), json!("relu6"));
    assert_eq!(after.attributes, expected);
    assert_eq!(after.attributes["quantized_bias_type"], "int32");
    assert_eq!(
        (&after.attributes["stride"], &after.attributes["dilation"]),
        (&json!([3, 2]), &json!([1, 5]))
    );
    assert_eq!((after.inputs.as_slice(), &after.name), ([TensorId(0)].as_slice(), &before.name));
    assert!(read.bytes().ends_with(model.bytes()));
}

#[test]
fn options_that_cannot_be_changed_are_named() {
    let model = convolution(&[]);
    let error =
        |model: &Model, options: &serde_json::Value| with_options(model, options).unwrap_err().to_string();
    assert!(
        error(&model, &json!({"padding": "full"}))
            .contains("operator 1: its option `padding` cannot be set to \"full\"")
    );
    assert!(error(&model, &json!({"stride": [1, 1]})).contains("`stride`"));
    assert!(error(&model, &json!({"no_such": 1})).contains("`no_such`"));
    let newer = convolution(&[(7, Value::Int(1))]);
    assert!(error(&newer, &json!({"padding": "same"})).contains("a field 7 that is newer than this program"));
    let without = Model::parse(diamond().bytes()).unwrap();
    let mut edit = without.edit();
    let (inputs, outputs) = (vec![Some(0)], vec![Some(1)]);
    let changed = OperatorSource::Changed { operator: 1, inputs, outputs, options: serde_json::Map::new() };
    edit.set_operators(0, vec![changed]).unwrap();
    assert!(edit.finish().unwrap_err().to_string().contains("no options"));
}

#[test]
fn edits_that_make_no_sense_are_refused() {
    let model = Model::parse(diamond().bytes()).unwrap();
    let with_operators = |operators: Vec<OperatorSource>| {
        let mut edit = model.edit();
        edit.set_operators(0, operators).unwrap();
        edit.finish().unwrap_err().to_string()
    };
    let kept = OperatorSource::Kept;
    assert_eq!(
        with_operators(vec![kept(0), kept(0)]),
        "the model cannot be rewritten: sub-graph 0: operator 0 is listed twice"
    );
    assert_eq!(with_operators(vec![kept(9)]), "the model cannot be rewritten: sub-graph 0: operator 9 of 4");
    assert_eq!(
        with_operators(vec![kept(2), kept(3)]),
        "sub-graph 0, operator 0, inputs: tensor 1 (`a`) is read before anything has written it"
    );
    let dangling = OperatorSource::Rewired { operator: 1, inputs: vec![Some(50)], outputs: vec![Some(3)] };
    assert_eq!(
        with_operators(vec![kept(0), dangling, kept(2), kept(3)]),
        "sub-graph 0, operator 1, inputs: tensor 50 of 7"
    );
    assert!(model.edit().operator_code("NO_SUCH_THING", 1).is_err());
    assert!(model.edit().retire_tensor(0, 7).is_err());
    assert!(model.edit().set_operators(1, Vec::new()).is_err());
}

#[test]
fn a_field_that_nobody_knows_is_kept_in_place_and_refused_in_front() {
    let model = Model::parse(File { newer_field: true, ..diamond() }.bytes()).unwrap();
    assert!(model.reordered(&[ops(&[1, 0, 2, 3])]).is_ok());
    let mut edit = model.edit();
    edit.set_metadata("note", Vec::new());
    assert_eq!(
        edit.finish().unwrap_err().to_string(),
        "the model cannot be rewritten: the model has a field 10 that is newer than this program, so it cannot be carried over"
    );
}

#[test]
fn state_stays_in_order_also_by_hand() {
    let main = Sub {
        tensors: vec![activation("x", 1), activation("a", 1), activation("b", 1)],
        operators: vec![operator("CUSTOM:Mine", &[0], &[1]), operator("CUSTOM:Mine", &[0], &[2])],
        inputs: vec![0],
        outputs: vec![1, 2],
    };
    let model = Model::parse(single(main).bytes()).unwrap();
    let mut edit = model.edit();
    edit.set_operators(0, vec![OperatorSource::Kept(1), OperatorSource::Kept(0)]).unwrap();
    assert!(edit.finish().unwrap_err().to_string().contains("both touch the same state"));
}

/// As in models of more than 2 GB: weights and options behind the flatbuffer, counted from the start of the file.
#[test]
fn bytes_behind_the_flatbuffer_are_found_after_the_move() {
    let file = |end: u64| File {
        outside: vec![(end, 4)],
        ..single(Sub {
            tensors: vec![
                activation("x", 4),
                activation("a", 4),
                activation("b", 4),
                constant("weights", &[4], INT8, 1),
            ],
            operators: vec![
                Operator { large_options: Some((end + 4, 3)), ..operator("CUSTOM:Mine", &[0, 3], &[1]) },
                operator("CUSTOM:SignalWindow", &[0], &[2]),
            ],
            inputs: vec![0],
            outputs: vec![1, 2],
        })
    };
    let end = file(100).bytes().len() as u64;
    let mut bytes = file(end).bytes();
    bytes.extend(b"dataopt");
    let model = Model::parse(bytes.clone()).unwrap();
    assert_eq!(
        (model.constant(0, 3), model.custom_options(0, 0)),
        (Some(b"data".as_slice()), b"opt".as_slice())
    );

    let mut edit = model.edit();
    edit.set_operators(
        0,
        vec![
            OperatorSource::Kept(1),
            OperatorSource::Rewired { operator: 0, inputs: vec![Some(2), Some(3)], outputs: vec![Some(1)] },
        ],
    )
    .unwrap();
    let read = Model::parse(edit.finish().unwrap().bytes).unwrap();
    assert_eq!(
        (read.constant(0, 3), read.custom_options(0, 1)),
        (Some(b"data".as_slice()), b"opt".as_slice())
    );

    bytes.truncate(bytes.len() - 4);
    assert_eq!(
        Model::parse(bytes).unwrap_err().to_string(),
        format!("buffer 1: its 4 bytes at byte {end} do not lie within the file's {} bytes", end + 3)
    );
}
