//! Operators that slide a window over rows and columns: convolutions and pools.
//!
//! The portable kernels walk over batches, output rows, columns and channels, from front to back. For each output element they read what the
//! window covers, of all channels or of some, and then write. The lowest input element that is read is the one under the window's first
//! row and column that are not padding.

use super::safe::{Pair, Safe, walk};
use serenity_ir::{Call, Layout};

/// More rows of padding than any real window has.
const MOST_PADDED: i64 = 1024;

/// All input channels, or those of its group, for each output channel.
pub(super) fn convolution(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    // Unknown filters may see all channels, which asks for the most distance.
    let groups = match call.shape(1).as_deref() {
        Some(&[_, _, _, depth]) if depth > 0 => input.depth() / depth as i64,
        Some(_) => return None,
        None => 1,
    };
    slide(call, &input, &output, groups)
}

/// One input channel for each output channel, or for several in a row.
pub(super) fn depthwise_convolution(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    slide(call, &input, &output, input.depth())
}

/// Channel by channel.
pub(super) fn pool(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    (input.depth() == output.depth()).then(|| slide(call, &input, &output, input.depth()))?
}

/// Output channels are in so many groups, each of which reads as large a share of the input channels.
fn slide(call: &Call, input: &Layout, output: &Layout, groups: i64) -> Option<Vec<Pair>> {
    let [batches, input_height, input_width, input_depth] = input.dims()?;
    let [output_batches, output_height, output_width, output_depth] = output.dims()?;
    if batches != output_batches || groups < 1 || input_depth % groups != 0 || output_depth % groups != 0 {
        return None;
    }
    let [kernel, stride, dilation] = [kernel(call)?, call.sides("stride")?, dilation(call)?];
    let is_same = match call.op.word("padding")? {
        "same" => true,
        "valid" => false,
        _ => return None,
    };
    let axis = |side: usize, input, output| Axis {
        input,
        output,
        taps: kernel[side],
        stride: stride[side],
        dilation: dilation[side],
        is_same,
    };
    let [rows, columns] = [axis(0, input_height, output_height), axis(1, input_width, output_width)];
    let [read_pixel, write_pixel] = [input_depth * input.item, output_depth * output.item];
    let [read_row, write_row] = [input_width * read_pixel, output_width * write_pixel];

    let written_by_group = output_depth / groups * output.item;
    let channels =
        written_by_group - output.item + walk(groups, written_by_group, input_depth / groups * input.item);
    let lead = walk(batches, output_height * write_row, input_height * read_row)
        + rows.lead(write_row, read_row)?
        + columns.lead(write_pixel, read_pixel)?
        + channels;
    Some(Safe::at_least(lead).of_operand(0))
}

/// Height and width of the window: the attribute, or the middle dimensions of the filter.
pub(super) fn kernel(call: &Call) -> Option<[i64; 2]> {
    call.sides("kernel").or_else(|| match call.shape(1)?[..] {
        [_, height, width, _] if height > 0 && width > 0 => Some([height as i64, width as i64]),
        _ => None,
    })
}

fn dilation(call: &Call) -> Option<[i64; 2]> {
    if call.op.has("dilation") { call.sides("dilation") } else { Some([1, 1]) }
}

/// A window along rows, or along columns.
struct Axis {
    input: i64,
    output: i64,
    taps: i64,
    stride: i64,
    dilation: i64,
    is_same: bool,
}

impl Axis {
    /// The largest lead of writes over reads along this axis, if places are so many bytes apart; `None` if the sizes do not fit.
    fn lead(&self, write_step: i64, read_step: i64) -> Option<i64> {
        let reach = (self.taps - 1) * self.dilation + 1;
        let (expected, before) = if self.is_same {
            let output = (self.input - 1) / self.stride + 1;
            (output, ((output - 1) * self.stride + reach - self.input).max(0) / 2)
        } else {
            let room = self.input - reach;
            (if room < 0 { 0 } else { room / self.stride + 1 }, 0)
        };
        // Windows that begin in the padding are looked at one by one; from there on both sides walk evenly.
        let padded = ((before + self.stride - 1) / self.stride).min(self.output);
        if self.output != expected || padded > MOST_PADDED {
            return None;
        }
        let corners = (0..padded).chain([padded.min(self.output - 1), self.output - 1]);
        let leads = corners
            .filter_map(|place| Some(place * write_step - self.first_read(place, before)? * read_step));
        leads.max()
    }

    /// The first place of the input that the window at an output place covers.
    fn first_read(&self, place: i64, before: i64) -> Option<i64> {
        let begin = place * self.stride - before;
        let skipped = if begin < 0 { (-begin - 1) / self.dilation + 1 } else { 0 };
        let first = begin + skipped * self.dilation;
        (skipped < self.taps && first < self.input).then_some(first)
    }
}
