//! Which concatenations are taken apart, and when they stay.

use crate::places::drawing::{Drawing, affine, constant, kinds, proposals, read_by, rewritten};
use serde_json::{Value, json};
use serenity_ir::{ElementType, Graph, TensorId};
use serenity_rewrite::{Settings, apply, find};

/// A concatenation of two inputs, and the result of whatever reads it.
fn joined(drawing: &mut Drawing, given: Value, pieces: [&[u64]; 2], whole: &[u64]) -> TensorId {
    let pieces = pieces.map(|shape| drawing.input(shape));
    drawing.op("CONCATENATION", &pieces, given, whole)
}

fn with_relu(given: Value, pieces: [&[u64]; 2], whole: &[u64]) -> Graph {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, given, pieces, whole);
    let y = drawing.op("RELU", &[x], json!({}), whole);
    drawing.finish(&[y])
}

fn is_left_alone(graph: &Graph) -> bool {
    find(graph, &Settings::default()).is_empty()
}

const CHANNELS: [&[u64]; 2] = [&[1, 4, 4, 2], &[1, 4, 4, 3]];
const WHOLE: [u64; 4] = [1, 4, 4, 5];

#[test]
fn an_axis_may_be_counted_from_the_end() {
    for axis in [3, -1] {
        let graph = with_relu(json!({"axis": axis, "activation": "none"}), CHANNELS, &WHOLE);
        assert_eq!(kinds(&rewritten(&graph)), ["RELU", "RELU", "CONCATENATION"]);
    }
    for axis in [4, -5, i64::MIN, i64::MAX] {
        assert!(is_left_alone(&with_relu(json!({"axis": axis}), CHANNELS, &WHOLE)), "{axis}");
    }
    assert!(is_left_alone(&with_relu(json!({}), CHANNELS, &WHOLE)), "no axis");
}

#[test]
fn one_that_does_more_than_join_stays() {
    assert!(is_left_alone(&with_relu(json!({"axis": 3, "activation": "relu"}), CHANNELS, &WHOLE)));
    let constants = json!({"0": constant(&[1, 4, 4, 2])});
    assert!(is_left_alone(&with_relu(json!({"axis": 3, "constants": constants}), CHANNELS, &WHOLE)));
}

#[test]
fn pieces_must_fit() {
    for (pieces, whole) in [
        (CHANNELS, [1, 4, 4, 6].as_slice()),
        ([&[1, 4, 4, 2], &[1, 4, 3, 3]], &WHOLE),
        ([&[1, 4, 4, 2], &[4, 4, 3]], &WHOLE),
        ([&[1, 4, 4, 0], &[1, 4, 4, 5]], &WHOLE),
        ([&[0, 4, 4, 2], &[0, 4, 4, 3]], &WHOLE),
    ] {
        assert!(is_left_alone(&with_relu(json!({"axis": 3}), pieces, whole)), "{pieces:?}");
    }
}

#[test]
fn nothing_of_nothing_is_valid() {
    let graph = with_relu(json!({"axis": 3}), [&[0, 4, 4, 2], &[0, 4, 4, 3]], &[0, 4, 4, 5]);
    let new = rewritten(&graph);
    assert!(new.tensors().iter().all(|tensor| tensor.bytes == 0));
}

#[test]
fn sizes_that_overflow_are_no_concatenation() {
    let mut drawing = Drawing::of(ElementType::Int8);
    let pieces = [drawing.input(&[0, u64::MAX]), drawing.input(&[0, 7])];
    let x = drawing.op("CONCATENATION", &pieces, json!({"axis": 1}), &[0, 6]);
    let y = drawing.op("RELU", &[x], json!({}), &[0, 6]);
    assert!(is_left_alone(&drawing.finish(&[y])));
}

#[test]
fn pieces_of_another_type_or_quantisation_stay_joined() {
    let quantised = |second: Option<serenity_ir::Quantization>, dtype: ElementType| {
        let mut drawing = Drawing::int8();
        let first = drawing.input(CHANNELS[0]);
        let own = (drawing.quantization.clone(), drawing.dtype.clone());
        (drawing.quantization, drawing.dtype) = (second, dtype);
        let second = drawing.input(CHANNELS[1]);
        (drawing.quantization, drawing.dtype) = own;
        let x = drawing.op("CONCATENATION", &[first, second], json!({"axis": 3}), &WHOLE);
        let y = drawing.op("RELU", &[x], json!({}), &WHOLE);
        drawing.finish(&[y])
    };
    assert!(!is_left_alone(&quantised(Some(affine(0.5, 3)), ElementType::Int8)));
    assert!(is_left_alone(&quantised(Some(affine(0.25, 3)), ElementType::Int8)));
    assert!(is_left_alone(&quantised(Some(affine(0.5, 4)), ElementType::Int8)));
    assert!(is_left_alone(&quantised(None, ElementType::Int8)));
    assert!(is_left_alone(&quantised(Some(affine(0.5, 3)), ElementType::UInt8)));
}

/// Rows can be treated apart by functions of elements, but not by what slides over them.
#[test]
fn along_another_axis_only_elements_are_apart() {
    let rows: [&[u64]; 2] = [&[1, 2, 4, 5], &[1, 2, 4, 5]];
    let rules = |kind: &str, given: Value| {
        let mut drawing = Drawing::new();
        let x = joined(&mut drawing, json!({"axis": 1}), rows, &WHOLE);
        let y = drawing.op(kind, &[x], given, &WHOLE);
        proposals(&drawing.finish(&[y]), Settings::default()).len()
    };
    assert_eq!(rules("RELU", json!({})), 1);
    assert_eq!(rules("MUL", json!({"constants": {"1": constant(&[5])}})), 1);
    let window = json!({"kernel": [3, 3], "stride": [1, 1], "padding": "same", "constants": {"1": constant(&[5, 3, 3, 5])}});
    for kind in ["CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D", "RESIZE_BILINEAR"] {
        assert_eq!(rules(kind, window.clone()), 0, "{kind}");
    }
}

#[test]
fn one_that_is_a_result_stays_beside_its_pieces() {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, json!({"axis": 3}), CHANNELS, &WHOLE);
    let y = drawing.op("RELU", &[x], json!({}), &WHOLE);
    let graph = drawing.finish(&[x, y]);
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["CONCATENATION", "RELU", "RELU", "CONCATENATION"]);
    assert_eq!(new.outputs(), graph.outputs());
    assert_eq!(read_by(&new, "RELU"), CHANNELS);
}

#[test]
fn one_that_somebody_reads_whole_stays_beside_its_pieces() {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, json!({"axis": 3}), CHANNELS, &WHOLE);
    let y = drawing.op("RELU", &[x], json!({}), &WHOLE);
    let z = drawing.op("SOFTMAX", &[x], json!({}), &WHOLE);
    let graph = drawing.finish(&[y, z]);
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["CONCATENATION", "RELU", "RELU", "CONCATENATION", "SOFTMAX"]);
    assert_eq!(read_by(&new, "SOFTMAX"), [WHOLE]);
}

#[test]
fn a_chain_sinks_to_its_end() {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, json!({"axis": 3}), CHANNELS, &WHOLE);
    let y = drawing.op("RELU", &[x], json!({}), &WHOLE);
    let y = drawing.op("MUL", &[y], json!({"constants": {"1": constant(&[5])}}), &WHOLE);
    let window = json!({"kernel": [1, 1], "stride": [1, 1], "padding": "same", "constants": {"1": constant(&[7, 1, 1, 5])}});
    let z = drawing.op("CONV_2D", &[y], window, &[1, 4, 4, 7]);
    let graph = drawing.finish(&[z]);
    assert_eq!(kinds(&rewritten(&graph)), ["RELU", "RELU", "MUL", "MUL", "CONV_2D", "CONV_2D", "ADD"]);
    // Without the first, there is nothing for the others to do.
    let patches = find(&graph, &Settings::default());
    let others = apply(&graph, &patches[1..], &Settings::default()).unwrap();
    assert_eq!(others.graph, graph);
}

#[test]
fn concatenations_of_concatenations_are_one() {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, json!({"axis": 3}), CHANNELS, &WHOLE);
    let other = drawing.input(&[1, 4, 4, 1]);
    let outer = drawing.op("CONCATENATION", &[other, x, x], json!({"axis": -1}), &[1, 4, 4, 11]);
    let y = drawing.op("RELU", &[outer], json!({}), &[1, 4, 4, 11]);
    let graph = drawing.finish(&[y]);
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["RELU", "RELU", "RELU", "RELU", "RELU", "CONCATENATION"]);
    let channels: Vec<u64> = read_by(&new, "RELU").iter().map(|shape| shape[3]).collect();
    assert_eq!(channels, [1, 2, 3, 2, 3]);
    // The outer one alone: it joins all pieces, and the inner one is gone.
    let patches = find(&graph, &Settings::default());
    let flat = apply(&graph, &patches[..1], &Settings::default()).unwrap().graph;
    assert_eq!(kinds(&flat), ["CONCATENATION", "RELU"]);
    assert_eq!(flat.ops()[0].inputs.len(), 5);
}

#[test]
fn one_along_another_axis_takes_the_whole() {
    let mut drawing = Drawing::new();
    let x = joined(&mut drawing, json!({"axis": 3}), CHANNELS, &WHOLE);
    let other = drawing.input(&[1, 2, 4, 5]);
    let outer = drawing.op("CONCATENATION", &[x, other], json!({"axis": 1}), &[1, 6, 4, 5]);
    let y = drawing.op("RELU", &[outer], json!({}), &[1, 6, 4, 5]);
    let new = rewritten(&drawing.finish(&[y]));
    assert_eq!(kinds(&new), ["CONCATENATION", "RELU", "RELU", "CONCATENATION"]);
    assert_eq!(read_by(&new, "RELU"), [WHOLE.to_vec(), vec![1, 2, 4, 5]]);
}

#[test]
fn a_piece_may_come_twice() {
    let mut drawing = Drawing::new();
    let x = drawing.input(CHANNELS[0]);
    let twice = drawing.op("CONCATENATION", &[x, x], json!({"axis": 3}), &[1, 4, 4, 4]);
    let window = json!({"kernel": [1, 1], "stride": [1, 1], "padding": "same", "constants": {"1": constant(&[7, 1, 1, 4])}});
    let y = drawing.op("CONV_2D", &[twice], window, &[1, 4, 4, 7]);
    let graph = drawing.finish(&[y]);
    let settings = Settings::default();
    let rewriting = apply(&graph, &find(&graph, &settings), &settings).unwrap();
    assert_eq!(kinds(&rewriting.graph), ["CONV_2D", "CONV_2D", "ADD"]);
    let slice = |from, to| serenity_rewrite::NewConstant::Slice { axis: 3, from, to };
    assert_eq!(rewriting.origins[0].constants[&1], slice(0, 2));
    assert_eq!(rewriting.origins[1].constants[&1], slice(2, 4));
}
