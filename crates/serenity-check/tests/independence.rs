//! The checker cannot reach what it checks, because it is not built with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the project that a crate is built with, its tests aside: all that its manifest
/// names below `dependencies`, whatever the spelling.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("every crate has a manifest");
    let mut found = BTreeSet::new();
    let mut counts = false;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or(line)) {
        if line.starts_with('[') {
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        }
        if counts {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            found.extend(words.filter(|word| word.starts_with("serenity")).map(str::to_owned));
        }
    }
    found
}

/// The checker depends on the graph and on facts, and these on nothing that plans. Whoever wants to
/// add a crate here must say in the crate's documentation why a check by it is worth something.
#[test]
fn the_checker_is_built_without_what_it_checks() {
    assert_eq!(dependencies("serenity-check"), ["serenity-facts", "serenity-ir"].map(str::to_owned).into());
    let mut reached = BTreeSet::new();
    let mut open = vec!["serenity-check".to_owned()];
    while let Some(name) = open.pop() {
        open.extend(dependencies(&name).into_iter().filter(|name| reached.insert(name.clone())));
    }
    // What the last has in common with searches are limits, proofs and names.
    let allowed = ["serenity-facts", "serenity-ir", "serenity-search"];
    assert_eq!(reached, allowed.map(str::to_owned).into());
}

/// Otherwise the test above would pass whatever happens.
#[test]
fn dependencies_are_found() {
    assert!(dependencies("serenity-runtimes").contains("serenity-arena"));
    assert!(!dependencies("serenity-check").contains("serenity-runtimes"));
}

/// The files of a folder and of those below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The crate of graphs also holds what the runtimes make of them: which buffers live how long. The
/// checker counts by itself.
#[test]
fn lifetimes_of_the_pipeline_are_not_used() {
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = fs::read_to_string(&path).expect("sources are text");
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let used = words.find(|word| ["Lifetimes", "Storage", "Profile", "HandOver"].contains(word));
        assert_eq!(used, None, "{}", path.display());
    }
}
