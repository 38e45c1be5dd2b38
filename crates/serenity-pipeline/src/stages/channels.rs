//! A model without channels that are the same number everywhere, or that nobody reads.

use crate::need::whole_need;
use crate::{Error, Input, Optimized, Options, Rewrites};
use serenity_formats::{FileError, Format, NarrowedChannels, Problem};
use serenity_runtimes::has_counted_loops;

/// Plans a model without such channels, if it has any and may be rewritten; or as it is, of which the plan is known, if it then needs less.
///
/// Fewer channels make no tensor larger. But planners place by rules of their own, and kernels choose their ways by the number of channels, so that in the end both ways are compared.
pub(crate) fn with_fewer_channels(
    mut as_it_is: Optimized,
    input: &Input,
    options: &Options,
    plan: &dyn Fn(&Input, &Options) -> Result<Optimized, Error>,
) -> Result<Optimized, Error> {
    let narrowed = narrowed(input, options)?;
    // Without the limits there might have been some.
    as_it_is.plan.interrupted = as_it_is.plan.interrupted.or(options.limits.interrupted());
    let Some((model, channels)) = narrowed else { return Ok(as_it_is) };
    let mut fewer = plan(&model, &Options { given_plan: None, ..options.clone() })?;
    fewer.plan.before = as_it_is.plan.before;
    fewer.plan.constant_channels = Some(channels);
    fewer.plan.interrupted = fewer.plan.interrupted.or(as_it_is.plan.interrupted);
    let is_no_larger = whole_need(&fewer.model, &fewer.plan) <= whole_need(&as_it_is.model, &as_it_is.plan);
    Ok(if is_no_larger { fewer } else { as_it_is })
}

/// The model without them; `None` if there are none, or it cannot be changed without loss.
pub(crate) fn narrowed(input: &Input, options: &Options) -> Result<Option<(Input, NarrowedChannels)>, Error> {
    // What has loops got them after its channels were looked at.
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

/// Real sums keep every bit in kernels that add up one term after the other, as LiteRT's reference kernels and TFLM do. Others are for those who allow rounding.
fn is_exact_enough(channels: &NarrowedChannels, input: &Input, options: &Options) -> bool {
    let is_reference = input.file.format() == Format::TfLite && options.rewrites == Rewrites::Exact;
    !channels.rounds_reals
        || is_reference
        || matches!(options.rewrites, Rewrites::All | Rewrites::Approximate)
}
