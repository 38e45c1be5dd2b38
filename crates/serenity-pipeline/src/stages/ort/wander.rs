//! Searches for a better order of a file by random moves, where no single move helps.
//!
//! The memory that ONNX Runtime requests changes by leaps: which buffer a tensor takes decides what is held, and for
//! how long. So ops move at random, and a move stays if it does no harm. The random numbers, and so the result, are
//! always the same.

use crate::Effort;
use serenity_ir::{Graph, OpId};
use serenity_runtimes::OrtSession;

/// The best order of the file found from `start`. Ends when it requests no more than `target`, when the moves that
/// `effort` allows are used up, or when `stop` says so.
pub(super) fn wander(
    session: &OrtSession,
    start: Vec<OpId>,
    target: u64,
    effort: Effort,
    stop: impl Fn() -> bool,
) -> Vec<OpId> {
    let cost = |file: &[OpId]| {
        let run = session.run(file);
        (run.requested, run.in_use)
    };
    let mut random = Random(1);
    let mut file = start;
    let mut best = cost(&file);
    let moves = (effort.ort_steps() / file.len().max(1)).min(effort.wandering_moves());
    for _ in 0..moves {
        if best.0 <= target || stop() {
            break;
        }
        let moved = with_move(session.graph(), &file, &mut random);
        let new = cost(&moved);
        if new <= best {
            (file, best) = (moved, new);
        }
    }
    file
}

/// The order with one random op moved to another valid position.
fn with_move(graph: &Graph, file: &[OpId], random: &mut Random) -> Vec<OpId> {
    let from = random.below(file.len());
    let op = file[from];
    let before = graph.predecessors(op);
    let reads = |other: &OpId| graph.op(op).outputs.iter().any(|&t| graph.consumers(t).contains(other));
    let earliest = file[..from].iter().rposition(|other| before.contains(other)).map_or(0, |last| last + 1);
    let latest = file[from + 1..].iter().position(reads).map_or(file.len() - 1, |first| from + first);
    let to = earliest + random.below(latest - earliest + 1);
    let mut moved = file.to_vec();
    moved.remove(from);
    moved.insert(to, op);
    moved
}

/// Steele, Lea and Flood's `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(bits ^ (bits >> 31)) * limit as u128) >> 64) as usize
    }
}
