//! How much longer models with loops take, as estimated and as TensorFlow Lite for Microcontrollers shows it on this machine.
//!
//! `cargo bench --bench loop_time -p serenity-ml` measures models of the collection (`SERENITY_SHARED`, or `../shared`
//! beside the project) and built-in networks; `… -- vww` only those whose name contains the word. Both models of a pair
//! take turns in one run, and the least CPU time of each counts.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use serenity::zoo::Precision;
use serenity::{Format, Loops, Options, export, load, optimize};
use serenity_judges::{Inputs, Verdict, shared, slower};
use std::path::{Path, PathBuf};

const COLLECTED: &[&str] = &[
    "blazeface_front_128_float",
    "blazeface_front_128_int8",
    "densenet_2242_64_int8",
    "face_landmark_192_int8",
    "hand_recrop",
    "mlperf_tiny_resnet8_float",
    "mlperf_tiny_resnet8_int8",
    "mlperf_tiny_vww_96_int8",
    "mobilenet_v2_035_96_int8",
];
const NETWORKS: &[&str] = &["swiftnet-a", "swiftnet-b", "swiftnet-c"];

fn main() {
    // Cargo itself passes `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let folder = tempfile::tempdir().expect("a folder for models");
    println!("{:<32} {:>9} {:>9} {:>9} {:>9}", "model", "ms", "measured", "estimated", "factor");
    for model in models(folder.path()) {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let Ok(input) = load(&model.to_string_lossy()) else { continue };
        let options = Options { loops: Some(Loops::default()), ..Options::for_input(&input) };
        let Ok(found) = optimize(&input, &options) else { continue };
        let (Some(loops), Ok(bytes)) = (&found.plan.loops, found.to_bytes()) else { continue };
        let looped = folder.path().join(format!("{name}.looped.tflite"));
        std::fs::write(&looped, bytes).expect("a model");
        let Some(verdicts) = slower(&[&model], &[&looped], &Inputs::default()) else { return };
        let Verdict::Accepted(took) = &verdicts[0] else { continue };
        let (is, said) = (took.after / took.before - 1.0, loops.extra_time as f64 / loops.time as f64);
        println!(
            "{name:<32} {:>9.2} {:>8.1}% {:>8.1}% {:>9.2}",
            took.before * 1e3,
            is * 100.0,
            said * 100.0,
            said / is
        );
    }
}

fn models(folder: &Path) -> Vec<PathBuf> {
    let collection = shared("models");
    let collected =
        COLLECTED.iter().filter_map(|name| Some(collection.as_ref()?.join(format!("{name}.tflite"))));
    let networks = NETWORKS.iter().map(|name| {
        let path = folder.join(format!("{name}.tflite"));
        let model = export(name, Format::TfLite, Precision::Int8).expect("a built-in network");
        std::fs::write(&path, model.bytes).expect("a model");
        path
    });
    collected.chain(networks).collect()
}
