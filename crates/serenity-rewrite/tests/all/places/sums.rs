//! Sums of several terms.

use crate::places::drawing::{Drawing, constant, kinds, proposals, rewritten};
use serde_json::{Value, json};
use serenity_ir::{Graph, TensorId};
use serenity_rewrite::{Settings, Sums, apply, find};

const SHAPE: [u64; 4] = [1, 4, 4, 5];

fn add(drawing: &mut Drawing, a: TensorId, b: TensorId) -> TensorId {
    drawing.op("ADD", &[a, b], json!({"activation": "none"}), &SHAPE)
}

fn count(graph: &Graph) -> usize {
    proposals(graph, Settings::default()).len()
}

/// `(x + y) + z`, with something done to the inner sum in between.
fn three(between: impl Fn(&mut Drawing, TensorId) -> (TensorId, Vec<TensorId>)) -> Graph {
    let mut drawing = Drawing::new();
    let [x, y, z] = [0; 3].map(|_| drawing.input(&SHAPE));
    let inner = add(&mut drawing, x, y);
    let (inner, mut outputs) = between(&mut drawing, inner);
    outputs.push(add(&mut drawing, inner, z));
    drawing.finish(&outputs)
}

#[test]
fn three_terms_are_one_sum_in_any_order() {
    let graph = three(|_, inner| (inner, Vec::new()));
    let patches = find(&graph, &Settings::default());
    assert_eq!(patches.len(), 1);
    assert!(!patches[0].exact);
    for (order, wanted) in [
        (vec![], [0, 1, 2]),
        (vec![2, 0, 1], [2, 0, 1]),
        (vec![1, 2], [0, 1, 2]),
        (vec![0, 0, 1], [0, 1, 2]),
        (vec![usize::MAX, 0, 1], [0, 1, 2]),
    ] {
        let patch = patches[0].clone().with_order(order);
        let new = apply(&graph, &[patch], &Settings::default()).unwrap().graph;
        assert_eq!(kinds(&new), ["ADD", "ADD"]);
        let read: Vec<TensorId> =
            new.ops().iter().flat_map(|op| op.inputs.clone()).filter(|&t| new.is_input(t)).collect();
        assert_eq!(read, wanted.map(TensorId));
        assert_eq!(new.ops()[1].outputs, graph.outputs());
    }
}

#[test]
fn two_terms_stay_as_they_are() {
    let mut drawing = Drawing::new();
    let [x, y] = [0; 2].map(|_| drawing.input(&SHAPE));
    let sum = add(&mut drawing, x, y);
    assert_eq!(count(&drawing.finish(&[sum])), 0);
}

#[test]
fn an_inner_sum_that_is_needed_stays() {
    assert_eq!(count(&three(|_, inner| (inner, vec![inner]))), 0, "it is a result");
    let read = |drawing: &mut Drawing, inner| (inner, vec![drawing.op("RELU", &[inner], json!({}), &SHAPE)]);
    assert_eq!(count(&three(read)), 0, "something else reads it");
    assert_eq!(count(&three(|drawing, inner| (drawing.op("RELU", &[inner], json!({}), &SHAPE), vec![]))), 0);
}

#[test]
fn an_inner_sum_with_an_activation_stays_and_the_last_keeps_its_own() {
    let sum = |inner: &str, outer: &str| {
        let mut drawing = Drawing::new();
        let [x, y, z] = [0; 3].map(|_| drawing.input(&SHAPE));
        let first = drawing.op("ADD", &[x, y], json!({"activation": inner}), &SHAPE);
        let second = drawing.op("ADD", &[first, z], json!({"activation": outer}), &SHAPE);
        drawing.finish(&[second])
    };
    assert_eq!(count(&sum("relu", "none")), 0);
    let graph = sum("none", "relu6");
    let patch = find(&graph, &Settings::default())[0].clone().with_order(vec![2, 1, 0]);
    let new = apply(&graph, &[patch], &Settings::default()).unwrap().graph;
    let activations: Vec<&Value> = new.ops().iter().map(|op| &op.attributes["activation"]).collect();
    assert_eq!(activations, ["none", "relu6"]);
}

#[test]
fn terms_that_are_spread_or_constant_stay() {
    let mut drawing = Drawing::new();
    let [x, y] = [0; 2].map(|_| drawing.input(&SHAPE));
    let small = drawing.input(&[5]);
    let inner = drawing.op("ADD", &[x, small], json!({}), &SHAPE);
    let sum = add(&mut drawing, inner, y);
    assert_eq!(count(&drawing.finish(&[sum])), 0);

    let shifted = |drawing: &mut Drawing, inner| {
        (drawing.op("ADD", &[inner], json!({"constants": {"1": constant(&SHAPE)}}), &SHAPE), vec![])
    };
    assert_eq!(count(&three(shifted)), 0);
}

#[test]
fn a_term_may_come_twice() {
    let mut drawing = Drawing::new();
    let [x, y] = [0; 2].map(|_| drawing.input(&SHAPE));
    let sum = drawing.op("ADD_N", &[x, y, x], json!({}), &SHAPE);
    let new = rewritten(&drawing.finish(&[sum]));
    assert_eq!(kinds(&new), ["ADD", "ADD"]);
    assert_eq!(new.ops()[0].inputs, [x, y]);
    assert_eq!(new.ops()[1].inputs[1], x);
    // Twice an inner sum is no sum of its terms once.
    let mut drawing = Drawing::new();
    let [x, y] = [0; 2].map(|_| drawing.input(&SHAPE));
    let inner = add(&mut drawing, x, y);
    let sum = add(&mut drawing, inner, inner);
    assert_eq!(count(&drawing.finish(&[sum])), 0);
}

#[test]
fn integers_are_added_as_they_are_unless_asked() {
    let mut drawing = Drawing::int8();
    let [x, y, z] = [0; 3].map(|_| drawing.input(&SHAPE));
    let inner = add(&mut drawing, x, y);
    let sum = add(&mut drawing, inner, z);
    let graph = drawing.finish(&[sum]);
    assert_eq!(count(&graph), 0);
    let settings = Settings { rounds_integers: true, ..Settings::default() };
    assert_eq!(proposals(&graph, settings), [("sum-reassociation", "ADD".to_owned())]);
}

#[test]
fn trees_of_sums_are_one_sum() {
    let mut drawing = Drawing::new();
    let terms = [0; 6].map(|_| drawing.input(&SHAPE));
    let pairs = [0, 2, 4].map(|at| add(&mut drawing, terms[at], terms[at + 1]));
    let sum = drawing.op("ADD_N", &pairs, json!({}), &SHAPE);
    let graph = drawing.finish(&[sum]);
    let patches = find(&graph, &Settings::default());
    assert_eq!(patches.len(), 1);
    let new = rewritten(&graph);
    assert_eq!(kinds(&new), ["ADD"; 5]);
    for sums in [Sums::Accumulator, Sums::Draft] {
        let settings = Settings { sums, ..Settings::default() };
        let rewriting = apply(&graph, &patches, &settings).unwrap();
        assert_eq!(rewriting.terms[&patches[0].op()].len(), 6);
        assert_eq!(kinds(&rewriting.graph).last(), Some(&"ACCUMULATE"));
    }
}
