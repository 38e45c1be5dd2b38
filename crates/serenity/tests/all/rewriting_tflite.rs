//! Rewritten `.tflite` files, judged by the runtimes: they accept them, compute the same with them, and need what was promised.

use crate::common::portable_head;
use serenity::pipeline::{plan_graphs, planned_model, possible_rewrites, rewrite};
use serenity::rewrite::Patch;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::search::Random;
use serenity::zoo::Precision;
use serenity::{Format, Input, Optimized, Options, Rewrites, export, load, optimize};
use serenity_judges::{Engine, Inputs, Rewritten, Verdict, is_slow, on_all_cores, sample, shared};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Any);

/// How far floats may be apart, for the largest output.
const ROUNDING: f64 = 1e-5;

/// Models of the collection.
const REAL: &[&str] = &[
    "densenet_2242_64_float",
    "densenet_2242_64_int8",
    "nasnet_a_n1_f192_96_float",
    "nasnet_a_n1_f192_96_int8",
    "nasnet_mobile_224_int8",
    "ultraface_rfb_320_tf",
    "microwakeword_okay_nabu",
    "deeplabv3_mnv2_dm05_pascal_quant",
    "basic_pitch_nmp",
];

/// Built-in networks.
const BUILT_IN: &[&str] = &[
    "swiftnet-a",
    "swiftnet-b",
    "swiftnet-c",
    "darts-cell",
    "darts-cifar?layers=4&channels=8",
    "nasnet-cifar?cells=1&filters=16",
    "randwire-cifar10?nodes=10&channels=16",
    "densenet?blocks=2-3-2&resolution=32",
];

/// Those for which the best rewrites are found soon.
const SMALL_REAL: &[&str] = &["densenet_2242_64_int8", "microwakeword_okay_nabu"];
const SMALL_BUILT_IN: &[&str] =
    &["swiftnet-a", "swiftnet-b", "swiftnet-c", "darts-cell", "darts-cifar?layers=2&channels=8"];

struct Subject {
    name: String,
    path: PathBuf,
    input: Input,
}

impl Subject {
    fn new(name: &str, path: PathBuf) -> Self {
        Self { name: name.to_owned(), input: load(path.to_str().unwrap()).unwrap(), path }
    }
}

fn real(names: &[&str]) -> Vec<Subject> {
    let Some(models) = shared("models") else { return Vec::new() };
    names.iter().map(|name| Subject::new(name, models.join(format!("{name}.tflite")))).collect()
}

fn built_in(folder: &Path, names: &[&str]) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for spec in names {
        for (precision, suffix) in [(Precision::Float32, "float"), (Precision::Int8, "int8")] {
            let name = format!("{} {suffix}", spec.split('?').next().unwrap());
            let path = folder.join(format!("{name}.tflite"));
            std::fs::write(&path, export(spec, Format::TfLite, precision).unwrap().bytes).unwrap();
            subjects.push(Subject::new(&name, path));
        }
    }
    subjects
}

/// A model before and after.
struct Pair {
    name: String,
    before: PathBuf,
    after: PathBuf,
    /// Must every bit be the same?
    exact: bool,
}

/// What all runtimes must say of rewritten models.
#[derive(Default)]
struct Pairs(Vec<Pair>);

impl Pairs {
    /// Rewrites a model by these patches.
    fn add(&mut self, folder: &Path, subject: &Subject, what: &str, patches: &[Patch]) {
        let new = rewrite(&subject.input, patches, TFLM).unwrap_or_else(|e| panic!("{}: {e}", subject.name));
        let (old, new) = (subject.input.file.bytes(), new.file.bytes());
        let name = format!("{}, {what}", subject.name);
        println!("{name}: {} rewrites, {} bytes + {}", patches.len(), old.len(), new.len() - old.len());
        let after = folder.join(format!("after {}.tflite", self.0.len()));
        std::fs::write(&after, new).unwrap();
        let exact = patches.iter().all(|patch| patch.exact);
        self.0.push(Pair { name, before: subject.path.clone(), after, exact });
    }

    /// `demands_bits`: must exact rewrites leave every bit as it is in this runtime?
    fn judge(&self, engine: Engine, demands_bits: bool) {
        let before: Vec<&PathBuf> = self.0.iter().map(|pair| &pair.before).collect();
        let after: Vec<&PathBuf> = self.0.iter().map(|pair| &pair.after).collect();
        let inputs = Inputs { runs: 1, seed: 5 };
        let Some(verdicts) = serenity_judges::rewritten_tflite(engine, &before, &after, &inputs) else {
            return;
        };
        let mut faults = Vec::new();
        for (pair, verdict) in self.0.iter().zip(verdicts) {
            let name = &pair.name;
            match verdict {
                Verdict::Refused(reason) => faults.push(format!("{name}: refused: {reason}")),
                Verdict::Accepted(Rewritten::NotBefore(reason)) => {
                    println!("{engine:?} refuses {name} as it is: {reason}");
                }
                Verdict::Accepted(Rewritten::Compared { across, identical }) => {
                    let apart = across.difference / across.largest.max(f64::MIN_POSITIVE);
                    println!("{engine:?}, {name}: exact {}, identical {identical}, {apart:.2e}", pair.exact);
                    if (pair.exact && demands_bits && !identical) || apart > ROUNDING {
                        faults.push(format!("{name}: {across:?}, exact: {}", pair.exact));
                    }
                }
            }
        }
        assert!(faults.is_empty(), "{engine:?}:\n{}", faults.join("\n"));
    }
}

#[test]
fn all_rewrites_at_once_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = Pairs::default();
    for subject in sample(real(REAL).iter().chain(&built_in(folder.path(), BUILT_IN)), 5) {
        let patches = possible_rewrites(&subject.input, TFLM, Rewrites::All);
        if patches.is_empty() {
            println!("{}: nothing to rewrite", subject.name);
            continue;
        }
        pairs.add(folder.path(), subject, "all", &patches);
    }
    pairs.judge(Engine::Tflm, true);
    pairs.judge(Engine::LiteRtReference, true);
    // XNNPACK has other kernels for other numbers of channels.
    pairs.judge(Engine::LiteRt, false);
    let files: Vec<PathBuf> = pairs.0.into_iter().map(|pair| pair.after).collect();
    assert_tails_are_predicted(&files);
}

/// What TFLM keeps for each operator and tensor is what we predict.
fn assert_tails_are_predicted(files: &[PathBuf]) {
    let Some(verdicts) = serenity_judges::tflm(files, &Inputs { runs: 0, seed: 1 }) else { return };
    for (file, verdict) in files.iter().zip(verdicts) {
        let Verdict::Accepted(seen) = verdict else { continue };
        let input = load(file.to_str().unwrap()).unwrap();
        let tail = input.tail(MemoryModel::Tflm(Kernels::Reference)).unwrap();
        assert_eq!((tail.x86_64, tail.unknown_kernels), (seen.tail, 0), "{}", file.display());
    }
}

#[test]
fn rules_alone_and_random_sets_compute_the_same() {
    let mut random = Random(7);
    let mut below = |bound: usize| random.index(bound);
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = Pairs::default();
    let real = real(&["densenet_2242_64_float", "densenet_2242_64_int8", "nasnet_a_n1_f192_96_int8"]);
    let built_in =
        built_in(folder.path(), &["swiftnet-c", "darts-cell", "randwire-cifar10?nodes=8&channels=8"]);
    for subject in sample(real.iter().chain(&built_in), 3) {
        let patches = possible_rewrites(&subject.input, TFLM, Rewrites::All);
        for rule in serenity::rewrite::rules() {
            let only: Vec<Patch> = patches.iter().filter(|p| p.rule == rule.name()).cloned().collect();
            if !only.is_empty() {
                pairs.add(folder.path(), subject, rule.name(), &only);
            }
        }
        for round in 0..3 {
            let mut some = Vec::new();
            for patch in &patches {
                if below(2) == 0 {
                    // An order that does not fit the number of terms counts as none.
                    let mut order: Vec<usize> = (0..2 + below(5)).collect();
                    for at in (1..order.len()).rev() {
                        order.swap(at, below(at + 1));
                    }
                    some.push(patch.clone().with_order(order));
                }
            }
            if !some.is_empty() {
                pairs.add(folder.path(), subject, &format!("at random {round}"), &some);
            }
        }
    }
    pairs.judge(Engine::LiteRtReference, true);
    pairs.judge(Engine::LiteRt, false);
    pairs.judge(Engine::Tflm, true);
}

/// What is chosen for a runtime: the models for which something is, and what the arena is to be then, with portable kernels.
fn chosen(folder: &Path, subjects: &[Subject], model: MemoryModel) -> (Pairs, Vec<u64>) {
    let options = Options { model, plan_arena: model.kernels().is_some(), ..Options::default() };
    let found = on_all_cores(subjects, |subject| {
        let name = &subject.name;
        let order_only = plan_graphs(subject.input.graphs(), &options).unwrap();
        let Optimized { model: new, plan, .. } = optimize(&subject.input, &options).unwrap();
        let [before, ordered] = [order_only.before, order_only.after].map(|footprint| footprint.needs());
        let rewritten = plan.after.needs();
        println!("{model:?} | {name} | {before} | {ordered} | {rewritten}");
        if plan.rewrites.is_empty() {
            return None;
        }
        assert!(rewritten < ordered, "{name}");
        let after = folder.join(format!("{name} for {model:?}.tflite"));
        std::fs::write(&after, planned_model(&new, &plan).unwrap()).unwrap();
        // A second time there is mostly nothing left to do. The search is no proof, so where it starts from matters;
        // but it never does harm.
        let again = optimize(&load(after.to_str().unwrap()).unwrap(), &options).unwrap().plan;
        let has_more = !again.rewrites.is_empty();
        assert!(again.after.needs() <= rewritten, "{name}");
        assert_eq!(has_more, again.after.needs() < rewritten, "{name}: {:?}", again.rewrites);
        if has_more {
            println!("{model:?} | {name} | a second time: {}", again.after.needs());
        }
        let exact = plan.rewrites.iter().all(|rewrite| rewrite.exact);
        let arena = portable_head(&new, &plan).unwrap_or(rewritten);
        Some((Pair { name: name.clone(), before: subject.path.clone(), after, exact }, arena))
    });
    let (pairs, arenas) = found.into_iter().flatten().unzip();
    (Pairs(pairs), arenas)
}

fn assert_tflm_needs_what_plans_say(folder: &Path, subjects: &[Subject]) {
    for kernels in [Kernels::Any, Kernels::Reference] {
        let (pairs, arenas) = chosen(folder, subjects, MemoryModel::Tflm(kernels));
        let files: Vec<PathBuf> = pairs.0.iter().map(|pair| pair.after.clone()).collect();
        let Some(verdicts) = serenity_judges::tflm(&files, &Inputs { runs: 0, seed: 1 }) else { return };
        for ((pair, arena), verdict) in pairs.0.iter().zip(arenas).zip(verdicts) {
            assert_eq!(verdict.accepted().head, arena, "{}, {kernels}", pair.name);
        }
        assert_tails_are_predicted(&files);
        pairs.judge(Engine::Tflm, true);
    }
}

fn assert_litert_needs_what_plans_say(folder: &Path, subjects: &[Subject]) {
    let (pairs, arenas) = chosen(folder, subjects, MemoryModel::Litert);
    let files: Vec<&PathBuf> = pairs.0.iter().map(|pair| &pair.after).collect();
    let Some(verdicts) = serenity_judges::litert(&files, &Inputs { runs: 1, seed: 1 }) else { return };
    for ((pair, arena), verdict) in pairs.0.iter().zip(arenas).zip(verdicts) {
        assert_eq!(verdict.accepted().main.arena, arena, "{}", pair.name);
    }
    pairs.judge(Engine::LiteRtReference, true);
}

#[test]
fn runtimes_need_what_the_plans_of_rewritten_models_say() {
    let folder = tempfile::tempdir().unwrap();
    let (models, networks) =
        if is_slow() { (REAL, BUILT_IN) } else { (&SMALL_REAL[..1], &SMALL_BUILT_IN[1..2]) };
    let mut subjects = real(models);
    subjects.extend(built_in(folder.path(), networks));
    assert_tflm_needs_what_plans_say(folder.path(), &subjects);
    assert_litert_needs_what_plans_say(folder.path(), &subjects);
}
