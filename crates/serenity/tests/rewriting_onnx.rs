//! Rewritten `.onnx` models, judged by the outside: `onnx.checker` accepts them, and ONNX Runtime computes the same with them, in the memory
//! that was predicted.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

use serenity::ir::{MemoryModel, OrtOrder};
use serenity::rewriting::Patch;
use serenity::zoo::Precision;
use serenity::{Input, ModelFormat, Source, export, load, possible_rewrites, rewrite};
use serenity_judges::{Inputs, Verdict};
use std::path::{Path, PathBuf};

const MODEL: MemoryModel = MemoryModel::Ort(OrtOrder::Priority);

/// Networks with random weights.
const NETWORKS: &[&str] =
    &["swiftnet", "darts-cell", "darts-cifar?layers=2", "nasnet-cifar?cells=1", "randwire-cifar10?nodes=10"];

fn exported(folder: &Path) -> Vec<PathBuf> {
    let one = |name: &&str| {
        let file = folder.join(format!("{}.onnx", name.replace(['?', '='], "_")));
        std::fs::write(&file, export(name, ModelFormat::Onnx, Precision::Float32).unwrap().bytes).unwrap();
        file
    };
    NETWORKS.iter().map(one).collect()
}

/// The real models, or none with a word about it.
fn collection() -> Vec<PathBuf> {
    let shared = std::env::var_os("SERENITY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("models")) else {
        eprintln!(
            "SKIPPED: no collection of models at {}; only built-in networks are judged",
            shared.display()
        );
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "onnx")).collect();
    found.sort();
    found
}

fn read(path: &Path) -> Input {
    load(path.to_str().unwrap()).unwrap()
}

fn bytes(input: &Input) -> &[u8] {
    let Source::Onnx(model) = &input.source else { panic!("no file") };
    model.bytes()
}

/// Some of the patches of a model, made by force.
struct Forced {
    label: String,
    before: PathBuf,
    after: PathBuf,
    is_exact: bool,
}

/// The model with these patches; `None` if there are none.
fn forced(path: &Path, input: &Input, patches: &[Patch], label: &str, folder: &Path) -> Option<Forced> {
    if patches.is_empty() {
        return None;
    }
    let name = path.file_stem().unwrap().to_string_lossy();
    let rewritten = rewrite(input, patches, MODEL).unwrap_or_else(|error| panic!("{name}, {label}: {error}"));
    let after = folder.join(format!("{name}_{label}.onnx"));
    std::fs::write(&after, bytes(&rewritten)).unwrap();
    Some(Forced {
        label: format!("{name}, {label} ({})", patches.len()),
        before: path.to_owned(),
        after,
        is_exact: patches.iter().all(|patch| patch.exact),
    })
}

/// All patches of each model together, and those of each rule by themselves.
fn all_forced(models: &[PathBuf], folder: &Path) -> Vec<Forced> {
    let mut found = Vec::new();
    for path in models {
        let input = read(path);
        let patches = possible_rewrites(&input, MODEL);
        found.extend(forced(path, &input, &patches, "all", folder));
        for rule in serenity::rewriting::rules() {
            let of_rule: Vec<Patch> =
                patches.iter().filter(|patch| patch.rule == rule.name()).cloned().collect();
            if of_rule.len() < patches.len() {
                found.extend(forced(path, &input, &of_rule, rule.name(), folder));
            }
        }
    }
    found
}

#[test]
fn whatever_is_rewritten_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = [exported(folder.path()), collection()].concat();
    let forced = all_forced(&models, folder.path());
    let (before, after): (Vec<&PathBuf>, Vec<&PathBuf>) =
        forced.iter().map(|forced| (&forced.before, &forced.after)).unzip();
    let Some(verdicts) = serenity_judges::rewritten(&before, &after, &Inputs::default()) else { return };
    let mut faults = Vec::new();
    for (forced, verdict) in forced.iter().zip(&verdicts) {
        let found = match verdict {
            Verdict::Accepted(found) => found,
            Verdict::Refused(reason) => {
                faults.push(format!("{}: {reason}", forced.label));
                continue;
            }
        };
        // Relative to the largest output: sums of many terms in another order.
        let most = if forced.is_exact { 0.0 } else { 1e-5 * found.largest };
        println!("{}: {:e} apart, the largest is {}", forced.label, found.difference, found.largest);
        if found.difference > most {
            faults
                .push(format!("{}: {:e} apart, exact: {}", forced.label, found.difference, forced.is_exact));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
