//! Operators that scale rows and columns.
//!
//! The portable kernels walk over batches, output rows, columns and channels, from front to back. Which rows and
//! columns they read follows from the same arithmetic in 32 bits that they do: where rounding may differ between
//! machines, the lower place counts.

use super::safe::{Pair, Safe, walk};
use serenity_ir::{Call, ElementType, Layout};

/// Larger pictures than this are not looked at row by row.
const LONGEST_SIDE: i64 = 4096;

/// How an output place maps to places of the input.
#[derive(Clone, Copy)]
struct Mapping {
    input: i64,
    output: i64,
    align_corners: bool,
    half_pixel_centers: bool,
}

/// For each element, up to four of the same channel are read, then one is written.
pub(super) fn bilinear(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    let lowest = match input.dtype {
        ElementType::Float32 => Mapping::below_in_floats,
        ElementType::Int8 => Mapping::below_in_integers,
        _ => return None,
    };
    let lead = scale(call, &input, &output, lowest)?;
    Some(Safe::at_least(lead).of_operand(0))
}

/// For each pixel, one is copied as a block.
pub(super) fn nearest_neighbor(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    let lead = scale(call, &input, &output, Mapping::nearest)?;
    Some(Safe::at_least(lead + output.depth() * output.item).of_operand(0))
}

fn scale(call: &Call, input: &Layout, output: &Layout, lowest: fn(&Mapping, i64) -> i64) -> Option<i64> {
    let [batches, input_height, input_width, depth] = input.dims()?;
    let [output_batches, output_height, output_width, output_depth] = output.dims()?;
    let sides = [input_height, input_width, output_height, output_width];
    if batches != output_batches || depth != output_depth || sides.iter().any(|&side| side > LONGEST_SIDE) {
        return None;
    }
    let [align_corners, half_pixel_centers] =
        [call.op.flag("align_corners")?, call.op.flag("half_pixel_centers")?];
    let largest_lead = |input, output, write_step, read_step| {
        let mapping = Mapping { input, output, align_corners, half_pixel_centers };
        let leads = (0..output).map(|place| place * write_step - lowest(&mapping, place) * read_step);
        leads.max()
    };
    let pixel = depth * input.item;
    let [read_row, write_row] = [input_width * pixel, output_width * pixel];
    Some(
        walk(batches, output_height * write_row, input_height * read_row)
            + largest_lead(input_height, output_height, write_row, read_row)?
            + largest_lead(input_width, output_width, pixel, pixel)?,
    )
}

impl Mapping {
    /// Input places for one output place: with aligned corners the outermost pixels meet, otherwise the outermost edges do.
    fn ratio(&self) -> (i64, i64) {
        let is_aligned = self.align_corners && self.output > 1;
        if is_aligned { (self.input - 1, self.output - 1) } else { (self.input, self.output) }
    }

    fn factor(&self) -> f32 {
        let (input, output) = self.ratio();
        input as f32 / output as f32
    }

    fn within(&self, place: i64) -> i64 {
        place.clamp(0, self.input - 1)
    }

    fn below_in_floats(&self, place: i64) -> i64 {
        let (place, factor) = (place as f32, self.factor());
        if !self.half_pixel_centers {
            return self.within((place * factor).floor() as i64);
        }
        // Some machines multiply and subtract in one step, and round but once.
        let [two_steps, one_step] = [(place + 0.5) * factor - 0.5, (place + 0.5).mul_add(factor, -0.5)];
        self.within(two_steps.min(one_step).floor() as i64)
    }

    /// In steps of 1/1024. Rounded to these, a factor may lead beyond the last place; the kernel would then read too
    /// far, and still not lower.
    fn below_in_integers(&self, place: i64) -> i64 {
        let (input, output) = self.ratio();
        let factor = (1024 * input + output / 2) / output;
        let shift = if self.half_pixel_centers { factor / 2 - 512 } else { 0 };
        self.within((place * factor + shift) / 1024)
    }

    fn nearest(&self, place: i64) -> i64 {
        let center = if self.half_pixel_centers { 0.5 } else { 0.0 };
        let scaled = (place as f32 + center) * self.factor();
        self.within(if self.align_corners { scaled.round() } else { scaled.floor() } as i64)
    }
}
