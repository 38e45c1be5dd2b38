//! Where the rings of a stream lie, around the tensor that leaves.

use super::follow::{Followed, follow};
use super::prefix::{Prefix, Rule};
use super::{Form, Line, Rows, Stream};
use serenity_arena::{Buffer, Limits, Options, Planner, Problem, place};
use std::collections::BTreeSet;

/// Work to place the rings of a stream: enough for dozens.
pub(super) const WORK: u64 = 200_000;
/// Rings begin at multiples of this, so that elements are aligned.
pub(super) const ALIGNMENT: u64 = 4;

/// A buffer of a line: its ring, or where its new rows lie.
#[derive(Clone, Copy)]
enum Of {
    Ring(usize),
    Newest(usize),
    /// What the last operator makes of sums.
    Result,
}

impl Prefix {
    /// The prefix as a stream whose leaving tensors begin at `leaves`, or anywhere. `None` if there are no places.
    pub fn stream(&self, form: Form, rows: Rows, leaves: Option<&[u64]>) -> Option<Stream> {
        let followed = follow(self, form, rows);
        let (what, buffers): (Vec<Of>, Vec<Buffer>) =
            self.buffers(&followed, form, rows, leaves).into_iter().unzip();
        let problem = Problem::new(buffers, ALIGNMENT).ok()?;
        let limits = Limits::default().working(WORK);
        let placed = place(&problem, &Options { limits, ..Options::new(Planner::Exact) });
        let mut lines: Vec<Line> = self
            .shapes
            .iter()
            .zip(&followed.held)
            .map(|(shape, &held)| Line {
                tensor: shape.tensor,
                rows: shape.rows as u64,
                row_bytes: shape.row_bytes as u64,
                held: held as u64,
                place: 0,
                newest: None,
            })
            .collect();
        let mut result = 0;
        for (of, &offset) in what.iter().zip(&placed.offsets) {
            match *of {
                Of::Ring(line) => lines[line].place = offset,
                Of::Newest(line) => lines[line].newest = Some(offset),
                Of::Result => result = offset,
            }
        }
        let last = self.ops.len();
        let place = |line: usize| if line == last && self.is_sum() { result } else { lines[line].place };
        let leaves = self.leaving.iter().map(|&line| (line, place(line))).collect();
        let Followed { steps, macs, .. } = followed;
        Some(Stream { ops: self.ops.clone(), lines, steps, macs, form, rows, leaves, bytes: placed.height })
    }

    /// A lower bound on the bytes of the stream, wherever its rings lie: all of them at once, and the new rows that the
    /// same operator touches.
    pub fn least(&self, form: Form, rows: Rows) -> u64 {
        let followed = follow(self, form, rows);
        let rings: i64 =
            self.shapes.iter().zip(&followed.held).map(|(shape, held)| shape.row_bytes * held).sum();
        let is_there = |line: usize| self.is_whole(line) || (rows == Rows::Resident && line == 0);
        let is_touched = |line: usize, op: usize| line == op + 1 || followed.fresh[line].contains(&op);
        let new_rows = |op: usize| {
            let lines = (0..self.shapes.len()).filter(|&line| is_touched(line, op) && !is_there(line));
            lines.map(|line| self.shapes[line].row_bytes).sum::<i64>()
        };
        let most = (0..self.ops.len()).map(new_rows).max().filter(|_| form == Form::Tight);
        (rings + most.unwrap_or(0)) as u64
    }

    pub(super) fn is_sum(&self) -> bool {
        self.ops.last().is_some_and(|op| op.rule == Rule::Sum)
    }

    /// What lies in the arena. Buffers of new rows are in use while the operator runs that makes them, and those that
    /// read them there; rings until the last operator ran. Sums, and what is made of them, are alone in the end.
    fn buffers(
        &self,
        followed: &Followed,
        form: Form,
        rows: Rows,
        leaves: Option<&[u64]>,
    ) -> Vec<(Of, Buffer)> {
        let end = self.shapes.len() as i64;
        let last = self.ops.len();
        let is_there = |line: usize| self.is_whole(line) || (rows == Rows::Resident && line == 0);
        let fixed = |line: usize| {
            let number = self.leaving.iter().position(|&leaving| leaving == line)?;
            leaves.and_then(|leaves| leaves.get(number)).copied()
        };
        let at = |buffer: Buffer, line: usize| fixed(line).map_or(buffer, |offset| buffer.at(offset));
        let mut all = Vec::new();
        for (line, (shape, &held)) in self.shapes.iter().zip(&followed.held).enumerate() {
            // What leaves is there when the result is made of sums.
            let until = if self.is_whole(line) { end + 1 } else { end };
            let ring = Buffer::new((held * shape.row_bytes) as u64, 0..until);
            if line == last && self.is_sum() {
                all.push((Of::Ring(line), ring));
                all.push((Of::Result, at(Buffer::new(self.last_bytes, end..end + 1), line)));
            } else if held > 0 {
                all.push((Of::Ring(line), at(ring, line)));
            }
        }
        if form == Form::Tight {
            let times = Times::best(self, &followed.fresh);
            for line in (0..last).filter(|&line| !is_there(line)) {
                let (first, until) = times.of(line);
                let steps = first as i64..until as i64 + 1;
                all.push((Of::Newest(line), Buffer::new(self.shapes[line].row_bytes as u64, steps)));
            }
        }
        all
    }
}

/// A sequence of the operators in which each buffer of new rows is in use from one place to another.
///
/// Two such buffers are in use at once only while an operator runs that touches both, whatever the sequence. As an
/// interval of a sequence a buffer also counts at the places between, so one is searched in which there are few.
pub(super) struct Times<'p> {
    /// By line: bytes of a row, and the operators that touch its new row.
    touched: Vec<(u64, Vec<usize>)>,
    /// The place of each operator; the input comes ahead of all.
    places: Vec<usize>,
    prefix: &'p Prefix,
}

impl<'p> Times<'p> {
    /// `readers` are the operators that read the new row of each line in its buffer.
    pub(super) fn best(prefix: &'p Prefix, readers: &[BTreeSet<usize>]) -> Self {
        let by = |line: usize| line.checked_sub(1).into_iter().chain(readers[line].iter().copied()).collect();
        let touched =
            prefix.shapes.iter().enumerate().map(|(line, shape)| (shape.row_bytes as u64, by(line)));
        let count = prefix.ops.len();
        let mut times = Self { touched: touched.collect(), places: (1..=count).collect(), prefix };
        let mut sequence: Vec<usize> = (0..count).collect();
        let mut least = times.cost();
        // Operators are moved, one at a time, as long as that helps.
        let mut is_better = true;
        while std::mem::take(&mut is_better) {
            for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
                let mut other = sequence.clone();
                let moved = other.remove(from);
                other.insert(to, moved);
                times.arrange(&other);
                let cost = times.cost();
                if cost < least {
                    (least, sequence, is_better) = (cost, other, true);
                }
            }
        }
        times.arrange(&sequence);
        times
    }

    fn arrange(&mut self, sequence: &[usize]) {
        for (place, &op) in sequence.iter().enumerate() {
            self.places[op] = place + 1;
        }
    }

    /// The first and the last place at which the new row of a line is in use.
    pub(super) fn of(&self, line: usize) -> (usize, usize) {
        let places = || self.touched[line].1.iter().map(|&op| self.places[op]);
        let first = if line == 0 { 0 } else { places().min().unwrap_or(0) };
        (first, places().max().unwrap_or(first))
    }

    /// The most bytes at a place, and those at all places.
    fn cost(&self) -> (u64, u64) {
        let mut load = vec![0; self.prefix.ops.len() + 1];
        for line in 0..self.prefix.ops.len() {
            let (first, until) = self.of(line);
            load[first..=until].iter_mut().for_each(|bytes| *bytes += self.touched[line].0);
        }
        (load.iter().copied().max().unwrap_or(0), load.iter().sum())
    }
}
