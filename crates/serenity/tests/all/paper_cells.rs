//! The paper's cells as models, judged by the runtimes: what `serenity paper` says of them is what TFLM and `LiteRT` take.

use crate::common::{exported, portable_head};
use serenity::pipeline::planned_model;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Format, Input, Loops, Optimized, Options, Rewrites, load, optimize};
use serenity_judges::{Inputs, litert, sample, tflm};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Any);

/// The cells, and how many times less `SwiftNet` must need by its row windows in int8 than by the order alone.
const CELLS: &[(&str, f64)] = &[
    ("darts-cell", 1.0),
    ("swiftnet-a?wiring=fitted", 1.2),
    ("swiftnet-a?wiring=mixed", 1.2),
    ("swiftnet-a", 1.2),
    ("swiftnet-b", 1.1),
    ("swiftnet-c", 1.1),
    ("randwire-cifar100?stage=3&seed=1", 1.0),
];

fn optimized(input: &Input, model: MemoryModel, rewrites: Rewrites, loops: Option<Loops>) -> Optimized {
    optimize(input, &Options { model, rewrites, loops, ..Options::for_input(input) }).unwrap()
}

fn written(found: &Optimized, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.tflite"));
    std::fs::write(&path, planned_model(&found.model, &found.plan).unwrap()).unwrap();
    path
}

#[test]
fn cells_in_int8_need_less_on_tflm_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (index, &(name, least)) in sample(CELLS.iter(), 2).into_iter().enumerate() {
        let original = exported(name, Format::TfLite, Precision::Int8, folder.path());
        let input = load(original.to_str().unwrap()).unwrap();
        let ordered = optimized(&input, TFLM, Rewrites::None, None);
        let looped = optimized(&input, TFLM, Rewrites::Exact, Some(Loops::default()));
        let gain = ordered.plan.after.needs() as f64 / looped.plan.after.needs() as f64;
        assert!(gain >= least, "{name}: {gain:.2}");
        let files = [
            original,
            written(&ordered, folder.path(), &format!("{index}-ordered")),
            written(&looped, folder.path(), &format!("{index}-looped")),
        ];
        let Some(verdicts) = tflm(&files, &Inputs { runs: 2, seed: 1 }) else { return };
        let seen: Vec<_> = verdicts.iter().map(|verdict| verdict.accepted()).collect();
        // As it came it is said to need what the hungriest kernels take.
        assert!(Some(seen[0].head) <= ordered.plan.before.arena, "{name}");
        for (seen, found) in seen[1..].iter().zip([&ordered, &looped]) {
            assert_eq!(Some(seen.head), portable_head(&found.model, &found.plan), "{name}");
        }
        assert!(seen[0].outputs.is_ok() && seen.iter().all(|one| one.outputs == seen[0].outputs), "{name}");
    }
}

#[test]
fn cells_need_on_litert_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (index, &(name, _)) in CELLS.iter().enumerate() {
        for precision in [Precision::Int8, Precision::Float32] {
            let original = exported(name, Format::TfLite, precision, folder.path());
            let input = load(original.to_str().unwrap()).unwrap();
            let [ordered, ruled] = [Rewrites::None, Rewrites::Paper]
                .map(|rewrites| optimized(&input, MemoryModel::Litert, rewrites, None));
            let label = |what: &str| format!("{index}-{precision:?}-{what}");
            let files = [
                original,
                written(&ordered, folder.path(), &label("ordered")),
                written(&ruled, folder.path(), &label("ruled")),
            ];
            let Some(verdicts) = litert(&files, &Inputs::default()) else { return };
            let seen: Vec<u64> = verdicts.into_iter().map(|verdict| verdict.accepted().main.arena).collect();
            let said = [ordered.plan.before, ordered.plan.after, ruled.plan.after].map(|needs| needs.needs());
            assert_eq!(seen, said, "{name}, {precision:?}");
        }
    }
}
