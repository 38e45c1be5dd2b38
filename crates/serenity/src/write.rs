//! Files are written whole or not at all.

use crate::Error;
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to a temporary file beside `path` and renames it, so that whatever stood there before stays until the new
/// content is complete. Something that is not an ordinary file (a pipe, a device) is written to directly.
///
/// # Errors
/// If the folder does not exist or cannot be written; `path` is then untouched.
pub fn write_atomically(path: &str, bytes: &[u8]) -> Result<(), Error> {
    write(Path::new(path), bytes).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(target) if target.is_dir() => return Err(io::Error::other("it is a directory")),
        Ok(target) if !target.is_file() => return std::fs::write(path, bytes),
        _ => {}
    }
    // Through a symbolic link to the file it points to, so that the link survives.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no folder `{}`", folder.display()),
        ));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".serenity-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).map_or(0o666, |m| m.permissions().mode() & 0o777);
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
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
}
