//! Networks whose windows slide over time: what one window has in common with the next is computed once.
//!
//! As for streams, each cut of the order of a model is tried: the operators ahead of it keep rows from window to window,
//! the rest is a model of its own that runs on each window, in the same arena beside them.

use crate::code::source_of;
use crate::diff::macs;
use crate::run::Run;
use crate::stream::{first_ops, in_order, not_streamed, rule};
use crate::{Error, Input, Loops, Optimized, Options, Rewrites, optimize};
use serenity_check::{self as check, SlideClaim, check_slide};
use serenity_emit::{
    DataPlace, Emitted, Refused, SlideAct, SlideLine, SlideStep, Source, SourceSlide, SourceStream,
    StreamLine, c_code,
};
use serenity_loops::streams::slide::{Above, Act, Ring, Slide, SlideLine as Line, SlideStep as Step};
use serenity_loops::streams::{Form, Prefix, Rule};

/// A network whose windows slide.
#[derive(Debug)]
pub struct Slid {
    /// The whole model, its ops in the order in which they run.
    pub whole: Input,
    /// The part that keeps rows.
    pub slide: Slide,
    /// The rest, which runs on each window.
    pub rest: Optimized,
    /// Bytes of the arena that the rest takes.
    pub rest_bytes: u64,
    /// The code of both.
    pub code: Emitted,
    /// Multiplications from one window to the next, on average.
    pub macs: u64,
    /// Multiplications of a window that has nothing in common with another.
    pub window_macs: u64,
    /// How long it takes from one window to the next, by estimate.
    pub run: Run,
    /// Are the results the same bit for bit? Rewrites of floats may change how they are rounded.
    pub is_exact: bool,
}

/// The model in windows that move by `hop` rows of its input, as C whose names begin with `prefix`: with the fewest
/// multiplications of all ways that fit `budget`. Without a budget, or if none fits, the way with the least product of
/// multiplications and bytes.
///
/// # Errors
/// If the model cannot be planned, or if windows that move so far have nothing in common that saves multiplications.
pub fn slide(
    input: &Input,
    options: &Options,
    hop: u64,
    budget: Option<u64>,
    prefix: &str,
) -> Result<Slid, Error> {
    let base = optimize(input, &Options { loops: None, ..options.clone() })?;
    let whole = in_order(&base)?;
    let prefixes = Prefix::all(whole.graph(), &whole.graph().file_order());
    if prefixes.is_empty() {
        return Err(not_streamed(input));
    }
    let is_exact = base.plan.rewrites.iter().all(|rewrite| rewrite.exact);
    let window_macs = macs(whole.graph());
    let mut search =
        Search { options, whole, hop, budget, prefix, window_macs, is_exact, best: None, refused: None };
    // The deepest first: most of the work is slid over there.
    for cut in prefixes.iter().rev() {
        search.try_cut(cut)?;
    }
    let found = search.best.ok_or_else(|| match search.refused {
        Some(source) => Error::Emit { path: input.name.clone(), source },
        None => nothing_saved(input, hop),
    })?;
    check_slide(found.whole.graph(), &claim(&found.slide, found.rest_bytes, found.code.arena))
        .map_err(|source| Error::Stream { path: input.name.clone(), source })?;
    Ok(found)
}

/// What the independent checker is told of windows that slide, beside a rest of the network that takes the first `rest`
/// bytes of the arena.
pub fn claim(slide: &Slide, rest: u64, arena: u64) -> SlideClaim {
    let ring = |ring: Ring| check::SlideRing { held: ring.held, place: ring.place };
    let line = |line: &Line| check::SlideLine {
        tensor: line.tensor,
        first: line.first,
        last: line.last,
        again: line.again,
        phases: line.phases as u64,
        shift: line.shift as u64,
        kept: ring(line.kept),
        border: ring(line.border),
        newest: line.newest,
    };
    let step = |step: &Step| check::SlideStep {
        act: match step.act {
            Act::Push => check::SlideAct::Push,
            Act::Run(op) => check::SlideAct::Run(op),
            Act::Gather(line) => check::SlideAct::Gather(line),
            Act::Keep(line) => check::SlideAct::Keep(line),
            Act::Full => check::SlideAct::Full,
        },
        window: step.window as u64,
        row: step.row as u64,
        is_top: step.is_top,
        fresh: step.fresh.clone(),
    };
    SlideClaim {
        ops: slide.ops.iter().map(|op| op.op).collect(),
        lines: slide.lines.iter().map(line).collect(),
        steps: slide.steps.iter().map(step).collect(),
        start: slide.start,
        early: slide.early,
        hop: slide.hop as u64,
        phases: slide.phases as u64,
        rounds: slide.rounds,
        leaves: slide.leaves.clone(),
        rest,
        arena,
    }
}

/// Why windows that move so far save nothing.
fn nothing_saved(input: &Input, hop: u64) -> Error {
    let graph = input.graph();
    let rows =
        graph.inputs().first().and_then(|&tensor| graph.tensor(tensor).shape.as_deref()?.get(1).copied());
    let rows = rows.unwrap_or(0);
    let why = match hop {
        0 => "windows that do not move are all the same".to_owned(),
        hop if hop > rows => format!("a window has {rows} rows, so rows between two windows would never be seen"),
        hop if hop == rows => "windows that begin where the last one ended have nothing in common".to_owned(),
        _ => "no row that two windows have in common saves a multiplication: each depends on a border of its window or moves by part of a row, or there are more rows than are followed"
            .to_owned(),
    };
    let reason = format!("`{}` cannot run in windows that move by {hop} rows: {why}", input.name);
    let remedy =
        "give a smaller --hop, a multiple of the strides over time; --stream rows runs each window by itself";
    serenity_pipeline::Error::Unfit { reason, remedy: remedy.to_owned() }.into()
}

struct Search<'a> {
    options: &'a Options,
    whole: Input,
    hop: u64,
    budget: Option<u64>,
    prefix: &'a str,
    window_macs: u64,
    is_exact: bool,
    best: Option<Slid>,
    refused: Option<Refused>,
}

impl Search<'_> {
    /// Tries all ways to slide over the operators ahead of a cut.
    fn try_cut(&mut self, cut: &Prefix) -> Result<(), Error> {
        let Ok(file) = self.whole.file.behind(cut.len(), &cut.leaves()) else { return Ok(()) };
        let rest = self.whole.with_file(file);
        let rest_macs = macs(rest.graph());
        let promises = |above: &Above| {
            cut.least_of_hop(self.hop, *above)
                .is_some_and(|(macs, bytes)| self.is_better(bytes, macs + rest_macs))
        };
        let above: Vec<Above> = [Above::Kept, Above::Anew].into_iter().filter(promises).collect();
        if above.is_empty() {
            return Ok(());
        }
        let plain = self.planned(&rest, None)?;
        let looped = self.options.loops.map(|loops| self.planned(&rest, Some(loops))).transpose()?;
        let looped = looped.filter(|looped| looped.plan.loops.is_some());
        let end = Run::of(plain.model.graph(), self.options.model);
        for rest in [Some(plain), looped].into_iter().flatten() {
            let extra = rest.plan.loops.as_ref().map_or(0, |loops| loops.extra_macs);
            for (above, form) in above.iter().flat_map(|&above| [(above, Form::Ring), (above, Form::Tight)]) {
                self.try_way(cut, &rest, (rest_macs, extra, end), (above, form))?;
            }
        }
        Ok(())
    }

    fn planned(&self, rest: &Input, loops: Option<Loops>) -> Result<Optimized, Error> {
        let rewrites = Rewrites::None;
        let options = Options { loops, rewrites, given_plan: None, int8_io: false, ..self.options.clone() };
        Ok(optimize(rest, &options)?)
    }

    /// What is better: within the budget the fewest multiplications, otherwise the least product with bytes.
    fn score(&self, bytes: u64, macs: u64) -> (bool, u128, u64) {
        match self.budget {
            Some(budget) if bytes <= budget => (false, macs.into(), bytes),
            budget => (budget.is_some(), u128::from(macs) * u128::from(bytes), bytes),
        }
    }

    /// Are multiplications saved, and is it better than the best so far?
    fn is_better(&self, bytes: u64, macs: u64) -> bool {
        let is_best = |best: &Slid| self.score(bytes, macs) < self.score(best.code.ram(), best.macs);
        macs < self.window_macs && self.best.as_ref().is_none_or(is_best)
    }

    /// Writes the code of a cut and a plan of the rest, and keeps it if it is the best. `end` is a run of the rest without
    /// loops, `extra` what loops in it compute again.
    fn try_way(
        &mut self,
        cut: &Prefix,
        rest: &Optimized,
        (end_macs, extra, end): (u64, u64, Run),
        (above, form): (Above, Form),
    ) -> Result<(), Error> {
        let source = source_of(&rest.model, &rest.plan)?;
        let main = &source.graphs[0];
        let leaves = main.inputs.iter().map(|&tensor| main.tensors[tensor].place.offset());
        let Some(leaves) = leaves.collect::<Option<Vec<u64>>>() else { return Ok(()) };
        let rest_bytes = extent(&source);
        let Some(slide) = cut.slide(self.hop, above, form, &leaves, rest_bytes) else { return Ok(()) };
        let rest_macs = end_macs + extra;
        let slid_macs = slide.macs.iter().sum::<u64>() / slide.phases as u64;
        let macs = rest_macs + slid_macs;
        if !self.is_better(slide.bytes, macs) {
            return Ok(());
        }
        let stream = self.streamed(&slide, rest_macs)?;
        match c_code(&Source { stream: Some(stream), ..source }, self.prefix) {
            Ok(code) => {
                let (whole, rest, window_macs) = (self.whole.clone(), rest.clone(), self.window_macs);
                let is_exact = self.is_exact;
                let share = slid_macs as f64 / window_macs.saturating_sub(end_macs).max(1) as f64;
                let run = Run::of(whole.graph(), self.options.model);
                let run = run.with_end(share, end, Run::of_planned(&rest.model, &rest.plan));
                let code = Emitted { instructions: run.instructions, ..code };
                let slid = Slid { whole, slide, rest, rest_bytes, code, macs, window_macs, run, is_exact };
                if self.is_better(slid.code.ram(), macs) {
                    self.best = Some(slid);
                }
            }
            Err(refused) => self.refused = Some(refused),
        }
        Ok(())
    }

    /// The part of a model that keeps rows, as C is written from it.
    fn streamed(&self, slide: &Slide, rest_macs: u64) -> Result<SourceStream, Error> {
        let (graph, tensors) = first_ops(&self.whole, slide.ops.len())?;
        let sums = slide.ops.last().filter(|op| op.rule == Rule::Sum).map(|_| slide.ops.len());
        let line = |(number, (line, &tensor)): (usize, (&Line, &usize))| {
            let ring = if sums == Some(number) { line.border } else { line.kept };
            let (rows, row_bytes, newest) = (line.rows as u64, line.row_bytes, line.newest);
            StreamLine { tensor, rows, row_bytes, held: ring.held, place: ring.place, newest }
        };
        Ok(SourceStream {
            rules: slide.ops.iter().map(|op| rule(op.rule)).collect(),
            lines: slide.lines.iter().zip(&tensors).enumerate().map(line).collect(),
            steps: Vec::new(),
            is_pushed: true,
            leaves: slide.leaves.last().map_or(0, |&(_, offset)| offset),
            macs: slide.macs.clone(),
            rest_macs,
            bytes: slide.bytes,
            graph,
            slide: Some(self.sliding(slide)),
        })
    }

    fn sliding(&self, slide: &Slide) -> SourceSlide {
        let step = |step: &Step| SlideStep {
            act: match step.act {
                Act::Push => SlideAct::Push,
                Act::Run(op) => SlideAct::Run(op),
                Act::Gather(line) => SlideAct::Gather(line),
                Act::Keep(line) => SlideAct::Keep(line),
                Act::Full => SlideAct::Full,
            },
            window: step.window as u64,
            row: step.row as u64,
            is_top: step.is_top,
            fresh: step.fresh.clone(),
        };
        let lines = slide.lines.iter().map(|line| SlideLine {
            first: line.first,
            last: line.last,
            again: line.again,
            phases: line.phases as u64,
            shift: line.shift as u64,
            border: line.border.place,
            border_held: line.border.held,
        });
        SourceSlide {
            hop: slide.hop as u64,
            phases: slide.phases as u64,
            steps: slide.steps.iter().map(step).collect(),
            rounds: slide.rounds,
            start: slide.start,
            early: slide.early,
            lines: lines.collect(),
            leaves: slide.leaves.clone(),
            window_macs: self.window_macs,
        }
    }
}

/// The end of the highest tensor, or scratch.
fn extent(source: &Source) -> u64 {
    let graphs = || source.graphs.iter();
    let tensors = graphs().flat_map(|graph| &graph.tensors).filter_map(|tensor| match tensor.place {
        DataPlace::Arena(offset) => Some(offset + tensor.bytes),
        _ => None,
    });
    let scratch = graphs().flat_map(|graph| &graph.ops).filter_map(|op| op.scratch);
    tensors.chain(scratch.map(|scratch| scratch.offset + scratch.bytes)).max().unwrap_or(0)
}
