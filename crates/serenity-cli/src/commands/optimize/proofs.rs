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
            let nothing: Vec<&str> = decisions.iter().map(|(decision, ..)| self.none(*decision)).collect();
            let verb = if nothing.len() == 1 { "needs" } else { "need" };
            writeln!(out, "\n  {} {} {verb} less ({under})", paint(GOOD, "proved:"), nothing.join(" and "))?;
        } else if !plan.unknown.is_empty() {
            writeln!(out, "\n  {} ({under})", verdict(plan))?;
        } else {
            writeln!(out, "\n  what is proved ({under}):")?;
            if plan.loops.is_some() {
                writeln!(
                    out,
                    "  {:<9} {HANG}the same bit for bit, followed row by row in this arena",
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
                    (Proof::Optimal, Decision::Places) => "no others need less, for this order".to_owned(),
                    (Proof::Gap { stopped }, _) if bound == 0 => {
                        format!("not proved, {}", plan.interrupted.unwrap_or(stopped))
                    }
                    (Proof::Gap { stopped }, _) => {
                        let stopped = plan.interrupted.unwrap_or(stopped);
                        format!("not proved, {stopped}; none needs less than {}", thousands(bound))
                    }
                };
                writeln!(out, "  {:<9} {HANG}{verdict}", decision.name())?;
            }
        }
        if let Some(reason) = plan.interrupted {
            writeln!(out, "  {} {reason}, so another run may end with another result", paint(NOTE, "note:"))?;
        }
        Ok(())
    }

    /// What is said of a decision that is proved.
    fn none(&self, decision: Decision) -> &'static str {
        match decision {
            Decision::Rewrites
                if self.job.changes.target(&self.job.runtime, None).rewrites == Some(Rewrites::Exact) =>
            {
                "no set of exact rewrites"
            }
            Decision::Rewrites => "no set of rewrites",
            Decision::Order => "no order",
            Decision::Places => "no places",
        }
    }
}
