//! `--explain`: every variant of the model that was tried, what it needs, and why it was not taken.

use super::Job;
use crate::Failure;
use crate::commands::count;
use crate::progress::thousands;
use crate::screen::layout::HANG;
use crate::screen::style::{GOOD, TITLE, paint};
use serenity::pipeline::{Attempt, Figures, NoPlan, Variant};
use serenity::runtimes::MemoryModel;
use std::io::Write;

pub(super) fn print(
    job: &Job,
    attempts: &[Attempt],
    target: MemoryModel,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if !job.explain {
        return Ok(());
    }
    if attempts.is_empty() {
        writeln!(out, "\nONNX Runtime optimised the model first: nothing else was tried")?;
        return Ok(());
    }
    // One row tells that there is no channel to remove.
    let without_channels =
        attempts.iter().filter(|attempt| attempt.outcome.as_ref().err() == Some(&NoPlan::NoChannel));
    let repeated: Vec<Variant> = without_channels.skip(1).map(|attempt| attempt.variant).collect();
    let attempts: Vec<&Attempt> =
        attempts.iter().filter(|attempt| !repeated.contains(&attempt.variant)).collect();
    let labels: Vec<String> = attempts.iter().map(|attempt| label(attempt, target)).collect();
    let room = labels.iter().map(String::len).max().unwrap_or(0);
    writeln!(
        out,
        "\n{}",
        paint(TITLE, format!("{:<room$}  {:>11}  {:>10}", "tried", "bytes", "extra MACs"))
    )?;
    for (attempt, label) in attempts.into_iter().zip(labels) {
        let (need, macs) = match &attempt.outcome {
            Ok(figures) => (thousands(figures.need.bytes), signed(figures.extra_macs)),
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        writeln!(out, "{label:<room$}  {need:>11}  {macs:>10}  {HANG}{}", remark(attempt))?;
    }
    Ok(())
}

/// What was changed, and for which kernels if not for those in question.
fn label(attempt: &Attempt, target: MemoryModel) -> String {
    let planned_for = attempt.variant.planned_for;
    let is_for_others = planned_for.without_plan() != target.without_plan();
    let kernels = planned_for.kernels().filter(|_| is_for_others);
    let kernels = kernels.map_or_else(String::new, |kernels| format!(", {kernels} kernels"));
    format!("{}{kernels}", attempt.variant)
}

fn remark(attempt: &Attempt) -> String {
    match &attempt.outcome {
        Err(why) => why.to_string(),
        Ok(Figures { proof, new_operators, extra_flash, .. }) => {
            let chosen = attempt.is_chosen.then(|| paint(GOOD, "chosen"));
            let proof = proof.is_optimal().then(|| "proved".to_owned());
            let operators = (!new_operators.is_empty()).then(|| format!("with {}", new_operators.join(", ")));
            let bytes = extra_flash.unsigned_abs();
            let flash = (bytes > 0).then(|| {
                format!("{} {} flash", count(bytes, "byte"), if *extra_flash > 0 { "more" } else { "less" })
            });
            [chosen, proof, operators, flash].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", thousands(number.unsigned_abs()))
}
