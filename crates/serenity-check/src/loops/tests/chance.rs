//! Models with mistakes made by chance: whatever is accepted gives the right numbers.

#![allow(clippy::print_stdout, reason = "how many were accepted")]

use super::net::{Made, ZERO};
use super::numeric::Numeric;
use super::{carried, striped};
use serenity_runtimes::Kernels;

const ROUNDS: u32 = 1000;

/// Small numbers by chance, the same on every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Moves some tensors: anywhere, or to where another one lies, or near it.
fn move_some(made: &mut Made, chance: &mut Chance) {
    for _ in 0..chance.below(4) {
        let graph = chance.below(3) as usize;
        let tensor = chance.below(made.places[graph].len() as u64) as usize;
        let other = chance.below(3) as usize;
        let near = made.places[other][chance.below(made.places[other].len() as u64) as usize].unwrap();
        made.places[graph][tensor] = Some(match chance.below(3) {
            0 => 4 * chance.below(128),
            1 => near,
            _ => (near + 8 * chance.below(5)).saturating_sub(16),
        });
    }
}

/// Returns whether it was accepted, and whether it was right.
fn try_one(original: &Made, looped: &Made, kernels: Kernels, chance: &mut Chance) -> (bool, bool) {
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
    let mut chance = Chance(3);
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
