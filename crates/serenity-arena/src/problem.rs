//! A validated placement problem, the input of every planner.

use crate::tie::{self, Member};
use crate::{Buffer, Overlap, Step, Tie};
use std::collections::BTreeSet;

/// Sizes and offsets, added up, stay below this, so that no planner needs to think of overflow.
pub(crate) const MOST_BYTES: u64 = 1 << 60;

/// Buffers to place, and the rules that hold for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    buffers: Vec<Buffer>,
    alignment: u64,
    overlaps: Vec<Overlap>,
    ties: Vec<Tie>,
    /// The group of each buffer that the ties define; empty if there are no ties.
    members: Vec<Member>,
}

/// Why a problem is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The alignment of the problem is 0.
    #[error("the alignment is 0; give 1 if any offset will do")]
    NoAlignment,
    /// The alignment of a buffer is 0.
    #[error("the alignment of buffer {buffer} is 0; give 1 if any offset will do")]
    NoBufferAlignment {
        /// The index of the buffer.
        buffer: usize,
    },
    /// A lifetime has no step.
    #[error(
        "buffer {buffer} is in use from step {lower} until before step {upper}, which is never; give an `upper` above `lower`"
    )]
    NeverInUse {
        /// The index of the buffer.
        buffer: usize,
        /// The first step at which it is in use.
        lower: Step,
        /// The first step at which it is no longer in use.
        upper: Step,
    },
    /// The sizes add up to more than 2^60 bytes.
    #[error("buffer {buffer} brings the sizes to more than 2^60 bytes; check its size, offset and alignment")]
    TooLarge {
        /// The index of the buffer that exceeds the limit.
        buffer: usize,
    },
    /// There are more buffers than can be numbered.
    #[error("{count} buffers are more than the 2^31 that can be placed")]
    TooMany {
        /// The number of buffers.
        count: usize,
    },
    /// An overlap names a buffer that does not exist.
    #[error("overlap {overlap} names buffer {buffer}, but there are only {count}, counted from 0")]
    NoSuchBuffer {
        /// The index of the overlap.
        overlap: usize,
        /// The index that it names.
        buffer: usize,
        /// The number of buffers.
        count: usize,
    },
    /// An overlap names buffers of which one does not begin at the last step of the other.
    #[error(
        "overlap {overlap} lets buffer {writer} be written over buffer {over}, but {over} is in use from step {} until before step {} and {writer} \
         begins at step {begins}; it must begin at the last step of {over}, and after its first", .lives.0, .lives.1
    )]
    NoHandOver {
        /// The index of the overlap.
        overlap: usize,
        /// The buffer that is written.
        writer: usize,
        /// The buffer that is written over.
        over: usize,
        /// `lower` and `upper` of the buffer that is written over.
        lives: (Step, Step),
        /// The first step of the buffer that is written.
        begins: Step,
    },
    /// A tie names a buffer that does not exist.
    #[error("tie {tie} names buffer {buffer}, but there are only {count}, counted from 0")]
    TieToNobody {
        /// The index of the tie.
        tie: usize,
        /// The index that it names.
        buffer: usize,
        /// The number of buffers.
        count: usize,
    },
    /// A tie contradicts others.
    #[error(
        "tie {tie} puts buffer {buffer} {distance} bytes above buffer {to}, but by the ties before it that is {known}; drop one of them"
    )]
    TiesDisagree {
        /// The index of the tie that contradicts earlier ones.
        tie: usize,
        /// The upper buffer.
        buffer: usize,
        /// The lower buffer.
        to: usize,
        /// The distance of this tie.
        distance: u64,
        /// The distance by the other ties; negative for below.
        known: i128,
    },
    /// A tie would leave a buffer unaligned.
    #[error(
        "tie {tie} has a distance of {distance} bytes, no multiple of {alignment}, to which the buffers tied together are aligned"
    )]
    TieUnaligned {
        /// The index of the tie.
        tie: usize,
        /// The distance of the tie.
        distance: u64,
        /// The alignment of all buffers of the group.
        alignment: u64,
    },
    /// Ties contradict the offsets of fixed buffers.
    #[error(
        "buffer {buffer} is fixed at offset {offset}, but buffer {other}, which is fixed too, and the ties between them put it at {expected}"
    )]
    FixedAgainstTies {
        /// The index of the buffer.
        buffer: usize,
        /// Its fixed offset.
        offset: u64,
        /// The index of the other fixed buffer.
        other: usize,
        /// The offset that the other one and the ties imply; negative for below the arena.
        expected: i128,
    },
    /// A buffer is tied to a fixed one from too far below.
    #[error(
        "buffer {buffer} would begin below offset 0, because buffer {fixed}, to which it is tied, is fixed; raise {fixed}"
    )]
    TiedBelowZero {
        /// The index of the buffer.
        buffer: usize,
        /// The index of the fixed buffer.
        fixed: usize,
    },
    /// The distances of ties bring the sizes to more than 2^60 bytes.
    #[error(
        "buffer {buffer} and those tied to it bring the sizes to more than 2^60 bytes; check the distances of its ties"
    )]
    TiesTooLarge {
        /// The index of a buffer of the group that exceeds the limit.
        buffer: usize,
    },
    /// Two overlaps name the same two buffers.
    #[error("overlap {overlap} speaks of buffers {writer} and {over} a second time; keep one of the two")]
    OverlapTwice {
        /// The index of the second overlap.
        overlap: usize,
        /// The buffer that is written.
        writer: usize,
        /// The buffer that is written over.
        over: usize,
    },
}

impl Problem {
    /// Validates the buffers. Every chosen offset will be a multiple of `alignment`.
    ///
    /// Sizes are not rounded: the arena ends with the last byte of the topmost buffer. For a runtime that rounds sizes
    /// as well, round them first.
    ///
    /// # Errors
    ///
    /// See [`ProblemError`]: alignments of 0, lifetimes without a step, absurd sizes.
    pub fn new(buffers: Vec<Buffer>, alignment: u64) -> Result<Self, ProblemError> {
        if alignment == 0 {
            return Err(ProblemError::NoAlignment);
        }
        check_count(buffers.len())?;
        let mut top = 0;
        for (index, buffer) in buffers.iter().enumerate() {
            check(index, buffer)?;
            top = top_above(top, buffer, alignment).ok_or(ProblemError::TooLarge { buffer: index })?;
        }
        Ok(Self { buffers, alignment, overlaps: Vec::new(), ties: Vec::new(), members: Vec::new() })
    }

    /// Permits some buffers to be written over others. Only these planners make use of it:
    /// [`Planner::Exact`](crate::Planner::Exact) and [`Planner::HillClimb`](crate::Planner::HillClimb).
    ///
    /// # Errors
    ///
    /// See [`ProblemError`]: unknown buffers, buffers that are not handed over at one step, the same two twice.
    pub fn with_overlaps(self, overlaps: Vec<Overlap>) -> Result<Self, ProblemError> {
        let mut seen = BTreeSet::new();
        for (index, &Overlap { writer, over, .. }) in overlaps.iter().enumerate() {
            let count = self.buffers.len();
            if let Some(&buffer) = [writer, over].iter().find(|&&buffer| buffer >= count) {
                return Err(ProblemError::NoSuchBuffer { overlap: index, buffer, count });
            }
            let (y, x) = (&self.buffers[writer], &self.buffers[over]);
            if y.lower.checked_add(1) != Some(x.upper) || x.lower >= y.lower {
                let (lives, begins) = ((x.lower, x.upper), y.lower);
                return Err(ProblemError::NoHandOver { overlap: index, writer, over, lives, begins });
            }
            if !seen.insert((writer, over)) {
                return Err(ProblemError::OverlapTwice { overlap: index, writer, over });
            }
        }
        Ok(Self { overlaps, ..self })
    }

    /// Ties buffers to fixed distances from one another: see [`Tie`]. Only these planners keep them:
    /// [`Planner::Exact`](crate::Planner::Exact) and [`Planner::HillClimb`](crate::Planner::HillClimb). The others
    /// place every buffer by itself and break the ties.
    ///
    /// If one buffer of a group is fixed, all are, so neither their alignment nor other fixed buffers are held against
    /// them.
    ///
    /// # Errors
    ///
    /// See [`ProblemError`]: unknown buffers, ties that contradict one another or fixed offsets, distances that are no
    /// multiple of the alignment of every buffer of the group, absurd distances.
    pub fn with_ties(self, ties: Vec<Tie>) -> Result<Self, ProblemError> {
        let members = tie::members(&self, &ties)?;
        Ok(Self { ties, members, ..self })
    }

    /// The buffers, in the order given.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Every offset that is chosen is a multiple of this.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The permissions for buffers to be written over others.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// The fixed distances between buffers.
    pub fn ties(&self) -> &[Tie] {
        &self.ties
    }

    /// The group of a buffer, and where in it the buffer begins.
    pub(crate) fn member(&self, buffer: usize) -> Member {
        self.members.get(buffer).copied().unwrap_or(Member { group: buffer, offset: 0 })
    }

    /// The first buffer whose fixed offset is no multiple of its alignment or of the problem's, with that alignment.
    /// Planners leave such a buffer where it is.
    pub fn misaligned(&self) -> Option<(usize, u64)> {
        let alignments = self.buffers.iter().map(|buffer| self.alignment_of(buffer));
        let is_misplaced = |(_, (buffer, alignment)): &(usize, (&Buffer, u64))| {
            buffer.offset.is_some_and(|offset| !offset.is_multiple_of(*alignment))
        };
        let (index, (_, alignment)) = self.buffers.iter().zip(alignments).enumerate().find(is_misplaced)?;
        Some((index, alignment))
    }

    /// The offset of this buffer is a multiple of this: of the alignment of the problem, and its own.
    pub(crate) fn alignment_of(&self, buffer: &Buffer) -> u64 {
        // `new` has seen to it that there is one.
        common_multiple(self.alignment, buffer.alignment).unwrap_or(self.alignment)
    }
}

fn check_count(count: usize) -> Result<(), ProblemError> {
    if count < 1 << 31 { Ok(()) } else { Err(ProblemError::TooMany { count }) }
}

fn check(index: usize, buffer: &Buffer) -> Result<(), ProblemError> {
    if buffer.alignment == 0 {
        return Err(ProblemError::NoBufferAlignment { buffer: index });
    }
    if buffer.lower >= buffer.upper {
        let &Buffer { lower, upper, .. } = buffer;
        return Err(ProblemError::NeverInUse { buffer: index, lower, upper });
    }
    Ok(())
}

/// How high the arena can get at worst with one more buffer.
fn top_above(top: u64, buffer: &Buffer, alignment: u64) -> Option<u64> {
    let step = common_multiple(alignment, buffer.alignment)?;
    let end = top.max(buffer.offset.unwrap_or(0)).checked_add(buffer.size)?.checked_next_multiple_of(step)?;
    (end <= MOST_BYTES).then_some(end)
}

pub(crate) fn common_multiple(a: u64, b: u64) -> Option<u64> {
    (a / common_divisor(a, b)).checked_mul(b)
}

pub(crate) fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let fine = Buffer::new(8, 0..2);
        let refused = |buffers: Vec<Buffer>, alignment| Problem::new(buffers, alignment).unwrap_err();
        assert_eq!(refused(vec![fine], 0), ProblemError::NoAlignment);
        assert_eq!(refused(vec![fine, fine.aligned(0)], 1), ProblemError::NoBufferAlignment { buffer: 1 });
        assert_eq!(
            refused(vec![Buffer::new(8, 3..3)], 1),
            ProblemError::NeverInUse { buffer: 0, lower: 3, upper: 3 }
        );
        for huge in [Buffer::new(u64::MAX, 0..2), fine.at(u64::MAX), fine.aligned(u64::MAX)] {
            assert_eq!(refused(vec![fine, huge], 2), ProblemError::TooLarge { buffer: 1 });
        }
    }

    #[test]
    fn an_overlap_needs_a_hand_over() {
        let problem =
            Problem::new(vec![Buffer::new(8, 0..2), Buffer::new(8, 1..3), Buffer::new(8, 0..3)], 1).unwrap();
        let refused = |overlaps: Vec<Overlap>| problem.clone().with_overlaps(overlaps).unwrap_err();
        let fine = Overlap::below(1, 0, 4);
        assert!(problem.clone().with_overlaps(vec![fine]).is_ok());
        assert!(matches!(refused(vec![Overlap::below(0, 1, 4)]), ProblemError::NoHandOver { .. }));
        assert!(matches!(refused(vec![Overlap::same_offset(1, 2)]), ProblemError::NoHandOver { .. }));
        assert!(matches!(
            refused(vec![fine, Overlap::same_offset(1, 0)]),
            ProblemError::OverlapTwice { overlap: 1, .. }
        ));
        assert_eq!(
            refused(vec![Overlap::below(1, 7, 4)]),
            ProblemError::NoSuchBuffer { overlap: 0, buffer: 7, count: 3 }
        );
    }
}
