//! Prints the rewrites: one by one, or summed up where there are many.

use super::report::Report;
use crate::Failure;
use crate::commands::count;
use crate::printable::printable;
use crate::progress::thousands;
use serenity::Format;
use serenity::Rewrites;
use serenity::pipeline::{AppliedRewrite, RewriteCost};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// More rewrites than this are summed up.
const MOST_LISTED: usize = 3;

impl Report<'_> {
    pub(super) fn print_rewrites(&self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(Ok(fast)) = &self.plan.session
            && !fast.rewrites.is_empty()
        {
            let places = count(fast.rewrites.len() as u64, "place");
            writeln!(out, "\n  rewritten before that ({places}), outputs the same up to rounding:")?;
            for text in &fast.rewrites {
                writeln!(out, "  - {}", printable(text))?;
            }
        }
        let target = self.job.changes.target(&self.job.runtime, None);
        if target.rewrites.is_none() && target.rewrites_for(self.plan.model) == Rewrites::Channels {
            writeln!(
                out,
                "\n  not rewritten: XNNPACK, LiteRT's default, packs the weights of every operator, so that more operators may need more memory. Without XNNPACK, use --kernels reference"
            )?;
        }
        if self.plan.rewrites.is_empty() {
            return Ok(());
        }
        let all = &self.plan.rewrites;
        writeln!(out, "\n  rewrites ({}):", count(all.len() as u64, "place"))?;
        if self.job.verbose || all.len() <= MOST_LISTED {
            for rewrite in all {
                let exact = self.exactness(rewrite);
                writeln!(out, "  - {}, the same {exact}: {}", rewrite.rule, printable(&rewrite.text))?;
                writeln!(out, "    {}", worth(rewrite))?;
            }
        } else {
            for line in self.summed_up() {
                writeln!(out, "  - {line}")?;
            }
            writeln!(out, "    --verbose lists them one by one")?;
        }
        if let Some(choice) = &self.plan.choice {
            let [without, with] = [choice.without, choice.with].map(thousands);
            let sets = count(choice.sets as u64, "set");
            writeln!(out, "  best of {sets} of rewrites: {without} -> {with} bytes")?;
        }
        Ok(())
    }

    /// How far a rewrite computes the same.
    fn exactness(&self, rewrite: &AppliedRewrite) -> Cow<'static, str> {
        if let Some(steps) = rewrite.error {
            return format!("but for rounding, at most {} of its scale off", steps_of(steps)).into();
        }
        // Only LiteRT's optimised kernels are ever named, which run nothing but its files.
        let rounds = !rewrite.rounds_in.is_empty() && self.input.file.format() == Format::TfLite;
        match (rewrite.exact, rounds) {
            (true, false) => "bit for bit".into(),
            (true, true) => "bit for bit (but up to rounding in LiteRT's optimised kernels)".into(),
            (false, _) => "up to rounding".into(),
        }
    }

    /// A line for all of a rule that compute as much the same.
    fn summed_up(&self) -> Vec<String> {
        let mut groups: BTreeMap<(String, Cow<'static, str>), Vec<&AppliedRewrite>> = BTreeMap::new();
        // How far off is said of the worst.
        let worst = self.plan.rewrites.iter().filter_map(|rewrite| rewrite.error).reduce(f64::max);
        for rewrite in &self.plan.rewrites {
            let worst = AppliedRewrite { error: rewrite.error.and(worst), ..rewrite.clone() };
            groups.entry((rewrite.rule.clone(), self.exactness(&worst))).or_default().push(rewrite);
        }
        let line = |((rule, exact), group): ((String, Cow<'static, str>), Vec<&AppliedRewrite>)| {
            let most = group.iter().filter_map(|rewrite| rewrite.gain).max().unwrap_or(0);
            let most = match most {
                0 => "useful only together".to_owned(),
                most => format!("each saves up to {} bytes alone", thousands(most)),
            };
            let sum =
                |amount: fn(&RewriteCost) -> i64| group.iter().map(|rewrite| amount(&rewrite.cost)).sum();
            let cost = RewriteCost {
                ops: sum(|cost| cost.ops),
                weight_bytes: sum(|cost| cost.weight_bytes),
                macs: 0,
                additions: sum(|cost| cost.additions),
            };
            let times = if group.len() == 1 { "once".to_owned() } else { format!("{} times", group.len()) };
            format!("{rule} {times}, the same {exact}: {most}; {}", costs(&cost))
        };
        groups.into_iter().map(line).collect()
    }
}

/// A bound stays one if it is rounded up.
fn steps_of(steps: f64) -> String {
    count(steps.ceil() as u64, "step")
}

/// What a rewrite gains by itself, and what it costs.
fn worth(rewrite: &AppliedRewrite) -> String {
    let gain = match rewrite.gain {
        Some(0) => "saves nothing alone".to_owned(),
        Some(gain) => format!("saves {} bytes", thousands(gain)),
        None => "not measured alone".to_owned(),
    };
    format!("{gain}; {}", costs(&rewrite.cost))
}

fn costs(cost: &RewriteCost) -> String {
    let RewriteCost { ops, weight_bytes, additions, .. } = *cost;
    let costs: Vec<String> = [
        (ops, if ops.abs() == 1 { "op" } else { "ops" }),
        (weight_bytes, "bytes of weights"),
        (additions, "additions"),
    ]
    .into_iter()
    .filter(|(amount, _)| *amount != 0)
    .map(|(amount, what)| {
        let sign = if amount < 0 { "-" } else { "+" };
        format!("{sign}{} {what}", thousands(amount.unsigned_abs()))
    })
    .collect();
    if costs.is_empty() { "costs nothing".to_owned() } else { costs.join(", ") }
}
