//! Several models in one command: each is what it would be alone.

use crate::harness::{Desk, Run};
use serde_json::{Value, json};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "c.tflite"]);
    desk.run(&["zoo", "export", "swiftnet-b", "--int8", "-o", "b.tflite"]);
    desk
}

/// Without times, and without what the output is called.
fn timeless(mut object: Value) -> Value {
    for field in ["seconds", "output"] {
        object[field] = Value::Null;
    }
    object
}

fn bytes(desk: &Desk, name: &str) -> Vec<u8> {
    std::fs::read(desk.path(name)).unwrap()
}

#[test]
fn together_and_one_by_one_they_are_the_same() {
    let desk = desk();
    let together =
        desk.run(&["optimize", "c.tflite", "b.tflite", "--output-dir", "out", "--json"]).json_lines();
    assert_eq!(together.len(), 2);
    for (name, object) in ["c.tflite", "b.tflite"].iter().zip(together) {
        let alone = desk.run(&["optimize", name, "-o", "alone.tflite", "--json"]).json();
        assert_eq!(timeless(object), timeless(alone), "{name}");
        assert_eq!(bytes(&desk, &format!("out/{name}")), bytes(&desk, "alone.tflite"), "{name}");
    }
    let inspected = desk.run(&["inspect", "c.tflite", "b.tflite", "--output-dir", "seen", "--json"]);
    for (name, object) in ["c.tflite", "b.tflite"].iter().zip(inspected.json_lines()) {
        assert_eq!(object, desk.run(&["inspect", name, "--json"]).json(), "{name}");
        let written: Value = serde_json::from_str(&desk.read(&format!("seen/{name}.json"))).unwrap();
        assert_eq!(written, object);
    }
}

#[test]
fn plans_of_many_orders_check() {
    let desk = Desk::new();
    let run = desk.run(&["schedule", "zoo:swiftnet-a", "zoo:darts-cell", "--output-dir", "plans"]);
    assert_eq!(run.code, 0, "{run:?}");
    for name in ["swiftnet-a", "darts-cell"] {
        let plan = format!("plans/{name}.json");
        let run = desk.run(&["check", &plan, &format!("zoo:{name}"), "--deep"]);
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[test]
fn one_that_fails_does_not_keep_the_others_from_being_done() {
    let desk = desk();
    desk.write("bad.tflite", "no model");
    let run = desk.run(&["optimize", "c.tflite", "bad.tflite", "b.tflite", "--output-dir", "out"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("bad.tflite") && run.stdout.contains("bad.tflite"), "{run:?}");
    let written = |name: &str| desk.path(&format!("out/{name}")).exists();
    assert!(written("c.tflite") && written("b.tflite") && !written("bad.tflite"));
    let lines = desk.run(&["inspect", "bad.tflite", "b.tflite", "--json"]).json_lines();
    assert_eq!((&lines[0]["error"]["kind"], &lines[1]["ops"]), (&json!("format"), &json!(19)));
}

#[test]
fn nothing_is_written_over_what_is_read_or_over_each_other() {
    let desk = desk();
    let refused = |run: Run, words: &str| {
        assert!(run.code == 2 && run.stderr.contains(words), "{run:?}");
    };
    refused(desk.run(&["optimize", "c.tflite", "b.tflite", "--output-dir", "."]), "would be overwritten");
    std::fs::create_dir(desk.path("other")).unwrap();
    std::fs::copy(desk.path("b.tflite"), desk.path("other/c.tflite")).unwrap();
    let both = desk.run(&["optimize", "c.tflite", "other/c.tflite", "--output-dir", "out"]);
    refused(both, "would both be written to `c.tflite`");
    refused(desk.run(&["optimize", "c.tflite", "--output-dir", "b.tflite"]), "it is a file");
    refused(desk.run(&["optimize", "c.tflite", "b.tflite", "--plan", "p.json"]), "--plan is for one model");
    refused(desk.run(&["inspect", "c.tflite", "b.tflite", "--dot", "g.dot"]), "--dot names one file");
}

#[test]
fn the_exit_code_tells_if_one_does_not_fit() {
    let desk = desk();
    let run = |budget: &str| desk.run(&["inspect", "c.tflite", "b.tflite", "--budget", budget]);
    assert_eq!(run("1MB").code, 0);
    let one = run("200KB");
    assert!(one.code == 1 && one.stdout.contains("too large"), "{one:?}");
    assert_eq!(desk.run(&["optimize", "b.tflite", "c.tflite", "--budget", "100KB", "--quiet"]).code, 1);
}
