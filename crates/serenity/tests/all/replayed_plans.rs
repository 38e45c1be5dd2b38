//! Plans for whole networks, held against replayed kernels: those that the checker sees, and every overlap that the
//! planner may choose.

use crate::common::{NETWORKS, exported};
use serenity::check::{Verdict, peak, replay};
use serenity::ir::Graph;
use serenity::pipeline::plan_graphs;
use serenity::runtimes::{Kernels, MemoryModel, overlaps};
use serenity::schedule::Algorithm;
use serenity::zoo::Precision;
use serenity::{Format, Input, Options, load};
use serenity_judges::{sample, shared_files};
use std::path::PathBuf;
use std::time::Instant;

fn built_in() -> Vec<(String, Input)> {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &&str| {
        let file = exported(name, Format::TfLite, Precision::Int8, folder.path());
        ((*name).to_owned(), load(file.to_str().unwrap()).unwrap())
    };
    NETWORKS.iter().map(read).collect()
}

fn real() -> Vec<(String, Input)> {
    let paths = shared_files("models", "tflite");
    let named = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, load(path.to_str().unwrap()).unwrap())
    };
    paths.into_iter().map(named).collect()
}

/// What the table allows, at the closest: every bit of it must be safe. How many pairs, and how many of them 16 bytes
/// closer are refused.
fn closest(name: &str, graph: &Graph, kernels: Kernels) -> (usize, usize) {
    let (mut pairs, mut refused) = (0, 0);
    for op in graph.op_ids() {
        for overlap in overlaps(graph, op, kernels) {
            // As a planner aligns them; far enough from 0 to move them closer.
            let above =
                overlap.distance + if overlap.exact { 0 } else { overlap.distance.wrapping_neg() % 16 };
            let at = |upper: u64| {
                let (input, output) = if overlap.is_backward { (16, upper) } else { (upper, 16) };
                replay(graph, op, kernels, (overlap.input, input), (overlap.output, output))
            };
            assert_eq!(at(16 + above), Verdict::Safe, "{name}, {kernels}, {}", graph.op_label(op));
            pairs += 1;
            refused += usize::from(at(above) != Verdict::Safe);
        }
    }
    (pairs, refused)
}

#[test]
fn what_the_table_allows_is_safe_in_whole_networks() {
    for (name, input) in sample(built_in().into_iter().chain(real()), 4) {
        for (set, kernels) in Kernels::all() {
            let found = input.graphs().iter().map(|graph| closest(&name, graph, kernels));
            let (pairs, refused) = found.fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1));
            println!("{name}, {set}: {pairs} pairs safe, {refused} of them refused 16 bytes closer");
        }
    }
}

/// The orders of the models as they are: what matters here are places.
#[test]
fn plans_of_whole_networks_pass() {
    let (mut planned, mut all) = (0, 0);
    for (name, input) in sample(built_in().into_iter().chain(real()), 9) {
        for (set, kernels) in Kernels::all() {
            let model = MemoryModel::Tflm(kernels);
            let options =
                Options { model, plan_arena: true, algorithm: Algorithm::File, ..Options::default() };
            let plan = plan_graphs(input.graphs(), &options).unwrap();
            let started = Instant::now();
            assert_eq!(plan.placement_faults(input.graphs()), [], "{name}, {set}");
            let places = started.elapsed();
            // What ops save while they run is found by replaying all of them.
            let started = Instant::now();
            let order = input.graphs()[0].file_order();
            peak(input.graph(), MemoryModel::TflmPlanned(kernels), &order);
            println!("{name}, {set}: places checked in {places:.1?}, peak in {:.1?}", started.elapsed());
            // A model that gains nothing is kept as it is, without a plan.
            planned += usize::from(plan.offsets.is_some());
            all += 1;
        }
    }
    println!("{planned} plans for {all} networks and sets of kernels");
    assert!(20 * planned >= all);
}
