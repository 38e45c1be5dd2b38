//! Models that keep their constants in files beside them.

use crate::{Error, Input, Source};
use std::path::Path;

/// Would the model find its constants if it were written to `target`? `.onnx` models may keep them in other files, named relative to their own
/// folder; those are neither read nor copied.
///
/// # Errors
/// If one of them is not there.
pub fn check_side_files(input: &Input, target: &str) -> Result<(), Error> {
    let Source::Onnx(model) = &input.source else { return Ok(()) };
    let folder = Path::new(target).parent().unwrap_or(Path::new(""));
    match model.side_files().iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(Error::SideFile { path: target.to_owned(), file: file.clone() }),
        None => Ok(()),
    }
}
