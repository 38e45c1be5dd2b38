//! Which rows of its inputs an operator needs for which rows of its result.
//!
//! Rows are the second dimension of a tensor of four with a batch of one. If there is only one row, columns take their
//! place: they follow each other in memory as rows do, so everything about rows holds for them, with height and width
//! exchanged. A tensor `[1, T, C]` is an image of `T` rows of one column.
//!
//! An operator is *row-local* if a row of its result depends on few rows of its inputs, at the same distances for each
//! row, and on nothing else. Let `H` be the rows of the input and `H'` those of the result.
//!
//! | | row `r` of the result needs |
//! |---|---|
//! | element by element, concatenation along channels | row `r` of each input |
//! | a window of `k` rows, `d` apart, that moves `s` rows at a time | rows `r s - t` to `r s - t + (k - 1) d`, those outside left out or taken for zero points |
//! | padding with `t` rows above | row `r - t`, or none |
//! | a crop of `t` rows above | row `r + t` |
//! | the nearest neighbour in an image of `H' / k` rows | row `⌊r / k⌋` |
//!
//! For padding `SAME` a kernel takes `t = max((H' - 1) s + (k - 1) d + 1 - H, 0) / 2`, for `VALID` it is 0.

use crate::speed::Layer;
use serenity_ir::Operator::{self, *};
use serenity_ir::{Call, ElementType, Graph, OpId, Padding, Slide, Tensor, TensorId, Window};

/// Operators whose rows each depend on one row of each operand.
#[rustfmt::skip]
const ELEMENTWISE: &[Operator] = &[
    RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, PRELU, ELU, HARD_SWISH, LOGISTIC, TANH, ABS,
    NEG, SQUARE, FLOOR, CEIL, ROUND, EXP, LOG, SQRT, RSQRT, SIN, COS, ADD, SUB, MUL, DIV, MAXIMUM,
    MINIMUM, SQUARED_DIFFERENCE, QUANTIZE, DEQUANTIZE,
];

/// The longest side, window and step, and the most bytes of a pixel, that the checker follows.
const LONGEST: i64 = 1 << 20;

/// How rows of the result follow from rows of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Each row depends on the same row of the inputs.
    Alike,
    /// A window that moves over the rows.
    Sliding(Sliding),
    /// Rows of padding above and below.
    Padded {
        /// Rows above.
        top: i64,
        /// Rows below.
        bottom: i64,
    },
    /// Rows removed above, and columns removed.
    Cropped {
        /// Rows above.
        top: i64,
        /// Columns removed before.
        left: i64,
    },
    /// Each row is repeated.
    Repeated {
        /// How often each row is repeated.
        times: i64,
    },
}

/// A window that moves over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// Rows from the first to the last that it covers.
    pub extent: i64,
    /// How far it moves for the next row of the result.
    pub stride: i64,
    /// Rows above the first that its first position covers.
    pub top: i64,
    /// Rows below the last that its last position covers.
    pub bottom: i64,
    /// Columns before the first and behind the last that it covers.
    pub sides: [i64; 2],
    /// Is its padding `SAME`?
    pub is_same: bool,
    /// Do rows outside count as zero points, so that rows of zero points can replace them? A pool leaves them out.
    pub takes_zero_points: bool,
}

impl Sliding {
    /// The window over another number of rows; `None` if it makes no row of them.
    pub(crate) fn over(self, rows: i64) -> Option<Slide> {
        let padding = if self.is_same { Padding::Same } else { Padding::Valid };
        Window::new(self.extent, self.stride, 1)?.along(rows, padding)
    }
}

/// A row-local operator.
#[derive(Clone, Debug)]
pub struct RowLocal {
    /// The op in its graph.
    pub op: OpId,
    /// The inputs, each once.
    pub inputs: Vec<TensorId>,
    /// The result.
    pub output: TensorId,
    /// How rows of the result depend on rows of the inputs.
    pub rows: Rows,
    /// Multiplications for the whole result.
    pub macs: u64,
    /// What its instructions depend on: how it computes an element, and how many there are.
    pub(crate) layer: Layer,
    pub(crate) results: i64,
}

/// A tensor that can be cut into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    depth: i64,
    /// The dimension of its rows, and the number of its dimensions.
    pub(crate) axis: usize,
    pub(crate) rank: usize,
}

impl Image {
    /// `None` if it cannot be cut and put together again, or if it has no value for rows outside.
    pub(crate) fn of(graph: &Graph, tensor: TensorId) -> Option<Self> {
        let tensor = graph.tensor(tensor);
        let layout = tensor.layout().filter(|_| zero_point(tensor).is_some())?;
        let (rows, columns, depth, axis) = match *layout.shape {
            [1, rows, depth] => (rows, 1, depth, 1),
            [1, 1, rows, depth] => (rows, 1, depth, 2),
            [1, rows, columns, depth] => (rows, columns, depth, 1),
            _ => return None,
        };
        let [rows, columns, depth] = [rows, columns, depth].map(|side| side as i64);
        Some(Self { rows, columns, depth, axis, rank: layout.shape.len() })
    }

    /// An image of four dimensions whose rows are the second, even if there is only one.
    pub(crate) fn upright(graph: &Graph, tensor: TensorId) -> Option<Self> {
        let image = Self::of(graph, tensor).filter(|image| image.rank == 4)?;
        let (rows, columns) = if image.axis == 1 { (image.rows, image.columns) } else { (1, image.rows) };
        Some(Self { rows, columns, axis: 1, ..image })
    }

    /// Exchanges height and width if columns stand for rows.
    pub(crate) fn turned<T>(&self, mut sides: [T; 2]) -> [T; 2] {
        if self.axis == 2 {
            sides.reverse();
        }
        sides
    }
}

/// The value that stands for zero, in a type whose elements are only copied where images are joined: unsigned bytes may
/// be scaled.
pub(crate) fn zero_point(tensor: &Tensor) -> Option<i64> {
    let dtype = tensor.dtype.as_ref()?;
    if *dtype == ElementType::Float32 {
        return Some(0);
    }
    let zero = match tensor.quantization.as_ref().map_or(&[][..], |quantization| &quantization.zero_points) {
        [] => 0,
        &[zero] => zero,
        _ => return None,
    };
    let is_there = match dtype {
        ElementType::Int8 => i8::try_from(zero).is_ok(),
        ElementType::Int16 => i16::try_from(zero).is_ok(),
        ElementType::Int32 => i32::try_from(zero).is_ok(),
        ElementType::Int64 => true,
        _ => false,
    };
    is_there.then_some(zero)
}

impl RowLocal {
    /// The facts about an op; `None` if it is not row-local, or not known to be.
    pub fn of(graph: &Graph, op: OpId) -> Option<Self> {
        Self::seen(graph, op, |tensor| Image::of(graph, tensor))
            .filter(|local| Image::of(graph, local.output).is_some_and(|image| image.rows >= 2))
    }

    /// The facts about an op whose rows are the second dimension, even if there is only one.
    pub(crate) fn upright(graph: &Graph, op: OpId) -> Option<Self> {
        Self::seen(graph, op, |tensor| Image::upright(graph, tensor))
    }

    fn seen(graph: &Graph, op: OpId, image: impl Fn(TensorId) -> Option<Image>) -> Option<Self> {
        let call = Call::new(graph, op);
        let &[output] = call.op.outputs.as_slice() else { return None };
        // Stripes cannot share state that outlives a run.
        if call.op.has("variables") {
            return None;
        }
        let to = image(output)?;
        let mut inputs: Vec<TensorId> = Vec::new();
        for input in call.activations() {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        let images: Vec<Image> = inputs.iter().map(|&t| image(t)).collect::<Option<_>>()?;
        let from = *images.first()?;
        let all_alike = || images.iter().all(|image| image.rows == to.rows);
        let lie_alike = images.iter().all(|image| (image.axis, image.rank) == (to.axis, to.rank));
        let rows = match call.operator() {
            RESHAPE | SQUEEZE | EXPAND_DIMS if all_alike() && is_moved(graph, &inputs, output) => Rows::Alike,
            _ if !lie_alike => return None,
            CONV_2D | DEPTHWISE_CONV_2D if inputs.len() == 1 && has_fixed_filter(&call) => {
                Rows::Sliding(sliding(&call, from, to, true)?)
            }
            AVERAGE_POOL_2D | MAX_POOL_2D => Rows::Sliding(sliding(&call, from, to, false)?),
            CONCATENATION
                if call.axis(to.rank)? == to.rank - 1 && !call.op.has_constants() && all_alike() =>
            {
                Rows::Alike
            }
            PAD => padded(&call, from, to)?,
            STRIDED_SLICE => cropped(&call, from, to)?,
            RESIZE_NEAREST_NEIGHBOR => repeated(&call, from, to)?,
            kind if ELEMENTWISE.contains(&kind) && all_alike() && constants_fit_any_row(&call, to) => {
                Rows::Alike
            }
            _ => return None,
        };
        let results = graph.tensor(output).layout()?.count;
        Some(Self { op, inputs, output, rows, macs: macs(&call, results), layer: Layer::of(&call), results })
    }
}

/// Are filter and bias constants, and has the filter the type of the image, so that no kernel needs the whole image for
/// a scale?
fn has_fixed_filter(call: &Call) -> bool {
    let is_float = |position| call.dtype(position) == Some(ElementType::Float32);
    call.activation(0).is_some()
        && call.op.constant(1).is_some()
        && call.activation(2).is_none()
        && is_float(0) == is_float(1)
}

/// Are both the same bytes?
fn is_moved(graph: &Graph, from: &[TensorId], to: TensorId) -> bool {
    let what = |t: TensorId| (graph.tensor(t).bytes, &graph.tensor(t).dtype);
    from.iter().map(|&t| what(t)).eq([what(to)])
}

/// Can every constant operand be used for any row?
fn constants_fit_any_row(call: &Call, to: Image) -> bool {
    (0..call.operand_count()).filter(|&position| call.activation(position).is_none()).all(|position| {
        call.op.constant(position).is_some()
            && call.shape(position).is_some_and(|shape| {
                // Dimensions are counted from the last one.
                shape.len().checked_sub(to.rank - to.axis).is_none_or(|row| shape[row] == 1)
                    && shape.len() <= to.rank
            })
    })
}

fn sliding(call: &Call, from: Image, to: Image, takes_zero_points: bool) -> Option<Sliding> {
    let stride = to.turned(call.sides("stride")?);
    let dilation = if call.op.has("dilation") { to.turned(call.sides("dilation")?) } else { [1, 1] };
    let kernel = to.turned(call.kernel()?);
    let padding = Padding::named(call.op.word("padding")?)?;
    let kernel = kernel.map(|side| i64::try_from(side).unwrap_or(i64::MAX));
    let pixel = from.depth.checked_mul(call.operand(0)?.item)?;
    let sides = [from.rows, from.columns, to.rows, to.columns, pixel];
    let is_counted = |numbers: &[i64]| numbers.iter().all(|number| (1..=LONGEST).contains(number));
    if to.rank != 4 || ![&sides[..], &kernel, &stride, &dilation].into_iter().all(is_counted) {
        return None;
    }
    let slide = |side: usize, inside: i64, outside: i64| {
        let slide = Window::new(kernel[side], stride[side], dilation[side])?.along(inside, padding)?;
        (slide.output == outside).then_some(slide)
    };
    let rows = slide(0, from.rows, to.rows)?;
    let columns = slide(1, from.columns, to.columns)?;
    let sides = [columns.before, columns.after.max(0)];
    // A single row with padding above or below is no longer a single one.
    if to.axis == 2 && sides != [0, 0] {
        return None;
    }
    Some(Sliding {
        extent: rows.window.extent()?,
        stride: stride[0],
        top: rows.before,
        bottom: rows.after.max(0),
        sides,
        is_same: padding == Padding::Same,
        takes_zero_points,
    })
}

fn padded(call: &Call, from: Image, to: Image) -> Option<Rows> {
    let around: [i64; 8] = call.values(1)?.try_into().ok()?;
    let [batch, height, width, depth] = [0, 2, 4, 6].map(|side| [around[side], around[side + 1]]);
    let [rows, columns] = to.turned([height, width]);
    let fits = |[before, behind]: [i64; 2], inside: i64, outside: i64| {
        let all = inside.checked_add(before).and_then(|sum| sum.checked_add(behind));
        before >= 0 && behind >= 0 && all == Some(outside)
    };
    let are_padded = fits(rows, from.rows, to.rows)
        && fits(columns, from.columns, to.columns)
        && fits(depth, from.depth, to.depth);
    (are_padded && batch == [0, 0]).then_some(Rows::Padded { top: rows[0], bottom: rows[1] })
}

/// A slice that keeps the batch and the channels, and removes rows above and columns anywhere.
fn cropped(call: &Call, from: Image, to: Image) -> Option<Rows> {
    let mut begin: [i64; 4] = call.values(1)?.try_into().ok()?;
    let from_the_start = call.op.number("begin_mask").unwrap_or(0);
    for (side, begin) in begin.iter_mut().enumerate() {
        if from_the_start >> side & 1 == 1 {
            *begin = 0;
        }
    }
    let [batch, height, width, depth] = begin;
    let [top, left] = to.turned([height, width]);
    let reshapes = ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let is_reshaped = reshapes.iter().any(|&mask| call.op.number(mask).is_some_and(|bits| bits != 0));
    let keeps_the_rest =
        top >= 0 && top + to.rows == from.rows && (batch, depth, to.depth) == (0, 0, from.depth);
    let is_inside = left >= 0 && left + to.columns <= from.columns;
    let is_crop = is_inside && keeps_the_rest && !is_reshaped && call.values(3)? == [1; 4];
    is_crop.then_some(Rows::Cropped { top, left })
}

/// The nearest neighbours of rows, if these are the same rows in every stripe. Kernels take them from the ratio of the
/// heights, which is that of all stripes as well, unless corners are aligned. They round: TFLM to 32 bits, LiteRT to
/// steps of 2⁻¹⁶.
fn repeated(call: &Call, from: Image, to: Image) -> Option<Rows> {
    let [is_aligned, is_centered] = ["align_corners", "half_pixel_centers"].map(|flag| call.op.flag(flag));
    let center = if is_centered? { 0.5 } else { 0.0 };
    let times = to.rows / from.rows;
    let is_multiple = times >= 1 && times * from.rows == to.rows && times * to.rows <= 1 << 16;
    let nearest = |row: i64| ((row as f32 + center) * (from.rows as f32 / to.rows as f32)).floor() as i64;
    let is_told = call.values(1)? == to.turned([to.rows, to.columns]);
    let fits = to.rank == 4 && is_multiple && is_told && !is_aligned? && from.depth == to.depth;
    (fits && (0..to.rows).all(|row| nearest(row) == row / times)).then_some(Rows::Repeated { times })
}

fn macs(call: &Call, results: i64) -> u64 {
    let filter = call.described(1).and_then(|filter| filter.dims::<4>());
    match (call.operator(), filter) {
        (CONV_2D, Some([_, height, width, depth])) => results as u64 * height * width * depth,
        (DEPTHWISE_CONV_2D, Some([_, height, width, _])) => results as u64 * height * width,
        _ => 0,
    }
}

impl Rows {
    /// How many rows of an input one row of the result stands for.
    pub(crate) fn stride(self) -> i64 {
        match self {
            Self::Sliding(sliding) => sliding.stride,
            _ => 1,
        }
    }

    /// How many rows of the result stand for one row of an input.
    pub(crate) fn times(self) -> i64 {
        match self {
            Self::Repeated { times } => times,
            _ => 1,
        }
    }

    /// Does a row of the result need other rows than its own?
    pub(crate) fn has_halo(self) -> bool {
        match self {
            Self::Alike => false,
            Self::Sliding(sliding) => sliding.extent > 1,
            Self::Padded { top, bottom } => top > 0 || bottom > 0,
            Self::Cropped { .. } => true,
            Self::Repeated { times } => times > 1,
        }
    }

    /// Do several rows of the result need more rows than there are of them, so that some are computed again where the
    /// image is cut? Padding and crops only move rows.
    pub(crate) fn widens(self) -> bool {
        matches!(self, Self::Sliding(Sliding { extent, .. }) if extent > 1)
    }

    /// The rows of an input that rows `a..b` of the result need, some of which may not exist.
    pub fn needed(self, (a, b): (i64, i64)) -> (i64, i64) {
        match self {
            Self::Alike => (a, b),
            Self::Sliding(Sliding { extent, stride, top, .. }) => {
                (a * stride - top, (b - 1) * stride - top + extent)
            }
            Self::Padded { top, .. } => (a - top, b - top),
            Self::Cropped { top, .. } => (a + top, b + top),
            Self::Repeated { times } => (a.div_euclid(times), (b - 1).div_euclid(times) + 1),
        }
    }

    /// The rows that it makes of `rows` rows, run as it is; `None` if none.
    pub(crate) fn made_of(self, rows: i64) -> Option<i64> {
        let made = match self {
            Self::Alike => rows,
            Self::Sliding(sliding) => sliding.over(rows)?.output,
            Self::Padded { top, bottom } => rows + top + bottom,
            Self::Cropped { top, .. } => rows - top,
            Self::Repeated { times } => rows * times,
        };
        (made > 0).then_some(made)
    }
}
