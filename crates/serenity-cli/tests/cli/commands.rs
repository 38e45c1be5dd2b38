//! Every command does its job and prints the fields that scripts rely on.

use crate::harness::Desk;
use serde_json::{Value, json};

#[test]
fn optimize_shows_before_and_after_with_a_picture() {
    let run = Desk::new().run(&["optimize", "zoo:swiftnet"]);
    assert_eq!(run.code, 0, "{run:?}");
    for part in [
        "62 ops, 73 after rewriting",
        "213.2 KB",
        "150.5 KB",
        "proved: no combination of rewrites and order needs less",
        "saves",
        "█",
        "░",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    assert_eq!(run.stderr, "");
}

#[test]
fn optimize_writes_a_graph_in_the_new_order_and_a_plan_that_checks() {
    let desk = Desk::new();
    let run = desk.run(&["optimize", "zoo:swiftnet-a", "-o", "small.json", "--plan", "plan.json", "--json"]);
    let object = run.json();
    assert_eq!(object["before"], json!({"peak": 213_248, "arena": null, "total": null, "ops": 21}));
    assert_eq!(object["after"], json!({"peak": 150_528, "arena": null, "total": null, "ops": 32}));
    assert_eq!(
        (&object["bound"], &object["proof"], &object["output"]),
        (&json!(150_528), &json!("optimal"), &json!("small.json"))
    );
    let choice = &object["rewrite_choice"];
    assert_eq!((&choice["proved"], &choice["without"]), (&json!(true), &json!(200_704)));
    for field in ["rewrites", "order", "offsets", "seconds", "fits"] {
        assert!(object.get(field).is_some(), "{field} is missing");
    }
    assert_eq!(desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--deep"]).code, 0);
    // The file's own order is now the good one.
    let inspected = desk.run(&["inspect", "small.json", "--runtime", "paper", "--json"]).json();
    assert_eq!(inspected["peak"], 150_528);
    assert_eq!(desk.files(), ["plan.json", "small.json"]);
    // A second time there is nothing left to do.
    let again = desk.run(&["optimize", "small.json", "--runtime", "paper", "--json"]).json();
    assert_eq!((&again["rewrites"], &again["after"]["peak"]), (&json!([]), &json!(150_528)));
    let ordered = desk.run(&["optimize", "zoo:swiftnet-a", "--no-rewrite", "--json"]).json();
    assert_eq!(ordered["after"], json!({"peak": 200_704, "arena": null, "total": null, "ops": 21}));
}

#[test]
fn a_budget_decides_the_exit_code_and_says_what_is_missing() {
    let desk = Desk::new();
    let run = desk.run(&["optimize", "zoo:swiftnet-a", "--no-rewrite", "--budget", "200KB"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("does not fit 200 KB: 704 bytes over"), "{}", run.stdout);
    let run = desk.run(&["optimize", "zoo:swiftnet-a", "--budget", "147KiB", "--json"]);
    assert_eq!((run.code, run.json()["fits"].as_bool()), (0, Some(true)));
    let run = desk.run(&["optimize", "zoo:swiftnet-a", "--budget", "150527", "--json"]);
    assert_eq!((run.code, run.json()["missing"].as_u64()), (1, Some(1)));
}

#[test]
fn a_model_that_cannot_get_better_keeps_its_order() {
    let object = Desk::new().run(&["optimize", "zoo:mobilenet", "--json"]).json();
    let order: Vec<u64> = object["order"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(order, (0..order.len() as u64).collect::<Vec<_>>());
    assert_eq!((&object["algorithm"], &object["proof"]), (&json!("file"), &json!("optimal")));
    let run = Desk::new().run(&["optimize", "zoo:swiftnet-a", "--no-reorder", "--no-rewrite"]);
    assert!(run.stdout.contains("the model's own order is kept"), "{}", run.stdout);
}

#[test]
fn a_kept_order_that_meets_the_bound_is_optimal_whatever_the_search_said() {
    let desk = Desk::new();
    // Breadth first holds both branches at once and says `gap`; the file's own order needs what its largest op needs.
    desk.write(
        "net.json",
        r#"{"tensors": [{"bytes": 0}, {"bytes": 50}, {"bytes": 1}, {"bytes": 60}, {"bytes": 1}, {"bytes": 1}],
            "ops": [{"inputs": [0], "outputs": [3]}, {"inputs": [3], "outputs": [4]}, {"inputs": [0], "outputs": [1]},
                {"inputs": [1], "outputs": [2]}, {"inputs": [2, 4], "outputs": [5]}], "inputs": [0], "outputs": [5]}"#,
    );
    let found = desk.run(&["schedule", "net.json", "--algorithm", "kahn", "--json"]).json();
    assert_eq!(found["proof"], "gap");
    let object = desk.run(&["optimize", "net.json", "--algorithm", "kahn", "--json"]).json();
    assert_eq!(object["peak"], object["bound"]);
    assert_eq!((&object["proof"], &object["algorithm"]), (&json!("optimal"), &json!("file")));
}

#[test]
fn every_algorithm_of_the_paper_gives_the_same_peak() {
    let desk = Desk::new();
    for algorithm in ["dp", "dp+dc", "dp+asb", "dp+dc+asb"] {
        let object = desk.run(&["schedule", "zoo:swiftnet", "--algorithm", algorithm, "--json"]).json();
        assert_eq!((object["peak"].as_u64(), object["proof"].as_str()), (Some(200_704), Some("optimal")));
        assert!(object["states"].as_u64() > Some(0) && object["seconds"].is_f64());
    }
}

#[test]
fn the_optima_of_the_paper_are_proved() {
    let desk = Desk::new();
    for (network, peak) in
        [("swiftnet-a", 200_704), ("swiftnet-b", 75_264), ("swiftnet-c", 27_440), ("darts-cell", 6 * 150_528)]
    {
        let object = desk.run(&["schedule", &format!("zoo:{network}"), "--json"]).json();
        assert_eq!(
            (object["peak"].as_u64(), object["proof"].as_str()),
            (Some(peak), Some("optimal")),
            "{network}"
        );
    }
}

#[test]
fn schedule_prints_one_object_a_line_and_goes_on_after_a_bad_file() {
    let run = Desk::new().run(&["schedule", "zoo:swiftnet-a", "missing.json", "zoo:darts-cell", "--json"]);
    let lines = run.json_lines();
    let inputs: Vec<&Value> = lines.iter().map(|line| &line["input"]).collect();
    assert_eq!(inputs, ["zoo:swiftnet-a", "missing.json", "zoo:darts-cell"]);
    assert_eq!((&lines[1]["error"]["kind"], lines[2].get("error")), (&json!("read"), None));
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("error: cannot read `missing.json`"), "{}", run.stderr);
}

#[test]
fn limits_end_a_search_with_its_best_and_a_bound() {
    let desk = Desk::new();
    for limit in [["--time-limit", "0"], ["--memory-limit", "1KB"]] {
        let args = ["schedule", "zoo:randwire-cifar10", "--algorithm", "dp", "--json", limit[0], limit[1]];
        let object = desk.run(&args).json();
        assert_eq!(object["proof"], "gap", "{limit:?}");
        assert!(object["bound"].as_u64() < object["peak"].as_u64());
        assert!(object["stopped"].as_str().unwrap().contains("limit was reached"));
    }
}

#[test]
fn sample_reproduces_the_distribution_of_the_paper() {
    let desk = Desk::new();
    let object = desk.run(&["sample", "zoo:swiftnet-a", "--exact", "--budget", "250KB", "--json"]).json();
    assert_eq!(object["count"], 2_494_080);
    let percent = |object: &Value, key: &str| object[key].as_f64().unwrap() * 100.0;
    assert!((percent(&object, "share_within_budget") - 5.3).abs() < 0.05);
    assert!((percent(&object, "share_optimal") - 0.052).abs() < 0.0005);

    assert_eq!(object["stopped"], Value::Null);

    let args = ["sample", "zoo:swiftnet-a", "--count", "20000", "--budget", "250KB", "--json"];
    let object = desk.run(&args).json();
    assert_eq!(object["count"], 20_000);
    assert!((percent(&object, "share_within_budget") - 9.6).abs() < 1.0);
    assert!(object["quantiles"]["0.5"].as_u64() > Some(200_704));
    assert_eq!(desk.run(&args).stdout, desk.run(&args).stdout, "the same seed draws the same orders");
}

#[test]
fn a_sample_that_a_limit_ends_says_so_and_claims_nothing_about_the_optimum() {
    let desk = Desk::new();
    let args = ["sample", "zoo:randwire-cifar10?nodes=200", "--count", "1000000000", "--time-limit", "0.2"];
    // The search for the best order has what the drawing left: nothing.
    let object = desk.run_within(20, &[&args[..], &["--json"]].concat()).json();
    assert_eq!(object["stopped"], "the time limit was reached");
    assert_eq!((&object["proof"], &object["share_optimal"]), (&json!("gap"), &Value::Null));
    let run = desk.run(&args);
    assert!(run.stdout.contains("stopped early: the time limit was reached; 1,000,000,000 were asked for"));
    assert!(!run.stdout.contains("of the orders reach it"), "{}", run.stdout);
}

#[test]
fn the_largest_op_counts_results_that_it_reads() {
    let desk = Desk::new();
    desk.write(
        "net.json",
        r#"{"tensors": [{"bytes": 10}, {"bytes": 5}], "ops": [{"inputs": [], "outputs": [0]}, {"inputs": [0], "outputs": [1]}],
            "inputs": [], "outputs": [0, 1]}"#,
    );
    let object = desk.run(&["inspect", "net.json", "--memory-limit", "1MB", "--json"]).json();
    assert_eq!(object["max_op"], json!({"op": 1, "name": "op#1", "bytes": 15}));
}

#[test]
fn inspect_names_who_is_alive_at_the_peak() {
    let desk = Desk::new();
    let object = desk.run(&["inspect", "zoo:swiftnet-a", "--json"]).json();
    let alive: u64 =
        object["alive_at_peak"].as_array().unwrap().iter().filter_map(|b| b["bytes"].as_u64()).sum();
    assert_eq!((Some(alive), object["max_op"]["bytes"].as_u64()), (object["peak"].as_u64(), Some(175_616)));
    assert_eq!(object["steps"].as_array().unwrap().len(), 21);
    let run = desk.run(&["inspect", "zoo:swiftnet-a", "--steps", "--dot", "a.dot"]);
    assert!(
        run.stdout.contains("<- peak") && run.stdout.contains("dw9  [1x28x28x96] int8"),
        "{}",
        run.stdout
    );
    assert!(desk.read("a.dot").starts_with("digraph"));
}

#[test]
fn zoo_networks_can_be_listed_exported_and_read_back() {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "list"]);
    assert!(run.stdout.contains("randwire-cifar100") && run.stdout.contains("reconstruction"));
    let networks = desk.run(&["zoo", "list", "--json"]).json();
    assert!(networks["networks"].as_array().unwrap().len() > 15);
    assert_eq!(desk.run(&["zoo", "export", "randwire-cifar10?seed=3", "-o", "net.json"]).code, 0);
    let object = desk.run(&["zoo", "export", "swiftnet-a", "-o", "A.JSON", "--json"]).json();
    assert_eq!((&object["ops"], &object["output"]), (&json!(21), &json!("A.JSON")));
    assert_eq!(desk.run(&["zoo", "export", "swiftnet-a", "-o", "A.DOT"]).code, 0);
    assert!(desk.read("A.DOT").starts_with("digraph"));
    let here = desk.run(&["schedule", "net.json", "--algorithm", "kahn", "--json"]).json();
    let there = desk
        .run(&[
            "schedule",
            "zoo:randwire-cifar10?seed=3",
            "--algorithm",
            "kahn",
            "--runtime",
            "plain",
            "--json",
        ])
        .json();
    assert_eq!(here["peak"], there["peak"]);
}

#[test]
fn zoo_networks_can_be_exported_as_models() {
    let desk = Desk::new();
    let sizes = ["", "--int8"].map(|precision| {
        let mut args = vec!["zoo", "export", "swiftnet-c", "-o", "c.tflite", "--json"];
        args.extend(Some(precision).filter(|precision| !precision.is_empty()));
        let object = desk.run(&args).json();
        let file = std::fs::read(desk.path("c.tflite")).unwrap();
        assert_eq!((&file[4..8], object["ops"].as_u64()), (&b"TFL3"[..], Some(22)));
        assert_eq!(object["bytes"].as_u64(), Some(file.len() as u64));
        file.len()
    });
    assert!(sizes[1] < sizes[0] / 2, "{sizes:?}");
    let run = desk.run(&["zoo", "export", "darts-cell", "-o", "cell.TFLITE"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "darts-cell: 44 ops written to `cell.TFLITE`\n"));
}

#[test]
fn what_is_no_model_is_not_exported_as_one() {
    let desk = Desk::new();
    for (network, file, int8, says) in [
        ("random-tree", "t.tflite", false, "all networks but the random-* graphs can be exported"),
        ("swiftnet-a", "a.bin", false, "end the name in .tflite"),
        ("swiftnet-a", "a.json", true, "which has no numbers to quantise"),
        ("swiftnet-a", "no/such/folder.tflite", false, "there is no folder"),
    ] {
        let mut args = vec!["zoo", "export", network, "-o", file];
        args.extend(int8.then_some("--int8"));
        let run = desk.run(&args);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(says), "{run:?}");
    }
    assert!(desk.files().is_empty());
}

#[test]
fn a_graph_can_come_from_standard_input() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-b", "-o", "b.json"]);
    let run = desk.run_with_input(&["schedule", "-", "--runtime", "paper", "--json"], &desk.read("b.json"));
    assert_eq!(run.json()["peak"], 75_264);
}

#[test]
fn completions_and_man_pages_come_out() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(desk.run(&["completions", shell]).stdout.contains("optimize"), "{shell}");
    }
    assert_eq!(desk.run(&["man", "--out", "man"]).code, 0);
    assert!(desk.read("man/serenity-optimize.1").contains("less memory"));
    assert!(desk.read("man/serenity-zoo-export.1").contains("Write a network to a file"));
    assert!(desk.path("man/serenity-zoo-list.1").exists());
}
