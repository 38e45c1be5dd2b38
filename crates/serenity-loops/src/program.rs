//! The steps of one iteration of a loop, for both ways to get its rows.

use crate::window::Window;
use serenity_ir::{Tensor, TensorId};

/// Runtimes place tensors at multiples of this.
pub(crate) const ALIGNMENT: i64 = 16;

/// The number of a stripe.
pub(crate) type StripeId = usize;

/// A tensor of the body: rows of a tensor of the graph, with columns added on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stripe {
    pub(crate) like: TensorId,
    pub(crate) rows: i64,
    pub(crate) columns: i64,
}

impl Stripe {
    pub(crate) fn tensor(&self, window: &Window) -> Option<Tensor> {
        window.stripe(self.like, self.rows, self.columns)
    }

    pub(crate) fn bytes(&self, window: &Window) -> i64 {
        self.rows * self.row_bytes(window)
    }

    pub(crate) fn row_bytes(&self, window: &Window) -> i64 {
        let own = window.width(self.like);
        window.row_bytes(self.like) / own * (own + self.columns)
    }
}

/// A step of the body. `begins` has a row for each iteration.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Copies rows of a tensor that exists as a whole: the entering tensor (0), or another one.
    Cut { whole: usize, begins: Vec<i64>, out: StripeId },
    /// Rows of a stripe, with all its columns or without the added ones, of which `left` come first.
    Rows { of: StripeId, begins: Vec<i64>, left: i64, out: StripeId },
    /// A stripe with rows of zero points above, and columns before and behind.
    Widen { of: StripeId, above: i64, sides: [i64; 2], out: StripeId },
    /// Runs an op of the window on stripes: as it is, or with a padding `VALID`.
    Run { op: usize, inputs: Vec<StripeId>, out: StripeId, is_valid: bool },
    /// The rows of a line buffer: a spare one in front, the carried ones, the new ones; if there are several spare
    /// rows, they come last.
    Join { front: i64, carried: Option<usize>, new: StripeId, out: StripeId },
    /// Writes rows of zero points over rows of a line buffer.
    Border { of: StripeId, rows: i64, begins: Vec<i64>, out: StripeId },
    /// Carries rows of a line buffer to the next iteration.
    Keep { of: StripeId, begin: i64, carried: usize },
    /// Writes rows of the result.
    Put { of: StripeId, begins: Vec<i64> },
    /// Writes rows of another leaving tensor, counted from the first row of its room.
    PutAlso { also: usize, of: StripeId, begins: Vec<i64> },
}

/// A leaving tensor other than the result, in a room with space around it for rows that are outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Also {
    pub(crate) tensor: TensorId,
    /// Rows of its room, and rows before the tensor.
    pub(crate) rows: i64,
    pub(crate) before: i64,
}

/// A loop over stripes.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) iterations: i64,
    /// The tensors that enter as a whole; the first is read from the state that the result is written to, if it dies
    /// there.
    pub(crate) wholes: Vec<TensorId>,
    pub(crate) leaves: TensorId,
    pub(crate) also: Vec<Also>,
    /// Does the first of the wholes share its bytes with the result?
    pub(crate) shares: bool,
    /// Bytes of the state that the result is written to, from its first byte on, and the byte at which the shared tensor begins.
    pub(crate) state: i64,
    pub(crate) distance: i64,
    /// Rows that are carried from iteration to iteration.
    pub(crate) carries: Vec<Stripe>,
    pub(crate) stripes: Vec<Stripe>,
    pub(crate) steps: Vec<Step>,
    /// The steps before the first iteration, and what each carry begins as: zero points if `None`.
    pub(crate) ahead: Vec<Step>,
    pub(crate) begun: Vec<Option<StripeId>>,
    /// Multiplications that the loop adds.
    pub(crate) extra_macs: i64,
}

impl Program {
    pub(crate) fn tensor(&self, window: &Window, stripe: StripeId) -> Option<Tensor> {
        self.stripes[stripe].tensor(window)
    }

    pub(crate) fn bytes(&self, window: &Window, stripe: StripeId) -> i64 {
        self.stripes[stripe].bytes(window)
    }

    /// Are these rows a copy, rather than a view?
    pub(crate) fn are_copied(&self, of: StripeId, begins: &[i64], out: StripeId) -> bool {
        self.stripes[of].columns != self.stripes[out].columns || constant(begins).is_none()
    }

    /// Bytes that all iterations copy, besides what the operators of the window do.
    pub(crate) fn copied(&self, window: &Window) -> i64 {
        let of = |step: &Step| match *step {
            Step::Cut { out, .. } | Step::Widen { out, .. } => self.bytes(window, out),
            Step::Put { of, .. } | Step::PutAlso { of, .. } => self.bytes(window, of),
            Step::Rows { of, ref begins, out, .. } if self.are_copied(of, begins, out) => {
                self.bytes(window, out)
            }
            Step::Keep { carried, .. } => self.carries[carried].bytes(window),
            // Views, and rows that already lie where they are needed.
            Step::Rows { .. } | Step::Run { .. } | Step::Join { .. } | Step::Border { .. } => 0,
        };
        self.iterations * self.steps.iter().map(of).sum::<i64>() + self.ahead.iter().map(of).sum::<i64>()
    }
}

/// The cost of what a loop does besides running operators: per element that it cuts out of one long row, finds by its
/// position in four dimensions, widens or carries on, and per step.
pub(crate) struct Prices {
    pub(crate) cut: f64,
    pub(crate) found: f64,
    pub(crate) widened: f64,
    pub(crate) carried: f64,
    pub(crate) step: f64,
}

impl Program {
    /// The costs of one iteration, and of the steps before the first one. `run` has the cost of an op of the window that
    /// makes so many elements.
    pub(crate) fn costs(
        &self,
        window: &Window,
        prices: &Prices,
        run: impl Fn(usize, f64) -> f64,
    ) -> [f64; 2] {
        let of_stripe = |stripe: Stripe| (stripe.bytes(window) / window.item(stripe.like)) as f64;
        let elements = |stripe: StripeId| of_stripe(self.stripes[stripe]);
        let takes = |step: &Step| match *step {
            Step::Run { op, out, .. } => run(op, elements(out)),
            Step::Cut { whole: 0, out, .. } => elements(out) * prices.cut,
            Step::Cut { out, .. } => elements(out) * prices.found,
            Step::Rows { of, ref begins, out, .. } if self.are_copied(of, begins, out) => {
                elements(out) * prices.found
            }
            Step::Widen { out, .. } => elements(out) * prices.widened,
            Step::Keep { carried, .. } => of_stripe(self.carries[carried]) * prices.carried,
            // Whole rows at once, views, and rows that already lie where they are needed.
            Step::Rows { .. }
            | Step::Join { .. }
            | Step::Border { .. }
            | Step::Put { .. }
            | Step::PutAlso { .. } => 0.0,
        };
        [&self.steps, &self.ahead].map(|steps| steps.iter().map(|step| takes(step) + prices.step).sum())
    }
}

impl Step {
    /// The stripes that the step reads.
    pub(crate) fn reads(&self) -> &[StripeId] {
        match self {
            Self::Cut { .. } => &[],
            Self::Run { inputs, .. } => inputs,
            Self::Rows { of, .. }
            | Self::Widen { of, .. }
            | Self::Join { new: of, .. }
            | Self::Border { of, .. }
            | Self::Keep { of, .. }
            | Self::Put { of, .. }
            | Self::PutAlso { of, .. } => std::slice::from_ref(of),
        }
    }

    /// The stripe that the step makes.
    pub(crate) fn makes(&self) -> Option<StripeId> {
        match *self {
            Self::Cut { out, .. }
            | Self::Rows { out, .. }
            | Self::Widen { out, .. }
            | Self::Run { out, .. }
            | Self::Join { out, .. }
            | Self::Border { out, .. } => Some(out),
            Self::Keep { .. } | Self::Put { .. } | Self::PutAlso { .. } => None,
        }
    }
}

/// The row, if it is the same in every iteration.
pub(crate) fn constant(begins: &[i64]) -> Option<i64> {
    let (&first, rest) = begins.split_first()?;
    rest.iter().all(|&begin| begin == first).then_some(first)
}

/// The next offset at which a tensor can begin.
pub(crate) fn aligned(bytes: i64) -> i64 {
    (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}
