//! Operators that scale rows and columns.
//!
//! The portable kernels walk over batches, output rows, columns and channels, from front to back. Which places they
//! read follows from the same arithmetic in 32 bits that they do. Where rounding may differ between machines,
//! everything counts that one of them may read.

use super::call::{Call, is_feasible};
use super::trace::{Beats, Trace};
use serenity_ir::{ElementType, Layout, Op};

/// Larger pictures than this are not looked at.
const LONGEST_SIDE: i64 = 4096;

/// Rows, or columns.
#[derive(Clone, Copy)]
struct Axis {
    input: i64,
    output: i64,
    align_corners: bool,
    half_pixel_centers: bool,
}

/// A picture, and the places that are read for each output place along its axes.
struct Scaling {
    batches: i64,
    height: i64,
    width: i64,
    rows: Vec<Vec<i64>>,
    columns: Vec<Vec<i64>>,
}

/// For each element, up to four of the same channel are read, then one is written.
pub(super) fn bilinear(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only_moved(0)?;
    let places = match input.dtype {
        ElementType::Float32 => Axis::around_in_floats,
        ElementType::Int8 => Axis::around_in_integers,
        _ => return None,
    };
    let (count, item) = (output.depth(), output.item);
    Scaling::of(call, &input, &output, places)?.pixels(count * item, |reads| {
        trace.beats(&Beats { reads, length: item, read_step: item, elements: 1, item, count });
    });
    Some(())
}

/// For each pixel, one is copied as a block.
pub(super) fn nearest_neighbor(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only_moved(0)?;
    let pixel = output.depth() * output.item;
    Scaling::of(call, &input, &output, Axis::nearest)?.pixels(pixel, |reads| {
        for &read in reads {
            trace.copy(read, pixel);
        }
    });
    Some(())
}

/// For each row of the result: the row that it is a copy of.
pub(crate) fn nearest_rows(op: &Op, input: u64, output: u64) -> Option<Vec<u64>> {
    let [align_corners, half_pixel_centers] = [op.flag("align_corners")?, op.flag("half_pixel_centers")?];
    let side = |rows: u64| i64::try_from(rows).ok().filter(|side| (1..=LONGEST_SIDE).contains(side));
    let axis = Axis { input: side(input)?, output: side(output)?, align_corners, half_pixel_centers };
    Some((0..axis.output).flat_map(|row| axis.nearest(row)).map(|row| row as u64).collect())
}

impl Scaling {
    fn of(call: &Call, input: &Layout, output: &Layout, places: fn(&Axis, i64) -> Vec<i64>) -> Option<Self> {
        let [batches, input_height, input_width, depth] = input.dims::<4>()?;
        let [output_batches, output_height, output_width, output_depth] = output.dims::<4>()?;
        let sides = [input_height, input_width, output_height, output_width];
        let is_scaled = batches == output_batches && depth == output_depth;
        let is_small = sides.iter().all(|&side| side <= LONGEST_SIDE)
            && is_feasible(&[batches, output_height, output_width, 9]);
        if !is_scaled || !is_small {
            return None;
        }
        let [align_corners, half_pixel_centers] =
            [call.op.flag("align_corners")?, call.op.flag("half_pixel_centers")?];
        let along = |input, output| {
            let axis = Axis { input, output, align_corners, half_pixel_centers };
            (0..output).map(|place| places(&axis, place)).collect()
        };
        let rows = along(input_height, output_height);
        let columns = along(input_width, output_width);
        Some(Self { batches, height: input_height, width: input_width, rows, columns })
    }

    /// For each output pixel, in order: where the input is read.
    fn pixels(&self, pixel: i64, mut visit: impl FnMut(&[i64])) {
        let mut reads = Vec::new();
        for batch in 0..self.batches {
            for rows in &self.rows {
                for columns in &self.columns {
                    reads.clear();
                    for row in rows {
                        let begin = (batch * self.height + row) * self.width;
                        reads.extend(columns.iter().map(|column| (begin + column) * pixel));
                    }
                    visit(&reads);
                }
            }
        }
    }
}

impl Axis {
    /// Input places for one output place: with aligned corners the outermost pixels meet, otherwise the outermost edges do.
    fn ratio(&self) -> (i64, i64) {
        let is_aligned = self.align_corners && self.output > 1;
        if is_aligned { (self.input - 1, self.output - 1) } else { (self.input, self.output) }
    }

    fn factor(&self) -> f32 {
        let (input, output) = self.ratio();
        input as f32 / output as f32
    }

    /// These places, but for those outside.
    fn inside<const COUNT: usize>(&self, places: [i64; COUNT]) -> Vec<i64> {
        let mut inside = places.map(|place| place.clamp(0, self.input - 1)).to_vec();
        inside.sort_unstable();
        inside.dedup();
        inside
    }

    fn around_in_floats(&self, place: i64) -> Vec<i64> {
        let (place, factor) = (place as f32, self.factor());
        if !self.half_pixel_centers {
            let scaled = place * factor;
            return self.inside([scaled.floor() as i64, scaled.ceil() as i64]);
        }
        // Some machines multiply and subtract in one step, and round but once.
        let [two_steps, one_step] = [(place + 0.5) * factor - 0.5, (place + 0.5).mul_add(factor, -0.5)];
        let [floors, ceils] =
            [f32::floor, f32::ceil].map(|round| [two_steps, one_step].map(|at| round(at) as i64));
        self.inside([floors[0], floors[1], ceils[0], ceils[1]])
    }

    /// In steps of 1/1024. Rounded to these, a factor may lead beyond the last place; the kernel would then read too
    /// far, and still not lower.
    fn around_in_integers(&self, place: i64) -> Vec<i64> {
        let (input, output) = self.ratio();
        let factor = (1024 * input + output / 2) / output;
        let scaled = place * factor + if self.half_pixel_centers { factor / 2 - 512 } else { 0 };
        self.inside([scaled / 1024, (scaled + 1023) / 1024])
    }

    fn nearest(&self, place: i64) -> Vec<i64> {
        let center = if self.half_pixel_centers { 0.5 } else { 0.0 };
        let scaled = (place as f32 + center) * self.factor();
        self.inside([if self.align_corners { scaled.round() } else { scaled.floor() } as i64])
    }
}
