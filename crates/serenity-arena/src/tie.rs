//! Buffers that must lie at a fixed distance from one another.

use crate::problem::{MOST_BYTES, common_multiple};
use crate::{Problem, ProblemError};

/// An obligation: one buffer begins exactly `distance` bytes above another.
///
/// Buffers that ties connect, directly or through others, form a *group* that moves as a whole. **Members of a group
/// never block each other**, whatever their lifetimes: a view and its base hold the same bytes, the pieces of a result
/// are written apart, and the caller chooses distances that keep apart members that must not meet. Members of different
/// groups block each other as any two buffers do, and an [`Overlap`](crate::Overlap) may permit two of them to meet.
///
/// ```
/// use serenity_arena::{Buffer, Options, Problem, Proof, Tie, place};
/// // Two ops write the halves of a tensor, the second of which is computed from something large.
/// let buffers = vec![
///     Buffer::new(64, 2..5), // the whole
///     Buffer::new(32, 0..3), // its lower half
///     Buffer::new(32, 1..3), // its upper half
///     Buffer::new(96, 0..2),
/// ];
/// let halves = vec![Tie { buffer: 1, to: 0, distance: 0 }, Tie { buffer: 2, to: 0, distance: 32 }];
/// let problem = Problem::new(buffers, 16)?.with_ties(halves)?;
/// let placement = place(&problem, &Options::default());
/// assert_eq!((placement.height, placement.proof), (160, Proof::Optimal));
/// assert_eq!(placement.offsets[1], placement.offsets[0]);
/// assert_eq!(placement.offsets[2], placement.offsets[0] + 32);
/// # Ok::<(), serenity_arena::ProblemError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tie {
    /// The upper buffer, as an index into the buffers.
    pub buffer: usize,
    /// The lower buffer, as an index into the buffers.
    pub to: usize,
    /// `offset(buffer) == offset(to) + distance`; a multiple of the alignment of both, and of all others in the group.
    pub distance: u64,
}

/// Where a buffer stands in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// One of the buffers of the group, the same for all.
    pub(crate) group: usize,
    /// How far above the lowest of the group it begins.
    pub(crate) offset: u64,
}

/// For every buffer its group, if the ties can be kept.
pub(crate) fn members(problem: &Problem, ties: &[Tie]) -> Result<Vec<Member>, ProblemError> {
    if ties.is_empty() {
        return Ok(Vec::new());
    }
    let count = problem.buffers().len();
    let mut forest = Forest::new(count);
    for (index, tie) in ties.iter().enumerate() {
        if let Some(&buffer) = [tie.buffer, tie.to].iter().find(|&&buffer| buffer >= count) {
            return Err(ProblemError::TieToNobody { tie: index, buffer, count });
        }
        forest.tie(tie).map_err(|known| {
            let &Tie { buffer, to, distance } = tie;
            ProblemError::TiesDisagree { tie: index, buffer, to, distance, known }
        })?;
    }
    let found: Vec<(usize, i128)> = (0..count).map(|buffer| forest.find(buffer)).collect();
    let mut lowest = vec![i128::MAX; count];
    for &(group, above) in &found {
        lowest[group] = above.min(lowest[group]);
    }
    let alignments = alignments(problem, ties, &found)?;
    check_fixed(problem, &found, &lowest)?;
    check_sizes(problem, &found, &lowest, &alignments)?;
    Ok(found.iter().map(|&(group, above)| Member { group, offset: (above - lowest[group]) as u64 }).collect())
}

/// By group: every distance in it is a multiple of every alignment in it, so that all members are aligned if the lowest is.
fn alignments(problem: &Problem, ties: &[Tie], found: &[(usize, i128)]) -> Result<Vec<u64>, ProblemError> {
    let mut alignments = vec![problem.alignment(); found.len()];
    for (buffer, &(group, _)) in found.iter().enumerate() {
        alignments[group] = common_multiple(alignments[group], problem.buffers()[buffer].alignment)
            .filter(|&alignment| alignment <= MOST_BYTES)
            .ok_or(ProblemError::TiesTooLarge { buffer })?;
    }
    for (index, &Tie { buffer, distance, .. }) in ties.iter().enumerate() {
        let alignment = alignments[found[buffer].0];
        if !distance.is_multiple_of(alignment) {
            return Err(ProblemError::TieUnaligned { tie: index, distance, alignment });
        }
    }
    Ok(alignments)
}

fn check_fixed(problem: &Problem, found: &[(usize, i128)], lowest: &[i128]) -> Result<(), ProblemError> {
    // Of each group, a fixed buffer and where it has the group begin.
    let mut begins: Vec<Option<(usize, i128)>> = vec![None; found.len()];
    for (buffer, &(group, above)) in found.iter().enumerate() {
        let Some(offset) = problem.buffers()[buffer].offset else { continue };
        let begin = i128::from(offset) - above;
        match begins[group] {
            Some((other, known)) if known != begin => {
                return Err(ProblemError::FixedAgainstTies {
                    buffer,
                    offset,
                    other,
                    expected: known + above,
                });
            }
            _ => begins[group] = Some((buffer, begin)),
        }
    }
    for (buffer, &(group, above)) in found.iter().enumerate() {
        if let Some((fixed, begin)) = begins[group]
            && above == lowest[group]
            && begin + above < 0
        {
            return Err(ProblemError::TiedBelowZero { buffer, fixed });
        }
    }
    Ok(())
}

/// Groups on top of one another stay within what planners can count with.
fn check_sizes(
    problem: &Problem,
    found: &[(usize, i128)],
    lowest: &[i128],
    alignments: &[u64],
) -> Result<(), ProblemError> {
    let mut heights: Vec<Option<i128>> = vec![None; found.len()];
    let mut room = 0_i128;
    for (buffer, &(group, above)) in found.iter().enumerate() {
        let this = &problem.buffers()[buffer];
        // A group begins less than its alignment above the one below it.
        let known = heights[group].unwrap_or(-i128::from(alignments[group]));
        let height = known.max(above - lowest[group] + i128::from(this.size));
        room += i128::from(this.offset.unwrap_or(0)) + height - known;
        heights[group] = Some(height);
        if room > i128::from(MOST_BYTES) {
            return Err(ProblemError::TiesTooLarge { buffer });
        }
    }
    Ok(())
}

/// Buffers that are known to lie at a distance from one another, as trees.
struct Forest {
    /// The parent, and how far above it; a root is its own.
    up: Vec<(usize, i128)>,
    sizes: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Self { up: (0..count).map(|buffer| (buffer, 0)).collect(), sizes: vec![1; count] }
    }

    /// The root, and how far above it. Small trees hang below large ones, so this is short.
    fn find(&self, mut buffer: usize) -> (usize, i128) {
        let mut above = 0;
        while self.up[buffer].0 != buffer {
            above += self.up[buffer].1;
            buffer = self.up[buffer].0;
        }
        (buffer, above)
    }

    /// The distance that is known already, if it is another one.
    fn tie(&mut self, tie: &Tie) -> Result<(), i128> {
        let (upper, upper_above) = self.find(tie.buffer);
        let (lower, lower_above) = self.find(tie.to);
        // How far the upper root is above the lower one.
        let between = lower_above + i128::from(tie.distance) - upper_above;
        if upper == lower {
            return if between == 0 { Ok(()) } else { Err(upper_above - lower_above) };
        }
        if self.sizes[upper] <= self.sizes[lower] {
            self.up[upper] = (lower, between);
            self.sizes[lower] += self.sizes[upper];
        } else {
            self.up[lower] = (upper, -between);
            self.sizes[upper] += self.sizes[lower];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    fn refused(buffers: &[Buffer], ties: &[(usize, usize, u64)]) -> ProblemError {
        let ties = ties.iter().map(|&(buffer, to, distance)| Tie { buffer, to, distance }).collect();
        Problem::new(buffers.to_vec(), 16).unwrap().with_ties(ties).unwrap_err()
    }

    #[test]
    fn ties_that_cannot_be_kept_are_refused_by_name() {
        let fine = Buffer::new(16, 0..2);
        let three = [fine; 3];
        assert_eq!(
            refused(&three, &[(0, 1, 0), (3, 1, 0)]),
            ProblemError::TieToNobody { tie: 1, buffer: 3, count: 3 }
        );
        assert_eq!(
            refused(&three, &[(1, 0, 16), (2, 1, 16), (0, 2, 16)]),
            ProblemError::TiesDisagree { tie: 2, buffer: 0, to: 2, distance: 16, known: -32 }
        );
        assert!(matches!(refused(&three, &[(1, 1, 16)]), ProblemError::TiesDisagree { known: 0, .. }));
        assert_eq!(
            refused(&three, &[(1, 0, 24)]),
            ProblemError::TieUnaligned { tie: 0, distance: 24, alignment: 16 }
        );
        assert_eq!(
            refused(&[fine, fine, fine.aligned(64)], &[(1, 0, 64), (2, 1, 16)]),
            ProblemError::TieUnaligned { tie: 1, distance: 16, alignment: 64 }
        );
        assert_eq!(
            refused(&[fine.at(0), fine.at(48)], &[(1, 0, 32)]),
            ProblemError::FixedAgainstTies { buffer: 1, offset: 48, other: 0, expected: 32 }
        );
        assert_eq!(
            refused(&[fine, fine.at(16)], &[(1, 0, 32)]),
            ProblemError::TiedBelowZero { buffer: 0, fixed: 1 }
        );
        assert_eq!(refused(&three, &[(1, 0, 1 << 60)]), ProblemError::TiesTooLarge { buffer: 1 });
    }

    #[test]
    fn a_circle_that_closes_is_kept() {
        let ties = [(1, 0, 16), (2, 1, 16), (2, 0, 32)];
        let ties = ties.map(|(buffer, to, distance)| Tie { buffer, to, distance }).to_vec();
        let problem =
            Problem::new(vec![Buffer::new(16, 0..2); 4], 16).unwrap().with_ties(ties.clone()).unwrap();
        assert_eq!(problem.ties(), ties);
        let members: Vec<Member> = (0..4).map(|buffer| problem.member(buffer)).collect();
        assert!(members[..3].iter().all(|member| member.group == members[0].group));
        assert_eq!(members.iter().map(|member| member.offset).collect::<Vec<_>>(), [0, 16, 32, 0]);
        assert_ne!(members[3].group, members[0].group);
    }
}
