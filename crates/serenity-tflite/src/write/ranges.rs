//! Sets of byte ranges.

use std::ops::Range;

/// Ranges in order, none of which overlap or touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<Range<usize>>);

impl FromIterator<Range<usize>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(ranges: I) -> Self {
        let mut ranges: Vec<Range<usize>> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut result: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match result.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => result.push(range),
            }
        }
        Self(result)
    }
}

impl Ranges {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Range<usize>> {
        self.0.iter()
    }

    /// Is any of these bytes in the set?
    pub(crate) fn overlap(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|known| known.end <= range.start);
        !range.is_empty() && self.0.get(first).is_some_and(|known| known.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn ranges_that_touch_are_one() {
        let ranges: Ranges = [8..9, 2..4, 5..5, 3..6, 6..7].into_iter().collect();
        assert_eq!(ranges.iter().cloned().collect::<Vec<_>>(), [2..7, 8..9]);
        let overlaps: Vec<usize> = (0..10).filter(|&at| ranges.overlap(&(at..at + 1))).collect();
        assert_eq!(overlaps, [2, 3, 4, 5, 6, 8]);
        assert!(ranges.overlap(&(0..10)) && ranges.overlap(&(7..9)));
        assert!(!ranges.overlap(&(7..8)) && !ranges.overlap(&(3..3)) && !ranges.overlap(&(9..20)));
    }
}
