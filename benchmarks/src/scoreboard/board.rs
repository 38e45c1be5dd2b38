//! One question, put to us and to our peers on the same inputs.

use crate::table::Table;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What somebody makes of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// So many bytes, and a mark that a note explains.
    Bytes(u64, &'static str),
    /// No answer, and why not.
    None(String),
}

impl Answer {
    fn bytes(&self) -> Option<u64> {
        match *self {
            Self::Bytes(bytes, _) => Some(bytes),
            Self::None(_) => None,
        }
    }
}

impl From<u64> for Answer {
    fn from(bytes: u64) -> Self {
        Self::Bytes(bytes, "")
    }
}

impl<E: std::fmt::Display> From<Result<u64, E>> for Answer {
    fn from(found: Result<u64, E>) -> Self {
        found.map_or_else(|error| Self::None(first_line(&error.to_string())), Self::from)
    }
}

/// Who is asked.
pub(super) struct Column {
    pub(super) head: String,
    /// For a peer: which of our columns it is compared with.
    pub(super) against: Option<usize>,
}

impl Column {
    pub(super) fn ours(head: &str) -> Self {
        Self { head: head.to_owned(), against: None }
    }

    pub(super) fn peer(head: &str, against: usize) -> Self {
        Self { head: head.to_owned(), against: Some(against) }
    }
}

/// The question, and all answers.
pub(super) struct Board {
    pub(super) title: &'static str,
    /// What is counted, how it is repeated, and what is not alike.
    pub(super) text: &'static str,
    pub(super) columns: Vec<Column>,
    /// A name, and an answer a column.
    pub(super) rows: Vec<(String, Vec<Answer>)>,
}

impl Board {
    /// By peer, what it needs as a multiple of what we need, for each input that both have an answer to.
    fn ratios(&self, column: usize) -> Option<Vec<f64>> {
        let against = self.columns[column].against?;
        let ratio = |(_, answers): &(String, Vec<Answer>)| {
            let (theirs, ours) = (answers[column].bytes()?, answers[against].bytes()?);
            (ours > 0).then(|| theirs as f64 / ours as f64)
        };
        Some(self.rows.iter().filter_map(ratio).collect())
    }

    /// A row a peer: question, peer, inputs, mean, largest and smallest ratio, inputs on which it needs less than we.
    pub(super) fn glance(&self) -> Vec<[String; 7]> {
        let mut rows = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let Some(ratios) = self.ratios(index) else { continue };
            let figures = if ratios.is_empty() {
                ["not installed", "", "", ""].map(str::to_owned)
            } else {
                let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick).unwrap_or(1.0);
                let wins = ratios.iter().filter(|&&ratio| ratio < 1.0).count();
                [times(mean(&ratios)), times(extreme(f64::max)), times(extreme(f64::min)), wins.to_string()]
            };
            let [average, most, least, wins] = figures;
            let inputs = ratios.len().to_string();
            rows.push([self.title.to_owned(), column.head.clone(), inputs, average, most, least, wins]);
        }
        rows
    }

    /// The table, without inputs on which everybody needs the same, and with what became of those who did not answer.
    pub(super) fn markdown(&self) -> String {
        let heads = std::iter::once("input").chain(self.columns.iter().map(|column| column.head.as_str()));
        let mut table = Table::of(heads);
        let mut alike = 0;
        for (name, answers) in &self.rows {
            if is_alike(answers) {
                alike += 1;
                continue;
            }
            let cells = answers.iter().map(cell);
            table.push_all(std::iter::once(format!("`{name}`")).chain(cells));
        }
        let means = (0..self.columns.len()).map(|column| match self.ratios(column) {
            Some(ratios) if !ratios.is_empty() => times(mean(&ratios)),
            _ => String::new(),
        });
        table.push_all(std::iter::once("geometric mean, times ours".to_owned()).chain(means));
        let mut text = format!("## {}\n{}\n\n{}\n", self.title, self.text.trim_end(), table.markdown());
        if alike > 0 {
            let _ = writeln!(text, "On {alike} more, all that answer need the same; the means count them.\n");
        }
        for ((who, why), names) in self.silent() {
            let _ = writeln!(text, "- {who}: {why}: {}", names.join(", "));
        }
        text
    }

    /// Who did not answer and why, and to which inputs.
    fn silent(&self) -> BTreeMap<(&str, &str), Vec<&str>> {
        let mut silent: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for (name, answers) in &self.rows {
            for (column, answer) in self.columns.iter().zip(answers) {
                if let Answer::None(why) = answer {
                    silent.entry((&column.head, why)).or_default().push(name);
                }
            }
        }
        silent
    }
}

fn is_alike(answers: &[Answer]) -> bool {
    let mut bytes = answers.iter().filter_map(Answer::bytes);
    bytes.next().is_none_or(|first| bytes.all(|other| other == first))
}

fn cell(answer: &Answer) -> String {
    match answer {
        Answer::Bytes(bytes, mark) => format!("{}{mark}", thousands(*bytes)),
        Answer::None(_) => "–".to_owned(),
    }
}

/// The geometric one, the way to average ratios.
pub(crate) fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

fn times(ratio: f64) -> String {
    format!("{ratio:.3} x")
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Board {
        let none = || Answer::None("not installed".to_owned());
        Board {
            title: "T",
            text: "What.",
            columns: vec![Column::peer("them", 1), Column::ours("we"), Column::peer("others", 1)],
            rows: vec![
                ("a".into(), vec![2_000.into(), 1_000.into(), none()]),
                ("b".into(), vec![Answer::Bytes(500, "*"), 1_000.into(), none()]),
                ("c".into(), vec![7.into(), 7.into(), none()]),
            ],
        }
    }

    #[test]
    fn a_peer_that_needs_less_is_counted_as_such() {
        let rows = board().glance();
        assert_eq!(rows[0], ["T", "them", "3", "1.000 x", "2.000 x", "0.500 x", "1"]);
        assert_eq!(rows[1], ["T", "others", "0", "not installed", "", "", ""]);
    }

    #[test]
    fn who_does_not_answer_has_no_figure() {
        let text = board().markdown();
        assert!(text.contains("| `a` | 2,000 | 1,000 | – |"), "{text}");
        assert!(text.contains("| `b` | 500* | 1,000 | – |"), "{text}");
        assert!(!text.contains("`c` |") && text.contains("On 1 more"), "{text}");
        assert!(text.contains("- others: not installed: a, b, c"), "{text}");
    }
}
