//! Many models on all cores.

use crate::errors::Failure;
use crate::found::{Found, whole};
use crate::model::Model;
use crate::search::{self, Board};
use crate::wishes::Wishes;
use pyo3::prelude::*;
use serenity::Input;
use serenity::search::CancelFlag;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Optimises each model for itself: a result or an exception for each, in the order given. `progress(done)` is called
/// now and then.
#[pyfunction]
pub(crate) fn optimize_many<'py>(
    py: Python<'py>,
    models: Vec<Bound<'py, Model>>,
    wishes: Wishes,
    workers: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let inputs: Vec<&Input> = models.iter().map(|model| &model.get().0).collect();
    let (cancel, next, done) = (CancelFlag::default(), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |board: &Arc<Board<usize>>| {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(input) = inputs.get(index) else { return results };
            results.push((index, Found::by(whole, input, &wishes, &cancel, None)));
            board.report(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let tell = |done: usize| progress.as_ref().map_or(Ok(()), |progress| progress.call1((done,)).map(drop));
    let workers = workers.clamp(1, inputs.len().max(1));
    let mut results: Vec<_> =
        search::run_in(py, workers, &cancel, work, tell)?.into_iter().flatten().collect();
    results.sort_by_key(|(index, _)| *index);
    let object = |(_, result): (usize, Result<Found, Failure>)| match result {
        Ok(found) => Ok(Bound::new(py, found)?.into_any()),
        Err(failure) => failure.into_exception(py),
    };
    results.into_iter().map(object).collect()
}
