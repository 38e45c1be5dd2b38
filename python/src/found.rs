//! Results.

use crate::errors::Failure;
use crate::model::Model;
use crate::search;
use crate::wishes::Wishes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use serenity::ir::{self, Graph, OpId, Profile, Step};
use serenity::report::{PageOptions, page};
use serenity::runtimes::{Tail, TflmFacts, live_by_op, main_graph};
use serenity::search::{CancelFlag, Limits};
use serenity::{Footprint, Format, Input, Optimized, Options, Plan};
use std::time::{Duration, Instant};

/// What would lower a model's need is tried before it is promised, but not for longer.
const TIME_TO_DRAW: Duration = Duration::from_secs(60);

/// What became of a model. Everything in it is computed when it is asked for: of thousands of results, most are asked for one number.
#[pyclass(frozen, module = "serenity._serenity")]
pub(crate) struct Found {
    input: Input,
    best: Optimized,
    options: Options,
    budget: Option<u64>,
    elapsed: Duration,
}

impl Found {
    /// Optimises one model.
    pub(crate) fn search(
        input: &Input,
        wishes: &Wishes,
        cancel: &CancelFlag,
        progress: Option<serenity::search::ProgressFn>,
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let options = Options { progress, ..wishes.options(input, cancel)? };
        let best = serenity::optimize(input, &options)?;
        // Nobody waits any more for what it reports.
        let options = Options { progress: None, ..options };
        Ok(Self { input: input.clone(), best, options, budget: wishes.budget, elapsed: started.elapsed() })
    }

    fn plan(&self) -> &Plan {
        &self.best.plan
    }

    /// What TFLM keeps besides the head, before and after, if that is the target and the model is known.
    fn tails(&self) -> Option<(Tail, Tail)> {
        let model = self.plan().model;
        self.input.tail(model).zip(self.best.model.tail(model))
    }

    /// What must fit a device.
    fn needs(&self) -> u64 {
        let needs = self.plan().after.needs();
        self.tails().map_or(needs, |(_, tail)| tail.needed(needs).arm32)
    }

    fn planned_profile(&self) -> Profile {
        let (plan, graphs) = (self.plan(), self.best.model.graphs());
        looped_profile(graphs, plan).unwrap_or_else(|| {
            plan.model.lifetimes(&main_graph(graphs, &plan.bodies, plan.model)).profile(&plan.order)
        })
    }
}

/// The memory in use if there are loops. Values that a loop hands on lie in the same bytes and count once.
fn looped_profile(graphs: &[Graph], plan: &Plan) -> Option<Profile> {
    plan.loops.as_ref()?;
    let graphs: Vec<&Graph> = graphs.iter().collect();
    let orders: Vec<&[OpId]> =
        std::iter::once(plan.order.as_slice()).chain(plan.bodies.iter().map(Vec::as_slice)).collect();
    let live = live_by_op(&TflmFacts::new(&graphs, plan.model.kernels()?), &orders)?;
    let steps = plan.order.iter().zip(live).map(|(&op, bytes)| Step { op, during: bytes, after: bytes });
    Some(Profile { at_start: 0, steps: steps.collect() })
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
        let plan = self.plan();
        let footprint = |f: Footprint, tail: Option<Tail>| {
            let total = tail.map(|tail| tail.needed(f.needs()));
            let total = total.map(|whole| json!({"arm32": whole.arm32, "x86_64": whole.x86_64}));
            json!({"peak": f.peak, "arena": f.arena, "total": total, "ops": f.ops})
        };
        let tails = self.tails();
        let mut object = plan.to_json();
        object["before"] = footprint(plan.before, tails.map(|(before, _)| before));
        object["after"] = footprint(plan.after, tails.map(|(_, after)| after));
        object["seconds"] = self.elapsed.as_secs_f64().into();
        object["budget"] = self.budget.into();
        object["fits"] = self.budget.map(|budget| plan.fits(self.needs(), budget)).into();
        let known = self.budget.filter(|_| plan.counts_everything());
        object["missing"] = known.map(|budget| self.needs().saturating_sub(budget)).into();
        object["needs"] = self.needs().into();
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
        let plan = self.plan();
        // Of what a default session runs, only what it asks for is known.
        let came = if matches!(plan.session, Some(Ok(_))) { &self.best.model } else { &self.input };
        let graph = main_graph(came.graphs(), &[], plan.model);
        let order = plan.model.execution_order(&graph, &graph.file_order());
        plan.model.lifetimes(&graph).profile(&order).steps.iter().map(|step| step.during).collect()
    }

    /// The ops in the order in which they run.
    fn steps(&self) -> Vec<StepFields> {
        let graph = self.best.model.graph();
        let fields = |step: &Step| {
            let kind = graph.op(step.op).kind.as_str().to_owned();
            (step.op.0, graph.op_label(step.op), kind, step.during, step.after)
        };
        self.planned_profile().steps.iter().map(fields).collect()
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
        let graph = serenity::reordered_graph(&self.best.model, self.plan()).map_err(Failure::from)?;
        Ok(ir::json::write(&graph))
    }

    /// The page, as HTML.
    fn page(&self, py: Python<'_>) -> String {
        let asked = PageOptions {
            budget: self.budget,
            typed: serenity_cli::as_word(&self.input.name),
            ..PageOptions::default()
        };
        // The time of the search is over: drawing has its own.
        let options = Options { limits: Limits::default().within(TIME_TO_DRAW), ..self.options.clone() };
        py.detach(|| page(&self.input, &self.best, &options, &asked).to_html())
    }

    /// Refuses a place where the model would not find its constants.
    fn check_side_files(&self, path: &str) -> PyResult<()> {
        Ok(serenity::check_side_files(&self.input, path).map_err(Failure::from)?)
    }

    #[getter]
    fn format(&self) -> &'static str {
        let format: Format = self.best.model.file.format();
        format.extensions()[0]
    }
}

/// Optimises one model.
#[pyfunction]
#[pyo3(signature = (model, wishes, progress))]
pub(crate) fn optimize(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: Wishes,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let found =
        search::run(py, progress, &cancel, |progress| Found::search(input, &wishes, &cancel, progress))?;
    Ok(found?)
}

/// Orders one model with exactly the algorithm asked for.
#[pyfunction]
#[pyo3(signature = (model, wishes, progress))]
pub(crate) fn schedule(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: Wishes,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let order = |progress| -> Result<Found, Failure> {
        let started = Instant::now();
        let options = Options { progress, ..wishes.options(input, &cancel)? };
        let plan = serenity::schedule(&main_graph(input.graphs(), &[], options.model), &options)?;
        let best = Optimized { model: input.clone(), plan };
        let options = Options { progress: None, ..options };
        Ok(Found { input: input.clone(), best, options, budget: wishes.budget, elapsed: started.elapsed() })
    };
    Ok(search::run(py, progress, &cancel, order)??)
}
