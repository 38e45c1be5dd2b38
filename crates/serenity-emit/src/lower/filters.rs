//! Filters that remember.

use super::quantized::Layer;
use super::windows::wish;
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::pool::Ctype;
use crate::refused::Refused;
use crate::source::{DataPlace, SourceTensor};
use serenity_ir::ElementType::{Int8, Int16};

const WEIGHTS: usize = 1;
const TIME: usize = 2;
const BIAS: usize = 3;
const STATE: usize = 4;

/// `SVDF` of 8-bit integers with a memory of 16-bit ones.
pub(super) fn svdf(at: &mut At) -> Result<String, Refused> {
    let ((input, output), filter) = (at.ends([&Int8, &Int8])?, at.input(WEIGHTS)?);
    let (time, state) = (at.input(TIME)?, at.input(STATE)?);
    at.must_be(time, &Int16)?;
    at.must_be(state, &Int16)?;
    if !matches!(state.place, DataPlace::Variable) {
        return Err(at.not_covered("its state is no variable"));
    }
    // The runtime asks for this activation, and leaves it to the zero point of the result.
    if at.word("activation") != Some("relu") {
        return Err(at.not_covered("its activation is another than `relu`"));
    }
    let rank = at.int("rank").filter(|&rank| rank > 0).map(|rank| rank as u64);
    let (Some(rank), &[filters, inputs], &[_, memory]) = (rank, &filter.shape[..], &time.shape[..]) else {
        return Err(at.not_covered("its weights are no matrices, or its rank is missing"));
    };
    let batches = input.count().checked_div(inputs).unwrap_or(0);
    let units = filters / rank;
    at.refuse_misfit(
        [inputs, memory, units, batches].contains(&0)
            || filters % rank != 0
            || input.count() != batches.saturating_mul(inputs)
            || time.count() != filters.saturating_mul(memory)
            || state.count() != batches.saturating_mul(time.count())
            || output.count() != batches.saturating_mul(units),
    )?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let [of_filter, of_time, of_state] = [scale(at, filter)?, scale(at, time)?, scale(at, state)?];
    // In floats, as the runtime does.
    let factors = [read.scale * of_filter / of_state, of_state * of_time / written.scale];
    let [factor, out_factor] = factors.map(|factor| Factor::of(f64::from(factor)));
    let weights = at.weights(WEIGHTS)?;
    let each = weights.chunks(inputs as usize);
    let each = each.map(|row| Box::new(row.iter().copied()) as Box<dyn Iterator<Item = i8>>);
    let layer = Layer::new(at, each, None, read.zero, vec![factor])?;
    if !out_factor.is_usual() {
        return Err(at.not_covered("its result has too fine a scale"));
    }
    let (time, bias) = remembered(at, [units, rank, memory])?;
    let wish = wish(at);
    let pool = &mut at.emitter.pool;
    let weights = pool.i8s(&weights, &format!("{wish}_weights"), "a filter a row");
    let folded = pool.i32s(&layer.bias, &format!("{wish}_folded"), "what the zero point of the input adds");
    let time =
        pool.named(Ctype::I16, &time, &format!("{wish}_time"), "weights of what was, the oldest first");
    let bias = pool.i32s(&bias, &format!("{wish}_bias"), "biases");
    at.uses(Fragment::SvdfS8);
    let (kernel, from, state, to) = (at.k("svdf_s8"), at.read(0)?, at.read(STATE)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} layer = {{\n    {batches}, {inputs}, {units}, {rank}, {memory}, {}, {}, {}, {}, {},\n    {weights}, {folded}, (const uint8_t *){time}, {bias},\n}};\n\
         {kernel}(&layer, (const int8_t *)({from}), {state}, (int8_t *)({to}));\n",
        factor.multiplier, factor.shift, out_factor.multiplier, out_factor.shift, written.zero
    ))
}

/// The one scale of a tensor whose zero point is 0.
fn scale(at: &At, tensor: &SourceTensor) -> Result<f32, Refused> {
    let quantization = tensor.quantization.as_ref();
    let scale = quantization.filter(|q| q.scales.len() == 1 && q.zero_points.iter().all(|&zero| zero == 0));
    let scale = scale.map(|q| q.scales[0]).filter(|scale| scale.is_finite() && *scale > 0.0);
    scale
        .ok_or_else(|| at.not_covered("its weights or its state have no scale of their own, or a zero point"))
}

/// The weights of what was, and the biases.
fn remembered(at: &At, [units, rank, memory]: [u64; 3]) -> Result<(Vec<u8>, Vec<i32>), Refused> {
    let bytes = at.constant(TIME).filter(|bytes| bytes.len() as u64 == 2 * units * rank * memory);
    let bytes = bytes.ok_or_else(|| at.not_covered("its weights are no constant"))?.to_vec();
    let mut bias: Vec<i32> = at
        .bias(BIAS, units as usize)?
        .unwrap_or_default()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&b| i32::from_le_bytes(b))
        .collect();
    bias.resize(units as usize, 0);
    Ok((bytes, bias))
}
