//! Buffers that may share bytes although they live together.

/// Permission for one buffer to be written over another that dies at that very step.
///
/// An op reads `x` for the last time and writes `y`, so both are in use while it runs. If it never again reads what it has written
/// over, the two may share bytes: how, only the caller knows. A permission is never an obligation: the two may always lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Overlap {
    /// The buffer `y` that is written, as an index into the buffers. Its first step is the last of `over`.
    pub writer: usize,
    /// The buffer `x` that is written over, as an index into the buffers. It begins before `writer` does.
    pub over: usize,
    /// How the two may lie.
    pub how: Sharing,
}

/// How two buffers may lie if they share bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// `offset(writer) + distance <= offset(over)`: an op that writes from low to high, and reads each element no later than
    /// `distance` bytes before it is written over. 0 for an op that handles element by element.
    Below {
        /// How far below at least.
        distance: u64,
    },
    /// `offset(writer) == offset(over)`: in place, or not at all.
    SameOffset,
    /// `offset(writer) + distance == offset(over)`: exactly there, or apart. With a distance of 0 it is [`SameOffset`](Self::SameOffset).
    AtDistance {
        /// How far below.
        distance: u64,
    },
}

impl Overlap {
    /// `writer` may begin `distance` bytes below `over`, or more.
    pub fn below(writer: usize, over: usize, distance: u64) -> Self {
        Self { writer, over, how: Sharing::Below { distance } }
    }

    /// `writer` may begin where `over` begins.
    pub fn same_offset(writer: usize, over: usize) -> Self {
        Self { writer, over, how: Sharing::SameOffset }
    }

    /// `writer` may begin exactly `distance` bytes below `over`.
    pub fn at_distance(writer: usize, over: usize, distance: u64) -> Self {
        Self { writer, over, how: Sharing::AtDistance { distance } }
    }

    /// Does this permission cover these two offsets?
    pub fn permits(&self, writer_offset: u64, over_offset: u64) -> bool {
        match self.how {
            Sharing::Below { distance } => {
                writer_offset.checked_add(distance).is_some_and(|lowest| lowest <= over_offset)
            }
            Sharing::SameOffset => writer_offset == over_offset,
            Sharing::AtDistance { distance } => writer_offset.checked_add(distance) == Some(over_offset),
        }
    }
}
