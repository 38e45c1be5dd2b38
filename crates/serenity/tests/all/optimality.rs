//! Optimality is a fact, not a hope: every exact algorithm against the definition, on random graphs that cover every corner.
//!
//! The definition here is the independent checker: its peak, minimised over all orders. It shares no code with the schedulers.

use crate::common::every_order;
use serenity::check;
use serenity::ir::Graph;
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::{Algorithm, StepLimit};
use serenity::{Options, schedule, zoo};
use serenity_judges::{draws, sample};

fn least_peak(graph: &Graph, model: MemoryModel) -> u64 {
    let mut least = u64::MAX;
    every_order(graph, &mut |order| least = least.min(check::peak(graph, model, order).0));
    least
}

fn options(model: MemoryModel, algorithm: Algorithm) -> Options {
    Options { model, algorithm, ..Options::default() }
}

fn assert_all_exact_algorithms_agree(seed: u64, ops: u32) {
    let graph = zoo::build(&format!("random-dag?ops={ops}&seed={seed}")).unwrap();
    for (_, model) in MemoryModel::all() {
        let least = least_peak(&graph, model);
        for (name, algorithm) in Algorithm::all() {
            let found = schedule(&graph, &options(model, algorithm)).unwrap();
            assert!(
                found.bound <= least,
                "{name} claims the bound {} on seed {seed}, {model}: {least} is possible",
                found.bound
            );
            if algorithm.is_exact() {
                assert!(found.is_optimal(), "{name} does not finish on seed {seed}, {model}");
            }
            if found.is_optimal() {
                assert_eq!(found.after.peak, least, "{name} is not optimal on seed {seed}, {model}");
            }
        }
        // The smallest step limit makes every budget time out first: the search must still arrive.
        let hasty = Options { step_limit: StepLimit::States(1), ..options(model, Algorithm::DpDivideBudget) };
        assert_eq!(schedule(&graph, &hasty).unwrap().after.peak, least, "hasty, seed {seed}, {model}");
    }
}

#[test]
fn exact_algorithms_agree_with_all_orders_on_random_graphs() {
    for seed in 0..draws(4000) {
        assert_all_exact_algorithms_agree(seed, 6);
    }
}

#[test]
fn exact_algorithms_agree_with_all_orders_on_larger_random_graphs() {
    for seed in sample(10_000..12_000, 20) {
        assert_all_exact_algorithms_agree(seed, 9);
    }
}

#[test]
fn counting_orders_agrees_with_listing_them() {
    use serenity::schedule::{Limits, distribution};
    for seed in 0..draws(200) {
        let graph = zoo::build(&format!("random-dag?ops=7&seed={seed}")).unwrap();
        let model = MemoryModel::Paper;
        let mut peaks = std::collections::BTreeMap::new();
        every_order(&graph, &mut |order| {
            *peaks.entry(check::peak(&graph, model, order).0).or_insert(0_u128) += 1;
        });
        let problem = serenity::pipeline::problem(&graph, &model.lifetimes(&graph));
        let counted = distribution::count(&problem, &Limits::default(), None).unwrap();
        assert_eq!(counted.peaks().collect::<Vec<_>>(), peaks.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn larger_graphs_agree_across_algorithms() {
    for spec in [
        "random-stack?cells=4&ops=5&seed=1",
        "random-sp?ops=20&seed=2",
        "random-window?ops=24&window=5&seed=3",
        "random-layered?ops=24&width=4&seed=4",
    ] {
        let graph = zoo::build(spec).unwrap();
        let peaks: Vec<u64> = [Algorithm::Dp, Algorithm::DpDivide, Algorithm::DpDivideBudget]
            .map(|algorithm| schedule(&graph, &options(MemoryModel::Plain, algorithm)).unwrap().after.peak)
            .to_vec();
        assert!(peaks.iter().all(|&p| p == peaks[0]), "{spec}: {peaks:?}");
    }
}
