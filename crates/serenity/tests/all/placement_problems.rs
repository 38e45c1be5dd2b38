//! What is to be placed, and what the runtimes' own planners make of it.

use serenity::arena::{Options, Planner, place};
use serenity::ir::OpId;
use serenity::runtimes::{Kernels, MemoryModel, MemoryModelExt};
use serenity::schedule::{self, OpIndex};
use std::ops::Range;

/// Every network in its own order, under every memory model.
#[test]
fn the_bound_is_the_peak_and_a_runtimes_planner_gets_its_own_arena() {
    for network in ["swiftnet-b", "darts-cell", "randwire-cifar10?nodes=12"] {
        let graph = &serenity::zoo::build(network).unwrap();
        let order = graph.file_order();
        for (name, model) in MemoryModel::all() {
            let arena = model.placement_problem(&[graph], &[&order]).unwrap();
            assert_eq!(arena.contents.len(), arena.problem.buffers().len());
            let peak = model.lifetimes(graph).profile(&order).peak();
            let placement = place(&arena.problem, &Options::default());
            if arena.problem.overlaps().is_empty() {
                let slack = arena.problem.alignment() * arena.contents.len() as u64;
                assert!((peak..=peak + slack).contains(&placement.bound), "{network} {name}");
            }
            let planner = match name {
                "tflm" => Planner::Tflm,
                "litert" => Planner::LiteRt,
                _ => continue,
            };
            // Of kernels that are not known the runtime has one set, and each asks for its own scratch.
            let sets = model.kernels().map_or(&[Kernels::Any][..], Kernels::sets);
            for model in sets.iter().map(|&set| model.with_kernels(set)) {
                let arena = model.placement_problem(&[graph], &[&order]).unwrap();
                let own = place(&arena.problem, &Options::new(planner));
                let runtime = model.arena(&[graph], &[&order], None).unwrap();
                assert_eq!(own.height, runtime.bytes, "{network} {name}");
                let offsets: Vec<u64> = runtime.pieces.iter().map(|piece| piece.offset).collect();
                assert_eq!(own.offsets, offsets, "{network} {name}");
            }
        }
    }
}

/// The scheduler and the memory models derive the same lifetimes from the same order.
#[test]
fn lifetimes_of_the_scheduler_are_those_that_are_placed() {
    for network in ["swiftnet-b", "darts-cell", "randwire-cifar10?nodes=12"] {
        let graph = &serenity::zoo::build(network).unwrap();
        let order = graph.file_order();
        let ops = |list: &[OpId]| list.iter().map(|op| OpIndex(op.0)).collect::<Vec<OpIndex>>();
        for model in [MemoryModel::Plain, MemoryModel::Paper] {
            let lifetimes = model.lifetimes(graph);
            let buffers = lifetimes.buffers().iter().map(|buffer| schedule::Buffer {
                bytes: buffer.bytes,
                writers: ops(&buffer.writers),
                readers: ops(&buffer.readers),
                from_start: buffer.from_start,
                to_end: buffer.to_end,
            });
            let found = schedule::lifetimes(&buffers.collect::<Vec<_>>(), &ops(&order));
            let arena = model.placement_problem(&[graph], &[&order]).unwrap();
            let placed: Vec<Range<i64>> =
                arena.problem.buffers().iter().map(|buffer| buffer.lower..buffer.upper).collect();
            assert_eq!(found, placed, "{network} {model}");
        }
    }
}
