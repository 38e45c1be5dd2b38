//! Outputs that become inputs where they lie: no copy between two models of TFLM.

use crate::Device;
use crate::app::{App, Feed};
use crate::plan::{DevicePlan, Part, life_of};
use crate::planned::{ALIGNMENT, PlannedModel};
use serenity_arena::Step;

/// An input or output of a model.
#[derive(Clone, Copy)]
pub(crate) struct Port {
    pub(crate) model: usize,
    pub(crate) is_input: bool,
    pub(crate) index: usize,
}

impl Port {
    /// The output, and the input that it feeds.
    fn of_feed(fed: usize, feed: &Feed) -> [Self; 2] {
        [
            Self { model: feed.from, is_input: false, index: feed.output },
            Self { model: fed, is_input: true, index: feed.input },
        ]
    }

    /// Its memory, and its offset in what is shared there; `None` for a model in C, which knows its own places.
    pub(crate) fn place(self, plan: &DevicePlan, models: &[PlannedModel]) -> Option<(usize, u64)> {
        let (part, offset) = self.in_part(plan, models)?;
        let part = plan.parts[self.model].get(part)?;
        Some((part.memory, part.offset + offset))
    }
}

impl Port {
    /// The part of its arena, and its offset there.
    fn in_part(self, plan: &DevicePlan, models: &[PlannedModel]) -> Option<(usize, u64)> {
        let Self { model, is_input, index } = self;
        models[model].port_place(is_input, index, plan.divided[model].as_ref())
    }
}

/// Is an output the input that it feeds? No other model runs in between.
fn is_in_place(plan: &DevicePlan, app: &App, models: &[PlannedModel], fed: usize, feed: &Feed) -> bool {
    let [out, into] = Port::of_feed(fed, feed).map(|port| port.place(plan, models));
    app.takes_directly(fed) && out.is_some() && out == into
}

/// A part of an arena whose place depends on that of the model before it.
#[derive(Clone, Copy)]
struct Link {
    model: usize,
    part: usize,
    /// Its offset, if that of the first part of the chain is 0.
    offset: i128,
}

/// Moves arenas so that an output which feeds the next model is the input of that model, wherever there is room for it
/// without more memory.
pub(crate) fn bring_together(plan: &mut DevicePlan, app: &App, models: &[PlannedModel]) {
    let mut chains: Vec<Vec<Link>> = Vec::new();
    for fed in (0..models.len()).filter(|&fed| app.takes_directly(fed)) {
        let [feed] = app.models[fed].feeds[..] else { continue };
        let [out, into] = Port::of_feed(fed, &feed).map(|port| port.in_part(plan, models));
        let (Some((before, out)), Some((part, into))) = (out, into) else { continue };
        let from = feed.from;
        if plan.parts[from][before].memory != plan.parts[fed][part].memory {
            continue;
        }
        let is_last =
            |chain: &Vec<Link>| chain.last().is_some_and(|last| (last.model, last.part) == (from, before));
        let known = chains.iter().position(is_last);
        let mut chain = match known {
            Some(chain) => chains.swap_remove(chain),
            None => vec![Link { model: from, part: before, offset: 0 }],
        };
        let offset = chain.last().map_or(0, |last| last.offset) + i128::from(out) - i128::from(into);
        chain.push(Link { model: fed, part, offset });
        if !lay(plan, app, &chain) {
            chain.pop();
        }
        chains.push(chain);
    }
}

/// Lays a chain as low as it may lie, or as high; says whether there is room.
fn lay(plan: &mut DevicePlan, app: &App, chain: &[Link]) -> bool {
    let room = |link: &Link| {
        let part = plan.parts[link.model][link.part];
        i128::from(plan.memories[part.memory].shared) - i128::from(part.bytes) - link.offset
    };
    let lowest = chain.iter().map(|link| -link.offset).max().unwrap_or(0);
    let highest = chain.iter().map(room).min().unwrap_or(0);
    let moved = |link: &Link, begin: i128| {
        let offset = u64::try_from(begin + link.offset).ok()?;
        let part = Part { offset, ..plan.parts[link.model][link.part] };
        has_room(plan, app, link.model, part).then_some(part)
    };
    let parts: Option<Vec<Part>> =
        [lowest, highest].into_iter().find_map(|begin| chain.iter().map(|link| moved(link, begin)).collect());
    for (link, part) in chain.iter().zip(parts.iter().flatten()) {
        plan.parts[link.model][link.part] = *part;
    }
    parts.is_some()
}

/// May a model have this part, beside all else that is in use while it runs?
fn has_room(plan: &DevicePlan, app: &App, model: usize, part: Part) -> bool {
    let moment = app.moment(model);
    let end = part.offset + part.bytes;
    let is_apart = |memory: usize, begin: u64, bytes: u64| {
        memory != part.memory || end <= begin || begin + bytes <= part.offset
    };
    let running = app.moments().swap_remove(moment);
    let mut others = running.iter().filter(|&&other| other != model).flat_map(|&other| &plan.parts[other]);
    let mut handed = plan.handed.iter().filter(|kept| life_of(app, kept).contains(&(2 * moment as Step)));
    end <= plan.memories[part.memory].shared
        && part.offset.is_multiple_of(ALIGNMENT)
        && others.all(|other| is_apart(other.memory, other.offset, other.bytes))
        && handed.all(|kept| is_apart(kept.memory, kept.offset, kept.bytes))
}

impl Device {
    /// Does an output lie where it becomes an input, so that nobody copies it?
    pub(crate) fn is_in_place(&self, fed: usize, feed: &Feed) -> bool {
        is_in_place(&self.plan, &self.app, &self.models, fed, feed)
    }
}
