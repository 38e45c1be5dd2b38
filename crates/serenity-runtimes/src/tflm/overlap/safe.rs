//! Distances at which one result may overlap one operand.

/// The operand must begin exactly so many bytes above the result, or at least so many; or the result above the operand,
/// where the kernel then goes from back to front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tflm) struct Safe {
    pub(super) exactly: Option<u64>,
    pub(super) at_least: Option<u64>,
    pub(super) backwards: Option<u64>,
}

/// An operand, a result (both by position), and when they may overlap.
#[derive(Clone, Copy, Debug)]
pub(in crate::tflm) struct Pair {
    pub(super) operand: usize,
    pub(super) result: usize,
    pub(super) safe: Safe,
}

impl Safe {
    pub(super) fn exactly(distance: u64) -> Self {
        Self { exactly: Some(distance), at_least: None, backwards: None }
    }

    /// From the largest lead of the writes over the reads, in bytes; reads that are always ahead allow the same offset.
    pub(super) fn at_least(lead: i64) -> Self {
        Self { exactly: None, at_least: Some(u64::try_from(lead).unwrap_or(0)), backwards: None }
    }

    /// The distances that both allow.
    pub(super) fn and(self, other: Self) -> Self {
        let farther = |one: Option<u64>, another: Option<u64>| Some(one?.max(another?));
        let at_least = farther(self.at_least, other.at_least);
        let backwards = farther(self.backwards, other.backwards);
        let exactly = [self.exactly, other.exactly].into_iter().flatten();
        let exactly = exactly.filter(|&distance| self.allows(distance) && other.allows(distance)).min();
        Self { exactly, at_least, backwards }
    }

    fn allows(self, distance: u64) -> bool {
        self.exactly == Some(distance) || self.at_least.is_some_and(|least| least <= distance)
    }

    /// The one overlap of an operator with one result.
    pub(super) fn of_operand(self, operand: usize) -> Vec<Pair> {
        vec![Pair { operand, result: 0, safe: self }]
    }
}

/// The largest lead along a dimension that writes and reads both walk from front to back: `count` places, so many bytes apart.
pub(super) fn walk(count: i64, write_step: i64, read_step: i64) -> i64 {
    (count - 1) * (write_step - read_step).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_uses_allow_what_each_allows() {
        let both = Safe { exactly: Some(3), ..Safe::at_least(8) };
        assert_eq!(both.and(Safe::at_least(5)), Safe::at_least(8));
        assert_eq!(both.and(Safe::at_least(2)), both);
        assert_eq!(both.and(Safe::exactly(9)), Safe::exactly(9));
        assert_eq!(both.and(Safe::exactly(4)), Safe { exactly: None, at_least: None, backwards: None });
        let either_way = |least, most| Safe { backwards: Some(most), ..Safe::at_least(least) };
        assert_eq!(either_way(1, 5).and(either_way(2, 3)), either_way(2, 5));
        assert_eq!(either_way(1, 5).and(Safe::at_least(2)), Safe::at_least(2));
        assert_eq!(Safe::at_least(-7), Safe::at_least(0));
    }
}
