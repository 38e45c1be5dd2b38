//! Makes a model in one of the ways.

use crate::{Change, Question, Way};
use serenity::account::{Account, refused_by_tflm};
use serenity::code::check_covered;
use serenity::coming::{Coded, Coming, code_for};
use serenity::hops::{Hopped, hops};
use serenity::pipeline::{Figures, Need, NoPlan, macs_of, new_operators, optimize_without_and_with_loops};
use serenity::run::Run;
use serenity::stream::best_code;
use serenity::{Error, Format, Input, Loops, Optimized, Options, Rewrites, optimize};
use serenity_emit::{Emitted, prefix_of};
use serenity_runtimes::{Kernels, MemoryModel, resolver_call};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The share of additional multiplications that loops may take. Within a budget, loops with the fewest are taken.
const MOST_EXTRA_MACS: f64 = 0.5;

/// A model that was made in one of the ways.
#[derive(Debug)]
pub struct Made {
    /// The memory that a device must have.
    pub need: Need,
    /// Can the runtime run it, whatever memory it gets?
    pub can_run: bool,
    /// Is the need within the budget, margin included? False if not all of it is known.
    pub fits: bool,
    /// Multiplications added to the model as it came; negative if there are fewer.
    pub extra_macs: i64,
    /// The estimated instructions of a run on a Cortex-M4, if the kernels were measured there.
    pub instructions: Option<u64>,
    /// The share of time that a run takes more than one of the model as it came, by estimate; negative if it takes less.
    pub extra_time: Option<f64>,
    /// Bytes of flash added to the model as it came; negative if it takes fewer. For C code: its constants instead of
    /// the model file, without the instructions, which take the place of the interpreter's.
    pub extra_flash: i64,
    /// Is it proved that nothing made this way needs less?
    pub is_proved: bool,
    /// What the application must do, one sentence each.
    pub asks: Vec<String>,
    /// The command that makes it; `None` for the model as it came.
    pub command: Option<String>,
    /// The model and its plan; `None` for the model as it came, and for one whose input comes row by row.
    pub found: Option<Box<Optimized>>,
    /// The code, if there is any.
    pub code: Option<Emitted>,
}

/// Why a way is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPossible {
    /// No rewrite lowers the need.
    #[error("no rewrite lowers the need")]
    NoRewrite,
    /// No loops lower the need.
    #[error("no loops lower the need")]
    NoLoops,
    /// The model fits without loops.
    #[error("fits without loops")]
    FitsWithoutLoops,
    /// The model cannot be made this way.
    #[error("{0}")]
    Failed(String),
}

/// A model for which ways are tried.
pub(crate) struct Case<'a> {
    input: &'a Input,
    options: &'a Options,
    question: &'a Question,
    /// The model, ordered and placed, and not changed otherwise.
    planned: Optimized,
    takes_floats: bool,
    /// A run of the model as it came.
    run: Run,
    /// What was searched for ways without loops, together with the ways that differ in their loops alone.
    searches: Mutex<Vec<(Way, Arc<Search>)>>,
}

type Search = OnceLock<Result<[Optimized; 2], NotPossible>>;

impl<'a> Case<'a> {
    pub(crate) fn new(input: &'a Input, options: &'a Options, question: &'a Question) -> Result<Self, Error> {
        let planned = optimize(input, &Options { rewrites: Rewrites::None, loops: None, ..options.clone() })?;
        let is_tflite = input.file.format() == Format::TfLite;
        let takes_floats =
            is_tflite && input.with_quantized_io().is_ok_and(|(_, changed)| !changed.is_unchanged());
        let run = Run::of(input.graph(), options.model);
        Ok(Self { input, options, question, planned, takes_floats, run, searches: Mutex::default() })
    }

    /// Is this a way for such a model?
    pub(crate) fn applies(&self, way: Way) -> bool {
        let is_for_tflm =
            self.input.file.format() == Format::TfLite && self.options.model.kernels().is_some();
        let any = self.options.model.without_plan() == MemoryModel::Tflm(Kernels::Any);
        (is_for_tflm || !(way.loops || way.int8_io || way.is_code || way.is_slid))
            && ((self.takes_floats && !self.options.int8_io) || !way.int8_io)
            && (way.kernels.is_none() || (any && !self.question.names_kernels))
            && (!way.is_code || self.emitted().is_some())
            && (!way.is_pushed || self.emitted() == Some(Kernels::Emitted))
            && (!way.is_slid || self.question.hop.is_some())
    }

    /// Makes the model.
    pub(crate) fn made(&self, way: Way) -> Result<Made, NotPossible> {
        if !way.is_planned {
            return Ok(self.as_it_came());
        }
        if way == Way::PLANNED {
            return Ok(self.told(way, self.planned.clone()));
        }
        if way.is_code {
            let kernels = self.emitted().unwrap_or_default();
            check_covered(self.input, way.int8_io, kernels).map_err(|error| failed(&error))?;
        }
        if way.is_pushed {
            return self.pushed(way);
        }
        if let Some(rows) = self.question.hop.filter(|_| way.is_slid) {
            return self.slid(way, rows);
        }
        let [without, with] = self.searched(way)?;
        if !way.loops {
            let is_plain = way == Way { rewrites: true, ..Way::PLANNED };
            if is_plain && without.plan.keeps_operators() {
                return Err(NotPossible::NoRewrite);
            }
            return self.finished(way, without);
        }
        if with.plan.loops.is_none() {
            let fits = with.attempts.iter().any(|one| one.outcome == Err(NoPlan::FitsAlready));
            return Err(if fits { NotPossible::FitsWithoutLoops } else { NotPossible::NoLoops });
        }
        self.finished(way, with)
    }

    /// The best without loops and the best of all. Ways that differ in their loops alone share one search; whoever asks
    /// first makes it.
    fn searched(&self, way: Way) -> Result<[Optimized; 2], NotPossible> {
        let search = self.search(Way { loops: false, ..way });
        let make = || {
            let options = Options { loops: self.loops(), ..self.options(way) };
            let found = optimize_without_and_with_loops(self.input, &options);
            found.map_err(|error| failed(&error.into()))
        };
        search.get_or_init(make).clone()
    }

    fn loops(&self) -> Option<Loops> {
        let loops = Loops { most_extra_macs: MOST_EXTRA_MACS, enough: Some(self.question.budget) };
        Some(loops).filter(|_| self.question.allowed.contains(&Change::Loops))
    }

    /// C code that takes the rows of the input as they come.
    fn pushed(&self, way: Way) -> Result<Made, NotPossible> {
        let options = Options { loops: self.loops(), ..self.options(way) };
        let name = prefix_of(self.question.name.as_ref().unwrap_or(&self.input.name));
        let coming = match self.question.hop.filter(|_| way.is_slid) {
            Some(hop) => Coming::Time { hop, budget: Some(self.question.budget) },
            None => Coming::Rows,
        };
        let coded = code_for(self.input, &options, coming, &name).map_err(|error| self.refused(&error))?;
        let Coded { code, macs, run, is_exact } = coded;
        let mut asks = asks(way, is_exact, &[]);
        asks.insert(
            0,
            format!("hand over a row of the input at a time to `{name}_push` instead of the interpreter"),
        );
        Ok(Made {
            need: Need { bytes: code.ram(), margin: 0 },
            can_run: true,
            fits: code.ram() <= self.question.budget,
            extra_macs: macs as i64 - macs_of(self.input.graph()) as i64,
            instructions: run.instructions,
            extra_time: run.compared_with(self.run),
            extra_flash: self.extra_flash(&code),
            is_proved: false,
            asks,
            command: Some(self.command(way)),
            found: None,
            code: Some(code),
        })
    }

    /// Why rows or windows are refused, without the name of the model, which the title of the table has.
    fn refused(&self, error: &Error) -> NotPossible {
        let reason = reason(error);
        let name = format!("`{}` ", self.input.name);
        NotPossible::Failed(reason.strip_prefix(&name).unwrap_or(&reason).to_owned())
    }

    /// A model for TFLM that takes the new rows of a window.
    fn slid(&self, way: Way, rows: u64) -> Result<Made, NotPossible> {
        let made = hops(self.input, &self.options(way), rows, Some(self.question.budget));
        let Hopped { found, hop, is_exact } = made.map_err(|error| self.refused(&error))?;
        let bytes = found.to_bytes().map_err(|error| failed(&error.into()))?;
        let run = Run::of_planned(&found.model, &found.plan);
        let mut asks = asks(way, is_exact, &new_operators(self.input, &found.model));
        asks.insert(0, hop.asks(self.input.graph().outputs().len()));
        Ok(Made {
            extra_macs: hop.macs as i64 - hop.window_macs as i64,
            instructions: run.instructions,
            extra_time: run.compared_with(self.run),
            extra_flash: bytes.len() as i64 - self.input.file.bytes().len() as i64,
            is_proved: false,
            asks,
            ..self.told(way, found)
        })
    }

    fn search(&self, without_loops: Way) -> Arc<Search> {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, search)) = searches.iter().find(|(way, _)| *way == without_loops) {
            return Arc::clone(search);
        }
        let search = Arc::<Search>::default();
        searches.push((without_loops, Arc::clone(&search)));
        search
    }

    fn options(&self, way: Way) -> Options {
        let kernels = if way.is_code { self.emitted() } else { way.kernels };
        let model = match kernels {
            Some(kernels) => self.options.model.without_plan().with_kernels(kernels),
            None => self.options.model,
        };
        let plan_arena = self.options.plan_arena || way.is_code;
        let int8_io = way.int8_io || self.options.int8_io;
        let rewrites = if way.rewrites { self.options.rewrites } else { Rewrites::None };
        Options { model, plan_arena, int8_io, rewrites, loops: None, ..self.options.clone() }
    }

    /// The kernels of emitted C that correspond to those of the target.
    fn emitted(&self) -> Option<Kernels> {
        match self.options.model.kernels()? {
            Kernels::Any | Kernels::Reference => Some(Kernels::Emitted),
            Kernels::CmsisNn => Some(Kernels::EmittedCmsisNn),
            Kernels::CmsisNnMve => Some(Kernels::EmittedCmsisNnMve),
            kernels if kernels.are_emitted() => Some(kernels),
            _ => None,
        }
    }

    fn finished(&self, way: Way, found: Optimized) -> Result<Made, NotPossible> {
        let mut made = self.told(way, found);
        if let (true, Some(found)) = (way.is_code, &made.found) {
            let name = self.question.name.as_ref().unwrap_or(&self.input.name);
            let options = Options { loops: self.loops().filter(|_| way.loops), ..self.options(way) };
            let code = best_code(self.input, found, &options, &prefix_of(name));
            let (code, macs, run) = code.map_err(|error| failed(&error))?;
            made.instructions = run.instructions;
            made.extra_time = run.compared_with(self.run);
            made.extra_macs = macs as i64 - macs_of(self.input.graph()) as i64;
            made.need = Need { bytes: code.ram(), margin: 0 };
            made.fits = code.ram() <= self.question.budget;
            made.extra_flash = self.extra_flash(&code);
            made.asks.insert(0, format!("call `{}_invoke` instead of the interpreter", code.prefix));
            made.code = Some(code);
        }
        Ok(made)
    }

    /// Bytes of flash that the constants of this code take more than the model file.
    fn extra_flash(&self, code: &Emitted) -> i64 {
        code.constants as i64 - self.input.file.bytes().len() as i64
    }

    fn as_it_came(&self) -> Made {
        let plan = &self.planned.plan;
        let need = Account::new(self.input, &self.planned.model, plan).needed();
        let can_run = refused_by_tflm(self.input, plan.model).is_empty();
        Made {
            need,
            can_run,
            fits: can_run && plan.fits(need, self.question.budget),
            extra_macs: 0,
            instructions: self.run.instructions,
            extra_time: Some(0.0),
            extra_flash: 0,
            is_proved: false,
            asks: Vec::new(),
            command: None,
            found: None,
            code: None,
        }
    }

    /// The figures of a planned model.
    fn told(&self, way: Way, found: Optimized) -> Made {
        let need = Need::of(&found.model, &found.plan);
        let chosen = found.attempts.iter().find(|attempt| attempt.is_chosen);
        let figures: Option<&Figures> = chosen.and_then(|attempt| attempt.outcome.as_ref().ok());
        let run = Run::of_planned(&found.model, &found.plan);
        let is_for_tflm = found.plan.model.kernels().is_some();
        let can_run = way.is_code || refused_by_tflm(self.input, found.plan.model).is_empty();
        Made {
            need,
            can_run,
            fits: can_run && found.plan.fits(need, self.question.budget),
            extra_macs: figures.map_or(0, |figures| figures.extra_macs),
            instructions: run.instructions,
            extra_time: run.compared_with(self.run),
            extra_flash: figures.map_or(0, |figures| figures.extra_flash),
            is_proved: found.plan.is_optimal(),
            asks: asks(
                way,
                found.plan.rewrites.iter().all(|rewrite| rewrite.exact),
                figures.filter(|_| is_for_tflm).map_or(&[], |figures| &figures.new_operators),
            ),
            command: Some(self.command(way)),
            found: Some(Box::new(found)),
            code: None,
        }
    }

    fn command(&self, way: Way) -> String {
        let Question { budget_typed, typed, name, .. } = self.question;
        let verb = if way.is_code { "emit c" } else { "optimize" };
        let rewrite = if way.rewrites { "" } else { " --rewrite none" };
        let kernels = way.kernels.map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
        let io = if way.int8_io { " --int8-io" } else { "" };
        let name = name.as_ref().filter(|_| way.is_code);
        let name = name.map_or_else(String::new, |name| format!(" --name {name}"));
        let most =
            if way.loops { format!(" --loops={:.0}%", 100.0 * MOST_EXTRA_MACS) } else { String::new() };
        let output = match (way.is_code, self.input.file.format()) {
            (true, _) => "code".to_owned(),
            (false, Format::TfLite) => "smaller.tflite".to_owned(),
            (false, Format::Onnx) => "smaller.onnx".to_owned(),
            (false, _) => "smaller.json".to_owned(),
        };
        let rows = match self.question.hop.filter(|_| way.is_slid) {
            Some(hop) if way.is_code => format!(" --stream time --hop {hop}"),
            Some(hop) => format!(" --hop {hop}"),
            None if way.is_pushed => " --stream rows".to_owned(),
            None => String::new(),
        };
        let budget =
            if way.loops || way.is_slid { format!(" --budget {budget_typed}") } else { String::new() };
        format!("serenity {verb} {typed}{rewrite}{kernels}{io}{most}{rows}{budget}{name} -o {output}")
    }
}

/// What the application must do.
fn asks(way: Way, is_exact: bool, new_operators: &[String]) -> Vec<String> {
    let mut asks = Vec::new();
    if !is_exact {
        let exact = "accept outputs that are the same up to rounding (with `--rewrite exact`, bit for bit)";
        asks.push(exact.to_owned());
    }
    asks.extend(way.kernels.map(|kernels| format!("build TFLM with the `{kernels}` kernels")));
    if way.int8_io {
        asks.push("fill inputs and read outputs as integers, by their scale and zero point".to_owned());
    }
    if !new_operators.is_empty() && !way.is_code {
        let calls: Vec<String> = new_operators.iter().map(|kind| resolver_call(kind)).collect();
        asks.push(format!("register more operators: {}", calls.join(", ")));
    }
    asks
}

fn failed(error: &Error) -> NotPossible {
    NotPossible::Failed(reason(error))
}

/// The reason alone: the table is about one model, which its title names.
fn reason(error: &Error) -> String {
    match error {
        Error::Emit { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}
