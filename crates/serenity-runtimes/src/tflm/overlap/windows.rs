//! Operators that slide a window over rows and columns: convolutions and pools.
//!
//! The portable kernels walk over batches, output rows, columns and channels, from front to back. For each output
//! element they read what the window covers, of all channels or of some, and then write. The lowest input element that
//! is read is the one under the window's first row and column that are not padding.

use super::safe::{Pair, Safe, walk};
use serenity_ir::{Call, Layout, Padding, Slide, Window};

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

/// From the last pixel to the first: how many bytes above the input the output must begin, at least.
///
/// Counted from behind, this is a walk from front to back over windows that begin where these end. In which order the
/// channels of a pixel are made does not matter, since all of them count as written before the first is read.
pub(super) fn backwards(call: &Call) -> Option<u64> {
    let (input, output) = call.input_and_output(0)?;
    let [rows, columns] = slides(call, &input, &output)?;
    let [read_pixel, write_pixel] = [input.depth() * input.item, output.depth() * output.item];
    let [read_row, write_row] = [columns.input * read_pixel, columns.output * write_pixel];
    let lead = lead(rows.reversed(), write_row, read_row)?
        + lead(columns.reversed(), write_pixel, read_pixel)?
        + write_pixel;
    // The output must end that far above the input; where both begin differs by their sizes, too.
    let longer = input.count * input.item - output.count * output.item;
    u64::try_from((lead.max(0) + longer).max(1)).ok()
}

/// Output channels are in so many groups, each of which reads as large a share of the input channels.
fn slide(call: &Call, input: &Layout, output: &Layout, groups: i64) -> Option<Vec<Pair>> {
    let [batches, _, _, input_depth] = input.dims()?;
    let [output_batches, _, _, output_depth] = output.dims()?;
    if batches != output_batches || groups < 1 || input_depth % groups != 0 || output_depth % groups != 0 {
        return None;
    }
    let [rows, columns] = slides(call, input, output)?;
    let [read_pixel, write_pixel] = [input_depth * input.item, output_depth * output.item];
    let [read_row, write_row] = [columns.input * read_pixel, columns.output * write_pixel];

    let written_by_group = output_depth / groups * output.item;
    let channels =
        written_by_group - output.item + walk(groups, written_by_group, input_depth / groups * input.item);
    let lead = walk(batches, rows.output * write_row, rows.input * read_row)
        + lead(rows, write_row, read_row)?
        + lead(columns, write_pixel, read_pixel)?
        + channels;
    Some(Safe::at_least(lead).of_operand(0))
}

/// How the window slides over rows, and over columns; `None` if the sizes do not fit.
fn slides(call: &Call, input: &Layout, output: &Layout) -> Option<[Slide; 2]> {
    let [_, input_height, input_width, _] = input.dims()?;
    let [_, output_height, output_width, _] = output.dims()?;
    let [kernel, stride, dilation] = [kernel(call)?, call.sides("stride")?, dilation(call)?];
    let padding = Padding::named(call.op.word("padding")?)?;
    let slide = |side: usize, input, output| {
        let slide = Window::new(kernel[side], stride[side], dilation[side])?.along(input, padding)?;
        (slide.output == output).then_some(slide)
    };
    Some([slide(0, input_height, output_height)?, slide(1, input_width, output_width)?])
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

/// The largest lead of writes over reads along one axis, if places are so many bytes apart.
fn lead(slide: Slide, write_step: i64, read_step: i64) -> Option<i64> {
    // Windows that begin in the padding are looked at one by one; from there on both sides walk evenly.
    let stride = slide.window.stride;
    let padded = ((slide.before + stride - 1) / stride).clamp(0, slide.output);
    if padded > MOST_PADDED {
        return None;
    }
    let corners = (0..padded).chain([padded.min(slide.output - 1), slide.output - 1]);
    let leads =
        corners.filter_map(|place| Some(place * write_step - slide.first_element(place)? * read_step));
    leads.max()
}
