//! Weights of integers: folded biases, multipliers, and whether sums fit.

use super::options::Affine;
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::refused::Refused;
use crate::source::SourceTensor;

/// The constants of a layer of 8-bit integers, by output channel.
#[derive(Clone)]
pub(crate) struct Layer {
    /// As the model has them.
    pub(crate) given: Vec<i32>,
    /// With what the zero point of the input adds.
    pub(crate) bias: Vec<i32>,
    /// May a sum, or a sum once scaled, go beyond 32 bits? Then it wraps around, as it does in the runtime: only
    /// kernels that say so compute such a layer.
    pub(crate) wraps: bool,
    /// Can inputs less their zero point be added up as well, from the given bias on, in whatever order?
    pub(crate) holds_differences: bool,
    pub(crate) factors: Vec<Factor>,
}

impl Layer {
    /// `weights` lists those of each output channel; the zero point of what is read is folded into the bias, so that
    /// sums are of products of bytes as they are.
    pub(crate) fn new<'w>(
        at: &At,
        weights: impl Iterator<Item = Box<dyn Iterator<Item = i8> + 'w>>,
        bias: Option<&[u8]>,
        zero: i32,
        factors: Vec<Factor>,
    ) -> Result<Self, Refused> {
        let given: Vec<i32> =
            bias.unwrap_or_default().as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b)).collect();
        let (mut folded, mut given_biases) = (Vec::new(), Vec::new());
        let (mut wraps, mut holds_differences) = (false, true);
        if !factors.iter().all(|factor| factor.is_usual()) {
            return Err(at.not_covered("its result has too fine a scale"));
        }
        for (channel, weights) in weights.enumerate() {
            let given = i64::from(given.get(channel).copied().unwrap_or(0));
            let (mut sum, mut size) = (0_i64, 0_i64);
            let (mut least, mut most) = (given, given);
            for weight in weights.map(i64::from) {
                sum += weight;
                size += weight.abs();
                let ends = [weight * (-128 - i64::from(zero)), weight * (127 - i64::from(zero))];
                least += ends[0].min(ends[1]);
                most += ends[0].max(ends[1]);
            }
            let bias = given - i64::from(zero) * sum;
            // Whatever the order: no partial sum is further from 0 than this.
            let furthest = bias.abs() + 128 * size;
            let result = least.abs().max(most.abs());
            let factor = factors.get(channel.min(factors.len().saturating_sub(1)));
            wraps |= furthest > i64::from(i32::MAX) || !factor.is_some_and(|factor| factor.holds(result));
            holds_differences &= given.abs() + 255 * size <= i64::from(i32::MAX);
            folded.push(bias as i32);
            given_biases.push(given as i32);
        }
        Ok(Self {
            given: given_biases,
            bias: folded,
            wraps,
            holds_differences: holds_differences && !wraps,
            factors,
        })
    }

    /// Kernels of vectors load multipliers for several channels at once.
    pub(crate) fn for_vectors(&mut self) {
        if let [factor] = self.factors[..] {
            self.factors = vec![factor; self.bias.len()];
        }
    }

    /// As constants: the names of the biases, of the multipliers and of the shifts.
    pub(crate) fn named(&self, at: &mut At, name: &str) -> [String; 3] {
        let multipliers: Vec<i32> = self.factors.iter().map(|factor| factor.multiplier).collect();
        let shifts: Vec<i8> = self.factors.iter().map(|factor| factor.shift as i8).collect();
        let pool = &mut at.emitter.pool;
        [
            pool.i32s(
                &self.bias,
                &format!("{name}_bias"),
                "biases, with what the zero point of the input adds",
            ),
            pool.i32s(&multipliers, &format!("{name}_multiplier"), "multipliers by output channel"),
            pool.i8s(&shifts, &format!("{name}_shift"), "shifts by output channel"),
        ]
    }
}

impl At<'_, '_> {
    /// The weights of a layer: constants of 8-bit integers without a zero point.
    pub(crate) fn weights(&self, position: usize) -> Result<Vec<i8>, Refused> {
        let tensor = self.input(position)?;
        self.must_be(tensor, &serenity_ir::ElementType::Int8)?;
        let zeros = tensor.quantization.as_ref().map_or(&[][..], |q| &q.zero_points);
        if zeros.iter().any(|&zero| zero != 0) {
            return Err(self.not_covered("its weights have a zero point"));
        }
        let bytes =
            self.constant(position).filter(|bytes| bytes.len() as u64 == tensor.bytes && !bytes.is_empty());
        let bytes = bytes.ok_or_else(|| self.not_covered("its weights are no constant"))?;
        Ok(bytes.iter().map(|byte| byte.cast_signed()).collect())
    }

    /// The bias, if there is one: 32-bit integers, a constant.
    pub(crate) fn bias(&self, position: usize, channels: usize) -> Result<Option<&[u8]>, Refused> {
        if self.input_id(position).is_none() {
            return Ok(None);
        }
        let tensor = self.input(position)?;
        self.must_be(tensor, &serenity_ir::ElementType::Int32)?;
        let bytes = self.constant(position).filter(|bytes| bytes.len() == 4 * channels);
        bytes.map(Some).ok_or_else(|| self.not_covered("its bias is no constant, or has another length"))
    }

    /// The factors from sums to results, by output channel, or one for all.
    pub(crate) fn factors(
        &self,
        weights: &SourceTensor,
        read: Affine,
        written: Affine,
        channels: usize,
    ) -> Result<Vec<Factor>, Refused> {
        let scales = weights.quantization.as_ref().map_or(&[][..], |q| &q.scales);
        let is_fit = |scale: &f32| scale.is_finite() && *scale >= 0.0;
        if !(scales.len() == channels || scales.len() == 1) || !scales.iter().all(is_fit) {
            return Err(self.not_covered("its weights have no scales that fit"));
        }
        Ok(scales
            .iter()
            .map(|&scale| Factor::of(read.scale() * f64::from(scale) / written.scale()))
            .collect())
    }
}
