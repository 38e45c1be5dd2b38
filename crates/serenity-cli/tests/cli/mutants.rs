//! Models with a few bytes changed, by `fuzz/mutants`: a few of built-in networks here, ten thousand of real models
//! where somebody asks for them.

use crate::harness::Desk;
use serenity_judges::{Need, skip};
use std::path::Path;
use std::process::Command;

const COUNT: &str = "12";

#[test]
fn mutants_are_refused_or_planned_within_limits() {
    let desk = Desk::new();
    for (network, name) in [("branches", "int8.tflite"), ("swiftnet-c", "float.onnx")] {
        let int8: &[&str] = if name.ends_with("tflite") { &["--int8"] } else { &[] };
        let ended = desk.run(&[&["zoo", "export", network, "-o", name], int8].concat());
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/mutants");
    let output = Command::new("python3")
        .arg(script)
        .args(["--count", COUNT, "--without-verify", "--serenity", env!("CARGO_BIN_EXE_serenity")])
        .arg(desk.path(""))
        .output();
    let Ok(output) = output else {
        skip(Need::Python, "there is no python3 to run `fuzz/mutants`");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let counted: u32 =
        said.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u32>().ok()).sum();
    assert_eq!(counted.to_string(), COUNT, "{said}");
}
