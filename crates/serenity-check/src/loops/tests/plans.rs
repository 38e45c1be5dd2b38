//! Plans of models with loops, as [`placement_faults`] sees them.

use super::net::{Made, NONE, Net, condition, ints, with};
use super::striped::{RIGHT, looped};
use crate::loops::{Model, Numbers, Plan, equivalence_faults, replay_model};
use crate::{placement_faults, placement_faults_with};
use serde_json::json;
use serenity_facts::Kernels;
use serenity_ir::OpId;

fn faults_with(made: &Made, numbers: &Numbers) -> Vec<String> {
    with(made, |Model { graphs, orders, .. }| {
        let faults = placement_faults_with(graphs, orders, Kernels::Any, &made.places, 464, numbers);
        faults.iter().map(ToString::to_string).collect()
    })
}

fn faults(made: &Made) -> Vec<String> {
    faults_with(made, &|_, _, _| None)
}

#[test]
fn what_a_loop_hands_on_may_stay_where_it_is() {
    let mut made = looped(&RIGHT);
    assert_eq!(faults(&made), NONE);
    // The stripe that is read last is written where the next one begins.
    *made.place(2, "made") = Some(32);
    let found = faults(&made);
    assert!(found.iter().any(|fault| fault.starts_with("row ")), "{found:?}");
    *made.place(2, "made") = Some(8);
    assert!(faults(&made).iter().any(|fault| fault.contains("no multiple of 16")));
}

#[test]
fn long_tables_are_asked_for() {
    let mut made = looped(&RIGHT);
    made.edit(2, ",\"values\":[1,2,3,4]", "");
    assert!(!faults(&made).is_empty());
    let op = OpId(made.graphs[2].ops().len() as u32 - 1);
    let numbers = |graph, id, position| ((graph, id, position) == (2, op, 0)).then(|| vec![1, 2, 3, 4]);
    assert_eq!(faults_with(&made, &numbers), NONE);
}

/// A loop that runs as long as its input says, and one that runs itself.
#[test]
fn a_loop_without_a_known_end_is_left_undecided() {
    let model = |limit_is_input: bool, body_of_body: bool| {
        let mut main = Net::default();
        let [i, n, i1, n1] = ["i", "n", "i1", "n1"].map(|name| main.numbers(name, 1, 0));
        main.inputs(&[n]);
        if limit_is_input {
            main.inputs(&[i]);
            main.op_with("WHILE", &[i, n], &[i1, n1], &[], json!({"bodies": [1, 2]}), None);
        } else {
            main.op_with("WHILE", &[n], &[i1, n1], &[(0, ints(&[0]))], json!({"bodies": [1, 2]}), None);
        }
        main.outputs(&[i1]);
        let mut cond = Net::default();
        let (i, n, answer) = (cond.numbers("i", 1, 0), cond.numbers("n", 1, 16), cond.answer(32));
        cond.inputs(&[i, n]);
        if limit_is_input {
            cond.op("LESS", &[i, n], &[answer], &[]);
        } else {
            cond.op("LESS", &[i], &[answer], &[(1, ints(&[1]))]);
        }
        cond.outputs(&[answer]);
        let mut body = Net::default();
        let (i, n) = (body.numbers("i", 1, 0), body.numbers("n", 1, 16));
        body.inputs(&[i, n]);
        if body_of_body {
            let (i1, n1) = (body.numbers("i1", 1, 0), body.numbers("n1", 1, 16));
            body.op_with("WHILE", &[i, n], &[i1, n1], &[], json!({"bodies": [1, 2]}), None);
            body.outputs(&[i1, n1]);
        } else {
            let copy = body.numbers("copy", 1, 48);
            body.reshape(i, copy);
            body.outputs(&[copy, n]);
        }
        Made::of(vec![main, cond, body])
    };
    let undecided = |made: &Made| {
        with(made, |looped| {
            let faults = replay_model(looped, &Plan { kernels: Kernels::Any, offsets: &made.places });
            assert!(faults.len() == 1 && faults[0].is_undecided(), "{faults:?}");
            let _ = placement_faults(looped.graphs, looped.orders, Kernels::Any, &made.places, 64);
            let _ = equivalence_faults(looped, looped, &[]);
            faults[0].to_string()
        })
    };
    assert_eq!(
        undecided(&model(true, false)),
        "op 0 (`WHILE#0`) in iteration 0 cannot be followed: whether there is another iteration depends on the input"
    );
    assert_eq!(
        undecided(&model(false, false)),
        "the model is too large to replay: it takes more than 10000000 steps"
    );
    assert_eq!(
        undecided(&model(false, true)),
        "op 0 (`WHILE#0`) of graph 2 in iteration 0 cannot be followed: loops are nested too deep"
    );
}

/// Two pictures, of which the loop takes rows of one and writes them to the other: what it gives back must be in the same places.
#[test]
fn two_values_that_change_places_are_seen() {
    let original = {
        let mut net = Net::default();
        let (x, y) = (net.tensor("x", &[1, 4, 2, 2], 0), net.tensor("y", &[1, 4, 2, 2], 16));
        net.inputs(&[x]);
        net.op("RELU", &[x], &[y], &[]);
        net.outputs(&[y]);
        Made::of(vec![net])
    };
    let looped = |swapped: bool| {
        let mut main = Net::default();
        let (x, y) = (main.tensor("x", &[1, 4, 2, 2], 0), main.tensor("y", &[1, 4, 2, 2], 16));
        main.inputs(&[x]);
        let z0 = main.tensor("z0", &[1, 4, 2, 2], 16);
        main.op("FILL", &[], &[z0], &[(0, ints(&[1, 4, 2, 2])), (1, super::net::filled(&[], 0))]);
        let (i1, x1) = (main.numbers("i1", 1, 400), main.tensor("x1", &[1, 4, 2, 2], 0));
        main.op_with("WHILE", &[x, z0], &[i1, x1, y], &[(0, ints(&[0]))], json!({"bodies": [1, 2]}), None);
        main.outputs(&[y]);
        let mut body = Net::default();
        let (i, x, z) = (
            body.numbers("i", 1, 400),
            body.tensor("x", &[1, 4, 2, 2], 0),
            body.tensor("z", &[1, 4, 2, 2], 16),
        );
        body.inputs(&[i, x, z]);
        let (i4, at) = (body.numbers("i4", 1, 416), body.numbers("at", 4, 432));
        body.look_up(&[0, 4, 8, 12], i, i4, 1);
        body.look_up(&[0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0], i4, at, 4);
        let (row, made) = (body.tensor("row", &[1, 1, 2, 2], 32), body.tensor("made", &[1, 1, 2, 2], 32));
        body.op("SLICE", &[x, at], &[row], &[(2, ints(&[1, 1, 2, 2]))]);
        body.op_with("RELU", &[row], &[made], &[], json!({}), Some(0));
        let (written, next) = (body.tensor("z'", &[1, 4, 2, 2], 16), body.numbers("i'", 1, 400));
        body.op("DYNAMIC_UPDATE_SLICE", &[z, made, at], &[written], &[]);
        body.look_up(&[1, 2, 3, 4], i, next, 1);
        body.outputs(&if swapped { [next, written, x] } else { [next, x, written] });
        let cond = condition(&[(&[1, 4, 2, 2], 0), (&[1, 4, 2, 2], 16)], 4, 448);
        Made::of(vec![main, cond, body])
    };
    assert_eq!(looped(false).replay(&original, Kernels::Any), NONE);
    assert_eq!(faults(&looped(false)), NONE);
    assert_eq!(looped(true).equivalence(&original).len(), 1);
    let mut shared = looped(false);
    // Over a row that was read before, nothing is lost; over one that is still to come, it is.
    *shared.place(2, "made") = Some(0);
    assert_eq!(shared.replay(&original, Kernels::Any), NONE);
    *shared.place(2, "made") = Some(8);
    assert_eq!(
        shared.replay(&original, Kernels::Any),
        ["row 2 of output `y` is wrong: op 3 (`RELU#3`) of graph 2 in iteration 2 reads row 1 of `RELU#0`, \
             made by op 0 (`RELU#0`), where it should be bytes 8 to 12 of input `x`"]
    );
}
