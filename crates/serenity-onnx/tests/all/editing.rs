//! Files with other nodes and other constants: what was asked for changes, nothing else does.

use crate::wire::*;
use serde_json::json;
use serenity_ir::{ElementType, OpId};
use serenity_onnx::{Attribute, Edit, Model, NodeSource, ReadOptions};
use std::collections::BTreeMap;

fn read(bytes: &[u8]) -> Model {
    Model::parse(bytes, &ReadOptions::default()).unwrap()
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn new(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeSource {
    NodeSource::New {
        op_type: op_type.to_owned(),
        domain: String::new(),
        name: String::new(),
        inputs: texts(inputs),
        outputs: texts(outputs),
        attributes: BTreeMap::new(),
    }
}

fn changed(node: usize, inputs: &[&str], outputs: &[&str]) -> NodeSource {
    let (inputs, outputs) = (texts(inputs), texts(outputs));
    NodeSource::Changed { node, name: String::new(), inputs, outputs, attributes: BTreeMap::new() }
}

fn edited(bytes: &[u8], change: impl FnOnce(&mut Edit<'_>)) -> Result<Vec<u8>, String> {
    let model = read(bytes);
    let mut edit = model.edit().unwrap();
    change(&mut edit);
    edit.finish().map_err(|error| error.to_string())
}

fn with_nodes(bytes: &[u8], nodes: Vec<NodeSource>) -> Result<Vec<u8>, String> {
    edited(bytes, |edit| edit.set_nodes(nodes))
}

fn fault(bytes: &[u8], nodes: Vec<NodeSource>) -> String {
    with_nodes(bytes, nodes).unwrap_err()
}

fn contains(bytes: &[u8], part: impl AsRef<[u8]>) -> bool {
    bytes.windows(part.as_ref().len()).any(|window| window == part.as_ref())
}

fn names(model: &Model) -> Vec<&str> {
    model.graph().tensors().iter().map(|t| t.name.as_str()).collect()
}

/// A whole file of a version of the format.
fn model_of_version(ir_version: i64, graph: &[Vec<u8>]) -> Vec<u8> {
    [number(1, ir_version), record(7, graph.concat()), record(8, number(2, 13))].concat()
}

/// y = x * w, and z = Relu(y).
fn product() -> Vec<Vec<u8>> {
    vec![
        node("Mul", &["x", "w"], &["y"], &[]),
        node("Relu", &["y"], &["z"], &[]),
        initializer(&floats("w", &[4])),
        initializer(&floats("spare", &[9])),
        input("x", &[4]),
        output("z"),
    ]
}

#[test]
fn one_node_becomes_several_that_keep_what_is_not_changed() {
    let unknown = [number(500, -1), record(501, "future")].concat();
    let more = [
        record(3, "conv"),
        int_attribute("group", 4),
        unknown.clone(),
        ints_attribute("pads", &[1, 1, 1, 1]),
        record(6, "a comment"),
    ];
    let bytes = model(&[
        node("Conv", &["x", "w"], &["y"], &more),
        initializer(&floats("w", &[4, 1, 3, 3])),
        initializer(&ints("halves", &[2, 2])),
        input("x", &[1, 4, 8, 8]),
        output("y"),
    ]);
    let original = read(&bytes);
    let mut edit = original.edit().unwrap();
    let mut part = |part: &str| {
        let weights = edit.fresh_name("w");
        edit.add_constant(&weights, &ElementType::Float32, &[2, 1, 3, 3], vec![0; 72]).unwrap();
        let attributes = [
            ("group".to_owned(), Attribute::Int(2)),
            ("mode".to_owned(), Attribute::Text("half".to_owned())),
            ("alpha".to_owned(), Attribute::Float(0.5)),
            ("sizes".to_owned(), Attribute::Ints(vec![-1, 300])),
        ];
        NodeSource::Changed {
            node: 0,
            name: format!("conv.{part}"),
            inputs: vec![format!("x.{part}"), weights],
            outputs: vec![format!("y.{part}")],
            attributes: attributes.into(),
        }
    };
    let (a, b) = (part("a"), part("b"));
    let axis = BTreeMap::from([("axis".to_owned(), Attribute::Int(1))]);
    let joining = |source: NodeSource| match source {
        NodeSource::New { op_type, domain, name, inputs, outputs, .. } => {
            NodeSource::New { op_type, domain, name, inputs, outputs, attributes: axis.clone() }
        }
        other => other,
    };
    edit.set_nodes(vec![
        joining(new("Split", &["x", "halves"], &["x.a", "x.b"])),
        a,
        b,
        joining(new("Concat", &["y.a", "y.b"], &["y"])),
    ]);
    let written = edit.finish().unwrap();
    let after = read(&written);
    assert_eq!(names(&after), ["x", "x.a", "x.b", "y.a", "y.b", "y"]);
    assert!(after.unsized_tensors().is_empty());
    for (op, name) in [(1, "conv.a"), (2, "conv.b")] {
        let op = after.graph().op(OpId(op));
        assert_eq!((op.name.as_str(), &op.attributes["group"]), (name, &2.into()));
        assert_eq!(
            json!([op.attributes["mode"], op.attributes["alpha"], op.attributes["sizes"]]),
            json!(["half", 0.5, [-1, 300]])
        );
    }
    // Everything around the two attributes is there twice.
    let kept = [unknown, ints_attribute("pads", &[1, 1, 1, 1]), record(6, "a comment")].concat();
    assert_eq!(written.windows(kept.len()).filter(|window| *window == kept).count(), 2);
    // The whole weights went.
    assert!(!contains(&written, floats("w", &[4, 1, 3, 3])));
}

#[test]
fn a_change_that_changes_nothing_gives_back_the_file() {
    let bytes = model(&product());
    assert_eq!(edited(&bytes, |_| {}).unwrap(), bytes);
    assert_eq!(with_nodes(&bytes, vec![NodeSource::Kept(0), NodeSource::Kept(1)]).unwrap(), bytes);
    let same = vec![changed(0, &["x", "w"], &["y"]), changed(1, &["y"], &["z"])];
    assert_eq!(with_nodes(&bytes, same).unwrap(), bytes);
}

#[test]
fn only_the_named_parts_differ() {
    let expected = model(&[
        node("Relu", &["x"], &["z"], &[]),
        initializer(&floats("spare", &[9])),
        input("x", &[4]),
        output("z"),
    ]);
    // The product goes, and with it the constant that it alone read. The spare one was not read before either.
    assert_eq!(with_nodes(&model(&product()), vec![changed(1, &["x"], &["z"])]).unwrap(), expected);
}

#[test]
fn constants_of_old_files_are_inputs_too() {
    let graph = [product(), vec![input("w", &[4]), record(13, value("y", FLOAT, &[4]))]].concat();
    let change = |edit: &mut Edit<'_>| {
        edit.add_constant("v", &ElementType::Int8, &[4], vec![1, 2, 3, 4]).unwrap();
        edit.set_nodes(vec![new("Neg", &["x"], &["t"]), new("Sub", &["t", "v"], &["z"])]);
    };
    let tensor = [number(1, 4), number(2, 3), record(8, "v"), record(9, [1, 2, 3, 4])].concat();
    let expected = |listed: Vec<u8>| {
        let node = |op_type: &str, inputs: &[&str], output: &str| {
            let names = inputs.iter().flat_map(|name| record(1, name)).collect::<Vec<u8>>();
            record(1, [names, record(2, output), record(4, op_type)].concat())
        };
        [
            node("Neg", &["x"], "t"),
            node("Sub", &["t", "v"], "z"),
            initializer(&floats("spare", &[9])),
            initializer(&tensor),
            input("x", &[4]),
            output("z"),
            listed,
        ]
    };
    let written = edited(&model_of_version(3, &graph), change).unwrap();
    assert_eq!(written, model_of_version(3, &expected(record(11, value("v", 3, &[4])))));
    let written = edited(&model_of_version(4, &graph), change).unwrap();
    assert_eq!(written, model_of_version(4, &expected(Vec::new())));
}

/// A note that the tensor is quantised with this scale.
fn annotation(tensor: &str, scale: &str) -> Vec<u8> {
    let entry = [record(1, "SCALE_TENSOR"), record(2, scale)].concat();
    record(14, [record(1, tensor), record(2, entry)].concat())
}

#[test]
fn constants_stay_as_long_as_anything_names_them() {
    let constant = |name: &str| initializer(&floats(name, &[4]));
    let all = ["w", "scale of w", "scale of that", "scale of x", "result", "trained", "captured"];
    let body = [node("Add", &["x", "captured"], &["r"], &[]), output("r")].concat();
    let bodies = [graph_attribute("then_branch", &body), graph_attribute("else_branch", &body)];
    let graph = [
        vec![
            node("Sum", &["x", "w", "scale of x", "result", "trained", "captured"], &["y"], &[]),
            node("Relu", &["y"], &["z"], &[]),
            node("If", &["flag"], &["q"], &bodies),
            record(11, value("flag", 9, &[])),
            input("x", &[4]),
            output("z"),
            output("q"),
            output("result"),
            annotation("w", "scale of w"),
            annotation("scale of w", "scale of that"),
            annotation("x", "scale of x"),
            annotation("nowhere", "spare"),
        ],
        all.map(constant).into(),
    ]
    .concat();
    let binding = record(3, [record(1, "trained"), record(2, "start")].concat());
    let bytes = [model(&graph), record(20, binding)].concat();
    let written = with_nodes(&bytes, vec![changed(1, &["x"], &["z"]), NodeSource::Kept(2)]).unwrap();
    let stays = |name: &str| contains(&written, constant(name));
    assert_eq!(all.map(stays), [false, false, false, true, true, true, true]);
    assert!(!contains(&written, annotation("w", "scale of w")));
    assert!(!contains(&written, annotation("scale of w", "scale of that")));
    assert!(contains(&written, [annotation("x", "scale of x"), annotation("nowhere", "spare")].concat()));
    // If the sub-graph goes too, so does what it captures.
    let fixed = vec![changed(1, &["x"], &["z"]), changed(1, &["x"], &["q"])];
    assert!(!contains(&with_nodes(&bytes, fixed).unwrap(), constant("captured")));
}

#[test]
fn folded_nodes_come_where_they_are_needed() {
    let bytes = model(&[
        node("Constant", &[], &["shape"], &[tensor_attribute("value", &ints("", &[4]))]),
        node("ConstantOfShape", &["shape"], &["late"], &[]),
        node("ConstantOfShape", &["shape"], &["early"], &[]),
        node("Add", &["x", "early"], &["a"], &[]),
        node("Add", &["x", "late"], &["b"], &[]),
        input("x", &[4]),
        output("a"),
        output("b"),
    ]);
    let written = with_nodes(&bytes, vec![NodeSource::Kept(4), changed(4, &["x", "x"], &["a"])]).unwrap();
    let after = read(&written);
    let folded: Vec<_> = after.folded().iter().map(|f| (f.node, f.name.as_str())).collect();
    assert_eq!(folded, [(0, "shape"), (1, "late")]);
    // Those that the list names stay where it says.
    let all = vec![0, 2, 1, 3, 4].into_iter().map(NodeSource::Kept).collect();
    let after = read(&with_nodes(&bytes, all).unwrap());
    assert_eq!(
        after.folded().iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["shape", "early", "late"]
    );
    // Something else may take the name.
    let other = vec![new("Neg", &["x"], &["late"]), NodeSource::Kept(3), NodeSource::Kept(4)];
    assert_eq!(names(&read(&with_nodes(&bytes, other).unwrap())), ["x", "late", "a", "b"]);
}

#[test]
fn fresh_names_clash_with_nothing() {
    let body = [
        node("Relu", &["x"], &["inner"], &[record(3, "inner node")]),
        node("Relu", &["inner"], &["r"], &[]),
        output("r"),
    ]
    .concat();
    let bytes = model(&[
        node("If", &["flag"], &["y"], &[graph_attribute("then_branch", &body), record(3, "node")]),
        record(13, value("declared", FLOAT, &[4])),
        record(11, value("flag", 9, &[])),
        input("x", &[4]),
        output("y"),
    ]);
    let model = read(&bytes);
    let mut edit = model.edit().unwrap();
    for taken in ["x", "y", "r", "inner", "inner node", "node", "declared", "flag"] {
        assert_eq!(edit.fresh_name(taken), format!("{taken}_1"));
        assert_eq!(edit.fresh_name(taken), format!("{taken}_2"));
    }
    assert_eq!(
        ["free", "free", "", "x_2"].map(|name| edit.fresh_name(name)),
        ["free", "free_1", "_1", "x_2_1"]
    );
    for name in ["inner", "declared"] {
        let nodes = vec![NodeSource::Kept(0), new("Relu", &["x"], &[name])];
        assert!(fault(&bytes, nodes).contains(&format!("defines `{name}`, but the file uses that name")));
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let bytes = model(&product());
    let kept = NodeSource::Kept;
    assert!(fault(&bytes, vec![kept(1), kept(0)]).starts_with("node 0 (`z`) of the new list reads `y`"));
    assert!(fault(&bytes, vec![kept(0)]).starts_with("the list of outputs reads `z`"));
    assert!(fault(&bytes, vec![]).starts_with("the list of outputs reads `z`"));
    assert!(fault(&bytes, vec![kept(0), kept(0), kept(1)]).contains("defines `y`, which exists already"));
    assert!(fault(&bytes, vec![kept(0), kept(1), new("Neg", &["x"], &["w"])]).contains("defines `w`"));
    assert_eq!(fault(&bytes, vec![kept(2)]), "the model cannot be rewritten: node 2 of 2");
    assert!(fault(&bytes, vec![changed(usize::MAX, &[], &[])]).contains("of 2"));
    assert!(fault(&bytes, vec![new("", &[], &[])]).contains("without an operator type"));
    let foreign = NodeSource::New {
        op_type: "QLinearAdd".to_owned(),
        domain: "com.microsoft".to_owned(),
        name: String::new(),
        inputs: vec![],
        outputs: vec![],
        attributes: BTreeMap::new(),
    };
    assert!(fault(&bytes, vec![foreign]).contains("does not import `com.microsoft`"));
    let function = record(25, [record(1, "Neg"), record(10, "")].concat());
    assert!(
        fault(&[bytes.clone(), function].concat(), vec![new("Neg", &["x"], &["z"])])
            .contains("a function `Neg`")
    );

    let constant = |name: &str, dtype: &str, shape: &[u64], bytes_given: usize| {
        let mut result = Ok(());
        let finished = edited(&bytes, |edit| {
            result = edit.add_constant(name, &ElementType::parse(dtype), shape, vec![0; bytes_given]);
        });
        result.map_err(|e| e.to_string()).and_then(|()| finished.map(drop))
    };
    assert!(constant("v", "float32", &[2, 3], 24).is_ok());
    assert!(constant("v", "int4", &[3], 2).is_ok());
    assert!(constant("v", "float32", &[2, 3], 23).unwrap_err().contains("23 bytes are no float32"));
    assert!(constant("v", "future", &[], 0).unwrap_err().contains("no type future"));
    assert!(constant("v", "int8", &[u64::MAX, 0], 0).unwrap_err().contains("too large"));
    assert!(constant("v", "int8", &[1 << 62, 1 << 62], 0).is_err());
    assert!(constant("w", "int8", &[1], 1).unwrap_err().contains("a new constant defines `w`"));
    assert!(constant("", "int8", &[1], 1).unwrap_err().contains("no name"));
}

#[test]
fn training_keeps_what_it_reads() {
    let step = [node("Neg", &["y"], &["loss"], &[]), output("loss")].concat();
    let bytes = [model(&product()), record(20, record(2, step))].concat();
    let message = fault(&bytes, vec![changed(1, &["x"], &["z"])]);
    assert!(message.starts_with("the training of the model reads `y`"), "{message}");
    assert!(
        fault(&bytes, vec![NodeSource::Kept(0), NodeSource::Kept(1), new("Neg", &["x"], &["loss"])])
            .contains("defines `loss`")
    );
}

#[test]
fn whatever_is_asked_for_gives_a_file_or_an_error() {
    let body = [node("Add", &["x", "w"], &["inner"], &[]), output("inner")].concat();
    let graph = [
        product(),
        vec![
            node("Constant", &[], &["k"], &[tensor_attribute("value", &ints("", &[4]))]),
            node("If", &["flag"], &["q"], &[graph_attribute("then_branch", &body)]),
            node("ConstantOfShape", &["k"], &["f"], &[]),
            node("Add", &["y", "f"], &["s"], &[]),
            record(11, value("flag", 9, &[])),
            record(13, value("y", FLOAT, &[4])),
            annotation("y", "spare"),
        ],
    ]
    .concat();
    let pool = ["x", "w", "y", "z", "k", "q", "f", "s", "flag", "inner", "spare", "n1", "n2", "n3", ""];
    let mut random = Random(7);
    let (mut accepted, mut refused) = (0, 0);
    for turn in 0..20_000 {
        let bytes = model_of_version([3, 8][turn % 2], &graph);
        let mut draw = |most: usize| -> Vec<&str> {
            (0..random.below(most + 1)).map(|_| pool[random.below(pool.len())]).collect()
        };
        // Mostly the old nodes, so that some lists can run.
        let mut nodes: Vec<NodeSource> = (0..6).map(NodeSource::Kept).collect();
        let (inputs, outputs) = (draw(3), draw(1));
        let extra =
            [new("Relu", &inputs, &outputs), changed(turn % 7, &inputs, &outputs)][turn / 2 % 2].clone();
        let at = random.below(nodes.len());
        if random.below(2) == 0 {
            nodes[at] = extra;
        } else {
            nodes.insert(at, extra);
        }
        if random.below(3) == 0 {
            nodes.remove(random.below(nodes.len()));
        }
        let result = edited(&bytes, |edit| {
            if turn % 5 == 0 {
                let name = pool[turn / 5 % pool.len()];
                edit.add_constant(name, &ElementType::Float32, &[4], vec![0; 16]).unwrap();
            }
            edit.set_nodes(nodes);
        });
        match result {
            Ok(written) => {
                // It is a model whose names are all defined, and nothing in it is left to remove.
                assert_eq!(edited(&written, |_| {}).unwrap(), written);
                accepted += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}
