//! Standard output, which a reader may close before everything is said.

use std::io::{self, ErrorKind, Write};

/// Passes on what is written until nobody reads it any more, and drops the rest.
///
/// Whoever closes a pipe (`| head -1`) has read enough, but has not made a failure a success: the command goes on,
/// silently, and ends with the exit code that it would have had.
pub(crate) struct WhileRead<W> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> WhileRead<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, is_closed: false }
    }

    /// What came of writing, unless that nobody reads it.
    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(instead)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.unless_closed(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.unless_closed(result, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then fails.
    struct Narrow(usize, ErrorKind);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(self.1.into()),
                taken => {
                    self.0 -= taken;
                    Ok(taken)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
        let mut out = WhileRead::new(Narrow(3, ErrorKind::BrokenPipe));
        assert!(out.write_all(b"more than that").is_ok() && out.is_closed);
        assert!(out.write_all(b"and more").is_ok() && out.flush().is_ok());
        let mut out = WhileRead::new(Narrow(3, ErrorKind::StorageFull));
        assert!(out.write_all(b"more than that").is_err());
    }
}
