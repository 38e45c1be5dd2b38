//! Multiplication of integers by real numbers, bit for bit as `TFLite`'s reference kernels do it.
//!
//! A real factor is a mantissa of 31 bits and a power of two. The product is rounded twice: once to the high half of 64 bits, once when the
//! power of two is divided out.

/// A real factor for integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) mantissa: i32,
    pub(crate) exponent: i32,
}

impl Factor {
    pub(crate) fn of(real: f64) -> Self {
        assert!(real.is_normal() && real > 0.0, "no factor: {real}");
        let mut exponent = ((real.to_bits() >> 52) & 0x7ff) as i32 - 1022;
        let mut mantissa = (real * 2_f64.powi(-exponent) * f64::from(1_u32 << 31)).round() as i64;
        if mantissa == 1 << 31 {
            mantissa /= 2;
            exponent += 1;
        }
        if exponent < -31 {
            Self { mantissa: 0, exponent: 0 }
        } else {
            Self { mantissa: mantissa as i32, exponent }
        }
    }

    /// The factor with the other sign.
    pub(crate) fn negated(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }

    /// The factor over a whole number, whose fractional bits are cut off.
    pub(crate) fn over(self, count: usize) -> Self {
        let shift = (count.ilog2() as i32).min(31 + self.exponent);
        let mantissa = (i64::from(self.mantissa) << shift) / count as i64;
        Self { mantissa: mantissa as i32, exponent: self.exponent - shift }
    }

    pub(crate) fn times(self, x: i32) -> i32 {
        let shifted = x.wrapping_mul(1 << self.exponent.max(0));
        divide_by_power(high_half(shifted, self.mantissa), (-self.exponent).max(0))
    }
}

/// The high half of twice the product, rounded to the nearest.
fn high_half(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    let product = i64::from(a) * i64::from(b);
    let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
    ((product + nudge) / (1 << 31)) as i32
}

/// Divided by a power of two and rounded to the nearest, halves away from zero.
pub(crate) fn divide_by_power(x: i32, exponent: i32) -> i32 {
    let mask = ((1_i64 << exponent) - 1) as i32;
    let threshold = (mask >> 1) + i32::from(x < 0);
    (x >> exponent) + i32::from(x & mask > threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_mantissa_and_power_of_two() {
        assert_eq!(Factor::of(0.75), Factor { mantissa: 3 << 29, exponent: 0 });
        assert_eq!(Factor::of(1.0), Factor { mantissa: 1 << 30, exponent: 1 });
        assert_eq!(Factor::of(0.1875), Factor { mantissa: 3 << 29, exponent: -2 });
    }

    #[test]
    fn a_factor_over_a_count() {
        // A third of 2^31.
        assert_eq!(Factor::of(1.0).over(3), Factor { mantissa: 715_827_882, exponent: 0 });
        assert_eq!([3, 4, 5, -4, -5].map(|x| Factor::of(1.0).over(3).times(x)), [1, 1, 2, -1, -2]);
    }

    #[test]
    fn products_are_rounded_twice() {
        // A quarter is a half and a shift by one: 5 becomes 2.5, 3, 1.5, 2.
        let quarter = Factor::of(0.25);
        assert_eq!([5, 6, 7, -5, -6, -7].map(|x| quarter.times(x)), [2, 2, 2, -1, -2, -2]);
        assert_eq!([1, -1].map(|x| Factor::of(100.0).times(x)), [100, -100]);
        assert_eq!([1, -1].map(|x| Factor::of(100.0).negated().times(x)), [-100, 100]);
    }
}
