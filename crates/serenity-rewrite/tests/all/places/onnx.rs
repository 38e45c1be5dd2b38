//! Ops as ONNX spells them that read a concatenation of channels, [1, 2, 4, 4] and [1, 3, 4, 4].

use crate::places::drawing::{Drawing, attribute, constant, kinds, proposals, read_by, rewritten, whole};
use serde_json::{Value, json};
use serenity_ir::{ElementType, Graph, TensorId};
use serenity_rewrite::{NewConstant, Settings, apply, find};

const WHOLE: [u64; 4] = [1, 5, 4, 4];

fn read(read: impl Fn(&mut Drawing, TensorId) -> TensorId) -> Graph {
    let mut drawing = Drawing::new();
    let pieces = [2, 3].map(|channels| drawing.input(&[1, channels, 4, 4]));
    let joined = drawing.op("Concat", &pieces, json!({"axis": 1}), &WHOLE);
    let result = read(&mut drawing, joined);
    drawing.finish(&[result])
}

fn op(kind: &str, attributes: Value, shape: &[u64]) -> Graph {
    read(|drawing, x| drawing.op(kind, &[x], attributes.clone(), shape))
}

fn rules(graph: &Graph) -> Vec<&'static str> {
    proposals(graph, Settings::default()).into_iter().map(|(rule, _)| rule).collect()
}

fn convolution(group: u64, weights: &[u64]) -> Graph {
    let constants = json!({"1": constant(weights), "2": constant(&weights[..1])});
    let given = json!({"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "pads": [1, 1, 1, 1], "group": group, "constants": constants});
    op("Conv", given, &[1, weights[0], 4, 4])
}

#[test]
fn a_convolution_is_a_sum_of_convolutions() {
    let graph = convolution(1, &[7, 5, 3, 3]);
    assert_eq!(rules(&graph), ["channel-partitioning"]);
    let settings = Settings::default();
    let rewriting = apply(&graph, &find(&graph, &settings), &settings).unwrap();
    let new = &rewriting.graph;
    assert_eq!(kinds(new), ["Conv", "Conv", "Add"]);
    assert_eq!(attribute(new, "Conv", "/constants/1/shape"), [json!([7, 2, 3, 3]), json!([7, 3, 3, 3])]);
    assert_eq!(attribute(new, "Conv", "/constants/2/shape"), [json!([7]), Value::Null]);
    assert_eq!(rewriting.origins[1].constants[&2], NewConstant::Absent);
    assert!(new.ops()[2].attributes.is_empty());
}

#[test]
fn a_convolution_of_each_channel_works_on_pieces() {
    for multiplier in [1, 2] {
        let graph = convolution(5, &[5 * multiplier, 1, 3, 3]);
        assert_eq!(rules(&graph), ["kernel-partitioning"]);
        let new = rewritten(&graph);
        assert_eq!(kinds(&new), ["Conv", "Conv", "Concat"]);
        assert_eq!(attribute(&new, "Conv", "/group"), [json!(2), json!(3)]);
        let shapes = attribute(&new, "Conv", "/constants/1/shape");
        assert_eq!(shapes, [2, 3].map(|count| json!([count * multiplier, 1, 3, 3])));
        let shapes = attribute(&new, "Conv", "/constants/2/shape");
        assert_eq!(shapes, [2, 3].map(|count| json!([count * multiplier])));
        assert_eq!(attribute(&new, "Concat", "/axis"), [json!(1)]);
    }
}

#[test]
fn other_groups_stay_whole() {
    for (group, weights) in [(5, [7, 1, 3, 3]), (1, [7, 4, 3, 3]), (2, [4, 2, 3, 3]), (0, [5, 1, 3, 3])] {
        assert_eq!(rules(&convolution(group, &weights)), [""; 0], "{group} {weights:?}");
    }
}

#[test]
fn weights_that_are_computed_stay_whole() {
    let graph = read(|drawing, x| {
        let weights = drawing.input(&[7, 5, 3, 3]);
        drawing.op("Conv", &[x, weights], json!({}), &[1, 7, 4, 4])
    });
    assert_eq!(rules(&graph), [""; 0]);
}

/// A runtime that does not fold has them as nodes: each part gets a node that makes its part.
#[test]
fn weights_that_are_made_of_constants_are_made_in_parts() {
    let graph = read(|drawing, x| {
        let weights =
            drawing.op("Identity", &[], json!({"constants": {"0": constant(&[7, 5, 3, 3])}}), &[7, 5, 3, 3]);
        let bias = drawing.op("ConstantOfShape", &[], json!({"constants": {"0": whole(&[7])}}), &[7]);
        drawing.op("Conv", &[x, weights, bias], json!({}), &[1, 7, 4, 4])
    });
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["ConstantOfShape", "Identity", "Conv", "Identity", "Conv", "Add"]);
    assert_eq!(attribute(&new, "Identity", "/constants/0/shape"), [json!([7, 2, 3, 3]), json!([7, 3, 3, 3])]);
    let inputs: Vec<usize> =
        new.ops().iter().filter(|op| op.kind.as_str() == "Conv").map(|op| op.inputs.len()).collect();
    assert_eq!(inputs, [3, 2], "the bias is added once");
}

#[test]
fn products_with_a_matrix_are_sums() {
    let product = |kind: &str, given: Value, shape: &[u64], result: &[u64]| {
        let mut drawing = Drawing::new();
        let last = shape.len() - 1;
        let piece = |size: u64| [&shape[..last], &[size]].concat();
        let pieces = [2, 3].map(|size| drawing.input(&piece(size)));
        let joined = drawing.op("Concat", &pieces, json!({"axis": last}), shape);
        let y = drawing.op(kind, &[joined], given, result);
        drawing.finish(&[y])
    };
    let matmul = |weights: &[u64], shape: &[u64], result: &[u64]| {
        product("MatMul", json!({"constants": {"1": constant(weights)}}), shape, result)
    };
    let new = rewritten(&matmul(&[5, 7], &[2, 4, 5], &[2, 4, 7]));
    assert_eq!(kinds(&new), ["MatMul", "MatMul", "Add"]);
    assert_eq!(attribute(&new, "MatMul", "/constants/1/shape"), [json!([2, 7]), json!([3, 7])]);
    let new = rewritten(&matmul(&[5], &[4, 5], &[4]));
    assert_eq!(attribute(&new, "MatMul", "/constants/1/shape"), [json!([2]), json!([3])]);
    assert_eq!(
        rules(&matmul(&[2, 5, 7], &[2, 4, 5], &[2, 4, 7])),
        [""; 0],
        "a matrix for each row of the batch"
    );
    assert_eq!(rules(&matmul(&[5, 7], &[5], &[7])), [""; 0]);

    let gemm = |trans_a: u8, trans_b: u8, weights: &[u64]| {
        let constants = json!({"1": constant(weights), "2": constant(&[7])});
        let given =
            json!({"alpha": 0.5, "beta": 2.0, "transA": trans_a, "transB": trans_b, "constants": constants});
        product("Gemm", given, &[4, 5], &[4, 7])
    };
    let new = rewritten(&gemm(0, 0, &[5, 7]));
    assert_eq!(kinds(&new), ["Gemm", "Gemm", "Add"]);
    assert_eq!(attribute(&new, "Gemm", "/constants/1/shape"), [json!([2, 7]), json!([3, 7])]);
    assert_eq!(
        attribute(&new, "Gemm", "/constants/2/shape"),
        [json!([7]), json!([7])],
        "old versions want one"
    );
    let new = rewritten(&gemm(0, 1, &[7, 5]));
    assert_eq!(attribute(&new, "Gemm", "/constants/1/shape"), [json!([7, 2]), json!([7, 3])]);
    assert_eq!(rules(&gemm(1, 0, &[4, 7])), [""; 0]);
    let old = gemm(0, 0, &[5, 7]);
    let rewriting = apply(&old, &find(&old, &Settings::default()), &Settings::default()).unwrap();
    assert_eq!(rewriting.origins[1].constants[&2], NewConstant::Zeros);
}

#[test]
fn normalisations_are_divided_with_their_constants() {
    let normalisation = |scale: &[u64], training: u8| {
        let constants =
            json!({"1": constant(scale), "2": constant(&[5]), "3": constant(&[5]), "4": constant(&[5])});
        op(
            "BatchNormalization",
            json!({"epsilon": 0.001, "training_mode": training, "constants": constants}),
            &WHOLE,
        )
    };
    let new = rewritten(&normalisation(&[5], 0));
    assert_eq!(kinds(&new), ["BatchNormalization", "BatchNormalization", "Concat"]);
    for operand in 1..=4 {
        let shapes = attribute(&new, "BatchNormalization", &format!("/constants/{operand}/shape"));
        assert_eq!(shapes, [json!([2]), json!([3])]);
    }
    assert_eq!(rules(&normalisation(&[5], 1)), [""; 0]);
    // Old versions could have a factor for each element.
    assert_eq!(rules(&normalisation(&[5, 4, 4], 0)), [""; 0]);
}

#[test]
fn functions_of_elements_work_on_pieces() {
    for (kind, given) in [
        ("Relu", json!({})),
        ("LeakyRelu", json!({"alpha": 0.1})),
        ("Clip", json!({"constants": {"1": constant(&[]), "2": constant(&[])}})),
        ("Clip", json!({"min": 0.0, "max": 6.0})),
        ("Gelu", json!({"approximate": "tanh"})),
    ] {
        let new = rewritten(&op(kind, given, &WHOLE));
        assert_eq!(kinds(&new), [kind, kind, "Concat"]);
    }
    for kind in
        ["Softmax", "InstanceNormalization", "LayerNormalization", "LRN", "Dropout", "com.microsoft:Gelu"]
    {
        assert_eq!(rules(&op(kind, json!({}), &WHOLE)), [""; 0], "{kind}");
    }
    let computed = read(|drawing, x| {
        let bound = drawing.input(&[]);
        drawing.op("Clip", &[x, bound], json!({}), &WHOLE)
    });
    assert_eq!(rules(&computed), [""; 0], "the bound is computed");
}

#[test]
fn constants_are_divided_or_shared() {
    let with = |kind: &str, position: usize, shape: &[u64], more: Value| {
        let mut given = more;
        given["constants"][position.to_string()] = constant(shape);
        op(kind, given, &WHOLE)
    };
    for kind in ["Add", "Sub", "Mul", "Div", "Pow"] {
        for position in [0, 1] {
            let path = format!("/constants/{position}/shape");
            let new = rewritten(&with(kind, position, &[5, 1, 1], json!({})));
            assert_eq!(kinds(&new), [kind, kind, "Concat"]);
            assert_eq!(attribute(&new, kind, &path), [json!([2, 1, 1]), json!([3, 1, 1])]);
            let new = rewritten(&with(kind, position, &[4], json!({})));
            assert_eq!(attribute(&new, kind, &path), [json!([4]), json!([4])]);
        }
    }
    // Before version 7, a constant could begin at any axis.
    assert_eq!(rules(&with("Add", 1, &[5], json!({"broadcast": 1, "axis": 1}))), [""; 0]);
    let new = rewritten(&with("PRelu", 1, &[5, 1, 1], json!({})));
    assert_eq!(attribute(&new, "PRelu", "/constants/1/shape"), [json!([2, 1, 1]), json!([3, 1, 1])]);
    assert_eq!(rules(&with("PRelu", 0, &WHOLE, json!({}))), [""; 0], "the slopes come in pieces");
}

#[test]
fn pools_work_on_pieces_with_all_their_attributes() {
    let given = json!({"kernel": [2, 2], "stride": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1, "count_include_pad": 1});
    for kind in ["AveragePool", "MaxPool", "LpPool"] {
        let new = rewritten(&op(kind, given.clone(), &[1, 5, 3, 3]));
        assert_eq!(kinds(&new), [kind, kind, "Concat"]);
        assert_eq!(Value::Object(new.ops()[1].attributes.clone()), given);
    }
    for kind in ["GlobalAveragePool", "GlobalMaxPool"] {
        assert_eq!(kinds(&rewritten(&op(kind, json!({}), &[1, 5, 1, 1]))), [kind, kind, "Concat"]);
    }
    let with_places = read(|drawing, x| {
        drawing.op_of_many("MaxPool", &[x], given.clone(), &[&[1, 5, 3, 3], &[1, 5, 3, 3]])[0]
    });
    assert_eq!(rules(&with_places), [""; 0], "places are counted over all channels");
}

#[test]
fn padding_of_other_axes_works_on_pieces() {
    let pad = |pads: &[i64], shape: &[u64]| {
        op("Pad", json!({"mode": "reflect", "constants": {"1": whole(pads)}}), shape)
    };
    let new = rewritten(&pad(&[0, 0, 1, 1, 0, 0, 2, 0], &[1, 5, 7, 5]));
    assert_eq!(kinds(&new), ["Pad", "Pad", "Concat"]);
    assert_eq!(rules(&pad(&[0, 1, 0, 0, 0, 0, 0, 0], &[1, 6, 4, 4])), [""; 0]);
    assert_eq!(rules(&pad(&[0, 1, 0, 0, 0, -1, 0, 0], &WHOLE)), [""; 0]);
    assert_eq!(rules(&pad(&[1, 1, 1, 1], &[1, 5, 6, 6])), [""; 0]);
    let axes = json!({"constants": {"1": whole(&[0, 0, 0, 0, 1, 1, 1, 1]), "3": whole(&[0, 1, 2, 3])}});
    assert_eq!(rules(&op("Pad", axes, &WHOLE)), [""; 0], "axes are listed");
    let old = json!({"pads": [0, 0, 1, 1, 0, 0, 1, 1], "mode": "constant"});
    assert_eq!(kinds(&rewritten(&op("Pad", old, &[1, 5, 6, 6]))), ["Pad", "Pad", "Concat"]);
}

#[test]
fn summaries_over_other_axes_work_on_pieces() {
    let mean = |given: Value, shape: &[u64]| op("ReduceMean", given, shape);
    for (given, shape, axis) in [
        (json!({"axes": [2, 3]}), [1, 5, 1, 1].as_slice(), 1),
        (json!({"axes": [-1, -2], "keepdims": 0}), &[1, 5], 1),
        (json!({"axes": [0], "keepdims": 0}), &[5, 4, 4], 0),
        (json!({"keepdims": 1, "constants": {"1": whole(&[2, 3])}}), &[1, 5, 1, 1], 1),
    ] {
        let new = rewritten(&mean(given, shape));
        assert_eq!(kinds(&new), ["ReduceMean", "ReduceMean", "Concat"]);
        assert_eq!(attribute(&new, "Concat", "/axis"), [json!(axis)]);
    }
    for given in
        [json!({"axes": [1]}), json!({"axes": [-3]}), json!({}), json!({"constants": {"1": whole(&[])}})]
    {
        assert_eq!(rules(&mean(given.clone(), &[1, 5, 1, 1])), [""; 0], "{given}");
    }
}

#[test]
fn concatenations_are_one_and_sums_are_chains() {
    let graph = read(|drawing, x| {
        let other = drawing.input(&[1, 1, 4, 4]);
        drawing.op("Concat", &[x, other], json!({"axis": -3}), &[1, 6, 4, 4])
    });
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["Concat"]);
    assert_eq!(new.ops()[0].inputs.len(), 3);

    let mut drawing = Drawing::new();
    let terms = [0; 4].map(|_| drawing.input(&WHOLE));
    let sum = drawing.op("Sum", &terms, json!({}), &WHOLE);
    let new = rewritten(&drawing.finish(&[sum]));
    assert_eq!(kinds(&new), ["Add", "Add", "Add"]);
    assert!(new.ops().iter().all(|op| op.attributes.is_empty()));
}

#[test]
fn integers_are_not_added_in_parts() {
    let mut drawing = Drawing::of(ElementType::Int32);
    let pieces = [2, 3].map(|size| drawing.input(&[4, size]));
    let joined = drawing.op("Concat", &pieces, json!({"axis": 1}), &[4, 5]);
    let y = drawing.op("MatMul", &[joined], json!({"constants": {"1": constant(&[5, 7])}}), &[4, 7]);
    let graph = drawing.finish(&[y]);
    assert_eq!(rules(&graph), [""; 0]);
    assert_eq!(read_by(&graph, "MatMul"), [[4, 5]]);
}
