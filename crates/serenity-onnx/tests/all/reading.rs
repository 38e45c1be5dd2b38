//! What comes out of small models written by hand.

use crate::wire::*;
use serde_json::json;
use serenity_ir::{Graph, KnownDim, KnownShape, OpId};
use serenity_onnx::{Error, Model, ReadOptions};

fn read(bytes: &[u8]) -> Model {
    Model::parse(bytes, &ReadOptions::default()).unwrap()
}

fn fault(bytes: &[u8]) -> String {
    match Model::parse(bytes, &ReadOptions::default()) {
        Ok(_) => panic!("was read"),
        Err(e) => e.to_string(),
    }
}

fn help(bytes: &[u8]) -> Option<String> {
    Model::parse(bytes, &ReadOptions::default()).err().and_then(|error| error.help())
}

fn with_shape(bytes: &[u8], name: &str, shape: &[u64]) -> Result<Model, Error> {
    Model::parse(
        bytes,
        &ReadOptions { shapes: [(name.to_owned(), shape.to_vec())].into(), ..ReadOptions::default() },
    )
}

fn sizes(graph: &Graph) -> Vec<(&str, u64)> {
    graph.tensors().iter().map(|t| (t.name.as_str(), t.bytes)).collect()
}

#[test]
fn a_convolution_speaks_the_common_words() {
    let bytes = model(&[
        node(
            "Conv",
            &["x", "w", "", "unused"],
            &["y"],
            &[ints_attribute("strides", &[2, 2]), ints_attribute("pads", &[1, 1, 1, 1])],
        ),
        node(
            "MaxPool",
            &["y"],
            &["z"],
            &[ints_attribute("kernel_shape", &[2, 2]), int_attribute("ceil_mode", 1)],
        ),
        initializer(&floats("w", &[16, 3, 3, 3])),
        initializer(&ints("unused", &[7])),
        input("x", &[1, 3, 9, 9]),
        output("z"),
    ]);
    let model = read(&bytes);
    assert_eq!(sizes(model.graph()), [("x", 972), ("y", 1600), ("z", 1024)]);
    let conv = model.graph().op(OpId(0));
    assert_eq!(
        json!(conv.attributes),
        json!({"kernel": [3, 3], "stride": [2, 2], "dilation": [1, 1], "pads": [1, 1, 1, 1],
            "constants": {"1": {"name": "w", "shape": [16, 3, 3, 3], "dtype": "float32"},
                "3": {"name": "unused", "shape": [1], "dtype": "int64", "values": [7]}},
            "absent": [2]})
    );
    let pool = model.graph().op(OpId(1));
    assert_eq!(
        json!(pool.attributes),
        json!({"kernel": [2, 2], "stride": [1, 1], "dilation": [1, 1], "padding": "valid", "ceil_mode": 1})
    );
    // Without a name an op is called after its output.
    assert_eq!((conv.name.as_str(), conv.kind.as_str()), ("y", "Conv"));
}

#[test]
fn numbers_computed_from_shapes_size_a_reshape() {
    let bytes = model(&[
        node("Shape", &["x"], &["s"], &[]),
        node("Gather", &["s", "first"], &["batch"], &[]),
        node("Unsqueeze", &["batch", "zero"], &["batch1"], &[]),
        node("Mul", &["batch1", "two"], &["rows"], &[]),
        node("Concat", &["rows", "rest"], &["target"], &[int_attribute("axis", 0)]),
        node("Reshape", &["x", "target"], &["y"], &[]),
        initializer(&ints("zero", &[0])),
        initializer(&int("first", 0)),
        initializer(&ints("two", &[2])),
        initializer(&ints("rest", &[-1])),
        input("x", &[2, 3, 4]),
        output("y"),
    ]);
    let model = read(&bytes);
    assert!(model.unsized_tensors().is_empty());
    let y = model.graph().tensor(model.graph().outputs()[0]);
    assert_eq!(y.shape.as_deref(), Some(&[4, 6][..]));
    // They read an activation and run: they are ops.
    assert_eq!(model.graph().ops().len(), 6);
}

#[test]
fn nodes_on_constants_are_no_ops_and_come_right_before_their_first_reader() {
    let bytes = model(&[
        node("Constant", &[], &["shape"], &[tensor_attribute("value", &ints("", &[4]))]),
        node("ConstantOfShape", &["shape"], &["late"], &[]),
        node("ConstantOfShape", &["shape"], &["early"], &[]),
        node("Identity", &["late"], &["nobody"], &[]),
        node("Add", &["x", "early"], &["a"], &[]),
        node("Relu", &["x"], &["b"], &[]),
        node("Add", &["b", "late"], &["c"], &[]),
        input("x", &[4]),
        output("a"),
        output("c"),
    ]);
    let model = read(&bytes);
    assert_eq!(sizes(model.graph()), [("x", 16), ("a", 16), ("b", 16), ("c", 16)]);
    let folded: Vec<(usize, &str, u64)> =
        model.folded().iter().map(|f| (f.node, f.name.as_str(), f.bytes)).collect();
    assert_eq!(folded, [(0, "shape", 8), (1, "late", 16), (2, "early", 16), (3, "nobody", 16)]);
    assert_eq!([0, 1, 2].map(|op| model.node_of(OpId(op))), [4, 5, 6]);
    let written = model.reordered(&[OpId(1), OpId(2), OpId(0)]).unwrap();
    let again = read(&written);
    let names: Vec<&str> = again.folded().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["shape", "late", "early", "nobody"]);
    assert_eq!(again.folded().iter().map(|f| f.node).collect::<Vec<_>>(), [1, 2, 4, 6]);
}

#[test]
fn a_constant_that_is_a_result_is_an_op() {
    let constant = node("Constant", &[], &["c"], &[ints_attribute("value_ints", &[1, 2, 3])]);
    let bytes =
        model(&[constant, node("Relu", &["x"], &["y"], &[]), input("x", &[4]), output("y"), output("c")]);
    assert_eq!(sizes(read(&bytes).graph()), [("x", 16), ("c", 24), ("y", 16)]);
}

#[test]
fn inputs_that_have_a_value_are_constants() {
    let bytes = model(&[
        node("Add", &["x", "w"], &["y"], &[]),
        initializer(&floats("w", &[4])),
        input("w", &[4]),
        input("x", &[4]),
        output("y"),
    ]);
    assert_eq!(sizes(read(&bytes).graph()), [("x", 16), ("y", 16)]);
}

#[test]
fn what_a_body_captures_is_read_by_its_op() {
    let inner =
        [node("Add", &["outer", "w"], &["t"], &[]), node("Relu", &["t"], &["r"], &[]), output("r")].concat();
    // One level deeper, through a branch of a branch.
    let nested = [
        node(
            "If",
            &["flag"],
            &["q"],
            &[graph_attribute("then_branch", &inner), graph_attribute("else_branch", &inner)],
        ),
        output("q"),
    ]
    .concat();
    let bytes = model(&[
        node("Relu", &["x"], &["outer"], &[]),
        node(
            "If",
            &["flag"],
            &["y"],
            &[graph_attribute("then_branch", &inner), graph_attribute("else_branch", &nested)],
        ),
        initializer(&floats("w", &[4])),
        record(11, value("flag", 9, &[])),
        input("x", &[4]),
        output("y"),
    ]);
    let model = read(&bytes);
    let op = model.graph().op(OpId(1));
    let names: Vec<&str> = op.inputs.iter().map(|&t| model.graph().tensor(t).name.as_str()).collect();
    assert_eq!(names, ["flag", "outer", "flag"]);
    assert_eq!(op.attributes["captures"], json!(["outer", "w", "flag"]));
    assert_eq!(op.attributes["bodies"], json!([1, 2]));
    assert_eq!(model.graph().tensor(op.outputs[0]).bytes, 16);
    assert!(model.reordered(&[OpId(1), OpId(0)]).is_err());
}

#[test]
fn a_loop_keeps_the_shapes_that_its_turns_keep() {
    let body = [
        node("Relu", &["state"], &["next"], &[]),
        node("Concat", &["grows", "grows"], &["grown"], &[int_attribute("axis", 0)]),
        record(11, record(1, "turn")),
        record(11, record(1, "go")),
        record(11, record(1, "state")),
        record(11, record(1, "grows")),
        output("go"),
        output("next"),
        output("grown"),
    ]
    .concat();
    let bytes = model(&[
        node("Loop", &["turns", "", "x", "x"], &["same", "longer"], &[graph_attribute("body", &body)]),
        initializer(&ints("turns", &[3])),
        input("x", &[4]),
        output("same"),
        output("longer"),
    ]);
    let model = read(&bytes);
    assert_eq!(sizes(model.graph()), [("x", 16), ("same", 16), ("longer", 0)]);
    assert_eq!(model.unsized_tensors(), [model.graph().outputs()[1]]);
    // The caller may know better.
    assert_eq!(sizes(with_shape(&bytes, "longer", &[32]).unwrap().graph())[2], ("longer", 128));
}

#[test]
fn random_and_unknown_ops_keep_their_order() {
    let custom = |outputs: &[&str]| node("Secret", &["x"], outputs, &[record(7, "com.example")]);
    let random_body =
        [node("RandomUniform", &[], &["r"], &[ints_attribute("shape", &[2])]), output("r")].concat();
    let bytes = model(&[
        custom(&["a"]),
        node("Relu", &["x"], &["b"], &[]),
        node(
            "If",
            &["flag"],
            &["c"],
            &[graph_attribute("then_branch", &random_body), graph_attribute("else_branch", &random_body)],
        ),
        node("RandomNormalLike", &["x"], &["d"], &[]),
        record(11, value("flag", 9, &[])),
        input("x", &[4]),
        output("d"),
    ]);
    let model = read(&bytes);
    let graph = model.graph();
    assert_eq!(sizes(graph)[4..], [("c", 8), ("d", 16), ("state#0", 0), ("state#1", 0)]);
    assert_eq!(graph.op(OpId(0)).kind.as_str(), "com.example:Secret");
    assert_eq!(graph.predecessors(OpId(3)), [OpId(2)]);
    assert_eq!(graph.predecessors(OpId(2)), [OpId(0)]);
    assert!(model.reordered(&[0, 3, 2, 1].map(OpId)).is_err());
    assert!(model.reordered(&[1, 0, 2, 3].map(OpId)).is_ok());
    // Nobody knows what a custom operator writes.
    assert_eq!(graph.tensor(model.unsized_tensors()[0]).name, "a");
}

#[test]
fn a_dynamic_input_asks_for_a_shape() {
    let bytes = model(&[node("Relu", &["x"], &["y"], &[]), input("x", &[-1, 3, 8, 8]), output("y")]);
    assert_eq!(fault(&bytes), "the sizes of inputs are left open: `x` [N,3,8,8]");
    assert_eq!(help(&bytes).as_deref(), Some("say how large they are, as in\n  --shape x=1,3,8,8"));
    assert_eq!(sizes(with_shape(&bytes, "x", &[2, 3, 8, 8]).unwrap().graph()), [("x", 1536), ("y", 1536)]);
    let message = |name, shape: &[u64]| with_shape(&bytes, name, shape).err().unwrap().to_string();
    assert_eq!(
        message("x", &[2, 4, 8, 8]),
        "the shape [2,4,8,8] was given for `x`, but the model says [N,3,8,8]"
    );
    assert_eq!(message("x", &[2]), "the shape [2] was given for `x`, but the model says [N,3,8,8]");
    let both = ReadOptions {
        shapes: [("x".into(), vec![1, 3, 8, 8]), ("y".into(), vec![1])].into(),
        ..ReadOptions::default()
    };
    assert!(matches!(Model::parse(&bytes[..], &both), Err(Error::ShapeConflict { .. })));
    let both = ReadOptions {
        shapes: [("x".into(), vec![1, 3, 8, 8]), ("q".into(), vec![1])].into(),
        ..ReadOptions::default()
    };
    assert!(matches!(Model::parse(&bytes[..], &both), Err(Error::UnknownName { .. })));
    let shapeless = record(11, [record(1, "x"), record(2, record(1, number(1, FLOAT)))].concat());
    let bytes = model(&[node("Relu", &["x"], &["y"], &[]), shapeless, output("y")]);
    assert!(help(&bytes).unwrap().contains("  --shape x="));
}

#[test]
fn declared_shapes_fill_gaps_and_yield_to_inference() {
    let bytes = model(&[
        node("NonZero", &["x"], &["gap"], &[]),
        node("Relu", &["x"], &["y"], &[]),
        record(13, value("gap", INT64, &[1, 5])),
        record(13, value("y", FLOAT, &[99])),
        input("x", &[4]),
        output("gap"),
        output("y"),
    ]);
    assert_eq!(sizes(read(&bytes).graph()), [("x", 16), ("gap", 40), ("y", 16)]);
}

#[test]
fn small_types_are_packed_and_sequences_have_no_size() {
    let sequence = record(11, [record(1, "list"), record(2, record(4, []))].concat());
    let bytes = model(&[
        node("SequenceLength", &["list"], &["n"], &[]),
        node("Identity", &["x"], &["y"], &[]),
        sequence,
        record(11, value("x", 22, &[3, 3])),
        output("n"),
        output("y"),
    ]);
    let model = read(&bytes);
    assert_eq!(sizes(model.graph()), [("list", 0), ("x", 5), ("n", 0), ("y", 5)]);
    assert_eq!(model.unsized_tensors().len(), 2);
}

#[test]
fn data_in_other_files_stay_there() {
    let entry = |key: &str, value: &str| record(13, [record(1, key), record(2, value)].concat());
    let external = |file: &str| {
        [floats("w", &[4]), entry("offset", "0"), entry("location", file), number(14, 1)].concat()
    };
    let graph = [
        node("Constant", &[], &["c"], &[tensor_attribute("value", &external("b.bin"))]),
        node("Sum", &["x", "w", "c"], &["y"], &[]),
        initializer(&external("weights/a.bin")),
        input("x", &[4]),
        output("y"),
    ];
    // A function that nobody calls may hold data too.
    let inner = record(7, [record(4, "Constant"), tensor_attribute("value", &external("c.bin"))].concat());
    let function = record(25, [record(1, "F"), record(10, "mine"), inner].concat());
    let bytes = [model(&graph), function].concat();
    let model = read(&bytes);
    assert_eq!(model.side_files(), ["b.bin", "c.bin", "weights/a.bin"]);
    assert_eq!(sizes(model.graph()), [("x", 16), ("y", 16)]);
}

#[test]
fn what_the_quantizer_of_onnx_runtime_writes_is_known() {
    let more = [record(7, "com.microsoft"), int_attribute("axis", 1)];
    let contrib = |op_type, inputs: &[&str], output| node(op_type, inputs, &[output], &more);
    let bytes = model(&[
        contrib("QLinearAdd", &["x", "s", "z", "y", "s", "z", "s", "z"], "a"),
        contrib("QLinearConcat", &["s", "x", "x", "s", "z", "a", "s", "z"], "b"),
        initializer(&floats("s", &[])),
        initializer(&floats("z", &[])),
        input("x", &[2, 1, 8]),
        input("y", &[4, 8]),
        output("b"),
    ]);
    let model = read(&bytes);
    assert_eq!(sizes(model.graph()), [("x", 64), ("y", 128), ("a", 256), ("b", 320)]);
}

#[test]
fn names_without_a_source_and_with_two_are_refused() {
    let relu = |from, to| node("Relu", &[from], &[to], &[]);
    let unsorted = model(&[relu("a", "b"), relu("x", "a"), input("x", &[4]), output("b")]);
    // ONNX Runtime sorts them, and so do we.
    let sorted = read(&unsorted);
    assert_eq!(sorted.graph().ops().iter().map(|op| op.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let written = sorted.reordered(&sorted.graph().file_order()).unwrap();
    assert_ne!(written, unsorted);
    assert_eq!(read(&written).reordered(&sorted.graph().file_order()).unwrap(), written);
    let twice = model(&[relu("x", "a"), relu("x", "a"), input("x", &[4]), output("a")]);
    assert!(fault(&twice).starts_with("node 1 (`a`) defines `a`, which exists already"));
    let missing = model(&[relu("x", "a"), input("x", &[4]), output("z")]);
    assert!(fault(&missing).starts_with("the list of outputs reads `z`"));
    let two_inputs = model(&[relu("x", "a"), input("x", &[4]), input("x", &[4]), output("a")]);
    assert!(fault(&two_inputs).starts_with("the list of inputs defines `x`"));
}

#[test]
fn files_that_are_no_models_say_so() {
    assert_eq!(fault(&[]), "the model has no graph; is this an ONNX file?");
    assert!(fault(b"TFL3 is not this").contains("damaged or no ONNX model"));
    assert!(fault(&model(&[record(1, [])])).contains("node 0 has no operator type"));
    let graph = record(7, [node("Relu", &["x"], &["y"], &[]), input("x", &[4]), output("y")].concat());
    assert!(Model::parse(&graph[..], &ReadOptions::default()).is_ok());
    assert!(fault(&[graph.clone(), graph].concat()).contains("a second `graph`"));
    assert!(fault(&model(&[])).contains("no operators"));
}

#[test]
fn nested_bodies_end_somewhere() {
    let mut graph = node("Relu", &["x"], &["y"], &[]);
    for _ in 0..32 {
        graph = node("If", &["x"], &["y"], &[graph_attribute("then_branch", &graph)]);
    }
    let whole = |graph: &Vec<u8>| model(&[graph.clone(), input("x", &[4]), output("y")]);
    assert!(Model::parse(whole(&graph), &ReadOptions::default()).is_ok());
    for _ in 0..1000 {
        graph = node("If", &["x"], &["y"], &[graph_attribute("then_branch", &graph)]);
    }
    assert!(fault(&whole(&graph)).contains("nested more than 32 deep"));
}

/// A model of operators that ONNX Runtime's optimiser writes: none of them is a secret, so none keeps its place.
#[test]
fn blocked_channels_are_as_many_as_the_weights_say() {
    let blocked = |kind: &str, inputs: &[&str], output: &str, more: &[Vec<u8>]| {
        node(kind, inputs, &[output], &[&[record(7, "com.microsoft.nchwc")], more].concat())
    };
    let kernel = ints_attribute("kernel_shape", &[3, 3]);
    let pads = ints_attribute("pads", &[1, 1, 1, 1]);
    let bytes = model(&[
        blocked("ReorderInput", &["x"], "blocks", &[]),
        blocked("Conv", &["blocks", "w", "", "sum"], "y", &[kernel, pads]),
        blocked("ReorderInput", &["x"], "sum", &[]),
        blocked("Upsample", &["y"], "large", &[ints_attribute("scales", &[1, 1, 2, 2])]),
        blocked("MaxPool", &["large"], "pool", &[ints_attribute("kernel_shape", &[2, 2])]),
        blocked("GlobalAveragePool", &["pool"], "mean", &[]),
        blocked("ReorderOutput", &["mean"], "z", &[int_attribute("channels", 40)]),
        initializer(&floats("w", &[48, 48, 3, 3])),
        input("x", &[1, 40, 4, 4]),
        output("z"),
    ]);
    let read = read(&bytes);
    let bytes_of = |name: &str| sizes(read.graph()).iter().find(|(n, _)| *n == name).unwrap().1;
    let floats = |count: u64| 4 * count;
    assert_eq!(bytes_of("blocks"), floats(48 * 16));
    assert_eq!(bytes_of("y"), floats(48 * 16));
    assert_eq!(bytes_of("large"), floats(48 * 64));
    assert_eq!(bytes_of("pool"), floats(48 * 49));
    assert_eq!((bytes_of("mean"), bytes_of("z")), (floats(48), floats(40)));
    // Nobody convolves this one, and nothing tells whether 40 or 48 channels hold it.
    assert_eq!(bytes_of("sum"), 0);
    let unknown: Vec<&str> = read.graph().unknown().iter().map(|unknown| unknown.name.as_str()).collect();
    assert_eq!(unknown, ["sum"]);
}

#[test]
fn fused_operators_have_the_shapes_of_what_they_were() {
    let fused = |kind: &str, inputs: &[&str], output: &str, more: &[Vec<u8>]| {
        node(kind, inputs, &[output], &[&[record(7, "com.microsoft")], more].concat())
    };
    let bytes = model(&[
        fused("FusedMatMul", &["x", "x"], "scores", &[int_attribute("transB", 1)]),
        fused("BiasGelu", &["x", "b"], "active", &[]),
        fused("Attention", &["x", "w", ""], "mixed", &[int_attribute("num_heads", 2)]),
        fused("SkipLayerNormalization", &["mixed", "active", "b"], "y", &[]),
        initializer(&floats("w", &[8, 24])),
        initializer(&floats("b", &[8])),
        input("x", &[1, 5, 8]),
        output("scores"),
        output("y"),
    ]);
    let read = read(&bytes);
    let expected = [("x", 160), ("scores", 100), ("active", 160), ("mixed", 160), ("y", 160)];
    assert_eq!(sizes(read.graph()), expected);
    assert!(read.graph().unknown().is_empty());
}

#[test]
fn shapes_are_declared_in_numbers_or_where_sizes_are_open_in_names() {
    let chain = |size: i64| {
        model(&[
            node("Abs", &["x"], &["a"], &[]),
            node("Relu", &["a"], &["b"], &[]),
            node("Neg", &["b"], &["y"], &[]),
            record(13, value("a", 1, &[7])),
            input("x", &[size, 3]),
            output("y"),
        ])
    };
    let (a, b) = (serenity_ir::TensorId(1), serenity_ir::TensorId(2));
    let closed = read(&chain(2));
    let order = closed.graph().file_order();
    let written = closed.declared(&order, &[(a, b)], &[("key", "value")]).unwrap();
    let expected = [record(13, value("a", 1, &[2, 3])), record(13, value("b", 1, &[2, 3]))].concat();
    assert!(written.windows(expected.len()).any(|part| part == expected));
    let again = read(&written);
    assert_eq!(again.note("key"), Some("value"));
    assert_eq!(again.declared(&order, &[(a, b)], &[("key", "value")]).unwrap(), written);
    let open = with_shape(&chain(-1), "x", &[2, 3]).unwrap();
    assert!(open.is_open());
    let written = open.declared(&order, &[(a, b)], &[]).unwrap();
    let named = |name: &str| {
        let dims = ["serenity_1_0", "serenity_1_1"].map(|dim| record(1, record(2, dim))).concat();
        let tensor = [number(1, 1), record(2, dims)].concat();
        record(13, [record(1, name), record(2, record(1, tensor))].concat())
    };
    let expected = [named("a"), named("b")].concat();
    assert!(written.windows(expected.len()).any(|part| part == expected));
    let again = open.successor(written).unwrap();
    assert!(again.graph().computes_as(open.graph()));
    // Whoever loads the file knows now that they are alike, with the size that was known before.
    let dims = vec![KnownDim::Named("serenity_1_0".to_owned()), KnownDim::Size(3)];
    for tensor in [a, b] {
        assert_eq!(again.graph().tensor(tensor).known, KnownShape::Partly(dims.clone()));
    }
}

/// ONNX Runtime leaves a constant's entry among the inputs when it folds the constant away.
#[test]
fn inputs_that_were_constants_do_not_become_the_callers() {
    let constant = initializer(&floats("w", &[4]));
    let before = model(&[
        node("Add", &["x", "w"], &["y"], &[]),
        constant,
        input("x", &[4]),
        input("w", &[4]),
        output("y"),
    ]);
    let after = model(&[node("Relu", &["x"], &["y"], &[]), input("x", &[4]), input("w", &[4]), output("y")]);
    let names = |model: &Model| -> Vec<String> {
        let graph = model.graph();
        graph.inputs().iter().map(|&t| graph.tensor(t).name.clone()).collect()
    };
    assert_eq!(names(&read(&after)), ["x", "w"]);
    assert_eq!(names(&read(&before).successor(after).unwrap()), ["x"]);
}
