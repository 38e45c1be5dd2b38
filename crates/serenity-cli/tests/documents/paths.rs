//! Files, folders and commands that the documents name are there.

use crate::markdown::prose;
use std::collections::BTreeSet;
use std::path::Path;

/// Folders at the top of the repository: what begins with one of these is a path in it.
const FOLDERS: [&str; 7] = ["benchmarks/", "crates/", "docs/", "examples/", "fuzz/", "python/", "scripts/"];
/// What ends like this is a file of ours, wherever it lies; models, graphs and plans are the reader's.
const ENDINGS: [&str; 5] = [".rs", ".py", ".sh", ".toml", ".md"];
/// Folders of which nothing is in the repository.
const BUILT: [&str; 6] = ["target", "built", ".git", ".venv", ".venv-python", "node_modules"];

/// Every file and folder of the repository, as a path from its root.
pub(crate) fn repository() -> BTreeSet<String> {
    let root = crate::path("");
    let mut found = BTreeSet::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap_or_default();
            if BUILT.contains(&name.as_str()) || name.starts_with(".venv") {
                continue;
            }
            found.insert(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

/// Documents that speak of the repository as it is; the change log speaks of what it was.
pub(crate) fn documents(repository: &BTreeSet<String>) -> Vec<&String> {
    let is_document = |path: &&String| is_markdown(path) && !path.ends_with("CHANGELOG.md");
    repository.iter().filter(is_document).collect()
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

/// What a document names and the repository does not have.
pub(crate) fn faults(name: &str, text: &str, repository: &BTreeSet<String>) -> Vec<String> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let made: Vec<&str> =
        text.split("<!-- file: ").skip(1).filter_map(|rest| rest.split([' ', '=']).next()).collect();
    let mut faults = Vec::new();
    for (line, text) in prose(text) {
        for span in text.split('`').skip(1).step_by(2) {
            for word in
                span.split_whitespace().map(|word| word.trim_matches(['\'', '"', ',', ';', ':', '(', ')']))
            {
                if is_path(word) && !made.contains(&word) && !is_there(word, folder, repository) {
                    faults.push(format!("{name}:{line}: there is no `{word}` in the repository"));
                }
            }
            faults.extend(
                missing_target(span, repository).map(|what| format!("{name}:{line}: {what}, for `{span}`")),
            );
        }
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_file = !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
            if is_file && !repository.contains(&joined(folder, target)) {
                faults.push(format!("{name}:{line}: the link leads to `{target}`, which is not there"));
            }
        }
    }
    faults
}

fn is_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_ours = FOLDERS.iter().any(|folder| word.starts_with(folder))
        || ENDINGS.iter().any(|end| word.ends_with(end));
    is_ours && word.chars().all(is_plain) && !word.starts_with(['.', '/', '-']) && !is_placeholder(word)
}

/// Is a part of it for the reader to fill in, as in `crates/NAME/src`?
fn is_placeholder(word: &str) -> bool {
    let is_open = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
    !is_markdown(word) && word.split(['/', '.']).any(is_open)
}

/// From the root, from the folder of the document, or the end of some path: a file is often named within its crate.
fn is_there(word: &str, folder: &str, repository: &BTreeSet<String>) -> bool {
    let word = word.trim_end_matches('/');
    let end = format!("/{word}");
    repository.contains(word)
        || repository.contains(&joined(folder, word))
        || (!FOLDERS.iter().any(|folder| word.starts_with(folder))
            && repository.iter().any(|path| path.ends_with(&end)))
}

/// A path from the root, for one from a folder.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// What a command of cargo names that no manifest has.
fn missing_target(span: &str, repository: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = span.split_whitespace().collect();
    if !span.contains("cargo ") || span.contains("cargo install") {
        return None;
    }
    let after =
        |flag: &str| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1)).copied();
    let manifests = || repository.iter().filter(|path| path.ends_with("Cargo.toml"));
    let has = |line: &str| {
        manifests().any(|path| {
            std::fs::read_to_string(crate::path(path)).unwrap().lines().any(|found| found == line)
        })
    };
    if let Some(package) = after("-p").filter(|name| !has(&format!("name = \"{name}\""))) {
        return Some(format!("no package is called `{package}`"));
    }
    if let Some(bench) = after("--bench").filter(|name| !has(&format!("name = \"{name}\""))) {
        return Some(format!("no benchmark is called `{bench}`"));
    }
    let is_test = |name: &str| {
        let ends = [format!("/tests/{name}.rs"), format!("/tests/{name}/main.rs")];
        ends.iter().any(|end| repository.iter().any(|path| path.ends_with(end)))
    };
    after("--test").filter(|name| !is_test(name)).map(|test| format!("no test is called `{test}`"))
}

#[test]
fn every_file_that_a_document_names_is_there() {
    let repository = repository();
    let documents = documents(&repository);
    assert!(documents.len() >= 10, "{documents:?}");
    let faults: Vec<String> = documents
        .into_iter()
        .flat_map(|name| faults(name, &std::fs::read_to_string(crate::path(name)).unwrap(), &repository))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The negative control.
#[test]
fn a_file_that_is_gone_is_named() {
    let repository = repository();
    let of = |text: &str| faults("docs/GUIDE.md", text, &repository);
    for right in [
        "`crates/serenity-cli/tests/documents/paths.rs`, `paths.rs`, `documents/paths.rs`, `docs/` and `FORMATS.md`",
        "`net.json`, `out.tflite` and `path/to/model.onnx` are the reader's; so is `https://example.org/a.md`",
        "<!-- file: mine.py -->\n`mine.py`",
        "[formats](FORMATS.md#the-plan), [there](../README.md), [web](https://example.org)",
        "`cargo test -p serenity-cli --test documents -- --nocapture`, `cargo bench --bench emitted_time -p serenity-ml`",
        "```sh\ncat nowhere_at_all.rs\n```",
    ] {
        assert_eq!(of(right), Vec::<String>::new(), "{right}");
    }
    for (wrong, fault) in [
        (
            "`crates/serenity/src/nowhere_at_all.rs`",
            "docs/GUIDE.md:1: there is no `crates/serenity/src/nowhere_at_all.rs`",
        ),
        ("a\nb `nowhere_at_all.rs` c", "docs/GUIDE.md:2: there is no `nowhere_at_all.rs`"),
        ("`scripts/gone`", "there is no `scripts/gone`"),
        ("`python3 scripts/gone.py --all`", "there is no `scripts/gone.py`"),
        ("[gone](GONE.md)", "the link leads to `GONE.md`"),
        ("`cargo test -p serenity-gone`", "no package is called `serenity-gone`"),
        ("`cargo test -p serenity-cli --test gone`", "no test is called `gone`"),
        ("`cargo bench --bench gone -p serenity-ml`", "no benchmark is called `gone`"),
    ] {
        let found = of(wrong);
        assert!(found.len() == 1 && found[0].contains(fault), "{wrong}: {found:?}");
    }
}
