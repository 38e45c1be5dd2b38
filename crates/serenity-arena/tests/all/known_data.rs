//! Figures on data that is not part of the project: the hard instances of `minimalloc`, and the lifetimes of real networks.
//!
//! `SERENITY_SHARED` names the folder, or it lies in `../shared` beside the repository; without it these tests are
//! skipped, and say so.

use crate::common::assert_valid;
use serde_json::Value;
use serenity_arena::{Buffer, Options, Problem, Proof, csv, place};
use serenity_judges::shared_files;
use serenity_search::Random;
use std::time::Duration;

/// Generous: tests run without optimisation, and beside others.
const PATIENCE: Duration = Duration::from_secs(120);

fn options() -> Options {
    let mut options = Options::default();
    options.limits = options.limits.within(PATIENCE);
    options
}

/// Backwards in time and in another order: not the same problem to a search.
fn mirrored_and_shuffled(buffers: &[Buffer]) -> Vec<Buffer> {
    let mut numbers = Random(7);
    let mut buffers: Vec<Buffer> = buffers.iter().map(|b| Buffer::new(b.size, !b.upper..!b.lower)).collect();
    for index in (1..buffers.len()).rev() {
        buffers.swap(index, numbers.below(index as u64 + 1) as usize);
    }
    buffers
}

#[test]
fn the_instances_of_minimalloc_fit_their_capacity() {
    let capacity = 1_048_576;
    for path in shared_files("arena", "csv") {
        let buffers = csv::read(&std::fs::read_to_string(&path).unwrap()).unwrap().buffers;
        for buffers in [mirrored_and_shuffled(&buffers), buffers] {
            let problem = Problem::new(buffers, 1).unwrap();
            let placement = place(&problem, &Options { capacity: Some(capacity), ..options() });
            assert_valid(&problem, &placement);
            assert!(placement.height <= capacity, "{} needs {}", path.display(), placement.height);
        }
    }
}

/// The optimum of each instance is the most that is alive at once; for these two, only a beam finds it.
#[test]
fn the_tightest_instances_of_minimalloc_reach_their_bound() {
    let least = [("D.1048576.csv", 986_112), ("J.1048576.csv", 989_184)];
    for path in shared_files("arena", "csv") {
        let Some(&(_, least)) = least.iter().find(|(name, _)| path.ends_with(name)) else { continue };
        let buffers = csv::read(&std::fs::read_to_string(&path).unwrap()).unwrap().buffers;
        for buffers in [mirrored_and_shuffled(&buffers), buffers] {
            let problem = Problem::new(buffers, 1).unwrap();
            let options = options();
            // The effort of `serenity place`.
            let limits = options.limits.working(100_000_000);
            let placement = place(&problem, &Options { limits, ..options });
            assert_valid(&problem, &placement);
            assert_eq!((placement.height, placement.proof), (least, Proof::Optimal), "{}", path.display());
        }
    }
}

/// In the order of the file: from the op that writes a tensor to the last one that reads it.
fn lifetimes(graph: &Value) -> Vec<Buffer> {
    let ids = |value: &Value, field: &str| -> Vec<usize> {
        value[field].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as usize).collect()
    };
    let tensors = graph["tensors"].as_array().unwrap();
    let ops = graph["ops"].as_array().unwrap();
    let mut lives: Vec<Option<(i64, i64)>> = vec![None; tensors.len()];
    for (step, op) in ops.iter().enumerate() {
        let step = i64::try_from(step).unwrap();
        for tensor in ids(op, "outputs") {
            lives[tensor] = Some((step, step));
        }
        for tensor in ids(op, "inputs") {
            lives[tensor].get_or_insert((0, step)).1 = step;
        }
    }
    for tensor in ids(graph, "outputs") {
        let end = i64::try_from(ops.len()).unwrap() - 1;
        lives[tensor].get_or_insert((0, end)).1 = end;
    }
    let bytes = tensors.iter().map(|tensor| tensor["bytes"].as_u64().unwrap());
    lives
        .iter()
        .zip(bytes)
        .filter_map(|(life, bytes)| life.map(|(a, b)| Buffer::new(bytes, a..b + 1)))
        .collect()
}

#[test]
fn networks_need_no_more_than_is_alive() {
    for path in shared_files("graphs", "json") {
        let graph: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        if graph.get("ops").is_none() {
            continue;
        }
        for alignment in [16, 64] {
            let rounded = |buffer: Buffer| Buffer { size: buffer.size.next_multiple_of(alignment), ..buffer };
            let buffers: Vec<Buffer> = lifetimes(&graph).into_iter().map(rounded).collect();
            let alive = |step| {
                buffers.iter().filter(|b| b.lower <= step && step < b.upper).map(|b| b.size).sum::<u64>()
            };
            let peak = buffers.iter().map(|buffer| alive(buffer.lower)).max().unwrap_or(0);
            let problem = Problem::new(buffers, alignment).unwrap();
            let placement = place(&problem, &options());
            assert_valid(&problem, &placement);
            assert_eq!((placement.height, placement.proof), (peak, Proof::Optimal), "{}", path.display());
        }
    }
}
