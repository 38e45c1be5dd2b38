//! Prints the channels that were removed: how many, and what that saves.

use crate::Failure;
use crate::progress::thousands;
use serenity::Plan;
use serenity::rewrite::constant_channels::CONSTANT_CHANNELS;
use std::io::Write;

pub(super) fn print(plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    let Some(channels) = &plan.constant_channels else { return Ok(()) };
    let exact = if channels.rounds_reals {
        "bit for bit (but up to rounding in kernels that add several terms at a time)"
    } else {
        "bit for bit"
    };
    let [removed, of] = [channels.removed, channels.channels.before].map(thousands);
    let [macs, fewer_macs] = [channels.macs.before, channels.macs.after].map(thousands);
    let [weights, fewer_weights] = [channels.weight_bytes.before, channels.weight_bytes.after].map(thousands);
    writeln!(
        out,
        "\n  {CONSTANT_CHANNELS}: removed {removed} of {of} channels that are constant or never read; the same {exact}\n  \
         MACs {macs} -> {fewer_macs}, weights {weights} -> {fewer_weights} bytes"
    )?;
    Ok(())
}
