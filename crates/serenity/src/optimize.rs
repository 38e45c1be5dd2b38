//! The one door.

use crate::by_kernels::needs_no_more;
use crate::loops::{extra_macs, with_loops};
use crate::narrow::with_fewer_channels;
use crate::ort::{fast, is_for};
use crate::planning::as_it_came;
use crate::rewrite::optimize_input;
use crate::{Error, Input, Loops, Options, Plan, Rewrites, plan_graphs, planned_model};
use serenity_runtimes::{Kernels, has_counted_loops};

/// What became of a model.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The model that the plan is for: with other inputs and outputs or rewritten if the plan says so, otherwise as it came.
    pub model: Input,
    /// What was decided, what it needs, and what is proved of that.
    pub plan: Plan,
}

impl Optimized {
    /// The bytes of the file to run, in the format it came in.
    ///
    /// # Errors
    /// If there is no file (the input was a graph), or if it holds what cannot be kept.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        planned_model(&self.model, &self.plan)
    }
}

/// The one door: rewrites a model, orders its operators and places its tensors so that it needs the least memory. Where nothing is better than what
/// came in, it stays as it is.
///
/// ```
/// use serenity::{Format, Options, export, load, optimize};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.tflite");
/// let model = export("swiftnet-c", Format::TfLite, serenity::zoo::Precision::Float32)?;
/// std::fs::write(&path, model.bytes)?;
///
/// let input = load(path.to_str().unwrap_or_default())?;
/// let best = optimize(&input, &Options::for_input(&input))?;
/// // What TensorFlow Lite Micro needs for activations, before and after.
/// assert_eq!((best.plan.before.arena, best.plan.after.arena), (Some(194_432), Some(75_264)));
/// std::fs::write(&path, best.to_bytes()?)?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// If the model [cannot be counted](Input::can_be_counted). If the result fails its own check, or the rewriting went wrong: either would be a bug. A file that cannot be changed without loss is no error: it is
/// planned as it is, unless it is [asked](Options::int8_io) to change.
pub fn optimize(input: &Input, options: &Options) -> Result<Optimized, Error> {
    input.can_be_counted(options.model)?;
    let Some(how) = options.fast.as_ref().filter(|_| is_for(input, options)) else {
        return as_it_stands(input, options);
    };
    match fast(input, how, options)? {
        Ok(found) => {
            let again = |model: &Input, options: &Options| {
                let found = fast(model, how, options)?;
                found.map_err(|source| Error::NoFast { path: input.name.clone(), source })
            };
            // Fused kernels add up whole numbers as all others do, but real ones in an order of their own.
            let rewrites = match (options.rewrites, how.rewrites) {
                (Rewrites::None, _) => Rewrites::None,
                (_, Rewrites::All | Rewrites::Approximate) => Rewrites::All,
                _ => Rewrites::Channels,
            };
            with_fewer_channels(found, input, &Options { rewrites, ..options.clone() }, &again)
        }
        Err(why) if how.is_required => Err(Error::NoFast { path: input.name.clone(), source: why }),
        Err(why) => {
            let mut found = as_it_stands(input, options)?;
            found.plan.session = Some(Err(why));
            Ok(found)
        }
    }
}

/// The same without asking anybody to optimise it first.
fn as_it_stands(input: &Input, options: &Options) -> Result<Optimized, Error> {
    if !options.int8_io {
        return with_any_channels(input, options);
    }
    let (model, io) = input.with_quantized_io()?;
    // A plan of the arena that the model came with is for the inputs and outputs that it came with.
    let given_plan = options.given_plan.clone().filter(|_| io.changed.is_empty());
    let mut found = with_any_channels(&model, &Options { given_plan, ..options.clone() })?;
    if !io.changed.is_empty() {
        found.plan.before = as_it_came(input.graphs(), options);
    }
    found.plan.int8_io = Some(io);
    Ok(found)
}

/// The same without changing what the model takes and gives.
fn with_any_channels(input: &Input, options: &Options) -> Result<Optimized, Error> {
    with_fewer_channels(with_its_interface(input, options)?, input, options, &with_its_interface)
}

/// The same with the channels that there are.
fn with_its_interface(input: &Input, options: &Options) -> Result<Optimized, Error> {
    let Some(loops) = options.loops else { return without_loops(input, options) };
    // What holds for kernels of any kind holds for these, so that they never end worse. First, so that what the clock cuts is what might have been better.
    let any = Options { model: options.model.with_kernels(Kernels::Any), ..options.clone() };
    let is_one_set = options.plan_arena && any.model != options.model;
    let strict = if is_one_set { Some(looped(input, loops, &any, options)?) } else { None };
    let best = looped(input, loops, options, options)?;
    Ok(match strict {
        Some(mut strict) if strict.plan.loops.is_some() && loops.prefer(&strict, &best) => {
            strict.plan.before = best.plan.before;
            let own = best.plan.choice;
            strict.plan.choice = strict.plan.choice.map(|choice| {
                choice.for_other_kernels(own.map_or(choice.without, |own| own.without), choice.with)
            });
            strict
        }
        _ => best,
    })
}

/// With the loops that are best by the kernels of `options`, placed for those of `target`. Where there are none, all is as it is for the former.
fn looped(input: &Input, loops: Loops, options: &Options, target: &Options) -> Result<Optimized, Error> {
    let found = without_loops(input, options)?;
    let is_rewritten = !found.plan.rewrites.is_empty();
    let best = with_loops(found, input, loops, options, target)?;
    let is_cheapest = loops.are_enough(&best) && extra_macs(&best) == 0;
    if !is_rewritten || is_cheapest {
        return Ok(best);
    }
    // What rewriting saves, a loop may save too, and what was divided fits no window.
    let as_it_is = Optimized { model: input.clone(), plan: plan_graphs(input.graphs(), options)? };
    let other = with_loops(as_it_is, input, loops, options, target)?;
    // Without loops nothing was placed for the kernels in question.
    let counts = |found: &Optimized| options.model == target.model || found.plan.loops.is_some();
    Ok(if counts(&other) && (!counts(&best) || loops.prefer(&other, &best)) { other } else { best })
}

/// Rewritten, ordered and placed.
fn without_loops(input: &Input, options: &Options) -> Result<Optimized, Error> {
    // What has loops was rewritten before it got them, as far as the loops were better for it.
    let has_loops = has_counted_loops(&input.graphs().iter().collect::<Vec<_>>());
    // Where sharing is stated, nobody has said what the kernels of other ops would allow.
    let is_rewritten = !matches!(options.rewrites, Rewrites::None | Rewrites::Channels)
        && !has_loops
        && !input.graph().states_sharing();
    let (rewritten, plan) = if is_rewritten {
        optimize_input(input, options)?
    } else {
        (None, plan_graphs(input.graphs(), options)?)
    };
    let found = Optimized { model: rewritten.unwrap_or_else(|| input.clone()), plan };
    // What gains with some kernels may lose with others that might run it as well.
    if !found.plan.rewrites.is_empty() && !needs_no_more(&found.model, &found.plan, input, options) {
        return Ok(Optimized { model: input.clone(), plan: plan_graphs(input.graphs(), options)? });
    }
    Ok(found)
}
