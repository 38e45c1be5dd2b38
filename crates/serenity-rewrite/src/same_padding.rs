//! The amounts of the padding `same` along one axis.

use serenity_ir::{Padding, Window};

/// How many results there are along an axis if so many zeros before and after it, and a window that
/// stays inside, are what `same` would do; `None` if they are not.
///
/// The window that makes result `o` begins at `o * stride` of what is padded, so at `o * stride - before` of what is
/// not; under `same` at `o * stride - total / 2`. So where `before` is `total / 2`, all windows look at the same
/// elements, or at zeros. What is added behind may be more than `same` would add, as long as no further window finds
/// room there.
pub(crate) fn same_results(window: Window, size: u64, [before, after]: [u64; 2]) -> Option<u64> {
    let [size, before, after] = [size, before, after].map(|number| i64::try_from(number).ok());
    let (size, zeros) = (size?, Padding::Explicit { before: before?, after: after? });
    let (same, valid) = (window.along(size, Padding::Same)?, window.along(size, zeros)?);
    ((valid.before, valid.output) == (same.before, same.output)).then_some(same.output as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::Slide;

    /// For each result, what the window looks at: an element, or zero.
    fn looks_at(window: Window, size: i64, padding: Padding) -> Vec<Vec<Option<i64>>> {
        let slides = window.along(size, padding).into_iter();
        let results = slides.flat_map(|slide| (0..slide.output).map(move |result| (slide, result)));
        let taps =
            |(slide, result): (Slide, i64)| (0..window.taps).map(move |tap| slide.element(result, tap));
        results.map(|at| taps(at).collect()).collect()
    }

    /// Every size, kernel, stride, dilation and amount: it says yes exactly where both look at the same.
    #[test]
    fn it_says_yes_exactly_where_all_windows_look_at_the_same() {
        let mut agreed = 0;
        for (size, taps) in (1..=9).flat_map(|size| (1..=5).map(move |taps| (size, taps))) {
            for (stride, dilation) in
                (1..=4).flat_map(|stride| (1..=3).map(move |dilation| (stride, dilation)))
            {
                let window = Window { taps, stride, dilation };
                let wanted = looks_at(window, size, Padding::Same);
                for [before, after] in (0..=6).flat_map(|before| (0..=6).map(move |after| [before, after])) {
                    let is_same = looks_at(window, size, Padding::Explicit { before, after }) == wanted;
                    let zeros = [before, after].map(|zeros| zeros as u64);
                    let said = same_results(window, size as u64, zeros);
                    // Where dilated windows see nothing but padding, they are alike wherever they begin: that is left alone.
                    let sees_something = wanted.iter().flatten().any(Option::is_some);
                    assert!(said.is_some() || !is_same || !sees_something, "{size} {window:?} {zeros:?}");
                    if let Some(results) = said {
                        assert!(is_same, "{size} {window:?} {zeros:?}");
                        assert_eq!(results, wanted.len() as u64, "{size} {window:?} {zeros:?}");
                        agreed += 1;
                    }
                }
            }
        }
        assert!(agreed > 500, "{agreed}");
    }

    #[test]
    fn absurd_numbers_are_no_match() {
        let window = Window { taps: 3, stride: 2, dilation: 1 };
        assert_eq!(same_results(window, 8, [0, 1]), Some(4));
        for (window, size) in [
            (window, 0),
            (Window { taps: 0, ..window }, 8),
            (window, u64::MAX),
            (Window { taps: i64::MAX, dilation: i64::MAX, ..window }, 8),
        ] {
            assert_eq!(same_results(window, size, [0, 1]), None, "{size} {window:?}");
        }
        assert_eq!(same_results(window, 8, [u64::MAX, u64::MAX]), None);
    }
}
