//! Every command in README.md and the guides is run, and does what the document says it does; every file and heading that a
//! document links to is there.
//!
//! `SERENITY_BLESS=1 cargo test -p serenity-cli --test documents` writes the documents anew, with the same left out as
//! before; look at the difference before you commit it. How documents are marked up is told in CONTRIBUTING.md.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod anchors;
mod compare;
mod markdown;
mod paths;
mod pictures;
mod session;
mod tables;

use session::Session;
use std::ops::Range;
use std::path::{Path, PathBuf};

fn path(document: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document)
}

/// Runs all of a document; what differs, and the document as it should be.
fn run(session: &mut Session, document: &str) -> String {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for block in markdown::blocks(document) {
        changes.push((block.range.clone(), session.block(&block)));
    }
    for table in markdown::tables(document) {
        changes.push((table.range.clone(), tables::rows(session, &table)));
    }
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut anew = document.to_owned();
    for (range, text) in changes {
        anew.replace_range(range, &text);
    }
    anew
}

/// Is the document to be written anew?
fn is_blessing() -> bool {
    std::env::var_os("SERENITY_BLESS").is_some_and(|value| !value.is_empty())
}

#[allow(clippy::print_stderr, reason = "whoever writes files says so")]
fn check(name: &'static str, at_least: usize) {
    let document = std::fs::read_to_string(path(name)).unwrap();
    let mut session = Session::new(name);
    let anew = run(&mut session, &document);
    // Whatever is skipped counts: without the collection of models little is run.
    let claims = markdown::claims(&document);
    assert!(claims >= at_least, "only {claims} commands and rows were found in {name}");
    if is_blessing() && anew != document {
        std::fs::write(path(name), anew).unwrap();
        eprintln!("{name} is written anew");
        session.stale.clear();
    }
    assert!(session.faults.is_empty(), "{}", session.faults.join("\n\n"));
    assert!(
        session.stale.is_empty(),
        "{}\n\nIf the program is right: SERENITY_BLESS=1 cargo test -p serenity-cli --test documents",
        session.stale.join("\n\n")
    );
}

#[test]
fn the_readme_is_true() {
    check("README.md", 1);
}

#[test]
fn what_is_said_about_the_paper_is_true() {
    check("docs/paper/FIGURES.md", 0);
    check("docs/paper/ERRATA.md", 6);
    check("docs/paper/SECTIONS.md", 20);
}

#[test]
fn the_guide_for_microcontrollers_is_true() {
    check("docs/MICROCONTROLLERS.md", 30);
}

#[test]
fn the_guide_for_onnx_runtime_is_true() {
    check("docs/ONNX-RUNTIME.md", 5);
}

#[test]
fn the_guide_for_research_is_true() {
    check("docs/RESEARCH.md", 12);
}

#[test]
fn the_guide_for_libraries_is_true() {
    check("docs/LIBRARY.md", 15);
}

#[test]
fn the_reference_is_true() {
    check("docs/REFERENCE.md", 10);
}

#[test]
fn the_results_are_true() {
    check("docs/RESULTS.md", 50);
}

#[test]
fn the_terminal_shows_what_it_should() {
    check("crates/serenity-cli/tests/documents/terminal.md", 40);
}

/// The negative control: whatever is wrong with a document is found.
#[test]
fn a_wrong_document_is_refused() {
    for (document, fault) in [
        (
            "```console\n$ serenity zoo export swiftnet-b -o b.json\nswiftnet-b: 20 ops written to `b.json`\n```\n",
            "+ swiftnet-b: 19 ops",
        ),
        (
            "```console\n$ serenity zoo export swiftnet-b -o b.json\n```\n",
            "does not say what the document says",
        ),
        (
            "```console\n$ serenity check plan.json zoo:swiftnet-b\n…\n```\n",
            "exits with 2: let `$ echo $?` follow",
        ),
        ("```console\nserenity zoo list\n```\n", "no command in a block of commands"),
        ("```sh\nserenity optimize zoo:nothing\n```\n", "exits with 2"),
        ("```text\n$ serenity zoo list\n```\n", "escapes the tests"),
        ("```shell-session\n$ serenity zoo list\n```\n", "escapes the tests"),
        ("```bash\nserenity zoo list\n```\n", "escapes the tests"),
        ("```\nswiftnet: 62 ops\n```\n", "escapes the tests"),
    ] {
        let mut session = Session::new("control");
        run(&mut session, document);
        session.faults.append(&mut session.stale);
        assert!(
            session.faults.len() == 1 && session.faults[0].contains(fault),
            "{document}{:?}",
            session.faults
        );
    }
    let mut session = Session::new("control");
    let stale = "<!-- not run: it takes a day -->\n```text\n$ serenity zoo list\n```\n\n```console\n$ serenity zoo export swiftnet-b -o b.json\nswiftnet-b: 20 ops written to `b.json`\n$ serenity inspect b.json | head -1\nb: …\n```\n";
    let anew = run(&mut session, stale);
    let right =
        stale.replace("20 ops", "19 ops").replace("b: …", "b.json: 19 ops, 20 tensors, memory model `plain`");
    assert_eq!((session.stale.len(), anew), (2, right.clone()), "{:?}", session.stale);
    let mut session = Session::new("control");
    let again = run(&mut session, &right);
    assert_eq!((again, session.stale, session.faults), (right, Vec::new(), Vec::<String>::new()));
}
