//! Models as they are, random orders of them, and their C code.

use crate::errors::Failure;
use crate::model::Model;
use crate::search;
use crate::wishes::{Patience, RuntimeNames, Wishes};
use pyo3::prelude::*;
use serde_json::json;
use serenity::Options;
use serenity::code::{StatedCode, check_covered, check_whole};
use serenity::coming::{Coming, code_for};
use serenity::diff::{Growth, Limits, diff as compared};
use serenity::emit::prefix_of;
use serenity::inspect::Inspected;
use serenity::runtimes::main_graph;
use serenity::sample::{Draw, Drawn, Sampled};
use serenity::search::CancelFlag;

/// What a model needs as it is: what the command prints for programs, and the bytes that a device must have.
#[pyfunction]
pub(crate) fn inspect(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    target: RuntimeNames,
    budget: Option<u64>,
    patience: Patience,
) -> PyResult<(String, u64)> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let look = |_| -> Result<(String, u64), Failure> {
        let limits = patience.limits(&cancel)?;
        let options = Options { model: target.model(input)?, limits, ..Options::for_input(input) };
        let seen = Inspected::new(input.clone(), &options)?;
        Ok((json!(seen.stated(budget)).to_string(), seen.need().bytes))
    };
    Ok(search::run(py, None, &cancel, look)??)
}

/// What changed between two models: what the command prints for programs. The second may need so many bytes more than
/// the first, or such a share.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    old: &Bound<'_, Model>,
    new: &Bound<'_, Model>,
    target: RuntimeNames,
    budget: Option<u64>,
    max_growth: (Option<u64>, Option<f64>),
) -> PyResult<String> {
    let (old, new) = (&old.get().0, &new.get().0);
    let (bytes, share) = max_growth;
    let max_growth = bytes.map(Growth::Bytes).or(share.map(Growth::Share));
    let compare = |_| -> Result<String, Failure> {
        Ok(json!(compared(old, new, &target.target()?, &Limits { budget, max_growth })?).to_string())
    };
    Ok(search::run(py, None, &CancelFlag::default(), compare)??)
}

/// How the peaks of random orders are distributed, as the command prints it for programs. All orders without a count.
#[pyfunction]
pub(crate) fn sample(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    count: Option<u64>,
    seed: u64,
    target: RuntimeNames,
    budget: Option<u64>,
    patience: Patience,
) -> PyResult<String> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let draw = count.map_or(Draw::All, |count| Draw::Some { count, seed });
    let look = |_| -> Result<String, Failure> {
        let model = target.model(input)?;
        let graph = main_graph(input.graphs(), &[], model);
        let (limits, effort) = (patience.limits(&cancel)?, patience.effort());
        let options = Options { model, limits, effort, ..Options::default() };
        let drawn = Drawn::new(&graph, draw, &options)?;
        let best = serenity::schedule(&graph, &options)?;
        Ok(json!(Sampled { drawn, best }.stated(budget)).to_string())
    };
    Ok(search::run(py, None, &cancel, look)??)
}

/// Name and content of a file.
type File = (&'static str, String);

/// A model as C: what the command prints for programs, and the files.
#[pyfunction]
pub(crate) fn emit_c(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    name: Option<&str>,
    stream: Option<&str>,
    hop: Option<u64>,
    wishes: Wishes,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<File>)> {
    let (input, cancel) = (&model.get().0, CancelFlag::default());
    let prefix = prefix_of(name.unwrap_or(&input.name));
    let emit = |progress| -> Result<(String, Vec<File>), Failure> {
        check_whole(input)?;
        let options = Options { progress, ..wishes.options_for_c(input, &cancel)? };
        check_covered(input, options.int8_io, options.model.kernels().unwrap_or_default())?;
        let budget = wishes.budget;
        let coming = match stream {
            None => Coming::Whole,
            Some("time") => Coming::Time { hop: hop.unwrap_or(1), budget },
            Some(_) => Coming::Rows,
        };
        let code = code_for(input, &options, coming, &prefix)?.code;
        let names: Vec<String> = code.files.iter().map(|(name, _)| (*name).to_owned()).collect();
        Ok((json!(StatedCode::of(&code, &names)).to_string(), code.files))
    };
    Ok(search::run(py, progress, &cancel, emit)??)
}
