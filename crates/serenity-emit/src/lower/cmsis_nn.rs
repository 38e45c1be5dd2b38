//! Operators as calls of the user's CMSIS-NN. What the library has no function for, or not for these shapes, is left to
//! our own kernels.

use super::elementwise::{Product, Sum};
use super::products::{dense, named_matrix};
use super::softmax::Softmax;
use super::windows::{Pool, Weighted, wish};
use crate::emitter::At;
use crate::refused::Refused;
use crate::source::Library;
use serenity_ir::ElementType::Int8;
use serenity_ir::Slide;

/// The code of an operator, if a function of the library makes it.
pub(super) fn lowered(at: &mut At) -> Result<Option<String>, Refused> {
    let is_of_bytes = at.input(0).is_ok_and(|input| input.dtype == Int8);
    if !matches!(at.emitter.source.library, Library::CmsisNn | Library::CmsisNnMve) || !is_of_bytes {
        return Ok(None);
    }
    match at.op.kind.as_str() {
        "CONV_2D" => convolution(at),
        "DEPTHWISE_CONV_2D" => depthwise(at),
        "FULLY_CONNECTED" => fully_connected(at),
        "AVERAGE_POOL_2D" => pool(at, "arm_avgpool_s8"),
        "MAX_POOL_2D" => pool(at, "arm_max_pool_s8"),
        "ADD" => sum(at),
        "MUL" => product(at),
        "SOFTMAX" => softmax(at).map(Some),
        _ => Ok(None),
    }
}

/// A pair of sides as the library has them: width first.
fn tile([rows, columns]: [Slide; 2], of: impl Fn(Slide) -> i64) -> String {
    format!("{{{}, {}}}", of(columns), of(rows))
}

/// Four sides as the library has them.
fn dims(batches: i64, [height, width]: [i64; 2], channels: i64) -> String {
    format!("{{{batches}, {height}, {width}, {channels}}}")
}

/// Where the library may work, and how much it may ask for.
struct Context {
    code: String,
    bytes: u64,
}

impl Context {
    fn scratch(at: &At) -> Self {
        match at.op.scratch {
            Some(scratch) => Self {
                code: format!("{{{}, {}}}", at.emitter.address(scratch.offset), scratch.bytes),
                bytes: scratch.bytes,
            },
            None => Self { code: "{NULL, 0}".to_owned(), bytes: 0 },
        }
    }
}

/// The biases as the model has them, as a constant.
fn biases(at: &mut At, made: &Weighted, wish: &str) -> String {
    at.emitter.pool.i32s(&made.layer.given, &format!("{wish}_bias"), "biases")
}

/// Multipliers and shifts by channel, as constants.
fn scales(at: &mut At, made: &Weighted, wish: &str) -> [String; 2] {
    let results = made.channels[1] as usize;
    let all = |each: &dyn Fn(usize) -> i32| (0..results).map(each).collect::<Vec<i32>>();
    // A single factor is that of every channel.
    let factor = |channel: usize| made.layer.factors[channel.min(made.layer.factors.len() - 1)];
    let (multipliers, shifts) =
        (all(&|channel| factor(channel).multiplier), all(&|channel| factor(channel).shift));
    let pool = &mut at.emitter.pool;
    [
        pool.i32s(&multipliers, &format!("{wish}_multiplier"), "multipliers by output channel"),
        pool.i32s(&shifts, &format!("{wish}_shift"), "shifts by output channel"),
    ]
}

/// A call that must succeed, with what is said before it.
fn must_succeed(before: &str, call: &str) -> String {
    format!(
        "{before}const arm_cmsis_nn_status status = {call};\nassert(status == ARM_CMSIS_NN_SUCCESS);\n(void)status;\n"
    )
}

fn convolution(at: &mut At) -> Result<Option<String>, Refused> {
    let made = Weighted::convolution(at)?;
    window(at, &made, "conv", "convolve", "")
}

fn depthwise(at: &mut At) -> Result<Option<String>, Refused> {
    let made = Weighted::depthwise(at)?;
    let multiplicity = format!("{}, ", made.channels[1] / made.channels[0]);
    window(at, &made, "dw_conv", "depthwise_conv", &multiplicity)
}

/// A convolution of one picture. `multiplicity` is what the parameters of a depthwise one have besides.
fn window(
    at: &mut At,
    made: &Weighted,
    parameters: &str,
    function: &str,
    multiplicity: &str,
) -> Result<Option<String>, Refused> {
    if made.batches != 1 || made.groups != 1 || !made.layer.holds_differences {
        return Ok(None);
    }
    let [channels, results] = made.channels;
    let slides = made.slides;
    let taps = slides.map(|slide| slide.window.taps);
    let filter = if multiplicity.is_empty() { dims(results, taps, channels) } else { dims(1, taps, results) };
    let wish = wish(at);
    let bias = biases(at, made, &wish);
    let [multiplier, shift] = scales(at, made, &wish);
    let weights = made.named_weights(at, &wish);
    let Context { code: scratch, bytes } = Context::scratch(at);
    let (least, most) = at.bounds(made.written)?;
    let before = format!(
        "static const cmsis_nn_{parameters}_params layer = {{\n    /* offsets */ {}, {}, {multiplicity}\n    /* stride, padding, dilation */ {}, {}, {},\n    /* bounds */ {{{least}, {most}}},\n}};\n\
         static const cmsis_nn_dims from = {}, filter = {filter}, biases = {}, to = {};\n\
         const cmsis_nn_per_channel_quant_params scales = {{(int32_t *){multiplier}, (int32_t *){shift}}};\n\
         const cmsis_nn_context scratch = {scratch};\n\
         assert(arm_{function}_wrapper_s8_get_buffer_size(&layer, &from, &filter, &to) <= {bytes});\n",
        -made.read.zero,
        made.written.zero,
        tile(slides, |slide| slide.window.stride),
        tile(slides, |slide| slide.before),
        tile(slides, |slide| slide.window.dilation),
        dims(1, slides.map(|slide| slide.input), channels),
        dims(1, [1, 1], results),
        dims(1, slides.map(|slide| slide.output), results),
    );
    let (source, target) = (at.read(0)?, at.write(0)?);
    Ok(Some(must_succeed(
        &before,
        &format!(
            "arm_{function}_wrapper_s8(\n    &scratch, &layer, &scales, &from, (const int8_t *)({source}), &filter, {weights}, &biases, {bias}, &to, (int8_t *)({target}))"
        ),
    )))
}

/// On cores with vectors, the library wants the sum of each row of weights, times the offset of the input, with the
/// bias: our folded bias.
fn fully_connected(at: &mut At) -> Result<Option<String>, Refused> {
    let made = dense(at)?;
    if !made.layer.holds_differences {
        return Ok(None);
    }
    let [depth, results] = made.channels;
    let rows = made.slides[1].output;
    let wish = wish(at);
    let sums = if at.emitter.source.library == Library::CmsisNnMve {
        let why = "biases, with what the zero point of the input adds";
        let sums = at.emitter.pool.i32s(&made.layer.bias, &format!("{wish}_sums"), why);
        format!("{{(void *){sums}, {}}}", 4 * made.layer.bias.len())
    } else {
        "{NULL, 0}".to_owned()
    };
    let bias = biases(at, &made, &wish);
    let weights = named_matrix(&made, at, &wish);
    let (least, most) = at.bounds(made.written)?;
    let (function, scales) = if let [one] = made.layer.factors[..] {
        let scales =
            format!("cmsis_nn_per_tensor_quant_params scales = {{{}, {}}}", one.multiplier, one.shift);
        ("arm_fully_connected_s8", scales)
    } else {
        let [multiplier, shift] = scales(at, &made, &wish);
        let pointers = format!("(int32_t *){multiplier}, (int32_t *){shift}");
        let scales = format!("cmsis_nn_per_channel_quant_params scales = {{{pointers}}}");
        ("arm_fully_connected_per_channel_s8", scales)
    };
    let before = format!(
        "static const cmsis_nn_fc_params layer = {{/* offsets */ {}, 0, {}, /* bounds */ {{{least}, {most}}}}};\n\
         static const cmsis_nn_dims from = {}, filter = {}, biases = {}, to = {};\n\
         const {scales};\nconst cmsis_nn_context sums = {sums};\n",
        -made.read.zero,
        made.written.zero,
        dims(rows, [1, 1], depth),
        dims(depth, [1, 1], results),
        dims(1, [1, 1], results),
        dims(rows, [1, 1], results),
    );
    let (source, target) = (at.read(0)?, at.write(0)?);
    Ok(Some(must_succeed(
        &before,
        &format!(
            "{function}(\n    &sums, &layer, &scales, &from, (const int8_t *)({source}), &filter, {weights}, &biases, {bias}, &to, (int8_t *)({target}))"
        ),
    )))
}

fn pool(at: &mut At, function: &str) -> Result<Option<String>, Refused> {
    let Pool { from, slides, bounds: (least, most) } = Pool::of(at)?;
    if from[0] != 1 {
        return Ok(None);
    }
    let Context { code: scratch, bytes } = Context::scratch(at);
    let asked = if at.op.kind == "AVERAGE_POOL_2D" {
        format!("assert(arm_avgpool_s8_get_buffer_size(to.w, from.c) <= {bytes});\n")
    } else {
        String::new()
    };
    let before = format!(
        "static const cmsis_nn_pool_params layer = {{/* stride, padding */ {}, {}, /* bounds */ {{{least}, {most}}}}};\n\
         static const cmsis_nn_dims from = {}, filter = {}, to = {};\n\
         const cmsis_nn_context scratch = {scratch};\n{asked}",
        tile(slides, |slide| slide.window.stride),
        tile(slides, |slide| slide.before),
        dims(1, slides.map(|slide| slide.input), from[3]),
        dims(1, slides.map(|slide| slide.window.taps), 1),
        dims(1, slides.map(|slide| slide.output), from[3]),
    );
    let (source, target) = (at.read(0)?, at.write(0)?);
    Ok(Some(must_succeed(
        &before,
        &format!(
            "{function}(\n    &scratch, &layer, &from, (const int8_t *)({source}), &filter, &to, (int8_t *)({target}))"
        ),
    )))
}

/// Are the operands as large as the result, element for element?
fn are_alike(at: &At) -> Result<bool, Refused> {
    let shape = &at.output(0)?.shape;
    Ok(at.input(0)?.shape == *shape && at.input(1)?.shape == *shape)
}

fn sum(at: &mut At) -> Result<Option<String>, Refused> {
    let Sum { ends: [a, b, out], factors: [of_a, of_b, of_sum], bounds: (least, most) } = Sum::of(at)?;
    if !are_alike(at)? {
        return Ok(None);
    }
    let count = at.output(0)?.count();
    let (one, other, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    let call = format!(
        "arm_elementwise_add_s8(\n    (const int8_t *)({one}), (const int8_t *)({other}),\n    /* operands */ {}, {}, {}, {}, {}, {}, 20,\n    (int8_t *)({to}), {}, {}, {}, {least}, {most}, {count})",
        -a.zero,
        of_a.multiplier,
        of_a.shift,
        -b.zero,
        of_b.multiplier,
        of_b.shift,
        out.zero,
        of_sum.multiplier,
        of_sum.shift,
    );
    Ok(Some(must_succeed("", &call)))
}

fn product(at: &mut At) -> Result<Option<String>, Refused> {
    let Product { ends: [a, b, out], factor, bounds: (least, most) } = Product::of(at)?;
    if !are_alike(at)? {
        return Ok(None);
    }
    let count = at.output(0)?.count();
    let (one, other, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    let call = format!(
        "arm_elementwise_mul_s8(\n    (const int8_t *)({one}), (const int8_t *)({other}), {}, {},\n    (int8_t *)({to}), {}, {}, {}, {least}, {most}, {count})",
        -a.zero, -b.zero, out.zero, factor.multiplier, factor.shift,
    );
    Ok(Some(must_succeed("", &call)))
}

fn softmax(at: &mut At) -> Result<String, Refused> {
    let Softmax { rows, depth, factor, furthest } = Softmax::of(at)?;
    let (from, to) = (at.read(0)?, at.write(0)?);
    Ok(format!(
        "arm_softmax_s8((const int8_t *)({from}), {rows}, {depth}, {}, {}, {}, (int8_t *)({to}));\n",
        factor.multiplier, factor.shift, -furthest
    ))
}
