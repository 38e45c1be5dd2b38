//! Transposed convolutions.

use super::quantized::Layer;
use super::windows::{geometry, slides, wish};
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::Int8;
use serenity_ir::Slide;

/// What is scattered.
const INPUT: usize = 2;
const FILTER: usize = 1;
const BIAS: usize = 3;

/// The geometry: the sides of the input, of the result and of the filter, and how the windows of a convolution from the
/// result to the input would slide.
pub(super) struct Transposed {
    pub(super) from: [i64; 4],
    pub(super) to: [i64; 4],
    slides: [Slide; 2],
}

impl Transposed {
    pub(super) fn of(at: &At) -> Result<Self, Refused> {
        let (from, to) = (at.sides(at.input(INPUT)?)?, at.sides(at.output(0)?)?);
        let [filters, height, width, depth] = at.sides(at.input(FILTER)?)?;
        at.refuse_misfit(filters != to[3] || depth != from[3])?;
        Ok(Self { from, to, slides: slides(at, to, from, [height, width], [1, 1])? })
    }

    /// As members of a structure: the input is what the windows would make.
    pub(super) fn geometry(&self) -> String {
        let turned = self.slides.map(|slide| Slide { input: slide.output, output: slide.input, ..slide });
        geometry(self.from[0], turned, self.from[3], self.to[3])
    }
}

/// Of 8-bit integers.
pub(super) fn convolution(at: &mut At) -> Result<String, Refused> {
    let (input, filter, output) = (at.input(INPUT)?, at.input(FILTER)?, at.output(0)?);
    at.must_be(input, &Int8)?;
    at.must_be(output, &Int8)?;
    let made = Transposed::of(at)?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let (results, weights) = (made.to[3] as usize, at.weights(FILTER)?);
    let factors = at.factors(filter, read, written, results)?;
    let each = weights.chunks(weights.len() / results);
    let each = each.map(|filter| Box::new(filter.iter().copied()) as Box<dyn Iterator<Item = i8>>);
    let mut layer = Layer::new(at, each, at.bias(BIAS, results)?, read.zero, factors)?;
    // Not every tap meets an input, so zero points are not part of the bias.
    layer.bias.clone_from(&layer.given);
    let wish = wish(at);
    let [bias, multiplier, shift] = layer.named(at, &wish);
    let weights =
        at.emitter.pool.i8s(&weights, &format!("{wish}_weights"), "filters, from the result's side");
    let (step, (least, most)) = (i32::from(layer.factors.len() > 1), at.bounds(written)?);
    at.uses(Fragment::TransposedS8);
    let (kernel, type_name) = (at.k("transposed_s8"), at.k("conv_s8"));
    let (from, to) = (at.read(INPUT)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} layer = {{\n    /* batches, input, output */ {}\n    /* zero points, bounds */ {}, {}, {least}, {most},\n    {step}, {weights}, {bias}, {multiplier}, {shift},\n}};\n\
         {kernel}(&layer, (const int8_t *)({from}), (int8_t *)({to}));\n",
        made.geometry(),
        read.zero,
        written.zero,
    ))
}
