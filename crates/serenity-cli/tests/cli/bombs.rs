//! Small files that ask for much: they are planned or refused within the limits, or the limits are no limits.

use crate::harness::Desk;
use serde_json::{Value, json};
use serenity_judges::{sample, shared};
use std::process::Command;

/// Seconds of the processor, after which the system ends it: how fast a search ends is for benchmarks to say.
const LONG: u32 = 120;

/// Address space, in KB: twice what any of them takes, and far below what they once took.
const ROOM: u32 = 3_000_000;

/// What the command says in so much room, and how it ends.
#[cfg(unix)]
#[track_caller]
fn within_limits(desk: &Desk, command: &str, file: &str, runtime: &str) -> (Option<i32>, Value) {
    let script = format!("ulimit -v {ROOM}; ulimit -t {LONG}; exec \"$0\" \"$@\"");
    let mut args = vec![command, file, "--runtime", runtime, "--json"];
    if command == "optimize" {
        args.extend(["--time-limit", "5"]);
    }
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_serenity")])
        .args(args)
        .current_dir(desk.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{command} {file} {runtime}: {output:?}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn graph(tensors: &[Value], ops: &[Value], inputs: &[usize], outputs: &[usize]) -> String {
    json!({"tensors": tensors, "ops": ops, "inputs": inputs, "outputs": outputs}).to_string()
}

/// Each concatenation holds the one before, and one piece more.
fn nested_concatenations(count: usize) -> String {
    let tensor = |channels: usize| json!({"shape": [1, 1, 1, channels], "dtype": "int8"});
    let (mut tensors, mut ops, mut last) = (vec![tensor(1)], Vec::new(), 0);
    for channels in 2..count + 2 {
        let piece = tensors.len();
        tensors.extend([tensor(1), tensor(channels)]);
        ops.push(json!({"type": "RELU", "inputs": [0], "outputs": [piece]}));
        let concat = json!({"type": "CONCATENATION", "inputs": [last, piece], "outputs": [piece + 1], "attributes": {"axis": 3}});
        ops.push(concat);
        last = piece + 1;
    }
    graph(&tensors, &ops, &[0], &[last])
}

/// One tensor, so many ops that read it; if asked, one that reads what they write.
fn star(readers: usize, is_closed: bool) -> String {
    let mut ops: Vec<Value> =
        (1..=readers).map(|i| json!({"type": "RELU", "inputs": [0], "outputs": [i]})).collect();
    let outputs: Vec<usize> = (1..=readers).collect();
    let mut tensors = vec![json!({"bytes": 4}); readers + 1];
    if !is_closed {
        return graph(&tensors, &ops, &[0], &outputs);
    }
    tensors.push(json!({"bytes": 4}));
    ops.push(json!({"type": "ADD_N", "inputs": outputs, "outputs": [readers + 1]}));
    graph(&tensors, &ops, &[0], &[readers + 1])
}

/// Every file with every runtime.
fn all_of<'a>(files: &[&'a str]) -> Vec<(&'a str, &'static str)> {
    let runtimes = ["plain", "paper", "tflm", "litert"];
    files.iter().flat_map(|file| runtimes.map(|runtime| (*file, runtime))).collect()
}

#[cfg(unix)]
#[test]
fn views_of_views_are_followed_or_refused() {
    let desk = Desk::new();
    desk.write("nested.json", &nested_concatenations(20_000));
    for command in ["inspect", "optimize"] {
        let (code, said) = within_limits(&desk, command, "nested.json", "paper");
        assert_eq!(code, Some(2), "{said}");
        assert!(said["error"]["message"].as_str().unwrap().contains("count them as views"), "{said}");
        assert_eq!(within_limits(&desk, command, "nested.json", "plain").0, Some(0));
    }
    desk.write("fewer.json", &nested_concatenations(1_000));
    for runtime in ["paper", "tflm", "litert"] {
        assert_eq!(within_limits(&desk, "optimize", "fewer.json", runtime).0, Some(0), "{runtime}");
    }
}

#[cfg(unix)]
#[test]
fn a_tensor_may_have_thousands_of_readers() {
    let desk = Desk::new();
    desk.write("open.json", &star(50_000, false));
    desk.write("closed.json", &star(50_000, true));
    for (file, runtime) in sample(all_of(&["open.json", "closed.json"]), 3) {
        assert_eq!(within_limits(&desk, "optimize", file, runtime).0, Some(0), "{file} {runtime}");
    }
}

#[cfg(unix)]
#[test]
fn a_million_tensors_are_refused_by_their_number() {
    let desk = Desk::new();
    let op = json!({"type": "RELU", "inputs": [0], "outputs": [1]});
    desk.write("million.json", &graph(&vec![json!({"bytes": 4}); 1_000_000], &[op], &[0], &[1]));
    let (code, said) = within_limits(&desk, "optimize", "million.json", "plain");
    assert_eq!(code, Some(2));
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains("1000000 tensors; at most 524288"), "{message}");
}

/// Sets of all ops for every op would not fit.
#[cfg(unix)]
#[test]
fn a_long_network_takes_no_more_than_its_length() {
    let (code, said) = within_limits(&Desk::new(), "schedule", "zoo:random-layered?ops=50000", "plain");
    assert_eq!((code, &said["proof"]), (Some(0), &json!("optimal")), "{}", said["stopped"]);
}

/// Those that once broke us, where they are at hand.
#[cfg(unix)]
#[test]
fn files_that_exploded_once_no_longer_do() {
    let Some(repro) = shared("repro") else { return };
    let files = ["cc30.json", "ccfib.json", "catbomb.tflite", "chain2000.tflite", "rand1000.json"];
    for (file, runtime) in sample(all_of(&files), 3) {
        let path = repro.join(file);
        let (code, said) = within_limits(&Desk::new(), "optimize", path.to_str().unwrap(), runtime);
        assert_eq!(code, Some(0), "{file} {runtime}: {said}");
    }
}
