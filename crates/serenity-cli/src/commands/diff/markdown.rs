//! What `serenity diff --markdown` prints: a comment on a pull request.

use super::rows::{change, figures, remark, verdicts, what_is_needed};
use crate::args::DiffArgs;
use crate::outputs::file_name;
use crate::printable::printable;
use crate::progress::thousands;
use serenity::diff::Diff;
use serenity_report::{Column, Table};
use std::fmt::Write;

/// More buffers than this are counted, not listed.
const MOST_BUFFERS: usize = 12;
/// The longest that names get.
const LONGEST_NAME: usize = 60;

pub(super) fn text(args: &DiffArgs, found: &Diff) -> String {
    let [old, new] = [&args.old, &args.new].map(|path| code(&file_name(path)));
    let names = if old == new { new } else { format!("{old} → {new}") };
    let [before, after] = [found.before.needs, found.after.needs];
    let gist = match (before == after, super::rows::share(before, after)) {
        (true, _) => format!("{} bytes, unchanged", thousands(after)),
        (false, share) => format!("{} → {} bytes ({share})", thousands(before), thousands(after)),
    };
    let mut text = format!("### {names}: {} {gist}\n\n", what_is_needed(found));
    for (is_bad, sentence) in verdicts(args, found) {
        let mark = if is_bad { "⚠️ " } else { "" };
        let _ = writeln!(text, "- {mark}{}", plain(&sentence));
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    let mut table = Table::titled("bytes | #before | #after | #change | #");
    for row in figures(found) {
        // Figures of parts are indented by spaces that no table shows.
        let label = row.label.replace("  ", "\u{2003}");
        table.push([label, thousands(row.before), thousands(row.after), row.change(), row.share()]);
    }
    text += &table.to_markdown();
    text += &at_peak(found);
    text
}

fn at_peak(found: &Diff) -> String {
    if found.at_peak.is_empty() {
        return String::new();
    }
    let columns = ["before", "after", "change"].map(Column::number);
    let mut table = Table::new([Column::text("tensor")].into_iter().chain(columns).chain([Column::text("")]));
    let shown = found.at_peak.iter().take(MOST_BUFFERS);
    let names: Vec<&str> = shown.clone().map(|buffer| buffer.name.as_str()).collect();
    for (buffer, name) in shown.zip(serenity_page::short_names(&names, LONGEST_NAME)) {
        let [before, after] = [buffer.before, buffer.after].map(thousands);
        let change = change(buffer.before, buffer.after);
        table.push([code(&name), before, after, change, remark(buffer).to_owned()]);
    }
    let more = match found.at_peak.len().saturating_sub(MOST_BUFFERS) {
        0 => String::new(),
        more => format!("\n{more} more are in use at the peak.\n"),
    };
    let title = "\n<details><summary>In use at the peak</summary>\n\n";
    format!("{title}{}{more}\n</details>\n", table.to_markdown())
}

/// A name of the model as code, so that no part of it is markup: names come from files that nobody has read.
fn code(name: &str) -> String {
    format!("`{}`", printable(name).replace('`', "'"))
}

/// A sentence that may hold names of the model.
fn plain(sentence: &str) -> String {
    let mut text = String::new();
    for c in printable(sentence).chars() {
        if matches!(c, '<' | '>' | '[' | ']' | '*' | '_' | '#' | '!' | '\\' | '|') {
            text.push('\\');
        }
        text.push(c);
        // GitHub would tell whoever has this name.
        if c == '@' {
            text.push('\u{200b}');
        }
    }
    text
}
