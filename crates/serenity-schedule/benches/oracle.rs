//! How many networks a second an architecture search can ask for the least peak of.
//!
//! `cargo bench -p serenity-schedule --bench oracle` asks for networks of eight cells of twenty ops. From one question
//! to the next, one op of one cell gets other inputs and another size. All questions are asked twice: each from
//! nothing, and to an oracle that remembers; the answers must be the same.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use serenity_schedule::{Buffer, OpIndex, Options, Oracle, Problem, schedule};
use std::time::Instant;

const CELLS: usize = 8;
const OPS: usize = 20;
const QUESTIONS: usize = 2000;

/// By op of a cell, the ops whose results it reads, and the bytes of its own.
type Cell = Vec<(Vec<usize>, u64)>;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn op(&mut self, at: usize) -> (Vec<usize>, u64) {
        let mut inputs: Vec<usize> =
            (0..1 + self.below(2)).map(|_| self.below(at.max(1) as u64) as usize).collect();
        inputs.sort_unstable();
        inputs.dedup();
        (if at == 0 { Vec::new() } else { inputs }, 16 * (1 + self.below(64)))
    }
}

/// The cells one after the other. The first op of each reads what the one before leaves, and its last op reads all that
/// nobody else does.
fn network(cells: &[Cell]) -> Problem {
    let mut buffers = Vec::new();
    for (cell, start) in cells.iter().zip((0..).step_by(OPS + 1)) {
        let op = |at: usize| OpIndex((start + at) as u32);
        for (at, &(_, bytes)) in cell.iter().enumerate() {
            let readers = (0..OPS).filter(|&reader| cell[reader].0.contains(&at)).map(op);
            let mut readers: Vec<OpIndex> = readers.collect();
            if readers.is_empty() {
                readers.push(op(OPS));
            }
            buffers.push(Buffer::produced(bytes, op(at), readers));
        }
        let is_last = start + OPS + 1 == cells.len() * (OPS + 1);
        let next = (!is_last).then(|| op(OPS + 1));
        let result = Buffer::produced(256, op(OPS), next);
        buffers.push(if is_last { result.kept() } else { result });
    }
    Problem::new((cells.len() * (OPS + 1)) as u32, buffers, []).expect("every op reads earlier ones")
}

fn main() {
    let mut random = Random(1);
    let mut cells: Vec<Cell> = (0..CELLS).map(|_| (0..OPS).map(|at| random.op(at)).collect()).collect();
    let questions: Vec<Problem> = (0..QUESTIONS)
        .map(|_| {
            let at = 1 + random.below(OPS as u64 - 1) as usize;
            cells[random.below(CELLS as u64) as usize][at] = random.op(at);
            network(&cells)
        })
        .collect();
    let options = Options::default();
    let from_nothing =
        || -> Vec<u64> { questions.iter().map(|q| schedule(q, &Options::default()).peak).collect() };
    let mut oracle = Oracle::new(options);
    let wanted = timed("each from nothing", from_nothing);
    let told = timed("an oracle", || questions.iter().map(|q| oracle.peak(q).bytes).collect());
    assert_eq!(told, wanted, "the oracle errs");
    let again = timed("an oracle, again", || questions.iter().map(|q| oracle.peak(q).bytes).collect());
    assert_eq!(again, wanted, "the oracle forgets");
}

fn timed(name: &str, work: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
    let started = Instant::now();
    let peaks = work();
    let seconds = started.elapsed().as_secs_f64();
    let networks = QUESTIONS as f64 / seconds;
    println!("{name:<20}{networks:>10.0} networks a second{:>12.0} cells a second", networks * CELLS as f64);
    peaks
}
