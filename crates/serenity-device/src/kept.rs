//! What models keep from run to run, and which models of TFLM keep it in one allocator.

use crate::app::App;
use crate::planned::{Made, PlannedModel};
use serenity_runtimes::{Tail, TflmArena};
use std::collections::BTreeMap;

/// Bytes that are kept from one run to the next, which nothing shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The model in C, or all models whose interpreters share an allocator of TFLM.
    pub models: Vec<usize>,
    /// The memory.
    pub memory: usize,
    /// Bytes, on a 32-bit device with the margin, and on a 64-bit computer.
    pub bytes: TflmArena,
}

/// What all models of a device keep: first those in C, then the allocators of TFLM.
///
/// Interpreters share an allocator if they keep what they need in the same memory and never run at the same time: TFLM
/// resets the notes of the allocator after each operator.
pub(crate) fn kept(app: &App, models: &[PlannedModel]) -> Vec<Kept> {
    let mut kept = Vec::new();
    let mut allocators: BTreeMap<(usize, usize), Vec<(usize, Tail)>> = BTreeMap::new();
    for (model, planned) in models.iter().enumerate() {
        let memory = app.models[model].state;
        match &planned.made {
            Made::Code { .. } | Made::Places(_) => {
                let bytes = TflmArena { arm32: planned.state(), x86_64: planned.state() };
                kept.push(Kept { models: vec![model], memory, bytes });
            }
            Made::Tflm(tflm) => {
                let runs_beside = |sharing: &[(usize, Tail)]| {
                    sharing.iter().any(|&(other, _)| app.run_together(model, other))
                };
                let number = (0..models.len()).find(|&number| {
                    !allocators.get(&(memory, number)).is_some_and(|sharing| runs_beside(sharing))
                });
                allocators.entry((memory, number.unwrap_or(model))).or_default().push((model, tflm.tail));
            }
        }
    }
    kept.extend(allocators.into_iter().map(|((memory, _), sharing)| {
        let (models, tails): (Vec<usize>, Vec<Tail>) = sharing.into_iter().unzip();
        let (arena, margin) = Tail::needed_together(&tails);
        let bytes = TflmArena { arm32: arena.arm32 + margin, x86_64: arena.x86_64 + margin };
        Kept { models, memory, bytes }
    }));
    kept
}
