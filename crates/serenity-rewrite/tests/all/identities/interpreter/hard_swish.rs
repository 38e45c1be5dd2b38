//! `HARD_SWISH` of 8-bit integers, `x * relu6(x + 3) / 6`, in 16-bit arithmetic.

use super::fixed_point::{Factor, divide_by_power};
use super::int8::Affine;

/// More bits for the input.
const MORE_BITS: i32 = 7;

/// The function for one pair of quantisations.
pub(super) struct HardSwish {
    from_zero: i32,
    to_zero: i32,
    /// From inputs to outputs.
    output: Factor,
    /// From inputs to numbers of which 2^15 stand for 3.
    slope: Factor,
}

impl HardSwish {
    pub(super) fn new(from: Affine, to: Affine) -> Self {
        let fine = 1.0 / (1 << MORE_BITS) as f32 * from.scale;
        Self {
            from_zero: from.zero,
            to_zero: to.zero,
            output: short(Factor::of(f64::from(fine / to.scale))),
            slope: short(Factor::of(f64::from(fine / (3.0 / 32768.0)))),
        }
    }

    /// What is stored for the result, unclamped.
    pub(super) fn of(&self, stored: i8) -> i32 {
        let x = (i32::from(stored) - self.from_zero) << MORE_BITS;
        // From -1 to 1, in steps of 2^-15: the last shift to the left saturates.
        let exponent = self.slope.exponent;
        let shifted = if exponent > 0 { saturated(x << (exponent - 1)) } else { x };
        let slope = rounded_product(shifted, self.slope.mantissa);
        let slope = match exponent {
            1.. => saturated(slope << 1),
            0 => slope,
            _ => divide_by_power(slope, -exponent),
        };
        // From 0 to 1.
        let slope = (slope + (1 << 15)) >> 1;
        let product = (slope * rounded_product(x, self.output.mantissa)) / (1 << 15);
        self.to_zero + divide_by_power(product, -self.output.exponent)
    }
}

/// A factor with a mantissa of 16 bits.
fn short(factor: Factor) -> Factor {
    let rounded = (factor.mantissa.saturating_add(1 << 15)) >> 16;
    Factor { mantissa: rounded.min(i32::from(i16::MAX)), ..factor }
}

fn saturated(x: i32) -> i32 {
    x.clamp(i16::MIN.into(), i16::MAX.into())
}

/// The high half of twice the product of 16-bit numbers, rounded to the nearest.
fn rounded_product(a: i32, b: i32) -> i32 {
    let product = a * b;
    let nudge = if product >= 0 { 1 << 14 } else { 1 - (1 << 14) };
    saturated((product + nudge) / (1 << 15))
}
