//! The least peak of one problem after another that resemble each other, as an architecture search asks for it.
//!
//! A problem is divided at its cut nodes ([`divide`](crate::divide)); its least peak is the largest of the pieces'.
//! What is known of a piece is kept by its content, whatever memory lies around it and wherever it stands. So after a
//! small change only the pieces that it touches are searched anew, and of those only the ones that may need more than
//! another piece does for certain.

use crate::segment::Stretch;
use crate::{Buffer, Options, Problem, bits, bounds, divide, exact, heuristic, schedule, walk};
use hashbrown::HashTable;
use serenity_search::{Limits, Proof, StopReason, Watch, mix};
use std::cmp::Reverse;

/// Ops of all pieces that are remembered, at most. Then it forgets them all.
const MOST_OPS: usize = 1 << 20;

/// What is known of the least peak of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastPeak {
    /// The peak of the best order found.
    pub bytes: u64,
    /// No order peaks below this.
    pub bound: u64,
    /// Are these the same, and if not, why not?
    pub proof: Proof,
}

/// Tells the least peaks of problems that resemble each other.
///
/// ```
/// use serenity_schedule::{Buffer, OpIndex, Options, Oracle, Problem};
/// let mut oracle = Oracle::new(Options::default());
/// // A chain in which the second op writes more and more.
/// for bytes in [10, 20, 30] {
///     let written = |op, bytes| Buffer::produced(bytes, OpIndex(op), [OpIndex(op + 1)]);
///     let problem = Problem::new(4, vec![written(0, 5), written(1, bytes), written(2, 7)], [])?;
///     assert_eq!(oracle.peak(&problem).bytes, bytes + 7);
/// }
/// # Ok::<(), serenity_schedule::ProblemError>(())
/// ```
#[derive(Debug, Default)]
pub struct Oracle {
    options: Options,
    pieces: Vec<Piece>,
    by_content: HashTable<usize>,
    ops: usize,
}

/// A piece without what is in use all the time, and what is known of it.
#[derive(Debug)]
struct Piece {
    predecessors: Vec<Vec<u32>>,
    buffers: Vec<Buffer>,
    hash: u64,
    upper: u64,
    lower: u64,
}

impl Piece {
    fn new(stretch: Stretch, hash: u64) -> Self {
        let Stretch { predecessors, buffers, .. } = stretch;
        let mut piece = Self { predecessors, buffers, hash, upper: 0, lower: 0 };
        let problem = piece.problem();
        (piece.upper, piece.lower) = (heuristic::best(&problem).1, bounds::simple(&problem));
        piece
    }

    fn is(&self, stretch: &Stretch, hash: u64) -> bool {
        self.hash == hash && self.predecessors == stretch.predecessors && self.buffers == stretch.buffers
    }

    fn problem(&self) -> Problem {
        Problem::assemble(self.predecessors.clone(), self.buffers.clone(), 0)
    }
}

impl Oracle {
    /// One that searches as the options say, always by the exact engine. Their limits hold for all questions together, until
    /// [`Self::limit`] sets others.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Sets the limits of the questions that follow.
    pub fn limit(&mut self, limits: Limits) {
        self.options.limits = limits;
    }

    /// The least peak of all orders of a problem.
    pub fn peak(&mut self, problem: &Problem) -> LeastPeak {
        if !problem.hand_overs.is_empty() {
            let found = schedule(problem, &self.options);
            return LeastPeak { bytes: found.peak, bound: found.bound, proof: found.proof };
        }
        if self.ops + problem.len() > MOST_OPS {
            *self = Self::new(self.options.clone());
        }
        // Each with what is in use around it.
        let mut pieces: Vec<(u64, usize)> = Vec::new();
        let (mut done, mut in_use) = (vec![0; problem.words()], problem.at_start());
        for ops in divide::pieces(problem) {
            let stretch = problem.stretch(&done, in_use, &ops);
            in_use = stretch.at_end();
            for op in ops {
                bits::insert(&mut done, op);
            }
            pieces.push((stretch.base, self.known(stretch)));
        }
        pieces.sort_by_key(|&(around, at)| Reverse(around + self.pieces[at].upper));
        let lower = |oracle: &Self, &(around, at): &(u64, usize)| around + oracle.pieces[at].lower;
        let mut bound = pieces.iter().map(|piece| lower(self, piece)).max().unwrap_or(in_use);
        let (mut bytes, mut stopped) = (bound, None);
        for piece in pieces {
            let (around, at) = piece;
            if stopped.is_none() && around + self.pieces[at].upper > bound {
                stopped = self.search(at);
            }
            bound = bound.max(lower(self, &piece));
            bytes = bytes.max(around + self.pieces[at].upper);
        }
        LeastPeak { bytes, bound, proof: Proof::of(bytes, bound, stopped) }
    }

    /// The place of a piece among those that are known.
    fn known(&mut self, stretch: Stretch) -> usize {
        let hash = hash_of(&stretch);
        if let Some(&at) = self.by_content.find(hash, |&at| self.pieces[at].is(&stretch, hash)) {
            return at;
        }
        let at = self.pieces.len();
        self.ops += stretch.predecessors.len();
        self.pieces.push(Piece::new(stretch, hash));
        self.by_content.insert_unique(hash, at, |&at| self.pieces[at].hash);
        at
    }

    /// Searches one piece, unless that was done.
    fn search(&mut self, at: usize) -> Option<StopReason> {
        let piece = &mut self.pieces[at];
        if piece.lower >= piece.upper {
            return None;
        }
        let problem = piece.problem();
        let mut watch = Watch::new(&self.options.limits, self.options.progress.as_ref());
        let found = exact::search(&problem, &self.options, &mut watch);
        piece.upper = piece.upper.min(walk::peak_of(&problem, &found.order));
        piece.lower = piece.lower.max(found.at_least).min(piece.upper);
        found.stopped
    }
}

/// Equal pieces have equal hashes.
fn hash_of(stretch: &Stretch) -> u64 {
    let mut hash = 0;
    let mut add = |number: u64| hash = mix(hash ^ number);
    for list in &stretch.predecessors {
        add(list.len() as u64);
        for &op in list {
            add(u64::from(op));
        }
    }
    for buffer in &stretch.buffers {
        add(buffer.bytes);
        add(u64::from(buffer.from_start) << 1 | u64::from(buffer.to_end));
        for list in [&buffer.writers, &buffer.readers] {
            add(list.len() as u64);
            for op in list {
                add(u64::from(op.0));
            }
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::testing::{layers, least_peak, problems};

    #[test]
    fn it_tells_what_a_search_from_nothing_finds() {
        let mut oracle = Oracle::new(Options::default());
        for problem in problems().chain(problems()) {
            let least = least_peak(&problem);
            let told = oracle.peak(&problem);
            assert_eq!(told, LeastPeak { bytes: least, bound: least, proof: Proof::Optimal });
        }
    }

    /// Cells one after the other, of which one changes from question to question.
    #[test]
    fn changed_cells_are_searched_and_the_others_known() {
        let mut oracle = Oracle::new(Options::default());
        for turn in 0..40 {
            let cells = (0..6).map(|cell| layers(9, 3, if cell == turn % 6 { 100 + turn } else { cell }));
            let problem = chained(cells);
            let before = oracle.pieces.len();
            let found = schedule(&problem, &Options::default());
            let told = oracle.peak(&problem);
            assert_eq!((told.bytes, told.proof), (found.peak, Proof::Optimal));
            assert!(turn < 6 || oracle.pieces.len() <= before + 12);
        }
        // What a limit cut short is searched when there is time.
        let problem = chained((0..4).map(|cell| layers(12, 4, 200 + cell)));
        let found = schedule(&problem, &Options::default());
        oracle.limit(Limits::default().working(0));
        let cut = oracle.peak(&problem);
        assert!(cut.bound <= found.peak && found.peak <= cut.bytes);
        oracle.limit(Limits::default());
        let whole = LeastPeak { bytes: found.peak, bound: found.peak, proof: Proof::Optimal };
        assert_eq!(oracle.peak(&problem), whole);
    }

    /// One problem behind the other: the first op of the next waits for the last of the one before.
    fn chained(cells: impl Iterator<Item = Problem>) -> Problem {
        let (mut ops, mut buffers, mut edges) = (0, Vec::new(), Vec::new());
        let at = |op: crate::OpIndex, start: u32| crate::OpIndex(op.0 + start);
        for cell in cells {
            let (start, end) = (ops + 1, ops + 1 + cell.ops);
            for op in 0..cell.ops {
                edges.push((crate::OpIndex(ops), crate::OpIndex(start + op)));
                edges.push((crate::OpIndex(start + op), crate::OpIndex(end)));
                let before = &cell.predecessors[op as usize];
                edges.extend(before.iter().map(|&p| (crate::OpIndex(start + p), crate::OpIndex(start + op))));
            }
            for buffer in &cell.buffers {
                let mut buffer = buffer.clone();
                buffer.writers.iter_mut().chain(&mut buffer.readers).for_each(|op| *op = at(*op, start));
                buffers.push(buffer);
            }
            ops = end;
        }
        Problem::new(ops + 1, buffers, edges).unwrap()
    }
}
