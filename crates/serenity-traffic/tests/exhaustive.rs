//! Bound, best plan and Belady's rule against every replacement there is, on small networks.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Streaming, least_traffic, network};
use serenity_ir::Tensor;
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::Limits;
use serenity_traffic::{Demand, Grain, PAGE, traffic};

#[test]
fn bound_optimum_best_and_belady_come_in_this_order() {
    let (mut cases, mut beaten) = (0, 0);
    for seed in 0..150 {
        let graph = network(seed, 3 + seed % 2, |draw| 1 + draw.below(9));
        let order = graph.file_order();
        for model in [MemoryModel::Plain, MemoryModel::Paper] {
            if model.lifetimes(&graph).buffers().len() > 8 {
                continue;
            }
            for on_chip in [0, 3, 7, 10, 13, 17, 22, 30] {
                let t = traffic(&graph, model, &order, on_chip, Grain::Tensor).unwrap();
                let least =
                    |streaming| least_traffic(&graph, model, &order, on_chip, Grain::Tensor, streaming);
                let (at_will, if_it_must) = (least(Streaming::AtWill), least(Streaming::IfItMust));
                let case = format!("seed {seed}, {model}, {on_chip} bytes, {t:?}");
                assert!(t.bound <= at_will, "{case}: {at_will} is possible");
                assert_eq!(t.best.bytes(), at_will, "{case}");
                assert!(at_will <= if_it_must && if_it_must <= t.belady.bytes(), "{case}: {if_it_must}");
                assert!(t.is_optimal, "{case}");
                cases += 1;
                beaten += usize::from(at_will < t.belady.bytes());
            }
        }
    }
    println!("{cases} cases, Belady's rule beaten in {beaten}");
    assert!(cases > 1000 && beaten > 0);
}

#[test]
fn pages_too() {
    let mut cases = 0;
    for seed in 0..120 {
        let graph = network(seed, 3 + seed % 2, |draw| 1 + draw.below(2 * PAGE));
        let order = graph.file_order();
        let pages: u64 = graph.tensors().iter().map(|t: &Tensor| t.bytes.div_ceil(PAGE)).sum();
        if pages > 9 {
            continue;
        }
        for model in [MemoryModel::Plain, MemoryModel::Paper] {
            for on_chip in [0, PAGE - 1, PAGE, 2 * PAGE, 3 * PAGE + 5, 4 * PAGE] {
                let t = traffic(&graph, model, &order, on_chip, Grain::Page).unwrap();
                let least = least_traffic(&graph, model, &order, on_chip, Grain::Page, Streaming::AtWill);
                let case = format!("seed {seed}, {model}, {on_chip} bytes, {t:?}");
                assert!(t.bound <= least, "{case}: {least} is possible");
                assert_eq!(t.best.bytes(), least, "{case}");
                assert!(least <= t.belady.bytes(), "{case}");
                cases += 1;
            }
        }
    }
    println!("{cases} cases");
    assert!(cases > 400);
}

#[test]
fn traffic_never_rises_with_the_memory_and_ends_where_everything_fits() {
    for seed in 0..10 {
        let graph = network(seed, 25, |draw| 1 + draw.below(5000));
        let order = graph.file_order();
        for model in [MemoryModel::Plain, MemoryModel::Paper] {
            let peak = model.lifetimes(&graph).profile(&order).peak();
            let sum: u64 = graph.tensors().iter().map(|t| t.bytes).sum();
            for grain in [Grain::Tensor, Grain::Page] {
                let mut sizes: Vec<u64> =
                    (0..12).map(|i| i * peak / 10).chain([peak, sum + 1, u64::MAX]).collect();
                sizes.sort_unstable();
                let demand = Demand::new(&graph, model, &order, grain).unwrap();
                let swept = demand.sweep_within(&sizes, &Limits::default());
                for pair in swept.windows(2) {
                    assert!(pair[1].best.bytes() <= pair[0].best.bytes(), "seed {seed}: {pair:?}");
                    assert!(pair[1].bound <= pair[0].bound, "seed {seed}: {pair:?}");
                }
                for t in &swept {
                    assert!(
                        t.bound <= t.best.bytes() && t.best.bytes() <= t.belady.bytes(),
                        "seed {seed}: {t:?}"
                    );
                    assert_eq!(t.compulsory, swept[0].compulsory);
                    // Pages round up; a page a tensor is enough.
                    if t.on_chip / 2 >= peak + PAGE * 30 || (t.on_chip >= peak && grain == Grain::Tensor) {
                        assert_eq!((t.best.bytes(), t.belady.bytes()), (0, 0), "seed {seed}: {t:?}");
                        assert!(t.oversize_ops.is_empty());
                    }
                }
                // Powers of two are compared with what smaller ones give, in separate calls too.
                let alone = |size: u64| traffic(&graph, model, &order, size, grain).unwrap().best.bytes();
                let powers: Vec<u64> = (0..8).flat_map(|k| [1000 << k, 1024 << k]).map(alone).collect();
                assert!(powers.is_sorted_by(|a, b| a >= b), "seed {seed}: {powers:?}");
            }
        }
    }
}

#[test]
fn without_a_memory_everything_moves_every_time() {
    let graph = network(7, 12, |draw| 1 + draw.below(100));
    let order = graph.file_order();
    let t = traffic(&graph, MemoryModel::Plain, &order, 0, Grain::Tensor).unwrap();
    assert_eq!((t.best, t.bound), (t.belady, t.belady.bytes()));
    assert_eq!(t.oversize_ops, order);
}
