//! Prints the table of all ways to run a model in the memory of a device.

use super::for_shell;
use crate::Failure;
use crate::progress::thousands;
use crate::screen::layout::{COMMAND, HANG};
use crate::screen::style::{BAD, GOOD, TITLE, paint};
use crate::size::GivenSize;
use serenity_fit::{Fit, Made, Row};
use std::array;
use std::io::Write;

const COLUMNS: [&str; 6] = ["way", "RAM, bytes", "over by", "MACs", "time", "flash"];
const FITS: &str = "fits";

pub(super) struct Table<'a> {
    pub(super) found: &'a Fit,
    pub(super) budget: GivenSize,
    /// Is everything said of every way?
    pub(super) is_verbose: bool,
}

impl Table<'_> {
    pub(super) fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        let rows = &self.found.rows;
        let cells: Vec<[String; 6]> = rows.iter().map(|row| self.cells(row)).collect();
        // As narrow as can be, for a terminal of 80 columns: one in which nothing stands is left out.
        let widths: [usize; 6] = array::from_fn(|column| {
            let widest = cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
            if widest == 0 { 0 } else { widest.max(COLUMNS[column].len()) }
        });
        writeln!(out, "{}", paint(TITLE, line(&COLUMNS.map(str::to_owned), widths)))?;
        for (row, cells) in rows.iter().zip(&cells) {
            let line = line(cells, widths);
            match &row.outcome {
                Ok(made) => {
                    writeln!(out, "{line}")?;
                    if self.is_verbose {
                        print_asks(made, "    ", out)?;
                        print_command(made, "    ", out)?;
                    }
                }
                Err(why) => writeln!(out, "{line}  {HANG}{why}")?,
            }
        }
        Ok(())
    }

    fn cells(&self, row: &Row) -> [String; 6] {
        let way = row.way.to_string();
        let Ok(made) = &row.outcome else {
            return [way, "-".to_owned(), String::new(), String::new(), String::new(), String::new()];
        };
        let macs = made.extra_macs as f64 / self.found.macs.max(1) as f64;
        [
            way,
            thousands(made.need.to_be_safe()),
            self.over(made),
            share(Some(macs)),
            share(made.extra_time),
            flash(made.extra_flash, self.budget),
        ]
    }

    fn over(&self, made: &Made) -> String {
        match made.need.to_be_safe().saturating_sub(self.budget.bytes) {
            _ if !made.can_run => "cannot run".to_owned(),
            0 if !made.fits => "unknown".to_owned(),
            0 => FITS.to_owned(),
            bytes => thousands(bytes),
        }
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

/// Names to the left, numbers to the right.
fn line(cells: &[String; 6], widths: [usize; 6]) -> String {
    let mut line = format!("{:<width$}", cells[0], width = widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1).filter(|(_, width)| *width > 0) {
        let cell_at_right = format!("{cell:>width$}");
        line.push_str("  ");
        line.push_str(&if cell == FITS { paint(GOOD, cell_at_right) } else { cell_at_right });
    }
    line.truncate(line.trim_end().len());
    line
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
        costs.push(change(made.extra_flash, "bytes of constants in flash"));
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

/// `+4.7 %` or `+47 %`; nothing for no change, and if it is not known.
fn share(share: Option<f64>) -> String {
    let percent = share.filter(|share| share.abs() >= LEAST).map(|share| 100.0 * share);
    percent.map_or_else(String::new, |percent| {
        let decimals = usize::from(percent.abs() < 9.95);
        format!("{percent:+.decimals$} %")
    })
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
