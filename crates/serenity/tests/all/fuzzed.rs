//! The fuzz targets on stable Rust: each on the same thousands of mutated seeds in every run.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "elsewhere it is a crate of its own")]
pub(crate) mod targets;

use serenity::search::Random;
use serenity_judges::on_all_cores;
use std::path::Path;

/// Mutants per seed; four hundred times as many if `SERENITY_SLOW` is set.
const MUTANTS: u64 = 20;
/// Mutants per seed where each takes a second: choosing loops is many searches.
const MUTANTS_WITH_LOOPS: u64 = 1;

/// One to four of: a bit flipped, a byte set to what is often a limit, a number overwritten, a piece repeated, a piece left out.
fn mutant(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.index(4) {
        let at = random.index(bytes.len());
        let end = (at + 1 + random.index(16)).min(bytes.len());
        match random.index(5) {
            0 => bytes[at] ^= 1 << random.index(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'9', b'-', b'"'][random.index(8)],
            2 => bytes[at..end].fill(0xff),
            3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            _ if bytes.len() > 32 => bytes.drain(at..end).for_each(drop),
            _ => {}
        }
    }
    bytes
}

#[test]
fn no_mutant_breaks_a_target() {
    let factor = if serenity_judges::is_slow() { 400 } else { 1 };
    let mut work: Vec<(&str, targets::Target, u64, Vec<u8>)> = Vec::new();
    for &(name, target) in targets::TARGETS {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (number, seed) in targets::seeds::seeds(&project, name).into_iter().enumerate() {
            target(&seed);
            work.push((name, target, number as u64, seed));
        }
    }
    on_all_cores(&work, |(name, target, number, seed)| {
        let mut numbers = Random(*number);
        let rounds = if *name == "loops" { MUTANTS_WITH_LOOPS } else { MUTANTS };
        for round in 0..rounds * factor {
            let mutant = mutant(&mut numbers, seed);
            let run = std::panic::catch_unwind(|| target(&mutant));
            assert!(run.is_ok(), "target {name}, seed {number}, round {round}");
        }
    });
}
