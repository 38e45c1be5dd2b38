//! The paper's rewriting: its two rules, applied wherever they fit, one after the other.

use super::search::with_orders;
use super::{Found, possible_rewrites, rewrite_by};
use crate::need::whole_need;
use crate::{AppliedRewrite, Error, Input, Options, Plan, Rewrites, plan_graphs};
use serenity_formats::{FileError, Problem};

/// First channels, then kernels, so that the parts of a depthwise convolution stay one concatenation for its readers:
/// as in the paper, nested concatenations are not joined.
pub(super) const RULES: [&str; 2] = ["channel-partitioning", "kernel-partitioning"];

/// Makes every rewrite that the rules propose, and keeps the result if the model then needs less.
pub(super) fn in_passes(input: &Input, as_it_is: &Plan, options: &Options) -> Result<Found, Error> {
    let mut current = input.clone();
    let mut applied: Vec<AppliedRewrite> = Vec::new();
    for rule in RULES {
        let mut patches = possible_rewrites(&current, options.model, Rewrites::Paper);
        patches.retain(|patch| patch.rule == rule);
        if patches.is_empty() {
            continue;
        }
        let round = applied.last().map_or(0, |last| last.round + 1);
        let patches = with_orders(current.graph(), patches, options);
        let next = match rewrite_by(&current, &patches, round, options.model) {
            Err(Error::File { source: FileError { problem: Problem::CannotKeep, .. }, .. }) => {
                return Ok(Found::as_it_is(as_it_is));
            }
            other => other?,
        };
        applied.extend(next.applied);
        current = next.input;
    }
    let found = Found::as_it_is(as_it_is);
    if applied.is_empty() {
        return Ok(found);
    }
    let plan = plan_graphs(current.graphs(), &Options { given_plan: None, ..options.clone() })?;
    if whole_need(&current, &plan) >= whole_need(input, as_it_is) {
        return Ok(found);
    }
    let constant_channels = as_it_is.constant_channels.clone();
    let plan = Plan { before: as_it_is.before, constant_channels, rewrites: applied, choice: None, ..plan };
    Ok(Found { rewritten: Some(current), plan, ..found })
}
