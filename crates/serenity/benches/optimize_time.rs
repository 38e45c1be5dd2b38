//! What the default `optimize` takes on real models: CPU time of the whole command's work, model by model, the median
//! and the worst.
//!
//! `cargo bench --bench optimize_time -p serenity-ml` measures the collection (`SERENITY_SHARED`, or `../shared` beside
//! the project), and built-in networks where there is none; `… -- nasnet` only the models whose name contains the word.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use serenity::{Optimized, Options, load, optimize};
use std::path::PathBuf;
use std::time::Duration;

fn main() {
    // Cargo itself passes `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut times = Vec::new();
    println!("{:<48} {:>12} {:>12} {:>10}", "model", "before", "after", "CPU s");
    for source in models() {
        let name = source.rsplit('/').next().unwrap_or(&source).to_owned();
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let started = cpu_time();
        let Ok(input) = load(&source) else { continue };
        let options = Options {
            model: input.default_model,
            plan_arena: true,
            given_plan: input.plan(),
            ..Options::default()
        };
        let Ok(Optimized { plan, .. }) = optimize(&input, &options) else { continue };
        let time = cpu_time().saturating_sub(started);
        println!(
            "{name:<48} {:>12} {:>12} {:>10.2}",
            plan.before.needs(),
            plan.after.needs(),
            time.as_secs_f64()
        );
        times.push(time);
    }
    times.sort_unstable();
    if let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) {
        println!("\nmedian {:.2} s, worst {:.2} s of CPU", median.as_secs_f64(), worst.as_secs_f64());
    }
}

fn models() -> Vec<String> {
    let shared = std::env::var_os("SERENITY_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let is_model = |path: &PathBuf| path.extension().is_some_and(|e| e == "tflite" || e == "onnx");
    let files = std::fs::read_dir(shared.join("models")).into_iter().flatten().flatten();
    let mut models: Vec<String> = files
        .map(|file| file.path())
        .filter(is_model)
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    models.sort();
    if models.is_empty() {
        println!("no collection at {}: built-in networks instead", shared.display());
        models = ["swiftnet", "darts-cifar", "nasnet-cifar", "randwire-cifar10"]
            .map(|n| format!("zoo:{n}"))
            .to_vec();
    }
    models
}

/// CPU time of this process; wall-clock time where there is no such clock.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
