//! Bad input gets a clear error, exit code 2, and nothing is written.

use crate::harness::Desk;
use serde_json::json;

/// A graph of one op with `tensors` and `op` put in.
fn graph(tensors: &str, ops: &str) -> String {
    format!(r#"{{"name": "bad", "tensors": [{tensors}], "ops": [{ops}], "inputs": [0], "outputs": [1]}}"#)
}

fn assert_refused(input: &str, messages: &[&str]) {
    let desk = Desk::new();
    desk.write("bad.json", input);
    desk.write("out.json", "precious");
    for command in [
        &["optimize", "bad.json", "-o", "out.json", "--plan", "plan.json"][..],
        &["schedule", "bad.json", "--json"],
        &["inspect", "bad.json"],
        &["sample", "bad.json"],
    ] {
        let run = desk.run(command);
        assert_eq!(run.code, 2, "{command:?} {run:?}");
        if command.contains(&"--json") {
            let object = run.json();
            assert_eq!(
                (&object["input"], &object["error"]["kind"]),
                (&json!("bad.json"), &json!("format")),
                "{object}"
            );
        } else {
            assert_eq!(run.stdout, "", "{command:?} {run:?}");
        }
        assert!(run.stderr.starts_with("error: "), "{run:?}");
        for message in messages {
            assert!(run.stderr.contains(message), "`{message}` is not in `{}`", run.stderr);
        }
    }
    assert_eq!(desk.read("out.json"), "precious");
    assert_eq!(desk.files(), ["bad.json", "out.json"]);
}

const X: &str = r#"{"id": 0, "name": "x", "bytes": 4}"#;
const Y: &str = r#"{"id": 1, "name": "y", "bytes": 4}"#;
const OP: &str = r#"{"name": "f", "type": "RELU", "inputs": [0], "outputs": [1]}"#;

#[test]
fn malformed_json() {
    assert_refused("{\"tensors\": [\n", &["`bad.json`", "line 2"]);
    assert_refused("", &["not valid JSON"]);
    assert_refused("[1, 2]", &["expected an object"]);
    assert_refused(&"[".repeat(100_000), &["not valid JSON"]);
}

#[test]
fn a_cycle() {
    let ops =
        r#"{"name": "f", "inputs": [0, 2], "outputs": [1]}, {"name": "g", "inputs": [1], "outputs": [2]}"#;
    assert_refused(&graph(&format!("{X}, {Y}, {{\"bytes\": 1}}"), ops), &["cycle: f -> g -> f"]);
}

#[test]
fn an_output_listed_twice() {
    let op = r#"{"name": "f", "inputs": [0], "outputs": [1, 1]}"#;
    assert_refused(&graph(&format!("{X}, {Y}"), op), &["op 0 (`f`) lists tensor `y` twice"]);
}

#[test]
fn a_name_cannot_drive_the_terminal() {
    let op = r#"{"name": "\u001b[2Jf\nproved", "type": "\u001b[31mT", "inputs": [0], "outputs": [1]}"#;
    assert_refused(
        &graph(&format!("{X}, {Y}"), &op.replace("[1]", "[1, 1]")),
        &[r"op 0 (`\u{1b}[2Jf\nproved`) lists"],
    );
    let desk = Desk::new();
    desk.write("net.json", &graph(&format!("{X}, {Y}"), op).replace("bad", "\\u001b]0;title\\u0007"));
    for command in [
        &["optimize", "net.json"][..],
        &["inspect", "net.json", "--steps"],
        &["schedule", "net.json"],
        &["sample", "net.json"],
    ] {
        let run = desk.run(command);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stdout.chars().any(|c| c.is_control() && c != '\n'), "{run:?}");
        assert!(!run.stdout.lines().any(|line| line.starts_with("proved")), "{run:?}");
    }
}

#[test]
fn a_missing_tensor() {
    let op = r#"{"name": "f", "inputs": [7], "outputs": [1]}"#;
    assert_refused(&graph(&format!("{X}, {Y}"), op), &["an input of op 0 (`f`) names tensor 7"]);
}

#[test]
fn a_negative_or_overflowing_size() {
    let negative = r#"{"id": 1, "bytes": -4}"#;
    assert_refused(&graph(&format!("{X}, {negative}"), OP), &["`tensors[1].bytes`", "-4"]);
    let huge = r#"{"id": 1, "name": "huge", "bytes": 9223372036854775807}"#;
    assert_refused(&graph(&format!("{X}, {huge}"), OP), &["2^61", "`huge`"]);
    let shape = r#"{"id": 1, "shape": [4294967296, 4294967296, 4294967296], "dtype": "float32"}"#;
    assert_refused(&graph(&format!("{X}, {shape}"), OP), &["`tensors[1].bytes`"]);
}

#[test]
fn an_empty_graph() {
    assert_refused(&graph(&format!("{X}, {Y}"), ""), &["no operators"]);
}

#[test]
fn a_file_of_another_kind() {
    let desk = Desk::new();
    desk.write("model.bin", "TFL3");
    let run = desk.run(&["inspect", "model.bin"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`model.bin`") && run.stderr.contains("help: "), "{}", run.stderr);
}

#[test]
fn an_unknown_network_or_option_suggests_the_nearest() {
    let desk = Desk::new();
    let run = desk.run(&["optimize", "zoo:swiftnett"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("did you mean `swiftnet`?"), "{}", run.stderr);
    let run = desk.run(&["optimize", "zoo:randwire-cifar10?sead=3"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`seed`"), "{}", run.stderr);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_search() {
    let desk = Desk::new();
    // Weeks of search, were it begun.
    let hard = "zoo:randwire-imagenet?nodes=400";
    for (args, message) in [
        (&["optimize", hard, "-o", "out.xyz"][..], "cannot tell the format"),
        (&["optimize", hard, "-o", "no/such/folder/out.json"], "there is no folder `no/such/folder`"),
        (&["optimize", hard, "--plan", "no/such/folder/plan.json"], "there is no folder"),
        (&["optimize", hard, "-o", "x.json", "--plan", "./x.json"], "both be written to `./x.json`"),
        (&["optimize", hard, "-o", "."], "cannot tell the format"),
        (&["inspect", hard, "--dot", "x.json"], "Graphviz"),
        (&["inspect", hard, "--dot", "no/such/folder/x.dot"], "there is no folder"),
        (&["zoo", "export", hard, "-o", "x.txt"], "cannot tell the format"),
    ] {
        let run = desk.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.stderr.contains(message), "{args:?} {run:?}");
    }
    assert_eq!(desk.files(), Vec::<String>::new());
}

#[test]
fn wrong_arguments() {
    let desk = Desk::new();
    for args in [
        &["optimize"][..],
        &["frobnicate"],
        &["schedule", "zoo:swiftnet", "--algorithm", "magic"],
        &["schedule", "zoo:swiftnet", "--runtime", "magic"],
        &["optimize", "zoo:swiftnet", "--budget", "lots"],
        &["optimize", "zoo:swiftnet", "--time-limit", "-1"],
        &["optimize", "zoo:swiftnet", "--time-limit", "inf"],
        &["sample", "zoo:swiftnet-a", "--count", "0"],
        &["optimize", "zoo:swiftnet-a", "-o", "out.xyz"],
        &["optimize", "zoo:swiftnet-a", "-o", "no/such/folder/out.json"],
        &["check", "-", "-"],
        &["sample", "zoo:darts-imagenet", "--exact", "--memory-limit", "1MB"],
    ] {
        let run = desk.run(args);
        assert_eq!(run.code, 2, "{args:?} {run:?}");
        assert!(run.stderr.starts_with("error: "), "{args:?} {run:?}");
    }
    assert_eq!(desk.files(), Vec::<String>::new());
}

#[test]
fn a_program_finds_the_error_where_it_looks_for_the_result() {
    let desk = Desk::new();
    desk.write("bad.json", &graph(&format!("{X}, {{\"bytes\": -4}}"), OP));
    desk.write("net.json", &graph(&format!("{X}, {Y}"), OP));
    desk.write("cut.json", "{\"tensors\": [\n");
    desk.write("model.tflite", "no model at all");
    desk.write("plan.json", "{}");
    desk.write("other.json", &desk.run(&["schedule", "zoo:swiftnet-a", "--json"]).stdout);
    desk.write("table.csv", "this,is,not\n");
    for (args, kind, input) in [
        (&["optimize", "bad.json"][..], "format", Some("bad.json")),
        (&["inspect", "model.tflite"], "format", Some("model.tflite")),
        (&["place", "table.csv"], "format", Some("table.csv")),
        (&["place", "nowhere.csv"], "read", Some("nowhere.csv")),
        (&["traffic", "nowhere.json"], "read", Some("nowhere.json")),
        (&["sample", "zoo:nothing"], "network", Some("zoo:nothing")),
        (&["zoo", "export", "swiftnet-a?size=3", "-o", "x.json"], "network", Some("swiftnet-a?size=3")),
        (&["zoo", "export", "random-tree", "-o", "x.tflite"], "network", Some("random-tree")),
        (&["check", "plan.json", "net.json"], "plan", Some("net.json")),
        (&["verify", "net.json", "net.json"], "request", Some("net.json")),
        (&["verify", "a.onnx", "nowhere.onnx"], "read", Some("a.onnx")),
        (&["optimize", "net.json", "-o", "net.xyz"], "request", Some("net.json")),
        (&["optimize", "net.json", "--plan", "no/such/folder.json"], "write", Some("net.json")),
        (&["optimize", "net.json", "--memory", "a=1,b=1"], "room", Some("net.json")),
        (
            &["sample", "zoo:randwire-cifar10", "--exact", "--memory-limit", "1KB"],
            "limit",
            Some("zoo:randwire-cifar10"),
        ),
        (&["paper", "--out", "plan.json"], "write", None),
        (&["optimize", "net.json", "--budget", "lots"], "arguments", None),
        (&["optimize"], "arguments", None),
        (&["frobnicate"], "arguments", None),
    ] {
        let run = desk.run(&[args, &["--json"]].concat());
        let object = run.json();
        assert_eq!((run.code, &object["error"]["kind"]), (2, &json!(kind)), "{args:?} {run:?}");
        assert_eq!(object["input"], json!(input), "{args:?}");
        // People are told the same.
        let message = object["error"]["message"].as_str().unwrap();
        assert!(run.stderr.contains(message.lines().next().unwrap()), "{args:?} {run:?}");
    }
    let place = |file| desk.run(&["inspect", file, "--json"]).json()["error"]["place"].clone();
    assert_eq!(place("bad.json"), "tensors[1].bytes");
    assert_eq!(place("cut.json"), "line 2 column 0");
    // Without --json nothing is there for a program to take for a result.
    assert_eq!(desk.run(&["inspect", "bad.json"]).stdout, "");
    assert_eq!(desk.run(&["--help", "--json"]).code, 0);
}
