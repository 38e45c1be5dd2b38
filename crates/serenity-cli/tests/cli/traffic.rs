//! `traffic`: bytes moved between on-chip and off-chip memory.

use crate::harness::Desk;
use serde_json::{Value, json};

/// x is needed again at the end; a and b fill the memory in between.
const SKIP: &str = r#"{"name": "skip",
  "tensors": [{"id": 0, "name": "x", "bytes": 10}, {"id": 1, "bytes": 60}, {"id": 2, "bytes": 60}, {"id": 3, "name": "y", "bytes": 10}],
  "ops": [{"name": "a", "type": "CONV_2D", "inputs": [0], "outputs": [1]},
          {"name": "b", "type": "CONV_2D", "inputs": [1], "outputs": [2]},
          {"name": "add", "type": "ADD", "inputs": [0, 2], "outputs": [3]}],
  "inputs": [0], "outputs": [3]}"#;

fn sizes(object: &Value) -> Vec<[u64; 4]> {
    let number =
        |size: &Value, field: &str| size[field].as_u64().unwrap_or_else(|| panic!("{field} in {size}"));
    let row = |size: &Value| ["on_chip", "before", "after", "bound"].map(|field| number(size, field));
    object["sizes"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn no_memory_one_below_the_largest_tensor_and_one_above_the_sum() {
    let desk = Desk::new();
    desk.write("skip.json", SKIP);
    let run = desk.run(&["traffic", "skip.json", "--on-chip", "0,50,119,120,130,10KB", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let object = run.json();
    assert_eq!(object["compulsory"], json!({"reads": 10, "writes": 10, "bytes": 20}));
    // Without a memory a and b are written and read again, x is only read again. With 50 bytes x stays.
    let expected = [[0, 250, 250, 250], [50, 240, 240, 240], [119, 120, 120, 120], [120, 10, 10, 10]];
    assert_eq!(sizes(&object)[..4], expected);
    assert_eq!(sizes(&object)[4..], [[130, 0, 0, 0], [10_000, 0, 0, 0]]);
    let after = &object["sizes"][2]["details"]["after"];
    assert_eq!(
        (&after["reads"], &after["writes"], &after["optimal"]),
        (&json!(60), &json!(60), &json!(true))
    );
    assert_eq!(after["oversize_ops"], json!([{"op": 1, "name": "b"}]));
    assert_eq!((&object["runtime"], &object["tried_all_orders"]), (&json!("plain"), &json!(true)));
}

#[test]
fn a_table_and_a_picture() {
    let desk = Desk::new();
    let run = desk.run(&["traffic", "zoo:swiftnet-a", "--on-chip", "32KB,64KB,128KB,256KB,512KB"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    for part in [
        "memory model `paper`, whole tensors, objective `traffic`",
        "compulsory: 37.6 KB in, 25.1 KB out",
        "by Belady's rule",
        "┤█",
        "░",
        "pw6, dw9, pw10",
        "before: the model's own order",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
}

#[test]
fn figures_come_in_order_and_fall_with_the_memory() {
    let desk = Desk::new();
    for input in ["zoo:swiftnet", "zoo:darts-cell"] {
        for grain in ["tensor", "page"] {
            let run = desk.run(&["traffic", input, "--grain", grain, "--json"]);
            assert_eq!(run.code, 0, "{run:?}");
            let rows = sizes(&run.json());
            assert_eq!(rows.len(), 5);
            for [_, before, after, bound] in &rows {
                assert!(bound <= after && after <= before, "{input}, {grain}: {rows:?}");
            }
            for pair in rows.windows(2) {
                assert!(pair[0][0] < pair[1][0]);
                assert!(
                    (1..3).all(|column| pair[1][column] <= pair[0][column]),
                    "{input}, {grain}: {rows:?}"
                );
            }
            let by_peak =
                desk.run(&["traffic", input, "--grain", grain, "--objective", "peak", "--json"]).json();
            for (traffic, peak) in rows.iter().zip(sizes(&by_peak)) {
                assert!(
                    traffic[2] <= peak[2] && traffic[1] == peak[1],
                    "{input}, {grain}: {traffic:?} {peak:?}"
                );
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let desk = Desk::new();
    for (on_chip, part) in [
        ("", "invalid value"),
        ("64KB,", "invalid value"),
        ("-1", "unexpected argument"),
        ("lots", "invalid value"),
    ] {
        let run = desk.run(&["traffic", "zoo:swiftnet-a", "--on-chip", on_chip]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    // One tensor that many read, each time anew: more bytes than can be counted.
    let reads: Vec<String> =
        (1..=5).map(|i| format!(r#"{{"type": "X", "inputs": [0], "outputs": [{i}]}}"#)).collect();
    let small: Vec<String> = (1..=5).map(|i| format!(r#"{{"id": {i}, "bytes": 1}}"#)).collect();
    let huge = format!(
        r#"{{"tensors": [{{"id": 0, "bytes": 1152921504606846976}}, {}], "ops": [{}], "inputs": [0], "outputs": [5]}}"#,
        small.join(", "),
        reads.join(", ")
    );
    desk.write("huge.json", &huge);
    let run = desk.run(&["traffic", "huge.json"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("moves more than 2^62 bytes"), "{}", run.stderr);
}

#[test]
fn figure_11_of_the_paper() {
    let desk = Desk::new();
    let of = |more: &[&str]| {
        let usual =
            ["traffic", "zoo:darts-cell", "--on-chip", "256KiB", "--grain", "page", "--objective", "peak"];
        desk.run(&[&usual[..], more, &["--json"]].concat()).json()
    };
    let belady =
        |object: &Value, side: &str| object["sizes"][0]["details"][side]["belady"]["bytes"].as_u64().unwrap();
    let own = of(&[]);
    let paper = of(&["--before", "tflite", "--rewrite", "paper"]);
    assert_eq!((&paper["rewrite"], &paper["baseline"]), (&json!("paper"), &json!("tflite")));
    // As in docs/paper/traffic-256-kib.csv.
    assert_eq!((belady(&paper, "before"), belady(&paper, "after")), (3_890_176, 1_704_960));
    assert_eq!((&own["rewrite"], &own["baseline"]), (&json!("none"), &json!("file")));
    let rewritten = of(&["--rewrite", "paper"]);
    assert_eq!(belady(&own, "before"), belady(&rewritten, "before"), "before is the model as it came");
    assert_eq!((&paper["peak"]["least"], &own["peak"]["least"]), (&json!(752_640), &json!(903_168)));
    let run = desk.run(&["traffic", "zoo:darts-cell", "--rewrite", "everything"]);
    assert!(run.code == 2 && run.stderr.contains("paper"), "{run:?}");
}

/// What is compared with is another graph than the one that is ordered: its ops have other numbers and names, and may be more.
#[test]
fn ops_of_the_model_before_are_those_that_it_came_with() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "mobilenet?resolution=32", "--int8", "-o", "net.tflite"]);
    for (input, more) in [
        ("zoo:swiftnet", &["--rewrite", "paper"][..]),
        ("net.tflite", &["--rewrite", "exact"]),
        ("net.tflite", &["--before", "tflite", "--runtime", "plain"]),
    ] {
        let of = |more: &[&str]| {
            let usual = ["traffic", input, "--on-chip", "1", "--objective", "peak", "--json"];
            desk.run(&[&usual[..], more].concat()).json()
        };
        let before = |object: &Value| {
            let ops = object["sizes"][0]["details"]["before"]["oversize_ops"].as_array().unwrap().clone();
            let mut names: Vec<String> = ops.iter().map(Value::to_string).collect();
            names.sort();
            names
        };
        let own = of(&more[2..]);
        assert!(!before(&own).is_empty());
        assert_eq!(before(&of(more)), before(&own), "{input} {more:?}");
    }
}
