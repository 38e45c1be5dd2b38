//! Functions of fixed-point numbers, as the reference kernels approximate them, to the last bit. They are needed only
//! when code is written: what runs looks them up.

use crate::fixed_point::{product, rounding_shift, saturating_left};

/// `e^x` for `x` in `[-1/4, 0)`, as a fraction of 2^31, from `x` as a fraction of 2^31: Taylor's series around -1/8.
fn exp_of_quarter(x: i32) -> i32 {
    const EXP_OF_EIGHTH: i32 = 1_895_147_668;
    const THIRD: i32 = 715_827_883;
    let x = x + (1 << 28);
    let x2 = product(x, x);
    let x3 = product(x2, x);
    let x4 = product(x2, x2);
    let rest = rounding_shift(product(rounding_shift(x4, 2) + x3, THIRD) + x2, 1);
    EXP_OF_EIGHTH + product(EXP_OF_EIGHTH, x + rest)
}

/// `e^x` for negative `x` with so many bits before the point, as a fraction of 2^31.
pub(crate) fn exp_of_negative(x: i32, integer_bits: u32) -> i32 {
    // e^-(2^n) for n from -2.
    const POWERS: [i32; 7] =
        [1_672_461_947, 1_302_514_674, 790_015_084, 290_630_308, 39_332_535, 720_401, 242];
    let fraction_bits = 31 - integer_bits;
    let quarter = 1 << (fraction_bits - 2);
    let part = (x & (quarter - 1)) - quarter;
    let mut result = exp_of_quarter(saturating_left(part, integer_bits));
    let remainder = part.wrapping_sub(x);
    for (power, factor) in (-2_i32..).zip(POWERS) {
        if (integer_bits as i32) > power && remainder & (1 << (fraction_bits as i32 + power)) != 0 {
            result = product(result, factor);
        }
    }
    if x == 0 { i32::MAX } else { result }
}

/// `1 / (1 + x)` for `x` in `[0, 1]`, both as fractions of 2^31.
fn inverse_of_one_plus(x: i32) -> i32 {
    let half = half_of_one_plus(x);
    saturating_left(inverse_step(half), 1)
}

/// `(1 - x) / (1 + x)` for `x` in `[0, 1]`.
fn one_minus_over_one_plus(x: i32) -> i32 {
    let x = inverse_step(half_of_one_plus(x));
    saturating_left(x - (1 << 29), 2)
}

fn half_of_one_plus(x: i32) -> i32 {
    i64::midpoint(i64::from(x) + 1, i64::from(i32::MAX)) as i32
}

/// Newton's division: 1 / half, with two bits before the point.
fn inverse_step(half: i32) -> i32 {
    let mut x = 1_515_870_810 + product(half, -1_010_580_540);
    for _ in 0..3 {
        let rest = (1 << 29) - product(half, x);
        x += saturating_left(product(x, rest), 2);
    }
    x
}

/// The logistic function of a number with so many bits before the point, as a fraction of 2^31.
pub(crate) fn logistic(x: i32, integer_bits: u32) -> i32 {
    let size = if x > 0 { x } else { x.wrapping_neg() };
    let of_size = inverse_of_one_plus(exp_of_negative(size.wrapping_neg(), integer_bits));
    match x {
        0 => 1 << 30,
        1.. => of_size,
        _ => i32::MAX - of_size,
    }
}

/// The hyperbolic tangent of a number with so many bits before the point, as a fraction of 2^31.
pub(crate) fn tanh(x: i32, integer_bits: u32) -> i32 {
    let negative = if x > 0 { x.wrapping_neg() } else { x };
    // e^(2x): one more bit before the point.
    let of_size = one_minus_over_one_plus(exp_of_negative(negative, integer_bits + 1));
    match x {
        0 => 0,
        1.. => of_size,
        _ => -of_size,
    }
}

/// The logistic function at 256 places, 1/24 apart from 0 on, as fractions of 2^16. It bends, so straight lines between
/// places are below it: each is raised by half of what is missing in the middle, which makes the lines as much too high
/// as too low.
pub(crate) fn logistic_places() -> [u16; 256] {
    std::array::from_fn(|place| {
        let value = 1.0 / (1.0 + (-(place as f64) / 24.0).exp());
        let bend = value * (1.0 - value) * (2.0 * value - 1.0);
        let raised = value + bend / f64::from(16 * 24 * 24);
        // The last stands for all beyond.
        if place == 255 { u16::MAX } else { (65_536.0 * raised).round() as u16 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_logistic_function_are_those_of_the_runtime() {
        let places = logistic_places();
        assert_eq!(
            [0, 1, 4, 28, 128, 254, 255].map(|place| places[place]),
            [32768, 33451, 35493, 49975, 65221, 65534, 65535]
        );
        assert_eq!(places.iter().map(|&place| u32::from(place)).sum::<u32>(), 15_670_629);
    }

    #[test]
    fn curves_are_near_the_real_ones() {
        let one = f64::from(1_u32 << 31);
        for step in -1000..=1000 {
            let x = step * 1_000_000;
            let real = f64::from(x) / f64::from(1 << 27);
            assert!((f64::from(logistic(x, 4)) / one - 1.0 / (1.0 + (-real).exp())).abs() < 1e-6, "{real}");
            assert!((f64::from(tanh(x, 4)) / one - real.tanh()).abs() < 1e-6, "{real}");
            if x <= 0 {
                let real = f64::from(x) / f64::from(1 << 26);
                assert!((f64::from(exp_of_negative(x, 5)) / one - real.exp()).abs() < 1e-6, "{real}");
            }
        }
    }
}
