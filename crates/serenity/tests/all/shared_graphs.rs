//! The collection of graphs with known optima, where it is at hand (`SERENITY_SHARED`, or `shared` beside the checkout).

use serenity::runtimes::MemoryModel;
use serenity::schedule::{Algorithm, Limits};
use serenity::{Options, load, schedule};
use serenity_judges::{sample, shared};

struct Known {
    name: String,
    path: String,
    file_order: u64,
    kahn: u64,
    lower_bound: u64,
    optimum: u64,
    proved: bool,
}

/// The lines of OPTIMA.tsv; empty, and said plainly, if the collection is not here.
fn known_graphs() -> Vec<Known> {
    let Some(folder) = shared("graphs") else { return Vec::new() };
    let table = std::fs::read_to_string(folder.join("OPTIMA.tsv")).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse().unwrap();
        Known {
            name: fields[0].to_owned(),
            path: folder.join(format!("{}.json", fields[0])).to_str().unwrap().to_owned(),
            file_order: number(2),
            kahn: number(3),
            lower_bound: number(4),
            optimum: number(5),
            proved: fields[6] == "yes",
        }
    };
    table.lines().skip(1).map(line).collect()
}

fn peak(known: &Known, algorithm: Algorithm) -> u64 {
    let graph = load(&known.path).unwrap().graph().clone();
    schedule(&graph, &Options { algorithm, ..Options::default() }).unwrap().after.peak
}

#[test]
fn file_order_and_kahn_are_reproduced_exactly() {
    for known in known_graphs() {
        assert_eq!(peak(&known, Algorithm::File), known.file_order, "{}", known.name);
        assert_eq!(peak(&known, Algorithm::Kahn), known.kahn, "{}", known.name);
    }
}

/// With little memory, so that it ends at the same state on every machine: `serenity schedule --algorithm dp
/// --time-limit 60` goes further.
#[test]
fn dynamic_programming_reproduces_the_optima_it_reaches() {
    let mut finished = 0;
    let all = sample(known_graphs(), 9);
    for known in &all {
        let graph = load(&known.path).unwrap().graph().clone();
        let limits = Limits { memory: Some(24 << 20), ..Limits::default() };
        let options =
            Options { model: MemoryModel::Plain, algorithm: Algorithm::Dp, limits, ..Options::default() };
        let found = schedule(&graph, &options).unwrap();
        assert!(found.bound <= known.optimum, "{}: the bound {} is refuted", known.name, found.bound);
        if found.is_optimal() {
            finished += 1;
            assert!(found.after.peak >= known.lower_bound, "{}", known.name);
            if known.proved {
                assert_eq!(found.after.peak, known.optimum, "{}", known.name);
            }
        }
    }
    assert!(all.is_empty() || finished * 2 >= all.len(), "only {finished} of {} finished", all.len());
}

/// Little memory again, for the few that are beyond reach.
#[test]
fn the_exact_engine_proves_every_optimum_that_is_known() {
    for known in sample(known_graphs(), 9) {
        let graph = load(&known.path).unwrap().graph().clone();
        let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
        let found = schedule(&graph, &Options { limits, ..Options::default() }).unwrap();
        assert!(found.after.peak <= known.file_order.min(known.kahn), "{}", known.name);
        assert!(
            found.bound >= known.lower_bound.min(found.after.peak),
            "{}: a wider gap than known",
            known.name
        );
        assert!(found.bound <= known.optimum, "{}: the bound {} is refuted", known.name, found.bound);
        if known.proved {
            assert!(
                found.is_optimal(),
                "{} is not proved: {} to {}",
                known.name,
                found.bound,
                found.after.peak
            );
            assert_eq!(found.after.peak, known.optimum, "{}", known.name);
        }
    }
}
