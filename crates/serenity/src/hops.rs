//! Windows that slide over time in TFLM: a model that takes the new rows of a window and carries the others itself.
//!
//! Each cut of the order of a model is tried: the operators ahead of it run on new rows only, those behind it on each
//! window. What is carried from run to run lies at one place by the memory plan of the model.

use crate::account::Account;
use crate::diff::macs;
use crate::stream::{in_order, not_streamed};
use crate::{Error, Input, Optimized, Options, Rewrites, optimize};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_check::loops;
use serenity_ir::{Graph, OpId};
use serenity_loops::Looped;
use serenity_loops::streams::Prefix;
use serenity_loops::streams::slide::{Hops, NoHops};

/// A model that takes the new rows of a window.
#[derive(Debug)]
pub struct Hopped {
    /// The planned model, and what the whole window needs before.
    pub found: Optimized,
    /// What a run takes.
    pub hop: StatedHop,
    /// Are the results the same bit for bit? Rewrites of floats may change how they are rounded.
    pub is_exact: bool,
}

/// What a run of a model that takes new rows takes, and what the application must know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatedHop {
    /// New rows of the window that a run takes as input 0.
    pub rows: u64,
    /// Multiplications of a run.
    pub macs: u64,
    /// Multiplications of a window that has nothing in common with another.
    pub window_macs: u64,
    /// Bytes that are carried from run to run, in the other inputs and in the last outputs, which the application must
    /// leave alone.
    pub carried: u64,
    /// Runs until a window is full: the outputs of those before the last of them mean nothing.
    pub first: u64,
}

impl StatedHop {
    /// What the application must do, for a model with so many outputs besides what is carried.
    pub fn asks(&self, outputs: usize) -> String {
        let rows = if self.rows == 1 { "1 new row".to_owned() } else { format!("{} new rows", self.rows) };
        format!(
            "write {rows} of the window into input 0 for each run, and leave alone the other inputs and the outputs from number {outputs} on"
        )
    }
}

/// The model for windows that move by `hop` rows of its input: with the fewest multiplications of all ways that fit
/// `budget`. Without a budget, or if none fits, the way with the least product of multiplications and bytes, if possible
/// of those that save half of the multiplications and need no more than whole windows.
///
/// # Errors
/// If the runtime is not TFLM with a memory plan, if the model cannot be planned, or if windows that move so far have
/// nothing in common that an interpreter can keep.
pub fn hops(input: &Input, options: &Options, hop: u64, budget: Option<u64>) -> Result<Hopped, Error> {
    suits(input, options)?;
    let base = optimize(input, &Options { loops: None, ..options.clone() })?;
    let whole = in_order(&base)?;
    let order = whole.graph().file_order();
    let prefixes = Prefix::all(whole.graph(), &order);
    if prefixes.is_empty() {
        return Err(not_streamed(input));
    }
    let window_macs = macs(whole.graph());
    let window_bytes = Account::new(input, &base.model, &base.plan).needed().bytes;
    let mut search = Search { options, whole: &whole, budget, window_macs, window_bytes, best: None };
    let mut refused = NoHops::NothingKept;
    for cut in prefixes.iter().rev() {
        match cut.hops(whole.file.graphs(), &order, hop) {
            Ok(hops) => search.try_cut(cut, hops)?,
            Err(why) => refused = why,
        }
    }
    let Best { mut found, looped, macs, carried } =
        search.best.ok_or_else(|| refusal(input, hop, &refused))?;
    check(input, &whole, &found, &looped)?;
    found.plan.before = base.plan.before;
    let is_exact = base.plan.rewrites.iter().all(|rewrite| rewrite.exact);
    let first = rows_of(&whole).div_ceil(hop.max(1));
    Ok(Hopped { found, hop: StatedHop { rows: hop, macs, window_macs, carried, first }, is_exact })
}

/// Follows the model over a window, row by row, in the arena of its plan, and compares it with the whole model.
fn check(input: &Input, whole: &Input, found: &Optimized, looped: &Looped) -> Result<(), Error> {
    let graphs = |of: &Input| of.file.graphs().iter().map(Graph::clone).collect::<Vec<_>>();
    let (before, after) = (graphs(whole), graphs(&found.model));
    let own: Vec<Vec<OpId>> = before.iter().map(Graph::file_order).collect();
    let own: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    let (before, after) = (before.iter().collect::<Vec<_>>(), after.iter().collect::<Vec<_>>());
    let none = |_: usize, _: OpId, _: usize| None;
    let numbers = |graph: usize, op: OpId, position| looped.numbers(graph, op, position);
    let original = loops::Model { graphs: &before, orders: &own, numbers: &none };
    let hopping = loops::Model { graphs: &after, orders: &found.plan.orders(), numbers: &numbers };
    let (Some(kernels), Some(offsets)) = (found.plan.model.kernels(), &found.plan.offsets) else {
        return Err(serenity_pipeline::Error::Unfit {
            reason: format!("no memory plan carries the rows of `{}`", input.name),
            remedy: "please report this".to_owned(),
        }
        .into());
    };
    let plan = loops::Plan { kernels, offsets };
    let faults = loops::replay_hops(&original, &hopping, &looped.origins, &plan);
    match faults.into_iter().next() {
        None => Ok(()),
        Some(fault) => Err(Error::Hops { path: input.name.clone(), source: Box::new(fault) }),
    }
}

/// Can the runtime carry rows?
fn suits(input: &Input, options: &Options) -> Result<(), Error> {
    let unfit = |reason: String, remedy: &str| {
        Err(serenity_pipeline::Error::Unfit { reason, remedy: remedy.to_owned() }.into())
    };
    let is_interpreted = options.model.kernels().is_some_and(|kernels| !kernels.are_emitted());
    if !is_interpreted || !options.plan_arena {
        let reason =
            format!("`{}` can carry rows from run to run only by a memory plan for TFLM", input.name);
        return unfit(
            reason,
            "say --runtime tflm, without --no-plan; for C code: serenity emit c --stream time",
        );
    }
    if let Some(kind) = remembers(input) {
        let reason = format!("`{}` has `{kind}`, which may remember something from run to run", input.name);
        return unfit(reason, "run it on whole windows");
    }
    if options.loops.is_some() {
        let reason = "--loops: the rows of a window that slides are few already".to_owned();
        return unfit(reason, "leave out --loops or --hop");
    }
    Ok(())
}

/// Operators that remember something besides what is carried, or run others that may.
#[rustfmt::skip]
const REMEMBER: &[&str] = &[
    "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE", "CALL", "HASHTABLE", "HASHTABLE_FIND",
    "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL", "SVDF", "RNN",
    "LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN",
    "BIDIRECTIONAL_SEQUENCE_LSTM", "WHILE", "IF",
];

/// The kind of an operator that may remember something. It would also see what runs before the first full window make.
fn remembers(input: &Input) -> Option<&str> {
    let kinds = input.graph().ops().iter().map(|op| op.kind.as_str());
    let mut kinds = kinds.filter(|kind| kind.starts_with("CUSTOM:") || REMEMBER.contains(kind));
    kinds.next()
}

/// Rows of the only input.
fn rows_of(input: &Input) -> u64 {
    let graph = input.graph();
    let shape = graph.inputs().first().and_then(|&tensor| graph.tensor(tensor).shape.as_deref());
    shape.and_then(|shape| shape.get(1).copied()).unwrap_or(0)
}

/// Why windows that move so far save nothing.
fn refusal(input: &Input, hop: u64, refused: &NoHops) -> Error {
    let rows = rows_of(input);
    let why = match hop {
        0 => "windows that do not move are all the same".to_owned(),
        hop if hop >= rows => format!("a window has {rows} rows, so two windows have none in common"),
        _ => refused.to_string(),
    };
    let reason = format!("`{}` cannot take {hop} rows of a window at a time: {why}", input.name);
    let remedy = "give a --hop that is a multiple of the strides over time and smaller than the window; serenity emit c --stream time also knows padding";
    serenity_pipeline::Error::Unfit { reason, remedy: remedy.to_owned() }.into()
}

/// The best so far.
struct Best {
    found: Optimized,
    looped: Looped,
    macs: u64,
    carried: u64,
}

struct Search<'a> {
    options: &'a Options,
    whole: &'a Input,
    budget: Option<u64>,
    window_macs: u64,
    /// What the model needs for whole windows, as it came.
    window_bytes: u64,
    best: Option<Best>,
}

impl Search<'_> {
    /// Plans the model of a cut, and keeps it if it is the best.
    fn try_cut(&mut self, cut: &Prefix, hops: Hops) -> Result<(), Error> {
        let Hops { model: looped, macs: of_rows, carried } = hops;
        let Ok(behind) = self.whole.file.behind(cut.len(), &cut.leaves()) else { return Ok(()) };
        let macs = of_rows + macs(&behind.graphs()[0]);
        if macs >= self.window_macs {
            return Ok(());
        }
        let file = self.whole.file.looped(&looped).map_err(|source| Error::file(&self.whole.name, source))?;
        let (rewrites, loops, given_plan) = (Rewrites::None, None, None);
        let options = Options { rewrites, loops, given_plan, int8_io: false, ..self.options.clone() };
        let found = optimize(&self.whole.with_file(file), &options)?;
        let score = self.score(&found, macs);
        let is_best = |best: &Best| score < self.score(&best.found, best.macs);
        if self.best.as_ref().is_none_or(is_best) {
            self.best = Some(Best { found, looped, macs, carried });
        }
        Ok(())
    }

    /// What is better: within the budget the fewest multiplications; then the least product with bytes of those that save
    /// half of the multiplications and need no more than whole windows; then that of all others.
    fn score(&self, found: &Optimized, macs: u64) -> (u8, u128, u64) {
        let account = Account::new(self.whole, &found.model, &found.plan);
        let bytes = account.need().bytes;
        let product = u128::from(macs) * u128::from(bytes);
        match self.budget {
            Some(budget) if account.fits(budget) => (0, macs.into(), bytes),
            _ => {
                let gains_both = bytes <= self.window_bytes && macs <= self.window_macs / 2;
                (if gains_both { 1 } else { 2 }, product, bytes)
            }
        }
    }
}
