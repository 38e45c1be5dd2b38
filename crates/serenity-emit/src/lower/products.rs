//! Dense layers.

use super::packed;
use super::quantized::Layer;
use super::windows::{Weighted, geometry, single, wish};
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::Int8;

/// A dense layer is a convolution of single pixels, one a row of the batch.
pub(super) fn dense(at: &At) -> Result<Weighted, Refused> {
    let (filter, (input, output)) = (at.input(1)?, at.ends([&Int8, &Int8])?);
    let [outputs, depth] = filter.shape[..] else { return Err(at.not_covered("its weights are no matrix")) };
    at.refuse_misfit(
        depth == 0
            || outputs == 0
            || !input.count().is_multiple_of(depth)
            || output.count() != input.count() / depth * outputs,
    )?;
    if at.word("weights_format").is_some_and(|format| format != "default") {
        return Err(at.not_covered("its weights are shuffled"));
    }
    let rows = (input.count() / depth) as i64;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let (results, weights) = (outputs as usize, at.weights(1)?);
    let mut factors = at.factors(filter, read, written, results)?;
    if let [_] = factors[..] {
        // The runtime multiplies these two scales as floats.
        let scale = filter.quantization.as_ref().map_or(0.0, |q| q.scales[0]);
        factors = vec![Factor::of(f64::from(read.scale * scale) / written.scale())];
    }
    let each = weights.chunks(depth as usize);
    let each = each.map(|row| Box::new(row.iter().copied()) as Box<dyn Iterator<Item = i8>>);
    let layer = Layer::new(at, each, at.bias(2, results)?, read.zero, factors)?;
    let (slides, channels) = ([1, rows].map(single), [depth as i64, outputs as i64]);
    Ok(Weighted { batches: 1, slides, channels, groups: 1, read, written, weights, layer })
}

/// The weights as a constant: its name.
pub(super) fn named_matrix(made: &Weighted, at: &mut At, wish: &str) -> String {
    let [depth, outputs] = made.channels;
    let why = format!("a matrix of {outputs} x {depth}");
    at.emitter.pool.i8s(&made.weights, &format!("{wish}_weights"), &why)
}

pub(super) fn fully_connected(at: &mut At) -> Result<String, Refused> {
    let mut made = dense(at)?;
    if at.has_vectors(Fragment::ConvVectorsS8) {
        made.layer.for_vectors();
    } else if let Some(packed) = packed::convolution(at, &made)? {
        return Ok(packed);
    }
    let wish = wish(at);
    let [bias, multiplier, shift] = made.layer.named(at, &wish);
    let weights = named_matrix(&made, at, &wish);
    let (least, most) = at.bounds(made.written)?;
    let step = i32::from(made.layer.factors.len() > 1);
    at.uses(Fragment::ConvS8);
    let (from, to, kernel) = (at.read(0)?, at.write(0)?, at.k("conv_s8"));
    let [depth, outputs] = made.channels;
    Ok(format!(
        "static const struct {kernel} layer = {{\n    /* batches, input, output */ {}\n    /* zero points, bounds */ {}, {}, {least}, {most},\n    {step}, {weights}, {bias}, {multiplier}, {shift},\n}};\n\
         {kernel}(&layer, (const int8_t *)({from}), (int8_t *)({to}));\n",
        geometry(1, made.slides, depth, outputs),
        made.read.zero,
        made.written.zero,
    ))
}
