//! Rewrites that are made only for whoever asks for them: the paper's two rules, and partial convolutions of whole numbers.

use serde_json::json;
use serenity::pipeline::planned_model;
use serenity::plan_check::CheckOptions;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Format, Input, Optimized, Options, PlanFile, Rewrites, check_plan, export, load, optimize};
use serenity_judges::{Inputs, Verdict, tflm};
use std::collections::BTreeSet;
use std::path::Path;

const ANY: MemoryModel = MemoryModel::Tflm(Kernels::Any);

fn exported(name: &str, precision: Precision, folder: &Path) -> Input {
    let path = folder.join(format!("{name}.tflite"));
    std::fs::write(&path, export(name, Format::TfLite, precision).unwrap().bytes).unwrap();
    load(path.to_str().unwrap()).unwrap()
}

fn optimized(input: &Input, model: MemoryModel, rewrites: Rewrites) -> Optimized {
    let options = Options { model, rewrites, ..Options::for_input(input) };
    optimize(input, &options).unwrap()
}

#[test]
fn the_papers_rules_are_two_and_give_its_figures() {
    for (name, peak) in [("zoo:swiftnet-b", 62_720), ("zoo:swiftnet-c", 18_032), ("zoo:darts-cell", 752_640)]
    {
        let input = load(name).unwrap();
        let Optimized { plan, .. } = optimized(&input, MemoryModel::Paper, Rewrites::Paper);
        assert_eq!(plan.after.peak, peak, "{name}");
        let rules: BTreeSet<&str> = plan.rewrites.iter().map(|rewrite| rewrite.rule.as_str()).collect();
        assert!(rules.iter().all(|rule| ["channel-partitioning", "kernel-partitioning"].contains(rule)));
        assert!(plan.choice.is_none(), "nothing was chosen");
        let read = PlanFile::from_json(&plan.to_json()).unwrap();
        let verdict = check_plan(&input, &read, &CheckOptions::default());
        assert!(verdict.is_valid(), "{name}: {:?}", verdict.problems().collect::<Vec<_>>());
    }
}

#[test]
fn whole_numbers_are_rounded_twice_only_if_asked_for_and_how_far_that_is_off_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let input = exported("swiftnet-c", Precision::Int8, folder.path());
    let [all, approximate] =
        [Rewrites::All, Rewrites::Approximate].map(|rewrites| optimized(&input, ANY, rewrites));
    assert!(all.plan.rewrites.iter().all(|rewrite| rewrite.exact && rewrite.error.is_none()));
    assert!(2 * approximate.plan.after.needs() < all.plan.after.needs());
    assert!(approximate.plan.rewrites.iter().all(|rewrite| rewrite.exact == rewrite.error.is_none()));
    let plan = approximate.plan.to_json();
    let judged = |plan: &serde_json::Value| {
        let read = PlanFile::from_json(plan).unwrap();
        check_plan(&input, &read, &CheckOptions::default()).is_valid()
    };
    assert!(judged(&plan));
    let rewrites = plan["rewrites"].as_array().unwrap();
    let first = rewrites.iter().position(|rewrite| rewrite.get("error_steps").is_some()).unwrap();
    let exact = rewrites.iter().position(|rewrite| rewrite["exact"] == true).unwrap();
    for (at, steps) in [(first, json!(1.5)), (exact, json!(3.0))] {
        let mut tampered = plan.clone();
        tampered["rewrites"][at]["error_steps"] = steps;
        assert!(!judged(&tampered), "rewrite {at}");
    }
    // A stock runtime takes it, in the memory that was promised.
    let path = folder.path().join("approximate.tflite");
    std::fs::write(&path, planned_model(&approximate.model, &approximate.plan).unwrap()).unwrap();
    let Some(verdicts) = tflm(&[path], &Inputs::default()) else { return };
    let [Verdict::Accepted(seen)] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert!(seen.outputs.is_ok() && seen.head <= approximate.plan.after.needs(), "{seen:?}");
}
