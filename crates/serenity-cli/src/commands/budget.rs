//! The sentence that says whether a model fits the budget.

use super::{missing, unknown};
use crate::Failure;
use crate::printable::printable;
use crate::progress::thousands;
use crate::screen::style::{BAD, GOOD, paint};
use crate::size::GivenSize;
use serenity::ir::Unknown;
use serenity::pipeline::Need;
use std::io::Write;

/// What is asked.
pub(crate) struct Question<'a> {
    /// What the user has.
    pub(crate) budget: GivenSize,
    /// What the model takes.
    pub(crate) need: Need,
    /// What of it is not known.
    pub(crate) unknown: &'a [Unknown],
    /// Why the places that the model has are not right for the kernels, if they are not: then no size helps.
    pub(crate) fault: Option<String>,
    /// Is all of it counted?
    pub(crate) counts_everything: bool,
    /// The model, for messages.
    pub(crate) source: &'a str,
    /// Whether what is meant is the model as it is: ` as it is`, or nothing.
    pub(crate) manner: &'a str,
}

impl Question<'_> {
    /// The answer; `false` if something should be done about the model.
    pub(crate) fn answer(&self, out: &mut (impl Write + ?Sized)) -> Result<bool, Failure> {
        let Self { budget, need, manner, .. } = *self;
        if let Some(fault) = &self.fault {
            let over = paint(BAD, format!("does not fit {budget}"));
            writeln!(out, "\n{over} as planned: {}", printable(fault))?;
            return Ok(false);
        }
        let wanted = need.to_be_safe();
        match missing(wanted, budget) {
            0 if !self.counts_everything => {
                let (needs, budget) = (thousands(need.bytes), budget.to_string());
                let why = unknown::why_no_budget(self.unknown, self.source, &needs, &budget);
                writeln!(out, "\n{}", paint(BAD, why))?;
                // Nothing that can be done to the model would tell more.
                Ok(true)
            }
            0 => {
                let spare = thousands(budget.bytes - wanted);
                let fits = paint(GOOD, format!("fits {budget}"));
                let after = match need.margin {
                    0 => String::new(),
                    margin => format!(" after a safety margin of {}", thousands(margin)),
                };
                writeln!(out, "\n{fits}{manner}: {spare} bytes to spare{after}")?;
                Ok(true)
            }
            bytes if need.bytes <= budget.bytes => {
                writeln!(
                    out,
                    "\n{}{manner}: needs {} bytes, and is {} over with the safety margin of {}",
                    paint(BAD, format!("may not fit {budget}")),
                    thousands(need.bytes),
                    thousands(bytes),
                    thousands(need.margin)
                )?;
                Ok(false)
            }
            bytes => {
                let over = paint(BAD, format!("does not fit {budget}"));
                let margin = match need.margin {
                    0 => String::new(),
                    margin => format!(", including a safety margin of {}", thousands(margin)),
                };
                writeln!(out, "\n{over}{manner}: {} bytes over{margin}", thousands(bytes))?;
                Ok(false)
            }
        }
    }
}
