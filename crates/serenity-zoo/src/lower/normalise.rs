//! Weights where training would have them.
//!
//! With random weights alone, activations grow or fade from layer to layer and many channels are dead. Training does
//! not leave a network so: every convolution of these networks is followed by a batch normalisation (here folded into
//! kernel and bias). So we do what the normalisation does. Layer by layer, with the statistics of a run on random data, each
//! channel is brought to a mean and a deviation of its own, but of the same size as all others.

use super::draft::{Draft, DraftOp};
use super::kernels::Map;
use super::run::{Range, run};
use crate::rng::Rng;
use serde_json::Value;

/// Standard deviation after a convolution: nearly all that comes out lies within what inputs range over, so that an input
/// and what is concatenated with it can share one scale.
const SPREAD: f64 = 0.125;
/// Standard deviation where 6 is the largest value: some values should reach it.
const SPREAD_BELOW_6: f64 = 2.0;

/// Standard deviation of logits: some classes should be likelier than others and none certain, however many there are.
/// Of `n` random numbers the largest grows as the root of the logarithm of `n`.
fn spread_of_logits(classes: usize) -> f64 {
    0.8 * f64::from(classes.max(2).ilog2()).sqrt()
}

/// Normalises all weights of `draft` in a first run; returns what each tensor ranged over.
pub(super) fn normalise(draft: &mut Draft) -> Vec<Range> {
    let seed = draft.seed();
    run(draft, 0, |layer| {
        let spread = match (layer.op.kind, layer.op.activation()) {
            ("FULLY_CONNECTED", _) => spread_of_logits(layer.products.channels),
            (_, "relu6") => SPREAD_BELOW_6,
            _ => SPREAD,
        };
        // The stream of the last constant: that is the bias, for which no random numbers were drawn.
        let mut rng = Rng::new(seed, layer.op.constants().last().unwrap_or(0) as u64);
        let (factors, shifts) = statistics(layer.products, is_biased(layer.op), spread, &mut rng);
        apply(&factors, layer.op, layer.kernel);
        layer.bias.copy_from_slice(&shifts);
        factors
    })
}

fn is_biased(op: &DraftOp) -> bool {
    op.attributes.get("bias") == Some(&Value::Bool(true))
}

/// Factors and shifts that bring each channel to a standard deviation of about `spread`, and to a mean of about as much
/// if it may have a bias.
fn statistics(products: &Map, biased: bool, spread: f64, rng: &mut Rng) -> (Vec<f32>, Vec<f32>) {
    let channels = products.channels;
    let positions = (products.height * products.width) as f64;
    let mut sums = vec![0.0_f64; channels];
    let mut squares = vec![0.0_f64; channels];
    for pixel in products.values.chunks_exact(channels) {
        for ((sum, square), &value) in sums.iter_mut().zip(&mut squares).zip(pixel) {
            *sum += f64::from(value);
            *square += f64::from(value) * f64::from(value);
        }
    }
    // A channel of few positions says little about its own mean and variance; then those of the tensor stand in.
    let trust = 1.0 - 1.0 / positions;
    let overall = squares.iter().sum::<f64>() / (positions * channels as f64);
    let one_channel = |(sum, square): (f64, f64)| {
        let mean = if biased { trust * sum / positions } else { 0.0 };
        let variance = trust * (square / positions - mean * mean) + (1.0 - trust) * overall;
        // A channel that is constant, or nearly so, is left alone rather than blown up.
        let deviation = if variance > 1e-12 * overall { variance.sqrt() } else { 1.0 };
        let factor = spread * (0.75 + 0.5 * rng.unit()) / deviation;
        // About one deviation above 0, so that a ReLU lets most of a channel pass. Deep networks that cut off half at every
        // layer are chaotic: the smallest rounding ends in another result.
        let shift = if biased { spread * (0.5 + rng.unit()) - factor * mean } else { 0.0 };
        (factor as f32, shift as f32)
    };
    sums.into_iter().zip(squares).map(one_channel).unzip()
}

/// Multiplies every filter of a kernel by its factor.
fn apply(factors: &[f32], op: &DraftOp, kernel: &mut [f32]) {
    let (filters, taps) = (factors.len(), kernel.len() / factors.len());
    for (index, weight) in kernel.iter_mut().enumerate() {
        // Depthwise, the filters are the innermost dimension, otherwise the outermost.
        *weight *= factors[if op.kind == "DEPTHWISE_CONV_2D" { index % filters } else { index / taps }];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two channels: one spread around 10, one always 3.
    fn map() -> Map {
        let values = (0..100).flat_map(|i| [if i % 2 == 0 { 9.0 } else { 11.0 }, 3.0]).collect();
        Map { height: 10, width: 10, channels: 2, values }
    }

    #[test]
    fn channels_come_to_the_same_size() {
        let (factors, shifts) = statistics(&map(), true, 0.125, &mut Rng::new(1, 0));
        let mean = 10.0 * factors[0] + shifts[0];
        assert!((0.05..0.2).contains(&mean), "{mean}");
        assert!((0.05..0.2).contains(&factors[0]), "{}", factors[0]);
        assert!(factors[1].is_finite() && shifts[1].is_finite());
    }

    #[test]
    fn without_a_bias_nothing_is_shifted() {
        let (factors, shifts) = statistics(&map(), false, 1.0, &mut Rng::new(1, 0));
        assert_eq!(shifts, [0.0, 0.0]);
        assert!(factors[0] < factors[1]);
    }

    #[test]
    fn a_single_position_is_measured_by_its_tensor() {
        let one = Map { height: 1, width: 1, channels: 2, values: vec![3.0, -4.0] };
        let (factors, _) = statistics(&one, true, 1.0, &mut Rng::new(1, 0));
        assert!(factors.iter().all(|factor| (0.2..0.36).contains(factor)), "{factors:?}");
    }
}
