//! What a document says against what the program says.
//!
//! In a document `…` stands for what is left out: alone on a line for any lines, within a line for any text. So do
//! times, which no document can tell: they are left out of what the program says before anything is compared, and a
//! document that names one is wrong.

use snapbox::filter::NormalizeToExpected;
use snapbox::report::{Palette, write_diff};
use snapbox::{Data, IntoData};

const LEFT_OUT: &str = "…";

/// What a line costs that only the program has, and one that only the document has.
const ANOTHER_LINE: usize = 60;
const LOST_LINE: usize = 100;

/// What differs, as people read it; `None` if the document is right.
pub(crate) fn difference(document: &str, program: &str) -> Option<String> {
    let expected = as_pattern(document).raw();
    let said = lines(without_times(program).lines());
    let actual = NormalizeToExpected::new().redact().normalize(said.into_data().raw(), &expected);
    if actual == expected {
        return None;
    }
    let mut text = String::new();
    let names: [&dyn std::fmt::Display; 2] = [&"the document", &"the program"];
    write_diff(&mut text, &expected, &actual, Some(names[0]), Some(names[1]), Palette::plain()).unwrap();
    Some(text)
}

/// Each with its end.
fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// The document as the comparison reads it.
fn as_pattern(document: &str) -> Data {
    let line = |line: &str| {
        if line == LEFT_OUT { "...\n".to_owned() } else { format!("{}\n", line.replace(LEFT_OUT, "[..]")) }
    };
    document.lines().map(line).collect::<String>().into_data()
}

/// `72.0 ms` and `2.1 s`, as the program tells times, left out.
fn without_times(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(begin);
        let length = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        let (number, after) = from.split_at(length);
        let unit = [" ms", " s"].into_iter().find(|unit| {
            after.strip_prefix(unit).is_some_and(|end| !end.starts_with(|c: char| c.is_alphanumeric()))
        });
        result.push_str(before);
        let is_time = number.split_once('.').is_some_and(|(_, digits)| digits.len() == 1);
        if let Some(unit) = unit.filter(|_| is_time) {
            result.push_str(LEFT_OUT);
            rest = &after[unit.len()..];
        } else {
            result.push_str(number);
            rest = after;
        }
    }
    result + rest
}

/// What the document should say: the program's lines, with the same left out as before where that can be told.
pub(crate) fn regenerated(document: &str, program: &str) -> String {
    let program = without_times(program);
    let (old, new): (Vec<&str>, Vec<&str>) = (document.lines().collect(), program.lines().collect());
    // cost[i][j]: the least that it takes to make the first i lines of the document from the first j of the program.
    let mut cost = vec![vec![0; new.len() + 1]; old.len() + 1];
    cost[0] = (0..=new.len()).map(|j| j * ANOTHER_LINE).collect();
    for i in 1..=old.len() {
        let is_left_out = old[i - 1] == LEFT_OUT;
        let (lost, another) = if is_left_out { (0, 0) } else { (LOST_LINE, ANOTHER_LINE) };
        for j in 0..=new.len() {
            let mut least = cost[i - 1][j] + lost;
            if j > 0 {
                least = least.min(cost[i][j - 1] + another);
            }
            if j > 0 && !is_left_out {
                least = least.min(cost[i - 1][j - 1] + unlikeness(old[i - 1], new[j - 1]));
            }
            cost[i][j] = least;
        }
    }
    let mut anew: Vec<&str> = Vec::new();
    let (mut i, mut j) = (old.len(), new.len());
    while i > 0 || j > 0 {
        if i > 0 && old[i - 1] == LEFT_OUT {
            // Stands for whatever came since the line before it; for nothing, and it goes.
            let mut from = j;
            while from > 0 && cost[i - 1][from] > cost[i][j] {
                from -= 1;
            }
            if from < j {
                anew.push(LEFT_OUT);
            }
            (i, j) = (i - 1, from);
        } else if i > 0 && j > 0 && cost[i][j] == cost[i - 1][j - 1] + unlikeness(old[i - 1], new[j - 1]) {
            let keeps = difference(old[i - 1], new[j - 1]).is_none();
            anew.push(if keeps { old[i - 1] } else { new[j - 1] });
            (i, j) = (i - 1, j - 1);
        } else if j > 0 && (i == 0 || cost[i][j] == cost[i][j - 1] + ANOTHER_LINE) {
            anew.push(new[j - 1]);
            j -= 1;
        } else {
            i -= 1;
        }
    }
    lines(anew.into_iter().rev())
}

/// 0 for the same line, little for one that says the same of other figures, 200 for one that has no word in common.
fn unlikeness(old: &str, new: &str) -> usize {
    if old == new || (old.contains(LEFT_OUT) && difference(old, new).is_none()) {
        return 0;
    }
    let words = |line: &str| -> Vec<String> {
        let words = line.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.starts_with(char::is_alphabetic)).map(str::to_owned).collect()
    };
    let (old, new) = (words(old), words(new));
    if old.is_empty() && new.is_empty() {
        return ANOTHER_LINE;
    }
    let shared = old.iter().filter(|word| new.contains(word)).count();
    200_usize.saturating_sub(190 * 2 * shared / (old.len() + new.len()))
}

#[test]
fn a_stale_document_is_found() {
    let program = "net: 3 ops\n\n  after  12,000 bytes\n  found in 3.1 ms, 5 states\nfits\n";
    for right in [
        "net: 3 ops\n\n  after  12,000 bytes\n  found in …, 5 states\nfits\n",
        "net: 3 ops\n…\n",
        "…\n  after  12,000 bytes\n…\nfits\n",
        "…\n  after  … bytes\n…\n",
    ] {
        assert_eq!(difference(right, program), None, "{right}");
    }
    for stale in [
        // Another figure, a line too few, a line too many, lines in another order, nothing at all.
        "net: 3 ops\n…\n  after  11,999 bytes\n…\n",
        "net: 3 ops\n\n  after  12,000 bytes\n  found in …, 5 states\n",
        "net: 3 ops\n…\nfits\nwell\n",
        "…\n  found in …, 5 states\n…\n  after  12,000 bytes\n…\n",
        "",
        // A time, even if it were right.
        "…\n  found in 3.1 ms, 5 states\n…\n",
    ] {
        assert!(difference(stale, program).is_some(), "{stale}");
    }
    let shown = difference("net: 3 ops\n…\n  after  11,999 bytes\n…\n", program).unwrap();
    assert!(shown.contains("11,999") && shown.contains("12,000"), "{shown}");
}

#[test]
fn only_times_are_left_out() {
    assert_eq!(
        without_times("found in 72.0 ms, 2.1 s; 213.2 KB, 1.42x, 24 s of 3 states"),
        "found in …, …; 213.2 KB, 1.42x, 24 s of 3 states"
    );
    assert_eq!(without_times("1.5 salads in 0.33 s"), "1.5 salads in 0.33 s");
}

#[test]
fn a_document_is_made_anew_with_the_same_left_out() {
    let program = "net: 4 ops\n\n  before 13,000 bytes\n  after  11,000 bytes\n  found in 3.1 ms, 5 states\nmore\nfits with 7 to spare\n";
    for (old, new) in [
        ("net: 3 ops\n…\n  after  12,000 bytes\n…\n", "net: 4 ops\n…\n  after  11,000 bytes\n…\n"),
        ("…\nfits with 6 to spare\n", "…\nfits with 7 to spare\n"),
        ("…\n  found in …, 4 states\n…\n", "…\n  found in …, 5 states\n…\n"),
        ("net: 4 ops\n\n  before … bytes\n…\n", "net: 4 ops\n\n  before … bytes\n…\n"),
        (
            "net: 3 ops\n\n  after  12,000 bytes\n…\n",
            "net: 4 ops\n\n  before 13,000 bytes\n  after  11,000 bytes\n…\n",
        ),
    ] {
        assert_eq!(regenerated(old, program), new, "{old}");
        assert_eq!(difference(new, program), None, "{new}");
    }
    // Without anything left out, it is the output.
    assert_eq!(regenerated("", "a\nb 1.0 s\n"), "a\nb …\n");
}
