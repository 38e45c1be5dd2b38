//! A model that has loops is a model like any other: it can be read, looked at, planned, checked and run again.

use crate::common::{exported, portable_head};
use serenity::plan_check::{CheckOptions, Status};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::search::Limits;
use serenity::zoo::Precision;
use serenity::{Format, Input, Loops, Optimized, Options, PlanFile, check_plan, inspect, load, optimize};
use serenity_judges::{Inputs, shared};
use serenity_verify::{Engine, VerifyOptions, verify};
use std::path::{Path, PathBuf};

/// Small networks, in which loops help.
fn models(folder: &Path) -> Vec<PathBuf> {
    let mut models = vec![exported("swiftnet-a", Format::TfLite, Precision::Int8, folder)];
    models.extend(shared("models/mlperf_tiny_resnet8_int8.tflite"));
    models
}

fn read(path: &Path) -> Input {
    load(path.to_str().unwrap()).unwrap()
}

fn options(input: &Input, kernels: Kernels) -> Options {
    Options { model: MemoryModel::Tflm(kernels), ..Options::for_input(input) }
}

/// A model with loops, and its file.
struct Looped {
    original: PathBuf,
    kernels: Kernels,
    best: Optimized,
    file: PathBuf,
}

fn looped(folder: &Path) -> Vec<Looped> {
    let mut all = Vec::new();
    for original in models(folder) {
        let input = read(&original);
        for kernels in [Kernels::Any, Kernels::Reference] {
            let wanted = Options { loops: Some(Loops::default()), ..options(&input, kernels) };
            let best = optimize(&input, &wanted).unwrap();
            assert!(best.plan.loops.is_some(), "{}: no loops", original.display());
            let file = folder.join(format!("{}_looped.tflite", all.len()));
            std::fs::write(&file, best.to_bytes().unwrap()).unwrap();
            all.push(Looped { original: original.clone(), kernels, best, file });
        }
    }
    all
}

/// What a plan claims, checked as `serenity check` does, by a search too.
fn check(input: &Input, plan: &serenity::Plan, name: &str) {
    let options = CheckOptions { model: None, deep: Some(Limits::default().holding(1 << 24)) };
    let mut json = plan.to_json();
    let verdict = check_plan(input, &PlanFile::from_json(&json).unwrap(), &options);
    let problems: Vec<&str> = verdict.problems().collect();
    assert!(problems.is_empty(), "{name}: {problems:?}");
    // What is shown to be needed cannot be more than what is used.
    let arena = plan.after.arena.unwrap();
    assert!(verdict.shown_bound <= arena, "{name}: {} shown, {arena} used", verdict.shown_bound);
    if plan.least() < arena {
        // That less is not possible is more than anybody has shown.
        json["bound"] = arena.into();
        let verdict = check_plan(input, &PlanFile::from_json(&json).unwrap(), &options);
        let bound = verdict.claims.iter().find(|claim| claim.claim == "bound").unwrap();
        assert!(!matches!(bound.status, Status::Verified { .. }), "{name}: {bound:?}");
    }
}

#[test]
fn models_with_loops_can_be_read_planned_and_checked_again() {
    let folder = tempfile::tempdir().unwrap();
    let all = looped(folder.path());
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arenas: Vec<u64> = Vec::new();
    for (number, Looped { original, kernels, best, file }) in all.iter().enumerate() {
        let name = format!("{}, {kernels:?}", original.file_stem().unwrap().to_string_lossy());
        let arena = best.plan.after.arena.unwrap();
        check(&read(original), &best.plan, &name);
        let input = read(file);
        assert_eq!(input.plan(), best.plan.offsets, "{name}: the plan is in the file");
        for model in [MemoryModel::Tflm(*kernels), MemoryModel::TflmPlanned(*kernels)] {
            let seen = inspect(input.graphs(), model, input.plan().as_ref());
            assert_eq!(seen.arena.map(|arena| arena.bytes), Some(arena), "{name}, {model}");
        }
        for (how, loops, plan_arena) in [
            ("as by default", None, true),
            ("with loops", Some(Loops::default()), true),
            ("without a plan", None, false),
        ] {
            let name = format!("{name}, {how}");
            let wanted = Options { loops, plan_arena, ..options(&input, *kernels) };
            let again = optimize(&input, &wanted).unwrap();
            let plan = &again.plan;
            println!("{name}: {arena} -> {:?}, no less than {}", plan.after.arena, plan.least());
            assert_eq!(plan.before.arena, Some(arena), "{name}: as it came");
            assert!(plan.after.arena.unwrap() <= arena, "{name}: {:?}, not {arena}", plan.after.arena);
            assert!(plan.least() <= plan.after.arena.unwrap(), "{name}");
            check(&input, plan, &name);
            let file = folder.path().join(format!("{number}_{}.tflite", how.replace(' ', "_")));
            std::fs::write(&file, again.to_bytes().unwrap()).unwrap();
            files.push(file);
            arenas.extend(portable_head(&again.model, plan));
        }
        // Bounds hold for every plan that exists: also for kernels of another kind, and without a plan of its own.
        for kernels in [Kernels::Any, Kernels::Reference] {
            let forgotten = Options { given_plan: None, ..options(&input, kernels) };
            let plan = optimize(&input, &forgotten).unwrap().plan;
            if kernels == best.plan.model.kernels().unwrap() {
                assert!(plan.least() <= arena, "{name}: a bound of {}, and {arena} were used", plan.least());
            }
        }
        for runtime in [MemoryModel::Plain, MemoryModel::Litert] {
            let plan =
                optimize(&input, &Options { model: runtime, ..Options::for_input(&input) }).unwrap().plan;
            assert!(plan.after.needs() <= plan.before.needs(), "{name}, {runtime}");
        }
    }
    let originals: Vec<&Path> = all.iter().map(|looped| looped.original.as_path()).collect();
    let judged: Vec<&Path> = originals.iter().copied().chain(files.iter().map(PathBuf::as_path)).collect();
    let Some(verdicts) = serenity_judges::tflm(&judged, &Inputs { runs: 2, seed: 3 }) else { return };
    let (before, after) = verdicts.split_at(originals.len());
    for ((verdict, file), (number, arena)) in after.iter().zip(&files).zip(arenas.iter().enumerate()) {
        let report = verdict.accepted();
        assert_eq!(report.head, *arena, "{}", file.display());
        assert_eq!(report.outputs, before[number / 3].accepted().outputs, "{}", file.display());
    }
}

#[test]
fn models_with_loops_are_verified_by_running_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(python) = serenity_judges::python() else { return };
    for Looped { original, file, .. } in looped(folder.path()) {
        let options = VerifyOptions { python: Some(python.clone()), ..VerifyOptions::default() };
        let verification = verify(original.to_str().unwrap(), file.to_str().unwrap(), &options).unwrap();
        assert!(verification.equal, "{}: {verification:?}", original.display());
        let engines: Vec<Engine> = verification.comparisons.iter().map(|one| one.engine).collect();
        assert!(engines.contains(&Engine::Tflm) && engines.contains(&Engine::LiteRt), "{engines:?}");
    }
}
