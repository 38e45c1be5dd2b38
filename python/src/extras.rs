//! Traffic, verification, checks, pictures and the command.

use crate::errors::{Failure, named};
use crate::model::Model;
use crate::search;
use crate::wishes::{Patience, RuntimeNames};
use pyo3::prelude::*;
use serde_json::json;
use serenity::PlanFile;
use serenity::memories::TrafficOptions;
use serenity::plan_check::CheckOptions;
use serenity::search::{CancelFlag, Limits};
use serenity_report::{Axis, Colour, Line, LineChart, Mark, Shape};
use serenity_verify::VerifyOptions;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Off-chip bytes for each on-chip size, as the command prints them for programs.
#[pyfunction]
pub(crate) fn traffic(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    on_chip: Vec<u64>,
    target: RuntimeNames,
    grain: &str,
    objective: &str,
    patience: Patience,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let model = target.model(input)?;
    let (grain, objective) = (named(grain)?, named(objective)?);
    let search = |progress| -> Result<String, Failure> {
        let graph = serenity::runtimes::main_graph(input.graphs(), &[], model);
        let limits = patience.limits(&cancel)?;
        let effort = patience.effort();
        let options = TrafficOptions { model, grain, objective, effort, limits, progress, before: None };
        let plan =
            serenity::memories::least_traffic(&graph, &on_chip, &options).map_err(serenity::Error::from)?;
        Ok(json!(plan.stated(&graph, &options)).to_string())
    };
    Ok(search::run(py, progress, &cancel, search)??)
}

/// Do two model files compute the same? As the command prints it for programs.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    a: &str,
    b: &str,
    runs: u32,
    seed: u64,
    engine: Option<&str>,
    python: PathBuf,
) -> PyResult<String> {
    let engine = engine.map(named).transpose()?;
    let options = VerifyOptions { runs, seed, engine, python: Some(python) };
    let found = py.detach(|| serenity_verify::verify(a, b, &options)).map_err(Failure::from)?;
    Ok(json!(found).to_string())
}

/// Checks what a plan claims of a model.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    plan: &str,
    model: &Bound<'_, Model>,
    deep: bool,
    time_limit: f64,
    memory_limit: u64,
) -> PyResult<String> {
    let input = &model.get().0;
    let refuse =
        |reason: String| Failure::from(serenity::Error::PlanFile { path: "the plan".to_owned(), reason });
    let plan = PlanFile::parse(plan).map_err(refuse)?;
    let time = Duration::try_from_secs_f64(time_limit).unwrap_or(Duration::MAX);
    let cancel = CancelFlag::default();
    let limits = Limits { cancel: cancel.clone(), ..Limits::lasting(time) };
    let verdict = search::run(py, None, &cancel, |_| {
        let deep = deep.then(|| limits.holding(memory_limit));
        serenity::check_plan(input, &plan, &CheckOptions { model: None, deep })
    })?;
    Ok(json!(verdict.stated(&plan)).to_string())
}

/// A picture of memory over time, before and after, as SVG.
#[pyfunction]
pub(crate) fn chart(title: &str, before: Vec<u64>, after: Vec<u64>, budget: Option<u64>) -> String {
    let line = |name: &str, colour: Colour, bytes: &[u64]| {
        let last = bytes.last().copied();
        let points = bytes.iter().copied().chain(last).enumerate();
        let points = points.map(|(step, bytes)| (step as f64, bytes as f64 / 1e3)).collect();
        Line { name: name.to_owned(), colour, points, shape: Shape::Steps }
    };
    let marks = budget.map(|budget| Mark::Across(budget as f64 / 1e3, "budget".to_owned()));
    let chart = LineChart {
        title: title.to_owned(),
        subtitle: "memory in use while each operator runs".to_owned(),
        bottom_axis: Axis::linear("operators that have run"),
        value_axis: Axis::linear("KB"),
        lines: vec![line("before", Colour::Grey, &before), line("after", Colour::Blue, &after)],
        marks: marks.into_iter().collect(),
    };
    chart.to_svg()
}

/// A size as people write it.
#[pyfunction]
pub(crate) fn parse_size(text: &str) -> PyResult<u64> {
    let refuse = |expected: String| Failure::request(format!("`{text}` is not a size"), expected);
    Ok(serenity_cli::parse_size(text).map_err(refuse)?)
}

/// Runs the command; the exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| serenity_cli::run(args))
}
