//! The fuzz targets on stable Rust: each on the same thousands of mutated seeds in every run.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "elsewhere it is a crate of its own")]
pub(crate) mod targets;

use serenity_judges::on_all_cores;
use std::path::Path;

/// Mutants per seed; a hundred times as many if `SERENITY_SLOW` is set.
const MUTANTS: u64 = 60;
/// Mutants per seed where each takes a second: choosing loops is many searches.
const MUTANTS_WITH_LOOPS: u64 = 4;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// One to four of: a bit flipped, a byte set to what is often a limit, a number overwritten, a piece repeated, a piece left out.
    fn mutant(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(16)).min(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'9', b'-', b'"'][self.below(8)],
                2 => bytes[at..end].fill(0xff),
                3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
                _ if bytes.len() > 32 => bytes.drain(at..end).for_each(drop),
                _ => {}
            }
        }
        bytes
    }
}

#[test]
fn no_mutant_breaks_a_target() {
    let factor = if std::env::var_os("SERENITY_SLOW").is_some() { 100 } else { 1 };
    let mut work: Vec<(&str, targets::Target, u64, Vec<u8>)> = Vec::new();
    for &(name, target) in targets::TARGETS {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (number, seed) in targets::seeds::seeds(&project, name).into_iter().enumerate() {
            target(&seed);
            work.push((name, target, number as u64, seed));
        }
    }
    on_all_cores(&work, |(name, target, number, seed)| {
        let mut numbers = Numbers(*number);
        let rounds = if *name == "loops" { MUTANTS_WITH_LOOPS } else { MUTANTS };
        for round in 0..rounds * factor {
            let mutant = numbers.mutant(seed);
            let run = std::panic::catch_unwind(|| target(&mutant));
            assert!(run.is_ok(), "target {name}, seed {number}, round {round}");
        }
    });
}
