//! Off-chip traffic of the networks of the paper.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serenity::ir::{Graph, MemoryModel};
use serenity::off_chip::{Grain, Traffic, traffic};
use serenity::scheduling::Algorithm;
use serenity::{Objective, Options, TrafficOptions, TrafficPlan, least_traffic, schedule, zoo};

const ON_CHIP: u64 = 256 << 10;

/// The paper's comparison: Kahn's order with concatenations that copy, and the order of least peak with ones that do not.
fn paper_pair(graph: &Graph, on_chip: u64) -> (Traffic, Traffic) {
    let side = |model, algorithm| {
        let order = schedule(graph, &Options { model, algorithm, ..Options::default() }).unwrap().order;
        traffic(graph, model, &order, on_chip, Grain::Page).unwrap()
    };
    (side(MemoryModel::Plain, Algorithm::Kahn), side(MemoryModel::Paper, Algorithm::Exact))
}

#[test]
fn the_paper_pairs() {
    for name in ["darts-cell", "swiftnet-a", "swiftnet-b", "swiftnet-c", "randwire-cifar10", "swiftnet"] {
        let graph = zoo::build(name).unwrap();
        for kib in [32, 64, 128, 256, 512] {
            let (b, a) = paper_pair(&graph, kib << 10);
            println!(
                "{name} {kib}: belady {} -> {}; best {} -> {} bounds {} {}",
                b.belady.bytes(),
                a.belady.bytes(),
                b.best.bytes(),
                a.best.bytes(),
                b.bound,
                a.bound
            );
        }
    }
}

fn plan(name: &str, sizes: &[u64], grain: Grain, objective: Objective) -> TrafficPlan {
    let graph = zoo::build(name).unwrap();
    let options = TrafficOptions { model: MemoryModel::Paper, grain, objective, ..TrafficOptions::default() };
    least_traffic(&graph, sizes, &options).unwrap()
}

#[test]
fn searched_by_traffic() {
    for name in [
        "darts-cell",
        "swiftnet-a",
        "swiftnet-b",
        "swiftnet-c",
        "randwire-cifar10",
        "swiftnet",
        "nasnet-cifar",
    ] {
        for grain in [Grain::Tensor, Grain::Page] {
            let t = std::time::Instant::now();
            let found = plan(name, &[32_000, 64_000, 128_000, 256_000, 512_000], grain, Objective::Traffic);
            println!("{name} {grain} {:?} all={}", t.elapsed(), found.tried_all_orders);
            for s in &found.sizes {
                println!(
                    "   {:>8}: before {:>8} (belady {}) peak {:>8} after {:>8} (belady {}) bound {:>8} all {:>8} over {}",
                    s.after.on_chip,
                    s.before.best.bytes(),
                    s.before.belady.bytes(),
                    s.least_peak.best.bytes(),
                    s.after.best.bytes(),
                    s.after.belady.bytes(),
                    s.after.bound,
                    s.bound_of_all_orders,
                    s.after.oversize_ops.len()
                );
            }
        }
    }
}
