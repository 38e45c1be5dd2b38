//! Buffers that may share bytes although they live together.

use std::num::NonZeroU64;

/// Permission for one buffer to be written over another whose last step is the first step of the writer.
///
/// An op reads `x` for the last time and writes `y`, so both are in use while it runs. If it never again reads what it
/// has overwritten, the two may share bytes, in a way that only the caller knows. A permission is never an obligation:
/// the two may always lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Overlap {
    /// The buffer `y` that is written, as an index into the buffers. Its first step is the last of `over`.
    pub writer: usize,
    /// The buffer `x` that is written over, as an index into the buffers. It begins before `writer` does.
    pub over: usize,
    /// The distances at which they may share bytes.
    pub how: Sharing,
}

/// The distances at which two buffers may share bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// `offset(writer) + distance <= offset(over)`: for an op that writes from low to high, and reads each element no
    /// later than `distance` bytes before it is overwritten. 0 for an element-wise op.
    Below {
        /// The least distance below.
        distance: u64,
    },
    /// `offset(writer) + below <= offset(over)` or `offset(over) + above <= offset(writer)`: for an op that writes from
    /// low to high if the writer lies below, and from high to low if it lies above.
    EitherWay {
        /// The least distance below.
        below: u64,
        /// The least distance above. More than 0: two buffers that begin at the same offset are 0 below, and if neither
        /// side asked for a distance there would be nothing to permit.
        above: NonZeroU64,
    },
    /// `offset(writer) == offset(over)`: in place, or apart.
    SameOffset,
}

impl Overlap {
    /// `writer` may begin `distance` bytes below `over`, or more.
    pub fn below(writer: usize, over: usize, distance: u64) -> Self {
        Self { writer, over, how: Sharing::Below { distance } }
    }

    /// `writer` may begin `below` bytes below `over`, or more, or `above` bytes above it, or more.
    pub fn either_way(writer: usize, over: usize, below: u64, above: NonZeroU64) -> Self {
        Self { writer, over, how: Sharing::EitherWay { below, above } }
    }

    /// `writer` may begin where `over` begins.
    pub fn same_offset(writer: usize, over: usize) -> Self {
        Self { writer, over, how: Sharing::SameOffset }
    }

    /// Does this permission cover these two offsets?
    pub fn permits(&self, writer_offset: u64, over_offset: u64) -> bool {
        let is_below = |lower: u64, upper: u64, distance: u64| {
            lower.checked_add(distance).is_some_and(|lowest| lowest <= upper)
        };
        match self.how {
            Sharing::Below { distance } => is_below(writer_offset, over_offset, distance),
            Sharing::EitherWay { below, above } => {
                is_below(writer_offset, over_offset, below)
                    || is_below(over_offset, writer_offset, above.get())
            }
            Sharing::SameOffset => writer_offset == over_offset,
        }
    }
}

impl Sharing {
    /// The most bytes that two buffers of these sizes can share by it, if their offsets differ by what `up` makes of a distance.
    pub(crate) fn most_shared(self, writer: u64, over: u64, up: impl Fn(u64) -> u64) -> u64 {
        let across =
            |lower: u64, upper: u64, distance: u64| upper.min(lower.saturating_sub(up(distance.min(lower))));
        match self {
            Self::SameOffset => writer.min(over),
            Self::Below { distance } => across(writer, over, distance),
            Self::EitherWay { below, above } => {
                across(writer, over, below).max(across(over, writer, above.get()))
            }
        }
    }

    /// At least so many bytes of the writer lie below what it is written over, and share nothing.
    pub(crate) fn least_below(self) -> u64 {
        match self {
            Self::SameOffset | Self::EitherWay { .. } => 0,
            Self::Below { distance } => distance,
        }
    }
}

/// A permission as one of its two buffers sees it.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// It is written over the other.
    Writer(Sharing),
    /// The other is written over it.
    Over(Sharing),
}

impl Side {
    /// What `buffer` sees of a permission that it is part of.
    pub(crate) fn of(overlap: &Overlap, buffer: usize) -> Self {
        if overlap.writer == buffer { Self::Writer(overlap.how) } else { Self::Over(overlap.how) }
    }
}

/// Adds the open intervals of distances at which a buffer of `own` bytes cannot begin above another of `other` bytes
/// with which it lives.
pub(crate) fn forbidden(own: i64, other: i64, permission: Option<Side>, mut add: impl FnMut(i64, i64)) {
    // Where they would be apart anyway, there is nothing to permit.
    let within = |distance: u64, lower: i64| distance.min(lower as u64) as i64;
    // The least distances of the writer below and above; none where it must be in place.
    let least = |how: Sharing, writer: i64, over: i64| match how {
        Sharing::Below { distance } => Some((within(distance, writer), over)),
        Sharing::EitherWay { below, above } => Some((within(below, writer), within(above.get(), over))),
        Sharing::SameOffset => None,
    };
    let interval = match permission {
        None => Some((-own, other)),
        Some(Side::Writer(how)) => least(how, own, other).map(|(below, above)| (-below, above)),
        Some(Side::Over(how)) => least(how, other, own).map(|(below, above)| (-above, below)),
    };
    if let Some((from, to)) = interval {
        add(from, to);
    } else {
        add(-own, 0);
        add(0, other);
    }
}
