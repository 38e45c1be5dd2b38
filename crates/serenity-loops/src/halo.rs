//! Stripes whose halo is computed again in every iteration.
//!
//! Iteration `i` of `N = ⌈H / p⌉` makes rows `b..b + p` of the result, `b = min(i p, H - p)`: the last ones perhaps
//! twice, with the same values. It cuts `L` rows of what enters, from row `A` on, and runs every operator unmodified on
//! them. A stripe of a tensor that is `f` times coarser begins at its row `A / f`, so `A` is a multiple of all `f` that
//! are whole; those of finer tensors are `1 / k`, and ask for nothing.
//!
//! *Which rows are right.* Row `j` of a stripe is right if all rows that it needs, cut to the tensor, are right rows of
//! the stripes it is made of. A stripe that begins at row 0 has the true padding there, and so has one that ends with
//! the tensor, provided that the operator puts as many rows of padding above a stripe as above the whole. Both are
//! tested, for every iteration; the stripe grows until all wanted rows are right.

use crate::program::{Also, Program, Step, Stripe, StripeId, aligned, constant};
use crate::rows::{RowLocal, Rows};
use crate::window::Window;
use serenity_ir::TensorId;
use std::collections::BTreeMap;

/// The rows of one window in stripes of `rows` of the result.
struct Halo<'w> {
    window: &'w Window<'w>,
    enters: TensorId,
    /// How coarse the rows of each tensor are.
    coarseness: BTreeMap<TensorId, i64>,
    /// The tensors of the window as consecutive numbers: rows are followed through thousands of stripes.
    dense: Dense<'w>,
    /// The first row of the result in each iteration.
    starts: Vec<i64>,
    step: i64,
}

/// A loop that makes `step` rows of the result per iteration from stripes of `enters` and of all other entering
/// tensors; `None` if there is no such loop.
pub(crate) fn program(window: &Window, enters: TensorId, step: i64) -> Option<Program> {
    let height = window.height(window.leaves);
    if step < 1 || step >= height {
        return None;
    }
    let iterations = (height + step - 1) / step;
    let coarseness = window.coarseness(enters)?;
    // Other leaving tensors must have whole rows for each row of the result, and no others.
    let fits = |&t: &TensorId| {
        let (of_result, own) = (coarseness[&window.leaves], coarseness[&t]);
        of_result % own == 0 && window.height(t) == height * (of_result / own)
    };
    if !window.also.iter().all(fits) {
        return None;
    }
    let halo = Halo {
        window,
        enters,
        dense: Dense::new(window, &coarseness),
        coarseness,
        starts: (0..iterations).map(|i| (i * step).min(height - step)).collect(),
        step,
    };
    let (stripe, begins) = halo.stripes()?;
    let rows = halo.rows(stripe)?;
    Some(halo.emit(&begins, &rows))
}

/// The tensors of a window by number, with what is asked of each most often.
struct Dense<'w> {
    tensors: Vec<TensorId>,
    heights: Vec<i64>,
    coarseness: Vec<i64>,
    /// Each operator with the numbers of its inputs and of its output.
    ops: Vec<(&'w RowLocal, Vec<usize>, usize)>,
}

impl<'w> Dense<'w> {
    fn new(window: &'w Window<'w>, coarseness: &BTreeMap<TensorId, i64>) -> Self {
        let tensors: Vec<TensorId> = coarseness.keys().copied().collect();
        let number =
            |t: &TensorId| tensors.binary_search(t).unwrap_or_else(|_| unreachable!("of the window"));
        let ops =
            window.ops.iter().map(|&op| (op, op.inputs.iter().map(number).collect(), number(&op.output)));
        Self {
            heights: tensors.iter().map(|&t| window.height(t)).collect(),
            coarseness: coarseness.values().copied().collect(),
            ops: ops.collect(),
            tensors,
        }
    }

    fn number(&self, tensor: TensorId) -> usize {
        self.tensors.binary_search(&tensor).unwrap_or_else(|_| unreachable!("of the window"))
    }
}

impl Halo<'_> {
    /// Where a stripe of a tensor begins if the stripe of the entering tensor begins at `row`.
    fn begin(&self, tensor: TensorId, row: i64) -> i64 {
        row * self.coarseness[&self.enters] / self.coarseness[&tensor]
    }

    /// Stripes of the entering tensor begin at multiples of this, so that all other stripes begin at whole rows.
    fn grain(&self) -> i64 {
        let own = self.coarseness[&self.enters];
        let rows = |coarse: &i64| coarse / greatest_common_divisor(*coarse, own);
        self.coarseness.values().map(rows).fold(1, |all, one| all / greatest_common_divisor(all, one) * one)
    }

    /// The rows of a stripe of the entering tensor, and where it begins in each iteration.
    fn stripes(&self) -> Option<(i64, Vec<i64>)> {
        let height = self.window.height(self.enters);
        let grain = self.grain();
        let needed: Vec<(i64, i64)> = self.starts.iter().map(|&b| self.needed(b)).collect();
        let low: Vec<i64> = needed.iter().map(|(low, _)| low / grain * grain).collect();
        let mut rows = needed.iter().zip(&low).map(|((_, high), low)| high - low).max()?;
        rows += (height - rows).rem_euclid(grain);
        while rows < height {
            let begins: Vec<i64> = low.iter().map(|&low| low.min(height - rows)).collect();
            if self.is_right(rows, &begins) {
                return Some((rows, begins));
            }
            rows += grain;
        }
        None
    }

    /// The rows of a leaving tensor that an iteration makes if its rows of the result begin at `start`.
    fn wanted_of(&self, leaves: TensorId, start: i64) -> (i64, i64) {
        let each = self.coarseness[&self.window.leaves] / self.coarseness[&leaves];
        (start * each, (start + self.step) * each)
    }

    /// The rows of the entering tensor that rows of the result from `start` on depend on.
    fn needed(&self, start: i64) -> (i64, i64) {
        let Dense { heights, ops, .. } = &self.dense;
        let mut wanted: Vec<Option<(i64, i64)>> = vec![None; heights.len()];
        for t in self.window.leaving() {
            wanted[self.dense.number(t)] = Some(self.wanted_of(t, start));
        }
        for (op, inputs, output) in ops.iter().rev() {
            let Some(range) = wanted[*output] else { continue };
            let (low, high) = op.rows.needed(range);
            for &input in inputs {
                let height = heights[input];
                let (low, high) = (low.clamp(0, height), high.clamp(0, height));
                let known = wanted[input].unwrap_or((low, high));
                wanted[input] = Some((known.0.min(low), known.1.max(high)));
            }
        }
        wanted[self.dense.number(self.enters)].unwrap_or((0, 0))
    }

    /// The rows of each stripe if the stripe of the entering tensor has `stripe` rows.
    fn rows(&self, stripe: i64) -> Option<BTreeMap<TensorId, i64>> {
        let mut rows = BTreeMap::from([(self.enters, stripe)]);
        for op in &self.window.ops {
            let mut known = op.inputs.iter().filter_map(|input| rows.get(input).copied());
            let first = known.next()?;
            if known.any(|other| other != first) {
                return None;
            }
            for &input in &op.inputs {
                rows.entry(input).or_insert(first);
            }
            rows.insert(op.output, op.rows.made_of(first)?);
        }
        Some(rows)
    }

    fn is_right(&self, stripe: i64, begins: &[i64]) -> bool {
        let Some(rows) = self.rows(stripe) else { return false };
        let is_in_phase = self.window.ops.iter().all(|op| match op.rows {
            Rows::Sliding(sliding) if sliding.is_same => {
                sliding.over(rows[&op.inputs[0]]).is_some_and(|slide| slide.before == sliding.top)
            }
            _ => true,
        });
        // Stripes of other entering tensors must be inside the tensor.
        let is_inside = self.window.enters.iter().all(|&t| {
            let height = self.window.height(t);
            begins.iter().all(|&begin| self.begin(t, begin) + rows[&t] <= height)
        });
        let by_number: Vec<i64> = self.dense.tensors.iter().map(|t| rows[t]).collect();
        let mut right = vec![(0, 0); by_number.len()];
        is_in_phase
            && is_inside
            && begins.iter().zip(&self.starts).all(|(&begin, &start)| {
                self.right_rows(&by_number, begin, &mut right);
                self.window.leaving().all(|t| {
                    let ((low, high), first) = (right[self.dense.number(t)], self.begin(t, begin));
                    let (from, to) = self.wanted_of(t, start);
                    first + low <= from && to <= first + high
                })
            })
    }

    /// Finds the rows of each stripe that are right if the stripe of the entering tensor begins at `begin`.
    fn right_rows(&self, rows: &[i64], begin: i64, right: &mut [(i64, i64)]) {
        let Dense { heights, coarseness, ops, .. } = &self.dense;
        let begin = |tensor: usize| begin * self.coarseness[&self.enters] / coarseness[tensor];
        for t in &self.window.enters {
            let number = self.dense.number(*t);
            right[number] = (0, rows[number]);
        }
        for (op, inputs, output) in ops {
            let first = begin(*output);
            let (mut low, mut high) = (0, rows[*output]);
            for &input in inputs {
                let (height, before) = (heights[input], begin(input));
                let (from, to) = right[input];
                let (touches_top, touches_end) =
                    (before == 0 && from == 0, before + rows[input] == height && to == rows[input]);
                let is_right = |row: i64| {
                    let (a, b) = op.rows.needed((first + row, first + row + 1));
                    match op.rows {
                        Rows::Padded { .. } if a < 0 => touches_top,
                        Rows::Padded { .. } if a >= height => touches_end,
                        _ => a.max(0) >= before + from && b.min(height) <= before + to,
                    }
                };
                while low < high && !is_right(low) {
                    low += 1;
                }
                while low < high && !is_right(high - 1) {
                    high -= 1;
                }
            }
            right[*output] = (low, high);
        }
    }

    fn emit(&self, begins: &[i64], rows: &BTreeMap<TensorId, i64>) -> Program {
        let Self { window, enters, .. } = *self;
        let mut body = Body {
            halo: self,
            stripes: Vec::new(),
            steps: Vec::new(),
            full: BTreeMap::new(),
            cut: BTreeMap::new(),
        };
        let wholes: Vec<TensorId> =
            std::iter::once(enters).chain(window.enters.iter().copied().filter(|&t| t != enters)).collect();
        // Behind the last operator with a halo only the wanted rows are computed.
        let last_halo = window.ops.iter().rposition(|op| op.rows.has_halo()).map_or(0, |last| last + 1);
        let is_like_result = |op: &&RowLocal| {
            op.rows.stride() == 1 && self.coarseness[&op.output] == self.coarseness[&window.leaves]
        };
        let trimmed =
            if window.ops[last_halo..].iter().all(is_like_result) { last_halo } else { window.ops.len() };
        let mut extra = 0;
        for (index, op) in window.ops.iter().enumerate() {
            let is_trimmed = index >= trimmed;
            let inputs: Vec<StripeId> = op
                .inputs
                .iter()
                .map(|&t| {
                    if is_trimmed {
                        body.wanted(t, &wholes, begins)
                    } else {
                        body.whole_stripe(t, &wholes, begins, rows)
                    }
                })
                .collect();
            let made = if is_trimmed { self.step } else { rows[&op.output] };
            let out = body.stripe(op.output, made);
            body.steps.push(Step::Run { op: index, inputs, out, is_valid: false });
            let place = if is_trimmed { &mut body.cut } else { &mut body.full };
            place.insert(op.output, out);
            let run = made * self.starts.len() as i64;
            extra += (op.macs as i64 / window.height(op.output)) * (run - window.height(op.output));
        }
        for (also, &t) in window.also.iter().enumerate() {
            let of = body.wanted(t, &wholes, begins);
            let begins = self.starts.iter().map(|&start| self.wanted_of(t, start).0).collect();
            body.steps.push(Step::PutAlso { also, of, begins });
        }
        let of = body.wanted(window.leaves, &wholes, begins);
        body.steps.push(Step::Put { of, begins: self.starts.clone() });
        let shares = window.can_share(enters);
        let distance = if shares { self.distance(begins) } else { 0 };
        let bytes = |t: TensorId| window.graph.tensor(t).bytes as i64;
        let state =
            if shares { bytes(window.leaves).max(distance + bytes(enters)) } else { bytes(window.leaves) };
        Program {
            iterations: self.starts.len() as i64,
            wholes,
            leaves: window.leaves,
            also: window
                .also
                .iter()
                .map(|&tensor| Also { tensor, rows: window.height(tensor), before: 0 })
                .collect(),
            shares,
            state,
            distance,
            carries: Vec::new(),
            stripes: body.stripes,
            steps: body.steps,
            ahead: Vec::new(),
            begun: Vec::new(),
            extra_macs: extra,
        }
    }

    /// How far above the result's first byte the entering tensor must begin. An iteration reads its stripe first and
    /// writes its rows last: these must end where the rows that later iterations read begin.
    fn distance(&self, begins: &[i64]) -> i64 {
        let (read, written) = (self.window.row_bytes(self.enters), self.window.row_bytes(self.window.leaves));
        let mut least = 0;
        let mut earliest_later = i64::MAX;
        for (&begin, &start) in begins.iter().zip(&self.starts).rev() {
            if earliest_later < i64::MAX {
                least = least.max((start + self.step) * written - earliest_later * read);
            }
            earliest_later = earliest_later.min(begin);
        }
        aligned(least)
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

struct Body<'h> {
    halo: &'h Halo<'h>,
    stripes: Vec<Stripe>,
    steps: Vec<Step>,
    /// Stripes with their halo, and those of just the wanted rows.
    full: BTreeMap<TensorId, StripeId>,
    cut: BTreeMap<TensorId, StripeId>,
}

impl Body<'_> {
    fn stripe(&mut self, like: TensorId, rows: i64) -> StripeId {
        self.stripes.push(Stripe { like, rows, columns: 0 });
        self.stripes.len() - 1
    }

    fn cut_whole(&mut self, whole: usize, like: TensorId, rows: i64, begins: Vec<i64>) -> StripeId {
        let out = self.stripe(like, rows);
        self.steps.push(Step::Cut { whole, begins, out });
        out
    }

    fn whole_stripe(
        &mut self,
        t: TensorId,
        wholes: &[TensorId],
        begins: &[i64],
        rows: &BTreeMap<TensorId, i64>,
    ) -> StripeId {
        if let Some(&known) = self.full.get(&t) {
            return known;
        }
        let begins = begins.iter().map(|&begin| self.halo.begin(t, begin)).collect();
        let whole = wholes.iter().position(|&whole| whole == t).unwrap_or(0);
        let stripe = self.cut_whole(whole, t, rows[&t], begins);
        self.full.insert(t, stripe);
        stripe
    }

    /// Just the rows that are wanted of the result.
    fn wanted(&mut self, t: TensorId, wholes: &[TensorId], begins: &[i64]) -> StripeId {
        if let Some(&known) = self.cut.get(&t) {
            return known;
        }
        let halo = self.halo;
        let starts: Vec<i64> = halo.starts.iter().map(|&start| halo.wanted_of(t, start).0).collect();
        let (from, to) = halo.wanted_of(t, 0);
        let rows = to - from;
        let stripe = if let Some(whole) = wholes.iter().position(|&whole| whole == t) {
            self.cut_whole(whole, t, rows, starts)
        } else {
            let of = self.full[&t];
            let starts = starts.iter().zip(begins);
            let begins: Vec<i64> = starts.map(|(start, &begin)| start - halo.begin(t, begin)).collect();
            if constant(&begins) == Some(0) && self.stripes[of].rows == rows {
                of
            } else {
                let out = self.stripe(t, rows);
                self.steps.push(Step::Rows { of, begins, left: 0, out });
                out
            }
        };
        self.cut.insert(t, stripe);
        stripe
    }
}
