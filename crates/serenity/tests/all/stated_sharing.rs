//! Graphs that state what their kernels allow: peaks against the independent checker over all orders, and bounds against every placement of every order.

use crate::common::every_order;
use serde_json::{Value, json};
use serenity::check;
use serenity::ir::{Graph, OpId, json as graph_json};
use serenity::placement::{Options as PlaceOptions, place};
use serenity::runtimes::MemoryModel;
use serenity::{Input, Options, optimize, schedule, zoo};

const MODEL: MemoryModel = MemoryModel::Plain;

/// A random graph of few sizes, in which about half of the ops may work in place, and some give only other names.
fn random(seed: u64, ops: u32) -> Graph {
    let plain = zoo::build(&format!("random-dag?ops={ops}&seed={seed}")).unwrap();
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut document: Value = serde_json::from_str(&graph_json::write(&plain)).unwrap();
    for tensor in document["tensors"].as_array_mut().unwrap() {
        tensor["bytes"] = [0, 8, 8, 8, 20][draw(5) as usize].into();
    }
    let sizes: Vec<u64> = document["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tensor| tensor["bytes"].as_u64().unwrap())
        .collect();
    for (id, op) in plain.op_ids().zip(document["ops"].as_array_mut().unwrap()) {
        let all = plain.op(id).outputs.iter().flat_map(|y| plain.op(id).inputs.iter().map(move |x| (*y, *x)));
        let (mut in_place, mut aliases) = (Vec::new(), Vec::new());
        for (y, x) in all {
            match draw(5) {
                0 | 1 if sizes[y.index()] == sizes[x.index()] => in_place.push(json!([y.0, x.0])),
                2 => aliases.push(json!([y.0, x.0])),
                _ => {}
            }
        }
        op["in_place"] = in_place.into();
        op["aliases"] = aliases.into();
    }
    graph_json::parse(&document.to_string()).unwrap()
}

/// The height of the lowest placement of an order.
fn height(graph: &Graph, order: &[OpId]) -> u64 {
    let arena = MODEL.placement_problem(&[graph], &[order]).unwrap();
    place(&arena.problem, &PlaceOptions::default()).height
}

#[test]
fn orders_are_best_and_no_placement_is_below_the_bound() {
    let (mut saved, mut undercut, mut met) = (0, 0, 0);
    for seed in 0..3000 {
        let graph = random(seed, 6);
        let lifetimes = MODEL.lifetimes(&graph);
        let (mut least, mut lowest) = (u64::MAX, u64::MAX);
        every_order(&graph, &mut |order| {
            let peak = check::peak(&graph, MODEL, order).0;
            assert_eq!(lifetimes.profile(order).peak(), peak, "seed {seed}: the checker counts otherwise");
            least = least.min(peak);
            lowest = lowest.min(height(&graph, order));
        });
        let ordered = schedule(&graph, &Options::default()).unwrap();
        assert_eq!((ordered.after.peak, ordered.is_optimal()), (least, true), "seed {seed}");
        let input = Input::from(graph.clone());
        let best = optimize(&input, &Options::for_input(&input)).unwrap().plan;
        assert_eq!(best.after.peak, least, "seed {seed}");
        assert!(
            best.bound <= lowest,
            "seed {seed}: a placement of {lowest} is below the bound of {}",
            best.bound
        );
        let alone = serenity::ir::Lifetimes::of(&graph).profile(&best.order).peak();
        saved += u32::from(least < alone);
        undercut += u32::from(lowest < least);
        met += u32::from(best.bound == lowest);
    }
    assert!(saved > 300 && undercut > 10, "{saved} {undercut}: these graphs test nothing");
    // Order and in-place work are searched together, so that only holes between places are left.
    assert!(met > 2950, "the bound is met {met} times only");
}
