//! Temporary files and folders, none of which is left behind by a process that is told to end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{NamedTempFile, TempDir};

/// Where they lie.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole at any time.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process at once, but without temporary files or programs that it started left behind, and with all or none
/// of the files in place that belong together. For whoever is told to stop while other threads go on.
pub fn exit_without_litter(code: i32) -> ! {
    // Held to the end: nobody starts a program any more, or makes or renames anything.
    let _ended = crate::child::end_all();
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // There may be nothing any more, and there is nobody to tell.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    std::process::exit(code)
}

/// While this lives, the process does not end.
pub fn hold_on() -> MutexGuard<'static, Vec<PathBuf>> {
    unfinished()
}

/// A temporary file or folder.
pub struct Temporary<T: AsRef<Path>> {
    path: PathBuf,
    thing: Option<T>,
}

impl<T: AsRef<Path>> Temporary<T> {
    /// Makes one, and knows it before anything can end the process.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(make: impl FnOnce() -> io::Result<T>) -> io::Result<Self> {
        // Nothing is made that is not known.
        let mut unfinished = unfinished();
        let thing = make()?;
        let path = thing.as_ref().to_owned();
        unfinished.push(path.clone());
        Ok(Self { path, thing: Some(thing) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Temporary<TempDir> {
    /// A folder where the system keeps temporary ones.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn folder() -> io::Result<Self> {
        Self::new(tempfile::tempdir)
    }
}

impl Temporary<NamedTempFile> {
    /// Writes its content.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &self.thing else { return Ok(()) };
        let mut file = file.as_file();
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Renames it, so that it is temporary no more.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn put_in_place(&mut self, path: &Path) -> io::Result<()> {
        match self.thing.take() {
            Some(file) => file.persist(path).map(|_| ()).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

impl<T: AsRef<Path>> Drop for Temporary<T> {
    fn drop(&mut self) {
        // First the thing, then what is known of it.
        drop(self.thing.take());
        unfinished().retain(|path| *path != self.path);
    }
}
