//! Computes, once ahead of a loop, the rows that its first iteration takes as carried.

use super::{Body, Lines};
use crate::program::{Step, Stripe, StripeId};
use crate::rows::{RowLocal, Rows, Sliding};
use serenity_ir::TensorId;
use std::collections::BTreeMap;

/// The first rows of tensors, computed ahead of the loop.
pub(super) struct Ahead<'b, 'l> {
    body: &'b mut Body<'l>,
    /// How many rows of each tensor.
    wanted: BTreeMap<TensorId, i64>,
    held: BTreeMap<TensorId, StripeId>,
    pub(super) steps: Vec<Step>,
    /// Per carry: what it begins as.
    pub(super) begun: Vec<Option<StripeId>>,
}

impl<'b, 'l> Ahead<'b, 'l> {
    pub(super) fn new(body: &'b mut Body<'l>) -> Self {
        let lines = body.lines;
        let mut wanted: BTreeMap<TensorId, i64> = BTreeMap::new();
        for carry in &body.carries {
            let line = lines.of[&carry.like];
            wanted.insert(carry.like, (line.end - line.new).clamp(0, lines.window.height(carry.like)));
        }
        for op in lines.window.ops.iter().rev() {
            let rows = wanted.get(&op.output).copied().unwrap_or(0);
            if rows > 0 {
                let (_, end) = op.rows.needed((0, rows));
                for &input in &op.inputs {
                    let most = end.clamp(0, lines.window.height(input));
                    let known = wanted.entry(input).or_insert(0);
                    *known = (*known).max(most);
                }
            }
        }
        let begun = vec![None; body.carries.len()];
        Self { body, wanted, held: BTreeMap::new(), steps: Vec::new(), begun }
    }

    fn rows_of(&self, tensor: TensorId) -> i64 {
        self.wanted.get(&tensor).copied().unwrap_or(0)
    }

    fn stripe(&mut self, like: TensorId, rows: i64, columns: i64) -> StripeId {
        self.body.stripe(like, rows, columns)
    }

    /// Computes all rows; returns how many multiplications that takes. `None` if some depend on the end of a tensor.
    pub(super) fn run(&mut self) -> Option<i64> {
        let Lines { window, enters, .. } = *self.body.lines;
        let rows = self.rows_of(enters);
        if rows == 0 {
            return Some(0);
        }
        let first = self.stripe(enters, rows, 0);
        self.steps.push(Step::Cut { whole: 0, begins: vec![0], out: first });
        self.held.insert(enters, first);
        let mut macs = 0;
        for (index, op) in window.ops.iter().enumerate() {
            let made = self.rows_of(op.output);
            if made == 0 {
                continue;
            }
            let inputs = op.inputs.iter().map(|&input| self.input(op, input, made)).collect::<Option<_>>()?;
            let is_valid = matches!(op.rows, Rows::Sliding(Sliding { is_same: true, .. }));
            // Rows that are repeated come in groups.
            let times = op.rows.times();
            let rows = (made + times - 1) / times * times;
            let out = self.stripe(op.output, rows, 0);
            self.steps.push(Step::Run { op: index, inputs, out, is_valid });
            self.held.insert(op.output, out);
            macs += op.macs as i64 / window.height(op.output) * rows;
            self.begin(op.output);
        }
        Some(macs)
    }

    /// The first rows of an input that an op needs to make `made` rows, with zero points around them.
    fn input(&mut self, op: &RowLocal, input: TensorId, made: i64) -> Option<StripeId> {
        let (_, end) = op.rows.needed((0, made));
        (end <= self.body.lines.window.height(input)).then_some(())?;
        let (above, sides) = match op.rows {
            Rows::Sliding(Sliding { takes_zero_points: true, top, sides, .. }) => (top, sides),
            _ => (0, [0, 0]),
        };
        let stripe = self.first(input, 0, end);
        Some(self.padded(stripe, above, sides))
    }

    fn first(&mut self, tensor: TensorId, begin: i64, rows: i64) -> StripeId {
        let of = self.held[&tensor];
        if begin == 0 && self.body.stripes[of].rows == rows {
            return of;
        }
        let out = self.stripe(tensor, rows, 0);
        self.steps.push(Step::Rows { of, begins: vec![begin], left: 0, out });
        out
    }

    fn padded(&mut self, of: StripeId, above: i64, sides: [i64; 2]) -> StripeId {
        if (above, sides) == (0, [0, 0]) {
            return of;
        }
        let Stripe { like, rows, .. } = self.body.stripes[of];
        let out = self.stripe(like, above + rows, sides[0] + sides[1]);
        self.steps.push(Step::Widen { of, above, sides, out });
        out
    }

    /// The carried rows of a tensor begin as its last rows so far, below rows of zero points if there are too few.
    fn begin(&mut self, tensor: TensorId) {
        let Some(carry) = self.body.carries.iter().position(|carry| carry.like == tensor) else { return };
        let line = self.body.lines.of[&tensor];
        let (rows, end) = (self.body.carries[carry].rows, line.end - line.new);
        let taken = rows.min(end);
        if taken <= 0 {
            return;
        }
        let stripe = self.first(tensor, end - taken, taken);
        self.begun[carry] = Some(self.padded(stripe, rows - taken, line.sides));
    }
}
