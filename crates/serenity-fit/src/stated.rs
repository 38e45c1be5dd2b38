//! The table of ways as JSON states it.

use crate::{Fit, Question, Row};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_runtimes::{Kernels, MemoryModel};

/// All ways to run a model in the memory of a device.
#[derive(Serialize, JsonSchema)]
pub struct StatedFit<'a> {
    /// The memory model.
    pub runtime: MemoryModel,
    /// The kernels that TFLM is built with, as far as they are known.
    pub kernels: Option<Kernels>,
    /// The budget, as given by --budget.
    pub budget: u64,
    /// Does the model fit in one of the ways that can be written to the output?
    pub fits: bool,
    /// The first such way: its index in `ways`.
    pub chosen: Option<usize>,
    /// All ways that are permitted, from the one that asks least of the application to the one that asks most.
    pub ways: Vec<StatedWay<'a>>,
    /// If nothing fits: the least that the model needs, what sets it, and what change of the model would help.
    pub advice: &'a [String],
}

/// One way to run a model. If it is not possible, all figures are null.
#[derive(Serialize, JsonSchema)]
pub struct StatedWay<'a> {
    /// A name for people.
    pub name: String,
    /// The changes that it makes.
    pub changes: Vec<String>,
    /// The kernels that it is for, if the user named none.
    pub kernels: Option<Kernels>,
    /// The memory that a device must have.
    pub need: Option<u64>,
    /// Bytes to add because builds of TFLM differ.
    pub margin: Option<u64>,
    /// Is the need within the budget, margin included?
    pub fits: Option<bool>,
    /// Multiplications added to the model as it came; negative if there are fewer.
    pub extra_macs: Option<i64>,
    /// The estimated instructions of a run on a Cortex-M4; null where the kernels were not measured.
    pub instructions: Option<u64>,
    /// The share of time that a run takes more than one of the model as it came, by estimate; negative if it takes less,
    /// null if it is not known.
    pub extra_time: Option<f64>,
    /// Bytes of constants added to the model as it came; negative if there are fewer.
    pub extra_flash: Option<i64>,
    /// Is it proved that nothing made this way needs less?
    pub proved: Option<bool>,
    /// What the application must do.
    pub asks: &'a [String],
    /// The command that makes it.
    pub command: Option<&'a str>,
    /// Why it is not possible; null if it is.
    pub not_possible: Option<String>,
}

impl<'a> StatedFit<'a> {
    /// A table of which the row `chosen` is taken.
    pub fn new(fit: &'a Fit, model: MemoryModel, question: &Question, chosen: Option<&Row>) -> Self {
        Self {
            runtime: model,
            kernels: model.kernels(),
            budget: question.budget,
            fits: chosen.is_some(),
            chosen: chosen.and_then(|chosen| fit.rows.iter().position(|row| row.way == chosen.way)),
            ways: fit.rows.iter().map(StatedWay::of).collect(),
            advice: &fit.advice,
        }
    }
}

impl<'a> StatedWay<'a> {
    fn of(row: &'a Row) -> Self {
        let made = row.outcome.as_ref().ok();
        Self {
            name: row.way.to_string(),
            changes: row.way.changes().iter().map(ToString::to_string).collect(),
            kernels: row.way.kernels,
            need: made.map(|made| made.need.bytes),
            margin: made.map(|made| made.need.margin),
            fits: made.map(|made| made.fits),
            extra_macs: made.map(|made| made.extra_macs),
            instructions: made.and_then(|made| made.instructions),
            extra_time: made.and_then(|made| made.extra_time),
            extra_flash: made.map(|made| made.extra_flash),
            proved: made.map(|made| made.is_proved),
            asks: made.map_or(&[], |made| &made.asks),
            command: made.and_then(|made| made.command.as_deref()),
            not_possible: row.outcome.as_ref().err().map(ToString::to_string),
        }
    }
}
