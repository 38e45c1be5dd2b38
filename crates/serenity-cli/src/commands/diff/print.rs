//! What `serenity diff` prints for people: 80 columns.

use super::rows::{Row, change, figures, remark, verdicts};
use crate::Failure;
use crate::args::DiffArgs;
use crate::outputs::file_name;
use crate::printable::printable;
use crate::progress::thousands;
use crate::screen::layout::HANG;
use crate::screen::style::{BAD, GOOD, TITLE, paint};
use serenity::diff::Diff;
use std::io::Write;

/// More buffers than this are counted, not listed.
const MOST_BUFFERS: usize = 8;
/// The longest that names get.
const LONGEST_NAME: usize = 26;

pub(super) fn print(args: &DiffArgs, found: &Diff, out: &mut impl Write) -> Result<(), Failure> {
    let [old, new] = [&args.old, &args.new].map(|path| printable(&file_name(path)).into_owned());
    let kernels = found.kernels.map_or_else(String::new, |kernels| format!(", kernels `{kernels}`"));
    let model = found.runtime.without_plan();
    writeln!(out, "{} -> {}", paint(TITLE, old), paint(TITLE, new))?;
    writeln!(out, "memory model `{model}`{kernels}\n")?;
    let heading = format!("{:<25} {:>12} {:>12} {:>12} {:>9}", "", "before", "after", "change", "");
    writeln!(out, "{}", paint(TITLE, heading.trim_end()))?;
    for row in figures(found) {
        print_row(&row, out)?;
    }
    print_peak(found, out)?;
    let verdicts = verdicts(args, found);
    if !verdicts.is_empty() {
        writeln!(out)?;
    }
    for (is_bad, text) in verdicts {
        let text = printable(&text).into_owned();
        let text = if is_bad { paint(BAD, text) } else { text };
        writeln!(out, "- {HANG}{text}")?;
    }
    Ok(())
}

fn print_row(row: &Row, out: &mut impl Write) -> Result<(), Failure> {
    let [before, after] = [row.before, row.after].map(thousands);
    let style = if row.after < row.before { GOOD } else { anstyle::Style::new() };
    let change = paint(style, format!("{:>12}", row.change()));
    let line = format!("{:<25} {before:>12} {after:>12} {change} {:>9}", row.label, row.share());
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}

fn print_peak(found: &Diff, out: &mut impl Write) -> Result<(), Failure> {
    let ops: Vec<&str> =
        [&found.before, &found.after].iter().filter_map(|side| side.peak_op.as_deref()).collect();
    let shown = found.at_peak.iter().take(MOST_BUFFERS);
    let names: Vec<&str> = shown.clone().map(|buffer| buffer.name.as_str()).collect();
    let names = serenity_page::short_names(&names, LONGEST_NAME);
    let ops = serenity_page::short_names(&ops, LONGEST_NAME);
    if let [old, new] = ops.as_slice() {
        let at = if old == new { format!("`{old}`") } else { format!("`{old}`, now `{new}`") };
        writeln!(out, "\n{} {}", paint(TITLE, "in use at the peak, at"), printable(&at))?;
    }
    for (buffer, name) in shown.zip(names) {
        let [before, after] = [buffer.before, buffer.after].map(thousands);
        let change = change(buffer.before, buffer.after);
        let name = printable(&name).into_owned();
        let name: String = name.chars().take(LONGEST_NAME).collect();
        let line = format!(
            "  {name:<LONGEST_NAME$} {before:>10} {after:>10} {change:>10}  {HANG}{}",
            remark(buffer)
        );
        writeln!(out, "{}", line.trim_end_matches([' ', HANG]))?;
    }
    let rest = found.at_peak.get(MOST_BUFFERS..).unwrap_or_default();
    if !rest.is_empty() {
        let [before, after] =
            [rest.iter().map(|buffer| buffer.before).sum(), rest.iter().map(|buffer| buffer.after).sum()];
        let label = format!("and {} more", rest.len());
        let change = change(before, after);
        let line = format!(
            "  {label:<LONGEST_NAME$} {:>10} {:>10} {change:>10}",
            thousands(before),
            thousands(after)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
