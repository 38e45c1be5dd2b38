//! The one door.

use crate::by_kernels::needs_no_more;
use crate::loops::{Trade, with_loops};
use crate::narrow::{fewer_channels, is_no_larger, with_fewer_channels};
use crate::ort::{fast, is_for};
use crate::planning::as_it_came;
use crate::rewrite::optimize_input;
use crate::{Error, Input, Options, Plan, Rewrites, plan_graphs, planned_model};
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

/// Plans a model that keeps its inputs and outputs: with all its channels or with fewer, without loops or with them.
fn with_any_channels(input: &Input, options: &Options) -> Result<Optimized, Error> {
    let as_it_is = without_loops(input, options)?;
    let Some(loops) = options.loops else {
        return with_fewer_channels(as_it_is, input, options, &without_loops);
    };
    let fewer = fewer_channels(&as_it_is, input, options, &without_loops)?;
    let all = std::iter::once((input, &as_it_is)).chain(fewer.iter().map(|(model, found)| (model, found)));
    let mut variants: Vec<(&Input, &Optimized)> = all.collect();
    // What multiplies least comes first, and may be enough.
    variants.sort_by_key(|(_, found)| loops.taken(found).work());
    if let Some((_, enough)) = variants.iter().find(|(_, found)| loops.are_enough(found)) {
        return Ok((*enough).clone());
    }
    // As it would be without loops: none may end worse.
    let smallest = fewer.as_ref().map(|(_, found)| found).filter(|fewer| is_no_larger(fewer, &as_it_is));
    let trade = Trade::new(loops, smallest.unwrap_or(&as_it_is));
    let mut best = smallest.unwrap_or(&as_it_is).clone();
    for (model, found) in variants {
        let (least, taken) = (trade.taken(found), trade.taken(&best));
        if taken.fits() && taken.work() <= least.work() {
            break;
        }
        for one in looped(model, found, input, &trade, options)? {
            let taken = trade.taken(&one);
            if trade.accepts(&taken) && taken.is_better_than(&trade.taken(&best)) {
                best = one;
            }
        }
    }
    Ok(best)
}

/// The best loops for a model, each from another start: the model is planned for kernels of any kind or for those in question, rewritten or as it is. `came` is the model before channels were left out.
fn looped(
    model: &Input,
    found: &Optimized,
    came: &Input,
    trade: &Trade,
    options: &Options,
) -> Result<Vec<Optimized>, Error> {
    let given_plan = options.given_plan.clone().filter(|_| found.plan.constant_channels.is_none());
    let options = &Options { given_plan, ..options.clone() };
    // What holds for kernels of any kind holds for these, so that they never end worse. First, so that what the clock cuts is what might have been better.
    let any = &Options { model: options.model.with_kernels(Kernels::Any), ..options.clone() };
    let mut all = Vec::new();
    if options.plan_arena && any.model != options.model {
        let strict = without_loops(model, any)?;
        let trade = Trade::new(trade.loops, &strict);
        for mut one in from_both(model, &strict, came, &trade, (any, options))? {
            let own = found.plan.choice;
            one.plan.choice = one.plan.choice.map(|choice| {
                choice.for_other_kernels(own.map_or(choice.without, |own| own.without), choice.with)
            });
            all.push(one);
        }
    }
    all.extend(from_both(model, found, came, trade, (options, options))?);
    for one in &mut all {
        one.plan.before = found.plan.before;
        one.plan.constant_channels.clone_from(&found.plan.constant_channels);
    }
    Ok(all)
}

/// Loops of a model as it was planned and, if it was rewritten, as it is: what rewriting saves, a loop may save too, and what was divided fits no window. Kernels are those that loops are
/// chosen for, and those that they are placed for.
fn from_both(
    model: &Input,
    found: &Optimized,
    came: &Input,
    trade: &Trade,
    (options, target): (&Options, &Options),
) -> Result<Vec<Optimized>, Error> {
    let mut all: Vec<Optimized> = with_loops(found, came, trade, options, target)?.into_iter().collect();
    if !found.plan.rewrites.is_empty() {
        let as_it_is = Optimized { model: model.clone(), plan: plan_graphs(model.graphs(), options)? };
        all.extend(with_loops(&as_it_is, came, trade, options, target)?);
    }
    Ok(all)
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
