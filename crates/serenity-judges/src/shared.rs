//! Data that is not part of the project: real models, graphs with known optima, inputs that broke us once.

use crate::{Need, skip};
use std::path::{Path, PathBuf};

/// A folder or a file of the collection (`SERENITY_SHARED`, or `shared` beside the project); `None`, and [`skip`], if
/// it is not here.
///
/// # Panics
/// If `SERENITY_REQUIRE` names `collection` and it is not here.
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = std::env::var_os("SERENITY_SHARED").map_or_else(beside, PathBuf::from).join(path);
    if !found.exists() {
        skip(Need::Collection, format!("there is no `{path}` in the collection that SERENITY_SHARED names"));
        return None;
    }
    Some(found)
}

/// The files of such a folder with this extension, by name; none if the folder is not here.
///
/// # Panics
/// If the folder cannot be read.
pub fn shared_files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let Some(folder) = shared(folder) else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).expect("a folder can be listed");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}
