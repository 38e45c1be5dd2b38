//! The paper's Algorithm 2 on the command line: its budgets can be given, seen, and followed as printed.

use crate::harness::Desk;
use serde_json::{Value, json};

fn results(object: &Value) -> Vec<&str> {
    object["soft_budgets"].as_array().unwrap().iter().map(|tried| tried["result"].as_str().unwrap()).collect()
}

#[test]
fn every_budget_that_was_tried_is_told() {
    let desk = Desk::new();
    let of = |more: &[&str]| desk.run(&[&["schedule", "zoo:swiftnet", "--json"], more].concat()).json();
    let hasty = of(&["--algorithm", "dp+dc+asb", "--step-limit", "5"]);
    assert_eq!((&hasty["peak"], &hasty["proof"]), (&json!(200_704), &json!("optimal")));
    let told = results(&hasty);
    assert!(["timeout", "no solution", "solution"].iter().all(|result| told.contains(result)), "{told:?}");
    // Every piece ends with a solution, and where no budget was left T was doubled.
    let pieces = hasty["pieces"].as_array().unwrap().len();
    assert_eq!(told.iter().filter(|result| **result == "solution").count(), pieces);
    let tried = hasty["soft_budgets"].as_array().unwrap();
    assert!(
        tried.iter().any(|tried| tried["step_limit"] == "5")
            && tried.iter().any(|tried| tried["step_limit"] == "10")
    );
    let states: u64 = tried.iter().map(|tried| tried["states"].as_u64().unwrap()).sum();
    assert_eq!(hasty["states"], states);
    assert_eq!(results(&of(&["--algorithm", "dp+asb"])), ["solution"]);
    assert!(results(&of(&["--algorithm", "dp"])).is_empty());
    let run = desk.run(&[
        "schedule",
        "zoo:swiftnet",
        "--algorithm",
        "dp+dc+asb",
        "--step-limit",
        "200ms",
        "--verbose",
    ]);
    assert!(
        run.stdout.contains("soft budgets: 12 tried, 0 timeouts") && run.stdout.contains("200ms"),
        "{run:?}"
    );
}

#[test]
fn one_budget_has_a_solution_or_is_proved_to_have_none() {
    let desk = Desk::new();
    for algorithm in ["dp", "dp+dc", "dp+asb", "dp+dc+asb"] {
        let with = |budget: &str| {
            desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", algorithm, "--soft-budget", budget])
        };
        let kept = with("200704");
        assert!(kept.code == 0 && kept.stdout.contains("200,704 bytes, proved optimal"), "{kept:?}");
        let refused = with("200703");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stdout.contains("budget no order keeps within 200,703 bytes"), "{refused:?}");
        assert!(refused.stdout.contains("bound  200,704 bytes"), "{refused:?}");
    }
}

#[test]
fn algorithm_2_as_printed_may_circle_and_says_so() {
    let desk = Desk::new();
    let printed = |limit: &str| {
        let rule = ["--algorithm", "dp+dc+asb", "--soft-budget", "printed", "--step-limit", limit];
        desk.run(&[&["schedule", "zoo:swiftnet", "--json"], &rule[..]].concat()).json()
    };
    let enough = printed("250000");
    assert_eq!((&enough["proof"], enough["peak"].as_u64()), (&json!("optimal"), Some(200_704)));
    let circling = printed("5");
    assert_eq!(circling["proofs"]["order"]["stopped"], "circles", "{circling}");
    assert!(circling["peak"].as_u64() > circling["bound"].as_u64());
}

#[test]
fn a_budget_that_the_algorithm_does_not_have_is_refused() {
    let desk = Desk::new();
    for more in [&["--soft-budget", "200KB"][..], &["--algorithm", "dp+dc", "--soft-budget", "printed"]] {
        for command in ["schedule", "optimize"] {
            let run = desk.run(&[&[command, "zoo:swiftnet-a"], more].concat());
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
            assert!(
                run.stderr.contains("has no such soft budget") && run.stderr.contains("dp+dc+asb"),
                "{run:?}"
            );
        }
    }
    let run = desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", "dp", "--soft-budget", "some"]);
    assert!(run.code == 2 && run.stderr.contains("`adaptive` and `printed`"), "{run:?}");
}

#[test]
fn the_stages_of_the_paper_are_told() {
    let run = Desk::new().run(&[
        "optimize",
        "zoo:swiftnet-b",
        "--rewrite",
        "paper",
        "--algorithm",
        "dp+dc+asb",
        "--verbose",
    ]);
    for part in ["stages, as in figure 4", "rewrite   19 ops become", "divide    1 piece", "soft budgets:"] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
}
