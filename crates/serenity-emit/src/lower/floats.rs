//! Operators on floats.

use super::elementwise::pairs;
use super::reduce::three_sides;
use super::resize;
use super::transposed::Transposed;
use super::windows::{dilation, geometry, sees_something, single, slides, wish};
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::names::in_comment;
use crate::pool::{Ctype, float};
use crate::refused::Refused;
use crate::stream::Over;
use serenity_ir::ElementType::Float32;
use serenity_ir::Slide;

/// The code of an operator on floats; `None` if it is another, or none of these.
pub(super) fn lowered(at: &mut At) -> Result<Option<String>, Refused> {
    let is_float =
        |tensor: Option<usize>| tensor.is_some_and(|tensor| at.graph.tensors[tensor].dtype == Float32);
    if !is_float(at.input_id(0)) || !is_float(at.output_id(0)) {
        return Ok(None);
    }
    let code = match at.op.kind.as_str() {
        "CONV_2D" => convolution(at, "conv_f32"),
        "DEPTHWISE_CONV_2D" => convolution(at, "depthwise_f32"),
        "AVERAGE_POOL_2D" => pool(at, "average_pool_f32"),
        "MAX_POOL_2D" => pool(at, "max_pool_f32"),
        "FULLY_CONNECTED" => fully_connected(at),
        "ADD" => two(at, "add_f32"),
        "SUB" => two(at, "sub_f32"),
        "MUL" => two(at, "mul_f32"),
        "DIV" => two(at, "div_f32"),
        "MAXIMUM" => two(at, "maximum_f32"),
        "MINIMUM" => two(at, "minimum_f32"),
        "SQUARED_DIFFERENCE" => two(at, "squared_difference_f32"),
        "RESIZE_BILINEAR" => resize::floats(at),
        "PRELU" => two(at, "prelu_f32"),
        "RELU" | "RELU6" => cut(at),
        "LOGISTIC" => each(at, "logistic_f32"),
        "TANH" => each(at, "tanh_f32"),
        "HARD_SWISH" => each(at, "hard_swish_f32"),
        "LEAKY_RELU" => leaky_relu(at),
        "ELU" => each(at, "elu_f32"),
        "LOG" => each(at, "log_f32"),
        "EXP" => each(at, "exp_f32"),
        "SQRT" => each(at, "sqrt_f32"),
        "RSQRT" => each(at, "rsqrt_f32"),
        "SQUARE" => each(at, "square_f32"),
        "NEG" => each(at, "neg_f32"),
        "ABS" => each(at, "abs_f32"),
        "SOFTMAX" => softmax(at),
        "MEAN" | "SUM" | "REDUCE_MAX" | "REDUCE_MIN" => reduce(at),
        _ => return Ok(None),
    };
    code.map(Some)
}

/// Where the fused activation, or one by itself, cuts results off.
fn bounds(at: &At, activation: &str) -> Result<[&'static str; 2], Refused> {
    Ok(match activation {
        "none" => ["-FLT_MAX", "FLT_MAX"],
        "relu" => ["0.0f", "FLT_MAX"],
        "relu6" => ["0.0f", "6.0f"],
        "relu_n1_to_1" => ["-1.0f", "1.0f"],
        _ => {
            return Err(
                at.not_covered(format!("its fused activation `{}` is not covered", in_comment(activation)))
            );
        }
    })
}

/// Where a fused activation cuts results off; nowhere if there is none.
pub(crate) fn fused(at: &At) -> Result<[&'static str; 2], Refused> {
    bounds(at, at.word("activation").unwrap_or("none"))
}

/// A constant of floats, by name; `0` if the operand was left out.
fn floats(at: &mut At, position: usize, count: u64, what: &str) -> Result<String, Refused> {
    if at.input_id(position).is_none() {
        return Ok("0".to_owned());
    }
    let tensor = at.input(position)?;
    at.must_be(tensor, &Float32)?;
    let bytes =
        at.constant(position).filter(|bytes| bytes.len() as u64 == 4 * count && tensor.count() == count);
    let bytes =
        bytes.ok_or_else(|| at.not_covered(format!("its {what} are no constant, or of another size")))?;
    let wish = format!("{}_{what}", wish(at));
    Ok(at.emitter.pool.named(Ctype::F32, bytes, &wish, what))
}

fn window(
    at: &mut At,
    name: &str,
    (batches, slides, channels): (i64, [Slide; 2], [i64; 2]),
    [weights, bias]: [&str; 2],
) -> Result<String, Refused> {
    let [least, most] = fused(at)?;
    let geometry = geometry(batches, slides, channels[0], channels[1]);
    let Over { before, kernel, from } = at.over(name, Fragment::WindowF32, slides[0])?;
    let (type_name, to) = (at.k("window_f32"), at.write(0)?);
    Ok(format!(
        "{before}static const struct {type_name} layer = {{\n    /* batches, input, output */ {geometry}\n    /* bounds */ {least}, {most},\n    {weights}, {bias},\n}};\n\
         {kernel}(&layer, {from}, {to});\n"
    ))
}

fn convolution(at: &mut At, name: &str) -> Result<String, Refused> {
    let (input, filter, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    let (from, to, [first, height, width, last]) = (at.sides(input)?, at.sides(output)?, at.sides(filter)?);
    let fits = if name == "conv_f32" {
        first == to[3] && last == from[3]
    } else {
        first == 1 && last == to[3] && last % from[3] == 0
    };
    if !fits {
        return Err(at.not_covered("it has groups of channels, or its shapes do not fit together"));
    }
    let slides = slides(at, from, to, [height, width], dilation(at)?)?;
    let weights = floats(at, 1, filter.count(), "weights")?;
    let bias = floats(at, 2, to[3] as u64, "bias")?;
    window(at, name, (from[0], slides, [from[3], to[3]]), [&weights, &bias])
}

/// A transposed convolution of floats, whose first operand is the shape of its result.
pub(super) fn transposed(at: &mut At) -> Result<String, Refused> {
    at.must_be(at.input(2)?, &Float32)?;
    let made = Transposed::of(at)?;
    let weights = floats(at, 1, at.input(1)?.count(), "weights")?;
    let bias = floats(at, 3, made.to[3] as u64, "bias")?;
    at.uses(Fragment::TransposedF32);
    let [least, most] = fused(at)?;
    let (kernel, type_name, from, to) =
        (at.k("transposed_f32"), at.k("window_f32"), at.read(2)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} layer = {{\n    /* batches, input, output */ {}\n    /* bounds */ {least}, {most},\n    {weights}, {bias},\n}};\n\
         {kernel}(&layer, {from}, {to});\n",
        made.geometry()
    ))
}

fn pool(at: &mut At, name: &str) -> Result<String, Refused> {
    let (from, to) = (at.sides(at.input(0)?)?, at.sides(at.output(0)?)?);
    let slides = slides(at, from, to, at.pair("kernel")?, [1, 1])?;
    at.refuse_misfit(from[3] != to[3] || !slides.iter().all(sees_something))?;
    window(at, name, (from[0], slides, [from[3], to[3]]), ["0", "0"])
}

fn fully_connected(at: &mut At) -> Result<String, Refused> {
    let (input, filter, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    let [outputs, depth] = filter.shape[..] else { return Err(at.not_covered("its weights are no matrix")) };
    let is_fit = depth > 0 && outputs > 0 && input.count().is_multiple_of(depth.max(1));
    at.refuse_misfit(!is_fit || output.count() != input.count() / depth * outputs)?;
    let weights = floats(at, 1, outputs * depth, "weights")?;
    let bias = floats(at, 2, outputs, "bias")?;
    let slides = [1, (input.count() / depth) as i64].map(single);
    window(at, "conv_f32", (1, slides, [depth as i64, outputs as i64]), [&weights, &bias])
}

fn two(at: &mut At, name: &str) -> Result<String, Refused> {
    at.must_be(at.input(1)?, &Float32)?;
    at.uses(Fragment::PairsF32);
    let [least, most] = fused(at)?;
    let (kernel, type_name) = (at.k(name), at.k("pairs_f32"));
    let (a, b, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} how = {{{}, {least}, {most}}};\n{kernel}(&how, {a}, {b}, {to});\n",
        pairs(at)?
    ))
}

fn same_count(at: &At) -> Result<u64, Refused> {
    let count = at.input(0)?.count();
    if count == at.output(0)?.count() {
        Ok(count)
    } else {
        Err(at.not_covered("its shapes do not fit together"))
    }
}

fn cut(at: &mut At) -> Result<String, Refused> {
    let [least, most] = bounds(at, &at.op.kind.to_ascii_lowercase())?;
    let count = same_count(at)?;
    at.uses(Fragment::EachF32);
    let (kernel, from, to) = (at.k("cut_each_f32"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {least}, {most}, {from}, {to});\n"))
}

fn leaky_relu(at: &mut At) -> Result<String, Refused> {
    let alpha = at.real("alpha").ok_or_else(|| at.not_covered("its slope is missing"))?;
    let count = same_count(at)?;
    at.uses(Fragment::EachF32);
    let (kernel, from, to) = (at.k("leaky_relu_f32"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {}, {from}, {to});\n", float(alpha)))
}

fn each(at: &mut At, name: &str) -> Result<String, Refused> {
    let count = same_count(at)?;
    at.uses(Fragment::EachF32);
    let (kernel, from, to) = (at.k(name), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {from}, {to});\n"))
}

fn softmax(at: &mut At) -> Result<String, Refused> {
    let count = same_count(at)?;
    let depth = at.input(0)?.shape.last().copied().unwrap_or(1).max(1);
    at.uses(Fragment::SoftmaxF32);
    let beta = float(at.real("beta").unwrap_or(1.0));
    let (kernel, from, to) = (at.k("softmax_f32"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({}, {depth}, {beta}, {from}, {to});\n", count / depth))
}

fn reduce(at: &mut At) -> Result<String, Refused> {
    let [outer, reduced, inner] = three_sides(at)?;
    at.refuse_misfit(at.output(0)?.count() != outer * inner || reduced == 0)?;
    at.uses(Fragment::ReduceF32);
    let (from, to) = (at.read(0)?, at.write(0)?);
    let (name, divisor) = match at.op.kind.as_str() {
        "MEAN" => ("sum_f32", format!(" {reduced}.0f,")),
        "SUM" => ("sum_f32", " 1.0f,".to_owned()),
        "REDUCE_MAX" => ("reduce_max_f32", String::new()),
        _ => ("reduce_min_f32", String::new()),
    };
    Ok(format!("{}({outer}, {reduced}, {inner},{divisor} {from}, {to});\n", at.k(name)))
}
