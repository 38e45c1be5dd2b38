//! Computes which numbers every channel can hold, from the inputs to the outputs.

use super::network::{Apart, Mix, Network, Numbers, Step, Sums, Transfer};
use super::range::{MOST_OF_A_SUM, Range, requantised};

/// What is known of the numbers in a network.
pub(super) struct Ranges {
    /// By tensor, by channel.
    pub(super) of: Vec<Vec<Range>>,
    /// By step that mixes, by channel of its result: can its sum, in whatever order it is added up, not leave 32 bits?
    pub(super) is_bounded: Vec<Vec<bool>>,
}

/// `None` if `stop` said so.
pub(super) fn ranges(network: &Network, stop: &dyn Fn() -> bool) -> Option<Ranges> {
    let of = network.tensors.iter().map(|tensor| vec![Range::all(tensor.numbers); tensor.count]);
    let mut ranges = Ranges { of: of.collect(), is_bounded: vec![Vec::new(); network.steps.len()] };
    for (index, step) in network.steps.iter().enumerate() {
        if stop() {
            return None;
        }
        match step {
            Step::Mix(mix) => ranges.mix(network, index, mix),
            Step::Apart(apart) => ranges.apart(network, apart),
            Step::Opaque(_) => {}
        }
    }
    Some(ranges)
}

/// A sum, and what its terms add up to at most, whatever their signs.
struct Sum {
    range: Range,
    most: f64,
}

impl Sum {
    fn of(bias: f64) -> Self {
        Self { range: Range::one(bias), most: bias.abs() }
    }

    /// Adds products of weights, of which the positive and the negative ones are summed up, with what a channel holds.
    fn add(&mut self, (positive, negative): (f64, f64), channel: Range, numbers: Numbers, sees_border: bool) {
        let zero = numbers.zero();
        let mut read = Range { low: channel.low - zero, high: channel.high - zero };
        if sees_border {
            read = read.with(Range::one(0.0));
        }
        if (positive, negative) == (0.0, 0.0) || read == Range::one(0.0) {
            return;
        }
        if numbers == Numbers::Real {
            // Real sums are rounded after every addition: nothing is known but that zeros change none.
            self.range = Range::all(Numbers::Real);
            return;
        }
        let low = positive * read.low + negative * read.high;
        let high = positive * read.high + negative * read.low;
        self.range = Range { low: self.range.low + low, high: self.range.high + high };
        self.most += low.abs().max(high.abs());
    }

    fn is_bounded(&self) -> bool {
        self.most <= MOST_OF_A_SUM
    }

    fn written(&self, sums: &Sums, channel: usize, numbers: Numbers) -> Range {
        let found = match (numbers, &sums.scales) {
            (Numbers::Real, _) => Some(self.range),
            (Numbers::Whole { zero_point, .. }, _) if self.range == Range::one(0.0) => {
                Some(Range::one(zero_point as f64))
            }
            (Numbers::Whole { zero_point, .. }, Some(scales)) if self.is_bounded() => {
                scales.get(channel).and_then(|&scale| {
                    let low = requantised(self.range.low, scale)?.low;
                    let high = requantised(self.range.high, scale)?.high;
                    Some(Range { low: low + zero_point as f64, high: high + zero_point as f64 })
                })
            }
            _ => None,
        };
        found.unwrap_or_else(|| Range::all(numbers)).clamped(sums.clamp, numbers)
    }
}

impl Ranges {
    fn mix(&mut self, network: &Network, index: usize, mix: &Mix) {
        let (from, to) = (&network.tensors[mix.input], &network.tensors[mix.output]);
        let read = std::mem::take(&mut self.of[mix.input]);
        for channel in 0..to.count {
            let mut sum = Sum::of(mix.sums.bias.get(channel).copied().unwrap_or(f64::NAN));
            for (position, &range) in read.iter().enumerate() {
                let pair = mix.weights.pair(channel * from.count + position);
                sum.add(pair, range, from.numbers, mix.sums.sees_border);
            }
            self.of[mix.output][channel] = sum.written(&mix.sums, channel, to.numbers);
            self.is_bounded[index].push(sum.is_bounded());
        }
        self.of[mix.input] = read;
    }

    fn apart(&mut self, network: &Network, apart: &Apart) {
        let to = &network.tensors[apart.output];
        // By channel of the result: what it is made of, and of which tensor.
        let mut read: Vec<Vec<(usize, Range)>> = vec![Vec::new(); to.count];
        for (position, tie) in apart.inputs.iter().enumerate() {
            for (channel, &range) in self.of[tie.input].iter().enumerate() {
                for result in tie.results(channel).flatten() {
                    if let Some(read) = read.get_mut(result) {
                        read.push((position, range));
                    }
                }
            }
        }
        let numbers = |position: usize| network.tensors[apart.inputs[position].input].numbers;
        for (channel, read) in read.iter().enumerate() {
            let all = Range::all(to.numbers);
            let range = match &apart.transfer {
                Transfer::Anything => all,
                Transfer::Copy { adds_zero, clamp } => {
                    let added = adds_zero.then(|| Range::one(to.numbers.zero()));
                    let held = read.iter().map(|&(_, range)| range).chain(added).reduce(Range::with);
                    held.unwrap_or(all).clamped(*clamp, to.numbers)
                }
                Transfer::Sum { signs, slack, clamp } => {
                    let mut sum = Range::one(0.0);
                    for &(position, range) in read {
                        let sign = signs.get(position).copied().unwrap_or(f64::NAN);
                        let (zero, scale) = (numbers(position).zero(), numbers(position).scale() * sign);
                        let ends = [(range.low - zero) * scale, (range.high - zero) * scale];
                        let term = Range { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) };
                        sum = Range { low: sum.low + term.low, high: sum.high + term.high };
                    }
                    stored(sum, to.numbers, *slack).clamped(*clamp, to.numbers)
                }
                Transfer::Window { weights, sums } => {
                    let mut sum = Sum::of(sums.bias.get(channel).copied().unwrap_or(f64::NAN));
                    for &(position, range) in read {
                        sum.add(weights.pair(channel), range, numbers(position), sums.sees_border);
                    }
                    sum.written(sums, channel, to.numbers)
                }
            };
            // What cannot be reckoned with can be anything.
            let is_known = range.low <= range.high;
            self.of[apart.output][channel] = if is_known { range } else { all };
        }
    }
}

/// How numbers are stored, where kernels may be off by `slack` steps before they round.
fn stored(real: Range, numbers: Numbers, slack: f64) -> Range {
    match numbers {
        Numbers::Real => real,
        Numbers::Whole { scale, zero_point, .. } => {
            let steps = Range { low: real.low / scale, high: real.high / scale }.rounded(slack);
            Range { low: steps.low + zero_point as f64, high: steps.high + zero_point as f64 }
        }
    }
}
