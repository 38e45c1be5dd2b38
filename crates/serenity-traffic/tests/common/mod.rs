//! Small random networks, and a machine that tries every replacement.
//!
//! The machine knows nothing of gaps and versions: it walks through the order with a set of pieces on chip and a set of
//! pieces of which a valid copy lies off-chip, and makes every choice at every step.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serenity_ir::{Graph, GraphBuilder, OpId, Role, Tensor, TensorId};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::Random;
use serenity_traffic::{Grain, PAGE};
use std::collections::BTreeMap;

/// A network of `ops` ops with skips, partial sums, results that are read again, and inputs of several readers.
pub(crate) fn network(seed: u64, ops: u64, size: impl Fn(&mut Random) -> u64) -> Graph {
    let mut draw = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut g = GraphBuilder::new("");
    let bytes = size(&mut draw);
    let mut tensors = vec![g.input(Tensor::sized("x", bytes))];
    for i in 0..ops {
        let pick = |draw: &mut Random, tensors: &[TensorId]| {
            let back = draw.below(4).min(tensors.len() as u64 - 1);
            tensors[tensors.len() - 1 - back as usize]
        };
        let bytes = size(&mut draw);
        let (a, b) = (pick(&mut draw, &tensors), pick(&mut draw, &tensors));
        let made = if draw.below(4) == 0 {
            let p = g.op("p", "CONV_2D", &[a], Tensor::sized(format!("p{i}"), bytes));
            let q = g.op("q", "CONV_2D", &[b], Tensor::sized(format!("q{i}"), bytes));
            g.op("sum", "ACCUMULATE", &[p, q], Tensor::sized(format!("s{i}"), bytes))
        } else {
            g.op("op", "CONV_2D", &[a, b], Tensor::sized(format!("t{i}"), bytes))
        };
        tensors.push(made);
    }
    let last = tensors[tensors.len() - 1];
    g.output(last);
    let other = tensors[draw.below(tensors.len() as u64) as usize];
    if other != last && draw.below(2) == 0 {
        g.output(other);
    }
    g.build().unwrap()
}

/// Must all operands of an op that fits be on chip together, as Belady's rule has it in the paper, or may any operand stream?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streaming {
    AtWill,
    IfItMust,
}

/// A buffer, or a page of one.
struct Piece {
    bytes: u64,
    is_input: bool,
    is_result: bool,
    /// Steps that touch it, and whether they change it.
    touched: BTreeMap<usize, bool>,
}

fn pieces(graph: &Graph, model: MemoryModel, order: &[OpId], grain: Grain) -> Vec<Piece> {
    let step = |op: &OpId| order.iter().position(|o| o == op).unwrap();
    let counts = |op: &&OpId| model != MemoryModel::Paper || graph.op(**op).kind.role() == Role::Compute;
    let mut pieces = Vec::new();
    for buffer in model.lifetimes(graph).buffers() {
        let mut touched: BTreeMap<usize, bool> =
            buffer.readers.iter().filter(counts).map(|op| (step(op), false)).collect();
        touched.extend(buffer.writers.iter().filter(counts).map(|op| (step(op), true)));
        let (count, bytes) = match grain {
            Grain::Tensor => (1, buffer.bytes),
            Grain::Page => (buffer.bytes.div_ceil(PAGE), PAGE),
        };
        for _ in 0..count {
            pieces.push(Piece {
                bytes,
                is_input: buffer.from_start,
                is_result: buffer.tensors.iter().any(|&t| graph.is_output(t)),
                touched: touched.clone(),
            });
        }
    }
    pieces
}

/// The least traffic that is not compulsory, by trying everything.
pub(crate) fn least_traffic(
    graph: &Graph,
    model: MemoryModel,
    order: &[OpId],
    on_chip: u64,
    grain: Grain,
    streaming: Streaming,
) -> u64 {
    let pieces = pieces(graph, model, order, grain);
    assert!(pieces.len() <= 10, "too many choices");
    let size =
        |set: u32| -> u64 { (0..pieces.len()).filter(|p| set >> p & 1 == 1).map(|p| pieces[p].bytes).sum() };
    // On chip, and valid off-chip.
    let valid = (0..pieces.len()).filter(|&p| pieces[p].is_input).fold(0_u32, |set, p| set | 1 << p);
    let mut states: BTreeMap<(u32, u32), u64> = BTreeMap::from([((0, valid), 0)]);
    for now in 0..order.len() {
        let operands =
            (0..pieces.len()).filter(|&p| pieces[p].touched.contains_key(&now)).fold(0, |s, p| s | 1 << p);
        let must_fit = streaming == Streaming::IfItMust && size(operands) <= on_chip;
        let mut next: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (&(resident, valid), &so_far) in &states {
            let could_stay = resident | operands;
            let mut stays = could_stay;
            loop {
                let fits = size(stays) <= on_chip && (!must_fit || stays & operands == operands);
                if fits {
                    let (cost, valid) = step(&pieces, now, resident, stays, valid, grain);
                    let best = next.entry((stays, valid)).or_insert(u64::MAX);
                    *best = (*best).min(so_far + cost);
                }
                if stays == 0 {
                    break;
                }
                stays = (stays - 1) & could_stay;
            }
        }
        states = next;
    }
    states.into_values().min().unwrap()
}

/// What one step costs if afterwards `stays` is on chip; and what is valid off-chip then.
fn step(pieces: &[Piece], now: usize, resident: u32, stays: u32, valid: u32, grain: Grain) -> (u64, u32) {
    let (mut cost, mut valid) = (0, valid);
    for (p, piece) in pieces.iter().enumerate() {
        let bit = 1 << p;
        let is_there = resident & bit != 0;
        let is_kept = stays & bit != 0;
        let is_needed = piece.touched.range(now + 1..).next().is_some();
        let changes_later = piece.touched.range(now + 1..).any(|(_, &changes)| changes);
        let is_final_result = piece.is_result && !piece.is_input;
        match piece.touched.get(&now) {
            None => {
                if is_there && !is_kept && is_needed && valid & bit == 0 {
                    // The last store of a result is compulsory.
                    cost += if is_final_result && !changes_later { 0 } else { piece.bytes };
                    valid |= bit;
                }
            }
            Some(&changes) => {
                let is_first = piece.touched.range(..now).next().is_none();
                // A whole tensor that does not stay on chip during the op was dropped before it; a page goes when it
                // has been used.
                let is_used_on_chip = is_there && (is_kept || grain == Grain::Page);
                if !is_first && !is_used_on_chip {
                    if is_there && valid & bit == 0 {
                        cost += if is_final_result && !changes && !changes_later { 0 } else { piece.bytes };
                        valid |= bit;
                    }
                    cost += piece.bytes;
                }
                if changes {
                    valid &= !bit;
                }
                if !is_kept && is_needed && valid & bit == 0 {
                    cost += if is_final_result && !changes_later { 0 } else { piece.bytes };
                    valid |= bit;
                }
            }
        }
    }
    (cost, valid)
}
