//! A negative control for every rule of the planner's table: what it allows is safe, and 16 bytes less is refused.

#![allow(clippy::print_stdout, reason = "how tight the table is")]

use super::samples::{kinds, sample};
use super::{Chance, Verdict, nearest, replayed};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{Kernels, Overlap, overlaps};

/// How often each rule is tried.
const SAMPLES: usize = 1000;

/// Ops of a kind, in words and as graphs.
fn samples(kind: &'static str, chance: &mut Chance) -> impl Iterator<Item = (String, Graph)> {
    let ops = std::iter::repeat_with(move || sample(kind, chance)).take(SAMPLES);
    ops.map(|op| (op.to_string(), op.graph()))
}

/// Kernels that read everything before they write anything: no place is too close for them.
const NEVER_TOO_CLOSE: &[&str] = &["TRANSPOSE_CONV"];

#[test]
fn what_the_table_allows_is_safe_and_sixteen_bytes_less_is_refused() {
    for (seed, kind) in (0..).zip(kinds()) {
        for (name, kernels) in Kernels::all() {
            let mut chance = Chance(seed);
            let (mut tried, mut refused) = (0, 0);
            let (mut apart, mut tight) = (0, 0);
            for (told, graph) in samples(kind, &mut chance) {
                for overlap in overlaps(&graph, OpId(0), kernels) {
                    let pair = [overlap.input, overlap.output];
                    let side = if overlap.is_backward { -1 } else { 1 };
                    let at = |distance: i64| replayed(&graph, kernels, pair, side * distance);
                    let distance = overlap.distance as i64;
                    assert_eq!(at(distance), Verdict::Safe, "{told}, {name}: {overlap:?}");
                    if !overlap.exact {
                        for more in [1, 5, 16, 1000] {
                            assert_eq!(at(distance + more), Verdict::Safe, "{told}, {name}: {overlap:?}");
                        }
                    }
                    // A byte is the nearest at which a kernel goes backwards.
                    let less = |by: i64| (distance - by).max(if overlap.is_backward { 1 } else { i64::MIN });
                    if less(16) < distance {
                        tried += 1;
                        refused += u64::from(at(less(16)) != Verdict::Safe);
                    }
                    if (0..distance).contains(&less(1)) {
                        apart += 1;
                        tight += u64::from(at(less(1)) != Verdict::Safe);
                    }
                }
            }
            println!(
                "{kind}, {name}: 16 bytes less refused in {refused} of {tried}, 1 byte less in {tight} of {apart}"
            );
            // Where nothing is asked for, reads may be far ahead. Where a distance is, a block may once in a while fall
            // onto itself, or all may be read before it is reached.
            if tried > 0 && !NEVER_TOO_CLOSE.contains(&kind) {
                assert!(refused * 10 >= tried * 7 && tight * 10 >= apart * 9, "{kind}, {name}");
            }
        }
    }
}

/// A plan for kernels of any kind is tried for each set, and is told to be safe with each.
#[test]
fn what_any_kernels_allow_each_set_allows() {
    for (seed, kind) in (0..).zip(kinds()) {
        let mut chance = Chance(2000 + seed);
        for (told, graph) in samples(kind, &mut chance) {
            for allowed in overlaps(&graph, OpId(0), Kernels::Any) {
                let distance = allowed.distance;
                for (name, kernels) in Kernels::all() {
                    let is_same = |own: &Overlap| (own.input, own.output) == (allowed.input, allowed.output);
                    let own = overlaps(&graph, OpId(0), kernels);
                    let is_allowed = own.iter().any(|own| is_same(own) && own.allows(distance, 0));
                    assert!(is_allowed, "{told}, {name}: {allowed:?}");
                    let verdict = replayed(&graph, kernels, [allowed.input, allowed.output], distance as i64);
                    assert_eq!(verdict, Verdict::Safe, "{told}, {name}: {allowed:?}");
                }
            }
        }
    }
}

/// What is saved while an op runs is counted with the least distances of the replay; the planner counts with its table.
#[test]
fn the_nearest_places_are_those_of_the_table() {
    for (seed, kind) in (0..).zip(kinds()) {
        let mut chance = Chance(1000 + seed);
        for (told, graph) in samples(kind, &mut chance) {
            let (inputs, outputs) = (&graph.op(OpId(0)).inputs, &graph.op(OpId(0)).outputs);
            for (name, kernels) in Kernels::all() {
                let table = overlaps(&graph, OpId(0), kernels);
                for (&input, &output) in inputs.iter().flat_map(|x| outputs.iter().map(move |y| (x, y))) {
                    let asked = |is_backward: bool| {
                        let of_pair =
                            table.iter().filter(|found| (found.input, found.output) == (input, output));
                        of_pair
                            .filter(|found| found.is_backward == is_backward)
                            .map(|found| found.distance)
                            .min()
                    };
                    let found = nearest(&graph, OpId(0), kernels, input, output);
                    let forwards = [found.at_least, found.exactly].into_iter().flatten().min();
                    assert_eq!((forwards, found.below), (asked(false), asked(true)), "{told}, {name}");
                }
            }
        }
    }
}
