//! Layers whose weights are packed for cores that multiply two pairs of numbers at a time; `None` where something that
//! the packed kernels need is not so.

use super::windows::{Weighted, image, is_backward, wish};
use crate::checked::{self, Words};
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::packing;
use crate::pool::Ctype;
use crate::refused::Refused;
use crate::room;
use crate::rounding::Channel;
use crate::source::DataPlace;

/// Most inputs of a result that are gathered, as the kernel has room for.
const MOST_GATHERED: i64 = 64;
/// Most taps of windows, as the kernels have room for.
const MOST_TAPS: i64 = 16;
const MOST_DEPTHWISE_TAPS: i64 = 27;
/// Sums of every second channel are computed times 256.
const MOST_DOUBLED: i64 = 1 << 23;
/// Bytes of scratch for one input of two pixels.
const BYTES_OF_TWO: u64 = 4;
/// Fewer results of a pixel do not pay for laying out the inputs of two pixels.
const LEAST_RESULTS_FOR_TWO: i64 = 16;

/// The kernel of a layer, and how its weights lie.
#[derive(Clone, Copy, PartialEq)]
enum Kernel {
    Pointwise,
    Windows,
    Patches,
    Depthwise,
}

impl Kernel {
    fn of_convolution(made: &Weighted) -> Option<Self> {
        let single = made.slides.iter().all(|slide| {
            let window = slide.window;
            (window.taps, window.stride, slide.before) == (1, 1, 0) && slide.output == slide.input
        });
        let taps: i64 = made.slides.iter().map(|slide| slide.window.taps).product();
        let is_dense = made.slides.iter().all(|slide| slide.window.dilation == 1);
        let depth = made.channels[0];
        match () {
            () if single => Some(Self::Pointwise),
            () if is_dense && depth % 4 != 0 && taps * depth <= MOST_GATHERED => Some(Self::Patches),
            () if taps <= MOST_TAPS => Some(Self::Windows),
            () => None,
        }
    }

    fn of_depthwise(made: &Weighted) -> Option<Self> {
        let taps: i64 = made.slides.iter().map(|slide| slide.window.taps).product();
        let is_single = made.channels[0] == made.channels[1];
        (is_single && taps <= MOST_DEPTHWISE_TAPS).then_some(Self::Depthwise)
    }

    fn fragment(self) -> (Fragment, &'static str) {
        match self {
            Self::Pointwise => (Fragment::PackedPointwiseS8, "packed_pointwise_s8"),
            Self::Windows => (Fragment::PackedWindowsS8, "packed_windows_s8"),
            Self::Patches => (Fragment::PackedPatchesS8, "packed_patches_s8"),
            Self::Depthwise => (Fragment::PackedDepthwiseS8, "packed_depthwise_s8"),
        }
    }

    /// The kernel for two pixels at a time, which lays out their inputs in scratch.
    fn fragment_for_two(self) -> Option<(Fragment, &'static str)> {
        match self {
            Self::Pointwise => Some((Fragment::PackedTwoPointwiseS8, "packed_two_pointwise_s8")),
            Self::Windows => Some((Fragment::PackedTwoWindowsS8, "packed_two_windows_s8")),
            Self::Patches | Self::Depthwise => None,
        }
    }

    /// The blocks of so many results, for two roundings.
    fn round_twice(self, results: i64) -> Vec<Fragment> {
        match self {
            Self::Depthwise => vec![Fragment::DepthwiseRoundedTwice],
            _ if results < 8 => vec![Fragment::PairsRoundedTwice],
            _ if results % 8 == 0 => vec![Fragment::EightsRoundedTwice],
            _ => vec![Fragment::EightsRoundedTwice, Fragment::PairsRoundedTwice],
        }
    }

    /// How many weights of a filter lie in a row.
    fn run(self, made: &Weighted) -> usize {
        match self {
            Self::Pointwise | Self::Windows => made.channels[0] as usize,
            Self::Patches | Self::Depthwise => made.weights.len() / made.channels[1] as usize,
        }
    }

    /// The weights in words; `None` if they do not fit.
    fn packed(self, made: &Weighted) -> Option<Vec<u32>> {
        let results = made.channels[1] as usize;
        match self {
            Self::Depthwise => Some(packing::depthwise(&made.weights, results)),
            _ => packing::channels(&made.weights, results, self.run(made)),
        }
    }
}

pub(super) fn convolution(at: &mut At, made: &Weighted) -> Result<Option<String>, Refused> {
    match Kernel::of_convolution(made) {
        Some(kernel) if made.groups == 1 => lowered(at, made, kernel),
        _ => Ok(None),
    }
}

pub(super) fn depthwise(at: &mut At, made: &Weighted) -> Result<Option<String>, Refused> {
    Kernel::of_depthwise(made).map_or(Ok(None), |kernel| lowered(at, made, kernel))
}

fn lowered(at: &mut At, made: &Weighted, kernel: Kernel) -> Result<Option<String>, Refused> {
    if made.batches != 1 || made.layer.wraps || !reads_what_is_there(at, made, kernel)? {
        return Ok(None);
    }
    let channels = channels(at, made, kernel)?;
    let Some(words) = kernel.packed(made) else { return Ok(None) };
    let Some(scales) = Scales::of(&channels, kernel) else { return Ok(None) };
    let is_depthwise = kernel == Kernel::Depthwise;
    let run = kernel.run(made);
    let to_check =
        Words { weights: &words, scales: &scales.words, is_double: scales.is_double, is_depthwise, run };
    if !to_check.are_right(made, at.bounds(made.written)?) {
        return Err(at.refused("packed weights do not compute the same: please report this"));
    }
    written(at, made, kernel, &words, &scales).map(Some)
}

/// The kernel that does two pixels at a time and its scratch as an argument, if the layer gains by it and the arena has
/// room while it runs.
fn with_scratch(
    at: &At,
    made: &Weighted,
    kernel: Kernel,
) -> Result<Option<(Fragment, &'static str, String)>, Refused> {
    let Some((fragment, name)) = kernel.fragment_for_two() else { return Ok(None) };
    let pixels: i64 = made.slides.iter().map(|slide| slide.output).product();
    if pixels < 2 || made.channels[1] < LEAST_RESULTS_FOR_TWO {
        return Ok(None);
    }
    let run = kernel.run(made);
    let inputs = made.weights.len() / made.channels[1] as usize / run * run.next_multiple_of(4);
    let bytes = BYTES_OF_TWO * inputs as u64;
    let Some(offset) = room::free(at, bytes) else { return Ok(None) };
    if !checked::is_free(at.graph, at.op, offset, bytes) || !at.emitter.holds(offset, bytes) {
        return Err(at.refused("its scratch lies over a tensor: please report this"));
    }
    let scratch =
        format!(", /* bytes {offset} to {} */ (int8_t *)({})", offset + bytes, at.emitter.address(offset));
    Ok(Some((fragment, name, scratch)))
}

/// Are the up to three bytes that the kernel reads after the last channels of a pixel in the arena?
fn reads_what_is_there(at: &At, made: &Weighted, kernel: Kernel) -> Result<bool, Refused> {
    let after = match kernel {
        Kernel::Patches => 0,
        _ => (-made.channels[0]).rem_euclid(4) as u64,
    };
    let input = at.input(0)?;
    Ok(match input.place {
        DataPlace::Arena(offset) => at.emitter.holds(offset, input.bytes + after),
        DataPlace::Row(line) | DataPlace::Rows(line) => {
            at.emitter.end_of_line(line) + after <= at.emitter.arena
        }
        _ => after == 0,
    })
}

/// What the runtime computes, channel by channel.
fn channels(at: &At, made: &Weighted, kernel: Kernel) -> Result<Vec<Channel>, Refused> {
    let (layer, results, bounds) = (&made.layer, made.channels[1] as usize, at.bounds(made.written)?);
    let filter = made.weights.len() / results;
    Ok((0..results)
        .map(|channel| {
            let sums = if kernel == Kernel::Depthwise {
                Channel::sums(made.weights[channel..].iter().step_by(results).copied())
            } else {
                Channel::sums(made.weights[channel * filter..][..filter].iter().copied())
            };
            let factor: Factor = layer.factors[channel.min(layer.factors.len() - 1)];
            Channel { bias: layer.bias[channel], factor, zero: made.written.zero, bounds, sums }
        })
        .collect())
}

/// The constants that sums are scaled with.
struct Scales {
    words: Vec<i32>,
    is_double: bool,
}

impl Scales {
    /// One rounding if that is enough for each channel, two if not; `None` if they are not proved to be right either.
    fn of(channels: &[Channel], kernel: Kernel) -> Option<Self> {
        let is_odd = |channel: usize| kernel != Kernel::Depthwise && channel % 2 == 1;
        let is_small = |(channel, one): (usize, &Channel)| {
            !is_odd(channel) || one.sums.0.abs().max(one.sums.1.abs()) < MOST_DOUBLED
        };
        if !channels.iter().enumerate().all(is_small) {
            return None;
        }
        let together = if kernel == Kernel::Depthwise { 4 } else { 2 };
        let singles: Option<Vec<_>> = channels.iter().map(Channel::single).collect();
        let (mut words, width) = if let Some(singles) = singles {
            let all = singles.iter().enumerate().flat_map(|(channel, &(constant, multiplier))| {
                let constant = if is_odd(channel) { constant << 8 } else { constant };
                [constant as i32, (constant >> 32) as i32, multiplier]
            });
            (all.collect::<Vec<i32>>(), 3)
        } else {
            let doubles: Option<Vec<_>> = channels.iter().map(Channel::double).collect();
            (doubles?.concat(), 4)
        };
        words.resize(channels.len().next_multiple_of(together) * width, 0);
        Some(Self { words, is_double: width == 4 })
    }
}

fn written(
    at: &mut At,
    made: &Weighted,
    kernel: Kernel,
    words: &[u32],
    scales: &Scales,
) -> Result<String, Refused> {
    let wish = wish(at);
    let depth = made.channels[0];
    let needs_zeros = matches!(kernel, Kernel::Windows | Kernel::Depthwise);
    let zeros = if needs_zeros {
        at.emitter.pool.zeros(made.read.zero, (depth as usize).next_multiple_of(4))
    } else {
        "0".to_owned()
    };
    let (ctype, why) = if kernel == Kernel::Depthwise {
        (Ctype::I8, "weights of four channels, tap by tap")
    } else {
        (Ctype::I16, "pairs of channels, 256 times the second and the first")
    };
    let weights = at.emitter.pool.words(ctype, words, &format!("{wish}_weights"), why);
    let why = if scales.is_double {
        "twice the bias, multiplier, half and zero point, shift: by output channel"
    } else {
        "constant of 64 bits, multiplier: by output channel"
    };
    let constants = at.emitter.pool.i32s(&scales.words, &format!("{wish}_scales"), why);
    let (one, one_name) = kernel.fragment();
    let two = with_scratch(at, made, kernel)?;
    let is_of_two = two.is_some();
    let (fragment, name, scratch) = two.unwrap_or((one, one_name, String::new()));
    at.uses(Fragment::PackedS8);
    if scales.is_double {
        if is_of_two {
            at.uses(Fragment::TwosRoundedTwice);
        }
        kernel.round_twice(made.channels[1]).into_iter().for_each(|fragment| at.uses(fragment));
    }
    let over = at.over(name, fragment, made.slides[0])?;
    let (to, layer) = (at.write(0)?, at.k("packed_s8"));
    let image = image(made.slides, depth, made.channels[1]);
    Ok(format!(
        "{}static const struct {layer} layer = {{\n    /* input, output */ {image}\n    \
         /* zero point */ {}, /* from the last pixel to the first */ {}, /* two roundings */ {},\n    \
         {weights}, {constants}, {zeros},\n}};\n\
         {}(&layer, {}, (int8_t *)({to}){scratch});\n",
        over.before,
        made.read.zero,
        i32::from(is_backward(at, made)?),
        i32::from(scales.is_double),
        over.kernel,
        over.from,
    ))
}
