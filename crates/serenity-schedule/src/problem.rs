//! The scheduling problem.
//!
//! A problem has ops `0..n` and buffers. A buffer is in use from the first of its writers until the last of its readers. For a
//! set `X` of ops already run,
//!
//! ```text
//! f(X)       = sum of the sizes of all buffers in use after X
//! during(X,u) = f(X) + sizes that u brings to life
//! f(X + u)   = during(X,u) - sizes that u lets go
//! peak       = the largest `during`, and f of the empty set
//! ```
//!
//! f depends on the set alone, not on the order in which it ran. All algorithms here rest on that.

mod before;
mod buffers;

use before::Before;
use buffers::{largest_working_set, merged};

use crate::bits;
use crate::effects::Effects;
use crate::hand_over::{HandOver, HandOvers};
use crate::walk::{Waiting, Walk};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An operation: its index in the caller's numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpIndex(pub u32);

impl OpIndex {
    /// The index into an array with one entry per op.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Memory that is in use from the first of its writers until the last of its readers.
///
/// If there is one writer, all other readers wait for it. If there are several, the edges given to [`Problem::new`]
/// must put ops that only read behind all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The size in bytes.
    pub bytes: u64,
    /// The ops that write it: it is allocated when the first of them runs.
    pub writers: Vec<OpIndex>,
    /// The ops that read it: it is freed when the last of them has run. A writer that no edge, or chain of edges
    /// through other writers, puts before a reader counts as a reader too, so that nothing is freed before it is
    /// written.
    pub readers: Vec<OpIndex>,
    /// Is it in use before the first op? Then `writers` is ignored.
    pub from_start: bool,
    /// Is it in use after the last op? Then `readers` only says which ops wait for the writer and need it beside their
    /// own buffers.
    pub to_end: bool,
}

impl Buffer {
    /// A buffer that is written by one op and read by some others; if by none, it is freed as soon as its writer is
    /// done.
    pub fn produced(bytes: u64, writer: OpIndex, readers: impl IntoIterator<Item = OpIndex>) -> Self {
        let readers: Vec<OpIndex> = readers.into_iter().collect();
        let readers = if readers.is_empty() { vec![writer] } else { readers };
        Self { bytes, writers: vec![writer], readers, from_start: false, to_end: false }
    }

    /// A buffer that is in use before the first op, until its last reader.
    pub fn given(bytes: u64, readers: impl IntoIterator<Item = OpIndex>) -> Self {
        let readers = readers.into_iter().collect();
        Self { bytes, writers: Vec::new(), readers, from_start: true, to_end: false }
    }

    /// This buffer, in use after the last op too.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { to_end: true, ..self }
    }
}

/// Why a description is not a scheduling problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// An op is out of range.
    #[error("op {op} does not exist: there are {ops} ops")]
    UnknownOp {
        /// The index of the op.
        op: u32,
        /// The number of ops.
        ops: u32,
    },
    /// A buffer has no writer, or no reader, and is not kept from the start or to the end.
    #[error("buffer {buffer} has no {missing}")]
    Unbounded {
        /// The index of the buffer.
        buffer: usize,
        /// `writer` or `reader`.
        missing: &'static str,
    },
    /// A reader that nothing puts behind a writer.
    #[error(
        "op {op} reads a buffer of several writers, but no edge puts it behind one of them or behind another reader"
    )]
    ReadsTooEarly {
        /// The op that reads.
        op: u32,
    },
    /// Ops wait for each other.
    #[error("the ops wait for each other in a cycle; op {op} is on it or behind it")]
    Cycle {
        /// One op that can never run.
        op: u32,
    },
    /// A hand-over of buffers that are not handed over by its op.
    #[error(
        "hand-over {hand_over} is none: its op must be the only writer of the new buffer and read the old one, which has one writer at most, and both must have one size"
    )]
    NoHandOver {
        /// The index of the hand-over.
        hand_over: usize,
    },
    /// The sizes add up to more than fits in 63 bits.
    #[error("the buffer sizes add up to more than 2^63 - 1 bytes")]
    SizeOverflow,
}

/// Memory in use around one op of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes in use while it runs.
    pub during: u64,
    /// Bytes in use after it.
    pub after: u64,
}

/// Ops, their precedence, and buffers.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) ops: u32,
    pub(crate) predecessors: Vec<Vec<u32>>,
    pub(crate) successors: Vec<Vec<u32>>,
    pub(crate) buffers: Vec<Buffer>,
    /// For each op the buffers it may bring to life, and those it may let go.
    pub(crate) writes: Vec<Vec<u32>>,
    pub(crate) reads: Vec<Vec<u32>>,
    effects: Effects,
    /// What ops save, if they run late enough.
    pub(crate) hand_overs: HandOvers,
    /// Bytes in use from before the first op to after the last.
    pub(crate) base: u64,
    /// The most that one op needs for what it reads and writes, buffers in use to the end included: the lists above forget who
    /// reads those. 0 in a problem that was derived from another.
    pub(crate) largest_working_set: u64,
    pub(crate) topological: Vec<u32>,
}

impl Problem {
    /// A problem of `ops` operations. Readers of a buffer with one writer wait for it; `edges` (first, then second)
    /// adds what buffers do not say. For a buffer with several writers they must say everything: readers times writers
    /// would be too many.
    ///
    /// # Errors
    /// See [`ProblemError`].
    pub fn new(
        ops: u32,
        buffers: Vec<Buffer>,
        edges: impl IntoIterator<Item = (OpIndex, OpIndex)>,
    ) -> Result<Self, ProblemError> {
        Self::with_hand_overs(ops, buffers, &[], edges)
    }

    /// A problem whose ops may write some buffers over others.
    ///
    /// # Errors
    /// See [`ProblemError`].
    pub fn with_hand_overs(
        ops: u32,
        mut buffers: Vec<Buffer>,
        hand_overs: &[HandOver],
        edges: impl IntoIterator<Item = (OpIndex, OpIndex)>,
    ) -> Result<Self, ProblemError> {
        let check = |op: OpIndex| {
            if op.0 < ops { Ok(()) } else { Err(ProblemError::UnknownOp { op: op.0, ops }) }
        };
        let mut predecessors = vec![Vec::new(); ops as usize];
        for (first, second) in edges {
            check(first)?;
            check(second)?;
            predecessors[second.index()].push(first.0);
        }
        let mut sum = 0_u64;
        for (index, buffer) in buffers.iter_mut().enumerate() {
            buffer.writers.iter().chain(&buffer.readers).try_for_each(|&op| check(op))?;
            if buffer.writers.is_empty() && !buffer.from_start {
                return Err(ProblemError::Unbounded { buffer: index, missing: "writer" });
            }
            if buffer.readers.is_empty() && !buffer.to_end {
                return Err(ProblemError::Unbounded { buffer: index, missing: "reader" });
            }
            sum = sum
                .checked_add(buffer.bytes)
                .filter(|&s| i64::try_from(s).is_ok())
                .ok_or(ProblemError::SizeOverflow)?;
            for ops in [&mut buffer.writers, &mut buffer.readers] {
                ops.sort_unstable();
                ops.dedup();
            }
            if buffer.from_start {
                buffer.writers.clear();
            }
            if let [writer] = buffer.writers[..] {
                for reader in buffer.readers.iter().filter(|&&reader| reader != writer) {
                    predecessors[reader.index()].push(writer.0);
                }
            }
        }
        let is_hand_over = |hand_over: &HandOver| {
            let (new, old) = (buffers.get(hand_over.new), buffers.get(hand_over.old));
            new.zip(old).is_some_and(|(new, old)| {
                hand_over.new != hand_over.old
                    && new.writers == [hand_over.op]
                    && old.writers.len() < 2
                    && old.readers.contains(&hand_over.op)
                    && new.bytes == old.bytes
            })
        };
        if let Some(hand_over) = hand_overs.iter().position(|hand_over| !is_hand_over(hand_over)) {
            return Err(ProblemError::NoHandOver { hand_over });
        }
        let hand_overs = if hand_overs.is_empty() {
            HandOvers::default()
        } else {
            let precedence = Self::assemble(predecessors.clone(), Vec::new(), 0);
            let before = Before::new(&precedence);
            HandOvers::settle(hand_overs, &mut buffers, |others, op| before.have_run(others, op))
        };
        let largest_working_set = largest_working_set(ops, &buffers, &hand_overs);
        let mut problem =
            Self { hand_overs, largest_working_set, ..Self::assemble(predecessors, buffers, 0) };
        let mut can_run = vec![false; ops as usize];
        for &op in &problem.topological {
            can_run[op as usize] = true;
        }
        if let Some(op) = (0..ops).find(|&op| !can_run[op as usize]) {
            return Err(ProblemError::Cycle { op });
        }
        problem.check_readers()?;
        problem.hold_while_written();
        Ok(problem)
    }

    /// Whoever reads a buffer of several writers must come behind one of them: else it would read what is not there.
    fn check_readers(&self) -> Result<(), ProblemError> {
        let mut position = vec![0; self.len()];
        for (at, &op) in self.topological.iter().enumerate() {
            position[op as usize] = at;
        }
        // The buffer for which an op was last found to come behind a writer.
        let mut behind = vec![usize::MAX; self.len()];
        for (b, buffer) in self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.writers.len() > 1) {
            // A walk goes no further than the last reader: else a long chain would be walked anew for every buffer of it.
            let last = buffer.readers.iter().map(|reader| position[reader.index()]).max().unwrap_or(0);
            let mut open: Vec<u32> = buffer.writers.iter().map(|op| op.0).collect();
            while let Some(op) = open.pop() {
                if behind[op as usize] != b && position[op as usize] <= last {
                    behind[op as usize] = b;
                    open.extend(&self.successors[op as usize]);
                }
            }
            if let Some(early) = buffer.readers.iter().find(|reader| behind[reader.index()] != b) {
                return Err(ProblemError::ReadsTooEarly { op: early.0 });
            }
        }
        Ok(())
    }

    /// Makes readers of the writers that nothing puts before a reader: their buffer must not go before they have run.
    fn hold_while_written(&mut self) {
        // The buffer for which an op was last found to run no later than some reader.
        let mut held_for = vec![u32::MAX; self.len()];
        let mut is_changed = false;
        for b in 0..self.buffers.len() as u32 {
            let buffer = &self.buffers[b as usize];
            if buffer.writers.len() < 2 || buffer.to_end {
                continue;
            }
            for reader in &buffer.readers {
                held_for[reader.index()] = b;
            }
            let mut late = Vec::new();
            // Writers are in topological order: from the back, those that a chain leads through come first.
            for &writer in buffer.writers.iter().rev() {
                let is_held = |op: &u32| held_for[*op as usize] == b;
                if !is_held(&writer.0) && !self.successors[writer.index()].iter().any(is_held) {
                    late.push(writer);
                }
                held_for[writer.index()] = b;
            }
            is_changed |= !late.is_empty();
            for writer in late {
                self.reads[writer.index()].push(b);
                self.buffers[b as usize].readers.push(writer);
            }
        }
        if is_changed {
            self.index_buffers();
        }
    }

    /// Lays out what follows from the writers and readers of every buffer, and puts them in topological order. Whoever
    /// asks whether some writer or all readers have run is then answered by the first of the former, or the last of the
    /// latter, most of the time.
    fn index_buffers(&mut self) {
        self.effects = Effects::new(&self.writes, &self.reads, &self.buffers);
        let mut position = vec![0; self.len()];
        for (i, &op) in (0_u32..).zip(&self.topological) {
            position[op as usize] = i;
        }
        for buffer in &mut self.buffers {
            buffer.writers.sort_unstable_by_key(|op| position[op.index()]);
            buffer.readers.sort_unstable_by_key(|op| position[op.index()]);
        }
    }

    /// Derives everything else from precedence and buffers, whose lists name no op twice. Buffers that cost nothing are dropped,
    /// buffers that are always in use become part of the base.
    pub(crate) fn assemble(mut predecessors: Vec<Vec<u32>>, buffers: Vec<Buffer>, base: u64) -> Self {
        let ops = predecessors.len() as u32;
        for list in &mut predecessors {
            list.sort_unstable();
            list.dedup();
        }
        let mut successors = vec![Vec::new(); ops as usize];
        for (op, list) in predecessors.iter().enumerate() {
            for &p in list {
                successors[p as usize].push(op as u32);
            }
        }
        let mut problem = Self {
            ops,
            topological: Vec::new(),
            predecessors,
            successors,
            buffers: Vec::new(),
            writes: vec![Vec::new(); ops as usize],
            reads: vec![Vec::new(); ops as usize],
            effects: Effects::default(),
            hand_overs: HandOvers::default(),
            base,
            largest_working_set: 0,
        };
        for buffer in merged(buffers) {
            problem.add_buffer(buffer);
        }
        problem.topological = problem.lowest_index_first();
        problem.index_buffers();
        problem
    }

    fn add_buffer(&mut self, mut buffer: Buffer) {
        if buffer.bytes == 0 {
            return;
        }
        if buffer.from_start {
            buffer.writers.clear();
        }
        if buffer.to_end {
            buffer.readers.clear();
        }
        if buffer.from_start && buffer.to_end {
            self.base += buffer.bytes;
            return;
        }
        let id = self.buffers.len() as u32;
        for (ops, by_op) in [(&buffer.writers, &mut self.writes), (&buffer.readers, &mut self.reads)] {
            for op in ops {
                by_op[op.index()].push(id);
            }
        }
        self.buffers.push(buffer);
    }

    /// The number of ops.
    pub fn len(&self) -> usize {
        self.ops as usize
    }

    /// Are there no ops?
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// The topological order that always runs the ready op of the lowest index: the given numbering where that can run.
    pub(crate) fn lowest_index_first(&self) -> Vec<u32> {
        let mut waiting = Waiting::new(self);
        let mut ready: BinaryHeap<Reverse<u32>> = waiting.ready().map(Reverse).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(Reverse(op)) = ready.pop() {
            order.push(op);
            waiting.run(self, op, |next| ready.push(Reverse(next)));
        }
        order
    }

    pub(crate) fn words(&self) -> usize {
        bits::words_for(self.len())
    }

    /// The ops that wait for nothing.
    pub(crate) fn sources(&self) -> Vec<u64> {
        let mut set = vec![0; self.words()];
        for op in (0..self.ops).filter(|&op| self.predecessors[op as usize].is_empty()) {
            bits::insert(&mut set, op);
        }
        set
    }

    /// f of the empty set.
    pub(crate) fn at_start(&self) -> u64 {
        self.base + self.buffers.iter().filter(|b| b.from_start).map(|b| b.bytes).sum::<u64>()
    }

    /// f of the full set.
    pub(crate) fn at_end(&self) -> u64 {
        self.base + self.buffers.iter().filter(|b| b.to_end).map(|b| b.bytes).sum::<u64>()
    }

    /// f of a set of ops that can have run.
    pub(crate) fn in_use_after(&self, done: &[u64]) -> u64 {
        let in_use = |buffer: &&Buffer| {
            (buffer.from_start || buffer.writers.iter().any(|w| bits::contains(done, w.0)))
                && (buffer.to_end || buffer.readers.iter().any(|r| !bits::contains(done, r.0)))
        };
        self.base + self.buffers.iter().filter(in_use).map(|b| b.bytes).sum::<u64>()
    }

    /// The problem with time running backwards: an order has the same peak as its reverse has here.
    ///
    /// What must run before runs after, what brings to life lets go. With `X` the ops run so far, `f` here is `f` of
    /// the others there, and `during(X, u) = f(X) + allocated = f(X + u) + freed` is the same in both directions.
    pub(crate) fn reversed(&self) -> Self {
        let turned = |buffer: &Buffer| Buffer {
            bytes: buffer.bytes,
            writers: buffer.readers.clone(),
            readers: buffer.writers.clone(),
            from_start: buffer.to_end,
            to_end: buffer.from_start,
        };
        Self::assemble(self.successors.clone(), self.buffers.iter().map(turned).collect(), self.base)
    }

    /// Bytes that `op` brings to life if `done` have run before, less those that it writes over what it lets go.
    #[inline]
    pub(crate) fn allocated(&self, done: &[u64], op: u32) -> u64 {
        self.effects.allocated(done, op) - self.hand_overs.saved(done, op)
    }

    /// Bytes that `op` lets go if `done` have run before, less those that it writes over.
    #[inline]
    pub(crate) fn freed(&self, done: &[u64], op: u32) -> u64 {
        self.effects.freed(done, op) - self.hand_overs.saved(done, op)
    }

    /// The problem in which nothing is written over anything but what is settled. Its orders peak no lower.
    pub(crate) fn without_hand_overs(&self) -> Self {
        Self { hand_overs: HandOvers::default(), ..self.clone() }
    }

    /// Updates the set of ready ops after `op` has run; `done` already contains it.
    pub(crate) fn advance(&self, done: &[u64], ready: &mut [u64], op: u32) {
        bits::remove(ready, op);
        for &s in &self.successors[op as usize] {
            if self.predecessors[s as usize].iter().all(|&p| bits::contains(done, p)) {
                bits::insert(ready, s);
            }
        }
    }

    /// Memory in use around each op of an order.
    ///
    /// # Panics
    /// If `order` names an op that does not exist, or is not an order in which the ops can run.
    pub fn profile(&self, order: &[OpIndex]) -> Vec<Step> {
        let mut walk = Walk::new(self);
        order.iter().map(|op| walk.run(op.0)).collect()
    }

    /// The peak of an order.
    ///
    /// # Panics
    /// As [`profile`](Self::profile).
    pub fn peak(&self, order: &[OpIndex]) -> u64 {
        self.profile(order).iter().map(|s| s.during).fold(self.at_start(), u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named() {
        let op = OpIndex;
        let new = |buffers, edges: &[(u32, u32)]| {
            Problem::new(2, buffers, edges.iter().map(|&(a, b)| (op(a), op(b)))).map(|_| ()).unwrap_err()
        };
        assert_eq!(new(vec![], &[(0, 2)]), ProblemError::UnknownOp { op: 2, ops: 2 });
        assert_eq!(new(vec![], &[(0, 1), (1, 0)]), ProblemError::Cycle { op: 0 });
        assert_eq!(
            new(vec![Buffer { writers: vec![], ..Buffer::produced(1, op(0), []) }], &[]),
            ProblemError::Unbounded { buffer: 0, missing: "writer" }
        );
        assert_eq!(
            new(vec![Buffer::given(1, [])], &[]),
            ProblemError::Unbounded { buffer: 0, missing: "reader" }
        );
        assert_eq!(new(vec![Buffer::given(u64::MAX, [op(0)])], &[]), ProblemError::SizeOverflow);
    }

    /// A buffer that several ops write and one reads.
    fn shared(writers: &[u32], reader: u32) -> Buffer {
        let writers = writers.iter().copied().map(OpIndex).collect();
        Buffer { writers, ..Buffer::produced(7, OpIndex(0), [OpIndex(reader)]) }
    }

    #[test]
    fn a_reader_that_may_come_before_all_writers_is_refused() {
        let (op, shared) = (OpIndex, shared(&[0, 1], 2));
        let error = Problem::new(3, vec![shared.clone()], []).map(|_| ()).unwrap_err();
        assert_eq!(error, ProblemError::ReadsTooEarly { op: 2 });
        assert!(Problem::new(3, vec![shared], [(op(0), op(2))]).is_ok());
    }

    #[test]
    fn a_buffer_of_several_writers_counts_once() {
        let op = OpIndex;
        let edges = [(op(0), op(2)), (op(1), op(2))];
        let problem = Problem::new(3, vec![shared(&[0, 1], 2)], edges).unwrap();
        let after: Vec<u64> = problem.profile(&[op(1), op(0), op(2)]).iter().map(|s| s.after).collect();
        assert_eq!(after, [7, 7, 0]);
        assert_eq!(problem.buffers[0].readers, [op(2)]);
    }

    #[test]
    fn a_buffer_is_held_until_its_last_writer_has_run() {
        let op = OpIndex;
        // 0 -> 1 -> 3: a chain through another writer leads to the reader. Nothing puts 2 before it.
        let edges = [(op(0), op(1)), (op(1), op(3))];
        let problem = Problem::new(4, vec![shared(&[0, 1, 2], 3)], edges).unwrap();
        assert_eq!(problem.buffers[0].readers.iter().map(|r| r.0).collect::<Vec<_>>(), [2, 3]);
        let after =
            |order: [u32; 4]| problem.profile(&order.map(op)).iter().map(|s| s.after).collect::<Vec<_>>();
        assert_eq!(after([0, 1, 3, 2]), [7, 7, 7, 0]);
        assert_eq!(after([2, 0, 1, 3]), [7, 7, 7, 0]);
    }

    #[test]
    fn many_writers_and_many_readers_do_not_multiply() {
        let side = 10_000;
        let shared = Buffer {
            bytes: 1,
            writers: (0..side).map(OpIndex).collect(),
            readers: (side + 1..2 * side).map(OpIndex).collect(),
            from_start: false,
            to_end: false,
        };
        let waist = OpIndex(side);
        let edges =
            (0..side).map(|w| (OpIndex(w), waist)).chain((side + 1..2 * side).map(|r| (waist, OpIndex(r))));
        let problem = Problem::new(2 * side, vec![shared], edges).unwrap();
        assert_eq!(problem.predecessors.iter().map(Vec::len).sum::<usize>(), 2 * side as usize - 1);
    }

    #[test]
    fn the_simple_bound_knows_who_reads_a_result() {
        let op = OpIndex;
        let result = Buffer::produced(10, op(0), [op(2)]).kept();
        let problem = Problem::new(
            3,
            vec![result, Buffer::produced(5, op(1), [op(2)]), Buffer::produced(3, op(2), [])],
            [],
        );
        assert_eq!(crate::bounds::simple(&problem.unwrap()), 18);
    }

    #[test]
    fn who_reads_what_is_kept_of_several_writers_may_run_first() {
        let op = OpIndex;
        let kept = Buffer { writers: vec![op(0), op(1)], ..Buffer::produced(10, op(0), [op(2)]).kept() };
        let problem = Problem::new(4, vec![kept, Buffer::produced(20, op(2), [op(3)])], []).unwrap();
        let found = crate::schedule(&problem, &crate::Options::default());
        assert_eq!((found.peak, found.bound), (20, 20));
    }
}
