//! The operators with which TFLM makes features of sound, of whole numbers throughout. What they compute beyond 16 and
//! 32 bits wraps around in the runtime, and so it does here.

use super::windows::wish;
use crate::emitter::{At, StateKey};
use crate::fragments::Fragment;
use crate::pool::Ctype;
use crate::refused::Refused;
use crate::source::SourceTensor;
use serenity_ir::ElementType::{Int16, Int32, UInt32, UInt64};
use std::f64::consts::PI;

/// The longest transform: its places are counted in 16 bits elsewhere.
const LONGEST: i64 = 1 << 15;

/// So many gains are looked up for numbers of up to 32 bits.
const GAINS: usize = 125;

/// The code of an operator of this family; `None` if it is none of these.
pub(super) fn lowered(at: &mut At) -> Result<Option<String>, Refused> {
    let code = match at.op.kind.strip_prefix("CUSTOM:") {
        Some("SignalWindow") => window(at),
        Some("SignalFftAutoScale") => auto_scale(at),
        Some("SignalRfft") => transform(at),
        Some("SignalEnergy") => energy(at),
        Some("SignalFilterBank") => filter_bank(at),
        Some("SignalFilterBankSquareRoot") => square_root(at),
        Some("SignalFilterBankSpectralSubtraction") => subtraction(at),
        Some("SignalPCAN") => gain(at),
        Some("SignalFilterBankLog") => logarithm(at),
        _ => return Ok(None),
    };
    code.map(Some)
}

/// An option that must be there, within bounds.
fn number(at: &At, name: &str, bounds: std::ops::RangeInclusive<i64>) -> Result<i64, Refused> {
    let value = at.int(name).filter(|value| bounds.contains(value));
    value.ok_or_else(|| at.not_covered(format!("its option `{name}` is missing or out of range")))
}

/// How many bits something is shifted by.
fn shift(at: &At, name: &str) -> Result<i64, Refused> {
    number(at, name, 0..=31)
}

fn same_count(at: &At, tensors: &[&SourceTensor]) -> Result<u64, Refused> {
    let count = tensors[0].count();
    at.refuse_misfit(tensors.iter().any(|tensor| tensor.count() != count) || count == 0)?;
    Ok(count)
}

/// An operand of constant 16-bit integers.
fn halves(at: &At, position: usize) -> Result<Vec<i16>, Refused> {
    let tensor = at.input(position)?;
    at.must_be(tensor, &Int16)?;
    let bytes = at.constant(position).filter(|bytes| bytes.len() as u64 == 2 * tensor.count());
    let bytes = bytes.ok_or_else(|| at.not_covered(format!("operand {position} is no constant")))?;
    Ok(bytes.as_chunks::<2>().0.iter().map(|&half| i16::from_le_bytes(half)).collect())
}

fn named(at: &mut At, values: &[i16], what: &str) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let wish = format!("{}_{what}", wish(at));
    at.emitter.pool.named(Ctype::I16, &bytes, &wish, what)
}

fn window(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int16, &Int16])?;
    let (count, shift, window) = (same_count(at, &[input, output])?, shift(at, "shift")?, halves(at, 1)?);
    at.refuse_misfit(window.is_empty() || !count.is_multiple_of(window.len() as u64))?;
    at.uses(Fragment::WindowS16);
    let (name, width) = (named(at, &window, "window"), window.len());
    let (kernel, from, to) = (at.k("window_s16"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {width}, {shift}, {name}, {from}, {to});\n"))
}

fn auto_scale(at: &mut At) -> Result<String, Refused> {
    let (input, output, bits) = (at.input(0)?, at.output(0)?, at.output(1)?);
    at.must_be(input, &Int16)?;
    at.must_be(output, &Int16)?;
    at.must_be(bits, &Int32)?;
    let count = same_count(at, &[input, output])?;
    at.refuse_misfit(bits.count() != 1)?;
    at.uses(Fragment::AutoScaleS16);
    let (kernel, from, to, bits) = (at.k("auto_scale_s16"), at.read(0)?, at.write(0)?, at.write(1)?);
    Ok(format!("{kernel}({count}, {from}, {to}, {bits});\n"))
}

/// A point on the unit circle, as fractions of 2^15.
fn on_circle(angle: f64) -> [i16; 2] {
    [angle.cos(), angle.sin()].map(|part| (0.5 + 32_767.0 * part).floor() as i16)
}

fn transform(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int16, &Int16])?;
    let size = number(at, "fft_length", 4..=LONGEST)? as u64;
    let length = input.shape.last().copied().unwrap_or(0);
    if !size.is_power_of_two() {
        return Err(at.not_covered(format!("a transform of {size} is no power of two")));
    }
    at.refuse_misfit(
        !(1..=size).contains(&length)
            || output.shape.last() != Some(&(size + 2))
            || input.count() / length != output.count() / (size + 2),
    )?;
    // Pairs count as complex numbers. By fours as long as that goes, the rest by two.
    let (count, mut rest, mut steps) = (size / 2, size / 2, Vec::new());
    while rest > 1 {
        let step = if rest.is_multiple_of(4) { 4 } else { 2 };
        steps.push(step);
        rest /= u64::from(step);
    }
    let share = |place: u64| place as f64 / count as f64;
    let turns: Vec<i16> = (0..count).flat_map(|place| on_circle(-2.0 * PI * share(place))).collect();
    let parts: Vec<i16> = (1..=count / 2).flat_map(|place| on_circle(-PI * (share(place) + 0.5))).collect();
    at.uses(Fragment::RfftS16);
    let (turns, parts) = (named(at, &turns, "turns"), named(at, &parts, "parts"));
    let step = at.emitter.pool.named(Ctype::U8, &steps, "steps", "steps of a transform");
    let (kernel, from, to) = (at.k("rfft_s16"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{}, {length}, {size}, {}, {step}, {turns}, {parts}}};\n{kernel}(&how, {from}, {to});\n",
        input.count() / length,
        steps.len()
    ))
}

fn energy(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int16, &UInt32])?;
    let count = output.count();
    let [first, end] = ["start_index", "end_index"].map(|name| number(at, name, 0..=count as i64));
    at.refuse_misfit(input.count() != count.saturating_mul(2))?;
    at.uses(Fragment::EnergyS16);
    let (kernel, from, to) = (at.k("energy_s16"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {}, {}, {from}, {to});\n", first?, end?))
}

fn filter_bank(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&UInt32, &UInt64])?;
    let channels = number(at, "num_channels", 1..=i64::from(i16::MAX))?;
    let lists = [1, 2, 3, 4, 5].map(|position| halves(at, position));
    let [weights, rests, places, starts, widths] = lists;
    let lists = [weights?, rests?, places?, starts?, widths?];
    let [weights, rests, places, starts, widths] = &lists;
    let is_within = |start: &[i16], width: &[i16], size: u64| {
        start
            .iter()
            .zip(width)
            .all(|(&start, &width)| start >= 0 && width >= 0 && start as u64 + width as u64 <= size)
    };
    let fits = [places, starts, widths].iter().all(|list| list.len() as i64 == channels + 1)
        && output.count() as i64 == channels
        && weights.len() == rests.len()
        && is_within(places, widths, input.count())
        && is_within(starts, widths, weights.len() as u64);
    if !fits || weights.iter().chain(rests).any(|&weight| weight < 0) {
        return Err(at.not_covered("its filters do not fit its shapes, or have negative weights"));
    }
    at.uses(Fragment::FilterBank);
    let what = ["weights", "rests", "places", "starts", "widths"];
    let names: Vec<String> = lists.iter().zip(what).map(|(list, what)| named(at, list, what)).collect();
    let (kernel, from, to) = (at.k("filter_bank"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{channels}, {}}};\n{kernel}(&how, {from}, {to});\n",
        names.join(", ")
    ))
}

fn square_root(at: &mut At) -> Result<String, Refused> {
    let (input, bits, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    at.must_be(input, &UInt64)?;
    at.must_be(bits, &Int32)?;
    at.must_be(output, &UInt32)?;
    let count = same_count(at, &[input, output])?;
    at.refuse_misfit(bits.count() != 1)?;
    at.uses(Fragment::SquareRoot);
    let (kernel, from, bits, to) = (at.k("square_root"), at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {from}, {bits}, {to});\n"))
}

fn subtraction(at: &mut At) -> Result<String, Refused> {
    let (input, output, noise) = (at.input(0)?, at.output(0)?, at.output(1)?);
    for tensor in [input, output, noise] {
        at.must_be(tensor, &UInt32)?;
    }
    let count = same_count(at, &[input, output, noise])?;
    at.refuse_misfit(at.int("num_channels") != Some(count as i64))?;
    let mut members = Vec::new();
    for name in [
        "smoothing",
        "alternate_smoothing",
        "one_minus_smoothing",
        "alternate_one_minus_smoothing",
        "min_signal_remaining",
    ] {
        members.push(number(at, name, 0..=i64::from(i32::MAX))?);
    }
    let (up, down) = (shift(at, "smoothing_bits")?, shift(at, "spectral_subtraction_bits")?);
    let is_bounded = i32::from(at.flag("clamping"));
    let Some(id) = at.output_id(1) else { return Err(at.not_covered("result 1 is missing")) };
    let place = at.emitter.state.place(StateKey::Tensor(at.scope.graph, id), noise.bytes, 0);
    let kept = format!("{}_state + {place}", at.emitter.prefix);
    at.uses(Fragment::Spectral);
    let (kernel, from, to, shown) = (at.k("spectral"), at.read(0)?, at.write(0)?, at.write(1)?);
    let [even, odd, even_kept, odd_kept, least] = members[..] else {
        return Err(at.not_covered("its options are missing"));
    };
    Ok(format!(
        "static const struct {kernel} how = {{{count}, {up}, {down}, {is_bounded}, {{{even}, {odd}}}, {{{even_kept}, {odd_kept}}}, {least}}};\n\
         {kernel}(&how, {from}, {kept}, {to}, {shown});\n"
    ))
}

fn gain(at: &mut At) -> Result<String, Refused> {
    let (input, noise, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    for tensor in [input, noise, output] {
        at.must_be(tensor, &UInt32)?;
    }
    let (count, down) = (same_count(at, &[input, noise, output])?, shift(at, "snr_shift")?);
    let gains = halves(at, 2)?;
    if gains.len() < GAINS {
        return Err(at.not_covered(format!("it has fewer than {GAINS} gains")));
    }
    at.uses(Fragment::Pcan);
    let gains = named(at, &gains, "gains");
    let (kernel, from, noise, to) = (at.k("pcan"), at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {down}, {gains}, {from}, {noise}, {to});\n"))
}

fn logarithm(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&UInt32, &Int16])?;
    let (count, up) = (same_count(at, &[input, output])?, shift(at, "input_correction_bits")?);
    let scale = number(at, "output_scale", 0..=i64::from(i32::MAX))?;
    // What the logarithm to the base of 2 has more than a straight line, as a fraction of 2^16.
    let bend = |place: u16| {
        let part = f64::from(place) / 128.0;
        (65_536.0 * ((1.0 + part).log2() - part)).round() as u16
    };
    let bends: Vec<u8> = (0..=128).flat_map(|place| bend(place).to_le_bytes()).collect();
    at.uses(Fragment::LogU32);
    let why = "the logarithm to the base of 2, without its straight line";
    let bends = at.emitter.pool.named(Ctype::U16, &bends, "bends", why);
    let (kernel, from, to) = (at.k("log_u32"), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({count}, {up}, {scale}u, {bends}, {from}, {to});\n"))
}
