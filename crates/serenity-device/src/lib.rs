//! Several models and several memories of one device: one plan, and C that shares its memory.
//!
//! Takes an [`App`]: memories, models, which of them may run at the same time, and which feeds which. Each model is planned by itself, as
//! `serenity emit c` does. Returns a [`Device`]: the place of every arena, what is kept from run to run apart, and the C of all.
//!
//! Guarantees: what may be in use at the same time never shares a byte, which code of its own checks; equal inputs give
//! equal plans.

mod app;
mod check;
mod code;
mod error;
mod page;
mod plan;
mod planned;
mod stated;
mod tflm;
mod tflm_code;

pub use app::{App, Feed, Form, Memory, Model, NamedMemory, ReadSize};
pub use error::DeviceError;
pub use plan::{DevicePlan, Filled, Handed, Part};
pub use planned::{Made, PlannedModel};
pub use stated::StatedDevice;
pub use tflm::{Request, TflmModel};

use serenity::Effort;
use serenity_search::{Limits, ProgressFn};

/// How hard to search.
#[derive(Clone, Default)]
pub struct Search {
    /// A factor on the counted work of every search.
    pub effort: Effort,
    /// When to give up; all searches share these limits.
    pub limits: Limits,
    /// Called a few times a second.
    pub progress: Option<ProgressFn>,
}

/// A planned device.
pub struct Device {
    /// What was asked for.
    pub app: App,
    /// The models, in the order of the file.
    pub models: Vec<PlannedModel>,
    /// What lies where.
    pub plan: DevicePlan,
}

/// Plans a device. `path` is the file that the app was read from, for messages.
///
/// # Errors
/// If a model cannot be made C of, or if a memory is too small.
pub fn plan(path: &str, app: App, search: &Search) -> Result<Device, DeviceError> {
    let mut models: Vec<PlannedModel> =
        app.models.iter().map(|model| PlannedModel::new(&app, model, search)).collect::<Result<_, _>>()?;
    let mut plan = DevicePlan::new(path, &app, &models, search)?;
    for model in 0..models.len() {
        // What counts rows between runs is not shared: beside a larger model a stream may cost more than it saves.
        if !models[model].swap() {
            continue;
        }
        match DevicePlan::new(path, &app, &models, search) {
            Ok(other) if other.effort() <= plan.effort() => plan = other,
            _ => {
                models[model].swap();
            }
        }
    }
    let (arenas, states): (Vec<u64>, Vec<u64>) =
        models.iter().map(|model| (model.arena(), model.state())).unzip();
    match check::fault(&app, &plan, &arenas, &states) {
        None => Ok(Device { app, models, plan }),
        Some(reason) => Err(DeviceError::CheckFailed { path: path.to_owned(), reason }),
    }
}
