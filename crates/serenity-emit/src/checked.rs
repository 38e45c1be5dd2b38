//! Proves packed layers again before they are written, from the words that are written and from what the model says;
//! shares no code with what made the words.

use crate::fixed_point::Factor;
use crate::lower::Weighted;
use crate::source::{SourceGraph, SourceOp};
use std::collections::BTreeSet;

/// May an operator overwrite these bytes of the arena while it runs? Goes back from the results of the network: a
/// tensor matters from where it is written to where it is last read.
pub(crate) fn is_free(graph: &SourceGraph, op: &SourceOp, offset: u64, bytes: u64) -> bool {
    let mut matters: BTreeSet<usize> = graph.outputs.iter().copied().collect();
    for one in graph.ops.iter().rev() {
        if std::ptr::eq(one, op) {
            matters.extend(one.inputs.iter().chain(&one.outputs).flatten());
            return matters.iter().map(|&tensor| &graph.tensors[tensor]).all(|tensor| {
                let is_apart = |at: u64| at + tensor.bytes <= offset || offset + bytes <= at;
                tensor.place.offset().is_none_or(is_apart)
            });
        }
        for output in one.outputs.iter().flatten() {
            matters.remove(output);
        }
        matters.extend(one.inputs.iter().flatten());
    }
    false
}

/// Constants of a packed layer as the kernels read them.
pub(crate) struct Words<'w> {
    pub(crate) weights: &'w [u32],
    pub(crate) scales: &'w [i32],
    pub(crate) is_double: bool,
    pub(crate) is_depthwise: bool,
    /// Weights that lie in a row before zeros fill up a word.
    pub(crate) run: usize,
}

impl Words<'_> {
    /// Do they hold the weights of this layer, and do they make of every sum what the runtime makes of it?
    pub(crate) fn are_right(&self, made: &Weighted, bounds: (i32, i32)) -> bool {
        let results = made.channels[1] as usize;
        let own = if self.is_depthwise {
            self.by_tap(results, made.weights.len() / results)
        } else {
            self.by_pair(results, made.weights.len() / results)
        };
        let width = if self.is_double { 4 } else { 3 };
        let is_right = |(channel, weights): (usize, &Vec<i8>)| {
            let factor = made.layer.factors[channel.min(made.layer.factors.len() - 1)];
            let runtime = Runtime {
                bias: made.layer.bias[channel].into(),
                factor,
                zero: made.written.zero.into(),
                bounds,
            };
            let scale = &self.scales[channel * width..][..width];
            let doubled = !self.is_depthwise && channel % 2 == 1;
            let of_model = (0..weights.len()).map(|k| {
                if self.is_depthwise {
                    made.weights[k * results + channel]
                } else {
                    made.weights[channel * weights.len() + k]
                }
            });
            weights.iter().copied().eq(of_model) && scales_right(scale, doubled, &runtime, weights)
        };
        own.is_some_and(|own| own.iter().enumerate().all(is_right))
    }

    /// The weights of each channel, read as the kernel for four channels reads them.
    fn by_tap(&self, results: usize, taps: usize) -> Option<Vec<Vec<i8>>> {
        let mut all = vec![Vec::new(); results.next_multiple_of(4)];
        let mut words = self.weights.iter();
        for four in all.chunks_mut(4) {
            for _ in 0..taps.div_ceil(3) * 3 {
                let bytes = words.next()?.to_le_bytes();
                four.iter_mut().zip(bytes).for_each(|(channel, byte)| channel.push(byte.cast_signed()));
            }
        }
        let has_more = |channel: &Vec<i8>| channel[taps..].iter().any(|&weight| weight != 0);
        if words.next().is_some() || all.iter().any(has_more) {
            return None;
        }
        all.truncate(results);
        for channel in &mut all {
            channel.truncate(taps);
        }
        Some(all)
    }

    /// The weights of each channel, read as the kernels for eight channels and for two read them.
    fn by_pair(&self, results: usize, filter: usize) -> Option<Vec<Vec<i8>>> {
        let mut all = vec![Vec::new(); results.next_multiple_of(2)];
        let (mut words, mut rest) = (self.weights.iter(), &mut all[..]);
        while !rest.is_empty() {
            let (block, after) =
                rest.split_at_mut(if results.saturating_sub(results.next_multiple_of(2) - rest.len()) >= 8 {
                    8
                } else {
                    2
                });
            for _ in 0..filter / self.run * self.run.div_ceil(4) {
                let mut inputs = vec![[0; 4]; block.len()];
                for odd in [0, 1] {
                    for pair in inputs.chunks_mut(2) {
                        let word = *words.next()?;
                        for (half, input) in [(word as u16, odd), (((word >> 16) as u16), odd + 2)] {
                            let a = (half as u8).cast_signed();
                            let b = (i32::from(half.cast_signed()) - i32::from(a)) / 256;
                            (pair[0][input], pair[1][input]) = (a, i8::try_from(b).ok()?);
                        }
                    }
                }
                block.iter_mut().zip(inputs).for_each(|(channel, four)| channel.extend(four));
            }
            rest = after;
        }
        if words.next().is_some() {
            return None;
        }
        all.truncate(results);
        all.iter().map(|channel| self.without_zeros(channel)).collect()
    }

    /// The runs of a channel without the zeros after each; `None` if others are there.
    fn without_zeros(&self, channel: &[i8]) -> Option<Vec<i8>> {
        let runs = || channel.chunks(self.run.next_multiple_of(4));
        let is_filled = runs().all(|run| run[self.run..].iter().all(|&weight| weight == 0));
        is_filled.then(|| runs().flat_map(|run| &run[..self.run]).copied().collect())
    }
}

/// What the runtime makes of a sum.
struct Runtime {
    bias: i64,
    factor: Factor,
    zero: i64,
    bounds: (i32, i32),
}

impl Runtime {
    fn result(&self, sum: i64) -> i64 {
        let shift = self.factor.shift;
        let value = (self.bias + sum) << shift.max(0);
        let high = (value * i64::from(self.factor.multiplier) + (1 << 30)).div_euclid(1 << 31);
        let unit = 1_i64 << -shift.min(0);
        let scaled = high.signum() * ((high.abs() + unit / 2) / unit);
        (scaled + self.zero).clamp(self.bounds.0.into(), self.bounds.1.into())
    }
}

/// What a kernel makes of a sum; never less for a larger one.
enum Kernel {
    Single { constant: i64, multiplier: i64, shift: u32 },
    Double { twice_bias: i64, multiplier: i64, offset: i64, shift: u32 },
}

impl Kernel {
    fn of(scale: &[i32], doubled: bool) -> Option<Self> {
        let kernel = match *scale {
            [low, high, multiplier] => Self::Single {
                constant: i64::from(high) << 32 | i64::from(low.cast_unsigned()),
                multiplier: i64::from(multiplier) * if doubled { 256 } else { 1 },
                shift: if doubled { 44 } else { 36 },
            },
            [twice_bias, multiplier, offset, shift @ 0..=31] => Self::Double {
                twice_bias: twice_bias.into(),
                multiplier: multiplier.into(),
                offset: offset.into(),
                shift: shift as u32,
            },
            _ => return None,
        };
        let (Self::Single { multiplier, .. } | Self::Double { multiplier, .. }) = kernel;
        (multiplier >= 0).then_some(kernel)
    }

    /// `None` if something goes beyond its register.
    fn result(&self, sum: i64) -> Option<i64> {
        let value = match *self {
            Self::Single { constant, multiplier, shift } => {
                constant.checked_add(sum.checked_mul(multiplier)?)? >> shift
            }
            Self::Double { twice_bias, multiplier, offset, shift } => {
                let twice = i64::from(i32::try_from(twice_bias + 2 * sum).ok()?);
                let high = (twice * multiplier + (1 << 31)) >> 32;
                i64::from(i32::try_from(high + (twice >> 31) + offset).ok()?) >> shift
            }
        };
        Some(value.clamp(-128, 127))
    }
}

/// Do both functions agree on every sum? Neither ever falls. So they agree if their results at the least and at the most
/// sum are equal, and if each result in between begins at the same sum.
fn scales_right(scale: &[i32], doubled: bool, runtime: &Runtime, weights: &[i8]) -> bool {
    let most: i64 = weights
        .iter()
        .map(|&weight| if weight > 0 { 127 * i64::from(weight) } else { -128 * i64::from(weight) })
        .sum();
    let least: i64 = weights
        .iter()
        .map(|&weight| if weight > 0 { -128 * i64::from(weight) } else { 127 * i64::from(weight) })
        .sum();
    let widest = if doubled { 1 << 23 } else { 1 << 31 };
    if -least >= widest || most >= widest {
        return false;
    }
    let Some(kernel) = Kernel::of(scale, doubled) else { return false };
    let is_same = |sum: i64| kernel.result(sum) == Some(runtime.result(sum));
    let mut first = least;
    is_same(least)
        && is_same(most)
        && (runtime.result(least) + 1..=runtime.result(most)).all(|result| {
            first = first_with(result, first, most, runtime);
            is_same(first) && is_same(first - 1)
        })
}

/// The first sum beyond one below it whose result is at least this, as that of the last sum is.
fn first_with(result: i64, below: i64, most: i64, runtime: &Runtime) -> i64 {
    let mut step = 1;
    while below + step < most && runtime.result(below + step) < result {
        step *= 2;
    }
    let (mut low, mut high) = (below + step / 2, (below + step).min(most));
    while high - low > 1 {
        let middle = i64::midpoint(low, high);
        if runtime.result(middle) < result { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::{Affine, Layer};
    use crate::packing;
    use crate::rounding::Channel;
    use serenity_ir::{Slide, Window};

    const DEPTH: usize = 5;
    const RESULTS: usize = 11;

    fn layer(weights: Vec<i8>) -> Weighted {
        let window = Window { taps: 1, stride: 1, dilation: 1 };
        let slides = [Slide { window, input: 1, output: 1, before: 0, after: 0 }; 2];
        let factors = vec![Factor { multiplier: 1_234_567_890, shift: -8 }];
        let bias = vec![321; RESULTS];
        let layer = Layer { given: bias.clone(), bias, wraps: false, holds_differences: true, factors };
        let ends = [3, -128].map(|zero| Affine { scale: 1.0, zero });
        let channels = [DEPTH as i64, RESULTS as i64];
        Weighted { batches: 1, slides, channels, groups: 1, read: ends[0], written: ends[1], weights, layer }
    }

    fn scales(made: &Weighted) -> Vec<i32> {
        let one = |channel: usize| {
            let sums = Channel::sums(made.weights[channel * DEPTH..][..DEPTH].iter().copied());
            let (bias, factor) = (made.layer.bias[channel], made.layer.factors[0]);
            let (constant, multiplier) =
                Channel { bias, factor, zero: -128, bounds: (-128, 127), sums }.single().unwrap();
            let constant = if channel % 2 == 1 { constant << 8 } else { constant };
            [constant as i32, (constant >> 32) as i32, multiplier]
        };
        (0..RESULTS).flat_map(one).chain([0; 3]).collect()
    }

    #[test]
    fn a_changed_word_is_noticed() {
        let made = layer((0..DEPTH * RESULTS).map(|k| (k * 89 + 7) as i8 | 1).collect());
        let (mut weights, mut scales) =
            (packing::channels(&made.weights, RESULTS, DEPTH).unwrap(), scales(&made));
        let is_right = |weights: &[u32], scales: &[i32]| {
            Words { weights, scales, is_double: false, is_depthwise: false, run: DEPTH }
                .are_right(&made, (-128, 127))
        };
        assert!(is_right(&weights, &scales));
        for word in 0..weights.len() {
            for bit in [0, 7, 8, 15, 16, 31] {
                weights[word] ^= 1 << bit;
                // The last channel has nobody beside it.
                let is_read = bit % 16 < 8 || word < weights.len() - 4;
                assert!(!is_read || !is_right(&weights, &scales), "{word} {bit}");
                weights[word] ^= 1 << bit;
            }
        }
        assert!(!is_right(&weights[1..], &scales));
        for word in 0..3 * RESULTS {
            // The lowest words are finer than any threshold.
            let change = if word % 3 == 2 { 1 << 16 } else { i32::from(word % 3 == 1) << 10 };
            scales[word] += change;
            assert!(change == 0 || !is_right(&weights, &scales), "{word}");
            scales[word] -= change;
        }
    }
}
