//! The geometry of convolutions and pools, one axis at a time: rows and columns are two windows.
//!
//! The window at place `o` of the result looks at the elements `o * stride - before + tap *
//! dilation` of what it reads, for each `tap` below `taps`. Elements outside are padding.
//!
//! Numbers that are out of range, and sizes whose sums or products do not fit in 63 bits, give `None`.

/// What is added to an axis before its first element and behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// As much as the windows of `⌈size / stride⌉` results need; half of it before, the odd one behind.
    Same,
    /// Nothing: all windows lie inside.
    Valid,
    /// So much; less than 0 takes elements away.
    Explicit {
        /// Before the first element.
        before: i64,
        /// Behind the last element.
        after: i64,
    },
}

impl Padding {
    /// By its name in the option `padding`.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "same" => Some(Self::Same),
            "valid" => Some(Self::Valid),
            _ => None,
        }
    }
}

/// A window along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many elements it looks at.
    pub taps: i64,
    /// How far it moves for the next result.
    pub stride: i64,
    /// How far apart the elements are that it looks at.
    pub dilation: i64,
}

impl Window {
    /// `None` if a number is less than 1.
    pub fn new<N: TryInto<i64>>(taps: N, stride: N, dilation: N) -> Option<Self> {
        let counted = |number: N| number.try_into().ok().filter(|&number| number > 0);
        Some(Self { taps: counted(taps)?, stride: counted(stride)?, dilation: counted(dilation)? })
    }

    /// Elements from the first to the last that it looks at.
    pub fn extent(self) -> Option<i64> {
        self.taps.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)
    }

    /// How many results there are along an axis of `size` elements. Where not even one window has room, 0 or less.
    pub fn results(self, size: i64, padding: Padding) -> Option<i64> {
        let (before, after) = match padding {
            Padding::Same => return size.checked_add(self.stride.checked_sub(1)?)?.checked_div(self.stride),
            Padding::Valid => (0, 0),
            Padding::Explicit { before, after } => (before, after),
        };
        let room = size.checked_add(before)?.checked_add(after)?.checked_sub(self.extent()?)?;
        room.checked_div_euclid(self.stride)?.checked_add(1)
    }

    /// By how many elements the windows of `results` results reach beyond `size`; less than 0 if
    /// they leave out the last ones.
    pub fn missing(self, size: i64, results: i64) -> Option<i64> {
        results.checked_sub(1)?.checked_mul(self.stride)?.checked_add(self.extent()?)?.checked_sub(size)
    }

    /// The window on its way along an axis of `size` elements; `None` if there is no result, or one
    /// of its numbers is less than 1.
    pub fn along(self, size: i64, padding: Padding) -> Option<Slide> {
        Self::new(self.taps, self.stride, self.dilation)?;
        let output = self.results(size, padding).filter(|&results| results > 0)?;
        let missing = self.missing(size, output)?;
        let before = match padding {
            Padding::Same => missing.max(0) / 2,
            Padding::Valid => 0,
            Padding::Explicit { before, .. } => before,
        };
        // Windows begin at `-before`.
        before.checked_neg()?;
        Some(Slide { window: self, input: size, output, before, after: missing.checked_sub(before)? })
    }
}

/// A window on its way along one axis. As [`Window::along`] makes it, all positions of windows fit
/// in 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide {
    /// The window that slides over the axis.
    pub window: Window,
    /// Elements along the axis that is read.
    pub input: i64,
    /// The number of results.
    pub output: i64,
    /// How far the first window begins before the first element.
    pub before: i64,
    /// How far the last window ends behind the last element; less than 0 if some are left out.
    pub after: i64,
}

impl Slide {
    /// Where the window of a result looks with one of its taps; `None` if that is padding.
    pub fn element(self, result: i64, tap: i64) -> Option<i64> {
        let at = result * self.window.stride - self.before + tap * self.window.dilation;
        (0..self.input).contains(&at).then_some(at)
    }

    /// The first element at which the window of a result looks; `None` if it sees nothing but padding.
    pub fn first_element(self, result: i64) -> Option<i64> {
        let begin = result * self.window.stride - self.before;
        let skipped = if begin < 0 { (-begin - 1) / self.window.dilation + 1 } else { 0 };
        (skipped < self.window.taps).then(|| self.element(result, skipped))?
    }

    /// This axis, counted from its end.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows() -> impl Iterator<Item = (i64, Window)> {
        let windows = (1..=5).flat_map(|taps| (1..=4).map(move |stride| (taps, stride)));
        let windows =
            windows.flat_map(|(taps, stride)| (1..=3).map(move |dilation| [taps, stride, dilation]));
        windows.flat_map(|[taps, stride, dilation]| {
            (1..=9).map(move |size| (size, Window { taps, stride, dilation }))
        })
    }

    /// What each window looks at, an element or padding, if the first begins so far before the axis: written down tap by tap.
    fn seen(size: i64, window: Window, before: i64, results: i64) -> Vec<Vec<Option<i64>>> {
        let element = |result: i64, tap: i64| {
            let at = result * window.stride + tap * window.dilation - before;
            (0..size).find(|&element| element == at)
        };
        (0..results).map(|result| (0..window.taps).map(|tap| element(result, tap)).collect()).collect()
    }

    /// As many windows as fit into the padded axis, one after the other.
    fn fitting(size: i64, window: Window, [before, after]: [i64; 2]) -> i64 {
        let last_tap = (window.taps - 1) * window.dilation;
        let fits = |&result: &i64| result * window.stride + last_tap < size + before + after;
        (0..100).filter(fits).count() as i64
    }

    fn elements(slide: Slide) -> Vec<Vec<Option<i64>>> {
        let taps = |result| (0..slide.window.taps).map(move |tap| slide.element(result, tap)).collect();
        (0..slide.output).map(taps).collect()
    }

    #[test]
    fn windows_look_at_what_the_definition_says() {
        for (size, window) in windows() {
            for (before, after) in (-2..=4).flat_map(|before| (-2..=4).map(move |after| (before, after))) {
                let results = fitting(size, window, [before, after]);
                let slide = window.along(size, Padding::Explicit { before, after });
                assert_eq!(slide.is_some(), results > 0, "{size} {window:?} {before} {after}");
                let Some(slide) = slide else { continue };
                assert_eq!((slide.output, slide.before), (results, before));
                assert_eq!(elements(slide), seen(size, window, before, results));
                // What is added behind and seen by no window does not count.
                assert!(slide.after <= after && after - slide.after < window.stride);
                if [before, after] == [0, 0] {
                    assert_eq!(window.along(size, Padding::Valid), Some(slide));
                }
            }
        }
    }

    /// The least padding with which `⌈size / stride⌉` windows fit, and no more of it before than behind.
    #[test]
    fn the_padding_same_is_the_least_that_keeps_the_size() {
        for (size, window) in windows() {
            let wanted = (0..size).step_by(window.stride as usize).count() as i64;
            let total = (0..100).find(|&all| fitting(size, window, [0, all]) >= wanted).unwrap();
            let slide = window.along(size, Padding::Same).unwrap();
            assert_eq!((slide.output, slide.before), (wanted, total / 2), "{size} {window:?}");
            assert_eq!(slide.after.max(0), total - total / 2, "{size} {window:?}");
            assert_eq!(elements(slide), seen(size, window, total / 2, wanted));
        }
    }

    #[test]
    fn first_elements_and_the_way_back_follow_from_all_elements() {
        for (size, window) in windows() {
            for padding in [Padding::Same, Padding::Valid, Padding::Explicit { before: 7, after: 2 }] {
                let Some(slide) = window.along(size, padding) else { continue };
                let seen = elements(slide);
                for (result, seen) in (0..).zip(&seen) {
                    assert_eq!(slide.first_element(result), seen.iter().flatten().next().copied());
                }
                let turned = |seen: Vec<Option<i64>>| {
                    seen.into_iter().rev().map(|element| Some(size - 1 - element?)).collect::<Vec<_>>()
                };
                let back: Vec<_> = elements(slide.reversed()).into_iter().rev().map(turned).collect();
                assert_eq!(back, seen, "{slide:?}");
            }
        }
    }

    #[test]
    fn absurd_numbers_are_none() {
        let window = Window::new(3, 2, 1).unwrap();
        assert_eq!(window.results(2, Padding::Valid), Some(0));
        assert_eq!(window.along(2, Padding::Valid), None);
        assert_eq!(window.along(0, Padding::Same), None);
        assert_eq!(window.along(i64::MAX, Padding::Same), None);
        assert_eq!(window.along(8, Padding::Explicit { before: i64::MAX, after: i64::MAX }), None);
        assert_eq!(Window::new(i64::MAX, 1, i64::MAX).unwrap().along(8, Padding::Same), None);
        assert_eq!((Window::new(0, 1, 1), Window::new(1, 0, 1), Window::new(1, 1, -1)), (None, None, None));
        assert_eq!(Window::new(u64::MAX, 1, 1), None);
        assert_eq!(Window { stride: 0, ..window }.results(8, Padding::Same), None);
    }
}
