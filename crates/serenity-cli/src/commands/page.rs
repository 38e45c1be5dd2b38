//! The page of a model and its pictures, as files.

use crate::Failure;
use serenity::report::{Page, PageOptions, page};
use serenity::write::NewFile;
use serenity::{Input, Optimized, Options};
use std::path::Path;

/// Refuses targets that could not be written in the end, before the work. `others` are the files that the same run writes, each with its option.
pub(super) fn check_targets(
    report: Option<(&str, &str)>,
    svg: Option<&str>,
    input: &str,
    others: &[(&str, Option<&str>)],
) -> Result<(), Failure> {
    if let Some((option, path)) = report {
        let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !["html", "htm"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
            return Err(Failure::request(
                format!("`{path}`: a page is an HTML file"),
                "end the name in .html",
            ));
        }
        serenity::write::check_target(path)?;
        if serenity::write::is_same_file(input, path) {
            return Err(Failure::request(
                format!("`{path}` is the model itself, which would be lost"),
                "give another name",
            ));
        }
        for (other, target) in others {
            if target.is_some_and(|target| serenity::write::is_same_file(target, path)) {
                return Err(Failure::request(
                    format!("the page and what {other} asks for would both be written to `{path}`"),
                    format!("give {option} and {other} different names"),
                ));
            }
        }
    }
    svg.map_or(Ok(()), make_folder)
}

fn make_folder(path: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| {
        let reason = if Path::new(path).is_file() { "it is a file".to_owned() } else { error.to_string() };
        Failure::of(
            serenity::ErrorKind::Write,
            format!("cannot write into the folder `{path}`: {reason}"),
            "name another with --svg DIR",
        )
    })
}

/// Files that are ready to be written.
pub(super) struct PageFiles {
    /// Where, and what.
    files: Vec<(String, Vec<u8>)>,
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
            return Self { files: Vec::new() };
        }
        Self::of(&page(input, found, options, asked), report, svg)
    }

    /// The files of a page.
    pub(super) fn of(page: &Page, report: Option<&str>, svg: Option<&str>) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        files.extend(report.map(|path| (path.to_owned(), page.to_html().into_bytes())));
        if let Some(folder) = svg {
            let path = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
            files.extend(page.pictures().into_iter().map(|(name, text)| (path(name), text.into_bytes())));
        }
        Self { files }
    }

    /// To be written with whatever else there is.
    pub(super) fn files(&self) -> impl Iterator<Item = NewFile<'_>> {
        self.files.iter().map(|(path, bytes)| NewFile { path, bytes })
    }

    /// The names of the pictures.
    pub(super) fn pictures(&self) -> Vec<&str> {
        self.files.iter().map(|(path, _)| path.as_str()).filter(|path| path.ends_with(".svg")).collect()
    }
}
