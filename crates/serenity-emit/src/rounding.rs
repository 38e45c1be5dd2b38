//! Constants with which packed kernels scale sums, proved to give what the runtime's two roundings give.

use crate::fixed_point::Factor;

/// The fraction of a result before its single rounding has this many bits.
pub(crate) const FRACTION: u32 = 36;
/// Steps from the nearest multiplier at which another is tried.
const STEPS: i64 = 8;
/// No constant, product or sum of 64 bits is larger.
const LARGEST: i128 = 1 << 62;

/// A channel as the runtime computes it, and all sums of products that it can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) bias: i32,
    pub(crate) factor: Factor,
    pub(crate) zero: i32,
    pub(crate) bounds: (i32, i32),
    pub(crate) sums: (i64, i64),
}

impl Channel {
    /// The least and the largest sum of products of these weights and any bytes.
    pub(crate) fn sums(weights: impl Iterator<Item = i8>) -> (i64, i64) {
        weights.map(i64::from).fold((0, 0), |(least, most), weight| {
            let ends = [-128 * weight, 127 * weight];
            (least + ends[0].min(ends[1]), most + ends[0].max(ends[1]))
        })
    }

    /// The result of a sum; it never falls where sums rise.
    fn result(&self, sum: i64) -> i32 {
        let scaled = self.factor.apply((i64::from(self.bias) + sum) as i32);
        scaled.saturating_add(self.zero).clamp(self.bounds.0, self.bounds.1)
    }

    /// The result, if it is the same for all sums.
    fn constant(&self) -> Option<i32> {
        let [low, high] = [self.sums.0, self.sums.1].map(|sum| self.result(sum));
        (low == high).then_some(low)
    }

    /// The first sum with each result but the lowest.
    fn thresholds(&self) -> Vec<(i32, i64)> {
        let (least, most) = self.sums;
        let real = f64::from(self.factor.multiplier) * 2_f64.powi(self.factor.shift - 31);
        let first = |result: i32| {
            let guess = (f64::from(result - self.zero) - 0.5) / real - f64::from(self.bias);
            let mut sum = (guess as i64).clamp(least + 1, most);
            while sum > least + 1 && self.result(sum - 1) >= result {
                sum -= 1;
            }
            while self.result(sum) < result {
                sum += 1;
            }
            sum
        };
        (self.result(least) + 1..=self.result(most)).map(|result| (result, first(result))).collect()
    }

    /// `(constant, multiplier)` so that `(constant + multiplier * sum) / 2^36`, rounded down and cut off to 8 bits, is
    /// the result of every sum. Each threshold bounds the constant from both sides; between thresholds both functions
    /// are monotone.
    pub(crate) fn single(&self) -> Option<(i64, i32)> {
        if let Some(result) = self.constant() {
            return Some((i64::from(result) << FRACTION, 0));
        }
        let drop = u32::try_from(31 - self.factor.shift).ok()?.checked_sub(FRACTION)?;
        let nearest = (i64::from(self.factor.multiplier) + (1 << drop >> 1)) >> drop;
        let thresholds = self.thresholds();
        let mut tries = (0..=STEPS).flat_map(|step| [nearest + step, nearest - step]);
        tries.find_map(|multiplier| self.with_multiplier(&thresholds, multiplier))
    }

    fn with_multiplier(&self, thresholds: &[(i32, i64)], multiplier: i64) -> Option<(i64, i32)> {
        let times = |sum: i64| i128::from(sum) * i128::from(multiplier);
        let at = |result: i32| i128::from(result) << FRACTION;
        // What lies beyond 8 bits is cut off.
        let [low, high] = [self.sums.0, self.sums.1].map(|sum| self.result(sum));
        let least = thresholds.iter().map(|&(result, sum)| at(result) - times(sum)).max()?;
        let most = thresholds.iter().map(|&(result, sum)| at(result) - 1 - times(sum - 1)).min()?;
        let least = if low > -128 { least.max(at(low) - times(self.sums.0)) } else { least };
        let most = if high < 127 { most.min(at(high + 1) - 1 - times(self.sums.1)) } else { most };
        let constant = i128::midpoint(least, most);
        let ends = [self.sums.0, self.sums.1].map(|sum| 256 * (constant.abs() + times(sum).abs()));
        let fits = least <= most && multiplier >= 0 && ends.iter().all(|&end| end < LARGEST);
        fits.then_some((i64::try_from(constant).ok()?, i32::try_from(multiplier).ok()?))
    }

    /// `{twice the bias, multiplier, half + zero point, shift}` for two roundings, which are those of the runtime
    /// wherever something is shifted out and nothing goes beyond 32 bits.
    pub(crate) fn double(&self) -> Option<[i32; 4]> {
        if let Some(result) = self.constant() {
            return Some([0, 0, 2 * result + 1, 1]);
        }
        let (factor, bias) = (self.factor, i64::from(self.bias));
        let shift = u32::try_from(-factor.shift).ok().filter(|shift| (1..=22).contains(shift))?;
        let furthest = (bias + self.sums.0).abs().max((bias + self.sums.1).abs());
        let offset = (1_i64 << (shift - 1)) + (i64::from(self.zero) << shift);
        let is_small = self.sums.0.abs().max(self.sums.1.abs()) < 1 << 30 && bias.abs() < 1 << 30;
        let fits = is_small && furthest + offset.abs() + 1 < 1 << 30 && self.bounds == (-128, 127);
        fits.then_some([2 * self.bias, factor.multiplier, offset as i32, shift as i32])
    }
}

/// The sum of two operands as `(constant + a * one + b * another) / 2^21`, rounded down, if there are such numbers for
/// which that is `result` for all operands and stays within 32 bits.
pub(crate) fn affine(reals: [f64; 2], result: impl Fn(i32, i32) -> i32) -> Option<[i32; 3]> {
    const BITS: u32 = 21;
    let nearest = reals.map(|real| (real * f64::from(1 << BITS)).round());
    if nearest.iter().any(|&one| one.abs() > f64::from(1 << 24)) {
        return None;
    }
    let steps =
        (0..=STEPS).flat_map(|far| (-far..=far).flat_map(move |a| (-far..=far).map(move |b| (far, a, b))));
    let mut tries = steps.filter(|&(far, a, b)| a.abs() == far || b.abs() == far);
    let results: Vec<i64> = bytes().map(|(a, b)| i64::from(result(a as i32, b as i32))).collect();
    tries.find_map(|(_, a, b)| with_factors([nearest[0] as i64 + a, nearest[1] as i64 + b], &results, BITS))
}

fn bytes() -> impl Iterator<Item = (i64, i64)> {
    (-128..128).flat_map(|a| (-128..128).map(move |b| (a, b)))
}

fn with_factors([times_a, times_b]: [i64; 2], results: &[i64], bits: u32) -> Option<[i32; 3]> {
    let (mut least, mut most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    for ((a, b), result) in bytes().zip(results) {
        let product = times_a * a + times_b * b;
        if *result > -128 {
            least = least.max((result << bits) - product);
        }
        if *result < 127 {
            most = most.min(((result + 1) << bits) - 1 - product);
        }
    }
    let constant = i64::midpoint(least, most);
    let furthest = constant.abs() + 128 * (times_a.abs() + times_b.abs());
    (least <= most && furthest < 1 << 31).then_some([times_a as i32, times_b as i32, constant as i32])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Channels by chance; `is_cut` if nothing below their zero point survives.
    fn channel(seed: i64, is_cut: bool) -> Channel {
        let mixed = |salt: i64| {
            seed.wrapping_mul(0x5DEE_CE66D)
                .wrapping_add(salt * 0x9E37_79B9_7F4A)
                .rotate_left(17)
                .unsigned_abs()
        };
        let weights: Vec<i8> = (0..1 + seed % 7).map(|k| mixed(k) as i8).collect();
        let sums = Channel::sums(weights.into_iter());
        let multiplier = (1 << 30) + (mixed(90) % (1 << 30)) as i32;
        let (bias, shift) = ((mixed(91) % 60_000) as i32 - 30_000, -5 - (mixed(92) % 6) as i32);
        let zero = if is_cut { -128 } else { (mixed(93) % 256) as i32 - 128 };
        Channel { bias, factor: Factor { multiplier, shift }, zero, bounds: (-128, 127), sums }
    }

    /// Two roundings as they are defined, in halves of a unit.
    fn reference(channel: &Channel, sum: i64) -> i64 {
        let exact = i128::from(i64::from(channel.bias) + sum) * i128::from(channel.factor.multiplier);
        let whole = (2 * exact + (1 << 31)).div_euclid(1 << 32);
        let unit = 1_i128 << -channel.factor.shift;
        let away = whole.signum() * ((2 * whole.abs() + unit) / (2 * unit));
        (away as i64 + i64::from(channel.zero)).clamp(-128, 127)
    }

    #[test]
    fn every_reachable_sum_is_rounded_as_by_the_runtime() {
        for seed in 1..40 {
            let channel = channel(seed, true);
            let (constant, multiplier) = channel.single().unwrap();
            for sum in channel.sums.0..=channel.sums.1 {
                let found = (constant + sum * i64::from(multiplier)) >> FRACTION;
                assert_eq!(found.clamp(-128, 127), reference(&channel, sum), "{channel:?} {sum}");
            }
        }
    }

    #[test]
    fn two_roundings_are_those_of_the_runtime() {
        for seed in 1..40 {
            let channel = channel(seed, false);
            let [twice_bias, multiplier, offset, shift] = channel.double().unwrap().map(i64::from);
            for sum in channel.sums.0..=channel.sums.1 {
                let twice = twice_bias + 2 * sum;
                let high = (twice * multiplier + (1 << 31)) >> 32;
                let found = (high + (twice >> 31) + offset) >> shift;
                assert_eq!(found.clamp(-128, 127), reference(&channel, sum), "{channel:?} {sum}");
            }
        }
    }

    #[test]
    fn what_cannot_be_one_rounding_is_not() {
        // Halves on both sides of the zero point go away from it.
        let factor = Factor { multiplier: 1 << 30, shift: -5 };
        let channel = Channel { bias: 0, factor, zero: 0, bounds: (-128, 127), sums: (-9000, 9000) };
        assert_eq!(channel.single(), None);
        assert!(channel.double().is_some());
        assert_eq!(affine([0.5, 0.5], Ord::max), None);
        assert!(affine([0.7, 0.2], |a, b| (7 * a + 2 * b).div_euclid(10).clamp(-128, 127)).is_some());
    }
}
