//! `serenity diff`: the figures are those of `inspect`, and conditions that are not met end with 1.

use crate::harness::{Desk, Run};
use serde_json::{Value, json};
use serenity_judges::shared;

/// A chain of two ops, or with one more behind them.
fn graph(with_layer: bool) -> String {
    let mut tensors = vec![json!({"name": "x", "bytes": 64}), json!({"name": "a", "bytes": 800})];
    tensors.push(json!({"name": "b", "bytes": 800}));
    let mut ops = vec![json!({"name": "conv", "type": "CONV", "inputs": [0], "outputs": [1]})];
    ops.push(json!({"name": "relu", "type": "RELU", "inputs": [1], "outputs": [2]}));
    if with_layer {
        tensors.push(json!({"name": "wide", "bytes": 1600}));
        ops.push(json!({"name": "up", "type": "RESIZE", "inputs": [2], "outputs": [3]}));
    }
    let last = tensors.len() - 1;
    json!({"tensors": tensors, "ops": ops, "inputs": [0], "outputs": [last]}).to_string()
}

fn desk_with_graphs() -> Desk {
    let desk = Desk::new();
    desk.write("old.json", &graph(false));
    desk.write("new.json", &graph(true));
    desk
}

/// What fills the peaks adds up to them, if nothing overlaps.
fn sums(diff: &Value) -> [u64; 2] {
    let buffers = diff["at_peak"].as_array().unwrap();
    ["before", "after"].map(|side| buffers.iter().map(|buffer| buffer[side].as_u64().unwrap()).sum())
}

/// Panics unless both sides are what `inspect` says of the models.
fn assert_inspected(desk: &Desk, diff: &Value, models: [&str; 2], more: &[&str]) {
    for (side, model) in ["before", "after"].into_iter().zip(models) {
        let seen = desk.run(&[&["inspect", model, "--json"], more].concat()).json();
        for field in ["ops", "peak", "arena", "plan_fault", "unsupported", "unknown"] {
            assert_eq!(diff[side][field], seen[field], "{side} {field}");
        }
        let total = if seen["total"].is_null() { &seen["peak"] } else { &seen["total"]["arm32"] };
        assert_eq!(&diff[side]["needs"], total, "{side}");
        let step = seen["peak_step"].as_u64().unwrap() as usize;
        let name = seen["steps"][step]["name"].as_str().unwrap();
        assert!(diff[side]["peak_op"].as_str().unwrap().contains(name), "{side}");
    }
}

#[test]
fn one_more_layer_is_named_with_what_it_takes() {
    let desk = desk_with_graphs();
    let diff = desk.run(&["diff", "old.json", "new.json", "--json"]).json();
    assert_inspected(&desk, &diff, ["old.json", "new.json"], &[]);
    assert_eq!((&diff["before"]["needs"], &diff["after"]["needs"]), (&json!(1600), &json!(2400)));
    assert_eq!((&diff["new_operators"], &diff["lost_operators"]), (&json!(["RESIZE"]), &json!([])));
    assert_eq!((&diff["growth"], &diff["boards_lost"]), (&json!(800), &Value::Null));
    let first = json!({"name": "wide", "before": 0, "after": 1600, "size_before": null, "size_after": 1600});
    assert_eq!(diff["at_peak"][0], first);
    let second = json!({"name": "a", "before": 800, "after": 0, "size_before": 800, "size_after": 800});
    assert_eq!(diff["at_peak"][1], second);
    assert_eq!(sums(&diff), [1600, 2400]);
    let back = desk.run(&["diff", "new.json", "old.json"]).stdout;
    assert!(back.contains("-800") && back.contains("-33.3 %") && back.contains("gone"), "{back}");
    assert!(back.contains("operators no longer used: RESIZE"), "{back}");
}

#[test]
fn a_model_and_itself_reordered() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-b", "--int8", "-o", "net.tflite"]);
    let small = ["optimize", "net.tflite", "--no-plan", "--rewrite", "none", "-o", "small.tflite", "--json"];
    let optimized = desk.run(&small).json();
    let run = desk.run(&["diff", "net.tflite", "small.tflite", "--json"]);
    let diff = run.json();
    assert_inspected(&desk, &diff, ["net.tflite", "small.tflite"], &[]);
    assert_eq!(diff["after"]["needs"], optimized["needs"]);
    assert!(diff["growth"].as_i64().unwrap() < 0, "{diff}");
    assert_eq!(sums(&diff), [&diff["before"], &diff["after"]].map(|side| side["peak"].as_u64().unwrap()));
    // The work and the operators are the same, and each set of kernels is as `inspect` has it.
    assert_eq!(diff["before"]["macs"], diff["after"]["macs"]);
    assert_eq!((&diff["new_operators"], &diff["lost_operators"]), (&json!([]), &json!([])));
    let needs = diff["by_kernels"].as_array().unwrap();
    assert_eq!(needs.len(), 5);
    for need in needs {
        let kernels = need["kernels"].as_str().unwrap();
        let seen = desk.run(&["inspect", "small.tflite", "--kernels", kernels, "--json"]).json();
        assert_eq!(need["after"], seen["total"]["arm32"], "{kernels}");
        assert_eq!(need["counted"], json!(kernels != "esp-nn-s3"));
    }
    let same = desk.run(&["diff", "net.tflite", "net.tflite", "--max-growth", "0"]);
    assert!(same.code == 0 && !same.stdout.contains('%'), "{same:?}");
}

#[test]
fn floats_and_whole_numbers_of_one_network() {
    let Some(models) = shared("models") else { return };
    let path = |name: &str| models.join(name).to_str().unwrap().to_owned();
    let (float, int8) = (path("mlperf_tiny_resnet8_float.tflite"), path("mlperf_tiny_resnet8_int8.tflite"));
    let desk = Desk::new();
    let kernels = ["--kernels", "cmsis-nn"];
    let diff = desk.run(&[&["diff", &float, &int8, "--json"][..], &kernels].concat()).json();
    assert_inspected(&desk, &diff, [&float, &int8], &kernels);
    // MLPerf Tiny states 12.5 million; both compute the same.
    assert_eq!((&diff["before"]["macs"], &diff["after"]["macs"]), (&json!(12_501_632), &json!(12_501_632)));
    let flash = |side: &str| diff[side]["flash"].as_u64().unwrap();
    assert_eq!(flash("after"), std::fs::metadata(&int8).unwrap().len());
    assert!(flash("before") > 3 * flash("after"));
    assert!(
        diff["boards_gained"].as_array().unwrap().iter().any(|name| name == "BBC micro:bit v2"),
        "{diff}"
    );
    assert_eq!(diff["boards_lost"], json!([]));
    let grown = desk.run(&[&["diff", &int8, &float, "--max-growth", "10%"][..], &kernels].concat());
    assert!(grown.code == 1 && grown.stdout.contains("boards lost: "), "{grown:?}");
    narrow(&grown);
}

/// No line is wider than a terminal of 80 columns.
fn narrow(run: &Run) {
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
}

#[test]
fn a_budget_and_a_growth_are_conditions() {
    let desk = desk_with_graphs();
    for (more, code, said) in [
        (&["--budget", "2400"][..], 0, "fits 2,400 bytes: 0 bytes to spare"),
        (&["--budget", "2399"], 1, "does not fit 2,399 bytes: 1 bytes over"),
        (&["--max-growth", "50%"], 0, "no more than the 800 bytes"),
        (&["--max-growth", "49.9%"], 1, "by more than the 798 bytes"),
        (&["--max-growth", "799"], 1, "by more than the 799 bytes"),
        (&["--max-growth", "0", "--budget", "1MB"], 1, "by more than the 0 bytes"),
    ] {
        let run = desk.run(&[&["diff", "old.json", "new.json"], more].concat());
        assert!(run.code == code && run.stdout.contains(said), "{more:?}: {run:?}");
        narrow(&run);
        let object = desk.run(&[&["diff", "old.json", "new.json", "--json"], more].concat()).json();
        assert_eq!(object["passed"], json!(code == 0));
        let markdown = desk.run(&[&["diff", "old.json", "new.json", "--markdown"], more].concat());
        assert!(markdown.code == code && markdown.stdout.contains(said), "{markdown:?}");
    }
}

#[test]
fn what_is_unknown_keeps_no_limit() {
    let desk = desk_with_graphs();
    let text =
        graph(false).replacen('{', r#"{"unknown": [{"kind": "size", "name": "a", "reason": "open"}], "#, 1);
    desk.write("open.json", &text);
    for pair in [["old.json", "open.json"], ["open.json", "old.json"]] {
        let run = desk.run(&[&["diff"], &pair[..], &["--max-growth", "1MB"]].concat());
        assert!(run.code == 1 && run.stdout.contains("minimums"), "{run:?}");
    }
    assert_eq!(desk.run(&["diff", "old.json", "open.json", "--budget", "1MB"]).code, 1);
}

#[test]
fn markdown_is_a_table_and_names_are_no_markup() {
    let desk = Desk::new();
    desk.write("old.json", &graph(false));
    desk.write(
        "new.json",
        &graph(true).replace("\"wide\"", "\"`<b>|@you|\\n# x\"").replace("RESIZE", "<i>@you"),
    );
    let text = desk.run(&["diff", "old.json", "new.json", "--markdown"]).stdout;
    assert!(
        text.starts_with("### `old.json` → `new.json`: peak 1,600 → 2,400 bytes (+50.0 %)\n\n- "),
        "{text}"
    );
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines.len() > 2 && lines.iter().all(|line| bars(line) == bars(lines[0])), "{table}");
    }
    assert!(!text.contains("<b>") && !text.contains("\n# x") && !text.contains(" <i>@you"), "{text}");
}

#[test]
fn models_for_different_runtimes_are_refused_unless_one_is_named() {
    let desk = desk_with_graphs();
    desk.run(&["zoo", "export", "swiftnet-b", "-o", "net.onnx"]);
    let run = desk.run(&["diff", "old.json", "net.onnx"]);
    assert!(run.code == 2 && run.stderr.contains("--runtime"), "{run:?}");
    assert_eq!(desk.run(&["diff", "old.json", "net.onnx", "--runtime", "plain"]).code, 0);
}
