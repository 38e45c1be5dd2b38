//! What the padding `same` amounts to along one axis.

/// One axis along which a window slides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// How many elements there are.
    pub(crate) size: u64,
    /// How many the window looks at.
    pub(crate) kernel: u64,
    /// How far it moves for the next result.
    pub(crate) stride: u64,
    /// How far apart the elements are that it looks at.
    pub(crate) dilation: u64,
}

impl Axis {
    /// How many results there are if zeros around the input and a window that stays inside are what `same` would do; `None` if they are not.
    ///
    /// The window that makes result `o` begins at `o * stride` of what is padded, so at `o * stride - before` of what is not; under `same`
    /// at `o * stride - total / 2`. So where `before` is `total / 2`, all windows look at the same elements, or at zeros. What
    /// is added behind may be more than `same` would add, as long as no further window finds room there.
    pub(crate) fn same_results(&self, before: u64, after: u64) -> Option<u64> {
        let reach = self.kernel.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)?;
        let padded = self.size.checked_add(before)?.checked_add(after)?;
        let valid = padded.checked_sub(reach)?.checked_div(self.stride)?.checked_add(1)?;
        let same = self.size.div_ceil(self.stride);
        let spanned = same.checked_sub(1)?.checked_mul(self.stride)?.checked_add(reach)?;
        let total = spanned.saturating_sub(self.size);
        (before == total / 2 && valid == same).then_some(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each result, what the window looks at: an element, or zero. `begin` is where the first window begins.
    fn looks_at(axis: Axis, begin: i64, results: u64) -> Vec<Vec<Option<i64>>> {
        let element = |result: u64, tap: u64| {
            let at = begin + (result * axis.stride + tap * axis.dilation) as i64;
            (0..axis.size as i64).contains(&at).then_some(at)
        };
        (0..results).map(|o| (0..axis.kernel).map(|tap| element(o, tap)).collect()).collect()
    }

    /// As the runtimes compute it, written down again from the definition: the results are `ceil(size / stride)`, and half of what
    /// their windows need beyond the input, rounded down, comes before it.
    fn same(axis: Axis) -> Vec<Vec<Option<i64>>> {
        let results = axis.size.div_ceil(axis.stride);
        let last =
            (results as i64 - 1) * axis.stride as i64 + (axis.kernel as i64 - 1) * axis.dilation as i64;
        let missing = (last + 1 - axis.size as i64).max(0);
        looks_at(axis, -(missing / 2), results)
    }

    /// All windows that fit into the padded input.
    fn padded_valid(axis: Axis, before: u64, after: u64) -> Vec<Vec<Option<i64>>> {
        let padded = axis.size + before + after;
        let last_tap = (axis.kernel - 1) * axis.dilation;
        let results = (0..padded).take_while(|o| o * axis.stride + last_tap < padded).count() as u64;
        looks_at(axis, -(before as i64), results)
    }

    /// Every size, kernel, stride, dilation and amount: it says yes exactly where both look at the same.
    #[test]
    fn it_says_yes_exactly_where_all_windows_look_at_the_same() {
        let mut agreed = 0;
        for (size, kernel) in (1..=9).flat_map(|size| (1..=5).map(move |kernel| (size, kernel))) {
            for (stride, dilation) in
                (1..=4).flat_map(|stride| (1..=3).map(move |dilation| (stride, dilation)))
            {
                let axis = Axis { size, kernel, stride, dilation };
                for (before, after) in (0..=6).flat_map(|before| (0..=6).map(move |after| (before, after))) {
                    let wanted = same(axis);
                    let is_same = padded_valid(axis, before, after) == wanted;
                    let said = axis.same_results(before, after);
                    // Where dilated windows see nothing but padding, they are alike wherever they begin: that is left alone.
                    let sees_something = wanted.iter().flatten().any(Option::is_some);
                    assert!(said.is_some() || !is_same || !sees_something, "{axis:?} {before} {after}");
                    if let Some(results) = said {
                        assert!(is_same, "{axis:?} {before} {after}");
                        assert_eq!(results, wanted.len() as u64, "{axis:?} {before} {after}");
                        agreed += 1;
                    }
                }
            }
        }
        assert!(agreed > 500, "{agreed}");
    }

    #[test]
    fn absurd_numbers_are_no_match() {
        let axis = Axis { size: 8, kernel: 3, stride: 2, dilation: 1 };
        assert_eq!(axis.same_results(0, 1), Some(4));
        for absurd in [
            Axis { size: 0, ..axis },
            Axis { kernel: 0, ..axis },
            Axis { size: u64::MAX, ..axis },
            Axis { kernel: u64::MAX, dilation: u64::MAX, ..axis },
        ] {
            assert_eq!(absurd.same_results(0, 1), None, "{absurd:?}");
        }
        assert_eq!(axis.same_results(u64::MAX, u64::MAX), None);
    }
}
