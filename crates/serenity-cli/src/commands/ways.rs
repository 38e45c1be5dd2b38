//! Prints the table of all ways to run a model in the memory of a device.

use super::for_shell;
use crate::Failure;
use crate::progress::thousands;
use crate::screen::layout::{COMMAND, HANG};
use crate::screen::style::{BAD, GOOD, TITLE, paint};
use crate::size::GivenSize;
use serenity_fit::{Fit, Made, Row};
use std::io::Write;

pub(super) struct Table<'a> {
    pub(super) found: &'a Fit,
    pub(super) budget: GivenSize,
    /// Is everything said of every way?
    pub(super) is_verbose: bool,
}

impl Table<'_> {
    pub(super) fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        let rows = &self.found.rows;
        let room = rows.iter().map(|row| row.way.to_string().len()).max().unwrap_or(0);
        let heading = format!(
            "{:<room$}  {:>10}  {:>10}  {:>7}  {:>8}  {:>10}",
            "way", "RAM, bytes", "over by", "MACs", "time", "flash"
        );
        writeln!(out, "{}", paint(TITLE, heading))?;
        for row in rows {
            let way = row.way.to_string();
            match &row.outcome {
                Ok(made) => {
                    let (bytes, over) = (thousands(made.need.to_be_safe()), self.over(made));
                    let [macs, time] =
                        [Some(made.extra_macs as f64 / self.found.macs.max(1) as f64), made.extra_time]
                            .map(share);
                    let flash = flash(made.extra_flash, self.budget);
                    let line =
                        format!("{way:<room$}  {bytes:>10}  {over}  {macs:>7}  {time:>8}  {flash:>10}");
                    writeln!(out, "{}", line.trim_end())?;
                    if self.is_verbose {
                        print_asks(made, "    ", out)?;
                        print_command(made, "    ", out)?;
                    }
                }
                Err(why) => writeln!(out, "{way:<room$}  {:>10}  {HANG}{why}", "-")?,
            }
        }
        Ok(())
    }

    fn over(&self, made: &Made) -> String {
        let text = match made.need.to_be_safe().saturating_sub(self.budget.bytes) {
            _ if !made.can_run => "cannot run".to_owned(),
            0 if !made.fits => "unknown".to_owned(),
            0 => return paint(GOOD, format!("{:>10}", "fits")),
            bytes => thousands(bytes),
        };
        format!("{text:>10}")
    }

    /// Why nothing is written: no way fits, or none of the kind that is wanted.
    pub(super) fn print_why_not(&self, other_kind: &str, out: &mut impl Write) -> Result<(), Failure> {
        let budget = self.budget;
        if self.found.rows.iter().any(Row::fits) {
            writeln!(out, "{}", paint(BAD, format!("fits {budget} only {other_kind}")))?;
            return Ok(());
        }
        writeln!(out, "{}", paint(BAD, format!("does not fit {budget} in any way")))?;
        for sentence in &self.found.advice {
            writeln!(out, "  {HANG}{sentence}")?;
        }
        Ok(())
    }
}

/// The way that is taken: the size to set first, then what it asks and costs.
pub(super) fn print_made(
    found: &Fit,
    row: &Row,
    budget: GivenSize,
    written: &[String],
    out: &mut impl Write,
) -> Result<(), Failure> {
    let Ok(made) = &row.outcome else { return Ok(()) };
    let needs = thousands(made.need.to_be_safe());
    let set = if row.way.is_code { "static memory:" } else { "set the arena to" };
    writeln!(out, "{}: {}", paint(GOOD, format!("fits {budget}")), row.way)?;
    writeln!(out, "  {set} {needs} bytes")?;
    print_asks(made, "  ", out)?;
    if let Some((faster, time)) = found.faster_than(made) {
        writeln!(
            out,
            "  faster: {HANG}{} fits too and takes about {} than the original",
            faster.way,
            time_of(time)
        )?;
    }
    if written.is_empty() {
        return print_command(made, "  ", out);
    }
    let names: Vec<String> = written.iter().map(|path| for_shell(path)).collect();
    writeln!(out, "  written to {HANG}{}", names.join(", "))?;
    Ok(())
}

/// What a way asks of the application, and what it costs.
fn print_asks(made: &Made, indent: &str, out: &mut impl Write) -> Result<(), Failure> {
    for ask in &made.asks {
        writeln!(out, "{indent}the application must {HANG}{ask}")?;
    }
    let mut costs = Vec::new();
    if made.extra_macs != 0 {
        costs.push(change(made.extra_macs, "MACs"));
    }
    if let Some(more) = made.extra_time.filter(|more| more.abs() >= LEAST) {
        costs.push(format!("about {}", time_of(more)));
    }
    if made.extra_flash != 0 {
        costs.push(change(made.extra_flash, "bytes of flash"));
    }
    if !costs.is_empty() {
        writeln!(out, "{indent}cost: {HANG}{}", costs.join(", "))?;
    }
    Ok(())
}

fn print_command(made: &Made, indent: &str, out: &mut impl Write) -> Result<(), Failure> {
    if let Some(command) = &made.command {
        writeln!(out, "{indent}command: {COMMAND}{command}")?;
    }
    Ok(())
}

/// Smaller changes are none.
const LEAST: f64 = 0.0005;

/// `+10.7 %`; nothing for no change, and if it is not known.
fn share(share: Option<f64>) -> String {
    let share = share.filter(|share| share.abs() >= LEAST);
    share.map_or_else(String::new, |share| format!("{:+.1} %", 100.0 * share))
}

fn time_of(more: f64) -> String {
    format!("{:.0} % {} time", 100.0 * more.abs(), if more > 0.0 { "more" } else { "less" })
}

fn flash(bytes: i64, budget: GivenSize) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!("{}{}", if bytes < 0 { '-' } else { '+' }, budget.like(bytes.unsigned_abs())),
    }
}

fn change(number: i64, what: &str) -> String {
    format!("{} {} {what}", thousands(number.unsigned_abs()), if number > 0 { "more" } else { "fewer" })
}
