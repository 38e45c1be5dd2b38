//! Judged by the outside: ONNX Runtime runs every model before and after, and `onnx.checker` accepts both.
//!
//! The models are built-in networks, exported with weights, and the collection of real ones where it is present.

use crate::common;
use serenity::pipeline::{plan_graphs, planned_model};
use serenity::runtimes::{MemoryModel, OrtOrder, OrtSetup};
use serenity::schedule::Limits;
use serenity::zoo::Precision;
use serenity::{Format, Input, Options, Plan, ReadOptions, export, load, load_with};
use serenity_judges::{Inputs, Ort, Verdict, sample, shared, shared_files};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Small enough for seconds, and together they use every operator that the zoo lowers to.
const NETWORKS: &[&str] =
    &["swiftnet", "darts-cell", "darts-cifar?layers=2", "randwire-cifar10?nodes=10", "mobilenet"];

/// Networks found by architecture search, for which an order is known that takes less in ONNX Runtime's own count.
const NAS: &[&str] =
    &["darts_repo_darts_v2_cifar_c16_l8", "darts_repo_nasnet_cifar_c16_l8", "nasnet_a_n1_f192_96_tf2onnx"];

/// A search that goes on longer finds better orders of the largest models; what is predicted of an order is true of any.
const LIMIT: Duration = Duration::from_secs(2);

fn exported(folder: &Path) -> Vec<PathBuf> {
    let file = |name: &&str| common::exported(name, Format::Onnx, Precision::Float32, folder);
    NETWORKS.iter().map(file).collect()
}

/// The real models, or none with a word about it.
fn collection() -> Vec<PathBuf> {
    if shared("models").is_none() {
        return Vec::new();
    }
    let found = shared_files("models", "onnx");
    assert_eq!(found.len(), 14);
    found
}

/// A model and what became of it.
struct Case {
    name: String,
    input: Input,
    plan: Plan,
    before: PathBuf,
    /// The file written; `None` if it is byte for byte the one that was read.
    after: Option<PathBuf>,
}

fn optimized(path: &Path, order: OrtOrder, folder: &Path) -> Case {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let input = load(path.to_str().unwrap()).unwrap();
    assert_eq!(input.default_model, MemoryModel::Ort(OrtSetup::PLAIN));
    let limits = Limits::lasting(LIMIT);
    let options =
        Options { model: MemoryModel::Ort(OrtSetup { order, reuse: true }), limits, ..Options::default() };
    let plan = plan_graphs(input.graphs(), &options).unwrap();
    let written = planned_model(&input, &plan).unwrap();
    let is_changed = written != std::fs::read(path).unwrap();
    assert_eq!(is_changed, plan.reorders(), "{name}");
    let after = folder.join(format!("{order}_{name}.onnx"));
    std::fs::write(&after, written).unwrap();
    Case { name, input, plan, before: path.to_owned(), after: is_changed.then_some(after) }
}

/// Did the nodes run in the order that the plan says? Nodes without a name, and those that ONNX Runtime copies, cannot
/// be told; then it is yes.
fn ran_as_planned(case: &Case, seen: &[String]) -> bool {
    let op_name = |&op: &serenity::ir::OpId| case.input.graph().op(op).name.as_str();
    let planned: Vec<&str> = case.plan.order.iter().map(op_name).collect();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let same_nodes = sorted(planned.iter().map(ToString::to_string).collect()) == sorted(seen.to_vec());
    !same_nodes || planned == seen
}

/// Everything that is wrong with one model.
fn faults(case: &Case, before: &Ort, after: &Ort) -> Vec<String> {
    let plan = &case.plan;
    let predicted = [plan.before.arena.unwrap(), plan.after.arena.unwrap()];
    println!(
        "{}: asked for {} -> {} (predicted {} -> {} without weights), in chunks {} -> {}",
        case.name,
        before.requested_peak,
        after.requested_peak,
        predicted[0],
        predicted[1],
        before.peak,
        after.peak
    );
    let mut faults = Vec::new();
    // What ONNX Runtime keeps of small and prepacked weights is there before the first node runs, whatever the order.
    let weights = before.requested_peak.checked_sub(predicted[0]);
    if weights.is_none() || weights != after.requested_peak.checked_sub(predicted[1]) {
        faults.push("another prediction than what is asked for".to_owned());
    }
    if before.outputs != after.outputs {
        faults.push("other outputs".to_owned());
    }
    if after.requested_peak > before.requested_peak {
        faults.push("more is asked for than before".to_owned());
    }
    if !ran_as_planned(case, &after.order) {
        faults.push("nodes run in another order than predicted".to_owned());
    }
    if NAS.contains(&case.name.as_str()) && plan.model == MemoryModel::Ort(OrtSetup::PLAIN) {
        let is_less = after.peak < before.peak && after.requested_peak < before.requested_peak;
        if !is_less {
            faults.push("nothing gained".to_owned());
        }
    }
    faults.into_iter().map(|fault| format!("{}: {fault}", case.name)).collect()
}

fn judge(models: &[PathBuf], order: OrtOrder, folder: &Path) {
    if serenity_judges::python().is_none() {
        return;
    }
    let cases: Vec<Case> = models.iter().map(|path| optimized(path, order, folder)).collect();
    let judged_by = match order {
        OrtOrder::Priority => serenity_judges::OrtOrder::File,
        OrtOrder::Default => serenity_judges::OrtOrder::Default,
    };
    let paths: Vec<&PathBuf> =
        cases.iter().flat_map(|c| std::iter::once(&c.before).chain(&c.after)).collect();
    let verdicts = serenity_judges::ort(judged_by, &paths, &Inputs::default()).unwrap();
    let mut verdicts = verdicts.iter().map(Verdict::accepted);
    let mut found = Vec::new();
    for case in &cases {
        let before = verdicts.next().unwrap();
        let after = if case.after.is_some() { verdicts.next().unwrap() } else { before };
        found.extend(faults(case, before, after));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn sessions_that_follow_the_file_ask_for_what_we_predict_and_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = sample([exported(folder.path()), collection()].concat(), 3);
    judge(&models, OrtOrder::Priority, folder.path());
}

/// ONNX Runtime shares less memory where it does not know shapes: those that callers give, and those that it cannot infer.
#[test]
fn sizes_that_the_runtime_does_not_know_are_predicted_too() {
    if serenity_judges::python().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let given: [(&str, &str, &[u64]); 5] = [
        ("gpt_open", "ids", &[1, 48]),
        ("unet_open", "image", &[1, 3, 32, 32]),
        ("vit_open", "image", &[1, 3, 32, 32]),
        ("fns-candy", "inputImage", &[1, 3, 720, 720]),
        ("squeezenet_tensor_input", "data", &[1, 3, 227, 227]),
    ];
    let networks = ["gpt", "unet", "vit"].map(|name| serenity_judges::network(name, true, folder.path()));
    let models = [networks.to_vec(), shared_files("more-models", "onnx")].concat();
    let (mut cases, mut paths, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for path in &models {
        let name = path.file_stem().unwrap().to_string_lossy();
        let Some((_, input, shape)) = given.iter().find(|(given, ..)| *given == name) else { continue };
        let mut how = ReadOptions::default();
        how.shapes.insert((*input).to_owned(), shape.to_vec());
        let read = load_with(path.to_str().unwrap(), &how).unwrap();
        let options = Options { limits: Limits::lasting(LIMIT), ..Options::for_input(&read) };
        let plan = plan_graphs(read.graphs(), &options).unwrap();
        let after = folder.path().join(format!("ordered_{name}.onnx"));
        std::fs::write(&after, planned_model(&read, &plan).unwrap()).unwrap();
        let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
        for (path, figure) in [(path.clone(), plan.before.arena), (after, plan.after.arena)] {
            cases.push((path.clone(), figure));
            paths.push(path);
            shapes.push(format!("{input}={}", sizes.join(",")));
        }
    }
    let order = serenity_judges::OrtOrder::File;
    let verdicts =
        serenity_judges::ort_with_shapes(order, &paths, &shapes, &Inputs::default()).unwrap_or_default();
    for ((path, predicted), verdict) in cases.iter().zip(&verdicts) {
        let seen = verdict.accepted().activations;
        println!("{}: {seen} asked for, {predicted:?} predicted", path.display());
        assert_eq!(Some(seen), *predicted, "{}", path.display());
    }
}

#[test]
fn sessions_in_default_order_ask_for_what_we_predict_and_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let is_branched = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        NAS.contains(&name) || name == "yunet_n_320_qdq_int8"
    };
    let branched: Vec<PathBuf> = collection().into_iter().filter(is_branched).collect();
    let models = [exported(folder.path()), branched].concat();
    judge(&models, OrtOrder::Default, folder.path());
}

#[test]
fn exported_networks_compute_what_they_compute_as_tflite() {
    let folder = tempfile::tempdir().unwrap();
    let models = exported(folder.path());
    for (name, path) in NETWORKS.iter().zip(&models) {
        let tflite = export(name, Format::TfLite, Precision::Float32).unwrap();
        std::fs::write(path.with_extension("tflite"), tflite.bytes).unwrap();
    }
    let Some(verdicts) = serenity_judges::across(&models, &Inputs::default()) else { return };
    for (name, verdict) in NETWORKS.iter().zip(&verdicts) {
        let found = verdict.accepted();
        println!("{name}: {:e} apart, the largest output is {}", found.difference, found.largest);
        assert!(found.difference < 1e-5 && found.largest > 0.05, "{name}: {found:?}");
    }
}
