//! The paper's evaluation in one command.

use crate::harness::Desk;
use serde_json::json;
use serenity_judges::{Need, is_slow, skip};

#[test]
fn everything_is_written_into_a_folder_that_is_made() {
    if !is_slow() {
        return skip(
            Need::Slow,
            "the evaluation of the paper as a command; its tables are tested in any case",
        );
    }
    let desk = Desk::new();
    let run = desk.run(&["paper", "--out", "some/where", "--seeds", "1", "--orders", "50", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let object = run.json();
    assert_eq!(object["out"], "some/where");
    for file in object["files"].as_array().unwrap() {
        assert!(!desk.read(&format!("some/where/{}", file.as_str().unwrap())).is_empty(), "{file}");
    }
    let headline = object["at_a_glance"][0].as_array().unwrap();
    assert_eq!(headline[1], json!("1.68"));
    assert!(desk.read("some/where/README.md").contains(headline[2].as_str().unwrap()));
    assert!(
        object["scheduled"].as_f64() > Some(1.5)
            && object["rewritten"].as_f64() > object["scheduled"].as_f64()
    );
}

#[test]
fn a_file_is_no_folder() {
    let desk = Desk::new();
    desk.write("taken", "mine");
    let run = desk.run(&["paper", "--out", "taken"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`taken`: it is a file") && run.stderr.contains("--out DIR"), "{run:?}");
    assert_eq!(desk.read("taken"), "mine");
}
