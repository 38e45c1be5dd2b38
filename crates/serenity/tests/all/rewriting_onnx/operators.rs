//! Every operator that can work on pieces, each by itself.

use super::wire::*;
use super::{Forced, assert_same_outputs, forced, read};
use serenity::Rewrites;
use serenity::pipeline::possible_rewrites;

/// Positive numbers that look random and are the same every time.
fn noise(name: &str, shape: &[i64]) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let count = shape.iter().product::<i64>();
    let data: Vec<u8> =
        (0..count).flat_map(|_| (0.1 + random.below(1000) as f32 / 1000.0).to_le_bytes()).collect();
    let dims: Vec<u8> = shape.iter().flat_map(|&size| number(1, size)).collect();
    initializer(&[dims, number(2, FLOAT), record(8, name), record(9, data)].concat())
}

fn float_attribute(name: &str, value: f32) -> Vec<u8> {
    let float = [varint(2 << 3 | 5), value.to_le_bytes().to_vec()].concat();
    record(5, [record(1, name), float, number(20, 1)].concat())
}

/// Images `a` and `b` of 2 and 3 channels, joined to `x`, and an op that makes `y` of it.
fn image(records: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let shapes = [[1, 2, 4, 4], [1, 3, 4, 4]];
    joined([&shapes[0], &shapes[1]], 1, records)
}

/// Rows `a` and `b` of 2 and 3 elements, joined to `x`, and an op that makes `y` of it.
fn rows(records: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    joined([&[2, 2], &[2, 3]], 1, records)
}

fn joined([a, b]: [&[i64]; 2], axis: i64, records: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut graph = vec![
        record(2, "joined"),
        input("a", a),
        input("b", b),
        node("Concat", &["a", "b"], &["x"], &[int_attribute("axis", axis)]),
    ];
    graph.extend(records);
    graph
}

/// An output of which only type and rank are said.
fn declared(rank: usize) -> Vec<u8> {
    record(12, value("y", FLOAT, &vec![-1; rank]))
}

/// What a case is called, its graph, and how many patches there are for it.
type Case = (&'static str, Vec<Vec<u8>>, usize);

fn op(kind: &str, inputs: &[&str], more: &[Vec<u8>]) -> Vec<u8> {
    node(kind, inputs, &["y"], more)
}

/// Over all channels or each, with weights that are stored, computed or shared.
fn convolutions() -> Vec<Case> {
    let pads = || ints_attribute("pads", &[1, 1, 1, 1]);
    let weights = || noise("w", &[4, 5, 3, 3]);
    vec![
        (
            "conv",
            image(vec![op("Conv", &["x", "w", "c"], &[pads()]), weights(), noise("c", &[4]), declared(4)]),
            1,
        ),
        ("conv_without_bias", image(vec![op("Conv", &["x", "w", ""], &[pads()]), weights(), declared(4)]), 1),
        (
            "conv_computed_operands",
            image(vec![
                node("Sigmoid", &["stored"], &["w"], &[]),
                node("Identity", &["level"], &["c"], &[]),
                op("Conv", &["x", "w", "c"], &[pads()]),
                noise("stored", &[4, 5, 3, 3]),
                noise("level", &[4]),
                declared(4),
            ]),
            1,
        ),
        (
            "conv_constant_of_shape",
            image(vec![
                node(
                    "ConstantOfShape",
                    &["shape"],
                    &["w"],
                    &[tensor_attribute(
                        "value",
                        &[number(1, 1), number(2, FLOAT), record(9, 0.25_f32.to_le_bytes())].concat(),
                    )],
                ),
                op("Conv", &["x", "w"], &[pads()]),
                initializer(&ints("shape", &[4, 5, 3, 3])),
                declared(4),
            ]),
            1,
        ),
        (
            "convs_with_shared_weights",
            image(vec![
                node("Conv", &["x", "w"], &["p"], &[pads()]),
                node("Conv", &["x", "w"], &["q"], &[]),
                node("ReduceMean", &["q"], &["r"], &[ints_attribute("axes", &[2, 3])]),
                op("Add", &["p", "r"], &[]),
                weights(),
                declared(4),
            ]),
            2,
        ),
        (
            "depthwise",
            image(vec![
                op("Conv", &["x", "w", "c"], &[pads(), int_attribute("group", 5)]),
                noise("w", &[10, 1, 3, 3]),
                noise("c", &[10]),
                declared(4),
            ]),
            1,
        ),
    ]
}

/// Every channel by itself.
fn channel_by_channel() -> Vec<Case> {
    vec![
        (
            "batch_normalization",
            image(vec![
                op("BatchNormalization", &["x", "s", "c", "m", "v"], &[float_attribute("epsilon", 0.01)]),
                noise("s", &[5]),
                noise("c", &[5]),
                noise("m", &[5]),
                noise("v", &[5]),
                declared(4),
            ]),
            1,
        ),
        ("mul", image(vec![op("Mul", &["x", "w"], &[]), noise("w", &[5, 1, 1]), declared(4)]), 1),
        ("sub_from", image(vec![op("Sub", &["w", "x"], &[]), noise("w", &[1, 5, 4, 4]), declared(4)]), 1),
        ("add_to_all", image(vec![op("Add", &["x", "w"], &[]), noise("w", &[]), declared(4)]), 1),
        ("prelu", image(vec![op("PRelu", &["x", "w"], &[]), noise("w", &[5, 1, 1]), declared(4)]), 1),
        ("relu", image(vec![op("Relu", &["x"], &[]), declared(4)]), 1),
        ("sigmoid", image(vec![op("Sigmoid", &["x"], &[]), declared(4)]), 1),
        ("clip", image(vec![op("Clip", &["x", "", "w"], &[]), noise("w", &[]), declared(4)]), 1),
        (
            "max_pool",
            image(vec![op("MaxPool", &["x"], &[ints_attribute("kernel_shape", &[2, 2])]), declared(4)]),
            1,
        ),
        ("mean", image(vec![op("GlobalAveragePool", &["x"], &[]), declared(4)]), 1),
        (
            "reduce",
            image(vec![
                op("ReduceMean", &["x"], &[ints_attribute("axes", &[2, 3]), int_attribute("keepdims", 0)]),
                declared(2),
            ]),
            1,
        ),
        (
            "pad",
            image(vec![
                op("Pad", &["x", "p"], &[]),
                initializer(&ints("p", &[0, 0, 1, 2, 0, 0, 0, 1])),
                declared(4),
            ]),
            1,
        ),
    ]
}

/// Concatenations, products with matrices, and sums.
fn joins_products_and_sums() -> Vec<Case> {
    vec![
        ("join", image(vec![op("Concat", &["a", "x", "x"], &[int_attribute("axis", 1)]), declared(4)]), 1),
        (
            "gemm",
            rows(vec![
                op("Gemm", &["x", "w", "c"], &[float_attribute("alpha", 0.5), float_attribute("beta", 3.0)]),
                noise("w", &[5, 4]),
                noise("c", &[4]),
                declared(2),
            ]),
            1,
        ),
        (
            "gemm_transposed",
            rows(vec![
                op("Gemm", &["x", "w", "c"], &[int_attribute("transB", 1)]),
                noise("w", &[4, 5]),
                noise("c", &[2, 4]),
                declared(2),
            ]),
            1,
        ),
        ("matmul", rows(vec![op("MatMul", &["x", "w"], &[]), noise("w", &[5, 4]), declared(2)]), 1),
        (
            "matmul_vector",
            joined(
                [&[1, 3, 2, 1], &[1, 3, 2, 1]],
                -1,
                vec![
                    node("Sigmoid", &["stored"], &["w"], &[]),
                    op("MatMul", &["x", "w"], &[]),
                    noise("stored", &[2]),
                    declared(3),
                ],
            ),
            1,
        ),
        (
            "sum",
            image(vec![
                node("Relu", &["a"], &["p"], &[]),
                node("Neg", &["a"], &["q"], &[]),
                node("Exp", &["a"], &["r"], &[]),
                node("Add", &["p", "q"], &["s"], &[]),
                op("Sum", &["s", "r", "a"], &[]),
                declared(4),
            ]),
            1,
        ),
    ]
}

#[test]
fn every_operator_computes_the_same_on_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let one = |(name, graph, count): Case| -> Forced {
        let path = folder.path().join(format!("{name}.onnx"));
        std::fs::write(&path, model(&graph)).unwrap();
        let input = read(&path);
        let patches = possible_rewrites(&input, super::MODEL, Rewrites::All);
        assert_eq!(patches.len(), count, "{name}: {patches:?}");
        forced(&path, &input, &patches, "all", folder.path()).unwrap()
    };
    let cases = [convolutions(), channel_by_channel(), joins_products_and_sums()].concat();
    let forced: Vec<Forced> = cases.into_iter().map(one).collect();
    assert_same_outputs(&forced);
}
