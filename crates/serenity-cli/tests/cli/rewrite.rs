//! Rewriting is on by default, says what it did, and its plans can be checked.

use crate::harness::Desk;
use serde_json::json;

/// A pad and a convolution of stride 2; the pad folds if it is below and to the right.
fn network(desk: &Desk, above: u64, below: u64) {
    let tensor = |shape: [u64; 4]| json!({"shape": shape, "dtype": "int8", "quantization": {"scales": [0.5], "zero_points": [3]}});
    let graph = json!({
        "name": "padded",
        "tensors": [tensor([1, 8, 8, 4]), tensor([1, 9, 9, 4]), tensor([1, 4, 4, 8])],
        "ops": [
            {"name": "pad", "type": "PAD", "inputs": [0], "outputs": [1], "attributes": {"paddings": [[0, 0], [above, below], [0, 1], [0, 0]]}},
            {"name": "conv", "type": "CONV_2D", "inputs": [1], "outputs": [2], "attributes": {"kernel": [3, 3], "stride": [2, 2], "padding": "valid"}},
        ],
        "inputs": [0],
        "outputs": [2],
    });
    desk.write("net.json", &graph.to_string());
}

#[test]
fn a_pad_is_folded_and_the_plan_says_so() {
    let desk = Desk::new();
    network(&desk, 0, 1);
    let run = desk.run(&["optimize", "net.json", "-o", "small.json", "--plan", "plan.json", "--json"]);
    let object = run.json();
    assert_eq!((&object["before"]["peak"], &object["before"]["ops"]), (&json!(580), &json!(2)));
    assert_eq!((&object["after"]["peak"], &object["after"]["ops"]), (&json!(384), &json!(1)));
    let rewrite = &object["rewrites"][0];
    assert_eq!((&rewrite["rule"], &rewrite["exact"]), (&json!("pad-folding"), &json!(true)));
    assert_eq!((&rewrite["ops"], &rewrite["gain"]), (&json!([0, 1]), &json!(196)));
    // The plan is checked against the model it was made from, which is rewritten again.
    let check = desk.run(&["check", "plan.json", "net.json", "--deep"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(check.stdout.contains("rewrites verified: 1 found and made again"), "{}", check.stdout);
    // What was written is rewritten already.
    let check = desk.run(&["check", "plan.json", "small.json"]);
    assert_eq!(check.code, 1);
    let said = check.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("this one cannot be rewritten in the same"), "{said}");
    assert!(said.contains("check the plan with the model that was optimised"), "{said}");
    let again = desk.run(&["optimize", "small.json", "--json"]).json();
    assert_eq!((&again["rewrites"], &again["after"]["peak"]), (&json!([]), &json!(384)));
}

#[test]
fn each_rewrite_is_printed() {
    let desk = Desk::new();
    network(&desk, 0, 1);
    let run = desk.run(&["optimize", "net.json"]);
    assert!(
        run.stdout.contains("- pad-folding, the same bit for bit: the zeros that `pad` adds"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("write it:    serenity optimize net.json"), "{}", run.stdout);
}

#[test]
fn nothing_is_rewritten_where_it_is_not_the_same_or_not_wanted() {
    let desk = Desk::new();
    network(&desk, 0, 1);
    let kept = desk.run(&["optimize", "net.json", "--no-rewrite", "--json"]).json();
    assert_eq!((&kept["rewrites"], &kept["after"]["peak"]), (&json!([]), &json!(580)));
    network(&desk, 1, 0);
    let other = desk.run(&["optimize", "net.json", "--json"]).json();
    assert_eq!((&other["rewrites"], &other["after"]["peak"]), (&json!([]), &json!(580)));
}
