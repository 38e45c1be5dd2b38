//! The steps of a stream: always the deepest operator that can run.
//!
//! The lowest row that the readers of a line still need never decreases, so the rows that live follow each other, and a
//! ring of as many rows as ever live at once, with row `r` at `r` modulo that number, never loses one that is needed.
//! How many live at once is counted by running the steps.

use super::prefix::{Prefix, Rule, StreamOp};
use super::{Form, Rows, Step};
use std::collections::BTreeSet;

/// What following a stream tells.
pub(super) struct Followed {
    pub(super) steps: Vec<Step>,
    /// Rows that each ring must have room for.
    pub(super) held: Vec<i64>,
    /// The operators that run while a new row of the line lies in its buffer, besides the one that makes it.
    pub(super) fresh: Vec<BTreeSet<usize>>,
    pub(super) macs: Vec<u64>,
}

struct Follower<'p> {
    prefix: &'p Prefix,
    form: Form,
    /// Rows of each line so far.
    made: Vec<i64>,
    /// Does the newest row of the line lie in its buffer, and does something still need it?
    fresh: Vec<bool>,
    found: Followed,
}

pub(super) fn follow(prefix: &Prefix, form: Form, rows: Rows) -> Followed {
    let lines = prefix.shapes.len();
    let (steps, macs) = (Vec::new(), Vec::new());
    let found = Followed { steps, held: vec![0; lines], fresh: vec![BTreeSet::new(); lines], macs };
    let mut follower = Follower { prefix, form, made: vec![0; lines], fresh: vec![false; lines], found };
    match rows {
        Rows::Pushed => {
            for _ in 0..prefix.shapes[0].rows {
                follower.found.steps.push(Step::Push);
                follower.make(0);
                follower.run_all();
                follower.keep_all_but(&[]);
            }
        }
        Rows::Resident => {
            follower.made[0] = prefix.shapes[0].rows;
            follower.run_all();
            follower.found.held[0] = prefix.shapes[0].rows;
        }
    }
    follower.found
}

impl Prefix {
    /// Does the tensor of a line exist as a whole, or as the sums of all rows?
    pub(super) fn is_whole(&self, line: usize) -> bool {
        self.leaving.contains(&line)
    }
}

impl Follower<'_> {
    fn run_all(&mut self) {
        let mut macs = 0;
        while let Some(op) = (0..self.prefix.ops.len()).rev().find(|&op| self.can_run(op)) {
            let one = &self.prefix.ops[op];
            self.keep_all_but(&one.reads);
            for &line in one.reads.iter().filter(|&&line| self.fresh[line]) {
                self.found.fresh[line].insert(op);
            }
            self.found.steps.push(Step::Run(op));
            self.make(op + 1);
            for &line in &one.reads {
                self.fresh[line] &= self.low(line) < self.made[line];
            }
            macs += one.macs;
        }
        self.found.macs.push(macs);
    }

    fn can_run(&self, op: usize) -> bool {
        let StreamOp { ref reads, rule, .. } = self.prefix.ops[op];
        let row = self.made[op + 1];
        row < self.prefix.shapes[op + 1].rows
            && reads.iter().all(|&line| self.made[line] >= rule.needs(row, self.prefix.shapes[line].rows).1)
    }

    /// The lowest row of a line that a reader still needs.
    fn low(&self, line: usize) -> i64 {
        let rows = self.prefix.shapes[line].rows;
        let readers = (0..self.prefix.ops.len()).filter(|&op| self.prefix.ops[op].reads.contains(&line));
        let open = readers.filter(|&op| self.made[op + 1] < self.prefix.shapes[op + 1].rows);
        open.map(|op| self.prefix.ops[op].rule.needs(self.made[op + 1], rows).0).min().unwrap_or(rows)
    }

    /// The next row of a line comes to be.
    fn make(&mut self, line: usize) {
        self.made[line] += 1;
        if self.prefix.is_whole(line) {
            let is_sum = self.prefix.ops[line - 1].rule == Rule::Sum;
            self.found.held[line] = if is_sum { 1 } else { self.prefix.shapes[line].rows };
        } else if self.form == Form::Tight {
            self.fresh[line] = self.low(line) < self.made[line];
        } else {
            self.hold(line);
        }
    }

    /// The newest row of a line needs room in its ring, with those that live.
    fn hold(&mut self, line: usize) {
        let live = (self.made[line] - self.low(line)).max(1);
        self.found.held[line] = self.found.held[line].max(live);
    }

    /// Moves new rows from the buffers to their rings.
    fn keep_all_but(&mut self, lines: &[usize]) {
        for line in (0..self.fresh.len()).filter(|line| !lines.contains(line)) {
            if std::mem::take(&mut self.fresh[line]) {
                self.hold(line);
                self.found.steps.push(Step::Keep(line));
            }
        }
    }
}
