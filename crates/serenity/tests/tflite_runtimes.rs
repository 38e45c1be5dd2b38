//! Judged by the outside: TensorFlow Lite for Microcontrollers and LiteRT run every model before and after.
//!
//! The models are built-in networks, exported with weights, and the collection of real ones where it is present.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

use serenity::ir::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{ModelFormat, Options, Plan, export, load, optimize_model, planned_model};
use serenity_judges::{Inputs, LiteRt, Tflm, Verdict};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Reference);

/// Small enough for seconds, and together they use every operator that the zoo lowers to.
const NETWORKS: &[&str] = &[
    "swiftnet-a",
    "swiftnet-b",
    "swiftnet-c",
    "darts-cell",
    "randwire-cifar10?nodes=10",
    "mobilenet",
    "densenet",
    "inception",
];

/// The models to judge, all of them in `folder` or in the collection.
fn models(folder: &Path) -> Vec<PathBuf> {
    let mut models = Vec::new();
    for name in NETWORKS {
        for (precision, suffix) in [(Precision::Float32, "float"), (Precision::Int8, "int8")] {
            let file = folder.join(format!("{}_{suffix}.tflite", name.replace(['?', '='], "_")));
            std::fs::write(&file, export(name, ModelFormat::TfLite, precision).unwrap().bytes).unwrap();
            models.push(file);
        }
    }
    let shared = std::env::var_os("SERENITY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    match std::fs::read_dir(shared.join("models")) {
        Err(_) => eprintln!(
            "SKIPPED: no collection of models at {}; only built-in networks are judged",
            shared.display()
        ),
        Ok(entries) => {
            let paths = entries.map(|entry| entry.unwrap().path());
            let mut found: Vec<PathBuf> =
                paths.filter(|path| path.extension().is_some_and(|e| e == "tflite")).collect();
            found.sort();
            models.extend(found);
        }
    }
    models
}

/// Optimises every model for `runtime` and writes the results.
fn optimized(models: &[PathBuf], runtime: MemoryModel, folder: &Path) -> Vec<(PathBuf, Plan)> {
    let options = Options { model: runtime, ..Options::default() };
    let one = |path: &PathBuf| {
        let input = load(path.to_str().unwrap()).unwrap();
        let plan = optimize_model(&input.graphs, &options).unwrap();
        let after = folder.join(format!("after_{}", path.file_name().unwrap().to_str().unwrap()));
        std::fs::write(&after, planned_model(&input, &plan).unwrap()).unwrap();
        (after, plan)
    };
    models.iter().map(one).collect()
}

/// Both verdicts of one model, if the runtime takes it. It takes both or neither.
fn both<'a, T>(name: &str, before: &'a Verdict<T>, after: &'a Verdict<T>) -> Option<(&'a T, &'a T)> {
    match (before, after) {
        (Verdict::Accepted(before), Verdict::Accepted(after)) => Some((before, after)),
        (Verdict::Refused(_), Verdict::Refused(_)) => None,
        (Verdict::Accepted(_), Verdict::Refused(reason)) => panic!("{name} is refused after: {reason}"),
        (Verdict::Refused(reason), Verdict::Accepted(_)) => panic!("{name} is refused before: {reason}"),
    }
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn tflm_needs_what_we_predict_and_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let results = optimized(&models, TFLM, folder.path());
    let inputs = Inputs { runs: 2, seed: 1 };
    let Some(before) = serenity_judges::tflm(&models, &inputs) else { return };
    let paths: Vec<&PathBuf> = results.iter().map(|(path, _)| path).collect();
    let after = serenity_judges::tflm(&paths, &inputs).unwrap();
    let mut faults = Vec::new();
    for ((model, (_, plan)), (before, after)) in models.iter().zip(&results).zip(before.iter().zip(&after)) {
        let name = name(model);
        let Some((before, after)): Option<(&Tflm, &Tflm)> = both(&name, before, after) else {
            println!("{name}: refused by TFLM");
            continue;
        };
        println!("{name}: head {} -> {}", before.head, after.head);
        if (Some(before.head), Some(after.head)) != (plan.before.arena, plan.after.arena) {
            faults.push(format!(
                "{name}: predicted {:?} -> {:?}, seen {} -> {}",
                plan.before.arena, plan.after.arena, before.head, after.head
            ));
        }
        if before.outputs != after.outputs {
            faults.push(format!("{name}: other outputs: {:?}, {:?}", before.outputs, after.outputs));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn litert_needs_what_we_predict_and_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let results = optimized(&models, MemoryModel::Litert, folder.path());
    let inputs = Inputs::default();
    let Some(before) = serenity_judges::litert(&models, &inputs) else { return };
    let paths: Vec<&PathBuf> = results.iter().map(|(path, _)| path).collect();
    let after = serenity_judges::litert(&paths, &inputs).unwrap();
    let mut faults = Vec::new();
    for ((model, (_, plan)), (before, after)) in models.iter().zip(&results).zip(before.iter().zip(&after)) {
        let name = name(model);
        let Some((before, after)): Option<(&LiteRt, &LiteRt)> = both(&name, before, after) else {
            println!("{name}: refused by LiteRT");
            continue;
        };
        println!("{name}: arena {} -> {}", before.main.arena, after.main.arena);
        if (Some(before.main.arena), Some(after.main.arena)) != (plan.before.arena, plan.after.arena) {
            faults.push(format!(
                "{name}: predicted {:?} -> {:?}, seen {} -> {}",
                plan.before.arena, plan.after.arena, before.main.arena, after.main.arena
            ));
        }
        if before.outputs != after.outputs {
            faults.push(format!("{name}: other outputs"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
