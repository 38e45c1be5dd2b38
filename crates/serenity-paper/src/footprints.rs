//! What a cell needs under all definitions of memory.

use crate::cells::Cell;
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Inputs, Run, VIEWS, build};
use crate::statistics::Spread;
use crate::{Options, parallel};
use serenity::Error;

/// The memory of one order, in bytes, inputs freed after their last reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The sum of all live tensors: what no allocator can beat.
    pub(crate) live: u64,
    /// TensorFlow Lite's arena of 2019.
    pub(crate) old_arena: u64,
    pub(crate) least_arena: u64,
}

impl Memory {
    fn of(run: &Run) -> Result<Self, Error> {
        Ok(Self {
            live: run.live_sum(),
            old_arena: run.old_arena(Inputs::Freed)?,
            least_arena: run.least_arena()?,
        })
    }
}

/// One network in all ways to run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Kahn's order, copies, inputs kept, the arena of 2019.
    pub(crate) tflite: u64,
    pub(crate) kahn_copies: Memory,
    pub(crate) kahn_views: Memory,
    pub(crate) best_copies: Memory,
    pub(crate) best_views: Memory,
    /// The best order of the rewritten graph, with views.
    pub(crate) rewritten: Memory,
}

impl Footprint {
    fn measure(spec: &str) -> Result<Self, Error> {
        let graph = &build(spec)?;
        let kahn = Run::kahn(graph, COPIES)?;
        Ok(Self {
            tflite: kahn.old_arena(Inputs::Kept)?,
            kahn_copies: Memory::of(&kahn)?,
            kahn_views: Memory::of(&Run::kahn(graph, VIEWS)?)?,
            best_copies: Memory::of(&Run::best(graph, COPIES)?)?,
            best_views: Memory::of(&Run::best(graph, VIEWS)?)?,
            rewritten: Memory::of(&Run::best(&rewritten(graph)?, VIEWS)?)?,
        })
    }
}

/// All networks that stand for a cell: one, or one a seed.
pub(crate) struct Footprints {
    pub(crate) cell: &'static Cell,
    networks: Vec<Footprint>,
}

impl Footprints {
    pub(crate) fn measure(cell: &'static Cell, options: &Options) -> Result<Self, Error> {
        let networks = parallel::map(&cell.specs(options), options.threads, |spec| Footprint::measure(spec))?;
        Ok(Self { cell, networks })
    }

    /// Of some bytes: their median in KB.
    pub(crate) fn kb(&self, of: impl Fn(&Footprint) -> u64) -> f64 {
        self.spread(|f| of(f) as f64 / 1000.0).median
    }

    /// Of a factor between two: how much less the second is.
    pub(crate) fn factor(&self, of: impl Fn(&Footprint) -> (u64, u64)) -> Spread {
        self.spread(|f| {
            let (before, after) = of(f);
            before as f64 / after as f64
        })
    }

    fn spread(&self, of: impl Fn(&Footprint) -> f64) -> Spread {
        Spread::of(self.networks.iter().map(of))
    }

    /// Are there several networks, so that a spread says something?
    pub(crate) fn is_drawn(&self) -> bool {
        self.networks.len() > 1
    }
}
