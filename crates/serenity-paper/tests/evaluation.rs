//! A reduced evaluation: complete, and with the figures that do not depend on what was drawn. That the whole one gives
//! the same bytes every time is shown by `scripts/test`, which compares it with `docs/paper`.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serenity_paper::{Evaluation, Options, evaluate};
use std::sync::LazyLock;

static EVALUATION: LazyLock<Evaluation> = LazyLock::new(|| {
    evaluate(&Options { seeds: 3, orders: 500, threads: 2, runtimes: false }, &|_| {}).unwrap()
});

fn file(name: &str) -> &'static str {
    &EVALUATION.files.iter().find(|file| file.name == name).unwrap().text
}

#[test]
fn every_table_and_figure_is_on_a_page_and_has_its_file() {
    let pages = [file("README.md"), file("times.md")].concat();
    for stem in [
        "peak-memory",
        "peak-reduction",
        "gains",
        "traffic-256-kib",
        "traffic-by-size",
        "traffic-sweep",
        "states-over-budget",
        "memory-over-time-arena",
        "memory-over-time-live",
        "random-orders",
        "randwire-seeds",
        "times-cells",
    ] {
        assert!(pages.contains(&format!("]({stem}.svg)")), "{stem}");
        assert!(file(&format!("{stem}.svg")).ends_with("</svg>\n"), "{stem}");
    }
    let links = pages.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    // What people wrote about the evaluation stands beside it.
    let is_written = |link: &str| link.starts_with('#') || link == "SECTIONS.md" || link == "ERRATA.md";
    for (link, _) in links.filter(|(link, _)| !is_written(link)) {
        assert!(EVALUATION.files.iter().any(|file| file.name == link), "{link} is linked and missing");
    }
    let mut names: Vec<&str> = EVALUATION.files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), EVALUATION.files.len(), "no name twice");
}

#[test]
fn every_row_says_whose_network_it_is() {
    let tables = EVALUATION
        .files
        .iter()
        .filter(|file| file.name.rsplit_once('.').is_some_and(|(_, kind)| kind == "csv"));
    for table in tables {
        for line in table.text.lines().skip(1) {
            let says = ["published", "reconstruction", "computed"].iter().any(|word| line.contains(word));
            assert!(says, "{}: {line}", table.name);
        }
    }
}

#[test]
fn rows_about_networks_that_are_not_public_say_so() {
    for line in file("peak-memory.csv").lines().skip(1) {
        let is_public = line.starts_with("\"DARTS");
        assert_eq!(is_public, !line.contains("reconstruction"), "{line}");
    }
}

#[test]
fn the_definitions_give_the_papers_figures() {
    let peaks = file("peak-memory.csv");
    for row in [
        "\"DARTS ImageNet, normal cell\",published,1655.8,1656 †,903.2,903 †,752.6,753 †",
        "SwiftNet A,\"reconstruction, wiring `fitted`\",551.9,551.0,",
        "SwiftNet B,reconstruction,194.4,194 †,81.5,82 †,",
    ] {
        assert!(peaks.contains(row), "{row} is not in\n{peaks}");
    }
    let sums = file("live-sum.csv");
    for row in [
        "SwiftNet A,\"reconstruction, wiring `fitted`\",200.7,200.7,188.2,188.2",
        "SwiftNet B,reconstruction,75.3,not given,62.7,",
        "SwiftNet C,reconstruction,27.4,not given,18.0,",
    ] {
        assert!(sums.contains(row), "{row} is not in\n{sums}");
    }
    let orders = file("random-orders.csv");
    assert!(orders.contains("\"2,494,080\",5.3 %,0.052 %"), "{orders}");
}
