//! The range of numbers that a channel can hold, and how rounding changes it.

use super::network::{Clamp, Numbers};

/// Numbers as they are stored, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// No kernel that we know of is further off than this share of a product, before it rounds: multipliers have 24 bits or more.
const SHARE: f64 = 1.0 / (1 << 22) as f64;

/// Sums of 8-bit kernels are of 32 bits.
pub(super) const MOST_OF_A_SUM: f64 = i32::MAX as f64;

impl Range {
    pub(super) fn one(number: f64) -> Self {
        Self { low: number, high: number }
    }

    /// All that a type can hold.
    pub(super) fn all(numbers: Numbers) -> Self {
        match numbers {
            Numbers::Whole { least, most, .. } => Self { low: least as f64, high: most as f64 },
            Numbers::Real => Self { low: f64::NEG_INFINITY, high: f64::INFINITY },
        }
    }

    /// The one number that it holds, if that is all.
    pub(super) fn constant(self) -> Option<f64> {
        (self.high <= self.low).then_some(self.low)
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Within the bounds of an activation, and of the type.
    pub(super) fn clamped(self, clamp: Clamp, numbers: Numbers) -> Self {
        let all = Self::all(numbers);
        let low = self.low.max(clamp.low.0).min(clamp.high.0);
        let high = self.high.max(clamp.low.1).min(clamp.high.1);
        Self { low: low.max(all.low).min(all.high), high: high.max(all.low).min(all.high) }
    }

    /// The whole numbers that real ones may be rounded to if they are off by no more than `slack`, ties either way.
    pub(super) fn rounded(self, slack: f64) -> Self {
        let off = |number: f64| slack + number.abs() * SHARE;
        Self {
            low: (self.low - off(self.low) - 0.5).ceil(),
            high: (self.high + off(self.high) + 0.5).floor(),
        }
    }
}

/// What 8-bit kernels may make of a sum, in steps of the result above its zero point: those that multiply by a real
/// number and round once, and those that round twice. `None` if it is a sum with which some of them count wrong.
pub(super) fn requantised(sum: f64, scale: f64) -> Option<Range> {
    if !(scale.is_finite() && scale > 0.0) {
        return None;
    }
    let once = Range::one(sum * scale).rounded(0.0);
    // scale = multiplier * 2^exponent, the multiplier of 31 bits from 1/2 to 1.
    let exponent = scale.log2().floor() as i32 + 1;
    let fraction = scale * 2_f64.powi(-exponent);
    let (left, right) = (exponent.max(0), (-exponent).max(0));
    let shifted = sum * 2_f64.powi(left);
    // They shift first, in 32 bits; of what is shifted out nothing is known.
    if !(0.5..=1.0).contains(&fraction) || shifted.abs() > MOST_OF_A_SUM || right > 60 {
        return None;
    }
    let high_half = Range::one(shifted * fraction).rounded(0.0);
    let divisor = 2_f64.powi(right);
    let twice =
        Range { low: (high_half.low / divisor - 0.5).ceil(), high: (high_half.high / divisor + 0.5).floor() };
    Some(once.with(twice))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As TFLM's portable kernels do it, in whole numbers.
    fn by_the_book(sum: i32, scale: f64) -> i64 {
        let exponent = scale.log2().floor() as i32 + 1;
        let multiplier = (scale * 2_f64.powi(31 - exponent)).round() as i64;
        let product = (i64::from(sum) << exponent.max(0)) * multiplier;
        let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
        let high = (product + nudge) / (1 << 31);
        let right = (-exponent).max(0);
        let mask = (1_i64 << right) - 1;
        let threshold = (mask >> 1) + i64::from(high < 0);
        (high >> right) + i64::from(high & mask > threshold)
    }

    #[test]
    fn every_way_to_round_is_within() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut agreed = 0;
        for _ in 0..200_000 {
            let scale = f64::from(next() as u32 % 100_000 + 1) / 2_f64.powi(17 + (next() % 20) as i32);
            let sum = (next() as i32) >> (next() % 31);
            let Some(range) = requantised(f64::from(sum), scale) else { continue };
            let (book, once) = (by_the_book(sum, scale) as f64, (f64::from(sum) * scale).round());
            // XNNPACK and ONNX Runtime: in floats, ties to even.
            let float = (sum as f32 * scale as f32).round_ties_even();
            for found in [book, once, f64::from(float)] {
                assert!(
                    range.low <= found && found <= range.high,
                    "{sum} * {scale}: {found} not in {range:?}"
                );
            }
            agreed += u32::from(range.constant().is_some());
        }
        assert!(agreed > 150_000, "{agreed}");
    }

    #[test]
    fn sums_that_overflow_are_unknown() {
        assert_eq!(requantised(f64::from(1 << 30), 4.0), None);
        assert_eq!(requantised(f64::from(1 << 30), 0.001).and_then(Range::constant), Some(1_073_742.0));
        assert_eq!(requantised(1.0, f64::NAN), None);
        assert_eq!(requantised(1.0, 0.0), None);
    }

    #[test]
    fn bounds_that_kernels_dispute_make_no_constant() {
        let whole = Numbers::Whole { scale: 1.0, zero_point: 0, least: -128, most: 127 };
        let clamp = Clamp { low: (0.0, 0.0), high: (5.0, 6.0) };
        let range = Range { low: 9.0, high: 9.0 }.clamped(clamp, whole);
        assert_eq!(range, Range { low: 5.0, high: 6.0 });
        assert_eq!(Range { low: -9.0, high: -1.0 }.clamped(clamp, whole).constant(), Some(0.0));
    }
}
