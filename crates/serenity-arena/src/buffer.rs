//! The buffers to place.

use std::ops::Range;

/// A point in time: the index of the op that runs, or whatever the caller counts.
///
/// Signed, because runtimes use steps before the first op: TensorFlow Lite Micro gives a tensor that no op touches the lifetime
/// -1 to -1.
pub type Step = i64;

/// The end of the lifetime of a buffer that is never freed.
pub const FOREVER: Step = Step::MAX;

/// Memory of a fixed size that is needed from step `lower` up to but not including step `upper`, as in a Rust range and in
/// the columns of [`csv`](crate::csv).
///
/// An op at step 4 that reads the buffer for the last time makes `upper` 5. Two buffers whose lifetimes share a step
/// must not share a byte, so the input and the output of an op never meet unless the caller says that they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The size in bytes. A buffer of 0 bytes gets an offset like any other and blocks none.
    pub size: u64,
    /// The first step at which it is in use.
    pub lower: Step,
    /// The first step at which it is no longer in use; above [`Buffer::lower`].
    pub upper: Step,
    /// The fixed offset, if the caller has decided it already.
    pub offset: Option<u64>,
    /// Its offset is a multiple of this, and of the alignment of the whole problem. At least 1.
    pub alignment: u64,
}

impl Buffer {
    /// A buffer that is in use in these steps and may lie anywhere.
    pub fn new(size: u64, steps: Range<Step>) -> Self {
        Self { size, lower: steps.start, upper: steps.end, offset: None, alignment: 1 }
    }

    /// This buffer, fixed at `offset`. Neither alignment nor other fixed buffers are held against that offset.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// This buffer, to lie at a multiple of `alignment` bytes.
    #[must_use]
    pub fn aligned(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    /// Is there a step at which both buffers are in use?
    pub fn lives_with(&self, other: &Self) -> bool {
        self.lower < other.upper && other.lower < self.upper
    }
}
