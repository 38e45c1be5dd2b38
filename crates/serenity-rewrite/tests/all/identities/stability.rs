//! What rewriting does to models that are rewritten already, or not at all; and what must hold even where results may differ.

use crate::identities::random_models::{Recipe, Rng, random_model};
use crate::identities::rewritten::check_structure;
use serenity_ir::Model;
use serenity_rewrite::{Settings, Sums, apply, apply_to_model, described, find};
use std::collections::BTreeMap;

fn models(count: u64) -> impl Iterator<Item = Model> {
    (0..count).map(|seed| random_model(Recipe { seed, is_int8: seed % 2 == 0, for_litert: false }))
}

#[test]
fn without_patches_nothing_changes() {
    for model in models(500) {
        let graph = described(&model).unwrap();
        for sums in [Sums::Chain, Sums::Accumulator, Sums::Draft] {
            let settings = Settings { sums, ..Settings::default() };
            assert_eq!(apply(&graph, &[], &settings).unwrap().graph, graph);
        }
        assert_eq!(apply_to_model(&model, &[], &Settings::default()).unwrap().constants(), model.constants());
    }
}

#[test]
fn what_is_found_and_made_of_it_is_always_the_same() {
    for (one, same) in models(100).zip(models(100)) {
        let settings = Settings::default();
        let patches = find(&described(&one).unwrap(), &settings);
        assert_eq!(patches, find(&described(&same).unwrap(), &settings));
        let [one, same] = [one, same].map(|model| apply_to_model(&model, &patches, &settings).unwrap());
        assert_eq!(one, same);
    }
}

/// In a model to which all patches were applied, rules find next to nothing more. What they still find:
///
/// - sums: the chain that was made of a sum, or of partial results, is a sum of as many terms. Adding them in the order
///   in which they come makes the same ops again. again. Where a sum added up partial results, they are terms of that
///   sum now.
/// - pieces that are themselves concatenations along another axis: what reads a piece can be divided again, along that axis.
#[test]
fn a_rewritten_model_is_finished() {
    let settings = Settings::default();
    let (mut again, mut rewritten_models) = (BTreeMap::<&str, usize>::new(), 0);
    for model in models(1000) {
        let patches = find(&described(&model).unwrap(), &settings);
        if patches.is_empty() {
            continue;
        }
        rewritten_models += 1;
        let once = apply_to_model(&model, &patches, &settings).unwrap();
        let graph = described(&once).unwrap();
        let more = find(&graph, &settings);
        for patch in &more {
            *again.entry(patch.rule).or_default() += 1;
            let is_piece = graph.op_label(patch.op()).contains("/piece");
            assert!(patch.rule == "sum-reassociation" || is_piece, "{}: {patch:?}", graph.name());
        }
        let twice = apply(&graph, &more, &settings).unwrap().graph;
        if more.iter().all(|patch| patch.rule == "sum-reassociation") {
            assert_eq!(twice.ops().len(), graph.ops().len());
        }
        let thrice = find(&twice, &settings);
        assert!(thrice.len() <= more.len(), "it comes to an end");
    }
    println!("{rewritten_models} rewritten models, in which is found again: {again:?}");
}

/// Integers that are rounded more often are other integers, but the graphs must be sound; so must those that no runtime has.
#[test]
fn whatever_is_asked_for_the_graph_is_sound() {
    let mut rounded = 0;
    for (seed, model) in models(1000).enumerate() {
        let mut rng = Rng::new(seed as u64);
        let graph = described(&model).unwrap();
        for sums in [Sums::Chain, Sums::Accumulator, Sums::Draft] {
            let settings = Settings { sums, rounds_integers: true };
            let mut patches = find(&graph, &settings);
            rounded += patches.iter().filter(|patch| !patch.exact).count();
            patches.retain(|_| !rng.one_in(4));
            let rewriting = apply(&graph, &patches, &settings).unwrap();
            check_structure(&graph, &rewriting.graph);
            assert_eq!(rewriting.origins.len(), rewriting.graph.ops().len());
            if sums == Sums::Chain {
                let made = apply_to_model(&model, &patches, &settings).unwrap();
                assert_eq!(made.graph(), &rewriting.graph);
            }
        }
    }
    assert!(rounded > 1_000, "{rounded}");
}
