//! The least peak of one graph after another.

use crate::errors::Failure;
use crate::model::Model;
use crate::search;
use crate::wishes::{Patience, RuntimeNames};
use pyo3::prelude::*;
use serenity::pipeline::problem;
use serenity::runtimes::{MemoryModelExt, main_graph};
use serenity::schedule;
use serenity::search::CancelFlag;
use std::sync::{Mutex, PoisonError};

/// Remembers what it was asked.
#[pyclass(frozen, module = "serenity._serenity")]
pub(crate) struct Oracle(Mutex<schedule::Oracle>);

#[pymethods]
impl Oracle {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// The peak of the best order, the bound, and whether that proves it.
    fn peak(
        &self,
        py: Python<'_>,
        model: &Bound<'_, Model>,
        target: RuntimeNames,
        patience: Patience,
    ) -> PyResult<(u64, u64, bool)> {
        let (input, cancel) = (&model.get().0, CancelFlag::default());
        let look = |_| -> Result<(u64, u64, bool), Failure> {
            let memory = target.model(input)?;
            let graph = main_graph(input.graphs(), &[], memory);
            let asked = problem(&graph, &memory.lifetimes(&graph));
            let limits = patience.limits(&cancel)?;
            let mut oracle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            oracle.limit(limits);
            let told = oracle.peak(&asked);
            Ok((told.bytes, told.bound, told.proof.is_optimal()))
        };
        Ok(search::run(py, None, &cancel, look)??)
    }
}
