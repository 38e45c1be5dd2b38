//! What soft budgeting tried: a trace of the paper's Algorithm 2, and the stages of its figure 4.

use super::{count, duration};
use crate::progress::thousands;
use serenity::Plan;
use serenity::schedule::BudgetResult;
use std::io::{self, Write};
use std::time::Duration;

/// A line for every run under a soft budget, but for pieces of a single op: these have one order.
pub(super) fn print(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let stats = &plan.stats;
    if stats.soft_budgets.is_empty() {
        return Ok(());
    }
    let timeouts = stats.soft_budgets.iter().filter(|tried| tried.result == BudgetResult::Timeout).count();
    let timeouts = count(timeouts as u64, "timeout");
    writeln!(out, "\nsoft budgets: {} tried, {timeouts}", stats.soft_budgets.len())?;
    writeln!(out, "  piece   ops        budget          T   result             states       time")?;
    for tried in stats.soft_budgets.iter().filter(|tried| stats.pieces[tried.piece] > 1) {
        let (piece, ops, result) = (tried.piece + 1, stats.pieces[tried.piece], tried.result.name());
        let ([budget, states], time) = ([tried.budget, tried.states].map(thousands), duration(tried.elapsed));
        let t = tried.step_limit.map_or("none".to_owned(), |limit| limit.to_string());
        writeln!(out, "{piece:>7} {ops:>5} {budget:>13} {t:>10}   {result:<11} {states:>13} {time:>10}")?;
    }
    Ok(())
}

/// What each stage of the paper's figure 4 did and took; `elapsed` is the time of all.
pub(super) fn print_stages(plan: &Plan, elapsed: Duration, out: &mut dyn Write) -> io::Result<()> {
    let (stats, rewrites) = (&plan.stats, count(plan.rewrites.len() as u64, "rewrite"));
    let single = stats.pieces.iter().filter(|&&ops| ops == 1).count();
    let pieces = count((stats.pieces.len() - single) as u64, "piece");
    let scheduled = duration(stats.soft_budgets.iter().map(|tried| tried.elapsed).sum());
    writeln!(out, "stages, as in figure 4 of the paper:")?;
    writeln!(out, "  rewrite   {} ops become {}, by {rewrites}", plan.before.ops, plan.after.ops)?;
    writeln!(out, "  divide    {pieces} of several ops, {single} of one")?;
    writeln!(out, "  schedule  {}, {scheduled}", count(stats.states, "state"))?;
    writeln!(out, "  in all    {}, with checks and a plan without rewriting", duration(elapsed))
}
