//! Which rows of its inputs an operator needs for which rows of its result.
//!
//! Rows are the second dimension of a tensor of four with a batch of one. An operator is *row-local* if a row of its result depends on few rows of what
//! it reads, on the same few for each row, and on nothing else. Let `H` be the rows that it reads and `H'` those that it makes.
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

use serenity_ir::Operator::{self, *};
use serenity_ir::{Call, ElementType, Graph, OpId, TensorId};

/// Operators that make a row of one row of each operand.
#[rustfmt::skip]
const ELEMENTWISE: &[Operator] = &[
    RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, PRELU, ELU, HARD_SWISH, LOGISTIC, TANH, ABS,
    NEG, SQUARE, FLOOR, CEIL, ROUND, EXP, LOG, SQRT, RSQRT, SIN, COS, ADD, SUB, MUL, DIV, MAXIMUM,
    MINIMUM, SQUARED_DIFFERENCE, QUANTIZE, DEQUANTIZE,
];

/// How rows of the result follow from rows of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Row for row.
    Alike,
    /// A window that moves over the rows.
    Sliding(Sliding),
    /// Rows of padding above and below.
    Padded {
        /// Above.
        top: i64,
        /// Below.
        bottom: i64,
    },
    /// Rows taken off above, and columns.
    Cropped {
        /// Rows above.
        top: i64,
        /// Columns before.
        left: i64,
    },
    /// Each row several times.
    Repeated {
        /// How often.
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
    /// Are rows outside taken for zero points, so that rows of zero points can stand in for them? A pool leaves them out.
    pub takes_zero_points: bool,
}

/// A row-local operator.
#[derive(Clone, Debug)]
pub struct RowLocal {
    /// Which.
    pub op: OpId,
    /// What it reads, each once.
    pub inputs: Vec<TensorId>,
    /// What it writes.
    pub output: TensorId,
    /// How its rows depend on each other.
    pub rows: Rows,
    /// Multiplications for the whole tensor.
    pub macs: u64,
}

/// The shape of a tensor that can be cut into rows and put together again: a concatenation of unsigned bytes may be more than a copy.
pub(crate) fn image(graph: &Graph, tensor: TensorId) -> Option<[i64; 4]> {
    let layout = graph.tensor(tensor).layout().filter(|layout| *layout.dtype != ElementType::UInt8)?;
    layout.dims().filter(|dims: &[i64; 4]| dims[0] == 1)
}

impl RowLocal {
    /// What is known of an op; `None` if it is not row-local, or not known to be.
    pub fn of(graph: &Graph, op: OpId) -> Option<Self> {
        let call = Call::new(graph, op);
        let &[output] = call.op.outputs.as_slice() else { return None };
        // State that outlives a run is not for stripes to share.
        if call.op.has("variables") {
            return None;
        }
        let to = image(graph, output).filter(|dims| dims[1] >= 2)?;
        let mut inputs: Vec<TensorId> = Vec::new();
        for input in call.activations() {
            image(graph, input)?;
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        let first = *inputs.first()?;
        let from = image(graph, first)?;
        let all_alike = || inputs.iter().all(|&t| image(graph, t).is_some_and(|dims| dims[1] == to[1]));
        let rows = match call.operator() {
            CONV_2D | DEPTHWISE_CONV_2D if inputs.len() == 1 && has_fixed_filter(&call) => {
                Rows::Sliding(sliding(&call, from, to, true)?)
            }
            AVERAGE_POOL_2D | MAX_POOL_2D => Rows::Sliding(sliding(&call, from, to, false)?),
            CONCATENATION if call.axis(4)? == 3 && !call.op.has_constants() && all_alike() => Rows::Alike,
            PAD => padded(&call, from, to)?,
            STRIDED_SLICE => cropped(&call, from, to)?,
            RESIZE_NEAREST_NEIGHBOR => repeated(&call, from, to)?,
            kind if ELEMENTWISE.contains(&kind) && all_alike() && constants_fit_any_row(&call) => Rows::Alike,
            _ => return None,
        };
        Some(Self { op, inputs, output, rows, macs: macs(&call, to) })
    }
}

/// Are filter and bias constants, and is the filter of the type of the image, so that no kernel looks at the whole image for a scale?
fn has_fixed_filter(call: &Call) -> bool {
    let is_float = |position| call.dtype(position) == Some(ElementType::Float32);
    call.activation(0).is_some()
        && call.op.constant(1).is_some()
        && call.activation(2).is_none()
        && is_float(0) == is_float(1)
}

/// May every constant operand be used for whichever rows?
fn constants_fit_any_row(call: &Call) -> bool {
    (0..call.operand_count()).filter(|&position| call.activation(position).is_none()).all(|position| {
        call.op.constant(position).is_some()
            && call.shape(position).is_some_and(|shape| {
                // Dimensions are counted from the last one.
                shape.len().checked_sub(3).is_none_or(|row| shape[row] == 1) && shape.len() <= 4
            })
    })
}

fn sliding(call: &Call, from: [i64; 4], to: [i64; 4], takes_zero_points: bool) -> Option<Sliding> {
    let stride = call.sides("stride")?;
    let dilation = if call.op.has("dilation") { call.sides("dilation")? } else { [1, 1] };
    let kernel = call.kernel()?;
    let is_same = match call.op.word("padding")? {
        "same" => true,
        "valid" => false,
        _ => return None,
    };
    let extents = [0, 1].map(|side| (kernel[side] as i64 - 1) * dilation[side] + 1);
    if extents.iter().any(|&extent| extent < 1) {
        return None;
    }
    let around = |side: usize| {
        let (inside, outside) = (from[side + 1], to[side + 1]);
        let reached = (outside - 1) * stride[side] + extents[side];
        let expected = if is_same {
            (inside + stride[side] - 1) / stride[side]
        } else {
            (inside - extents[side]) / stride[side] + 1
        };
        let all = (reached - inside).max(0);
        let before = if is_same { all / 2 } else { 0 };
        (outside == expected && (is_same || all == 0)).then_some([before, all - before])
    };
    let [top, bottom] = around(0)?;
    Some(Sliding {
        extent: extents[0],
        stride: stride[0],
        top,
        bottom,
        sides: around(1)?,
        is_same,
        takes_zero_points,
    })
}

fn padded(call: &Call, from: [i64; 4], to: [i64; 4]) -> Option<Rows> {
    let around: [i64; 8] = call.values(1)?.try_into().ok()?;
    let fits = (0..4).all(|side| {
        around[2 * side] >= 0
            && around[2 * side + 1] >= 0
            && from[side].checked_add(around[2 * side]).and_then(|sum| sum.checked_add(around[2 * side + 1]))
                == Some(to[side])
    });
    (fits && around[..2] == [0, 0]).then_some(Rows::Padded { top: around[2], bottom: around[3] })
}

/// A slice that keeps the batch and the channels, and takes off rows above and columns anywhere.
fn cropped(call: &Call, from: [i64; 4], to: [i64; 4]) -> Option<Rows> {
    let mut begin: [i64; 4] = call.values(1)?.try_into().ok()?;
    let from_the_start = call.op.number("begin_mask").unwrap_or(0);
    for (side, begin) in begin.iter_mut().enumerate() {
        if from_the_start >> side & 1 == 1 {
            *begin = 0;
        }
    }
    let reshapes = ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let is_reshaped = reshapes.iter().any(|&mask| call.op.number(mask).is_some_and(|bits| bits != 0));
    let is_inside = (0..4).all(|side| begin[side] >= 0 && begin[side] + to[side] <= from[side]);
    let keeps_the_rest = begin[1] + to[1] == from[1] && (begin[0], begin[3], to[3]) == (0, 0, from[3]);
    let is_crop = is_inside && keeps_the_rest && !is_reshaped && call.values(3)? == [1; 4];
    is_crop.then_some(Rows::Cropped { top: begin[1], left: begin[2] })
}

/// The nearest neighbours of rows, if these are the same rows in every stripe. Kernels take them from the ratio of the heights, which is that of all stripes as well, unless
/// corners are aligned. They round: TFLM to 32 bits, LiteRT to steps of 2⁻¹⁶.
fn repeated(call: &Call, from: [i64; 4], to: [i64; 4]) -> Option<Rows> {
    let [is_aligned, is_centered] = ["align_corners", "half_pixel_centers"].map(|flag| call.op.flag(flag));
    let center = if is_centered? { 0.5 } else { 0.0 };
    let times = to[1] / from[1];
    let is_multiple = times >= 1 && times * from[1] == to[1] && times * to[1] <= 1 << 16;
    let nearest = |row: i64| ((row as f32 + center) * (from[1] as f32 / to[1] as f32)).floor() as i64;
    let fits = is_multiple && !is_aligned? && from[3] == to[3] && call.values(1)? == to[1..3];
    (fits && (0..to[1]).all(|row| nearest(row) == row / times)).then_some(Rows::Repeated { times })
}

fn macs(call: &Call, to: [i64; 4]) -> u64 {
    let results = to.iter().product::<i64>() as u64;
    let filter = call.described(1).and_then(|filter| filter.dims::<4>());
    match (call.operator(), filter) {
        (CONV_2D, Some([_, height, width, depth])) => results * height * width * depth,
        (DEPTHWISE_CONV_2D, Some([_, height, width, _])) => results * height * width,
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

    /// The rows of an input that rows `a..b` of the result need, some of which may not exist.
    pub(crate) fn needed(self, (a, b): (i64, i64)) -> (i64, i64) {
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
            Self::Sliding(Sliding { stride, is_same: true, .. }) => (rows + stride - 1) / stride,
            Self::Sliding(Sliding { extent, stride, .. }) if rows >= extent => (rows - extent) / stride + 1,
            Self::Sliding(_) => return None,
            Self::Padded { top, bottom } => rows + top + bottom,
            Self::Cropped { top, .. } => rows - top,
            Self::Repeated { times } => rows * times,
        };
        (made > 0).then_some(made)
    }
}
