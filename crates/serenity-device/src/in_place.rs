//! Outputs that become inputs where they lie: no copy between two models of TFLM.

use crate::Device;
use crate::app::{App, Feed};
use crate::plan::{DevicePlan, life_of};
use crate::planned::{ALIGNMENT, PlannedModel};
use serenity_arena::Step;

/// A memory, and an offset in what is shared there.
pub(crate) type Place = (usize, u64);

/// The place of an input or output of a model for TFLM.
pub(crate) fn port(
    plan: &DevicePlan,
    models: &[PlannedModel],
    model: usize,
    is_input: bool,
    index: usize,
) -> Option<Place> {
    let (part, offset) = models[model].port_place(is_input, index, plan.divided[model].as_ref())?;
    let part = plan.parts[model].get(part)?;
    Some((part.memory, part.offset + offset))
}

/// Moves arenas so that an output which feeds the next model is the input of that model, wherever there is room for it without more memory.
pub(crate) fn bring_together(plan: &mut DevicePlan, app: &App, models: &[PlannedModel]) {
    for fed in (0..models.len()).filter(|&fed| app.takes_directly(fed)) {
        let [Feed { from, output, input }] = app.models[fed].feeds[..] else { continue };
        let ends = (port(plan, models, from, false, output), port(plan, models, fed, true, input));
        let (Some((memory, out)), Some((in_memory, into))) = ends else { continue };
        if memory != in_memory {
            continue;
        }
        // A model that lies where its own input is must stay there.
        let is_tied = app.takes_directly(from)
            && app.models[from].feeds.iter().any(|feed| {
                port(plan, models, from, true, feed.input)
                    .is_some_and(|place| Some(place) == port(plan, models, feed.from, false, feed.output))
            });
        if !shift(plan, app, fed, memory, into, out) && !is_tied {
            shift(plan, app, from, memory, out, into);
        }
    }
}

/// Moves what a model has in a memory, so that what lies at `here` comes to lie at `there`; says whether there is room.
fn shift(plan: &mut DevicePlan, app: &App, model: usize, memory: usize, here: u64, there: u64) -> bool {
    let Some(part) = plan.parts[model].iter().position(|part| part.memory == memory) else { return false };
    let bytes = plan.parts[model][part].bytes;
    let Some(offset) = (plan.parts[model][part].offset + there).checked_sub(here) else { return false };
    let end = offset + bytes;
    let moment = app.moment(model);
    let is_free = |begin: u64, bytes: u64| end <= begin || begin + bytes <= offset;
    let running = app.moments().swap_remove(moment);
    let others = running.into_iter().filter(|&other| other != model).flat_map(|other| &plan.parts[other]);
    let handed = plan.handed.iter().filter(|kept| life_of(app, kept).contains(&(2 * moment as Step)));
    let has_room = end <= plan.memories[memory].shared
        && offset.is_multiple_of(ALIGNMENT)
        && others.filter(|other| other.memory == memory).all(|other| is_free(other.offset, other.bytes))
        && handed.filter(|kept| kept.memory == memory).all(|kept| is_free(kept.offset, kept.bytes));
    if has_room {
        plan.parts[model][part].offset = offset;
    }
    has_room
}

impl Device {
    /// Does an output lie where it becomes an input, so that nobody copies it?
    pub(crate) fn is_in_place(&self, fed: usize, feed: &Feed) -> bool {
        let into = port(&self.plan, &self.models, fed, true, feed.input);
        self.app.takes_directly(fed)
            && into.is_some()
            && into == port(&self.plan, &self.models, feed.from, false, feed.output)
    }
}
