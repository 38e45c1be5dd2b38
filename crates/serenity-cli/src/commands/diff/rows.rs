//! What text and Markdown both say of two models.

use crate::args::DiffArgs;
use crate::progress::thousands;
use serenity::diff::{ChangedBuffer, Diff};
use serenity::runtimes::MemoryModel;

/// A figure of both models.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) before: u64,
    pub(super) after: u64,
}

impl Row {
    fn new(label: impl Into<String>, before: u64, after: u64) -> Self {
        Self { label: label.into(), before, after }
    }

    /// `+6,656`, or nothing.
    pub(super) fn change(&self) -> String {
        change(self.before, self.after)
    }

    /// `+12.2 %`, or nothing.
    pub(super) fn share(&self) -> String {
        share(self.before, self.after)
    }
}

pub(super) fn change(before: u64, after: u64) -> String {
    match after.abs_diff(before) {
        0 => String::new(),
        bytes => format!("{}{}", if after > before { '+' } else { '-' }, thousands(bytes)),
    }
}

pub(super) fn share(before: u64, after: u64) -> String {
    if before == after || before == 0 {
        return String::new();
    }
    format!("{:+.1} %", 100.0 * (after as f64 - before as f64) / before as f64)
}

/// What the need is called.
pub(super) fn what_is_needed(found: &Diff) -> &'static str {
    match (found.runtime, found.before.arena) {
        (MemoryModel::Tflm(_) | MemoryModel::TflmPlanned(_), _) if found.before.margin > 0 => "whole arena",
        (_, Some(_)) => "arena",
        (_, None) => "peak",
    }
}

/// All figures; those of parts are indented.
pub(super) fn figures(found: &Diff) -> Vec<Row> {
    let (before, after) = (&found.before, &found.after);
    let mut rows = vec![Row::new(what_is_needed(found), before.needs, after.needs)];
    rows.extend(found.by_kernels.iter().map(|need| {
        let more = if need.counted { "" } else { " (not counted)" };
        Row::new(format!("  {}{more}", need.kernels), need.before, need.after)
    }));
    if before.margin + after.margin > 0 {
        rows.push(Row::new("safety margin", before.margin, after.margin));
        rows.extend(before.arena.zip(after.arena).map(|(before, after)| Row::new("head", before, after)));
    }
    if what_is_needed(found) == "arena" {
        rows.push(Row::new("peak", before.peak, after.peak));
    }
    rows.extend(before.flash.zip(after.flash).map(|(before, after)| Row::new("model file", before, after)));
    let macs = before.macs.zip(after.macs).filter(|macs| *macs != (0, 0));
    rows.extend(macs.map(|(before, after)| Row::new("MACs", before, after)));
    rows.push(Row::new("ops", before.ops as u64, after.ops as u64));
    rows
}

/// What became of a buffer.
pub(super) fn remark(buffer: &ChangedBuffer) -> &'static str {
    match (buffer.before, buffer.after) {
        (0, _) if buffer.size_before.is_none() => "new",
        (0, _) => "at the peak now",
        (_, 0) if buffer.size_after.is_none() => "gone",
        (_, 0) => "not at the peak",
        (before, after) if before < after => "grew",
        (before, after) if before > after => "shrank",
        _ => "",
    }
}

/// Sentences on what a reader must act upon, each with whether it is bad.
pub(super) fn verdicts(args: &DiffArgs, found: &Diff) -> Vec<(bool, String)> {
    let mut all = Vec::new();
    let joined = |names: &[String]| names.join(", ");
    if !found.new_operators.is_empty() {
        let verb = if found.kernels.is_some() { ", to be registered" } else { "" };
        all.push((false, format!("new operators{verb}: {}", joined(&found.new_operators))));
    }
    if !found.lost_operators.is_empty() {
        all.push((false, format!("operators no longer used: {}", joined(&found.lost_operators))));
    }
    let boards = [("lost", &found.boards_lost, true), ("gained", &found.boards_gained, false)];
    for (what, boards, is_bad) in boards {
        if let Some(boards) = boards.as_ref().filter(|boards| !boards.is_empty()) {
            all.push((is_bad, format!("boards {what}: {}", boards.join(", "))));
        }
    }
    for (which, side) in [("the first model", &found.before), ("the second model", &found.after)] {
        if let Some(refused) = side.unsupported.first() {
            all.push((true, format!("TFLM cannot run {which}: {}: {}", refused.name, refused.reason)));
        }
        all.extend(side.plan_fault.as_ref().map(|fault| (true, format!("{which}: {fault}"))));
        if !side.counts_everything() {
            let unknown = side.unknown.len();
            all.push((true, format!("{which}: {unknown} sizes are unknown, so its figures are minimums")));
        }
    }
    all.extend(budget(args, found));
    all.extend(growth(found));
    all
}

fn budget(args: &DiffArgs, found: &Diff) -> Option<(bool, String)> {
    let (budget, limits) = (args.budget?, &found.limits);
    let margin = match found.after.margin {
        0 => String::new(),
        margin => format!(", safety margin of {} included", thousands(margin)),
    };
    Some(match (limits.fits?, limits.missing) {
        (true, _) => {
            let spare = budget.bytes - found.after.need().to_be_safe();
            (false, format!("fits {budget}: {} bytes to spare{margin}", thousands(spare)))
        }
        (false, Some(over @ 1..)) => {
            (true, format!("does not fit {budget}: {} bytes over{margin}", thousands(over)))
        }
        (false, _) => (true, format!("does not fit {budget}, or that is not known")),
    })
}

fn growth(found: &Diff) -> Option<(bool, String)> {
    let limits = &found.limits;
    let allowed = thousands(limits.max_growth?);
    Some(match limits.within_growth? {
        true => (false, format!("grows by no more than the {allowed} bytes of --max-growth")),
        false => (true, format!("grows by more than the {allowed} bytes of --max-growth")),
    })
}
