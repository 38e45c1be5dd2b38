//! What counts as memory: the definitions under which the paper's figures come out.
//!
//! The paper does not spell them out; they were found by fitting its figures. TensorFlow Lite's side runs Kahn's order,
//! copies at every concatenation, keeps graph inputs, and places tensors in its arena of 2019. The scheduled side takes
//! a concatenation for a view of its pieces, lets inputs go after their last reader, and uses the same arena. A factor
//! between the two sides mixes all of that.

use serenity::arena::{self, Limits, Planner, Problem};
use serenity::ir::{Graph, OpId, Profile};
use serenity::memories;
use serenity::runtimes::{Content, MemoryModel, MemoryModelExt};
use serenity::schedule::Algorithm;
use serenity::{Error, Plan, schedule};

/// A concatenation copies its pieces.
pub(crate) const COPIES: MemoryModel = MemoryModel::Plain;
/// A concatenation is a view of its pieces, and partial results accumulate in place.
pub(crate) const VIEWS: MemoryModel = MemoryModel::Paper;

/// The alignment of the arena of 2019.
const ALIGNMENT: u64 = 64;

/// The work after which an exact placement takes what it has: some ten seconds, which no cell needs.
const MOST_WORK: u64 = 100_000_000;

/// What happens to graph inputs after their last reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// They stay to the end.
    Kept,
    /// Their memory is used again.
    Freed,
}

/// A graph with an order, under one meaning of a concatenation.
pub(crate) struct Run<'a> {
    pub(crate) graph: &'a Graph,
    model: MemoryModel,
    pub(crate) order: Vec<OpId>,
}

impl<'a> Run<'a> {
    /// In the order of Kahn, first in, first out: what the paper takes for TensorFlow Lite's.
    pub(crate) fn kahn(graph: &'a Graph, model: MemoryModel) -> Result<Self, Error> {
        let order = plan(graph, model, Algorithm::Kahn)?.order;
        Ok(Self { graph, model, order })
    }

    /// In an order of least live sum.
    pub(crate) fn best(graph: &'a Graph, model: MemoryModel) -> Result<Self, Error> {
        let order = plan(graph, model, Algorithm::Exact)?.order;
        Ok(Self { graph, model, order })
    }

    /// In this order, which must be one of the graph.
    pub(crate) fn in_order(graph: &'a Graph, model: MemoryModel, order: Vec<OpId>) -> Self {
        Self { graph, model, order }
    }

    /// What a concatenation is.
    pub(crate) fn model(&self) -> MemoryModel {
        self.model
    }

    /// Memory over time as the sum of all live tensors.
    pub(crate) fn profile(&self) -> Profile {
        self.model.lifetimes(self.graph).profile(&self.order)
    }

    /// The peak as the sum of all live tensors.
    pub(crate) fn live_sum(&self) -> u64 {
        self.profile().peak()
    }

    /// The arena of 2019.
    pub(crate) fn old_arena(&self, inputs: Inputs) -> Result<u64, Error> {
        Ok(self.place(Planner::SimpleArena, ALIGNMENT, inputs)?.1.height)
    }

    pub(crate) fn least_arena(&self) -> Result<u64, Error> {
        Ok(self.place(Planner::Exact, 1, Inputs::Freed)?.1.height)
    }

    /// The topmost byte in use of the arena of 2019, at every step.
    pub(crate) fn old_arena_over_time(&self, inputs: Inputs) -> Result<Vec<u64>, Error> {
        let (problem, placement) = self.place(Planner::SimpleArena, ALIGNMENT, inputs)?;
        let top = |step: i64| {
            let placed = problem.buffers().iter().zip(&placement.offsets);
            let live = placed.filter(|(buffer, _)| (buffer.lower..buffer.upper).contains(&step));
            live.map(|(buffer, offset)| offset + buffer.size).max().unwrap_or(0)
        };
        Ok((0..self.order.len() as i64).map(top).collect())
    }

    fn place(
        &self,
        planner: Planner,
        alignment: u64,
        inputs: Inputs,
    ) -> Result<(Problem, arena::Placement), Error> {
        let no_arena = || Error::from(memories::Error::NoArena { graph: self.graph.name().to_owned() });
        let arena = self.model.placement_problem(&[self.graph], &[&self.order]).ok_or_else(no_arena)?;
        let mut buffers = arena.problem.buffers().to_vec();
        if inputs == Inputs::Kept {
            for (buffer, content) in buffers.iter_mut().zip(&arena.contents) {
                if let Content::Tensor { tensor, .. } = content
                    && self.graph.is_input(*tensor)
                {
                    buffer.upper = self.order.len() as i64;
                }
            }
        }
        let problem = Problem::new(buffers, alignment).map_err(|_| no_arena())?;
        let limits = Limits { work: Some(MOST_WORK), ..Limits::default() };
        let options = arena::Options { limits, ..arena::Options::new(planner) };
        let placement = arena::place(&problem, &options);
        Ok((problem, placement))
    }
}

/// An order by this algorithm.
pub(crate) fn plan(graph: &Graph, model: MemoryModel, algorithm: Algorithm) -> Result<Plan, Error> {
    Ok(schedule(graph, &serenity::Options { model, algorithm, ..serenity::Options::default() })?)
}

/// A network of the zoo.
pub(crate) fn build(spec: &str) -> Result<Graph, Error> {
    serenity::zoo::build(spec).map_err(|source| Error::Zoo { spec: spec.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit of the DARTS cell.
    const U: u64 = 28 * 28 * 48 * 4;

    #[test]
    fn tensorflow_lites_side_is_the_papers() {
        for (spec, bytes) in
            [("darts-cell", 11 * U), ("swiftnet-a", 551_936), ("swiftnet-b", 194_432), ("swiftnet-c", 69_920)]
        {
            let graph = build(spec).unwrap();
            let run = Run::kahn(&graph, COPIES).unwrap();
            assert_eq!(run.old_arena(Inputs::Kept).unwrap(), bytes, "{spec}");
        }
    }

    #[test]
    fn the_scheduled_side_is_the_papers() {
        for (spec, live, arena) in
            [("darts-cell", 6 * U, 6 * U), ("swiftnet-a", 200_704, 250_880), ("swiftnet-b", 75_264, 81_536)]
        {
            let graph = build(spec).unwrap();
            let run = Run::best(&graph, VIEWS).unwrap();
            assert_eq!((run.live_sum(), run.least_arena().unwrap()), (live, live), "{spec}");
            assert_eq!(run.old_arena(Inputs::Freed).unwrap(), arena, "{spec}");
        }
    }

    #[test]
    fn over_time_the_arena_reaches_its_height_and_never_lies_below_the_live_sum() {
        let graph = build("swiftnet-c").unwrap();
        let run = Run::best(&graph, VIEWS).unwrap();
        let over_time = run.old_arena_over_time(Inputs::Freed).unwrap();
        assert_eq!(over_time.iter().max(), Some(&run.old_arena(Inputs::Freed).unwrap()));
        assert!(over_time.iter().zip(&run.profile().steps).all(|(top, step)| *top >= step.during));
    }
}
