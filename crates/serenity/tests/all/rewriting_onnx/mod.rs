//! Rewritten `.onnx` models, judged by the outside: `onnx.checker` accepts them, and ONNX Runtime computes the same
//! with them, in the memory that was predicted.

mod chosen;
mod operators;
mod refused;
#[path = "../../../../serenity-onnx/tests/all/wire/mod.rs"]
mod wire;
use crate::common;
use serenity::pipeline::{possible_rewrites, rewrite};
use serenity::rewrite::Patch;
use serenity::runtimes::{MemoryModel, OrtSetup};
use serenity::zoo::Precision;
use serenity::{Format, Input, Rewrites, load};
use serenity_judges::{Inputs, Verdict, sample, shared_files};
use std::path::{Path, PathBuf};

const MODEL: MemoryModel = MemoryModel::Ort(OrtSetup::PLAIN);

/// Networks with random weights.
const NETWORKS: &[&str] =
    &["swiftnet", "darts-cell", "darts-cifar?layers=2", "nasnet-cifar?cells=1", "randwire-cifar10?nodes=10"];

fn exported(folder: &Path) -> Vec<PathBuf> {
    let file = |name: &&str| common::exported(name, Format::Onnx, Precision::Float32, folder);
    NETWORKS.iter().map(file).collect()
}

/// The real models, or none with a word about it.
fn collection() -> Vec<PathBuf> {
    shared_files("models", "onnx")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Input {
    load(path.to_str().unwrap()).unwrap()
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
    let name = stem(path);
    let rewritten = rewrite(input, patches, MODEL).unwrap_or_else(|error| panic!("{name}, {label}: {error}"));
    let after = folder.join(format!("{name}_{label}.onnx"));
    std::fs::write(&after, rewritten.file.bytes()).unwrap();
    Some(Forced {
        label: format!("{name}, {label} ({})", patches.len()),
        before: path.to_owned(),
        after,
        is_exact: patches.iter().all(|patch| patch.exact),
    })
}

/// All patches of each model together, those of each rule by themselves, and whatever can be done to what came out.
fn all_forced(models: &[PathBuf], folder: &Path) -> Vec<Forced> {
    let mut found = Vec::new();
    for path in models {
        let input = read(path);
        let patches = possible_rewrites(&input, MODEL, Rewrites::All);
        let Some(all) = forced(path, &input, &patches, "all", folder) else { continue };
        let again = read(&all.after);
        found.extend(forced(
            &all.after,
            &again,
            &possible_rewrites(&again, MODEL, Rewrites::All),
            "again",
            folder,
        ));
        found.push(all);
        for rule in serenity::rewrite::rules() {
            let of_rule: Vec<Patch> =
                patches.iter().filter(|patch| patch.rule == rule.name()).cloned().collect();
            if of_rule.len() < patches.len() {
                found.extend(forced(path, &input, &of_rule, rule.name(), folder));
            }
        }
    }
    found
}

/// ONNX Runtime must compute the same with each pair of models: bit for bit if all patches are exact, otherwise up to
/// rounding, relative to the largest output.
fn assert_same_outputs(forced: &[Forced]) {
    let (before, after): (Vec<&PathBuf>, Vec<&PathBuf>) =
        forced.iter().map(|forced| (&forced.before, &forced.after)).unzip();
    let Some(verdicts) = serenity_judges::rewritten(&before, &after, &Inputs::default()) else { return };
    let mut faults = Vec::new();
    for (Forced { label, is_exact, .. }, verdict) in forced.iter().zip(&verdicts) {
        match verdict {
            Verdict::Accepted(found) => {
                println!("{label}: {:e} apart, the largest is {}", found.difference, found.largest);
                let most = if *is_exact { 0.0 } else { 1e-5 * found.largest };
                if found.difference > most || found.largest == 0.0 {
                    faults.push(format!("{label}: {found:?}, exact: {is_exact}"));
                }
            }
            Verdict::Refused(reason) => faults.push(format!("{label}: {reason}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The negative control: another network is not the same.
#[test]
fn the_judge_tells_networks_apart() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [1, 2].map(|seed| {
        let name = format!("randwire-cifar10?nodes=10&seed={seed}");
        crate::common::exported(&name, Format::Onnx, Precision::Float32, folder.path())
    });
    let Some(verdicts) = serenity_judges::rewritten(&[one], &[other], &Inputs::default()) else { return };
    let found = verdicts[0].accepted();
    assert!(found.difference > 1e-3 * found.largest, "{found:?}");
}

#[test]
fn whatever_is_rewritten_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let models = sample([exported(folder.path()), collection()].concat(), 3);
    assert_same_outputs(&all_forced(&models, folder.path()));
}
