//! A limit on what a file may make us allocate.
//!
//! Flatbuffers may use one part many times: a small file can name one long vector from thousands of tables, and reading
//! them all would take its size squared. Real writers hardly share anything, so what is read is counted, and a file
//! that goes far beyond its own length is refused.

use crate::Error;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    /// For a file of so many bytes.
    pub(crate) fn for_file(length: usize) -> Self {
        let limit = (length as u64).saturating_mul(32).saturating_add(1 << 20);
        Self { limit, left: limit }
    }

    /// Takes about so many bytes.
    pub(crate) fn take(&mut self, bytes: usize, place: impl FnOnce() -> String) -> Result<(), Error> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::Repetitive { place: place(), limit: self.limit }),
        }
    }
}
