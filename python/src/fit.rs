//! All ways to run a model in the memory of a device.

use crate::errors::{Failure, named};
use crate::model::Model;
use crate::search;
use crate::wishes::{Reading, Wishes};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use serenity::pipeline::{planned_model, reordered_graph};
use serenity::runtimes::MemoryModel;
use serenity::search::{CancelFlag, Progress};
use serenity::{Input, Options, ir};
use serenity_fit::{Change, Fit, Made, Question, StatedFit, Way};

/// The ways, and what the first of each kind that fits makes of the model.
#[pyclass(frozen, module = "serenity._serenity")]
pub(crate) struct FoundFit {
    input: Input,
    model: MemoryModel,
    question: Question,
    fit: Fit,
}

impl FoundFit {
    fn first(&self, is_wanted: impl Fn(&Way) -> bool) -> Option<&Made> {
        self.fit.first(is_wanted)?.outcome.as_ref().ok()
    }

    /// The first way that fits and ends in a model.
    fn first_model(&self) -> Option<&Made> {
        self.first(|way| !way.is_code)
    }
}

#[pymethods]
impl FoundFit {
    /// What the command prints for programs, but for what belongs to files.
    fn to_json(&self) -> String {
        let stated = StatedFit::new(&self.fit, self.model, &self.question, self.fit.first(|_| true));
        json!(stated).to_string()
    }

    /// What the command prints for people.
    fn summary(&self) -> PyResult<String> {
        let typed = &self.question.budget_typed;
        let refuse = |expected: String| Failure::request(format!("`{typed}` is not a size"), expected);
        Ok(serenity_cli::table_of_ways(&self.input, &self.fit, typed).map_err(refuse)?)
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.input.file.format().extensions()[0]
    }

    /// The first model that fits, in the format it came in.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(made) = self.first_model() else { return Ok(None) };
        let bytes = match &made.found {
            None => self.input.file.bytes().into_owned(),
            Some(found) => py.detach(|| planned_model(&found.model, &found.plan)).map_err(Failure::from)?,
        };
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// The graph of the first model that fits.
    fn to_graph(&self) -> PyResult<Option<String>> {
        let Some(made) = self.first_model() else { return Ok(None) };
        Ok(Some(match &made.found {
            None => ir::json::write(self.input.graph()),
            Some(found) => {
                ir::json::write(&reordered_graph(&found.model, &found.plan).map_err(Failure::from)?)
            }
        }))
    }

    /// Name and content of the files of the first C code that fits.
    fn code(&self) -> Option<Vec<(&'static str, String)>> {
        Some(self.first(|way| way.is_code)?.code.as_ref()?.files.clone())
    }

    /// Refuses a place where the model would not find its constants.
    fn check_side_files(&self, path: &str) -> PyResult<()> {
        Ok(serenity::write::check_side_files(&self.input, path).map_err(Failure::from)?)
    }
}

/// Tries all ways to run a model in the budget of the wishes. `progress(ways, seconds)` is called now and then.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    wishes: Wishes,
    budget_typed: String,
    reading: Reading,
    allow: Vec<String>,
    forbid: Vec<String>,
    hop: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<FoundFit> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let changes = |names: &[String]| names.iter().map(|name| named(name)).collect::<Result<Vec<Change>, _>>();
    let allowed = Change::allowed(&changes(&allow)?, &changes(&forbid)?);
    let typed = serenity_cli::as_word(&input.name) + &wishes.target.typed() + &reading.typed();
    let question = Question {
        budget: wishes.budget.unwrap_or(0),
        budget_typed,
        typed,
        allowed,
        names_kernels: wishes.target.names_kernels(),
        name: None,
        hop,
    };
    let search = |progress| -> Result<(Fit, MemoryModel), Failure> {
        let options = Options { progress, ..wishes.options(input, &cancel)? };
        Ok((serenity_fit::fit(input, &options, &question)?, options.model))
    };
    let tell = |callback: &Bound<'_, PyAny>, Progress { states, elapsed, .. }: Progress| {
        callback.call1((states, elapsed.as_secs_f64())).map(drop)
    };
    let (fit, model) = search::run_with(py, progress, &cancel, search, tell)??;
    Ok(FoundFit { input: input.clone(), model, question, fit })
}
