//! Sections become files.

use serenity_report::Table;
use std::fmt::Write;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the folder.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl File {
    fn new(name: impl Into<String>, text: String) -> Self {
        Self { name: name.into(), text }
    }
}

/// A figure of the paper's text that was recomputed.
pub(crate) struct Headline {
    pub(crate) what: &'static str,
    pub(crate) here: String,
    pub(crate) paper: String,
    /// Is the network the paper's, or a reconstruction?
    pub(crate) network: &'static str,
}

/// A piece of a section.
pub(crate) enum Part {
    /// A paragraph.
    Text(String),
    /// A table, and the name of its file without an ending.
    Table(&'static str, Table),
    /// A table that is too long to be shown: only its file.
    Data(&'static str, Table),
    /// A picture, the name of its file without an ending, and what it shows.
    Figure(&'static str, &'static str, String),
}

impl Part {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A table or a figure of the paper with what belongs to it.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) headlines: Vec<Headline>,
    pub(crate) parts: Vec<Part>,
}

const INTRODUCTION: &str = "\
# The paper's evaluation, recomputed

Every table and figure of the evaluation in \"Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices\"
(Ahn et al., MLSys 2020), computed from the built-in networks by `serenity paper`. The paper's value stands beside ours. Run the command again,
and all files here come out the same to the byte; what a clock measured is in [times.md](times.md) and `times-*`. KB are 1000 bytes.

[SECTIONS.md](SECTIONS.md) goes through the paper section by section, [ERRATA.md](ERRATA.md) says what does not add up in it.

`reconstruction` says that the paper's own network is not public: for SwiftNet the wiring is not, and ours was found by search so that it has the
paper's node counts and peaks (of cell A, [several wirings](#swiftnet-a-and-how-far-it-is-known) were found; this page uses `fitted`, the command line `first` unless told otherwise); for
RandWire the seeds are not, and ours are medians over many seeds, with the range in which 90 % of them lie.

**†** marks figures of the paper that are not in its text, which is all that we have of it: peaks of cells are its figure 15 as remembered, times of cells its figure 13. What the text says about
them agrees (the means 1.68 and 1.86, 40.6 s and 48.8 s; the sums 37.9 s and 111.9 s). All other figures in columns called `paper` are in the text.

All peaks called best are proved optimal. The paper does not spell out what counts as memory. These definitions were fitted to its figures, so that
those agree shows what was meant, not that it is right:

- **TensorFlow Lite's side**: Kahn's order (first in, first out); a concatenation copies; graph inputs stay to the end; tensors lie in the
  *simple memory arena* of 2019 (in execution order, the smallest gap that fits, else on top; 64-byte alignment).
- **The scheduled side**: an order of least live sum; a concatenation is a view of its pieces; inputs go after their last reader. *With the
  allocator* means the same old arena, *without* the sum of live tensors.
- **Rewriting**: partial convolutions accumulate in place into one result; partial depthwise convolutions feed a view.

So the paper's factor compares two different ways to count. [The gains apart](#the-gains-apart) takes it to pieces.
";

/// The figures of the paper's text beside ours.
pub(crate) fn at_a_glance(sections: &[Section]) -> Table {
    let mut headlines = Table::titled("the paper says | #paper | #here | network");
    for headline in sections.iter().flat_map(|section| &section.headlines) {
        headlines.push([headline.what, &headline.paper, &headline.here, headline.network]);
    }
    headlines
}

/// All that is the same on every run.
pub(crate) fn evaluation(sections: &[Section]) -> Vec<File> {
    let mut page = INTRODUCTION.to_owned();
    let headlines = at_a_glance(sections);
    let _ = write!(page, "\n## At a glance\n{}", headlines.to_markdown());
    let mut files = vec![File::new("at-a-glance.csv", headlines.to_csv())];
    for section in sections {
        add(&mut page, &mut files, section);
    }
    files.insert(0, File::new("README.md", page));
    files
}

/// All that was measured with a clock.
pub(crate) fn times(section: &Section) -> Vec<File> {
    let mut page = "# Scheduling times\n\nMeasured on the machine that made this page; everything else is in [README.md](README.md).\n".to_owned();
    let mut files = Vec::new();
    add(&mut page, &mut files, section);
    files.insert(0, File::new("times.md", page));
    files
}

fn add(page: &mut String, files: &mut Vec<File>, section: &Section) {
    let _ = write!(page, "\n## {}\n", section.title);
    for (index, part) in section.parts.iter().enumerate() {
        if index > 0 && !matches!(part, Part::Data(..)) {
            page.push('\n');
        }
        match part {
            Part::Data(name, table) => files.push(File::new(format!("{name}.csv"), table.to_csv())),
            Part::Text(text) => {
                page.push_str(text.trim_end());
                page.push('\n');
            }
            Part::Table(name, table) => {
                page.push_str(&table.to_markdown());
                files.push(File::new(format!("{name}.csv"), table.to_csv()));
            }
            Part::Figure(name, shows, svg) => {
                let _ = writeln!(page, "![{shows}]({name}.svg)");
                files.push(File::new(format!("{name}.svg"), svg.clone()));
            }
        }
    }
}

/// KB with a digit behind the point.
pub(crate) fn kb(value: f64) -> String {
    format!("{value:.1}")
}

/// A factor.
pub(crate) fn times_less(value: f64) -> String {
    format!("{value:.2}")
}

/// A share as a percentage, with two digits that mean something.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = if percent >= 1.0 {
        1
    } else if percent >= 0.1 {
        2
    } else {
        3
    };
    format!("{percent:.decimals$} %")
}
