//! Many values in a few.

/// The median of many values, and where most of them lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// 5 % are below.
    pub(crate) low: f64,
    pub(crate) median: f64,
    /// 5 % are above.
    pub(crate) high: f64,
}

impl Spread {
    /// Of values that occur, at the nearest rank; zeros if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1) as f64;
            values.get((share * last).round() as usize).copied().unwrap_or(0.0)
        };
        Self { low: at(0.05), median: at(0.5), high: at(0.95) }
    }
}

/// The geometric mean; 1 of nothing.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        count += 1.0;
    }
    if count > 0.0 { f64::exp(sum / count) } else { 1.0 }
}

/// A cumulative distribution that begins at the bottom.
pub(crate) fn from_zero(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if let Some(&(first, _)) = points.first() {
        points.insert(0, (first, 0.0));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means_are_what_they_are_called() {
        let spread = Spread::of((0..=100).rev().map(f64::from));
        assert_eq!(spread, Spread { low: 5.0, median: 50.0, high: 95.0 });
        assert_eq!(Spread::of([]), Spread { low: 0.0, median: 0.0, high: 0.0 });
        assert!((geometric_mean([1.0, 4.0]) - 2.0).abs() < 1e-12);
    }
}
