//! Operators that slide a window over rows and columns: convolutions and pools.
//!
//! The portable kernels walk over batches, output rows, columns and channels, from front to back. For each output
//! element they read what the window covers inside the input, of all channels or of some, and then write.
//!
//! The checker has its own geometry of windows on purpose, instead of [`serenity_ir::Window`]: what
//! is planned with that is checked with this.

use super::call::{Call, is_feasible};
use super::trace::{Beats, Trace};
use serenity_ir::Layout;
use std::ops::Range;

/// More windows that begin in the padding than any real operator has.
const MOST_PADDED: i64 = 1024;

/// All input channels, or those of its group, for each output channel.
pub(super) fn convolution(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    // With a filter of unknown shape, each output channel may read all input channels, and nothing else can be read.
    let groups = match call.shape_of(1).as_deref() {
        Some(&[_, _, _, depth]) if depth > 0 => input.depth() / depth,
        Some(_) => return None,
        None => 1,
    };
    Window::of(call, &input, &output)?.slide(groups, trace)
}

/// One input channel for each output channel, or for several in a row.
pub(super) fn depthwise_convolution(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    Window::of(call, &input, &output)?.slide(input.depth(), trace)
}

/// Channel by channel.
pub(super) fn pool(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    (input.depth() == output.depth())
        .then(|| Window::of(call, &input, &output)?.slide(input.depth(), trace))?
}

/// Height and width of the window: the attribute, or the middle dimensions of the filter.
pub(super) fn kernel(call: &Call) -> Option<[i64; 2]> {
    call.sides("kernel").or_else(|| match call.shape_of(1)?[..] {
        [_, height, width, _] if height > 0 && width > 0 => Some([height, width]),
        _ => None,
    })
}

/// A window and what it slides over.
pub(super) struct Window {
    batches: i64,
    rows: Axis,
    columns: Axis,
    input_depth: i64,
    input_item: i64,
    output_depth: i64,
    output_item: i64,
}

/// A window along rows, or along columns.
struct Axis {
    input: i64,
    output: i64,
    taps: i64,
    stride: i64,
    dilation: i64,
    /// Padding in front of the input.
    before: i64,
}

impl Window {
    pub(super) fn of(call: &Call, input: &Layout, output: &Layout) -> Option<Self> {
        let [batches, input_height, input_width, input_depth] = input.dims::<4>()?;
        let [output_batches, output_height, output_width, output_depth] = output.dims::<4>()?;
        let [taps, stride] = [kernel(call)?, call.sides("stride")?];
        let dilation = if call.op.has("dilation") { call.sides("dilation")? } else { [1, 1] };
        let is_same = match call.op.word("padding")? {
            "same" => true,
            "valid" => false,
            _ => return None,
        };
        let axis = |side: usize, input, output| {
            Axis::new(input, output, taps[side], stride[side], dilation[side], is_same)
        };
        let rows = axis(0, input_height, output_height)?;
        let columns = axis(1, input_width, output_width)?;
        let [most_rows, most_columns] = [rows.most_covered(), columns.most_covered()];
        let is_small = is_feasible(&[batches, output_height, output_width, most_rows, most_columns]);
        let is_known = batches == output_batches && is_small;
        (is_known && rows.covers_anything() && columns.covers_anything()).then_some(Self {
            batches,
            rows,
            columns,
            input_depth,
            input_item: input.item,
            output_depth,
            output_item: output.item,
        })
    }

    /// Output channels are in so many groups, each of which reads as large a share of the input channels.
    fn slide(&self, groups: i64, trace: &mut Trace) -> Option<()> {
        if groups < 1 || self.input_depth % groups != 0 || self.output_depth % groups != 0 {
            return None;
        }
        let share = self.input_depth / groups * self.input_item;
        let elements = self.output_depth / groups;
        // Where all channels are read, pixels beside each other are one range.
        let joined = groups == 1 && self.columns.dilation == 1;
        self.pixels(joined, trace, |trace, pixels, reads| {
            trace.beats(&Beats {
                reads,
                length: share * pixels,
                read_step: share,
                elements,
                item: self.output_item,
                count: groups,
            });
        });
        Some(())
    }

    /// All channels of all pixels are read, then all channels of the result are written.
    pub(super) fn whole_pixels(&self, trace: &mut Trace) {
        let pixel = self.input_depth * self.input_item;
        self.pixels(self.columns.dilation == 1, trace, |trace, pixels, reads| {
            for &read in reads {
                trace.read(read, read + pixels * pixel);
            }
            trace.append(self.output_depth * self.output_item);
        });
    }

    /// These windows, with places counted from the last to the first.
    pub(super) fn seen_from_behind(self) -> Self {
        Self { rows: self.rows.seen_from_behind(), columns: self.columns.seen_from_behind(), ..self }
    }

    /// All channels of a pixel are written, then all that they are made from is read: no kernel is so late.
    pub(super) fn written_first(&self, trace: &mut Trace) {
        let pixel = self.input_depth * self.input_item;
        self.pixels(self.columns.dilation == 1, trace, |trace, pixels, reads| {
            trace.append(self.output_depth * self.output_item);
            for &read in reads {
                trace.read(read, read + pixels * pixel);
            }
        });
    }

    /// The first pixel is copied to the result, which the others then replace where they are larger: the result is
    /// written before they are read.
    pub(super) fn first_then_larger(&self, trace: &mut Trace) {
        let pixel = self.input_depth * self.input_item;
        self.pixels(false, trace, |trace, _, reads| match reads {
            [] => trace.append(pixel),
            [first, others @ ..] => {
                trace.copy(*first, pixel);
                for &read in others {
                    trace.read(read, read + pixel);
                }
            }
        });
    }

    /// For output pixels in order: where the input is read, and how many pixels side by side each time. Of pixels along
    /// which the window moves evenly, only those are visited that can tell something ([`telling`]); all others are
    /// written.
    fn pixels(&self, joined: bool, trace: &mut Trace, mut visit: impl FnMut(&mut Trace, i64, &[i64])) {
        let pixel = self.input_depth * self.input_item;
        let runs = self.columns.runs();
        let mut reads = Vec::new();
        for batch in 0..self.batches {
            for rows in self.rows.places() {
                for Run { columns, count } in &runs {
                    reads.clear();
                    let step = if joined { columns.end - columns.start } else { self.columns.dilation };
                    for row in rows.clone().step_by(self.rows.dilation as usize) {
                        let begin = (batch * self.rows.input + row) * self.columns.input;
                        let places = columns.clone().step_by(step.max(1) as usize);
                        reads.extend(places.map(|column| (begin + column) * pixel));
                    }
                    let pixels = if joined { step } else { 1 };
                    let moves = self.columns.stride * pixel;
                    let mut next = 0;
                    for place in telling(&reads, moves, pixels * pixel, *count, trace.distance()) {
                        trace.append((place - next) * self.output_depth * self.output_item);
                        for read in &mut reads {
                            *read += (place - next) * moves;
                        }
                        visit(trace, pixels, &reads);
                        for read in &mut reads {
                            *read += moves;
                        }
                        next = place + 1;
                    }
                }
            }
        }
    }
}

/// Output places in a row whose windows cover as many input places, each so many further on as the window moves.
struct Run {
    /// Under the first of them.
    columns: Range<i64>,
    count: i64,
}

/// Which of `count` places in a row tell whether any read comes too late, and how close writes get to reads. Reads and
/// the end of what is written both move evenly, so the one gains evenly on the other: the most shows at one of the
/// ends, or where reads reach up to an output that begins above. Next to each of these is another, since nothing may be
/// written before the first, a block may be copied onto itself, and the channels of one place may lie on both sides of
/// such a point.
fn telling(reads: &[i64], moves: i64, bytes: i64, count: i64, distance: i64) -> Vec<i64> {
    let reached = |read: &i64| (-distance - read - bytes).div_euclid(moves.max(1));
    let begins = reads.iter().filter(|_| distance < 0).map(reached);
    let ends = [0, count - 2].into_iter();
    let mut places: Vec<i64> = ends.chain(begins).flat_map(|place| place..=place + 2).collect();
    places.retain(|place| (0..count).contains(place));
    places.sort_unstable();
    places.dedup();
    places
}

impl Axis {
    fn new(input: i64, output: i64, taps: i64, stride: i64, dilation: i64, is_same: bool) -> Option<Self> {
        let reach = (taps - 1) * dilation + 1;
        let begins = if is_same { input } else { (input - reach + 1).max(0) };
        let before = if is_same { ((output - 1) * stride + reach - input).max(0) / 2 } else { 0 };
        let is_known = (begins + stride - 1) / stride == output
            && ((before + stride - 1) / stride).min(output) <= MOST_PADDED;
        is_known.then_some(Self { input, output, taps, stride, dilation, before })
    }

    /// What comes after the last place comes before the first, if they are counted from behind; less than nothing if
    /// windows leave out the last places.
    fn seen_from_behind(self) -> Self {
        let reach = (self.taps - 1) * self.dilation + 1;
        Self { before: (self.output - 1) * self.stride + reach - self.input - self.before, ..self }
    }

    /// For each output place: the input places under the window, one for each tap, in steps of the dilation.
    fn places(&self) -> impl Iterator<Item = Range<i64>> + '_ {
        (0..self.output).map(|place| {
            let begin = place * self.stride - self.before;
            let padded = if begin < 0 { (-begin - 1) / self.dilation + 1 } else { 0 };
            let first = begin + padded.min(self.taps) * self.dilation;
            let end = (begin + (self.taps - 1) * self.dilation + 1).min(self.input);
            first..end.max(first)
        })
    }

    /// These places as few runs.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for columns in self.places() {
            match runs.last_mut() {
                Some(run)
                    if columns.start == run.columns.start + run.count * self.stride
                        && columns.end - columns.start == run.columns.end - run.columns.start =>
                {
                    run.count += 1;
                }
                _ => runs.push(Run { columns, count: 1 }),
            }
        }
        runs
    }

    fn covers_anything(&self) -> bool {
        self.places().any(|places| !places.is_empty())
    }

    /// No window covers more places than this.
    fn most_covered(&self) -> i64 {
        self.taps.min((self.input - 1) / self.dilation + 1)
    }
}
