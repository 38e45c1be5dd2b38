//! Several models and several memories of one device: one plan, and C that shares its memory.
//!
//! Takes an [`App`]: memories, models, which of them may run at the same time, and which feeds which. Each model is
//! planned by itself, as `serenity emit c` does. Returns a [`Device`]: the place of every arena, what is kept from run
//! to run apart, and the C of all.
//!
//! Guarantees: what may be in use at the same time never shares a byte, which code of its own checks; equal inputs give
//! equal plans.

mod app;
mod check;
mod code;
mod error;
mod in_place;
mod kept;
mod names;
mod page;
mod plan;
mod planned;
mod stated;
mod tflm;
mod tflm_code;
mod written;

pub use app::{App, Feed, Form, Memory, Model, NamedMemory, ReadSize};
pub use error::{DeviceError, Free};
pub use kept::Kept;
pub use plan::{DevicePlan, Filled, Handed, Part};
pub use planned::{Made, PlannedModel};
pub use stated::StatedDevice;
pub use tflm::{Request, TflmModel};

pub use serenity::memories::two_memories::Obvious;

use serenity::memories::two_memories::{self, TwoMemories};
use serenity::{Effort, Optimized};
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
    /// Plans to compare with, if there are several memories: models placed in obvious ways. `None` where they do not
    /// fit.
    pub baselines: Vec<(Obvious, Option<DevicePlan>)>,
}

impl Device {
    /// What lies where, tensor by tensor, for a device of [`plan_places`] with two memories.
    pub fn two_memories(&self) -> Option<TwoMemories> {
        let [first, second] = &self.app.memories[..] else { return None };
        let memories = [first, second].map(|memory| two_memories::Memory::new(&memory.name, memory.size));
        let is_in_first = self.plan.parts.first()?.first().is_none_or(|part| part.memory == 0);
        let mut two =
            self.models.first()?.in_two(memories, self.plan.divided.first()?.as_ref(), is_in_first)?;
        two.division.bound = self.plan.slow_bound;
        two.division.proof = self.plan.proof;
        Some(two)
    }

    /// What its models keep from run to run.
    pub fn kept(&self) -> Vec<Kept> {
        kept::kept(&self.app, &self.models)
    }
}

/// Plans a device. `path` is the file that the app was read from, for messages.
///
/// # Errors
/// If a model cannot be made C of, or if a memory is too small.
pub fn plan(path: &str, app: App, search: &Search) -> Result<Device, DeviceError> {
    let models = app.models.iter().map(|model| PlannedModel::new(&app, model, search));
    let models = models.collect::<Result<_, _>>()?;
    plan_models(path, app, models, search)
}

/// Plans where the tensors of a planned model lie in the memories of a device, the fast one first. Nothing runs the
/// model: it may be any graph.
///
/// # Errors
/// If a size is none, or a memory is too small.
pub fn plan_places(
    found: Optimized,
    memories: Vec<NamedMemory>,
    size: ReadSize,
    search: &Search,
) -> Result<Device, DeviceError> {
    let path = found.model.name.clone();
    let app = App::of_places(&path, memories, size)?;
    let model = PlannedModel::of_plan(found, search)?;
    plan_models(&path, app, vec![model], search)
}

fn plan_models(
    path: &str,
    app: App,
    mut models: Vec<PlannedModel>,
    search: &Search,
) -> Result<Device, DeviceError> {
    let mut plan = DevicePlan::new(path, &app, &models, None, search)?;
    for model in 0..models.len() {
        // What counts rows between runs is not shared: beside a larger model a stream may cost more than it saves.
        if !models[model].swap() {
            continue;
        }
        match DevicePlan::new(path, &app, &models, None, search) {
            Ok(other) if other.effort() <= plan.effort() => plan = other,
            _ => {
                models[model].swap();
            }
        }
    }
    let arenas: Vec<u64> = models.iter().map(PlannedModel::arena).collect();
    let kept = kept::kept(&app, &models);
    let ways = if app.memories.len() > 1 { &Obvious::ALL[..] } else { &[] };
    let baselines: Vec<(Obvious, Option<DevicePlan>)> =
        ways.iter().map(|&way| (way, DevicePlan::new(path, &app, &models, Some(way), search).ok())).collect();
    // The search is a heuristic: a placement that needs none may be better.
    let cost = |baseline: &Option<DevicePlan>| baseline.as_ref().map_or(u64::MAX, |baseline| baseline.cost);
    if let Some((way, least)) = baselines.iter().min_by_key(|(_, baseline)| cost(baseline))
        && cost(least) < plan.cost
    {
        plan = DevicePlan::new(path, &app, &models, Some(*way), search)?;
    }
    let mut plans = baselines.iter().filter_map(|(_, baseline)| baseline.as_ref()).chain([&plan]);
    let fault = plans.find_map(|plan| check::fault(&app, plan, &arenas, &kept));
    drop(plans);
    match fault {
        None => Ok(Device { app, models, plan, baselines }),
        Some(reason) => Err(DeviceError::CheckFailed { path: path.to_owned(), reason }),
    }
}
