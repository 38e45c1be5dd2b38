//! Ops as `TFLite` spells them that read a concatenation of channels, [1, 4, 4, 2] and [1, 4, 4, 3].

use crate::places::drawing::{Drawing, affine, attribute, constant, kinds, proposals, read_by, rewritten};
use serde_json::{Value, json};
use serenity_ir::{ElementType, Graph, TensorId};
use serenity_rewrite::{Settings, apply, find};

const PIECES: [[u64; 4]; 2] = [[1, 4, 4, 2], [1, 4, 4, 3]];
const WHOLE: [u64; 4] = [1, 4, 4, 5];

/// The concatenation, and something that reads it.
fn read(mut drawing: Drawing, read: impl Fn(&mut Drawing, TensorId) -> TensorId) -> Graph {
    let pieces = PIECES.map(|shape| drawing.input(&shape));
    let joined = drawing.op("CONCATENATION", &pieces, json!({"axis": 3, "activation": "none"}), &WHOLE);
    let result = read(&mut drawing, joined);
    drawing.finish(&[result])
}

fn op(kind: &str, attributes: Value, shape: &[u64]) -> Graph {
    read(Drawing::new(), |drawing, x| drawing.op(kind, &[x], attributes.clone(), shape))
}

fn rules(graph: &Graph) -> Vec<&'static str> {
    proposals(graph, Settings::default()).into_iter().map(|(rule, _)| rule).collect()
}

fn window(constants: Value) -> Value {
    json!({"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "padding": "same", "activation": "relu6", "constants": constants})
}

fn convolution(weights: &[u64]) -> Value {
    window(json!({"1": constant(weights), "2": constant(&[7])}))
}

const WEIGHTS: [u64; 4] = [7, 3, 3, 5];
const RESULT: [u64; 4] = [1, 4, 4, 7];

#[test]
fn a_convolution_is_a_sum_of_convolutions() {
    let graph = op("CONV_2D", convolution(&WEIGHTS), &RESULT);
    assert_eq!(rules(&graph), ["channel-partitioning"]);
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["CONV_2D", "CONV_2D", "ADD"]);
    assert_eq!(read_by(&new, "CONV_2D"), PIECES);
    let shapes = attribute(&new, "CONV_2D", "/constants/1/shape");
    assert_eq!(shapes, [json!([7, 3, 3, 2]), json!([7, 3, 3, 3])]);
    assert_eq!(attribute(&new, "CONV_2D", "/activation"), ["none", "none"]);
    assert_eq!(attribute(&new, "ADD", "/activation"), ["relu6"]);
    assert_eq!(attribute(&new, "CONV_2D", "/constants/2/shape"), [json!([7]), json!([7])]);
}

#[test]
fn a_convolution_whose_weights_do_not_fit_stays() {
    for weights in [[7, 3, 3, 1], [7, 3, 3, 4], [7, 3, 3, 10]] {
        assert_eq!(rules(&op("CONV_2D", convolution(&weights), &RESULT)), [""; 0], "{weights:?}");
    }
    let mut described = convolution(&WEIGHTS);
    described["constants"]["1"]["shape"] = json!("odd");
    assert_eq!(rules(&op("CONV_2D", described, &RESULT)), [""; 0]);
}

#[test]
fn weights_that_are_computed_or_variable_stay_whole() {
    let dynamic = |kind: &str, shape: &[u64], result: &[u64]| {
        read(Drawing::new(), |drawing, x| {
            let weights = drawing.input(shape);
            drawing.op(kind, &[x, weights], window(json!({"2": constant(&[7])})), result)
        })
    };
    assert_eq!(rules(&dynamic("CONV_2D", &WEIGHTS, &RESULT)), [""; 0]);
    assert_eq!(rules(&dynamic("DEPTHWISE_CONV_2D", &[1, 3, 3, 5], &WHOLE)), [""; 0]);
    for kind in ["CONV_2D", "DEPTHWISE_CONV_2D"] {
        let mut variable = window(json!({}));
        variable["variables"] = json!({"1": constant(&WEIGHTS)});
        variable.as_object_mut().unwrap().remove("constants");
        assert_eq!(rules(&op(kind, variable, &WHOLE)), [""; 0], "{kind}");
    }
}

/// Such a runtime quantises what it reads by a scale of its own, which depends on all channels.
#[test]
fn floats_with_weights_of_integers_stay_whole() {
    let mut described = convolution(&WEIGHTS);
    described["constants"]["1"]["dtype"] = json!("int8");
    assert_eq!(rules(&op("CONV_2D", described, &RESULT)), [""; 0]);
    let mut described = window(json!({"1": constant(&[1, 3, 3, 5])}));
    assert_eq!(rules(&op("DEPTHWISE_CONV_2D", described.clone(), &WHOLE)), ["kernel-partitioning"]);
    described["constants"]["1"]["dtype"] = json!("int8");
    assert_eq!(rules(&op("DEPTHWISE_CONV_2D", described, &WHOLE)), [""; 0]);
}

#[test]
fn constants_whose_elements_share_bytes_stay_whole() {
    for dtype in ["int4", "int2"] {
        let graph = read(Drawing::int8(), |drawing, x| {
            let mut described = window(json!({"1": constant(&[1, 3, 3, 5])}));
            described["constants"]["1"]["dtype"] = json!(dtype);
            drawing.op("DEPTHWISE_CONV_2D", &[x], described, &WHOLE)
        });
        assert_eq!(rules(&graph), [""; 0], "{dtype}");
    }
}

#[test]
fn a_convolution_of_integers_is_divided_only_on_request() {
    let graph = read(Drawing::int8(), |drawing, x| {
        let mut described = convolution(&WEIGHTS);
        described["constants"]["1"]["dtype"] = json!("int8");
        drawing.op("CONV_2D", &[x], described, &RESULT)
    });
    assert_eq!(rules(&graph), [""; 0]);
    let settings = Settings { rounds_integers: true, ..Settings::default() };
    assert_eq!(proposals(&graph, settings), [("channel-partitioning", "CONV_2D".to_owned())]);
    let patches = find(&graph, &settings);
    assert!(!patches[0].exact);
    let new = apply(&graph, &patches, &settings).unwrap().graph;
    assert_eq!(kinds(&new), ["CONV_2D", "CONV_2D", "ADD"]);
    for id in new.tensor_ids().filter(|&id| new.producer(id).is_some()) {
        assert_eq!(
            (&new.tensor(id).dtype, &new.tensor(id).quantization),
            (&Some(ElementType::Int8), &Some(affine(0.5, 3)))
        );
    }
}

#[test]
fn a_dense_layer_is_a_sum_of_dense_layers() {
    let dense = |format: &str, shape: &[u64]| {
        let mut drawing = Drawing::new();
        let pieces = [2, 3].map(|size| drawing.input(&[1, size]));
        let joined = drawing.op("CONCATENATION", &pieces, json!({"axis": -1}), &[1, 5]);
        let constants = json!({"1": constant(shape)});
        let given =
            json!({"weights_format": format, "activation": "none", "constants": constants, "absent": [2]});
        let result = drawing.op("FULLY_CONNECTED", &[joined], given, &[1, 7]);
        drawing.finish(&[result])
    };
    let new = rewritten(&dense("default", &[7, 5]));
    assert_eq!(kinds(&new), ["FULLY_CONNECTED", "FULLY_CONNECTED", "ADD"]);
    assert_eq!(attribute(&new, "FULLY_CONNECTED", "/constants/1/shape"), [json!([7, 2]), json!([7, 3])]);
    assert_eq!(rules(&dense("shuffled4x16int8", &[7, 5])), [""; 0]);
    assert_eq!(rules(&dense("default", &[7, 10])), [""; 0]);
}

#[test]
fn a_depthwise_convolution_works_on_pieces() {
    let depthwise = |filters: u64, bias: u64| {
        let constants = json!({"1": constant(&[1, 3, 3, filters]), "2": constant(&[bias])});
        op("DEPTHWISE_CONV_2D", window(constants), &[1, 4, 4, filters])
    };
    for multiplier in [1, 2, 3] {
        let graph = depthwise(5 * multiplier, 5 * multiplier);
        assert_eq!(rules(&graph), ["kernel-partitioning"]);
        assert!(find(&graph, &Settings::default())[0].exact);
        let new = rewritten(&graph);
        assert_eq!(kinds(&new), ["DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", "CONCATENATION"]);
        let filters = [2 * multiplier, 3 * multiplier];
        let shapes = attribute(&new, "DEPTHWISE_CONV_2D", "/constants/1/shape");
        assert_eq!(shapes, filters.map(|count| json!([1, 3, 3, count])));
        let shapes = attribute(&new, "DEPTHWISE_CONV_2D", "/constants/2/shape");
        assert_eq!(shapes, filters.map(|count| json!([count])));
        assert_eq!(attribute(&new, "DEPTHWISE_CONV_2D", "/activation"), ["relu6", "relu6"]);
    }
    assert_eq!(rules(&depthwise(7, 7)), [""; 0], "7 filters for 5 channels");
    assert_eq!(rules(&depthwise(5, 1)), [""; 0], "one bias for 5 filters");
}

#[test]
fn functions_of_elements_work_on_pieces() {
    for (kind, given) in [
        ("RELU", json!({})),
        ("LEAKY_RELU", json!({"alpha": 0.25})),
        ("GELU", json!({"approximate": true})),
        ("HARD_SWISH", json!({})),
        ("LOGISTIC", json!({})),
    ] {
        let graph = op(kind, given.clone(), &WHOLE);
        assert_eq!(rules(&graph), ["concat-sinking"], "{kind}");
        let new = rewritten(&graph);
        assert_eq!(kinds(&new), [kind, kind, "CONCATENATION"]);
        for op in &new.ops()[..2] {
            assert_eq!(Value::Object(op.attributes.clone()), given, "{kind}");
        }
    }
    for kind in ["SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "LOG_SOFTMAX", "CUMSUM"] {
        assert_eq!(rules(&op(kind, json!({}), &WHOLE)), [""; 0], "{kind}");
    }
}

/// What is new stands for what the old result stands for, not for what its input does.
#[test]
fn pieces_of_a_result_are_quantised_as_it_is() {
    for (from, to) in [
        (Some(affine(0.5, 3)), None),
        (None, Some(affine(0.1, -4))),
        (Some(affine(0.5, 3)), Some(affine(0.1, -4))),
    ] {
        let mut drawing = Drawing::int8();
        drawing.quantization = from;
        let graph = read(drawing, |drawing, x| {
            drawing.quantization = to.clone();
            drawing.dtype = if to.is_some() { ElementType::Int8 } else { ElementType::Float32 };
            drawing.op(if to.is_some() { "QUANTIZE" } else { "DEQUANTIZE" }, &[x], json!({}), &WHOLE)
        });
        let new = rewritten(&graph);
        assert_eq!(kinds(&new).len(), 3);
        for op in new.ops() {
            let written = new.tensor(op.outputs[0]);
            assert_eq!(written.quantization, to);
            assert_eq!(written.dtype, graph.tensors().last().unwrap().dtype);
        }
    }
}

#[test]
fn a_result_with_a_scale_for_each_channel_is_divided_with_its_scales() {
    let scales = [0.1, 0.2, 0.3, 0.4, 0.5];
    let graph = read(Drawing::new(), |drawing, x| {
        drawing.dtype = ElementType::Int8;
        drawing.quantization =
            Some(serenity_ir::Quantization { scales: scales.to_vec(), axis: 3, ..affine(0.1, 0) });
        drawing.op("QUANTIZE", &[x], json!({}), &WHOLE)
    });
    let new = rewritten(&graph);
    let scales_of = |op: usize| new.tensor(new.ops()[op].outputs[0]).quantization.clone().unwrap().scales;
    assert_eq!((scales_of(0), scales_of(1)), (scales[..2].to_vec(), scales[2..].to_vec()));
    assert_eq!(scales_of(2), scales);
}

#[test]
fn constants_for_each_channel_are_divided_and_others_shared() {
    let with = |kind: &str, position: usize, shape: &[u64]| {
        let mut constants = json!({});
        constants[position.to_string()] = constant(shape);
        op(kind, json!({"activation": "none", "constants": constants}), &WHOLE)
    };
    let divided: [&[u64]; 4] = [&[5], &[1, 5], &[1, 1, 1, 5], &[1, 4, 4, 5]];
    for kind in ["ADD", "DIV", "MAXIMUM", "MUL", "POW", "SUB"] {
        for position in [0, 1] {
            for shape in divided {
                let new = rewritten(&with(kind, position, shape));
                assert_eq!(kinds(&new), [kind, kind, "CONCATENATION"]);
                let part = |size: u64| [&shape[..shape.len() - 1], &[size]].concat();
                let shapes = attribute(&new, kind, &format!("/constants/{position}/shape"));
                assert_eq!(shapes, [json!(part(2)), json!(part(3))]);
            }
            let shared: [&[u64]; 4] = [&[], &[1], &[1, 1, 1, 1], &[4, 4, 1]];
            for shape in shared {
                let new = rewritten(&with(kind, position, shape));
                assert_eq!(kinds(&new), [kind, kind, "CONCATENATION"]);
                let shapes = attribute(&new, kind, &format!("/constants/{position}/shape"));
                assert_eq!(shapes, [json!(shape), json!(shape)]);
            }
        }
    }
    let new = rewritten(&with("PRELU", 1, &[1, 1, 5]));
    assert_eq!(attribute(&new, "PRELU", "/constants/1/shape"), [json!([1, 1, 2]), json!([1, 1, 3])]);
    let new = rewritten(&with("PRELU", 1, &[1, 1, 1]));
    assert_eq!(attribute(&new, "PRELU", "/constants/1/shape"), [json!([1, 1, 1]), json!([1, 1, 1])]);
    assert_eq!(rules(&with("PRELU", 0, &WHOLE)), [""; 0], "the slopes come in pieces");
    assert_eq!(rules(&with("MUL", 1, &[4])), [""; 0]);
    assert_eq!(rules(&with("MUL", 1, &[2, 1, 4, 4, 5])), [""; 0]);
}

#[test]
fn a_constant_that_makes_the_result_larger_stays_with_the_whole() {
    let constants = json!({"1": constant(&[3, 4, 4, 5])});
    assert_eq!(rules(&op("MUL", json!({"constants": constants}), &[3, 4, 4, 5])), [""; 0]);
}

#[test]
fn an_op_on_two_tensors_takes_them_whole() {
    let graph = read(Drawing::new(), |drawing, x| {
        let other = drawing.input(&WHOLE);
        drawing.op("MUL", &[x, other], json!({}), &WHOLE)
    });
    assert_eq!(rules(&graph), [""; 0]);
    let squared = read(Drawing::new(), |drawing, x| drawing.op("MUL", &[x, x], json!({}), &WHOLE));
    assert_eq!(rules(&squared), [""; 0]);
    assert_eq!(kinds(&rewritten(&squared)), ["CONCATENATION", "MUL"]);
}

#[test]
fn summaries_over_other_axes_work_on_pieces() {
    let mean = |axes: Value, keep_dims: bool, shape: &[u64]| {
        let constants = json!({"1": {"name": "axes", "shape": [2], "dtype": "int32"}});
        op("MEAN", json!({"axes": axes, "keep_dims": keep_dims, "constants": constants}), shape)
    };
    for (axes, keep_dims, shape, axis) in [
        (json!([1, 2]), true, [1, 1, 1, 5].as_slice(), 3),
        (json!([1, 2]), false, &[1, 5], 1),
        (json!([-3, -2]), false, &[1, 5], 1),
        (json!([1, 1]), false, &[1, 4, 5], 2),
        (json!(1), false, &[1, 4, 5], 2),
        (json!([0, 1, 2]), false, &[5], 0),
    ] {
        let new = rewritten(&mean(axes.clone(), keep_dims, shape));
        assert_eq!(kinds(&new), ["MEAN", "MEAN", "CONCATENATION"], "{axes}");
        assert_eq!(attribute(&new, "CONCATENATION", "/axis"), [json!(axis)], "{axes}");
    }
    assert_eq!(rules(&mean(json!([3]), true, &[1, 4, 4, 1])), [""; 0]);
    assert_eq!(rules(&mean(json!([1, 2, -1]), false, &[1])), [""; 0]);
    assert_eq!(rules(&mean(json!([]), true, &WHOLE)), [""; 0]);
    assert_eq!(rules(&mean(json!([7]), true, &WHOLE)), [""; 0]);
}

#[test]
fn padding_of_other_axes_works_on_pieces() {
    let pad = |kind: &str, channels: [i64; 2]| {
        let shape = [1, 6, 6, (5 + channels[0] + channels[1]) as u64];
        let paddings = json!([[0, 0], [1, 1], [2, 0], channels]);
        op(kind, json!({"paddings": paddings, "constants": {"1": constant(&[4, 2])}}), &shape)
    };
    for kind in ["PAD", "PADV2", "MIRROR_PAD"] {
        assert_eq!(kinds(&rewritten(&pad(kind, [0, 0]))), [kind, kind, "CONCATENATION"]);
        for channels in [[0, 1], [1, 0], [1, -1]] {
            assert_eq!(rules(&pad(kind, channels)), [""; 0], "{kind} {channels:?}");
        }
    }
    assert_eq!(rules(&op("PAD", json!({}), &[1, 6, 6, 5])), [""; 0], "nothing is known of the amounts");
}

#[test]
fn pools_and_resizes_work_on_pieces() {
    let pool = json!({"kernel": [2, 2], "stride": [2, 2], "padding": "valid", "activation": "relu"});
    for kind in ["MAX_POOL_2D", "AVERAGE_POOL_2D"] {
        let new = rewritten(&op(kind, pool.clone(), &[1, 2, 2, 5]));
        assert_eq!(kinds(&new), [kind, kind, "CONCATENATION"]);
        assert_eq!(attribute(&new, kind, "/activation"), ["relu", "relu"]);
    }
    for kind in ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"] {
        let size = json!({"align_corners": true, "constants": {"1": {"shape": [2], "dtype": "int32"}}});
        let new = rewritten(&op(kind, size, &[1, 8, 8, 5]));
        assert_eq!(kinds(&new), [kind, kind, "CONCATENATION"]);
        let computed = read(Drawing::new(), |drawing, x| {
            let size = drawing.input(&[2]);
            drawing.op(kind, &[x, size], json!({}), &[1, 8, 8, 5])
        });
        assert_eq!(rules(&computed), [""; 0], "the size is computed");
    }
}

#[test]
fn an_op_with_two_results_takes_the_whole() {
    let graph =
        read(Drawing::new(), |drawing, x| drawing.op_of_many("RELU", &[x], json!({}), &[&WHOLE, &WHOLE])[0]);
    assert_eq!(rules(&graph), [""; 0]);
}
