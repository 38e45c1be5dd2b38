//! Removes channels that are constant or never read.

use crate::need::whole_need;
use crate::{Error, Input, Optimized, Options, Rewrites};
use serenity_formats::{FileError, Format, NarrowedChannels, Problem};
use serenity_runtimes::has_counted_loops;

/// Plans a model without channels that are constant or never read, if it has any and may be rewritten; or returns
/// `as_it_is`, the plan with all channels, if that needs less.
///
/// Fewer channels make no tensor larger. But runtimes place tensors by rules of their own, and kernels depend on the
/// number of channels, so both plans are compared in the end.
pub(crate) fn with_fewer_channels(
    mut as_it_is: Optimized,
    input: &Input,
    options: &Options,
    plan: &dyn Fn(&Input, &Options) -> Result<Optimized, Error>,
) -> Result<Optimized, Error> {
    let narrowed = narrowed(input, options)?;
    // Without the limits, such channels might have been found.
    as_it_is.plan.interrupted = as_it_is.plan.interrupted.or(options.limits.interrupted());
    let Some((model, channels)) = narrowed else { return Ok(as_it_is) };
    let mut fewer = plan(&model, &Options { given_plan: None, ..options.clone() })?;
    fewer.plan.before = as_it_is.plan.before;
    fewer.plan.constant_channels = Some(channels);
    fewer.plan.interrupted = fewer.plan.interrupted.or(as_it_is.plan.interrupted);
    let is_no_larger = whole_need(&fewer.model, &fewer.plan) <= whole_need(&as_it_is.model, &as_it_is.plan);
    Ok(if is_no_larger { fewer } else { as_it_is })
}

/// The model without such channels; `None` if there are none, or if it cannot be changed without loss.
pub(crate) fn narrowed(input: &Input, options: &Options) -> Result<Option<(Input, NarrowedChannels)>, Error> {
    // A model with loops had its channels removed before it got them.
    let has_loops = has_counted_loops(&input.graphs().iter().collect::<Vec<_>>());
    let is_asked = !matches!(options.rewrites, Rewrites::None | Rewrites::Paper);
    if !is_asked || has_loops || input.graph().states_sharing() {
        return Ok(None);
    }
    match input.without_constant_channels(&options.limits) {
        Err(Error::File { source: FileError { problem: Problem::CannotKeep, .. }, .. }) => Ok(None),
        other => Ok(other?.filter(|(_, channels)| is_exact_enough(channels, input, options))),
    }
}

/// Float sums keep every bit in kernels that add one term after the other, as the reference kernels of LiteRT and TFLM
/// do. For other kernels, rounding must be allowed.
fn is_exact_enough(channels: &NarrowedChannels, input: &Input, options: &Options) -> bool {
    let is_reference = input.file.format() == Format::TfLite && options.rewrites == Rewrites::Exact;
    !channels.rounds_reals
        || is_reference
        || matches!(options.rewrites, Rewrites::All | Rewrites::Approximate)
}
