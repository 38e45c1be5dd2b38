//! Networks whose beginning runs row by row.
//!
//! The model is planned without loops. Each cut of its order that a stream can end at is tried, in both forms of rings;
//! the rest behind the cut is a model of its own, planned as any other, in the same arena.

use crate::code::{anywhere, emit_c, source_of};
use crate::run::Run;
use crate::{Error, Format, Input, Loops, Optimized, Options, ReadOptions, Rewrites, load_bytes, optimize};
use serenity_check::{ClaimedLine, ClaimedStep, StreamClaim, check_stream};
use serenity_emit::{
    Emitted, Refused, Source, SourceGraph, SourceStream, StreamLine, StreamRule, StreamStep, c_code,
};
use serenity_loops::streams::{Form, Line, Prefix, Rows, Rule, Step, Stream};
use serenity_loops::{Rows as Reads, Sliding};
use serenity_pipeline::{estimate_loops, macs_of};
use serenity_runtimes::Kernels;

/// A network that begins with a stream.
#[derive(Debug)]
pub struct Streamed {
    /// The whole model, its ops in the order in which they run.
    pub whole: Input,
    /// The part that runs row by row.
    pub stream: Stream,
    /// The rest.
    pub rest: Optimized,
    /// The code of both.
    pub code: Emitted,
    /// Multiplications of a run.
    pub macs: u64,
    /// How long a run takes, by estimate: that of a row is the same, however few rows lie in memory.
    pub run: Run,
    /// Are the results the same bit for bit? Rewrites of floats may change how they are rounded.
    pub is_exact: bool,
}

/// The model with as much of its beginning row by row as needs the least memory, as C whose names begin with `prefix`.
///
/// # Errors
/// If the model cannot be planned, or if nothing of it can run row by row.
pub fn stream(input: &Input, options: &Options, rows: Rows, prefix: &str) -> Result<Streamed, Error> {
    let base = optimize(input, &Options { loops: None, ..options.clone() })?;
    let search = Search::run(&base, options, rows, prefix, (u64::MAX, u64::MAX))?;
    search.best.ok_or_else(|| match search.refused {
        Some(source) => Error::Emit { path: input.name.clone(), source },
        None => not_streamed(input),
    })
}

/// The C of a planned model, the multiplications of a run, and how long it takes by estimate. If its beginning row by
/// row, with the whole input in memory, takes fewer bytes and no more multiplications, then that.
///
/// # Errors
/// If the model cannot be emitted as planned.
pub fn best_code(
    input: &Input,
    found: &Optimized,
    options: &Options,
    prefix: &str,
) -> Result<(Emitted, u64, Run), Error> {
    let (code, macs) = (emit_c(&found.model, &found.plan, prefix)?, macs(found));
    let run = Run::of_planned(&found.model, &found.plan);
    if found.plan.model.kernels() != Some(Kernels::Emitted) || input.graph().inputs().len() != 1 {
        return Ok((code, macs, run));
    }
    let without = Options { loops: None, ..options.clone() };
    let base = if found.plan.loops.is_some() { &optimize(input, &without)? } else { found };
    let search = Search::run(base, options, Rows::Resident, prefix, (code.ram(), macs))?;
    Ok(search.best.map_or((code, macs, run), |best| (best.code, best.macs, best.run)))
}

/// Multiplications of a run.
pub(crate) fn macs(found: &Optimized) -> u64 {
    let loops = found.plan.loops.as_ref();
    loops.map_or_else(|| macs_of(found.model.graph()), |loops| loops.macs + loops.extra_macs)
}

/// The arena that a stream takes at least, wherever the rest reads.
fn least(prefix: &Prefix, rows: Rows) -> u64 {
    prefix.least(Form::Ring, rows).min(prefix.least(Form::Tight, rows))
}

/// The planned model with its ops in the order of the plan, without places.
pub(crate) fn in_order(found: &Optimized) -> Result<Input, Error> {
    let model = &found.model;
    let bytes = model.file.planned(&found.plan.orders(), None, None);
    let bytes = bytes.map_err(|source| Error::file(&model.name, source))?;
    load_bytes(&model.name, bytes, Format::TfLite, &ReadOptions::default())
}

pub(crate) fn not_streamed(input: &Input) -> Error {
    let graph = input.graph();
    let why = match graph.inputs() {
        [_] => {
            let first = graph.file_order().first().map_or("", |&op| graph.op(op).kind.as_str());
            format!("nothing behind its first operators (`{first}` …) can be cut off as one tensor of rows")
        }
        inputs => format!("it has {} inputs, and rows of one can be pushed", inputs.len()),
    };
    let reason = format!("`{}` cannot run row by row: {why}", input.name);
    let remedy = "a stream wants one input of the shape [1, rows, columns, channels], then operators that need few rows of it";
    serenity_pipeline::Error::Unfit { reason, remedy: remedy.to_owned() }.into()
}

struct Search<'a> {
    options: &'a Options,
    whole: Input,
    rows: Rows,
    prefix: &'a str,
    /// Bytes of the best so far.
    below: u64,
    most_macs: u64,
    is_exact: bool,
    best: Option<Streamed>,
    refused: Option<Refused>,
}

impl<'a> Search<'a> {
    /// Tries all cuts of a model that was planned without loops, those that need less than `below` bytes and no more
    /// than so many multiplications.
    fn run(
        base: &Optimized,
        options: &'a Options,
        rows: Rows,
        prefix: &'a str,
        (below, most_macs): (u64, u64),
    ) -> Result<Self, Error> {
        let whole = in_order(base)?;
        let prefixes = Prefix::all(whole.graph(), &whole.graph().file_order());
        let with_least = |prefix| (least(prefix, rows), prefix);
        let mut cuts: Vec<(u64, &Prefix)> = prefixes.iter().map(with_least).collect();
        cuts.sort_by_key(|&(bytes, prefix)| (bytes, prefix.len()));
        let is_exact = base.plan.rewrites.iter().all(|rewrite| rewrite.exact);
        let mut search =
            Self { options, whole, rows, prefix, below, most_macs, is_exact, best: None, refused: None };
        let mut open = Vec::new();
        for (bytes, cut) in cuts {
            if bytes >= search.below {
                break;
            }
            let Ok(file) = search.whole.file.behind(cut.len(), &cut.leaves()) else { continue };
            let rest = search.whole.with_file(file);
            let plain = search.planned(&rest, None)?;
            let end = Run::of(plain.model.graph(), options.model);
            if let Some(estimate) = options.loops.and_then(|loops| estimate_loops(&plain, loops, options)) {
                open.push((bytes.max(estimate.arena), cut, rest, end));
            }
            search.try_rest(cut, plain, end)?;
        }
        // Loops in the rest, the most promising cuts first. Estimates are a few percent off.
        open.sort_by_key(|&(bytes, cut, ..)| (bytes, cut.len()));
        for (bytes, cut, rest, end) in &open {
            if bytes / 10 * 9 >= search.below {
                break;
            }
            let looped = search.planned(rest, options.loops)?;
            if looped.plan.loops.is_some() {
                search.try_rest(cut, looped, *end)?;
            }
        }
        Ok(search)
    }

    fn planned(&self, rest: &Input, loops: Option<Loops>) -> Result<Optimized, Error> {
        let rewrites = Rewrites::None;
        let options = Options { loops, rewrites, given_plan: None, int8_io: false, ..self.options.clone() };
        Ok(optimize(rest, &options)?)
    }

    /// Writes the code of a cut and a plan of the rest, and keeps it if it is the best. `end` is a run of the rest without
    /// loops.
    fn try_rest(&mut self, cut: &Prefix, rest: Optimized, end: Run) -> Result<(), Error> {
        let source = source_of(&rest.model, &rest.plan)?;
        let main = &source.graphs[0];
        let leaves = main.inputs.iter().map(|&tensor| main.tensors[tensor].place.offset());
        let Some(leaves) = leaves.collect::<Option<Vec<u64>>>() else { return Ok(()) };
        let forms = [Form::Ring, Form::Tight].into_iter();
        let is_where_read =
            |stream: &Stream| stream.leaves.iter().map(|&(_, offset)| offset).eq(leaves.iter().copied());
        let promising = forms.filter(|&form| cut.least(form, self.rows) < self.below);
        let made = promising.filter_map(|form| cut.stream(form, self.rows, Some(&leaves)));
        let made = made.filter(is_where_read);
        let Some(stream) = made.min_by_key(|stream| stream.bytes) else { return Ok(()) };
        let rest_macs = macs(&rest);
        let macs = rest_macs + stream.macs.iter().sum::<u64>();
        if stream.bytes >= self.below || macs > self.most_macs {
            return Ok(());
        }
        let source = Source { stream: Some(streamed(&self.whole, &stream, rest_macs)?), ..source };
        match c_code(&source, self.prefix) {
            Ok(code) if code.ram() < self.below => {
                let claim = claim(&stream, code.arena);
                check_stream(self.whole.graph(), &claim)
                    .map_err(|source| Error::Stream { path: self.whole.name.clone(), source })?;
                self.below = code.ram();
                let run = Run::of(self.whole.graph(), self.options.model);
                let run = run.with_end(1.0, end, Run::of_planned(&rest.model, &rest.plan));
                let code = Emitted { instructions: run.instructions, ..code };
                self.best = Some(Streamed {
                    whole: self.whole.clone(),
                    stream,
                    rest,
                    code,
                    macs,
                    run,
                    is_exact: self.is_exact,
                });
            }
            Ok(_) => {}
            Err(refused) => self.refused = Some(refused),
        }
        Ok(())
    }
}

/// What the independent checker is told of a stream.
pub fn claim(stream: &Stream, arena: u64) -> StreamClaim {
    let line = |line: &Line| {
        let Line { tensor, held, place, newest, .. } = *line;
        ClaimedLine { tensor, held, place, newest }
    };
    let step = |step: &Step| match *step {
        Step::Push => ClaimedStep::Push,
        Step::Run(op) => ClaimedStep::Run(op),
        Step::Keep(line) => ClaimedStep::Keep(line),
    };
    StreamClaim {
        ops: stream.ops.iter().map(|op| op.op).collect(),
        lines: stream.lines.iter().map(line).collect(),
        steps: stream.steps.iter().map(step).collect(),
        is_pushed: stream.rows == Rows::Pushed,
        leaves: stream.leaves.clone(),
        arena,
    }
}

/// The part of a model that runs row by row, as C is written from it.
fn streamed(whole: &Input, stream: &Stream, rest_macs: u64) -> Result<SourceStream, Error> {
    let (graph, tensors) = first_ops(whole, stream.ops.len())?;
    let line = |(line, &tensor): (&Line, &usize)| {
        let Line { rows, row_bytes, held, place, newest, .. } = *line;
        StreamLine { tensor, rows, row_bytes, held, place, newest }
    };
    let step = |step: &Step| match *step {
        Step::Push => StreamStep::Push,
        Step::Run(op) => StreamStep::Run(op),
        Step::Keep(line) => StreamStep::Keep(line),
    };
    Ok(SourceStream {
        rules: stream.ops.iter().map(|op| rule(op.rule)).collect(),
        lines: stream.lines.iter().zip(&tensors).map(line).collect(),
        steps: stream.steps.iter().map(step).collect(),
        is_pushed: stream.rows == Rows::Pushed,
        leaves: stream.leaves.last().map_or(0, |&(_, offset)| offset),
        macs: stream.macs.clone(),
        rest_macs,
        bytes: stream.bytes,
        graph,
        slide: None,
    })
}

/// The first operators of a model, and the tensor of each line of their stream.
pub(crate) fn first_ops(whole: &Input, count: usize) -> Result<(SourceGraph, Vec<usize>), Error> {
    let Source { graphs, .. } = anywhere(whole)?;
    let main = graphs.into_iter().next().ok_or_else(|| not_streamed(whole))?;
    let ops = main.ops[..count].to_vec();
    let made = ops.iter().filter_map(|op| op.outputs.first().copied().flatten());
    let tensors = main.inputs.iter().copied().chain(made).collect();
    Ok((SourceGraph { tensors: main.tensors, ops, inputs: main.inputs, outputs: Vec::new() }, tensors))
}

pub(crate) fn rule(rule: Rule) -> StreamRule {
    let row = |stride: i64, offset: i64, times: i64| StreamRule::Row {
        stride: stride as u64,
        offset: offset as u64,
        times: times as u64,
    };
    match rule {
        Rule::Sum => StreamRule::Sum,
        Rule::Rows(Reads::Alike) => row(1, 0, 1),
        Rule::Rows(Reads::Sliding(Sliding { extent: 1, stride, .. })) => row(stride, 0, 1),
        Rule::Rows(Reads::Sliding(_)) => StreamRule::Window,
        Rule::Rows(Reads::Padded { top, .. }) => StreamRule::Padded { top: top as u64 },
        Rule::Rows(Reads::Cropped { top, .. }) => row(1, top, 1),
        Rule::Rows(Reads::Repeated { times }) => row(1, 0, times),
    }
}
