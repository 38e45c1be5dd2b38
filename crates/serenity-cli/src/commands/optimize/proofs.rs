//! Prints what is proved about each decision, and why other searches ended.

use super::report::Report;
use crate::Failure;
use crate::commands::verdict;
use crate::progress::thousands;
use crate::screen::layout::HANG;
use crate::screen::style::{GOOD, NOTE, paint};
use serenity::Rewrites;
use serenity::pipeline::Decision;
use serenity::search::Proof;
use std::io::Write;

impl Report<'_> {
    pub(super) fn print_proofs(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let decisions = plan.decisions();
        let kernels =
            plan.model.kernels().map_or_else(String::new, |kernels| format!(", kernels `{kernels}`"));
        let under = format!("memory model `{}`{kernels}", plan.model);
        if plan.is_optimal() {
            let proved: Vec<&str> = decisions.iter().map(|(decision, ..)| self.noun(*decision)).collect();
            let nothing = match proved.split_last() {
                Some((last, [])) => format!("no other {last}"),
                Some((last, others)) => format!("no combination of {} and {last}", others.join(", ")),
                None => "nothing".to_owned(),
            };
            writeln!(out, "\n  {} {nothing} needs less ({under})", paint(GOOD, "proved:"))?;
        } else if !plan.unknown.is_empty() {
            writeln!(out, "\n  {} ({under})", verdict(plan))?;
        } else {
            writeln!(out, "\n  what is proved ({under}):")?;
            if plan.loops.is_some() {
                writeln!(
                    out,
                    "  {:<9} {HANG}outputs the same bit for bit, checked row by row in this arena",
                    "loops"
                )?;
            }
            for (decision, proof, bound) in decisions {
                let verdict = match (proof, decision) {
                    (Proof::Optimal, Decision::Rewrites) => "no other set needs less".to_owned(),
                    (Proof::Optimal, Decision::Order) if plan.rewrites.is_empty() => {
                        "no other needs less".to_owned()
                    }
                    (Proof::Optimal, Decision::Order) => "no other needs less, for these rewrites".to_owned(),
                    (Proof::Optimal, Decision::Places) => {
                        "no other placement needs less, for this order".to_owned()
                    }
                    (Proof::Gap { stopped }, _) if bound == 0 => {
                        format!("not proved: {}", plan.interrupted.unwrap_or(stopped))
                    }
                    (Proof::Gap { stopped }, _) => {
                        let stopped = plan.interrupted.unwrap_or(stopped);
                        format!("not proved: {stopped}; none needs less than {} bytes", thousands(bound))
                    }
                };
                writeln!(out, "  {:<9} {HANG}{verdict}", decision.name())?;
            }
        }
        if let Some(reason) = plan.interrupted {
            writeln!(out, "  {} {reason}, so another run may find another result", paint(NOTE, "note:"))?;
        }
        Ok(())
    }

    /// A decision, for people.
    fn noun(&self, decision: Decision) -> &'static str {
        match decision {
            Decision::Rewrites
                if self.job.changes.target(&self.job.runtime, None).rewrites == Some(Rewrites::Exact) =>
            {
                "exact rewrites"
            }
            Decision::Rewrites => "rewrites",
            Decision::Order => "order",
            Decision::Places => "placement",
        }
    }
}
