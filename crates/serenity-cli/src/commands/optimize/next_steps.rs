//! Suggests the commands to type next.

use super::report::Report;
use crate::Failure;
use crate::commands::{as_typed, for_shell};
use crate::screen::layout::{COMMAND, HANG};
use crate::screen::style::{NOTE, paint};
use std::io::Write;

impl Report<'_> {
    pub(super) fn print_next_steps(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (job, plan) = (self.job, self.plan);
        let given = as_typed(job.input, &job.read, &job.runtime);
        let is_fast = matches!(plan.session, Some(Ok(_)));
        // Then the plan is for the file that is written.
        let written = job.output.filter(|_| is_fast);
        let input = written.map_or_else(|| given.clone(), for_shell);
        let loops = format!(
            "{}{}",
            job.changes.loops.as_typed(),
            if job.changes.int8_io { " --int8-io" } else { "" }
        );
        let format = self.input.file.format();
        let extension = format.extensions()[0];
        writeln!(out)?;
        if self.input.plan().is_some() && plan.reorders() && plan.offsets.is_none() {
            let note = paint(NOTE, "note:");
            writeln!(out, "{note} the model came with a memory plan for another order, which is dropped")?;
        }
        // The model that ONNX Runtime made the file of is not there to be looked at.
        let deep = match (is_fast, &plan.constant_channels) {
            (false, _) => " --deep",
            (true, None) => " --deep --allow-unverified session",
            (true, Some(_)) => " --deep --allow-unverified session,constant_channels",
        };
        let in_place = job.overwrites();
        match (&job.output, &job.plan) {
            (None, _)
                if is_fast
                    || plan.reorders()
                    || plan.offsets.is_some()
                    || !plan.keeps_operators()
                    || plan.int8_io.as_ref().is_some_and(|io| !io.is_unchanged()) =>
            {
                writeln!(
                    out,
                    "write it:    {COMMAND}serenity optimize {given}{loops} -o smaller.{extension} --plan plan.json"
                )?;
            }
            (Some(path), _) if in_place => {
                writeln!(out, "written over `{path}`: the original model is gone")?;
            }
            (Some(path), None) => writeln!(out, "written to `{path}`")?,
            (Some(path), Some(plan)) => {
                writeln!(out, "written to `{path}`")?;
                writeln!(out, "prove it:    {COMMAND}serenity check {} {input}{deep}", for_shell(plan))?;
            }
            (None, Some(plan)) => {
                writeln!(out, "prove it:    {COMMAND}serenity check {} {input}{deep}", for_shell(plan))?;
            }
            (None, None) => {}
        }
        if let Some(path) = &job.output
            && format.has_weights()
            && !in_place
        {
            let is_exact = match &plan.session {
                Some(Ok(fast)) => fast.rewrites.is_empty(),
                _ => plan.rewrites.iter().all(|rewrite| rewrite.exact),
            };
            // How far whole numbers end up off, nobody can say before.
            let (tolerance, purpose) = if is_exact {
                ("", "")
            } else if plan.rewrites.iter().any(|rewrite| rewrite.error.is_some()) {
                ("", "   how far off are the outputs?")
            } else {
                (" --tolerance 1e-5", "")
            };
            let (input, path) = (for_shell(job.input), for_shell(path));
            writeln!(out, "run both:    {COMMAND}serenity verify {input} {path}{tolerance}{HANG}{purpose}")?;
        }
        let gains_nothing = self.account.need().bytes >= self.account.needed().bytes;
        if gains_nothing && job.hop.is_none() {
            writeln!(
                out,
                "look closer: {COMMAND}serenity inspect {input}{HANG}   what fills the memory at the peak"
            )?;
        }
        if job.budget.is_none() && plan.model.kernels().is_some() {
            let hop = job.hop.map_or_else(String::new, |rows| format!(" --hop {rows}"));
            let budget = smaller_memory(self.account.need().to_be_safe());
            writeln!(
                out,
                "must fit:    {COMMAND}serenity fit {given}{hop} --budget {budget}{HANG}   all ways to make it fit"
            )?;
        }
        Ok(())
    }
}

/// A size of memory that a model with this need does not fit: 64 KiB, or less for a small model.
fn smaller_memory(need: u64) -> String {
    let kib = (need.saturating_sub(1) >> 10).clamp(1, 64);
    format!("{}KiB", 1 << kib.ilog2())
}

#[cfg(test)]
mod tests {
    use super::smaller_memory;

    #[test]
    fn the_memory_proposed_is_smaller_than_the_need() {
        let found =
            [u64::MAX, 70_000, 65_537, 65_536, 14_336, 8_193, 8_192, 1_025, 1_024, 0].map(smaller_memory);
        let wanted = ["64KiB", "64KiB", "64KiB", "32KiB", "8KiB", "8KiB", "4KiB", "1KiB", "1KiB", "1KiB"];
        assert_eq!(found, wanted);
    }
}
