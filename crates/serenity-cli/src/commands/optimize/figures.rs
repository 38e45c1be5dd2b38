//! Prints the table of what the model needs before, after, and at least.

use super::report::Report;
use crate::Failure;
use crate::commands::{factor, figure};
use crate::progress::thousands;
use crate::screen::layout::HANG;
use crate::screen::style::{GOOD, TITLE, paint};
use crate::size::Size;
use serenity::Options;
use serenity::pipeline::{FastSession, Footprint};
use serenity::runtimes::Kernels;
use serenity::schedule::Algorithm;
use std::io::Write;

/// What stands in the columns: the first is what must fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// The whole arena of a device, and its head, which is what orders and places decide.
    WholeAndHead,
    /// The runtime's arena and the bytes in use, which are fewer.
    ArenaAndPeak,
    /// The arena alone, where loops hand on what lies in the same bytes and would count several times in a peak.
    Arena,
    /// The bytes in use.
    Peak,
}

impl Report<'_> {
    pub(super) fn print_figures(&self, out: &mut impl Write) -> Result<(), Failure> {
        let plan = self.plan;
        let columns = match (self.account.tails, plan.after.arena, &plan.loops) {
            (Some(_), ..) => Columns::WholeAndHead,
            (None, Some(_), None) => Columns::ArenaAndPeak,
            (None, Some(_), Some(_)) => Columns::Arena,
            (None, None, _) => Columns::Peak,
        };
        let heading = match columns {
            Columns::WholeAndHead => ["whole arena", "activations"],
            Columns::ArenaAndPeak => ["arena", "peak"],
            Columns::Arena => ["arena", ""],
            Columns::Peak => ["peak", "bytes"],
        };
        let heading = format!("  {:<12} {:>12} {:>12}", "", heading[0], heading[1]);
        writeln!(out, "{}", paint(TITLE, heading.trim_end()))?;
        let mut row = |label: &str, figures: [Option<u64>; 2], remark: &str| {
            let [first, second] =
                figures.map(|bytes| bytes.map(|bytes| figure(bytes, plan.counts_everything())));
            let at_least = second.as_ref().or(first.as_ref()).map_or("", |(_, at_least)| *at_least);
            let [mut first, second] =
                [first, second].map(|shown| shown.map_or_else(String::new, |shown| shown.0));
            if let (Columns::Peak, Some(bytes @ 1..)) = (columns, figures[0]) {
                first = Size(bytes).to_string();
            }
            writeln!(out, "  {label:<12} {first:>12} {second:>12}   {HANG}{at_least}{remark}")
        };
        let figures = |footprint: Footprint, whole: u64| match columns {
            Columns::WholeAndHead => [Some(whole), Some(footprint.needs())],
            Columns::ArenaAndPeak => [Some(footprint.needs()), Some(footprint.peak)],
            Columns::Arena => [Some(footprint.needs()), None],
            Columns::Peak => [Some(footprint.peak); 2],
        };
        let before = match &plan.session {
            Some(Ok(FastSession { measured: Ok(_), .. })) if plan.counts_everything() => {
                "a default session, measured"
            }
            Some(Ok(_)) => "a default session, predicted",
            _ => "the order of the model",
        };
        row("before", figures(plan.before, self.account.needed().bytes), before)?;
        if columns == Columns::Peak {
            let peak = self.kahn()?;
            row("Kahn's order", [Some(peak); 2], "breadth first, the paper's baseline")?;
        }
        row("after", figures(plan.after, self.account.need().bytes), &self.gain())?;
        // Where rewrites were searched for, a bound on the orders of the rewritten model would be no bound on the answer.
        let searched = plan.choice.filter(|_| plan.loops.is_none() && !plan.is_optimal());
        let least = searched.map_or_else(|| plan.least(), |choice| choice.floor);
        // Nothing is known of what other loops need, nor of other rewrites once there were several rounds.
        if least == 0 && (plan.loops.is_some() || searched.is_some()) {
            return Ok(());
        }
        let is_rewritten =
            matches!(&plan.session, Some(Ok(FastSession { rewrites, .. })) if !rewrites.is_empty());
        let verdict = match plan.is_optimal() {
            true if is_rewritten => paint(GOOD, "proved for these rewrites"),
            true => paint(GOOD, "proved optimal"),
            false => "not proved, see below".to_owned(),
        };
        let bounds = match columns {
            Columns::WholeAndHead => [None, Some(least)],
            Columns::ArenaAndPeak => [Some(least), Some(plan.bound).filter(|_| searched.is_none())],
            Columns::Arena => [Some(least), None],
            Columns::Peak => [Some(least); 2],
        };
        row("lower bound", bounds, &verdict)?;
        self.print_measured(out)
    }

    /// What was measured counts what the rows above do not, so it stands apart from them.
    fn print_measured(&self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(Ok(FastSession { measured: Ok(bytes), .. })) = self.plan.session
            && !self.plan.counts_everything()
        {
            writeln!(
                out,
                "\n  measured: a default session asks for {} bytes, including what the rows above do not count",
                thousands(bytes)
            )?;
        }
        Ok(())
    }

    /// How much less it is, of what must fit.
    fn gain(&self) -> String {
        let plan = self.plan;
        let (before, after) = (self.account.needed().bytes, self.account.need().bytes);
        let is_smaller_inside = plan.after.needs() < plan.before.needs();
        if !plan.counts_everything() && (is_smaller_inside || after < before) {
            return "less, as far as sizes are known".to_owned();
        }
        if after < before {
            let saved = (1.0 - after as f64 / before as f64) * 100.0;
            return paint(GOOD, format!("{:.2}x less ({saved:.1} % saved)", factor(before, after)));
        }
        match () {
            // Only what carries rows from run to run may need more: it multiplies less.
            () if after > before => {
                let more = thousands(after - before);
                let why = if is_smaller_inside { ": TFLM keeps more operators and tensors" } else { "" };
                format!("{more} bytes more than on whole windows{why}")
            }
            () if is_smaller_inside => {
                "fewer activations, but the same whole arena: TFLM needs it while it prepares".to_owned()
            }
            () if plan.model.kernels() == Some(Kernels::Any) && plan.offsets.is_some() => {
                "the same with the kernels that need most; see the others below".to_owned()
            }
            () if plan.session.as_ref().is_some_and(Result::is_ok) => "the same".to_owned(),
            () if plan.reorders() => "the same requests, but the arena rounds them up less".to_owned(),
            () => "the model's own order is kept".to_owned(),
        }
    }

    fn kahn(&self) -> Result<u64, Failure> {
        let options = Options { model: self.plan.model, algorithm: Algorithm::Kahn, ..Options::default() };
        Ok(serenity::schedule(self.input.graph(), &options)?.after.peak)
    }
}
