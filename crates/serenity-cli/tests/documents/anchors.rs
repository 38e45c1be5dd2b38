//! Links lead to headings that exist, and the contents of a guide name all of its headings.

use crate::markdown::prose;
use std::collections::{BTreeMap, BTreeSet};

/// Documents that begin with the list of all their headings.
const WITH_CONTENTS: [&str; 6] = [
    "docs/LIBRARY.md",
    "docs/MICROCONTROLLERS.md",
    "docs/ONNX-RUNTIME.md",
    "docs/REFERENCE.md",
    "docs/RESEARCH.md",
    "docs/RESULTS.md",
];

/// The headings below the title, as (level, words).
fn headings(text: &str) -> Vec<(usize, String)> {
    let heading = |line: &str| {
        let level = line.chars().take_while(|&c| c == '#').count();
        let words = line[level..].strip_prefix(' ')?;
        (level > 1).then(|| (level, words.to_owned()))
    };
    prose(text).iter().filter_map(|(_, line)| heading(line)).collect()
}

/// The name that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, words) in headings(text) {
        let name = anchor(&words);
        let count = seen.entry(name.clone()).or_default();
        found.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }
    found
}

/// Links of a document with an anchor: the line, the file (empty for the same), the anchor.
fn links(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if let Some((file, anchor)) = target.split_once('#').filter(|_| !target.contains("://")) {
                found.push((line, file.to_owned(), anchor.to_owned()));
            }
        }
    }
    found
}

fn faults(name: &str, text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut faults = Vec::new();
    for (line, file, anchor) in links(text) {
        let target = if file.is_empty() { name.to_owned() } else { crate::paths::joined(folder, &file) };
        let Some(there) = read(&target) else { continue };
        if !anchors(&there).contains(&anchor) {
            faults.push(format!("{name}:{line}: {target} has no heading `#{anchor}`"));
        }
    }
    faults
}

/// The list of all headings, as a document with contents has it.
fn contents(text: &str) -> String {
    let entry = |(level, words): &(usize, String)| {
        format!("{}- [{words}](#{})\n", "  ".repeat(level - 2), anchor(words))
    };
    headings(text).iter().map(entry).collect()
}

#[test]
fn every_anchor_that_a_document_links_to_is_there() {
    let repository = crate::paths::repository();
    let read = |name: &str| std::fs::read_to_string(crate::path(name)).ok();
    let found: Vec<String> = crate::paths::documents(&repository)
        .into_iter()
        .flat_map(|name| faults(name, &read(name).unwrap(), read))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn contents_are_complete() {
    let index = std::fs::read_to_string(crate::path("docs/GUIDE.md")).unwrap();
    for name in WITH_CONTENTS {
        let text = std::fs::read_to_string(crate::path(name)).unwrap();
        let wanted = contents(&text);
        assert!(text.contains(&format!("\n\n{wanted}\n")), "{name} should have these contents:\n{wanted}");
        let file = name.trim_start_matches("docs/");
        for (level, words) in headings(&text) {
            let entry = format!("- [{words}]({file}#{})\n", anchor(&words));
            assert!(level > 2 || index.contains(&entry), "docs/GUIDE.md should have: {entry}");
        }
    }
}

/// The negative control.
#[test]
fn a_heading_that_is_gone_is_named() {
    let text = "# A\n\n## What's `--json`, there?\n\n```sh\n## no heading\n```\n\n[a](#whats---json-there), [b](#gone), [c](B.md#b), [d](B.md#a)\n";
    let read =
        |name: &str| Some(if name == "docs/B.md" { "# A\n## B\n".to_owned() } else { text.to_owned() });
    let found = faults("docs/A.md", text, read);
    assert_eq!(
        found,
        ["docs/A.md:9: docs/A.md has no heading `#gone`", "docs/A.md:9: docs/B.md has no heading `#a`"]
    );
}
