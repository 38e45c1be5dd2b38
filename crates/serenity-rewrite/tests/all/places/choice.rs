//! The search for the best set, with made-up prices.

use crate::places::drawing::Drawing;
use serde_json::json;
use serenity_ir::Graph;
use serenity_rewrite::{Choice, Effort, Evaluation, Patch, Settings, Worth, choose, find};
use serenity_search::StopReason;

/// So many concatenations, each read by two functions of elements: a family of two patches each.
fn network(families: usize) -> (Graph, Vec<Patch>) {
    let mut drawing = Drawing::new();
    let mut results = Vec::new();
    for _ in 0..families {
        let pieces = [drawing.input(&[1, 1]), drawing.input(&[1, 1])];
        let joined = drawing.op("CONCATENATION", &pieces, json!({"axis": 1}), &[1, 2]);
        for kind in ["RELU", "TANH"] {
            results.push(drawing.op(kind, &[joined], json!({}), &[1, 2]));
        }
    }
    let graph = drawing.finish(&results);
    let patches = find(&graph, &Settings::default());
    assert_eq!(patches.len(), 2 * families);
    (graph, patches)
}

/// Searches where a set of patches, given by their places, needs `price` of it.
fn search(
    families: usize,
    sets: usize,
    floor: u64,
    price: impl Fn(&[usize]) -> Option<u64>,
) -> (Choice, Vec<usize>) {
    let (graph, patches) = network(families);
    let place = |patch: &Patch| patches.iter().position(|other| other.op() == patch.op()).unwrap();
    let evaluate = |set: &[Patch], _: u64| {
        let places: Vec<usize> = set.iter().map(place).collect();
        match price(&places) {
            None => Evaluation::CannotBeApplied,
            Some(needs) => Evaluation::Worth(Worth { needs, bound: needs, patches: set.to_vec() }),
        }
    };
    let choice = choose(&graph, &patches, &Effort { sets, first: Vec::new() }, floor, evaluate);
    let chosen = choice.patches.iter().map(|(patch, _)| place(patch)).collect();
    (choice, chosen)
}

#[test]
fn few_candidates_are_all_tried_and_the_best_is_proved() {
    // Good together, bad alone; the third is good alone, and superfluous then.
    let price = |set: &[usize]| {
        let has = |place| set.contains(&place);
        Some(if has(0) && has(3) {
            40
        } else if has(2) {
            90
        } else {
            100 + set.len() as u64
        })
    };
    let (choice, chosen) = search(2, 16, 0, price);
    assert_eq!((choice.before, choice.after, choice.is_proved(), choice.sets), (100, 40, true, 16));
    assert_eq!(chosen, [0, 3]);
    let gains: Vec<Option<u64>> = choice.patches.iter().map(|(_, gain)| *gain).collect();
    assert_eq!(gains, [Some(101 - 40), Some(101 - 40)]);
}

#[test]
fn among_many_a_planted_set_of_families_is_found() {
    // Two families, each worth something only if complete; everything at once is bad.
    let price = |set: &[usize]| {
        let complete = |family: usize| set.contains(&(2 * family)) && set.contains(&(2 * family + 1));
        let gain = 100 * [3, 7].into_iter().filter(|&family| complete(family)).count() as u64;
        Some(1_000 + 10 * set.len() as u64 - gain)
    };
    let (choice, chosen) = search(10, 500, 0, price);
    assert_eq!(chosen, [6, 7, 14, 15]);
    assert_eq!((choice.before, choice.after, choice.is_proved()), (1_000, 840, false));
    assert!(choice.sets <= 500);
}

#[test]
fn single_patches_are_found_within_families() {
    let price = |set: &[usize]| {
        Some(1_000 - 100 * u64::from(set.contains(&5)) + 60 * u64::from(set.contains(&4)) + set.len() as u64)
    };
    let (choice, chosen) = search(10, 500, 0, price);
    assert_eq!((chosen, choice.after), (vec![5], 901));
}

#[test]
fn superfluous_patches_are_dropped() {
    let price = |set: &[usize]| Some(if set.contains(&11) { 50 } else { 100 });
    let (choice, chosen) = search(10, 500, 0, price);
    assert_eq!((chosen, choice.after), (vec![11], 50));
}

#[test]
fn where_nothing_helps_nothing_is_chosen() {
    type Price = fn(&[usize]) -> Option<u64>;
    let worse: [Price; 3] =
        [|set| Some(100 + set.len() as u64), |_| Some(100), |set| set.is_empty().then_some(100)];
    for price in worse {
        for (families, sets) in [(2, 16), (10, 300), (10, 1)] {
            let (choice, chosen) = search(families, sets, 0, price);
            assert_eq!((choice.before, choice.after), (100, 100));
            assert!(chosen.is_empty());
        }
    }
}

#[test]
fn reaching_the_floor_is_proof_and_ends_the_search() {
    let price = |set: &[usize]| Some(if set.len() == 20 { 10 } else { 100 });
    let (choice, chosen) = search(10, 500, 10, price);
    assert!(choice.is_proved());
    assert_eq!((choice.after, chosen.len()), (10, 20));
}

#[test]
fn the_same_question_has_the_same_answer() {
    let price = |set: &[usize]| {
        let mixed = set.iter().fold(7_u64, |mixed, &place| mixed.wrapping_mul(31).wrapping_add(place as u64));
        Some(mixed % 1_000)
    };
    let first = search(10, 300, 0, price);
    assert_eq!(first, search(10, 300, 0, price));
    assert!(first.0.after <= first.0.before);
    assert!(first.0.sets <= 300);
}

#[test]
fn nothing_is_proved_by_sets_that_might_need_less_than_was_found() {
    let (graph, patches) = network(1);
    let effort = Effort { sets: 4, first: Vec::new() };
    let choose_by = |bound_of_all: u64| {
        let evaluate = |set: &[Patch], _: u64| {
            let needs = 100 - 10 * set.len() as u64;
            let bound = if set.len() == 2 { bound_of_all } else { needs };
            Evaluation::Worth(Worth { needs, bound, patches: set.to_vec() })
        };
        choose(&graph, &patches, &effort, 0, evaluate)
    };
    assert!(choose_by(80).is_proved());
    let open = choose_by(70);
    assert_eq!((open.after, open.floor, open.is_proved()), (80, 70, false));
}

#[test]
fn nothing_is_proved_by_sets_that_nobody_looked_at() {
    let (graph, patches) = network(1);
    let effort = Effort { sets: 4, first: Vec::new() };
    let choose_until = |last: usize| {
        let mut looks = 0;
        choose(&graph, &patches, &effort, 0, |set: &[Patch], _: u64| {
            looks += 1;
            if looks > last {
                return Evaluation::RanOut(StopReason::Time);
            }
            let needs = 100 - 10 * set.len() as u64;
            Evaluation::Worth(Worth { needs, bound: needs, patches: set.to_vec() })
        })
    };
    let whole = choose_until(4);
    assert_eq!((whole.after, whole.stopped, whole.is_proved()), (80, None, true));
    // The best of what was seen is kept, here all patches, and what ended it is told.
    let cut = choose_until(2);
    assert_eq!((cut.after, cut.stopped, cut.is_proved()), (80, Some(StopReason::Time), false));
    // Not even the network as it is could be looked at.
    let nothing = choose_until(0);
    assert_eq!((nothing.patches.len(), nothing.stopped), (0, Some(StopReason::Time)));
    assert!(!nothing.is_proved());
}
