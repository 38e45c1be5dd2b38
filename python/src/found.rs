//! Results.

use crate::errors::Failure;
use crate::model::Model;
use crate::search;
use crate::wishes::Wishes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use serenity::account::Account;
use serenity::hops::{StatedHop, hops};
use serenity::ir::{self, Step};
use serenity::pipeline::Attempt;
use serenity::runtimes::main_graph;
use serenity::search::{CancelFlag, Limits, ProgressFn};
use serenity::{Error, Format, Input, Optimized, Options, Plan};
use serenity_page::{PageOptions, page};
use std::time::{Duration, Instant};

/// What would lower a model's need is tried before it is promised, but not for longer.
const TIME_TO_DRAW: Duration = Duration::from_secs(60);

/// What became of a model. Everything in it is computed when it is asked for: of thousands of results, most are asked
/// for one number.
#[pyclass(frozen, module = "serenity._serenity")]
pub(crate) struct Found {
    input: Input,
    best: Optimized,
    hop: Option<StatedHop>,
    options: Options,
    budget: Option<u64>,
    elapsed: Duration,
}

impl Found {
    /// What this work makes of a model.
    pub(crate) fn by(
        work: impl Fn(&Input, &Options) -> Result<Made, Error>,
        input: &Input,
        wishes: &Wishes,
        cancel: &CancelFlag,
        progress: Option<ProgressFn>,
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let options = Options { progress, ..wishes.options(input, cancel)? };
        let (best, hop) = work(input, &options)?;
        // Nobody waits any more for what it reports.
        let options = Options { progress: None, ..options };
        let (budget, elapsed) = (wishes.budget, started.elapsed());
        Ok(Self { input: input.clone(), best, hop, options, budget, elapsed })
    }

    fn plan(&self) -> &Plan {
        &self.best.plan
    }

    fn account(&self) -> Account<'_> {
        Account::new(&self.input, &self.best.model, self.plan())
    }
}

/// An op as it runs: its position in the model, its name and type, bytes in use while it runs and after.
type StepFields = (u32, String, String, u64, u64);

#[pymethods]
impl Found {
    #[getter]
    fn peak(&self) -> u64 {
        self.plan().after.peak
    }

    #[getter]
    fn bound(&self) -> u64 {
        self.plan().least()
    }

    /// How long the library took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64()
    }

    #[getter]
    fn is_optimal(&self) -> bool {
        self.plan().is_optimal()
    }

    /// What the command prints for programs, but for what belongs to files.
    fn to_json(&self) -> String {
        let mut account = self.account().stated(self.budget);
        account.plan.seconds = self.elapsed.as_secs_f64();
        let attempts: Vec<_> = self.best.attempts.iter().map(Attempt::stated).collect();
        let mut object = json!(account);
        object["hop"] = json!(self.hop);
        object["attempts"] = json!(attempts);
        object.to_string()
    }

    /// The plan as the command writes it to a file.
    fn plan_text(&self) -> String {
        let mut object = json!({"schema": "serenity.plan/1"});
        if let (Value::Object(all), Value::Object(plan)) = (&mut object, self.plan().to_json()) {
            all.extend(plan);
        }
        format!("{object}\n")
    }

    /// Bytes in use while each op runs, as the model came.
    fn before(&self) -> Vec<u64> {
        self.account().profile_before().steps.iter().map(|step| step.during).collect()
    }

    /// The ops in the order in which they run.
    fn steps(&self) -> Vec<StepFields> {
        let graph = self.best.model.graph();
        let fields = |step: &Step| {
            let kind = graph.op(step.op).kind.as_str().to_owned();
            (step.op.0, graph.op_label(step.op), kind, step.during, step.after)
        };
        self.account().profile_after().steps.iter().map(fields).collect()
    }

    /// The model to run, in the format it came in; `None` for a graph, which has no weights.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if !self.best.model.file.format().has_weights() {
            return Ok(None);
        }
        let bytes = py.detach(|| self.best.to_bytes()).map_err(Failure::from)?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// The graph with its ops in their new order.
    fn to_graph(&self) -> PyResult<String> {
        let graph =
            serenity::pipeline::reordered_graph(&self.best.model, self.plan()).map_err(Failure::from)?;
        Ok(ir::json::write(&graph))
    }

    /// The page, as HTML.
    fn page(&self, py: Python<'_>) -> String {
        let asked = PageOptions {
            budget: self.budget,
            budget_typed: self.budget.map_or_else(String::new, |budget| budget.to_string()),
            typed: serenity_cli::as_word(&self.input.name),
            ..PageOptions::default()
        };
        // The time of the search is over: drawing has its own.
        let options = Options { limits: Limits::default().within(TIME_TO_DRAW), ..self.options.clone() };
        py.detach(|| page(&self.input, &self.best, &options, &asked).to_html())
    }

    /// Refuses a place where the model would not find its constants.
    fn check_side_files(&self, path: &str) -> PyResult<()> {
        Ok(serenity::write::check_side_files(&self.input, path).map_err(Failure::from)?)
    }

    #[getter]
    fn format(&self) -> &'static str {
        let format: Format = self.best.model.file.format();
        format.extensions()[0]
    }
}

/// A planned model, and what a run of it takes if windows slide over time.
pub(crate) type Made = (Optimized, Option<StatedHop>);

/// A planned model for whole inputs.
pub(crate) fn whole(input: &Input, options: &Options) -> Result<Made, Error> {
    Ok((serenity::optimize(input, options)?, None))
}

/// Optimises one model: for windows that move by `hop` rows, if that is asked for.
#[pyfunction]
pub(crate) fn optimize(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: Wishes,
    hop: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let make = |input: &Input, options: &Options| {
        let Some(rows) = hop else { return whole(input, options) };
        let made = hops(input, options, rows, wishes.budget)?;
        Ok((made.found, Some(made.hop)))
    };
    found(py, model, &wishes, progress, make)
}

/// Orders one model with exactly the algorithm asked for.
#[pyfunction]
pub(crate) fn schedule(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: Wishes,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let order = |input: &Input, options: &Options| {
        let plan = serenity::schedule(&main_graph(input.graphs(), &[], options.model), options)?;
        Ok((Optimized::new(input.clone(), plan), None))
    };
    found(py, model, &wishes, progress, order)
}

fn found(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: &Wishes,
    progress: Option<Bound<'_, PyAny>>,
    work: impl Fn(&Input, &Options) -> Result<Made, Error> + Sync,
) -> PyResult<Found> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let search = |progress| Found::by(&work, input, wishes, &cancel, progress);
    Ok(search::run(py, progress, &cancel, search)??)
}
