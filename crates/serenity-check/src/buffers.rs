//! Does a placement keep apart what must be apart? Of buffers only, whatever lies in them.

use std::collections::BTreeMap;

/// Bytes and the steps in which they are in use. Both ranges are half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedBuffer {
    /// The first byte.
    pub begin: u64,
    /// The first byte behind it.
    pub end: u64,
    /// The first step at which they are in use.
    pub lower: i64,
    /// The first step at which they are no longer in use.
    pub upper: i64,
}

/// Two buffers that are in use at one step and share bytes, by position; `None` if there are none.
///
/// `may_share(y, x)` permits `y` to be written over `x`, which dies at the very step at which `y` begins.
pub fn first_clash(
    buffers: &[PlacedBuffer],
    may_share: impl Fn(usize, usize) -> bool,
) -> Option<(usize, usize)> {
    let mut starts: Vec<usize> = (0..buffers.len()).filter(|&b| buffers[b].begin < buffers[b].end).collect();
    let mut ends = starts.clone();
    starts.sort_by_key(|&b| (buffers[b].lower, b));
    ends.sort_by_key(|&b| (buffers[b].upper, b));
    let mut ended = ends.into_iter().peekable();
    // What is in use, by where it begins. No two of these share a byte, so only neighbours need to be looked at.
    let mut in_use: BTreeMap<u64, usize> = BTreeMap::new();
    for begin_together in starts.chunk_by(|&a, &b| buffers[a].lower == buffers[b].lower) {
        let step = buffers[begin_together[0]].lower;
        let next = step.saturating_add(1);
        while let Some(dead) = ended.next_if(|&b| buffers[b].upper <= step) {
            in_use.remove(&buffers[dead].begin);
        }
        let mut written_over = Vec::new();
        for &y in begin_together {
            for x in sharing(&in_use, buffers, y) {
                if buffers[x].upper != next || !may_share(y, x) {
                    return Some((x, y));
                }
                written_over.push(x);
            }
        }
        // They are gone after this step, and everything that begins with it has been held against them.
        for x in written_over {
            in_use.remove(&buffers[x].begin);
        }
        for &y in begin_together {
            if let Some(x) = sharing(&in_use, buffers, y).next() {
                return Some((x, y));
            }
            in_use.insert(buffers[y].begin, y);
        }
        // What was written over must not be removed again when it ends: another may begin at the same byte by then.
        while let Some(dead) = ended.next_if(|&b| buffers[b].upper == next) {
            if in_use.get(&buffers[dead].begin) == Some(&dead) {
                in_use.remove(&buffers[dead].begin);
            }
        }
    }
    None
}

/// Those in use that share a byte with `y`.
fn sharing<'a>(
    in_use: &'a BTreeMap<u64, usize>,
    buffers: &'a [PlacedBuffer],
    y: usize,
) -> impl Iterator<Item = usize> + 'a {
    let PlacedBuffer { begin, end, .. } = buffers[y];
    let below = in_use.range(..begin).next_back().filter(move |&(_, &x)| buffers[x].end > begin);
    below.into_iter().chain(in_use.range(begin..end)).map(|(_, &x)| x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_search::Random;
    use std::ops::Range;

    fn placed(begin: u64, size: u64, steps: Range<i64>) -> PlacedBuffer {
        PlacedBuffer { begin, end: begin + size, lower: steps.start, upper: steps.end }
    }

    #[test]
    fn only_what_meets_in_time_and_space_clashes() {
        let apart = [placed(0, 8, 0..4), placed(8, 8, 0..2), placed(8, 4, 2..4), placed(0, 0, 0..10)];
        assert_eq!(first_clash(&apart, |_, _| false), None);
        for (moved, clash) in [(placed(7, 4, 2..4), (0, 2)), (placed(8, 4, 1..4), (1, 2))] {
            let mut clashing = apart;
            clashing[2] = moved;
            assert_eq!(first_clash(&clashing, |_, _| false), Some(clash));
        }
    }

    #[test]
    fn what_dies_may_be_written_over_with_permission_only() {
        let hand_over = [placed(0, 8, 0..2), placed(0, 8, 1..3), placed(0, 8, 2..4)];
        assert_eq!(first_clash(&hand_over, |y, x| y == x + 1), None);
        assert_eq!(first_clash(&hand_over, |y, x| (y, x) == (1, 0)), Some((1, 2)));
        // Two that are written at once do not share, whatever they are written over.
        let both = [placed(0, 8, 0..2), placed(0, 8, 1..3), placed(4, 4, 1..2)];
        assert_eq!(first_clash(&both, |_, x| x == 0), Some((1, 2)));
        // Nor is what lives on written over.
        assert_eq!(first_clash(&[placed(0, 8, 0..3), placed(0, 8, 1..3)], |_, _| true), Some((0, 1)));
    }

    /// Against all pairs.
    #[test]
    fn nothing_is_missed() {
        let mut random = Random(1);
        let mut random = |below: u64| random.below(below);
        let mut clashes = 0;
        for _ in 0..3000 {
            let buffers: Vec<PlacedBuffer> = (0..=random(5))
                .map(|_| {
                    let first = random(6) as i64;
                    placed(random(12), random(5), first..first + 1 + random(3) as i64)
                })
                .collect();
            let meet = |x: &PlacedBuffer, y: &PlacedBuffer| {
                x.begin.max(y.begin) < x.end.min(y.end) && x.lower.max(y.lower) < x.upper.min(y.upper)
            };
            let expected = (0..buffers.len())
                .any(|y| buffers[..y].iter().any(|x| meet(x, &buffers[y]) && x.begin < x.end));
            let found = first_clash(&buffers, |_, _| false);
            assert_eq!(found.is_some(), expected, "{buffers:?}");
            if let Some((x, y)) = found {
                assert!(meet(&buffers[x], &buffers[y]));
                clashes += 1;
            }
        }
        assert!(clashes > 100, "{clashes}");
    }
}
