//! Judged by the outside: TensorFlow Lite for Microcontrollers and LiteRT run every model before and after.
//!
//! The models are built-in networks, exported with weights, and the collection of real ones where it is present.

use crate::common::{NETWORKS, exported, portable_head};
use serenity::pipeline::plan_graphs;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::schedule::Limits;
use serenity::zoo::Precision;
use serenity::{Format, Options, Plan, Rewrites, inspect, load, optimize};
use serenity_judges::{Inputs, Verdict, on_all_cores, sample, shared_files};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The models to judge: those made here, in `folder`, and those of the collection.
fn models(folder: &Path) -> Vec<PathBuf> {
    let both = |name: &&str| {
        [Precision::Float32, Precision::Int8]
            .map(|precision| exported(name, Format::TfLite, precision, folder))
    };
    let mut models: Vec<PathBuf> = NETWORKS.iter().flat_map(both).collect();
    models.extend(shared_files("models", "tflite"));
    sample(models, 4)
}

/// What became of one model.
struct Optimized {
    /// Which model, by its place in the list.
    model: usize,
    how: &'static str,
    plan: Plan,
    /// The arenas before and after, as the runtime at hand makes them: TFLM with its portable kernels.
    predicted: (Option<u64>, Option<u64>),
    /// The new file; `None` if the model is kept as it is, byte for byte.
    file: Option<PathBuf>,
}

/// Optimises a model and writes the result beside the others. Where it is planned it is rewritten too, as the command
/// does by default.
fn optimized(model: usize, path: &Path, how: &'static str, options: &Options, folder: &Path) -> Optimized {
    let input = load(path.to_str().unwrap()).unwrap();
    let rewrites = if options.plan_arena { Rewrites::All } else { Rewrites::None };
    let best = optimize(&input, &Options { rewrites, ..options.clone() }).unwrap();
    let bytes = best.to_bytes().unwrap();
    let predicted = match best.plan.model.kernels() {
        Some(_) => {
            let portable = MemoryModel::Tflm(Kernels::Reference);
            let before = inspect(input.graphs(), portable, options.given_plan.as_ref()).arena;
            (before.map(|arena| arena.bytes), portable_head(&best.model, &best.plan))
        }
        None => (best.plan.before.arena, best.plan.after.arena),
    };
    let plan = best.plan;
    assert!(plan.after.needs() <= plan.before.needs(), "{}, {how}", path.display());
    let file = (bytes != std::fs::read(path).unwrap()).then(|| {
        let file = folder.join(format!("{model}_{}.tflite", how.replace(' ', "_")));
        std::fs::write(&file, &bytes).unwrap();
        file
    });
    Optimized { model, how, plan, predicted, file }
}

/// What a runtime says of a model, as far as it concerns us: the bytes of its arena, and what it computes.
struct Seen {
    arena: u64,
    outputs: Result<Vec<String>, String>,
}

/// Judges all models and what became of them, and compares with what was predicted.
fn compare(
    models: &[PathBuf],
    results: &[Optimized],
    judge: impl Fn(&[&Path]) -> Option<Vec<Verdict<Seen>>>,
) {
    let files = models.iter().chain(results.iter().filter_map(|r| r.file.as_ref()));
    let Some(mut before) = judge(&files.map(PathBuf::as_path).collect::<Vec<_>>()) else { return };
    let mut after = before.split_off(models.len()).into_iter();
    let mut faults = Vec::new();
    for result in results {
        let name = models[result.model].file_stem().unwrap().to_string_lossy().into_owned();
        let own = &before[result.model];
        let new = result.file.as_ref().map(|_| after.next().unwrap());
        let (own, new) = match (own, new.as_ref().unwrap_or(own)) {
            (Verdict::Accepted(own), Verdict::Accepted(new)) => (own, new),
            (Verdict::Refused(_), Verdict::Refused(_)) => {
                println!("{name}, {}: refused by the runtime", result.how);
                continue;
            }
            (Verdict::Accepted(_), Verdict::Refused(reason)) => {
                faults.push(format!("{name}, {}: refused after: {reason}", result.how));
                continue;
            }
            (Verdict::Refused(reason), Verdict::Accepted(_)) => {
                faults.push(format!("{name}, {}: refused before: {reason}", result.how));
                continue;
            }
        };
        println!("{name}, {}: {} -> {}", result.how, own.arena, new.arena);
        let predicted = result.predicted;
        if predicted != (Some(own.arena), Some(new.arena)) {
            faults.push(format!(
                "{name}, {}: predicted {predicted:?}, seen {} -> {}",
                result.how, own.arena, new.arena
            ));
        }
        // What rewrites change by rounding is judged with all other rewrites.
        let is_exact = result.plan.rewrites.iter().all(|rewrite| rewrite.exact);
        if is_exact && own.outputs != new.outputs {
            faults.push(format!("{name}, {}: other outputs", result.how));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn seen<T>(verdict: Verdict<T>, look: impl Fn(T) -> Seen) -> Verdict<Seen> {
    match verdict {
        Verdict::Accepted(report) => Verdict::Accepted(look(report)),
        Verdict::Refused(reason) => Verdict::Refused(reason),
    }
}

/// What is found must be as predicted, whatever it is: a search that ends early will do.
fn limits() -> Limits {
    Limits::lasting(Duration::from_secs(1))
}

#[test]
fn tflm_needs_what_we_predict_and_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let ways = [
        ("reordered", Kernels::Any, false),
        ("planned for any kernels", Kernels::Any, true),
        ("planned for reference kernels", Kernels::Reference, true),
    ];
    let cases: Vec<_> = (0..models.len()).flat_map(|index| ways.map(|way| (index, way))).collect();
    let results = on_all_cores(&cases, |&(index, (how, kernels, plan_arena))| {
        let model = MemoryModel::Tflm(kernels);
        let options = Options { model, plan_arena, limits: limits(), ..Options::default() };
        optimized(index, &models[index], how, &options, folder.path())
    });
    compare(&models, &results, |files| {
        let verdicts = serenity_judges::tflm(files, &Inputs::default())?;
        let look = |report: serenity_judges::Tflm| Seen { arena: report.head, outputs: report.outputs };
        Some(verdicts.into_iter().map(|verdict| seen(verdict, look)).collect())
    });
}

#[test]
fn litert_needs_what_we_predict_and_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let options = Options { model: MemoryModel::Litert, limits: limits(), ..Options::default() };
    let cases: Vec<(usize, &PathBuf)> = models.iter().enumerate().collect();
    let results =
        on_all_cores(&cases, |&(index, path)| optimized(index, path, "reordered", &options, folder.path()));
    compare(&models, &results, |files| {
        let verdicts = serenity_judges::litert(files, &Inputs::default())?;
        let look =
            |report: serenity_judges::LiteRt| Seen { arena: report.main.arena, outputs: Ok(report.outputs) };
        Some(verdicts.into_iter().map(|verdict| seen(verdict, look)).collect())
    });
}

/// An input says how large tensors will be. The judge's asks for nothing, and no less can be: what we call 'at least' is that.
#[test]
fn litert_needs_at_least_what_we_say_where_an_input_decides() {
    let is_it = |path: &PathBuf| path.ends_with("lt_dynamic_shapes.tflite");
    let Some(path) = shared_files("more-models", "tflite").into_iter().find(is_it) else { return };
    let input = load(path.to_str().unwrap()).unwrap();
    let options = Options { model: MemoryModel::Litert, plan_arena: false, ..Options::for_input(&input) };
    let plan = plan_graphs(input.graphs(), &options).unwrap();
    assert!(!plan.counts_everything());
    let Some(verdicts) = serenity_judges::litert(&[path], &Inputs::default()) else { return };
    let seen = verdicts[0].accepted().main.arena;
    println!("{seen} taken, at least {:?} predicted", plan.before.arena);
    assert_eq!(plan.before.arena, Some(seen));
    assert!(plan.after.needs() <= seen);
}
