//! What ends a search, and what is said of it then.

use crate::harness::Desk;
use serde_json::{Value, json};

/// Seconds of the processor; how fast a search ends is for benchmarks to say.
const LONG: u32 = 60;

#[test]
fn a_heuristic_proves_nothing_about_sets_of_rewrites() {
    let by = |algorithm: &str| {
        Desk::new().run(&["optimize", "zoo:swiftnet-a", "--algorithm", algorithm, "--json"]).json()
    };
    let (greedy, exact) = (by("greedy"), by("exact"));
    assert!(greedy["peak"].as_u64() > exact["peak"].as_u64());
    assert_eq!((&greedy["proof"], &greedy["rewrite_choice"]["proved"]), (&json!("gap"), &json!(false)));
    assert_eq!((&exact["proof"], &exact["rewrite_choice"]["proved"]), (&json!("optimal"), &json!(true)));
    for decision in ["rewrites", "order"] {
        assert_eq!(exact["proofs"][decision]["proof"], "optimal", "{decision}");
    }
}

#[test]
fn what_the_clock_cuts_is_said_to_differ_from_run_to_run() {
    let desk = Desk::new();
    let cut = desk.run(&["optimize", "zoo:darts-cifar", "--time-limit", "0.01", "--json"]).json();
    assert_eq!((&cut["proof"], &cut["reproducible"]), (&json!("gap"), &json!(false)));
    assert!(cut["stopped"].as_str().unwrap().contains("time limit"), "{}", cut["stopped"]);
    let text = desk.run(&["optimize", "zoo:darts-cifar", "--time-limit", "0.01"]).stdout;
    assert!(text.contains("another run may find another result"), "{text}");
    assert!(!text.contains("proved optimal"), "{text}");
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let within = |seconds: &str| {
        let mut plan =
            Desk::new().run(&["optimize", "zoo:swiftnet", "--time-limit", seconds, "--json"]).json();
        assert_eq!(plan["reproducible"], true);
        plan["seconds"] = Value::Null;
        plan
    };
    assert_eq!(within("200"), within("none"));
}

/// A chain of ops that all work in place.
fn chain(ops: usize) -> String {
    let tensor = |id: usize| json!({"id": id, "bytes": 64, "shape": [1, 64], "dtype": "int8"});
    let op = |i: usize| json!({"type": "RELU", "inputs": [i], "outputs": [i + 1]});
    json!({
        "tensors": (0..=ops).map(tensor).collect::<Vec<_>>(),
        "ops": (0..ops).map(op).collect::<Vec<_>>(),
        "inputs": [0],
        "outputs": [ops],
    })
    .to_string()
}

#[test]
fn a_long_chain_is_planned_in_time() {
    let desk = Desk::new();
    desk.write("chain.json", &chain(4000));
    let args = ["optimize", "chain.json", "--runtime", "tflm", "--time-limit", "1", "--json"];
    let plan = desk.run_within(LONG, &args).json();
    assert_eq!(plan["after"]["arena"], 64);
}

#[test]
fn the_search_for_less_traffic_keeps_its_limit() {
    let desk = Desk::new();
    let network = "zoo:random-layered?ops=1500&width=8";
    let args = ["traffic", network, "--on-chip", "1KB,10KB,100KB", "--time-limit", "1", "--json"];
    let run = desk.run_within(LONG, &args);
    assert_eq!(run.code, 0, "{run:?}");
}

/// Ctrl-C ends a search that would go on for ever, and what it has found by then is told.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best() {
    use crate::harness::{let_work, signal};
    use std::process::{Command, Stdio};
    let hard = "zoo:randwire-cifar10?nodes=160&seed=1";
    let mut child = Command::new(env!("CARGO_BIN_EXE_serenity"))
        .args(["schedule", hard, "--time-limit", "none", "--effort", "1000000", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let_work(&mut child, std::time::Duration::from_millis(1500));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &plan["proof"]), (Some(0), &json!("gap")));
    assert!(plan["stopped"].as_str().unwrap().contains("cancelled"), "{}", plan["stopped"]);
}
