//! Stripes with line buffers: every row is computed once, and rows that later stripes need are carried.
//!
//! An iteration makes `p` rows of the result. Let a tensor `t` be `f` times coarser than the one that enters, and the
//! result `F` times. Then an iteration makes `n = p F / f` new rows of `t`. In iteration `i` the buffer of `t` holds
//! rows `lo + i n .. E + i n`; the last `n` of them are new, the others carried. Backwards from the result (`E = 0` for
//! now), a reader of `t` that makes rows up to `E'` needs those up to `(E' - 1) s - t + k`, and `E` is the most that
//! any needs; `lo` is the least that any needs.
//!
//! An operator that repeats each row `k` times makes its rows in groups of `k`: `E` is rounded up to whole groups, and
//! `n` is a multiple of `k`, as `n / k` is whole.
//!
//! *Warm-up.* For no row from 0 on to be skipped, the first iteration must begin early: `W = max ⌈E / n⌉` iterations
//! earlier (at least one), in which the rows of the result would be negative. They are written over row 0, which comes
//! later. So there are `H / p + W` iterations.
//!
//! *Rows outside.* A convolution takes rows above and below a tensor for zero points. Here they are rows of a buffer:
//! the carried rows start as zero points, and where an iteration has computed rows that are outside, zero points are
//! written over the `q` of them that a window can reach. Buffers have `q` rows to spare for iterations that have none:
//! one in front of the others, where it may lie over what other buffers have let go by then; several behind them, since
//! rows that are written over at the end of a tensor may be fewer than `q`.
//!
//! *Peeled.* Without warm-up the loop begins with the first rows of the result. What it then takes for carried are rows
//! `0 .. E` of each tensor as far as they are wanted, which are computed once ahead of it: each operator on the first
//! rows of what it reads, with rows of zero points above them. The last iterations still compute rows behind the end of
//! tensors.
//!
//! *Columns outside.* Rows are buffered with the columns of zero points that the operator wants which reads the most of
//! them. So each row is widened once, and that operator reads the buffer itself and no copy. Operators that want no
//! such columns, or others, get a copy of the rows that they read without.
//!
//! *What enters* shares its state with the result if it dies in the window and has the result's type. If not, it is a
//! state of its own, and there is no room around it for rows outside. Then only operators that work row for row may
//! read it, in stripes that are inside or outside as a whole: those outside are cut anywhere, since what is made of
//! them is outside too.

mod ahead;

use crate::program::{ALIGNMENT, Also, Program, Step, Stripe, StripeId, aligned, constant};
use crate::rows::{RowLocal, Rows, Sliding};
use crate::window::Window;
use ahead::Ahead;
use serenity_ir::TensorId;
use std::collections::BTreeMap;

/// The rows of each tensor of a window in the first iteration.
struct Lines<'w> {
    window: &'w Window<'w>,
    enters: TensorId,
    step: i64,
    iterations: i64,
    of: BTreeMap<TensorId, Line>,
    /// Is the entering tensor a state of its own?
    is_apart: bool,
}

/// Rows `low..end` in the first iteration, and `new` ones more in each.
#[derive(Clone, Copy, Debug)]
struct Line {
    low: i64,
    end: i64,
    new: i64,
    /// Rows outside the tensor that a window can reach.
    border: i64,
    /// Columns of zero points before and behind the rows of its buffer.
    sides: [i64; 2],
    /// Rows to spare at the front of its buffer.
    front: i64,
}

impl Line {
    fn carried(&self) -> i64 {
        self.end - self.new - self.low
    }

    /// Does it take more than its new rows?
    fn is_buffered(&self) -> bool {
        self.carried() > 0 || self.border > 0
    }

    /// Some rows, as wide as they are buffered.
    fn rows(&self, like: TensorId, rows: i64) -> Stripe {
        Stripe { like, rows, columns: self.sides[0] + self.sides[1] }
    }

    /// The columns around its rows that its largest reader wants: buffered like that, rows are widened once and need
    /// not be copied for it. None if new rows could then not lie behind the carried ones, and otherwise could.
    fn widest(&self, window: &Window, tensor: TensorId) -> [i64; 2] {
        let around = |op: &&RowLocal| match op.rows {
            Rows::Sliding(Sliding { sides, extent, .. }) if op.inputs.contains(&tensor) => {
                Some((extent, sides))
            }
            _ => None,
        };
        let widest = window.ops.iter().filter_map(around).max_by_key(|(extent, _)| *extent);
        let sides = widest.map_or([0, 0], |(_, sides)| sides);
        let is_aligned = |sides: [i64; 2]| {
            Self { sides, ..*self }.rows(tensor, self.carried()).bytes(window) % ALIGNMENT == 0
        };
        if is_aligned(sides) || !is_aligned([0, 0]) { sides } else { [0, 0] }
    }
}

/// A loop that makes `step` rows of the result per iteration, with its warm-up computed ahead if `is_peeled`; `None` if
/// there is no such loop.
pub(crate) fn program(window: &Window, step: i64, is_peeled: bool) -> Option<Program> {
    let &[enters] = window.enters.as_slice() else { return None };
    let height = window.height(window.leaves);
    let is_possible = step >= 1 && height % step == 0 && height / step >= 2;
    if !is_possible || !window.ops.iter().all(|op| can_stream(op)) {
        return None;
    }
    let mut lines = Lines::new(window, enters, step)?;
    if is_peeled {
        // Other leaving tensors would have to be begun as well.
        (window.also.is_empty() && !lines.is_apart).then_some(())?;
        lines.peel();
    }
    lines.emit(is_peeled)
}

/// Windows over zero points, or over nothing outside; and row for row.
fn can_stream(op: &RowLocal) -> bool {
    match op.rows {
        Rows::Alike | Rows::Repeated { .. } | Rows::Sliding(Sliding { takes_zero_points: true, .. }) => true,
        Rows::Sliding(Sliding { top, bottom, sides, .. }) => (top, bottom, sides) == (0, 0, [0, 0]),
        Rows::Padded { top, bottom } => (top, bottom) == (0, 0),
        Rows::Cropped { .. } => false,
    }
}

impl<'w> Lines<'w> {
    fn new(window: &'w Window<'w>, enters: TensorId, step: i64) -> Option<Self> {
        let coarse = window.coarseness(enters)?;
        let coarsest = coarse[&window.leaves];
        let mut of = BTreeMap::new();
        for (&tensor, &coarse) in &coarse {
            if (step * coarsest) % coarse != 0 {
                return None;
            }
            let new = step * coarsest / coarse;
            let line = Line { low: i64::MAX, end: i64::MIN, new, border: 0, sides: [0, 0], front: 0 };
            of.insert(tensor, line);
        }
        // A leaving tensor must be completed, whether or not an op inside needs all its rows.
        let turns = window.height(window.leaves) / step;
        for t in window.leaving() {
            let line = of.get_mut(&t)?;
            line.end = (window.height(t) - turns * line.new).max(0);
        }
        let is_apart = !window.can_share(enters);
        for op in window.ops.iter().rev() {
            if of[&op.output].end == i64::MIN {
                return None;
            }
            if is_apart && op.inputs.contains(&enters) {
                if op.rows != Rows::Alike {
                    return None;
                }
                let line = of.get_mut(&op.output)?;
                line.end = -(-line.end).div_euclid(line.new) * line.new;
            }
            if let Rows::Repeated { times } = op.rows {
                let line = of.get_mut(&op.output)?;
                line.end = -(-line.end).div_euclid(times) * times;
            }
            let made = of[&op.output];
            let (low, end) = op.rows.needed((made.end - made.new, made.end));
            let border = match op.rows {
                Rows::Sliding(Sliding { takes_zero_points: true, top, bottom, .. }) => top.max(bottom),
                _ => 0,
            };
            for input in &op.inputs {
                let line = of.get_mut(input)?;
                line.low = line.low.min(low);
                line.end = line.end.max(end);
                line.border = line.border.max(border);
            }
        }
        for line in of.values_mut() {
            line.low = line.low.min(line.end - line.new);
        }
        let is_inner = |t: &TensorId| *t != enters && *t != window.leaves;
        let delays =
            of.iter().filter(|(t, _)| is_inner(t)).map(|(_, line)| -(-line.end).div_euclid(line.new));
        let warm_up = delays.max().unwrap_or(1).max(1);
        for line in of.values_mut() {
            line.end -= (warm_up - 1) * line.new;
            line.low -= (warm_up - 1) * line.new;
        }
        for (&tensor, line) in of.iter_mut().filter(|(t, line)| is_inner(t) && line.is_buffered()) {
            line.sides = line.widest(window, tensor);
            // Of several rows to be overwritten, some may be behind the last one.
            let can_be_in_front = line.border == 1 && line.rows(tensor, 1).bytes(window) % ALIGNMENT == 0;
            line.front = i64::from(can_be_in_front);
        }
        // Both ends of a tensor in one buffer would need two borders at once.
        let has_one_end = of.iter().filter(|(t, _)| is_inner(t)).all(|(&t, line)| {
            line.border == 0 || window.height(t) >= line.carried() + line.new - line.border
        });
        let x = of[&enters];
        let is_cut_evenly = x.carried() == 0 && x.low % x.new == 0 && window.height(enters) % x.new == 0;
        let iterations = window.height(window.leaves) / step + warm_up;
        let is_possible = has_one_end && (!is_apart || is_cut_evenly);
        is_possible.then_some(Self { window, enters, step, iterations, of, is_apart })
    }

    /// Lets the first iteration make the first rows of the result.
    fn peel(&mut self) {
        let turns = self.window.height(self.window.leaves) / self.step;
        let warm_up = self.iterations - turns;
        for line in self.of.values_mut() {
            line.low += warm_up * line.new;
            line.end += warm_up * line.new;
        }
        self.iterations = turns;
    }

    fn emit(&self, is_peeled: bool) -> Option<Program> {
        let Self { window, enters, .. } = *self;
        let mut body = Body {
            lines: self,
            carries: Vec::new(),
            stripes: Vec::new(),
            steps: Vec::new(),
            held: BTreeMap::new(),
            kept: Vec::new(),
        };
        let x = self.of[&enters];
        let first = body.stripe(enters, x.end - x.low, 0);
        let last = window.height(enters) - x.new;
        let begin = |i: i64| {
            let row = x.low + i * x.new;
            if self.is_apart { row.clamp(0, last) } else { row }
        };
        body.steps.push(Step::Cut { whole: 0, begins: self.begins(begin), out: first });
        body.held.insert(enters, first);
        let mut also = Vec::new();
        for (index, op) in window.ops.iter().enumerate() {
            body.run(index, op);
            if window.also.contains(&op.output) {
                let (room, begins) = self.room(op.output);
                let of = body.held[&op.output];
                body.steps.push(Step::PutAlso { also: also.len(), of, begins });
                also.push(room);
            }
            if op.output != window.leaves {
                body.buffer(op.output);
            }
        }
        let y = self.of[&window.leaves];
        let of = body.held[&window.leaves];
        let begins = self.begins(|i| (y.end - self.step + i * self.step).max(0));
        body.steps.push(Step::Put { of, begins });
        body.keep_last();
        let mut again = 0;
        let (ahead, begun) = if is_peeled {
            let mut ahead = Ahead::new(&mut body);
            again = ahead.run()?;
            let Ahead { steps, begun, .. } = ahead;
            (steps, begun)
        } else {
            (Vec::new(), vec![None; body.carries.len()])
        };
        let Body { carries, stripes, steps, .. } = body;
        let (state, distance) = self.state();
        let height = window.height(window.leaves);
        let rows = i128::from(self.iterations * self.step - height);
        let extra_macs = (i128::from(window.macs()) * rows / i128::from(height)) as i64;
        Some(Program {
            iterations: self.iterations,
            wholes: vec![enters],
            leaves: window.leaves,
            also,
            shares: !self.is_apart,
            state,
            distance,
            carries,
            stripes,
            steps,
            ahead,
            begun,
            extra_macs: extra_macs + again,
        })
    }

    /// The room of a leaving tensor other than the result, and where in it the rows of each iteration go: those that
    /// are outside go before or behind the tensor.
    fn room(&self, tensor: TensorId) -> (Also, Vec<i64>) {
        let Line { end, new, .. } = self.of[&tensor];
        let (first, height) = (end - new, self.window.height(tensor));
        let before = (-first).rem_euclid(new);
        let behind = height + (first - height).rem_euclid(new);
        let begins = self.begins(|i| before + (first + i * new).clamp(-before, behind));
        let rows = begins.iter().copied().max().unwrap_or(0) + new;
        (Also { tensor, rows: rows.max(before + height), before }, begins)
    }

    fn begins(&self, row: impl Fn(i64) -> i64) -> Vec<i64> {
        (0..self.iterations).map(row).collect()
    }

    /// Bytes of the state, and where in it the rows of the entering tensor begin. Its rows outside are there too,
    /// around it.
    fn state(&self) -> (i64, i64) {
        let Self { window, enters, step, iterations, .. } = *self;
        let (x, y) = (self.of[&enters], self.of[&window.leaves]);
        let (read, written) = (window.row_bytes(enters), window.row_bytes(window.leaves));
        let above = (-x.low).max(0);
        let below = (x.end + (iterations - 1) * x.new - window.height(enters)).max(0);
        let clash = |i: i64| {
            let end_of_write = (y.end + i * step).max(step) * written;
            end_of_write - (above + x.low + (i + 1) * x.new) * read
        };
        let least = (0..iterations - 1).map(clash).max().unwrap_or(0).max(0);
        let distance = aligned(least + above * read);
        let bytes = |t: TensorId| window.graph.tensor(t).bytes as i64;
        if self.is_apart {
            return (bytes(window.leaves), 0);
        }
        (bytes(window.leaves).max(distance + bytes(enters) + below * read), distance)
    }
}

struct Body<'l> {
    lines: &'l Lines<'l>,
    carries: Vec<Stripe>,
    stripes: Vec<Stripe>,
    steps: Vec<Step>,
    /// The rows of each tensor that exist, from its first on.
    held: BTreeMap<TensorId, StripeId>,
    /// Buffers of which rows are carried on, and the carry of each.
    kept: Vec<(StripeId, usize)>,
}

impl Body<'_> {
    fn stripe(&mut self, like: TensorId, rows: i64, columns: i64) -> StripeId {
        self.stripes.push(Stripe { like, rows, columns });
        self.stripes.len() - 1
    }

    fn run(&mut self, index: usize, op: &RowLocal) {
        let made = self.lines.of[&op.output];
        let (from, to) = op.rows.needed((made.end - made.new, made.end));
        let sides = if let Rows::Sliding(Sliding { sides, .. }) = op.rows { sides } else { [0, 0] };
        let rows = |body: &mut Self, &input: &TensorId| {
            let low = body.lines.of[&input].low;
            body.rows(input, from - low, to - from, sides)
        };
        let inputs = op.inputs.iter().map(|input| rows(self, input)).collect();
        let is_valid = matches!(op.rows, Rows::Sliding(Sliding { is_same: true, .. }));
        let out = self.stripe(op.output, made.new, 0);
        self.steps.push(Step::Run { op: index, inputs, out, is_valid });
        self.held.insert(op.output, out);
    }

    /// Rows of a tensor that exist, with columns of zero points around them.
    fn rows(&mut self, tensor: TensorId, begin: i64, rows: i64, sides: [i64; 2]) -> StripeId {
        let of = self.held[&tensor];
        let line = self.lines.of[&tensor];
        let (held, begin) = (line.sides, line.front + begin);
        let is_wide_enough = held == sides;
        let mut stripe = of;
        if begin != 0 || self.stripes[of].rows != rows || !(is_wide_enough || held == [0, 0]) {
            let (columns, left) = if is_wide_enough { (held[0] + held[1], 0) } else { (0, held[0]) };
            stripe = self.stripe(tensor, rows, columns);
            let begins = vec![begin; self.lines.iterations as usize];
            self.steps.push(Step::Rows { of, begins, left, out: stripe });
        }
        if !is_wide_enough && sides != [0, 0] {
            stripe = self.widen(stripe, sides);
        }
        stripe
    }

    fn widen(&mut self, of: StripeId, sides: [i64; 2]) -> StripeId {
        let Stripe { like, rows, .. } = self.stripes[of];
        let out = self.stripe(like, rows, sides[0] + sides[1]);
        self.steps.push(Step::Widen { of, above: 0, sides, out });
        out
    }

    /// Puts new rows behind the carried ones, and notes which are carried on.
    fn buffer(&mut self, tensor: TensorId) {
        let line = self.lines.of[&tensor];
        if !line.is_buffered() {
            return;
        }
        let Line { front, border, .. } = line;
        let (carried, all) = (line.carried(), line.carried() + line.new);
        let carry = (carried > 0).then(|| {
            self.carries.push(line.rows(tensor, carried));
            self.carries.len() - 1
        });
        let mut new = self.held[&tensor];
        if line.sides != [0, 0] {
            new = self.widen(new, line.sides);
        }
        let columns = line.sides[0] + line.sides[1];
        let mut held = self.stripe(tensor, all + border, columns);
        self.steps.push(Step::Join { front, carried: carry, new, out: held });
        if border > 0 {
            let height = self.lines.window.height(tensor);
            let spare = if front > 0 { 0 } else { all };
            let begins = self.lines.begins(|i| {
                let low = line.low + i * line.new;
                let above = -border - low;
                if low < 0 && (0..=all - border).contains(&above) {
                    front + above
                } else if (0..all).contains(&(height - low)) {
                    front + height - low
                } else {
                    spare
                }
            });
            let out = self.stripe(tensor, all + border, columns);
            self.steps.push(Step::Border { of: held, rows: border, begins, out });
            held = out;
        }
        self.held.insert(tensor, held);
        if let Some(carried) = carry {
            self.kept.push((held, carried));
        }
    }

    /// Rows are carried on once no op reads the buffer any more, so that they can be moved within it.
    fn keep_last(&mut self) {
        for (buffer, carried) in std::mem::take(&mut self.kept) {
            let Stripe { like, columns, .. } = self.stripes[buffer];
            let Line { new, front, .. } = self.lines.of[&like];
            let all = new + self.carries[carried].rows;
            let mut views = vec![buffer];
            let mut last = 0;
            // What begins where the carried rows do, so that they can be moved down to there.
            let mut of = (front == 0).then_some(buffer);
            for (at, step) in self.steps.iter().enumerate() {
                if !step.reads().iter().any(|read| views.contains(read)) {
                    continue;
                }
                last = at;
                if let Step::Rows { of: whole, begins, out, .. } = step
                    && self.stripes[*out].columns == columns
                {
                    views.push(*out);
                    let is_all = *whole == buffer && constant(begins) == Some(front);
                    if is_all && self.stripes[*out].rows == all {
                        of = of.or(Some(*out));
                    }
                }
            }
            let of = of.unwrap_or_else(|| {
                let out = self.stripe(like, all, columns);
                let begins = vec![front; self.lines.iterations as usize];
                last += 1;
                self.steps.insert(last, Step::Rows { of: buffer, begins, left: 0, out });
                out
            });
            self.steps.insert(last + 1, Step::Keep { of, begin: new, carried });
        }
    }
}
