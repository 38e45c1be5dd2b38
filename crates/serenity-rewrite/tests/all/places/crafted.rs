//! Graphs that nobody trains, made to be slow or large.

use crate::places::drawing::{Drawing, kinds};
use serde_json::json;
use serenity_ir::{ElementType, OpId};
use serenity_rewrite::{Action, Patch, PatchError, Settings, apply, find};

/// Each concatenation joins the one before with itself, so the last has a billion pieces.
#[test]
fn pieces_that_double_are_bounded() {
    let mut drawing = Drawing::of(ElementType::Int8);
    let mut x = drawing.input(&[1, 1]);
    for level in 1..=30 {
        x = drawing.op("CONCATENATION", &[x, x], json!({"axis": 1}), &[1, 1 << level]);
        x = drawing.op("RELU", &[x], json!({}), &[1, 1 << level]);
    }
    let graph = drawing.finish(&[x]);
    let settings = Settings::default();
    let new = apply(&graph, &find(&graph, &settings), &settings).unwrap().graph;
    assert!(new.ops().len() > 1_000 && new.ops().len() < 1 << 18, "{}", new.ops().len());
    assert_eq!(new.outputs(), graph.outputs());
}

#[test]
fn a_long_chain_of_sums_is_one_sum_soon() {
    let mut drawing = Drawing::new();
    let mut sum = drawing.input(&[1]);
    for _ in 0..50_000 {
        let term = drawing.input(&[1]);
        sum = drawing.op("ADD", &[sum, term], json!({}), &[1]);
    }
    let graph = drawing.finish(&[sum]);
    let settings = Settings::default();
    let patches = find(&graph, &settings);
    assert_eq!(patches.len(), 1);
    assert_eq!(kinds(&apply(&graph, &patches, &settings).unwrap().graph).len(), 50_000);
}

#[test]
fn many_readers_of_many_pieces_are_bounded() {
    let mut drawing = Drawing::new();
    let pieces: Vec<_> = (0..2_000).map(|_| drawing.input(&[1, 1])).collect();
    let joined = drawing.op("CONCATENATION", &pieces, json!({"axis": 1}), &[1, 2_000]);
    let readers: Vec<_> = (0..2_000).map(|_| drawing.op("RELU", &[joined], json!({}), &[1, 2_000])).collect();
    let graph = drawing.finish(&readers);
    let settings = Settings::default();
    let patches = find(&graph, &settings);
    assert_eq!(patches.len(), 2_000);
    assert!(apply(&graph, &patches, &settings).unwrap().graph.ops().len() < 1 << 18);
}

#[test]
fn patches_of_another_graph_are_refused() {
    let mut drawing = Drawing::new();
    let x = drawing.input(&[1, 1]);
    let y = drawing.op("RELU", &[x], json!({}), &[1, 1]);
    let graph = drawing.finish(&[y]);
    let patch = |action| Patch { rule: "none", action, identity: String::new(), exact: true, rounds_in: &[] };
    let settings = Settings::default();
    let outcome = |patches: &[Patch]| apply(&graph, patches, &settings).map(|rewriting| rewriting.graph);
    let split = |op| patch(Action::Split { op: OpId(op), order: Vec::new() });
    let sum = patch(Action::Accumulate { op: OpId(0), order: Vec::new() });
    assert_eq!(outcome(&[split(0)]).as_ref(), Ok(&graph), "its input is whole");
    assert_eq!(outcome(&[split(1)]), Err(PatchError::UnknownOp { op: OpId(1), ops: 1 }));
    assert_eq!(outcome(&[split(0), split(0)]), Err(PatchError::Conflict { op: OpId(0) }));
    assert_eq!(outcome(&[sum]), Err(PatchError::Misfit { op: OpId(0) }));
}
