//! The main job on real model files, made by `zoo export`.

use crate::harness::Desk;
use serde_json::json;

/// A folder with a model in it.
fn desk_with(network: &str) -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", network, "-o", "net.tflite", "--int8"]);
    assert_eq!(run.code, 0, "{run:?}");
    desk
}

fn bytes(desk: &Desk, name: &str) -> Vec<u8> {
    std::fs::read(desk.path(name)).unwrap()
}

#[test]
fn a_model_is_ordered_and_placed_for_tflm_and_the_plan_checks() {
    let desk = desk_with("swiftnet-a");
    let run = desk.run(&["optimize", "net.tflite", "-o", "small.tflite", "--plan", "plan.json", "--json"]);
    let object = run.json();
    let (before, after) =
        (object["before"]["arena"].as_u64().unwrap(), object["after"]["arena"].as_u64().unwrap());
    assert!(after < before, "{run:?}");
    // Nothing is fragmented: the arena is what is alive at the peak, and no order has less.
    assert_eq!((&object["after"]["peak"], &object["bound"]), (&json!(after), &json!(after)));
    assert_eq!((&object["proof"], &object["fits"]), (&json!("optimal"), &json!(null)));
    assert!(object["offsets"][0].as_array().unwrap().iter().all(|offset| offset.as_u64().is_some()));

    let check = desk.run(&["check", "plan.json", "net.tflite", "--deep"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(check.stdout.contains("placement verified"), "{check:?}");

    // What was written needs what was promised, and there is nothing more to gain.
    let inspection = desk.run(&["inspect", "small.tflite", "--json"]).json();
    assert_eq!(inspection["arena"], json!(after));
    let again = desk.run(&["optimize", "small.tflite", "-o", "again.tflite", "--json"]).json();
    assert_eq!((&again["before"]["arena"], &again["after"]["arena"]), (&json!(after), &json!(after)));
    assert_eq!(bytes(&desk, "again.tflite"), bytes(&desk, "small.tflite"));
}

#[test]
fn a_tampered_placement_is_found_out() {
    let desk = desk_with("swiftnet-a");
    desk.run(&["optimize", "net.tflite", "--plan", "plan.json", "--json"]);
    let mut plan: serde_json::Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    let offsets = plan["offsets"][0].as_array_mut().unwrap();
    for offset in offsets.iter_mut() {
        *offset = json!(0);
    }
    desk.write("plan.json", &plan.to_string());
    let check = desk.run(&["check", "plan.json", "net.tflite", "--deep"]);
    assert_eq!(check.code, 1);
    let said = check.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("are needed at once and share bytes"), "{said}");
}

#[test]
fn a_file_that_is_only_reordered_differs_in_the_operator_vector_alone() {
    let desk = desk_with("swiftnet-a");
    let run =
        desk.run(&["optimize", "net.tflite", "-o", "small.tflite", "--no-plan", "--no-rewrite", "--json"]);
    let ops = run.json()["order"].as_array().unwrap().len();
    let (old, new) = (bytes(&desk, "net.tflite"), bytes(&desk, "small.tflite"));
    assert_eq!(old.len(), new.len());
    let changed: Vec<usize> = (0..old.len()).filter(|&i| old[i] != new[i]).collect();
    assert!(!changed.is_empty(), "{run:?}");
    assert!(changed[changed.len() - 1] - changed[0] < 4 * ops, "{changed:?}");
}

#[test]
fn a_budget_counts_the_whole_arena_of_a_device() {
    let desk = desk_with("swiftnet-a");
    let object = desk.run(&["optimize", "net.tflite", "--budget", "1MB", "--json"]).json();
    let whole = object["after"]["total"]["arm32"].as_u64().unwrap();
    assert!(whole > object["after"]["arena"].as_u64().unwrap());
    assert_eq!((&object["fits"], &object["missing"]), (&json!(true), &json!(0)));
    let margin = object["after"]["total"]["margin"].as_u64().unwrap();
    for (budget, code, words) in [
        (whole + margin, 0, ": 0 bytes to spare"),
        // Builds differ: what may not fit is not said to fit, nor recommended.
        (whole + margin - 1, 1, "may not fit"),
        (whole - 1, 1, &*format!("{} bytes over", margin + 1)),
    ] {
        let run =
            desk.run(&["optimize", "net.tflite", "--budget", &budget.to_string(), "-o", "small.tflite"]);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stdout.replace(',', "").contains(words), "{words}: {run:?}");
        assert!(run.stdout.contains("boards with enough RAM"), "{run:?}");
    }
}

#[test]
fn inspect_answers_how_large_the_arena_must_be() {
    let desk = desk_with("swiftnet-a");
    let run = desk.run(&["inspect", "net.tflite"]);
    for part in [
        "whole arena",
        "head",
        "tail",
        "margin",
        "largest op alone",
        "best order",
        "in use at the peak",
        "int8",
    ] {
        assert!(run.stdout.contains(part), "{part} is missing in {run:?}");
    }
    let litert = desk.run(&["inspect", "net.tflite", "--runtime", "litert", "--json"]).json();
    assert!(litert["arena"].as_u64().unwrap() >= litert["peak"].as_u64().unwrap());
}

#[test]
fn bad_files_and_requests_name_the_file_and_the_remedy() {
    let desk = desk_with("swiftnet-a");
    let whole = bytes(&desk, "net.tflite");
    let mut wrong = whole.clone();
    wrong[4..8].copy_from_slice(b"TFL2");
    let mut far = whole.clone();
    far[..4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    for (name, content) in [
        ("empty.tflite", &[][..]),
        ("cut.tflite", &whole[..whole.len() / 2]),
        ("other.tflite", &wrong),
        ("far.tflite", &far),
    ] {
        std::fs::write(desk.path(name), content).unwrap();
        let run = desk.run(&["optimize", name, "-o", "out.tflite"]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr.starts_with(&format!("error: `{name}` is not a TensorFlow Lite model")),
            "{run:?}"
        );
    }
    let graph = desk.run(&["optimize", "zoo:swiftnet-a", "-o", "out.tflite"]);
    assert!(graph.code == 2 && graph.stderr.contains("zoo export"), "{graph:?}");
    assert!(!desk.files().contains(&"out.tflite".to_owned()));
}

#[test]
fn a_plan_for_other_kernels_is_not_kept() {
    let desk = desk_with("mobilenet?resolution=64");
    let arena = |object: &serde_json::Value| object["after"]["arena"].as_u64().unwrap();
    let tight = desk
        .run(&["optimize", "net.tflite", "-o", "tight.tflite", "--kernels", "reference", "--json"])
        .json();
    let safe = desk.run(&["optimize", "net.tflite", "--json"]).json();
    assert!(arena(&tight) < arena(&safe));
    let run = desk.run(&["optimize", "tight.tflite", "-o", "again.tflite", "--plan", "plan.json", "--json"]);
    assert_eq!(arena(&run.json()), arena(&safe));
    assert_eq!(desk.run(&["check", "plan.json", "tight.tflite", "--deep"]).code, 0);
    assert_eq!(desk.run(&["inspect", "again.tflite", "--json"]).json()["arena"], safe["after"]["arena"]);
}

#[test]
fn a_plan_is_checked_for_the_kernels_asked_for() {
    let desk = desk_with("mobilenet?resolution=64");
    desk.run(&["optimize", "net.tflite", "--plan", "plan.json", "--kernels", "reference"]);
    assert_eq!(desk.run(&["check", "plan.json", "net.tflite", "--deep"]).code, 0);
    let run = desk.run(&["check", "plan.json", "net.tflite", "--kernels", "any"]);
    assert!(run.code == 1 && run.stdout.contains("invalid: the peak is"), "{run:?}");
}

#[test]
fn neither_plan_nor_header_is_written_over_the_model() {
    let desk = desk_with("swiftnet-a");
    let model = bytes(&desk, "net.tflite");
    for option in ["--plan", "--emit-header"] {
        let run = desk.run(&["optimize", "net.tflite", option, "net.tflite"]);
        assert!(run.code == 2 && run.stderr.contains("is the model itself"), "{run:?}");
    }
    assert_eq!(bytes(&desk, "net.tflite"), model);
    // The model itself may be replaced, by a model.
    let run = desk.run(&["optimize", "net.tflite", "-o", "net.tflite"]);
    assert!(
        run.code == 0 && run.stdout.contains("written over") && !run.stdout.contains("verify"),
        "{run:?}"
    );
}

#[test]
fn a_printed_command_can_be_pasted() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "it's a net.tflite"]);
    let run = desk.run(&["optimize", "it's a net.tflite"]);
    assert!(run.stdout.contains(r"serenity fit 'it'\''s a net.tflite' --budget"), "{run:?}");
}
