//! Tells apart the targets of a write: files, pipes, devices and open streams.

use std::ffi::OsString;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The target that a path names.
#[derive(PartialEq, Eq)]
pub(super) enum Target {
    Stream(Stream),
    /// A file that exists or will, with every link followed.
    File {
        folder: PathBuf,
        name: OsString,
    },
}

/// A target that is appended to.
#[derive(PartialEq, Eq)]
pub(super) enum Stream {
    /// Of this process. Its own messages go there too, so there must be only one writer.
    StandardOutput,
    #[cfg_attr(not(unix), expect(dead_code, reason = "elsewhere streams have no names"))]
    StandardError,
    /// A pipe, a device, or a file that another process has opened for us.
    Other(PathBuf),
}

/// The most links that are followed, as by operating systems.
const MOST_LINKS: usize = 40;

impl Target {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stream(Stream::StandardOutput));
        }
        if let Ok(found) = std::fs::metadata(path) {
            if found.is_dir() {
                return Err(io::Error::other("it is a directory"));
            }
            let is_opened = names_open_file(path);
            match Stream::standard(&found) {
                // A file would hold the result mixed with the messages, or only one of them.
                Some(stream) if found.is_file() && !is_opened => {
                    return Err(io::Error::other(format!("{} goes there already", stream.name())));
                }
                Some(stream) => return Ok(Self::Stream(stream)),
                None if is_opened || !found.is_file() => {
                    return Ok(Self::Stream(Stream::Other(path.to_owned())));
                }
                None => {}
            }
        }
        let led = followed(path)?;
        let name = led.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let folder = match led.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let missing = || {
            let link = if led == path {
                String::new()
            } else {
                format!("it is a link to `{}`, and ", led.display())
            };
            let message = format!("{link}there is no folder `{}`", folder.display());
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        let folder = std::fs::canonicalize(folder).ok().filter(|f| f.is_dir()).ok_or_else(missing)?;
        Ok(Self::File { folder, name: name.to_owned() })
    }
}

/// The target of a link, also if it does not exist yet: writing there keeps the link.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = std::fs::read_link(&path) else { return Ok(path) };
        path.pop();
        path.push(to);
    }
    Err(io::Error::other("it is a link that leads in a circle"))
}

/// Does the path name an open stream of a process rather than a file? Its content is not ours to replace.
fn names_open_file(path: &Path) -> bool {
    let path = path.to_string_lossy();
    matches!(path.as_ref(), "/dev/stdout" | "/dev/stderr")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && path.contains("/fd/")
}

impl Stream {
    /// The stream of this process that goes to the same file, pipe or device.
    #[cfg(unix)]
    fn standard(found: &Metadata) -> Option<Self> {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let is_same = |stream: &dyn AsFd| {
            let copy = stream.as_fd().try_clone_to_owned().map(std::fs::File::from);
            let stream = copy.and_then(|file| file.metadata());
            stream.is_ok_and(|stream| (stream.dev(), stream.ino()) == (found.dev(), found.ino()))
        };
        if is_same(&io::stdout()) {
            Some(Self::StandardOutput)
        } else if is_same(&io::stderr()) {
            Some(Self::StandardError)
        } else {
            None
        }
    }

    /// Elsewhere streams have no names.
    #[cfg(not(unix))]
    fn standard(_: &Metadata) -> Option<Self> {
        None
    }

    fn name(&self) -> &'static str {
        match self {
            Self::StandardOutput => "standard output",
            Self::StandardError => "standard error",
            Self::Other(_) => "something else",
        }
    }

    /// Appends to the target.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let write = |mut to: Box<dyn Write>| to.write_all(bytes).and_then(|()| to.flush());
        match self {
            Self::StandardOutput => match write(Box::new(io::stdout().lock())) {
                // A reader that closes the pipe has read enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                result => result,
            },
            Self::StandardError => write(Box::new(io::stderr().lock())),
            Self::Other(path) => write(Box::new(OpenOptions::new().append(true).open(path)?)),
        }
    }
}
