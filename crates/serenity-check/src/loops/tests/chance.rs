//! Models with mistakes made by chance: whatever is accepted gives the right numbers.

#![allow(clippy::print_stdout, reason = "how many were accepted")]

use super::net::{Made, ZERO};
use super::numeric::Numeric;
use super::{carried, striped};
use serenity_facts::Kernels;
use serenity_search::Random;

const ROUNDS: u32 = 1000;

/// Moves some tensors: anywhere, or to where another one lies, or near it.
fn move_some(made: &mut Made, chance: &mut Random) {
    for _ in 0..chance.below(4) {
        let graph = chance.index(3);
        let tensor = chance.index(made.places[graph].len());
        let other = chance.index(3);
        let near = made.places[other][chance.index(made.places[other].len())].unwrap();
        made.places[graph][tensor] = Some(match chance.below(3) {
            0 => 4 * chance.below(128),
            1 => near,
            _ => (near + 8 * chance.below(5)).saturating_sub(16),
        });
    }
}

/// Returns whether it was accepted, and whether it was right.
fn try_one(original: &Made, looped: &Made, kernels: Kernels, chance: &mut Random) -> (bool, bool) {
    let bytes = original.graphs[0].tensor(original.graphs[0].inputs()[0]).bytes;
    let mut is_right = true;
    for is_late in [false, true] {
        let input: Vec<u8> = (0..bytes).map(|_| chance.below(256) as u8).collect();
        let expected = Numeric::run(original, &input, 1, is_late);
        is_right &= Numeric::run(looped, &input, chance.below(256) as u8, is_late) == expected;
    }
    (looped.replay(original, kernels).is_empty(), is_right)
}

#[test]
fn what_is_accepted_gives_the_right_numbers() {
    let mut chance = Random(3);
    let (mut accepted, mut right) = (0, 0);
    for round in 0..ROUNDS {
        let (original, mut looped) = if round % 2 == 0 {
            let mut stripes = striped::RIGHT;
            match chance.below(4) {
                0 => stripes.distance = 8 * chance.below(4),
                1 => stripes.begins[chance.below(4) as usize] = chance.below(5),
                2 => stripes.trims[chance.below(4) as usize] = chance.below(3),
                _ => {}
            }
            (striped::original(), striped::looped(&stripes))
        } else {
            let mut rows = carried::RIGHT;
            match chance.below(4) {
                0 => rows.first = ZERO + chance.below(2) as i64,
                1 => rows.zeros[chance.below(7) as usize] = chance.below(4) as i64,
                _ => {}
            }
            (carried::original(), carried::looped(&rows))
        };
        move_some(&mut looped, &mut chance);
        let kernels = if chance.below(2) == 0 { Kernels::Any } else { Kernels::Reference };
        let (is_accepted, is_right) = try_one(&original, &looped, kernels, &mut chance);
        assert!(!is_accepted || is_right, "round {round}: {:?}", looped.places);
        accepted += u32::from(is_accepted);
        right += u32::from(is_right);
    }
    println!("{accepted} accepted of {right} that are right, of {ROUNDS}");
    assert!(accepted > 200 && right - accepted < accepted / 2);
}

/// Replaces some numbers and words of a graph's text; `None` if that is no graph any more.
fn damaged(graph: &serenity_ir::Graph, chance: &mut Random) -> Option<serenity_ir::Graph> {
    const NUMBERS: &[&str] =
        &["0", "1", "2", "7", "-1", "1048576", "4611686018427387904", "null", "[]", "{}"];
    const WORDS: &[&str] =
        &["SLICE", "PAD", "RESHAPE", "CONCATENATION", "FILL", "LESS", "WHILE", "CONV_2D", "int32"];
    let mut text = serenity_ir::json::write(graph);
    for _ in 0..=chance.below(3) {
        let is_word = chance.below(4) == 0;
        let (list, is_in): (_, fn(u8) -> bool) = if is_word {
            (WORDS, |b| b.is_ascii_uppercase() || b == b'_')
        } else {
            (NUMBERS, |b| b.is_ascii_digit())
        };
        let begins: Vec<usize> = (1..text.len())
            .filter(|&i| is_in(text.as_bytes()[i]) && !is_in(text.as_bytes()[i - 1]))
            .collect();
        let begin = *begins.get(chance.below(begins.len() as u64) as usize)?;
        let length = text.as_bytes()[begin..].iter().take_while(|&&b| is_in(b)).count();
        let new = list[chance.below(list.len() as u64) as usize];
        text.replace_range(begin..begin + length, new);
    }
    serenity_ir::json::parse(&text).ok()
}

#[test]
fn damaged_models_do_no_harm() {
    let mut chance = Random(5);
    let mut tried = 0;
    for round in 0..600 {
        let (original, mut looped) = if round % 2 == 0 {
            (striped::original(), striped::looped(&striped::RIGHT))
        } else {
            (carried::original(), carried::looped(&carried::RIGHT))
        };
        let graph = chance.index(3);
        let Some(other) = damaged(&looped.graphs[graph], &mut chance) else { continue };
        looped.graphs[graph] = other;
        let _ = looped.equivalence(&original);
        let _ = looped.replay(&original, Kernels::Reference);
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
}
