//! Real factors as multipliers and shifts, and what can be said of results.

/// A factor `multiplier / 2^31 * 2^shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) multiplier: i32,
    pub(crate) shift: i32,
}

impl Factor {
    /// The nearest to a real number; 0 if that is too small to tell.
    pub(crate) fn of(real: f64) -> Self {
        if real == 0.0 {
            return Self { multiplier: 0, shift: 0 };
        }
        let (fraction, mut shift) = halves(real);
        let mut multiplier = (fraction * f64::from(1_u32 << 31)).round() as i64;
        if multiplier == 1 << 31 {
            multiplier /= 2;
            shift += 1;
        }
        if shift < -31 {
            return Self { multiplier: 0, shift: 0 };
        }
        Self { multiplier: multiplier as i32, shift }
    }

    /// Is it no less than 0, with a shift that stays within 32 bits?
    pub(crate) fn is_usual(self) -> bool {
        (-31..=30).contains(&self.shift) && self.multiplier >= 0
    }

    /// Can numbers of at most this size be scaled within 32 bits, and an offset of a few hundred be added?
    pub(crate) fn holds(self, most: i64) -> bool {
        if !self.is_usual() {
            return false;
        }
        let widened = i128::from(most) << self.shift.max(0);
        let high = (widened * i128::from(self.multiplier)) >> 31;
        // Half of what is shifted out is added first.
        let rounding = if self.shift < 0 { 1 << (-self.shift - 1) } else { 1024 };
        widened <= i128::from(i32::MAX) && high + rounding + 2 <= i128::from(i32::MAX)
    }

    /// What the kernels compute.
    pub(crate) fn apply(self, value: i32) -> i32 {
        let widened = i64::from(value) << self.shift.max(0);
        rounding_shift(product(widened as i32, self.multiplier), -self.shift.min(0))
    }
}

/// The number as a fraction of at least one half and less than 1, and a power of two.
pub(crate) fn halves(real: f64) -> (f64, i32) {
    let (mut fraction, mut power) = (real, 0);
    while fraction.abs() >= 1.0 && fraction.is_finite() {
        fraction /= 2.0;
        power += 1;
    }
    while fraction.abs() < 0.5 && fraction != 0.0 {
        fraction *= 2.0;
        power -= 1;
    }
    (fraction, power)
}

/// The high half of the doubled product, rounded.
pub(crate) fn product(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    ((i64::from(a) * i64::from(b) + (1 << 30)) >> 31) as i32
}

/// Divided by a power of two, halves away from zero.
pub(crate) fn rounding_shift(value: i32, right: i32) -> i32 {
    let mask = ((1_i64 << right) - 1) as i32;
    let half = (mask >> 1) + i32::from(value < 0);
    let rest = if right == 31 { value & i32::MAX } else { value & mask };
    (i64::from(value) >> right) as i32 + i32::from(rest > half)
}

/// Times a power of two, as large as it gets.
pub(crate) fn saturating_left(value: i32, left: u32) -> i32 {
    (i64::from(value) << left).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_near_and_normal() {
        assert_eq!(Factor::of(0.5), Factor { multiplier: 1 << 30, shift: 0 });
        assert_eq!(Factor::of(1.0), Factor { multiplier: 1 << 30, shift: 1 });
        assert_eq!(Factor::of(0.999_999_999_999), Factor { multiplier: 1 << 30, shift: 1 });
        assert_eq!(Factor::of(1e-12), Factor { multiplier: 0, shift: 0 });
        assert_eq!(Factor::of(0.0), Factor { multiplier: 0, shift: 0 });
        for (real, value) in [(0.3, 1000), (0.001, -123_456), (2.75, 77)] {
            let exact = (f64::from(value) * real).round();
            assert!((f64::from(Factor::of(real).apply(value)) - exact).abs() <= 1.0);
        }
    }

    #[test]
    fn halves_go_away_from_zero() {
        assert_eq!([3, -3, 2, -2].map(|value| rounding_shift(value, 1)), [2, -2, 1, -1]);
        assert_eq!(rounding_shift(-5, 0), -5);
    }

    #[test]
    fn what_does_not_fit_is_noticed() {
        assert!(Factor::of(0.01).holds(i64::from(i32::MAX)));
        assert!(!Factor::of(4.0).holds(1 << 29));
        assert!(!Factor::of(0.999_999_9).holds(i64::from(i32::MAX)));
    }
}
