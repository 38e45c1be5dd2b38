//! Orders and places together: against all orders of small networks of real operators.

use crate::common::every_order;
use serde_json::json;
use serenity::check;
use serenity::ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId};
use serenity::pipeline::plan_graphs;
use serenity::plan_check::{CheckOptions, Status};
use serenity::runtimes::{Kernels, MemoryModel, MemoryModelExt, Offsets, overlaps};
use serenity::schedule::Algorithm;
use serenity::search::Limits;
use serenity::search::Random;
use serenity::zoo::Precision;
use serenity::{
    Format, Options, PlanFile, ReadOptions, Rewrites, check_plan, export, load_bytes, optimize, schedule,
};
use serenity_judges::draws;

/// A small network: element-wise operators, convolutions, pools, sums and joins over maps of two sizes.
fn network(seed: u64) -> Graph {
    let mut rng = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let map = |name: String, side: u64, channels: u64| {
        Tensor::shaped(name, vec![1, side, side, channels], ElementType::Int8).unwrap()
    };
    let mut builder = GraphBuilder::new(format!("network {seed}"));
    let mut maps: Vec<(TensorId, u64, u64)> = vec![(builder.input(map("x".to_owned(), 4, 8)), 4, 8)];
    let ops = 3 + rng.index(4);
    for i in 0..ops {
        let recent = maps.len().min(4);
        let (x, side, channels) = maps[maps.len() - 1 - rng.index(recent)];
        let twin = maps.iter().copied().rfind(|&(t, s, c)| t != x && (s, c) == (side, channels));
        let (kind, inputs, side, channels, attributes) = match (rng.index(6), twin) {
            (0, _) => ("RELU", vec![x], side, channels, json!({})),
            (1, Some((t, ..))) => ("ADD", vec![x, t], side, channels, json!({"activation": "none"})),
            (2, Some((t, ..))) => ("CONCATENATION", vec![x, t], side, 2 * channels, json!({"axis": 3})),
            (3, _) if side > 1 => {
                let window =
                    json!({"kernel": [2, 2], "stride": [2, 2], "padding": "valid", "activation": "none"});
                ("MAX_POOL_2D", vec![x], side / 2, channels, window)
            }
            (4, _) => ("RESHAPE", vec![x], side, channels, json!({})),
            _ => {
                let filters = 4 << rng.index(3);
                let filter = json!({"name": "w", "shape": [filters, 3, 3, channels], "dtype": "int8"});
                let conv = json!({
                    "kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "padding": "same", "activation": "none",
                    "constants": {"1": filter},
                });
                ("CONV_2D", vec![x], side, filters, conv)
            }
        };
        let output = builder.tensor(map(format!("t{i}"), side, channels));
        let attributes: Attributes = attributes.as_object().unwrap().clone();
        builder.push_op(Op {
            name: format!("op{i}"),
            kind: OpKind::new(kind),
            inputs,
            outputs: vec![output],
            attributes,
            extra: Attributes::default(),
        });
        maps.push((output, side, channels));
    }
    builder.output(maps[maps.len() - 1].0);
    builder.build().unwrap()
}

#[test]
fn peaks_of_real_operators_are_least_under_every_memory_model() {
    for seed in 0..draws(1500) {
        let graph = network(seed);
        for (name, model) in MemoryModel::all() {
            for (_, kernels) in Kernels::all() {
                let model = model.with_kernels(kernels);
                let mut least = u64::MAX;
                every_order(&graph, &mut |order| {
                    least = least.min(check::peak(&graph, model, order).0);
                });
                let found = schedule(&graph, &Options { model, ..Options::default() }).unwrap();
                assert_eq!((found.after.peak, found.bound), (least, least), "seed {seed}, {name}, {kernels}");
                if model.kernels().is_none() {
                    break;
                }
            }
        }
    }
}

#[test]
fn no_order_gets_an_arena_below_the_bound_and_the_best_is_found() {
    let (mut best_found, mut proved, seeds) = ([0; 2], 0, draws(400));
    for seed in 0..seeds {
        let graph = network(seed);
        for (way, kernels) in [Kernels::Any, Kernels::Reference].into_iter().enumerate() {
            let options =
                Options { model: MemoryModel::Tflm(kernels), plan_arena: true, ..Options::default() };
            let found = plan_graphs(std::slice::from_ref(&graph), &options).unwrap();
            let fixed = Options { algorithm: Algorithm::File, ..options };
            // A model is not changed if some kernels that may run it would then need more.
            let heads = |graph: &Graph, offsets: Option<&Offsets>| {
                let head = |&set: &Kernels| {
                    let arena = MemoryModel::Tflm(set).arena(&[graph], &[&graph.file_order()], offsets);
                    arena.unwrap().bytes
                };
                kernels.sets().iter().map(head).collect::<Vec<u64>>()
            };
            let own = heads(&graph, None);
            let mut least = own.iter().copied().max().unwrap();
            every_order(&graph, &mut |order| {
                let reordered = graph.reordered(order).unwrap();
                let plan = plan_graphs(std::slice::from_ref(&reordered), &fixed).unwrap();
                let heads = heads(&reordered, plan.offsets.as_ref());
                if heads.iter().zip(&own).all(|(head, own)| head <= own) {
                    least = least.min(plan.after.needs());
                }
            });
            assert!(found.bound <= least, "seed {seed}, {kernels}: bound {} of {least}", found.bound);
            assert!(found.after.needs() >= least, "seed {seed}, {kernels}");
            best_found[way] += u32::from(found.after.needs() == least);
            proved += u32::from(found.is_optimal());
        }
    }
    println!("the best of all orders on {best_found:?} of {seeds} each, proved on {proved}");
    assert!(best_found.into_iter().all(|found| u64::from(found) >= seeds * 98 / 100));
}

/// Cells in which a dozen ops read what comes in: who of them may write over it is open until the order is known.
#[test]
fn cells_with_outputs_over_inputs_of_many_are_proved_and_proved_again() {
    let network = "amoebanet-cifar?cells=1";
    let model = export(network, Format::TfLite, Precision::Int8).unwrap();
    let input = load_bytes(network, model.bytes, Format::TfLite, &ReadOptions::default()).unwrap();
    let options = Options {
        model: MemoryModel::Tflm(Kernels::Reference),
        rewrites: Rewrites::None,
        ..Options::for_input(&input)
    };
    let plan = optimize(&input, &options).unwrap().plan;
    assert_eq!((plan.after.arena, plan.least()), (Some(294_992), 294_992));
    let deep = CheckOptions { model: None, deep: Some(Limits::default().holding(1 << 28)) };
    let verdict = check_plan(&input, &PlanFile::from_json(&plan.to_json()).unwrap(), &deep);
    let optimality = verdict.claims.iter().find(|claim| claim.claim == "proof").unwrap();
    assert!(matches!(optimality.status, Status::Verified { .. }), "{optimality:?}");
}

#[test]
fn a_tensor_moved_too_close_is_refused() {
    let (mut moved, mut overlapping, mut onto_itself) = (0, 0, 0);
    for seed in 0..200 {
        let graph = network(seed);
        let options =
            Options { model: MemoryModel::Tflm(Kernels::Reference), plan_arena: true, ..Options::default() };
        let plan = plan_graphs(std::slice::from_ref(&graph), &options).unwrap();
        let Some(offsets) = &plan.offsets else { continue };
        let faults = |offsets: &Vec<Option<u64>>| {
            let arena = plan.after.arena.unwrap();
            check::placement_faults(
                &[&graph],
                &[&plan.order],
                Kernels::Reference,
                std::slice::from_ref(offsets),
                arena,
            )
        };
        assert!(faults(&offsets[0]).is_empty());
        for pair in graph.op_ids().flat_map(|op| overlaps(&graph, op, Kernels::Reference)) {
            let (Some(x), Some(y)) = (offsets[0][pair.input.index()], offsets[0][pair.output.index()]) else {
                continue;
            };
            let shares = x < y + graph.tensor(pair.output).bytes && y < x + graph.tensor(pair.input).bytes;
            let dies = graph.consumers(pair.input).len() == 1;
            // Where the two lie as close as they may, 16 bytes less are too close.
            if shares && dies && !pair.exact && x >= 16 && x - y < pair.distance.next_multiple_of(16) + 16 {
                let mut closer = offsets[0].clone();
                closer[pair.input.index()] = Some(x - 16);
                // The last block of a join may then be copied onto itself, which does no harm. The table does not go into that.
                let op = graph.producer(pair.output).unwrap();
                let block = *graph.tensor(pair.input).shape.as_ref().unwrap().last().unwrap();
                if graph.op(op).kind.as_str() == "CONCATENATION" && x - 16 == y + pair.distance - block {
                    let (read, written) = ((pair.input, x - 16), (pair.output, y));
                    let verdict = check::replay(&graph, op, Kernels::Reference, read, written);
                    assert_eq!(verdict, check::Verdict::Safe, "seed {seed}");
                    onto_itself += 1;
                    continue;
                }
                moved += 1;
                assert!(
                    !faults(&closer).is_empty(),
                    "seed {seed}: tensor {} over {}",
                    pair.output,
                    pair.input
                );
            }
            overlapping += u32::from(shares);
        }
    }
    println!("{moved} refused, {onto_itself} blocks copied onto themselves");
    assert!(moved >= 20 && overlapping >= moved, "{moved} of {overlapping}");
}
