//! Every command ends soon after it is told to, whatever it is doing then, and takes along what it has started.

use crate::harness::{Desk, has_ended, let_work, processor_time, signal};
use crate::tiny_onnx::{network, node};
use serenity_judges::{on_all_cores, sample};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ops of a chain that takes seconds to read and plan.
const OPS: usize = 40_000;

/// What a command may have of the processor after a signal, with what it goes on to spend while the program that sends
/// the signal starts.
const MOST: Duration = Duration::from_secs(1);

/// Time of the processor before the signal.
const MOMENTS: [Duration; 3] =
    [Duration::from_millis(30), Duration::from_millis(300), Duration::from_millis(1200)];

fn long_chain() -> Vec<u8> {
    let name = |at: usize| match at {
        0 => "x".to_owned(),
        OPS => "y".to_owned(),
        at => format!("t{at}"),
    };
    let op = |at: usize| if at.is_multiple_of(7) { "Sigmoid" } else { "Relu" };
    let nodes: Vec<Vec<u8>> = (0..OPS).map(|at| node("", op(at), &[&name(at)], &[&name(at + 1)])).collect();
    network(&nodes, &[], &["y"])
}

/// A Python that never answers, and notes who it is.
fn mute_python(desk: &Desk) {
    desk.write("python", "#!/bin/sh\necho $$ > \"$(dirname \"$0\")/pid\"\nexec tail -f /dev/null\n");
    std::fs::set_permissions(desk.path("python"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn start(desk: &Desk, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_serenity"))
        .args(args)
        .current_dir(desk.path(""))
        .env("SERENITY_PYTHON", desk.path("python"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child has of the processor from a signal to its end, and its exit code.
fn told_to_end(mut child: Child, name: &str) -> (Duration, Option<i32>) {
    let before = processor_time(&child).unwrap_or_default();
    signal(&child, name);
    while !has_ended(&mut child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let spent = processor_time(&child).unwrap_or(before).saturating_sub(before);
    (spent, child.wait().unwrap().code())
}

const COMMANDS: [&[&str]; 13] = [
    &["optimize", "chain.onnx", "--runtime", "plain", "-o", "out.onnx", "--report", "out.html"],
    &["inspect", "chain.onnx", "--runtime", "plain"],
    &["schedule", "chain.onnx", "--runtime", "plain"],
    &["place", "chain.onnx", "--runtime", "plain"],
    &["traffic", "chain.onnx", "--runtime", "plain", "--on-chip", "1KB"],
    &["sample", "chain.onnx", "--runtime", "plain"],
    &["verify", "chain.onnx", "chain.onnx"],
    &["check", "plan.json", "chain.onnx"],
    &["report", "chain.onnx", "--runtime", "plain", "-o", "out.html"],
    &["fit", "chain.onnx", "--runtime", "plain", "--budget", "1KB", "-o", "out.onnx"],
    &["emit", "c", "net.tflite", "-o", "out"],
    &["zoo", "export", "nasnet-cifar", "-o", "out.tflite"],
    &["paper", "--out", "out"],
];

#[test]
fn every_command_ends_within_a_second() {
    let desk = Desk::new();
    mute_python(&desk);
    std::fs::write(desk.path("chain.onnx"), long_chain()).unwrap();
    desk.write("plan.json", &desk.run(&["schedule", "chain.onnx", "--runtime", "plain", "--json"]).stdout);
    assert_eq!(desk.run(&["zoo", "export", "nasnet-cifar", "--int8", "-o", "net.tflite"]).code, 0);
    let cases: Vec<(&[&str], &str, Duration)> = COMMANDS
        .iter()
        .flat_map(|args| ["-TERM", "-INT"].map(|name| (*args, name)))
        .flat_map(|(args, name)| MOMENTS.map(|moment| (args, name, moment)))
        .collect();
    // Fewer than the times that each command is told to end.
    on_all_cores(&sample(cases, 5), |&(args, name, moment)| {
        let own = Desk::new();
        for file in ["chain.onnx", "plan.json", "net.tflite", "python"] {
            std::fs::hard_link(desk.path(file), own.path(file)).unwrap();
        }
        let mut child = start(&own, args);
        // Who waits for Python spends nothing.
        if args[0] == "verify" {
            std::thread::sleep(moment);
        } else {
            let_work(&mut child, moment);
        }
        let is_over = has_ended(&mut child);
        let (spent, code) = told_to_end(child, name);
        assert!(spent < MOST, "{args:?} {name} after {moment:?}: {spent:?}");
        let by_signal = if name == "-TERM" { 143 } else { 130 };
        assert!(
            code == Some(0) || (!is_over && code == Some(by_signal)),
            "{args:?} {name} {moment:?}: {code:?}"
        );
        let left: Vec<String> = own.files().into_iter().filter(|file| file.starts_with('.')).collect();
        assert_eq!(left, [""; 0], "{args:?} {name} after {moment:?}");
    });
}

/// Is the process that the Python noted still there?
fn is_alive(desk: &Desk) -> bool {
    let id = desk.read("pid");
    let mut asked = Command::new("sh");
    asked.args(["-c", &format!("kill -0 {}", id.trim())]).stderr(Stdio::null());
    asked.status().unwrap().success()
}

fn wait_for_python(desk: &Desk, child: &mut Child) {
    while !desk.path("pid").exists() || desk.read("pid").trim().is_empty() {
        assert!(!has_ended(child), "it did not ask Python");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_a_command_has_started_ends_with_it() {
    let small = network(&[node("", "Relu", &["x"], &["y"])], &[], &["y"]);
    for (args, code) in [
        // Its search goes on without the answer, and says what it has.
        (&["optimize", "small.onnx", "-o", "out.onnx"][..], 0),
        (&["verify", "small.onnx", "small.onnx"], 143),
    ] {
        let desk = Desk::new();
        mute_python(&desk);
        std::fs::write(desk.path("small.onnx"), &small).unwrap();
        let mut child = start(&desk, args);
        wait_for_python(&desk, &mut child);
        let (spent, ended) = told_to_end(child, "-TERM");
        assert!(spent < MOST && ended == Some(code), "{args:?}: {spent:?} {ended:?}");
        assert!(!is_alive(&desk), "{args:?}");
        assert_eq!(desk.path("out.onnx").exists(), code == 0);
    }
}

#[test]
fn a_runtime_that_does_not_answer_is_not_waited_for_beyond_the_limit() {
    let desk = Desk::new();
    mute_python(&desk);
    std::fs::write(desk.path("small.onnx"), network(&[node("", "Relu", &["x"], &["y"])], &[], &["y"]))
        .unwrap();
    let run = desk.run_with_python(&desk.path("python"), &["optimize", "small.onnx", "--time-limit", "1"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("ONNX Runtime has not answered: the time limit was reached"), "{run:?}");
    assert!(!is_alive(&desk));
}
