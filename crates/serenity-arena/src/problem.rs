//! A checked problem: what every planner starts from.

use crate::Buffer;

/// Sizes and offsets, added up, stay below this, so that no planner needs to think of overflow.
const MOST_BYTES: u64 = 1 << 60;

/// Buffers to be placed, and the rules that hold for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    buffers: Vec<Buffer>,
    alignment: u64,
}

/// Why buffers cannot be placed at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// An alignment of 0.
    #[error("the alignment is 0; give 1 if any offset will do")]
    NoAlignment,
    /// A buffer with an alignment of 0.
    #[error("the alignment of buffer {buffer} is 0; give 1 if any offset will do")]
    NoBufferAlignment {
        /// Which.
        buffer: usize,
    },
    /// A lifetime that ends before it begins.
    #[error(
        "buffer {buffer} is last used at step {last}, before its first use at step {first}; swap the two"
    )]
    EndsBeforeItBegins {
        /// Which.
        buffer: usize,
        /// Its first step.
        first: i64,
        /// Its last step.
        last: i64,
    },
    /// Sizes nobody has.
    #[error("buffer {buffer} brings the sizes to more than 2^60 bytes; check its size, offset and alignment")]
    TooLarge {
        /// The one that went over.
        buffer: usize,
    },
    /// More buffers than can be numbered.
    #[error("{count} buffers are more than the 2^31 that can be placed")]
    TooMany {
        /// How many.
        count: usize,
    },
}

impl Problem {
    /// Checks the buffers. Every offset that is chosen will be a multiple of `alignment`.
    ///
    /// Sizes are taken as they are: the arena ends where the last byte of the topmost buffer ends. For a runtime that rounds sizes
    /// as well, round them before.
    ///
    /// # Errors
    ///
    /// See [`ProblemError`]: alignments of 0, lifetimes that end before they begin, absurd sizes.
    pub fn new(buffers: Vec<Buffer>, alignment: u64) -> Result<Self, ProblemError> {
        if alignment == 0 {
            return Err(ProblemError::NoAlignment);
        }
        if buffers.len() >= 1 << 31 {
            return Err(ProblemError::TooMany { count: buffers.len() });
        }
        let mut top = 0;
        for (index, buffer) in buffers.iter().enumerate() {
            check(index, buffer)?;
            top = top_above(top, buffer, alignment).ok_or(ProblemError::TooLarge { buffer: index })?;
        }
        Ok(Self { buffers, alignment })
    }

    /// The buffers, in the order given.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Every offset that is chosen is a multiple of this.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }
}

fn check(index: usize, buffer: &Buffer) -> Result<(), ProblemError> {
    if buffer.alignment == 0 {
        return Err(ProblemError::NoBufferAlignment { buffer: index });
    }
    if buffer.first > buffer.last {
        let &Buffer { first, last, .. } = buffer;
        return Err(ProblemError::EndsBeforeItBegins { buffer: index, first, last });
    }
    Ok(())
}

/// How high the arena can get at worst with one more buffer.
fn top_above(top: u64, buffer: &Buffer, alignment: u64) -> Option<u64> {
    let step = common_multiple(alignment, buffer.alignment)?;
    let end = top.max(buffer.offset.unwrap_or(0)).checked_add(buffer.size)?.checked_next_multiple_of(step)?;
    (end <= MOST_BYTES).then_some(end)
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    (a / common_divisor(a, b)).checked_mul(b)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let fine = Buffer::new(8, 0, 1);
        let refused = |buffers: Vec<Buffer>, alignment| Problem::new(buffers, alignment).unwrap_err();
        assert_eq!(refused(vec![fine], 0), ProblemError::NoAlignment);
        assert_eq!(refused(vec![fine, fine.aligned(0)], 1), ProblemError::NoBufferAlignment { buffer: 1 });
        assert_eq!(
            refused(vec![Buffer::new(8, 3, 2)], 1),
            ProblemError::EndsBeforeItBegins { buffer: 0, first: 3, last: 2 }
        );
        for huge in [Buffer::new(u64::MAX, 0, 1), fine.at(u64::MAX), fine.aligned(u64::MAX)] {
            assert_eq!(refused(vec![fine, huge], 2), ProblemError::TooLarge { buffer: 1 });
        }
    }
}
