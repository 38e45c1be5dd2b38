//! Functions of one byte: looked up, or in another scale.

use super::elementwise::rescaled;
use super::options::Affine;
use crate::curves;
use crate::emitter::At;
use crate::fixed_point::{Factor, halves, rounding_shift};
use crate::fragments::Fragment;
use crate::pool::{Ctype, float};
use crate::refused::Refused;
use serenity_ir::ElementType::{Float16, Float32, Int8, Int16, UInt8};

/// `LOGISTIC` and `TANH` of 8-bit integers, with four bits before the point.
pub(super) fn curve(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let is_tanh = at.op.kind == "TANH";
    let (scale, zero) = if is_tanh { (1.0 / 128.0, 0) } else { (1.0 / 256.0, -128) };
    if written != (Affine { scale, zero }) {
        return Err(at.not_covered("its result has another scale than this function has"));
    }
    let (fraction, shift) = halves(read.scale() * f64::from(1 << 27));
    let factor = Factor {
        multiplier: (fraction * f64::from(1_u32 << 31)).round().min(f64::from(i32::MAX)) as i32,
        shift,
    };
    if shift < -31 {
        return Err(at.not_covered("its input has too fine a scale"));
    }
    // Beyond this the function is 1, or its opposite.
    let radius = if shift > 30 {
        0
    } else {
        (15.0 * f64::from(1 << 27) / f64::from(1_u32 << shift.max(0))).floor() as i32
    };
    let value = |stored: i32| {
        let centred = stored - read.zero;
        if centred <= -radius {
            return -128;
        }
        if centred >= radius {
            return 127;
        }
        let x = factor.apply(centred);
        let result = if is_tanh {
            rounding_shift(curves::tanh(x, 4), 24)
        } else {
            rounding_shift(curves::logistic(x, 4), 23) - 128
        };
        result.clamp(-128, 127)
    };
    looked_up(at, |byte| value(i32::from(byte.cast_signed())) as u8, "curve")
}

/// `HARD_SWISH` of 8-bit integers, with 7 more bits in between.
pub(super) fn hard_swish(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    // In floats, as the runtime does.
    let fine = read.scale * (1.0 / 128.0);
    let of_result = Factor::of(f64::from(fine / written.scale));
    let of_ramp = Factor::of(f64::from(fine / (3.0 / 32_768.0)));
    if !(-15..=0).contains(&of_result.shift) || !(-15..=30).contains(&of_ramp.shift) {
        return Err(at.not_covered("its scales are too far from each other"));
    }
    let value = |stored: i32| {
        let fine = ((stored - read.zero) << 7) as i16;
        let whole = high_half(fine, half_of(of_result.multiplier));
        // From 0 at -3 to 1 at 3.
        let up = of_ramp.shift.max(0);
        let mut ramp = saturated(i64::from(fine) << (up - 1).max(0));
        ramp = high_half(ramp, half_of(of_ramp.multiplier));
        ramp = saturated(i64::from(ramp) << up.min(1));
        ramp = rounding_shift(ramp.into(), -of_ramp.shift.min(0)) as i16;
        let ramp = (i32::from(ramp) + (1 << 15)) >> 1;
        let product = ramp * i32::from(whole) / (1 << 15);
        (rounding_shift(product, -of_result.shift) + written.zero).clamp(-128, 127)
    };
    looked_up(at, |byte| value(i32::from(byte.cast_signed())) as u8, "hard_swish")
}

/// A multiplier of 32 bits as one of 16.
fn half_of(multiplier: i32) -> i16 {
    saturated((i64::from(multiplier) + (1 << 15)) >> 16)
}

/// The high half of the doubled product of 16-bit numbers, rounded.
fn high_half(a: i16, b: i16) -> i16 {
    let product = i32::from(a) * i32::from(b);
    let nudge = if product >= 0 { 1 << 14 } else { 1 - (1 << 14) };
    saturated(i64::from((product + nudge) / (1 << 15)))
}

fn saturated(value: i64) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// `LEAKY_RELU` of 8-bit integers: one factor above the zero point, and one below.
pub(super) fn leaky_relu(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let alpha = at.real("alpha").ok_or_else(|| at.not_covered("its slope is missing"))?;
    // In floats, as the runtime does.
    let factors =
        [read.scale / written.scale, read.scale * alpha / written.scale].map(|f| Factor::of(f64::from(f)));
    if alpha < 0.0 || !factors.iter().all(|factor| factor.holds(256)) {
        return Err(at.not_covered("its slope is negative, or its result has too fine a scale"));
    }
    let value = |stored: i32| {
        let centred = stored - read.zero;
        let factor = factors[usize::from(centred < 0)];
        (factor.apply(centred) + written.zero).clamp(-128, 127)
    };
    looked_up(at, |byte| value(i32::from(byte.cast_signed())) as u8, "leaky_relu")
}

/// `ELU` of 8-bit integers, which the runtime looks up as well.
pub(super) fn elu(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let value = |stored: i32| {
        let x = read.scale * (stored - read.zero) as f32;
        let y = if x < 0.0 { x.exp_m1() } else { x };
        ((y * (1.0 / written.scale)).round() as i32).saturating_add(written.zero).clamp(-128, 127)
    };
    looked_up(at, |byte| value(i32::from(byte.cast_signed())) as u8, "elu")
}

/// Of bytes to bytes, or of floats to bytes.
pub(super) fn quantize(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let written = at.affine(output)?;
    if input.dtype == Float32 {
        at.must_be(output, &Int8)?;
        return converted(at, "quantize_s8", written, ["const void *", "int8_t *"]);
    }
    let read = at.affine(input)?;
    let factor = Factor::of(read.scale() / written.scale());
    match (&input.dtype, &output.dtype) {
        (Int8, Int8) => rescaled(at, factor, read, written, (-128, 127)),
        (Int16, Int8) => {
            at.refuse_misfit(input.count() != output.count())?;
            if !factor.holds(1 << 16) {
                return Err(at.not_covered("its result has too fine a scale"));
            }
            at.uses(Fragment::RescaleS16);
            let (kernel, from, to) = (at.k("rescale_s16"), at.read(0)?, at.write(0)?);
            let Factor { multiplier, shift } = factor;
            let numbers =
                format!("{}, {}, {multiplier}, {shift}, {}", input.count(), read.zero, written.zero);
            Ok(format!(
                "static const struct {kernel} how = {{{numbers}}};\n{kernel}(&how, {from}, (int8_t *)({to}));\n"
            ))
        }
        (Int8 | UInt8, Int8 | UInt8) => {
            if !factor.holds(256) {
                return Err(at.not_covered("its result has too fine a scale"));
            }
            let (from, to) = (input.dtype == Int8, output.dtype == Int8);
            let value = |byte: u8| {
                let stored = if from { i32::from(byte.cast_signed()) } else { i32::from(byte) };
                let result = factor.apply(stored - read.zero) + written.zero;
                (if to { result.clamp(-128, 127) } else { result.clamp(0, 255) }) as u8
            };
            looked_up(at, value, "rescaled")
        }
        _ => Err(at.not_covered(format!("from {} to {} is not covered", input.dtype, output.dtype))),
    }
}

pub(super) fn dequantize(at: &mut At) -> Result<String, Refused> {
    if at.input(0)?.dtype == Float16 {
        return Err(
            at.not_covered("of 16-bit floats is not covered; `--fold-constants` makes them 32-bit constants")
        );
    }
    let (input, _) = at.ends([&Int8, &Float32])?;
    let read = at.affine(input)?;
    converted(at, "dequantize_s8", read, ["const int8_t *", "void *"])
}

fn converted(
    at: &mut At,
    name: &str,
    affine: Affine,
    [from_type, to_type]: [&str; 2],
) -> Result<String, Refused> {
    at.refuse_misfit(at.input(0)?.count() != at.output(0)?.count())?;
    at.uses(Fragment::QuantizeS8);
    let (kernel, type_name, from, to) = (at.k(name), at.k("quantize_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} how = {{{}, {}, {}}};\n{kernel}(&how, ({from_type})({from}), ({to_type})({to}));\n",
        at.input(0)?.count(),
        float(affine.scale),
        affine.zero
    ))
}

fn looked_up(at: &mut At, value: impl Fn(u8) -> u8, what: &str) -> Result<String, Refused> {
    let count = at.input(0)?.count();
    at.refuse_misfit(count != at.output(0)?.count())?;
    at.uses(Fragment::Table8);
    let table: Vec<u8> = (0..=255).map(value).collect();
    let why = format!("{} by byte", at.op.kind);
    let table = at.emitter.pool.named(Ctype::U8, &table, what, &why);
    let (kernel, from, to) = (at.k("table_8"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({table}, {count}, {from}, {to});\n"))
}
