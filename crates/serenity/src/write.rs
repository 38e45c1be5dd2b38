//! Writes files completely or not at all.

mod target;

pub use serenity_programs::exit_without_litter;

use crate::{Error, Input};
use serenity_programs::{Temporary, hold_on};
use std::io;
use std::path::{Path, PathBuf};
use target::{Stream, Target};
use tempfile::NamedTempFile;

/// A file to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewFile<'a> {
    /// The path to write to.
    pub path: &'a str,
    /// The content.
    pub bytes: &'a [u8],
}

/// Writes `bytes` to a temporary file beside `path` and renames it, so that the old content stays until the new one is
/// complete. If `path` is a link, its target is written. What is no ordinary file (a pipe, a device, `-` for standard
/// output, `/dev/stdout` wherever that goes) is appended to directly.
///
/// # Errors
/// If the folder does not exist or cannot be written; `path` is then untouched.
pub fn write_atomically(path: &str, bytes: &[u8]) -> Result<(), Error> {
    write_together(&[NewFile { path, bytes }])
}

/// Writes files that belong together, each like [`write_atomically`]: none is renamed before all are complete.
///
/// # Errors
/// If one of them cannot be written; then none is changed.
pub fn write_together(files: &[NewFile]) -> Result<(), Error> {
    let mut staged: Vec<Staged> = files
        .iter()
        .map(|file| Staged::new(file).map_err(|source| write_error(file.path, source)))
        .collect::<Result<_, _>>()?;
    for (staged, file) in staged.iter().zip(files) {
        staged.write_to_stream().map_err(|source| write_error(file.path, source))?;
    }
    // Hardly anything can fail now: each file is complete and in its folder, under another name.
    let _undivided = hold_on();
    for (staged, file) in staged.iter_mut().zip(files) {
        staged.put_in_place().map_err(|source| write_error(file.path, source))?;
    }
    Ok(())
}

/// Could `path` be written, as far as one can tell without doing so? To be asked before a long computation.
///
/// # Errors
/// If it is a directory, if its folder does not exist, or if standard output or standard error goes to that file.
pub fn check_target(path: &str) -> Result<(), Error> {
    Target::of(Path::new(path)).map(|_| ()).map_err(|source| write_error(path, source))
}

/// Do these two paths name the same file, whether it exists or not?
pub fn is_same_file(a: &str, b: &str) -> bool {
    match (Target::of(Path::new(a)), Target::of(Path::new(b))) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Would writing to `target` replace the input? Never for `-`.
pub fn is_read_from(input: &str, target: &str) -> bool {
    input != "-" && is_same_file(input, target)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

fn write_error(path: &str, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

/// A file that is complete and only needs to be renamed.
enum Staged<'a> {
    Stream(Stream, &'a [u8]),
    File(Temporary<NamedTempFile>, PathBuf),
}

impl<'a> Staged<'a> {
    fn new(file: &NewFile<'a>) -> io::Result<Self> {
        let (folder, name) = match Target::of(Path::new(file.path))? {
            Target::Stream(stream) => return Ok(Self::Stream(stream, file.bytes)),
            Target::File { folder, name } => (folder, name),
        };
        let path = folder.join(name);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".serenity-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).map_or(0o666, |m| m.permissions().mode() & 0o777);
            builder.permissions(std::fs::Permissions::from_mode(mode));
        }
        let temporary = Temporary::new(|| builder.tempfile_in(&folder))?;
        temporary.fill(file.bytes)?;
        Ok(Self::File(temporary, path))
    }

    fn write_to_stream(&self) -> io::Result<()> {
        match self {
            Self::Stream(stream, bytes) => stream.write(bytes),
            Self::File(..) => Ok(()),
        }
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(..) => Ok(()),
            Self::File(temporary, path) => temporary.put_in_place(path),
        }
    }
}

/// Would the model find its constants if it were written to `target`? `.onnx` models may keep them in other files,
/// named relative to their own folder; those are neither read nor copied.
///
/// # Errors
/// If one of these files is not there.
pub fn check_side_files(input: &Input, target: &str) -> Result<(), Error> {
    let folder = Path::new(target).parent().unwrap_or(Path::new(""));
    match input.file.side_files().iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(Error::SideFile { path: target.to_owned(), file: file.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("plan.json");
        let target = target.to_str().unwrap();
        write_atomically(target, b"one").unwrap();
        write_atomically(target, b"two").unwrap();
        assert_eq!(std::fs::read(target).unwrap(), b"two");
        let missing = folder.path().join("no/such/folder.json");
        assert!(write_atomically(missing.to_str().unwrap(), b"x").is_err());
        assert!(write_atomically(folder.path().to_str().unwrap(), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_two_files_both_are_written_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let write = |second: &str| {
            let (first, second) = (path("one.json"), path(second));
            write_together(&[NewFile { path: &first, bytes: b"1" }, NewFile { path: &second, bytes: b"2" }])
        };
        assert!(write("no/such/folder.json").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        write("two.json").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_may_have_several_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        assert!(is_same_file(&path("a.json"), &path("./a.json")));
        assert!(!is_same_file(&path("a.json"), &path("b.json")));
        assert!(check_target(&path("a.json")).is_ok() && check_target(&path("x/a.json")).is_err());
    }
}
