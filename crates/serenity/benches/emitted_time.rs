//! How long emitted C takes beside TensorFlow Lite for Microcontrollers with its portable kernels, on this machine.
//!
//! `cargo bench --bench emitted_time -p serenity-ml` measures models of the collection (`SERENITY_SHARED`, or
//! `../shared` beside the project), compiled by `cc -O2`, with loops and without. The least time of each counts. The
//! ratio is what to look at: both run on the same machine, one after the other.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use serenity::code::emit_c;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{Loops, Options, load, optimize};
use serenity_judges::{Inputs, Verdict, shared, slower};
use std::path::Path;
use std::process::Command;

const MODELS: &[&str] = &[
    "mlperf_tiny_kws_int8",
    "mlperf_tiny_resnet8_int8",
    "mlperf_tiny_vww_96_int8",
    "mobilenet_v2_035_96_int8",
];

/// Runs a model some times and prints the least seconds that a run took.
const TIMING: &str = r#"
#define _POSIX_C_SOURCE 199309L
#include "model.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(void)
{
    double least = 1e9;
    for (int run = 0; run < 30; ++run) {
        struct timespec from, to;
        memset(net_arena, run, sizeof net_arena);
        clock_gettime(CLOCK_MONOTONIC, &from);
        net_invoke();
        clock_gettime(CLOCK_MONOTONIC, &to);
        double took = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        least = took < least ? took : least;
    }
    printf("%.9f", least);
}
"#;

fn main() {
    let Some(collection) = shared("models") else { return };
    println!(
        "{:<28} {:>9} {:>9} {:>6} {:>9} {:>6}",
        "model", "TFLM ms", "C ms", "ratio", "loops ms", "ratio"
    );
    for name in MODELS {
        let model = collection.join(format!("{name}.tflite"));
        let Some(verdicts) = slower(&[&model], &[&model], &Inputs::default()) else { return };
        let Verdict::Accepted(took) = &verdicts[0] else { continue };
        let tflm = took.before.min(took.after);
        let [flat, looped] = [None, Some(Loops::default())].map(|loops| seconds(&model, loops));
        println!(
            "{name:<28} {:>9.2} {:>9.2} {:>6.2} {:>9.2} {:>6.2}",
            tflm * 1e3,
            flat * 1e3,
            flat / tflm,
            looped * 1e3,
            looped / tflm
        );
    }
}

/// What a run of its C takes.
fn seconds(model: &Path, loops: Option<Loops>) -> f64 {
    let folder = tempfile::tempdir().expect("a folder for code");
    let input = load(&model.to_string_lossy()).expect("a model");
    let options = Options { model: MemoryModel::Tflm(Kernels::Emitted), loops, ..Options::for_input(&input) };
    let found = optimize(&input, &options).expect("a plan");
    let code = emit_c(&found.model, &found.plan, "net").expect("code");
    for (name, text) in &code.files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    std::fs::write(folder.path().join("timing.c"), TIMING).expect("a file");
    let compiled = Command::new("cc")
        .args(["-O2", "timing.c", "model.c", "kernels.c", "-lm", "-o", "timing"])
        .current_dir(folder.path())
        .status();
    assert!(compiled.expect("a compiler").success());
    let output = Command::new(folder.path().join("timing")).output().expect("a program");
    String::from_utf8_lossy(&output.stdout).parse().expect("seconds")
}
