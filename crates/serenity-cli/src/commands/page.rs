//! The page of a model and its pictures, as files.

use crate::Failure;
use crate::failure::refuse;
use crate::outputs::make_folder;
use serenity::write::NewFile;
use serenity::{Input, Optimized, Options};
use serenity_page::{Page, PageOptions, page};
use std::path::Path;

/// Refuses targets that could not be written in the end, before the work. `others` are the files that the same run
/// writes, each with its option.
pub(super) fn check_targets(
    report: Option<(&str, &str)>,
    svg: Option<&str>,
    input: &str,
    others: &[(&str, Option<&str>)],
) -> Result<(), Failure> {
    if let Some((option, path)) = report {
        let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !["html", "htm"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
            return refuse(format!("`{path}`: a page is an HTML file"), "end the name in .html");
        }
        serenity::write::check_target(path)?;
        if serenity::write::is_read_from(input, path) {
            return refuse(format!("`{path}` is the model itself, which would be lost"), "give another name");
        }
        for (other, target) in others {
            if target.is_some_and(|target| serenity::write::is_same_file(target, path)) {
                return refuse(
                    format!("the page and what {other} asks for would both be written to `{path}`"),
                    format!("give {option} and {other} different names"),
                );
            }
        }
    }
    svg.map_or(Ok(()), |folder| make_folder(folder, "--svg"))
}

/// Files that are ready to be written.
#[derive(Default)]
pub(super) struct PageFiles {
    page: Option<File>,
    pictures: Vec<File>,
}

/// Where, and what.
struct File {
    path: String,
    text: String,
}

impl PageFiles {
    /// Draws what was asked for; nothing if nothing was.
    pub(super) fn new(
        report: Option<&str>,
        svg: Option<&str>,
        input: &Input,
        found: &Optimized,
        options: &Options,
        asked: &PageOptions,
    ) -> Self {
        if report.is_none() && svg.is_none() {
            return Self::default();
        }
        Self::of(&page(input, found, options, asked), report, svg)
    }

    /// The files of a page.
    pub(super) fn of(page: &Page, report: Option<&str>, svg: Option<&str>) -> Self {
        let path = |folder: &str, name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
        let pictures = svg.map(|folder| {
            page.pictures().into_iter().map(move |(name, text)| File { path: path(folder, name), text })
        });
        Self {
            page: report.map(|path| File { path: path.to_owned(), text: page.to_html() }),
            pictures: pictures.into_iter().flatten().collect(),
        }
    }

    /// To be written with whatever else there is.
    pub(super) fn files(&self) -> impl Iterator<Item = NewFile<'_>> {
        self.page
            .iter()
            .chain(&self.pictures)
            .map(|File { path, text }| NewFile { path, bytes: text.as_bytes() })
    }

    /// The size of the page.
    pub(super) fn page_bytes(&self) -> usize {
        self.page.as_ref().map_or(0, |page| page.text.len())
    }

    /// The names of the pictures.
    pub(super) fn pictures(&self) -> Vec<&str> {
        self.pictures.iter().map(|picture| picture.path.as_str()).collect()
    }
}
