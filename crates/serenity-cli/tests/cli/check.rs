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
    assert!(run.stdout.starts_with("valid: 21 ops"), "{}", run.stdout);
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
