//! Every command in README.md and docs/GUIDE.md is run, and does what the document says it does; every file that a document names is there.
//!
//! `SERENITY_BLESS=1 cargo test -p serenity-cli --test documents` writes the documents anew, with the same left out as before; look at the
//! difference before you commit it. How documents are marked up is told in CONTRIBUTING.md.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compare;
mod markdown;
mod paths;
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

#[allow(clippy::print_stderr, reason = "whoever writes files says so")]
fn check(name: &'static str, at_least: usize) {
    let document = std::fs::read_to_string(path(name)).unwrap();
    let mut session = Session::new(name);
    let anew = run(&mut session, &document);
    // Whatever is skipped counts: without the collection of models little is run.
    let claims = markdown::claims(&document);
    assert!(claims >= at_least, "only {claims} commands and rows were found in {name}");
    if std::env::var_os("SERENITY_BLESS").is_some_and(|value| !value.is_empty()) && anew != document {
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
    check("README.md", 5);
}

#[test]
fn what_is_said_about_the_paper_is_true() {
    check("docs/paper/FIGURES.md", 0);
    check("docs/paper/ERRATA.md", 6);
    check("docs/paper/SECTIONS.md", 20);
}

/// The drawings of the paper's figures 1 and 3a are those that the command draws.
#[test]
fn the_drawings_of_the_paper_are_true() {
    let drawn = tempfile::tempdir().unwrap();
    for (figure, network) in [
        ("1a", "zoo:randwire-cifar10?stage=1"),
        ("1b", "zoo:swiftnet?wiring=fitted"),
        ("3a", "zoo:swiftnet-a?wiring=fitted"),
    ] {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_serenity"))
            .args(["optimize", network, "--no-rewrite", "--quiet", "--svg", drawn.path().to_str().unwrap()])
            .status();
        assert!(run.unwrap().success());
        let (ours, shown) =
            (drawn.path().join("network-before.svg"), path(&format!("docs/paper/figure-{figure}.svg")));
        if std::env::var_os("SERENITY_BLESS").is_some_and(|value| !value.is_empty()) {
            std::fs::copy(&ours, &shown).unwrap();
        }
        let is_same = std::fs::read(ours).unwrap() == std::fs::read(shown).unwrap();
        assert!(
            is_same,
            "docs/paper/figure-{figure}.svg is not what `serenity optimize --svg` draws of {network}"
        );
    }
}

/// The pictures of README and guide are those that the command draws.
#[test]
fn the_pictures_are_true() {
    let model = session::collection().join("mobilenet_v2_035_96_int8.tflite");
    if !model.exists() {
        serenity_judges::skip(
            serenity_judges::Need::Collection,
            "the pictures of the documents show a model of it",
        );
        return;
    }
    let drawn = tempfile::tempdir().unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_serenity"))
        .args([
            "optimize",
            model.to_str().unwrap(),
            "--loops",
            "--quiet",
            "--svg",
            drawn.path().to_str().unwrap(),
        ])
        .status();
    assert!(run.unwrap().success());
    for (drawing, picture) in [("memory", "mobilenet"), ("arena", "mobilenet-arena")] {
        for side in ["before", "after"] {
            let shown = format!("docs/pictures/{picture}-{side}.svg");
            let ours = std::fs::read(drawn.path().join(format!("{drawing}-{side}.svg"))).unwrap();
            let is_same = ours == std::fs::read(path(&shown)).unwrap();
            assert!(is_same, "{shown} is not what `serenity optimize --loops --svg` draws");
        }
    }
}

#[test]
fn the_guide_is_true() {
    check("docs/GUIDE.md", 40);
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
