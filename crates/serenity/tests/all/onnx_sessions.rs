//! Fast sessions of ONNX Runtime: what we predict is what it asks for, never more than a default session, with the same outputs.

use crate::common;
use serenity::pipeline::Fast;
use serenity::plan_check::CheckOptions;
use serenity::runtimes::{MemoryModel, OrtSetup};
use serenity::search::Limits;
use serenity::zoo::Precision;
use serenity::{
    Format, Options, Plan, PlanFile, ReadOptions, Rewrites, check_plan, load, load_with, optimize,
};
use serenity_judges::{Inputs, Sessions, Verdict, network, python, sessions, shared_files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// By name, shapes of inputs.
type Shapes = &'static [(&'static str, &'static [u64])];

/// A model, and the shapes of its inputs that are open.
struct Given {
    path: PathBuf,
    shapes: BTreeMap<String, Vec<u64>>,
}

impl Given {
    fn of(path: PathBuf, shapes: &[(&str, &[u64])]) -> Self {
        let shapes = shapes.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect();
        Self { path, shapes }
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap().to_string_lossy().into_owned()
    }

    /// As the judge takes them.
    fn shapes(&self) -> String {
        let shape = |(name, shape): (&String, &Vec<u64>)| {
            let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
            format!("{name}={}", sizes.join(","))
        };
        self.shapes.iter().map(shape).collect::<Vec<_>>().join(" ")
    }
}

/// A file made for a fast session, the plan for it, and how long it took to make.
struct Made {
    path: PathBuf,
    plan: Plan,
    elapsed: Duration,
}

fn made(given: &Given, rewrites: Rewrites, python: &Path, folder: &Path) -> Made {
    let mut how = ReadOptions::default();
    how.shapes.clone_from(&given.shapes);
    let input = load_with(given.path.to_str().unwrap(), &how).unwrap();
    let fast = Some(Fast { python: Some(python.to_owned()), is_required: true, rewrites });
    let limits = Limits::lasting(Duration::from_secs(60));
    let options = Options { fast, limits, ..Options::for_input(&input) };
    let started = Instant::now();
    let found = optimize(&input, &options).unwrap();
    let elapsed = started.elapsed();
    let path = folder.join(format!("fast_{}.onnx", given.name()));
    std::fs::write(&path, found.to_bytes().unwrap()).unwrap();
    // The plan is for the file that was written, which says itself what it was made for.
    let written = load_with(path.to_str().unwrap(), &how).unwrap();
    assert_eq!(written.default_model, MemoryModel::Ort(OrtSetup::LEAN), "{}", given.name());
    let plan = PlanFile::parse(&found.plan.to_json().to_string()).unwrap();
    let verdict = check_plan(&written, &plan, &CheckOptions::default());
    assert!(verdict.is_valid(), "{}: {:?}", given.name(), verdict.claims);
    Made { path, plan: found.plan, elapsed }
}

fn judged(given: &[Given], made: &[Made]) -> Vec<Sessions> {
    let before: Vec<&PathBuf> = given.iter().map(|given| &given.path).collect();
    let after: Vec<&PathBuf> = made.iter().map(|made| &made.path).collect();
    let shapes: Vec<String> = given.iter().map(Given::shapes).collect();
    let verdicts = sessions(&before, &after, &shapes, 0.0, &Inputs::default()).unwrap();
    verdicts.iter().map(|verdict: &Verdict<Sessions>| verdict.accepted().clone()).collect()
}

/// What is wrong with a model that keeps its outputs, in a word each.
fn faults(given: &Given, made: &Made, seen: &Sessions) -> Vec<String> {
    let predicted = made.plan.after.needs();
    let name = given.name();
    println!(
        "{name}: a default session {}, ours {} (predicted {predicted}, bound {}), {:.1} s",
        seen.default,
        seen.fast,
        made.plan.least(),
        made.elapsed.as_secs_f64()
    );
    let mut faults = Vec::new();
    if predicted != seen.fast && made.plan.counts_everything() {
        faults.push(format!("{name}: {predicted} predicted, {} asked for", seen.fast));
    }
    if seen.fast > seen.default {
        faults.push(format!("{name}: more than a default session"));
    }
    if !seen.equal {
        faults.push(format!("{name}: outputs differ by {}", seen.difference));
    }
    faults
}

#[test]
fn real_models_ask_for_what_we_predict_and_never_more_than_a_default_session() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let networks = ["darts-cell", "mobilenet"];
    let exported =
        networks.map(|name| common::exported(name, Format::Onnx, Precision::Float32, folder.path()));
    let given: Vec<Given> =
        shared_files("models", "onnx").into_iter().chain(exported).map(|path| Given::of(path, &[])).collect();
    let made: Vec<Made> =
        given.iter().map(|given| made(given, Rewrites::None, &python, folder.path())).collect();
    let seen = judged(&given, &made);
    let found: Vec<String> = (0..given.len()).flat_map(|i| faults(&given[i], &made[i], &seen[i])).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let logarithms: f64 = seen.iter().map(|seen| (seen.default as f64 / seen.fast as f64).ln()).sum();
    let mean = (logarithms / seen.len() as f64).exp();
    println!("geometric mean over {} models: {mean:.3}", seen.len());
    if seen.len() > networks.len() {
        assert!(mean >= 1.24, "{mean}");
    }
}

#[test]
fn large_networks_are_proved_with_open_sizes_and_with_fixed_ones() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let open: [(&str, Shapes); 3] = [
        ("gpt", &[("ids", &[1, 48])]),
        ("vit", &[("image", &[1, 3, 32, 32])]),
        ("unet", &[("image", &[1, 3, 32, 32])]),
    ];
    let mut given = Vec::new();
    for (name, shapes) in open {
        given.push(Given::of(network(name, false, folder.path()), &[]));
        given.push(Given::of(network(name, true, folder.path()), shapes));
    }
    let made: Vec<Made> =
        given.iter().map(|given| made(given, Rewrites::None, &python, folder.path())).collect();
    let seen = judged(&given, &made);
    let mut found: Vec<String> =
        (0..given.len()).flat_map(|i| faults(&given[i], &made[i], &seen[i])).collect();
    for (given, made) in given.iter().zip(&made) {
        let nodes = made.plan.session.as_ref().unwrap().as_ref().unwrap().nodes;
        assert!((1000..=5000).contains(&nodes), "{}: {nodes} nodes", given.name());
        if !made.plan.is_optimal() {
            found.push(format!("{}: {:?}", given.name(), made.plan.stopped()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// One byte changed in a small model can make it ask for gigabytes.
#[cfg(target_os = "linux")]
#[test]
fn what_asks_for_gigabytes_is_predicted_and_not_run() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let given = Given::of(network("unet", true, folder.path()), &[("image", &[1, 3, 8192, 8192])]);
    let plan = made(&given, Rewrites::None, &python, folder.path()).plan;
    let session = plan.session.unwrap().unwrap();
    let why = session.measured.unwrap_err();
    assert!(why.contains("allocate"), "{why}");
    assert!(plan.before.needs() > 1 << 30, "{:?}", plan.before);
}

#[test]
fn rewriting_comes_before_and_gains_more() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let is_unetpp = |path: &PathBuf| path.ends_with("smp_unetpp_mobilenetv2_128.onnx");
    let Some(path) = shared_files("models", "onnx").into_iter().find(is_unetpp) else { return };
    let given = [Given::of(path, &[])];
    let made = [made(&given[0], Rewrites::All, &python, folder.path())];
    let seen = judged(&given, &made);
    assert_eq!(made[0].plan.after.needs(), seen[0].fast);
    assert!(seen[0].fast <= 2_230_000 && seen[0].difference < 1e-4, "{:?}", seen[0]);
}

/// Models that show something: read, or refused for a true reason, and nothing false said of them.
#[test]
fn more_real_models_are_read_and_nothing_false_is_said() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let shapes = |name: &str| -> Shapes {
        match name {
            "bert_toy_optimized" => {
                &[("input_ids", &[1, 7]), ("input_mask", &[1, 7]), ("token_type_ids", &[1, 7])]
            }
            "fns-candy" => &[("inputImage", &[1, 3, 720, 720])],
            _ => &[],
        }
    };
    let read = ["bert_toy_optimized", "fns-candy", "light_squeezenet", "scrfd_500m_bnkps"];
    let given: Vec<Given> = shared_files("more-models", "onnx")
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            Given::of(path, shapes(&name))
        })
        .filter(|given| read.contains(&given.name().as_str()))
        .collect();
    let made: Vec<Made> =
        given.iter().map(|given| made(given, Rewrites::None, &python, folder.path())).collect();
    let seen = if given.is_empty() { Vec::new() } else { judged(&given, &made) };
    let found: Vec<String> = (0..given.len()).flat_map(|i| faults(&given[i], &made[i], &seen[i])).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn without_a_runtime_the_model_is_ordered_as_it_is_or_that_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = common::exported("darts-cell", Format::Onnx, Precision::Float32, folder.path());
    let input = load(path.to_str().unwrap()).unwrap();
    let python = Some(folder.path().join("no-python-here"));
    let fast = |is_required| Some(Fast { python: python.clone(), is_required, ..Fast::default() });
    let options = |fast| Options { fast, ..Options::for_input(&input) };
    let plain = optimize(&input, &options(None)).unwrap();
    let fallen_back = optimize(&input, &options(fast(false))).unwrap();
    assert!(
        matches!(&fallen_back.plan.session, Some(Err(why)) if why.to_string().contains("no-python-here"))
    );
    assert_eq!(fallen_back.to_bytes().unwrap(), plain.to_bytes().unwrap());
    let error = optimize(&input, &options(fast(true))).unwrap_err();
    assert!(error.help().unwrap().contains("pip install onnxruntime"), "{error}");
}
