//! `serenity check` accepts a right plan and names the fault in a wrong one.

use crate::harness::Desk;
use serde_json::Value;

fn plan(desk: &Desk) -> Value {
    desk.run(&["schedule", "zoo:swiftnet-a", "--json"]).json()
}

fn check(desk: &Desk, plan: &Value) -> (i32, Value) {
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--json"]);
    (run.code, run.json())
}

fn assert_names(change: impl Fn(&mut Value), fault: &str) {
    let desk = Desk::new();
    let mut plan = plan(&desk);
    change(&mut plan);
    let (code, report) = check(&desk, &plan);
    assert_eq!((code, report["valid"].as_bool()), (1, Some(false)));
    let problems = report["problems"].to_string();
    assert!(problems.contains(fault), "`{fault}` is not in {problems}");
}

fn order(plan: &mut Value) -> &mut Vec<Value> {
    plan["order"].as_array_mut().unwrap()
}

#[test]
fn a_right_plan_is_accepted() {
    let desk = Desk::new();
    let (code, report) = check(&desk, &plan(&desk));
    assert_eq!((code, report["valid"].as_bool()), (0, Some(true)));
    assert_eq!(report["problems"], Value::Array(vec![]));
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
    assert!(run.stdout.starts_with("order and peak verified: 21 ops"), "{}", run.stdout);
}

#[test]
fn a_forged_claim_of_optimality_is_not_endorsed() {
    let desk = Desk::new();
    let mut plan = desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", "file", "--json"]).json();
    assert_eq!((&plan["proof"], plan["peak"].as_u64()), (&"gap".into(), Some(213_248)));
    plan["proof"] = "optimal".into();
    plan["bound"] = plan["peak"].clone();
    let (code, report) = check(&desk, &plan);
    assert_eq!((code, &report["valid"], &report["optimal_verified"]), (0, &true.into(), &false.into()));
    assert_eq!((&report["bound_verified"], &report["optimal_claimed"]), (&false.into(), &true.into()));
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
    assert!(run.stdout.contains("order and peak verified"), "{}", run.stdout);
    assert!(run.stdout.contains("optimality NOT verified"), "{}", run.stdout);
}

#[test]
fn a_bound_that_one_place_shows_is_verified_and_the_place_is_named() {
    let desk = Desk::new();
    let mut plan = desk.run(&["schedule", "zoo:mobilenet", "--json"]).json();
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:mobilenet"]);
    assert!(run.stdout.contains("optimality verified: no order needs less, because op "), "{}", run.stdout);
    assert_eq!(desk.run(&["check", "plan.json", "zoo:mobilenet", "--json"]).json()["optimal_verified"], true);
    plan["proof"] = "gap".into();
    plan["bound"] = 1.into();
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:mobilenet"]);
    assert!(run.stdout.contains("bound verified: no order needs less than 1 bytes"), "{}", run.stdout);
    // Two inputs that are results: no op needs both.
    desk.write(
        "inputs.json",
        r#"{"tensors": [{"bytes": 4}, {"bytes": 4}, {"bytes": 1}], "ops": [{"inputs": [0], "outputs": [2]}, {"inputs": [1], "outputs": []}],
            "inputs": [0, 1], "outputs": []}"#,
    );
    desk.write("plan.json", r#"{"order": [1, 0], "peak": 8, "bound": 8, "proof": "optimal"}"#);
    let run = desk.run(&["check", "plan.json", "inputs.json"]);
    assert!(run.stdout.contains("because the graph's inputs alone need that much"), "{}", run.stdout);
}

#[test]
fn an_op_missing() {
    assert_names(|plan| drop(order(plan).pop()), "op 20 (`a/convO`) is missing");
}

#[test]
fn an_op_twice() {
    assert_names(|plan| order(plan).push(0.into()), "op 0 (`a/dw1`) runs 2 times");
}

#[test]
fn a_consumer_before_its_producer() {
    assert_names(
        |plan| order(plan).swap(0, 1),
        "op 1 (`a/cat2`) reads `a/dw1` before op 0 (`a/dw1`) has written it",
    );
}

#[test]
fn a_peak_one_byte_off() {
    for delta in [-1, 1] {
        let change = |plan: &mut Value| plan["peak"] = (plan["peak"].as_i64().unwrap() + delta).into();
        assert_names(change, "the peak is 200704 bytes");
    }
}

#[test]
fn a_bound_that_cannot_be() {
    assert_names(|plan| plan["bound"] = 200_705.into(), "is above the peak");
    assert_names(|plan| plan["bound"] = 200_703.into(), "called optimal");
}

#[test]
fn a_file_that_is_no_plan() {
    let desk = Desk::new();
    for text in ["", "{}", r#"{"order": 3}"#, r#"{"order": [-1], "peak": 1, "bound": 1, "proof": "optimal"}"#]
    {
        desk.write("plan.json", text);
        let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.starts_with("error: `plan.json` is not a plan"), "{}", run.stderr);
    }
}

#[test]
fn a_proof_in_the_plan_is_verified_and_a_forged_one_refused() {
    let desk = Desk::new();
    let good = plan(&desk);
    let (_, report) = check(&desk, &good);
    assert_eq!(
        (report["bound_verified"].as_bool(), report["optimal_verified"].as_bool()),
        (Some(true), Some(true))
    );
    assert_names(
        |plan| plan["witness"]["chains"][0]["bytes"] = 999_999.into(),
        "the proof of the bound does not hold",
    );
    assert_names(|plan| plan["witness"]["op"] = 99.into(), "the proof of the bound does not hold");
}

#[test]
fn a_claim_without_a_proof_is_proved_again_or_refuted() {
    let desk = Desk::new();
    let deep = |plan: &Value| {
        desk.write("plan.json", &plan.to_string());
        let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--deep", "--json"]);
        (run.code, run.json())
    };
    let mut bare = plan(&desk);
    bare["witness"] = Value::Null;
    let (code, report) = check(&desk, &bare);
    assert_eq!((code, report["optimal_verified"].as_bool()), (0, Some(false)));
    let (code, report) = deep(&bare);
    assert_eq!((code, report["optimal_verified"].as_bool()), (0, Some(true)));
    assert!(report["deep_states"].as_u64() > Some(0));

    let mut forged = desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", "kahn", "--json"]).json();
    (forged["bound"], forged["proof"]) = (forged["peak"].clone(), "optimal".into());
    let (code, report) = deep(&forged);
    assert_eq!(code, 1);
    assert!(report["problems"].to_string().contains("there is an order that needs less"), "{report}");
}
