//! A model without channels that are the same number everywhere, or that nobody reads.

use crate::by_kernels::needs_no_more;
use crate::need::whole_need;
use crate::optimize::with_its_interface;
use crate::planning::as_it_came;
use crate::{Error, Input, Optimized, Options, Rewrites};
use serenity_formats::{FileError, Problem};
use serenity_runtimes::has_counted_loops;

/// Plans a model without such channels, if it has any and may be rewritten; as it is if it then needs less.
///
/// Fewer channels make no tensor larger. But planners place by rules of their own, and kernels choose their ways by the number of channels, so that in the end both ways are compared.
pub(crate) fn with_fewer_channels(input: &Input, options: &Options) -> Result<Optimized, Error> {
    let Some((model, channels)) = narrowed(input, options)? else {
        return with_its_interface(input, options);
    };
    // The plan of the arena that the model came with is for the sizes that its tensors had.
    let mut found = with_its_interface(&model, &Options { given_plan: None, ..options.clone() })?;
    found.plan.before = as_it_came(input.graphs(), options);
    found.plan.constant_channels = Some(channels);
    let as_it_is = with_its_interface(input, options)?;
    let is_larger = whole_need(&found.model, &found.plan) > whole_need(&as_it_is.model, &as_it_is.plan);
    Ok(if is_larger || !needs_no_more(&found.model, &found.plan, input, options) { as_it_is } else { found })
}

/// The model without them; `None` if there are none, or it cannot be changed without loss.
fn narrowed(
    input: &Input,
    options: &Options,
) -> Result<Option<(Input, serenity_formats::NarrowedChannels)>, Error> {
    // What has loops got them after its channels were looked at.
    let has_loops = has_counted_loops(&input.graphs().iter().collect::<Vec<_>>());
    if options.rewrites == Rewrites::None || has_loops || input.graph().states_sharing() {
        return Ok(None);
    }
    match input.without_constant_channels() {
        Err(Error::File { source: FileError { problem: Problem::CannotKeep, .. }, .. }) => Ok(None),
        other => other,
    }
}
