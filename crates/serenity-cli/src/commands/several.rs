//! Several models, one after the other: each as it would be alone, and a table that sums them up.

use super::{count, factor, figure};
use crate::args::TalkArgs;
use crate::failure::refuse;
use crate::outputs::{file_name, make_folder};
use crate::printable::printable;
use crate::screen::layout::HANG;
use crate::screen::style::{BAD, GOOD, TITLE, paint};
use crate::screen::width;
use crate::{Failure, Outcome};
use serenity::search::CancelFlag;
use std::collections::BTreeMap;
use std::io::{Write, sink};
use std::path::Path;

/// What became of one model.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    /// What it needs, and what it could or will.
    pub(super) before: u64,
    pub(super) after: u64,
    /// Do these count everything? If not, no gain can be told.
    pub(super) counts_everything: bool,
    /// In a few words.
    pub(super) remark: String,
}

/// Models, and how to speak of them.
pub(super) struct Several<'a> {
    pub(super) inputs: &'a [String],
    pub(super) talk: TalkArgs,
    pub(super) is_verbose: bool,
    /// What stands over what each needs, and over what it could or will.
    pub(super) headings: [&'static str; 2],
}

/// The widest that names get in the table.
const LONGEST_NAME: usize = 40;
/// What else stands in a row of it; where there is no room for both, a name has a line of its own.
const FIGURES: usize = 36;
const NARROW: usize = 60;

impl Several<'_> {
    /// Does the work for each. One bad file does not take the others down, but it is not forgotten.
    pub(super) fn each<W: Write>(
        &self,
        cancel: &CancelFlag,
        out: &mut W,
        mut work: impl FnMut(usize, &str, &mut dyn Write) -> Result<Done, Failure>,
    ) -> Result<Outcome, Failure> {
        let is_one = self.inputs.len() == 1;
        let (mut failed, mut outcome, mut rows) = (0, Outcome::Done, Vec::new());
        let names = self.names();
        let is_table = !is_one && !self.talk.json;
        if is_table && !self.is_verbose {
            self.print_heading(&names, out)?;
        }
        for (at, input) in self.inputs.iter().enumerate() {
            // What is not begun would be searched for no time at all.
            if at > 0 && cancel.is_cancelled() {
                let left = count((self.inputs.len() - at) as u64, "model");
                return refuse(
                    format!("interrupted: {left} not done, from `{input}` on"),
                    "the results of the others are complete",
                );
            }
            let says_all = is_one || self.is_verbose || self.talk.json;
            let done = if says_all { work(at, input, out) } else { work(at, input, &mut sink()) };
            match &done {
                Ok(done) if done.outcome == Outcome::ConditionNotMet => outcome = Outcome::ConditionNotMet,
                Ok(_) => {}
                Err(failure) => {
                    failure.report();
                    if let Some(object) = failure.to_json(Some(input)).filter(|_| self.talk.json) {
                        writeln!(out, "{object}")?;
                    }
                    failed += 1;
                }
            }
            if is_table {
                let row = row(&names[at], done.as_ref().ok());
                if self.is_verbose {
                    writeln!(out)?;
                    rows.push(row);
                } else {
                    writeln!(out, "{row}")?;
                }
            }
            // Whoever reads along sees each result when it is there.
            out.flush()?;
        }
        if is_table && self.is_verbose {
            self.print_heading(&names, out)?;
            for row in rows {
                writeln!(out, "{row}")?;
            }
        }
        if failed > 0 { Err(Failure::Reported) } else { Ok(outcome) }
    }

    /// As short as they can be and still tell the models apart.
    fn names(&self) -> Vec<String> {
        let inputs: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        let room = match width() {
            Some(width) if width >= NARROW => (width - FIGURES).min(LONGEST_NAME),
            _ => LONGEST_NAME,
        };
        let short = serenity_page::short_names(&inputs, room);
        if is_narrow() {
            return short.iter().map(|name| format!("{}\n ", printable(name))).collect();
        }
        let longest = short.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        short.iter().map(|name| format!("{:<longest$}", printable(name))).collect()
    }

    fn print_heading(&self, names: &[String], out: &mut impl Write) -> Result<(), Failure> {
        let room = if is_narrow() { 1 } else { names.first().map_or(0, |name| name.chars().count()) };
        let [before, after] = self.headings;
        let label = if is_narrow() { "" } else { "bytes" };
        let heading = format!("{label:<room$} {before:>12} {after:>12}");
        writeln!(out, "{}", paint(TITLE, heading))?;
        Ok(())
    }
}

fn is_narrow() -> bool {
    width().is_some_and(|width| width < NARROW)
}

fn row(name: &str, done: Option<&Done>) -> String {
    let Some(Done { outcome, before, after, counts_everything, remark }) = done else {
        return format!("{name} {}", paint(BAD, "error"));
    };
    let is_less = *counts_everything && after < before;
    let gain = if is_less { format!("{:.2}x", factor(*before, *after)) } else { "-".to_owned() };
    let gain = paint(if is_less { GOOD } else { anstyle::Style::new() }, format!("{gain:>7}"));
    let remark = if *outcome == Outcome::ConditionNotMet { paint(BAD, remark) } else { remark.clone() };
    let [(before, _), (after, at_least)] = [before, after].map(|bytes| figure(*bytes, *counts_everything));
    format!("{name} {before:>12} {after:>12} {gain}  {HANG}{at_least}{remark}")
}

/// Where each model goes in a folder, under the name that it came with and this at its end.
pub(super) fn targets(
    folder: &str,
    inputs: &[String],
    ending: impl Fn(&str) -> String,
) -> Result<Vec<String>, Failure> {
    make_folder(folder, "--output-dir")?;
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut targets = Vec::new();
    for input in inputs {
        let name = ending(&file_name(input));
        if let Some(other) = taken.insert(name.clone(), input) {
            return refuse(
                format!("`{other}` and `{input}` would both be written to `{name}`"),
                "give one of them another name, or run the command for each",
            );
        }
        let target = Path::new(folder).join(&name).to_string_lossy().into_owned();
        if let Some(input) = inputs.iter().find(|input| serenity::write::is_read_from(input, &target)) {
            return refuse(
                format!("`{input}` would be overwritten: it lies in the folder of --output-dir"),
                "name another folder",
            );
        }
        serenity::write::check_target(&target)?;
        targets.push(target);
    }
    Ok(targets)
}
