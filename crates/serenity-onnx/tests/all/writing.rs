//! Writing loses nothing, and damaged files do no damage.

use crate::wire::*;
use serenity_ir::OpId;
use serenity_onnx::{Model, NodeSource, ReadOptions};

/// Fields that ONNX does not have, in every wire type.
fn unknown_fields() -> Vec<u8> {
    let group = [varint(999 << 3 | 3), number(1, 5), varint(999 << 3 | 4)].concat();
    let fixed = [varint(777 << 3 | 1), vec![1; 8], varint(778 << 3 | 5), vec![2; 4]].concat();
    [number(500, -1), record(501, "future"), group, fixed].concat()
}

/// Four nodes between fields in an unusual order, with unknown fields on every level and a tag and a length in long spelling.
fn unusual_model() -> (Vec<u8>, Vec<Vec<u8>>) {
    let long_relu = {
        let content = [record(4, "Relu"), record(2, "c"), record(1, "x")].concat();
        [vec![0x8a, 0x80, 0x00, 0x80 | content.len() as u8, 0x00], content].concat()
    };
    let nodes = vec![
        node("Relu", &["x"], &["a"], &[unknown_fields()]),
        node("Constant", &[], &["k"], &[tensor_attribute("value", &ints("", &[1, 2]))]),
        long_relu,
        node("Sum", &["a", "c"], &["d"], &[record(6, "a comment")]),
    ];
    let graph = [
        output("d"),
        nodes[0].clone(),
        unknown_fields(),
        input("x", &[4]),
        nodes[1].clone(),
        nodes[2].clone(),
        // A number where nodes are expected is no node.
        number(1, 3),
        initializer(&floats("w", &[2])),
        nodes[3].clone(),
        record(2, "name"),
    ]
    .concat();
    (
        ([unknown_fields(), record(8, number(2, 13)), record(7, graph), unknown_fields(), number(1, 8)])
            .concat(),
        nodes,
    )
}

#[test]
fn only_the_nodes_change_places() {
    let (bytes, nodes) = unusual_model();
    let model = Model::parse(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(model.reordered(&[0, 1, 2].map(OpId)).unwrap(), bytes);
    let written = model.reordered(&[1, 0, 2].map(OpId)).unwrap();
    assert_ne!(written, bytes);
    // Take the nodes out of both: nothing else differs.
    let order = [2, 0, 3, 1];
    let rest = |mut file: Vec<u8>, order: [usize; 4]| {
        for n in order {
            let at = file.windows(nodes[n].len()).position(|w| w == nodes[n]).unwrap();
            file.drain(at..at + nodes[n].len());
        }
        file
    };
    assert_eq!(rest(written.clone(), order), rest(bytes.clone(), [0, 1, 2, 3]));
    let places: Vec<usize> =
        order.iter().map(|&n| written.windows(nodes[n].len()).position(|w| w == nodes[n]).unwrap()).collect();
    assert!(places.is_sorted());
    let again = Model::parse(&written[..], &ReadOptions::default()).unwrap();
    assert_eq!(again.graph().tensors().len(), model.graph().tensors().len());
}

#[test]
fn constant_nodes_are_ops_on_request() {
    let bytes = model(&[
        node("Constant", &[], &["k"], &[tensor_attribute("value", &ints("", &[1, 2]))]),
        node("ConstantOfShape", &["k"], &["w"], &[]),
        node("Relu", &["x"], &["a"], &[]),
        node("Add", &["a", "w"], &["y"], &[]),
        input("x", &[1, 2]),
        output("y"),
    ]);
    let options = ReadOptions { keep_constant_nodes: true, ..ReadOptions::default() };
    let whole = Model::parse(&bytes[..], &options).unwrap();
    let kinds: Vec<&str> = whole.graph().ops().iter().map(|op| op.kind.as_str()).collect();
    assert_eq!(kinds, ["ConstantOfShape", "Relu", "Add"]);
    assert_eq!(whole.folded().len(), 1);
    // The constant's size counts, and so its place does: written behind the other operand.
    assert_eq!(whole.graph().tensors().iter().map(|t| t.bytes).sum::<u64>(), 4 * 8);
    let written = whole.reordered(&[1, 0, 2].map(OpId)).unwrap();
    let again = Model::parse(written, &options).unwrap();
    assert_eq!(again.graph().op(OpId(1)).kind.as_str(), "ConstantOfShape");
}

#[test]
fn a_length_of_two_gigabytes_allocates_nothing() {
    for field in [7_u64, 8, 20, 25] {
        let bytes = [varint(field << 3 | 2), varint(0x7fff_ffff), vec![0; 16]].concat();
        assert!(Model::parse(&bytes[..], &ReadOptions::default()).is_err());
    }
    let huge = initializer(&floats("w", &[i64::MAX, i64::MAX]));
    let bytes = model(&[node("Add", &["x", "w"], &["y"], &[]), huge, input("x", &[1]), output("y")]);
    // The constant costs nothing; a sum of that size has no size.
    let model = Model::parse(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(model.unsized_tensors().len(), 1);
}

/// Models that together use all of the reader.
fn samples() -> Vec<Vec<u8>> {
    let body = [node("Add", &["x", "x"], &["r"], &[]), output("r")].concat();
    let control = model(&[
        node(
            "If",
            &["flag"],
            &["y"],
            &[graph_attribute("then_branch", &body), graph_attribute("else_branch", &body)],
        ),
        node("Secret", &["y"], &["z"], &[record(7, "com.example")]),
        node("RandomNormalLike", &["x"], &["n"], &[]),
        record(11, value("flag", 9, &[])),
        input("x", &[4]),
        output("z"),
    ]);
    let arithmetic = model(&[
        node("Shape", &["x"], &["s"], &[]),
        node("Slice", &["s", "start", "end", "axes", "steps"], &["t"], &[]),
        node("Transpose", &["t"], &["u"], &[ints_attribute("perm", &[0])]),
        node("Reshape", &["x", "u"], &["y"], &[]),
        node("Split", &["y"], &["p", "q"], &[int_attribute("axis", 0)]),
        node("Resize", &["p", "", "", "sizes"], &["z"], &[]),
        initializer(&ints("start", &[-1])),
        initializer(&ints("end", &[-9])),
        initializer(&ints("axes", &[0])),
        initializer(&ints("steps", &[-1])),
        initializer(&ints("sizes", &[5, 5])),
        input("x", &[2, 4]),
        output("z"),
    ]);
    let windows = model(&[
        node(
            "Conv",
            &["x", "w"],
            &["y"],
            &[ints_attribute("strides", &[2, 2]), ints_attribute("pads", &[1, 1, 1, 1])],
        ),
        node(
            "MaxPool",
            &["y"],
            &["z"],
            &[ints_attribute("kernel_shape", &[2, 2]), int_attribute("ceil_mode", 1)],
        ),
        node("ConvTranspose", &["z", "w"], &["t"], &[ints_attribute("dilations", &[2, 2])]),
        node("Pad", &["t", "pads"], &["p"], &[]),
        initializer(&ints("pads", &[0, 0, 1, 1, 0, 0, 1, 1])),
        initializer(&floats("w", &[3, 3, 3, 3])),
        input("x", &[1, 3, 9, 9]),
        output("p"),
    ]);
    vec![unusual_model().0, control, arithmetic, windows]
}

/// An order that can run, drawn at random.
fn draw(graph: &serenity_ir::Graph, random: &mut Random) -> Vec<OpId> {
    let mut order: Vec<OpId> = Vec::new();
    while order.len() < graph.ops().len() {
        let is_ready =
            |op: &OpId| !order.contains(op) && graph.predecessors(*op).iter().all(|p| order.contains(p));
        let ready: Vec<OpId> = graph.op_ids().filter(is_ready).collect();
        order.push(ready[random.below(ready.len())]);
    }
    order
}

/// Reads whatever it is; what can be read can be written in any order and read again.
fn exercise(bytes: &[u8], random: &mut Random) -> bool {
    let Ok(model) = Model::parse(bytes, &ReadOptions::default()) else { return false };
    assert_eq!(model.reordered(&model.graph().file_order()).unwrap(), bytes);
    assert_eq!(model.edit().unwrap().finish().unwrap(), bytes);
    let order = draw(model.graph(), random);
    let written = model.reordered(&order).unwrap();
    assert_eq!(written.len(), bytes.len());
    // The order can also be written as a list of nodes, which may leave out what nothing needs.
    let mut edit = model.edit().unwrap();
    edit.set_nodes(order.iter().map(|&op| NodeSource::Kept(model.node_of(op))).collect());
    let edited = edit.finish().unwrap();
    assert!(edited == written || order.is_sorted() || edited.len() < written.len());
    assert!(Model::parse(edited, &ReadOptions::default()).is_ok());
    let again = Model::parse(&written[..], &ReadOptions::default()).unwrap();
    let names = |model: &Model| {
        let mut names: Vec<_> = model.graph().tensors().iter().map(|t| (t.name.clone(), t.bytes)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&again), names(&model));
    true
}

#[test]
fn damaged_files_are_refused_or_read_but_never_break_anything() {
    let mut random = Random(0x5eed);
    let mut read = 0;
    for sample in samples() {
        assert!(exercise(&sample, &mut random));
        for cut in 0..sample.len() {
            exercise(&sample[..cut], &mut random);
        }
        for _ in 0..5000 {
            let mut bytes = sample.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => bytes[at] = random.below(256) as u8,
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, random.below(256) as u8),
                }
            }
            read += usize::from(exercise(&bytes, &mut random));
        }
    }
    // Enough damage goes unnoticed by the format for this to test the rest too.
    assert!(read > 1000, "{read}");
}
