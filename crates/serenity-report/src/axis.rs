//! From values to positions.

use crate::number::grouped;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences; begins at 0.
    #[default]
    Linear,
    /// Equal distances for equal factors.
    Logarithmic,
}

/// An axis. Its ends are those of the values, unless the caller says more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured, with the unit.
    pub label: String,
    /// How values are spread.
    pub scale: Scale,
    /// Where to put ticks, and what they say; by default at round numbers.
    pub ticks: Vec<(f64, String)>,
    /// Where the axis begins, instead of at 0 or the least value.
    pub from: Option<f64>,
    /// Where it ends, instead of at the largest value.
    pub to: Option<f64>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(label) }
    }

    /// Can this value be drawn at all?
    pub(crate) fn takes(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// The axis for these values.
    pub(crate) fn fitted(&self, values: impl Iterator<Item = f64>) -> Fitted {
        let ends = [self.from, self.to].into_iter().flatten();
        let ticked = self.ticks.iter().map(|tick| tick.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.chain(ends).chain(ticked).filter(|&value| self.takes(value)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        let (low, high, ticks) = match self.scale {
            Scale::Linear => linear(self.from.unwrap_or(low.min(0.0)), high, self.to),
            Scale::Logarithmic => logarithmic(low, high, self.ticks.is_empty()),
        };
        let ticks = if self.ticks.is_empty() { ticks } else { self.ticks.clone() };
        Fitted { scale: self.scale, low, high, ticks }
    }
}

/// About five round numbers.
fn linear(low: f64, high: f64, end: Option<f64>) -> (f64, f64, Vec<(f64, String)>) {
    let span = if high > low { high - low } else { 1.0 };
    let magnitude = 10_f64.powf((span / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * magnitude).into_iter().find(|s| span / s <= 5.5);
    let step = step.unwrap_or(span);
    let high = end.unwrap_or_else(|| low + (span / step).ceil() * step);
    let count = ((high - low) / step + 1e-9).floor() as u32;
    let ticks = (0..=count).map(|i| low + f64::from(i) * step).map(|value| (value, label(value, step)));
    (low, high, ticks.collect())
}

/// Powers of ten, and as ends too where no others are given.
fn logarithmic(low: f64, high: f64, round: bool) -> (f64, f64, Vec<(f64, String)>) {
    if !round {
        return (low, if high > low { high } else { low * 2.0 }, Vec::new());
    }
    let first = low.log10().floor() as i32;
    let last = (high.log10().ceil() as i32).max(first + 1);
    let ticks =
        (first..=last).map(|power| (10_f64.powi(power), label(10_f64.powi(power), 10_f64.powi(power))));
    (10_f64.powi(first), 10_f64.powi(last), ticks.collect())
}

/// A tick says just what tells it from the next.
fn label(value: f64, step: f64) -> String {
    let decimals = (0..9).find(|&d| (step * 10_f64.powi(d)).fract() < 1e-6).unwrap_or(9) as usize;
    if decimals == 0 && value >= 0.0 { grouped(value.round() as u128) } else { format!("{value:.decimals$}") }
}

/// An axis with its ends.
#[derive(Debug)]
pub(crate) struct Fitted {
    scale: Scale,
    low: f64,
    high: f64,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Fitted {
    /// Where a value lies: 0 at the beginning, 1 at the end; what is beyond lies at the end it is beyond.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The value that would lie there, also beyond the ends.
    pub(crate) fn at(&self, position: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + position * (self.high - self.low),
            Scale::Logarithmic => self.low * (self.high / self.low).powf(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        axis.fitted(values.iter().copied()).ticks.into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round() {
        let linear = Axis::linear("");
        assert_eq!(labels(&linear, &[551.9]), ["0", "200", "400", "600"]);
        assert_eq!(labels(&linear, &[1655.8]), ["0", "500", "1,000", "1,500", "2,000"]);
        assert_eq!(labels(&linear, &[2.4]), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
        assert_eq!(labels(&Axis::logarithmic(""), &[0.03, 56.5]), ["0.01", "0.1", "1", "10", "100"]);
    }

    #[test]
    fn positions_run_from_0_to_1_whatever_the_value() {
        let axis = Axis::linear("").fitted([100.0].into_iter());
        let percent = |axis: &Fitted, value: f64| (100.0 * axis.position(value)).round() as i64;
        assert_eq!([0.0, 50.0, 100.0, 1e9, -5.0].map(|v| percent(&axis, v)), [0, 50, 100, 100, 0]);
        let axis = Axis::logarithmic("").fitted([1.0, 100.0].into_iter());
        assert_eq!([1.0, 10.0, 100.0].map(|v| percent(&axis, v)), [0, 50, 100]);
        assert!((axis.at(0.5) - 10.0).abs() < 1e-9 && (axis.at(1.5) - 1000.0).abs() < 1e-6);
        for values in [vec![], vec![f64::NAN], vec![0.0], vec![-3.0]] {
            for axis in [Axis::linear(""), Axis::logarithmic("")] {
                let fitted = axis.fitted(values.iter().copied());
                assert!((0.0..=1.0).contains(&fitted.position(1.0)), "{values:?}");
            }
        }
    }

    #[test]
    fn given_ticks_and_ends_are_kept() {
        let axis = Axis {
            ticks: vec![(32.0, "32".to_owned()), (64.0, "64".to_owned())],
            ..Axis::logarithmic("KiB")
        };
        assert_eq!(labels(&axis, &[40.0]), ["32", "64"]);
        let axis = Axis { to: Some(100.0), ..Axis::linear("%") };
        assert_eq!(labels(&axis, &[97.0]), ["0", "20", "40", "60", "80", "100"]);
    }
}
