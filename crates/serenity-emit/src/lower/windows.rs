//! Convolutions and pools.

use super::options::Affine;
use super::packed;
use super::quantized::Layer;
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::names::short;
use crate::refused::Refused;
use crate::source::Library;
use crate::stream::Over;
use serenity_ir::ElementType::Int8;
use serenity_ir::{Padding, Slide, Window};

/// One place after the other.
pub(super) fn single(size: i64) -> Slide {
    let window = Window { taps: 1, stride: 1, dilation: 1 };
    Slide { window, input: size, output: size, before: 0, after: 0 }
}

/// Does every window of a pool see something? If the first and the last do, so do all between.
pub(super) fn sees_something(slide: &Slide) -> bool {
    [0, slide.output - 1].iter().all(|&result| slide.first_element(result).is_some())
}

/// The windows of an operator: rows, then columns.
pub(super) fn slides(
    at: &At,
    input: [i64; 4],
    output: [i64; 4],
    taps: [i64; 2],
    dilation: [i64; 2],
) -> Result<[Slide; 2], Refused> {
    let stride = at.pair("stride")?;
    let padding = at.word("padding").and_then(Padding::named);
    let padding = padding.ok_or_else(|| at.not_covered("its padding is neither `same` nor `valid`"))?;
    let slide = |side: usize| {
        let window = Window::new(taps[side], stride[side], dilation[side]);
        let slide = window.and_then(|window| window.along(input[1 + side], padding));
        let fits = slide.filter(|slide| slide.output == output[1 + side]);
        fits.ok_or_else(|| at.not_covered("its shapes do not fit together"))
    };
    at.refuse_misfit(input[0] != output[0])?;
    Ok([slide(0)?, slide(1)?])
}

pub(super) fn dilation(at: &At) -> Result<[i64; 2], Refused> {
    if at.option("dilation").is_some() { at.pair("dilation") } else { Ok([1, 1]) }
}

/// What all layers begin with, as the members of a structure.
pub(super) fn geometry(batches: i64, slides: [Slide; 2], channels: i64, last: i64) -> String {
    format!("{batches}, {}", image(slides, channels, last))
}

/// One image, its result and the window between them, as members of a structure.
pub(super) fn image([rows, columns]: [Slide; 2], channels: i64, last: i64) -> String {
    format!(
        "{}, {}, {channels}, {}, {}, {last},\n    /* window */ {}, {}, {}, {}, {}, {}, {}, {},",
        rows.input,
        columns.input,
        rows.output,
        columns.output,
        rows.window.taps,
        columns.window.taps,
        rows.window.stride,
        columns.window.stride,
        rows.window.dilation,
        columns.window.dilation,
        rows.before,
        columns.before
    )
}

impl At<'_, '_> {
    /// Is the code for cores with vectors? Then it has pieces for them, and weights are not packed.
    pub(super) fn has_vectors(&mut self, fragment: Fragment) -> bool {
        let has_vectors = self.emitter.source.library == Library::Helium;
        if has_vectors {
            self.uses(fragment);
        }
        has_vectors
    }
}

/// The name of what an operator makes, for its constants.
pub(super) fn wish(at: &At) -> String {
    at.output(0).map_or_else(|_| String::new(), |output| short(&output.name))
}

fn ends(at: &At, read: Affine, written: Affine) -> Result<String, Refused> {
    let (least, most) = at.bounds(written)?;
    Ok(format!("/* zero points, bounds */ {}, {}, {least}, {most},", read.zero, written.zero))
}

/// Must a layer go from its last pixel to its first? It must where its result lies over what it reads and begins above
/// it, which is planned for single pictures only.
pub(super) fn is_backward(at: &At, made: &Weighted) -> Result<bool, Refused> {
    let bytes = at.input(0)?.bytes;
    let places = at.offset(at.input_id(0)).zip(at.offset(at.output_id(0)));
    let is_above = places.is_some_and(|(from, to)| from < to && to < from.saturating_add(bytes));
    Ok(is_above && made.batches == 1)
}

/// A layer with weights, whoever makes it.
pub(crate) struct Weighted {
    pub(crate) batches: i64,
    pub(crate) slides: [Slide; 2],
    /// Channels of the input, and of the output.
    pub(crate) channels: [i64; 2],
    /// Groups of channels that know nothing of each other.
    pub(crate) groups: i64,
    pub(crate) read: Affine,
    pub(crate) written: Affine,
    pub(crate) weights: Vec<i8>,
    pub(crate) layer: Layer,
}

impl Weighted {
    /// The convolution of an operator; refused if something about it is not covered.
    pub(super) fn convolution(at: &At) -> Result<Self, Refused> {
        let (filter, (input, output)) = (at.input(1)?, at.ends([&Int8, &Int8])?);
        let (from, to, sides) = (at.sides(input)?, at.sides(output)?, at.sides(filter)?);
        let [filters, height, width, depth] = sides;
        let groups = from[3] / depth;
        at.refuse_misfit(from[3] % depth != 0 || filters != to[3] || filters % groups != 0)?;
        let slides = slides(at, from, to, [height, width], dilation(at)?)?;
        let (read, written) = (at.affine(input)?, at.affine(output)?);
        let (results, weights) = (filters as usize, at.weights(1)?);
        let factors = at.factors(filter, read, written, results)?;
        let each = weights.chunks(weights.len() / results);
        let each = each.map(|filter| Box::new(filter.iter().copied()) as Box<dyn Iterator<Item = i8>>);
        let layer = Layer::new(at, each, at.bias(2, results)?, read.zero, factors)?;
        Ok(Self {
            batches: from[0],
            slides,
            channels: [from[3], filters],
            groups,
            read,
            written,
            weights,
            layer,
        })
    }

    /// The layer of a depthwise convolution, with a factor per channel.
    pub(super) fn depthwise(at: &At) -> Result<Self, Refused> {
        let (filter, (input, output)) = (at.input(1)?, at.ends([&Int8, &Int8])?);
        let (from, to, [one, height, width, depth]) =
            (at.sides(input)?, at.sides(output)?, at.sides(filter)?);
        at.refuse_misfit(one != 1 || depth != to[3] || depth % from[3] != 0)?;
        let slides = slides(at, from, to, [height, width], dilation(at)?)?;
        let (read, written) = (at.affine(input)?, at.affine(output)?);
        let (results, weights) = (depth as usize, at.weights(1)?);
        let mut factors = at.factors(filter, read, written, results)?;
        if factors.len() == 1 {
            factors = vec![factors[0]; results];
        }
        let each = (0..results).map(|channel| {
            let own = weights[channel..].iter().step_by(results).copied();
            Box::new(own) as Box<dyn Iterator<Item = i8>>
        });
        let layer = Layer::new(at, each, at.bias(2, results)?, read.zero, factors)?;
        Ok(Self {
            batches: from[0],
            slides,
            channels: [from[3], depth],
            groups: 1,
            read,
            written,
            weights,
            layer,
        })
    }

    /// A depthwise convolution that makes several channels of one: as a convolution, the weights of a filter one after
    /// the other.
    fn as_convolution(&self) -> Option<Self> {
        let [1, results @ 2..=i64::MAX] = self.channels else { return None };
        let results = results as usize;
        let of = |channel: usize| self.weights[channel..].iter().step_by(results).copied();
        Some(Self { weights: (0..results).flat_map(of).collect(), layer: self.layer.clone(), ..*self })
    }

    /// The weights as a constant: its name.
    pub(super) fn named_weights(&self, at: &mut At, wish: &str) -> String {
        let [height, width] = self.slides.map(|slide| slide.window.taps);
        let why = if at.op.kind == "CONV_2D" {
            format!("filters of {height} x {width} x {}", self.channels[0] / self.groups)
        } else {
            format!("filters of {height} x {width}")
        };
        at.emitter.pool.i8s(&self.weights, &format!("{wish}_weights"), &why)
    }
}

pub(super) fn convolution(at: &mut At) -> Result<String, Refused> {
    let made = Weighted::convolution(at)?;
    filtered(at, made)
}

/// A layer that is a convolution.
fn filtered(at: &mut At, mut made: Weighted) -> Result<String, Refused> {
    if at.has_vectors(Fragment::ConvVectorsS8) {
        made.layer.for_vectors();
    } else if let Some(packed) = packed::convolution(at, &made)? {
        return Ok(packed);
    }
    let wish = wish(at);
    let [bias, multiplier, shift] = made.layer.named(at, &wish);
    let weights = made.named_weights(at, &wish);
    let step = i32::from(made.layer.factors.len() > 1);
    let [depth, filters] = made.channels;
    let mut grouped = String::new();
    let (fragment, layer, kernel) = if made.groups > 1 {
        grouped = format!("/* groups */ {}, {}, ", depth / made.groups, filters / made.groups);
        (Fragment::GroupedS8, "grouped_s8", "grouped_s8")
    } else if is_backward(at, &made)? {
        (Fragment::ConvBackwardS8, "conv_s8", "conv_backward_s8")
    } else {
        (Fragment::ConvS8, "conv_s8", "conv_s8")
    };
    let Over { before, kernel, from } = at.over(kernel, fragment, made.slides[0])?;
    let (to, layer) = (at.write(0)?, at.k(layer));
    Ok(format!(
        "{before}static const struct {layer} layer = {{\n    /* batches, input, output */ {}\n    {}\n    {grouped}{step}, {weights}, {bias}, {multiplier}, {shift},\n}};\n\
         {kernel}(&layer, {from}, (int8_t *)({to}));\n",
        geometry(made.batches, made.slides, depth, filters),
        ends(at, made.read, made.written)?,
    ))
}

pub(super) fn depthwise(at: &mut At) -> Result<String, Refused> {
    let made = Weighted::depthwise(at)?;
    if let Some(convolution) = made.as_convolution() {
        return filtered(at, convolution);
    }
    if !at.has_vectors(Fragment::DepthwiseVectorsS8)
        && let Some(packed) = packed::depthwise(at, &made)?
    {
        return Ok(packed);
    }
    let wish = wish(at);
    let [bias, multiplier, shift] = made.layer.named(at, &wish);
    let weights = made.named_weights(at, &wish);
    let (fragment, kernel) = if is_backward(at, &made)? {
        (Fragment::DepthwiseBackwardS8, "depthwise_backward_s8")
    } else {
        (Fragment::DepthwiseS8, "depthwise_s8")
    };
    let Over { before, kernel, from } = at.over(kernel, fragment, made.slides[0])?;
    let (target, layer) = (at.write(0)?, at.k("depthwise_s8"));
    let [channels, results] = made.channels;
    Ok(format!(
        "{before}static const struct {layer} layer = {{\n    /* batches, input, output, multiplicity */ {}\n    {}\n    {weights}, {bias}, {multiplier}, {shift},\n}};\n\
         {kernel}(&layer, {from}, (int8_t *)({target}));\n",
        geometry(made.batches, made.slides, channels, results / channels),
        ends(at, made.read, made.written)?,
    ))
}

/// How far the scales of what a pool reads and writes may be apart for the runtime.
const POOLS_APART: f64 = 1e-6;

/// A pool, whoever makes it.
pub(crate) struct Pool {
    pub(crate) from: [i64; 4],
    pub(crate) slides: [Slide; 2],
    pub(crate) bounds: (i32, i32),
}

impl Pool {
    pub(crate) fn of(at: &At) -> Result<Self, Refused> {
        let (input, output) = at.ends([&Int8, &Int8])?;
        at.must_be_alike([input, output], POOLS_APART)?;
        let (from, to, taps) = (at.sides(input)?, at.sides(output)?, at.pair("kernel")?);
        let slides = slides(at, from, to, taps, [1, 1])?;
        let bounds = at.bounds(at.affine(output)?)?;
        let sees_something = slides.iter().all(sees_something);
        at.refuse_misfit(from[3] != to[3] || !sees_something || taps[0] * taps[1] >= 1 << 23)?;
        Ok(Self { from, slides, bounds })
    }
}

pub(super) fn pool(at: &mut At) -> Result<String, Refused> {
    let Pool { from, slides: [rows, columns], bounds: (least, most) } = Pool::of(at)?;
    let kernel = if at.op.kind == "MAX_POOL_2D" { "max_pool_s8" } else { "average_pool_s8" };
    let Over { before, kernel, from: source } = at.over(kernel, Fragment::PoolS8, rows)?;
    let (target, type_name) = (at.write(0)?, at.k("pool_s8"));
    Ok(format!(
        "{before}static const struct {type_name} layer = {{\n    /* batches, input, output */ {}, {}, {}, {}, {}, {},\n    /* window */ {}, {}, {}, {}, {}, {},\n    /* bounds */ {least}, {most},\n}};\n\
         {kernel}(&layer, {source}, (int8_t *)({target}));\n",
        from[0],
        from[1],
        from[2],
        from[3],
        rows.output,
        columns.output,
        rows.window.taps,
        columns.window.taps,
        rows.window.stride,
        columns.window.stride,
        rows.before,
        columns.before,
    ))
}
