//! Convolutions and pools: a row of the result is made from the rows under the window.
//!
//! The checker has its own geometry of windows on purpose, instead of [`serenity_ir::Window`]: what
//! is planned with that is checked with this.

use super::operands::{Operand, Packed};
use serenity_ir::Operator::*;
use serenity_ir::{ElementType, Graph, Op, OpId, Quantization};

/// No picture has longer sides, nor pixels of more bytes; products of three such numbers fit in 64 bits.
const MOST: u64 = 1 << 20;

/// A window that slides over the rows of a picture.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    /// Bytes of all channels of a pixel that is read.
    pub(super) pixel: u64,
    /// Bytes of a row that is written.
    pub(super) output_row: u64,
    pub(super) filler: Filler,
}

/// What a window finds beside the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filler {
    /// A convolution takes what lies outside for zeros: it adds up products of weights and of the distance of each
    /// element from the zero point, so elements that hold the zero point add nothing, and neither do floats that are 0.
    /// A row of zero points and no row are the same to it.
    ZeroPoint(Vec<u8>),
    /// A pool leaves out what lies outside. A row of zeros would be something else.
    Nothing,
}

/// A window along rows, or along columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) taps: u64,
    pub(super) stride: u64,
    pub(super) dilation: u64,
    /// Padding in front.
    pub(super) before: u64,
}

impl Window {
    /// `None` if it is no window over the rows of one picture, or not all is known of it.
    pub(super) fn of(graph: &Graph, id: OpId, operands: &[Operand], is_line: bool) -> Option<Self> {
        let op = graph.op(id);
        let &[output] = &op.outputs[..] else { return None };
        let Some(Operand::Activation(input)) = operands.first() else { return None };
        let filler = match op.kind.operator() {
            CONV_2D | DEPTHWISE_CONV_2D => {
                has_constant_weights(graph, operands)?;
                let tensor = graph.tensor(*input);
                let zero = zero_point(tensor.dtype.as_ref()?, tensor.quantization.as_ref())?;
                Filler::ZeroPoint(zero)
            }
            AVERAGE_POOL_2D | MAX_POOL_2D | L2_POOL_2D if operands.len() == 1 => Filler::Nothing,
            _ => return None,
        };
        let (input, output) = (Packed::tensor(graph, *input)?, Packed::tensor(graph, output)?);
        let ([height, width, depth], [out_height, out_width, out_depth]) =
            (input.picture(is_line)?, output.picture(is_line)?);
        let dilation = if op.has("dilation") { op.pair("dilation")? } else { [1, 1] };
        let [taps, stride, dilation] =
            [kernel(op, operands, graph)?, op.pair("stride")?, dilation].map(|pair| turned(pair, is_line));
        let is_same = match op.word("padding")? {
            "same" => true,
            "valid" => false,
            _ => return None,
        };
        let axis = |side: usize, input, output| {
            Axis::new(input, output, taps[side], stride[side], dilation[side], is_same)
        };
        let pixel = depth.checked_mul(input.item).filter(|&pixel| pixel <= MOST)?;
        Some(Self {
            rows: axis(0, height, out_height)?,
            columns: axis(1, width, out_width)?,
            pixel,
            output_row: out_width * out_depth * output.item,
            filler,
        })
    }

    /// Do both make the same of the same rows? How high the pictures are, and where they end, shows in the rows.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let steps = |axis: &Axis| (axis.taps, axis.stride, axis.dilation);
        steps(&self.rows) == steps(&other.rows)
            && steps(&self.columns) == steps(&other.columns)
            && self.columns.output == other.columns.output
            && (self.pixel, self.output_row, &self.filler) == (other.pixel, other.output_row, &other.filler)
    }
}

/// What is said of height and width, of rows and columns: of a line, the other way round.
pub(super) fn turned([height, width]: [u64; 2], is_line: bool) -> [u64; 2] {
    if is_line { [width, height] } else { [height, width] }
}

/// Weights that are computed could change between two rows; weights of integers with an input of floats make the kernel
/// scale by the largest input of all.
fn has_constant_weights(graph: &Graph, operands: &[Operand]) -> Option<()> {
    let are_constant = operands[1..].iter().all(|operand| !matches!(operand, Operand::Activation(_)));
    let types = [0, 1].map(|position| operands.get(position).and_then(|o: &Operand| o.packed(graph)));
    let is_hybrid = match types {
        [Some(input), Some(weights)] => {
            (input.dtype == ElementType::Float32) != (weights.dtype == ElementType::Float32)
        }
        _ => false,
    };
    (are_constant && !is_hybrid).then_some(())
}

fn kernel(op: &Op, operands: &[Operand], graph: &Graph) -> Option<[u64; 2]> {
    op.pair("kernel").or_else(|| match operands.get(1)?.packed(graph)?.shape[..] {
        [_, height, width, _] => Some([height, width]),
        _ => None,
    })
}

/// The bytes of an element that stands for 0; `None` if there is no such one.
pub(super) fn zero_point(dtype: &ElementType, quantization: Option<&Quantization>) -> Option<Vec<u8>> {
    let zero_points = quantization.map_or(&[][..], |quantization| &quantization.zero_points);
    let zero = match (dtype, zero_points) {
        (ElementType::Float32, _) | (_, []) => 0,
        (_, [zero]) => *zero,
        _ => return None,
    };
    super::operands::element(&zero.into(), dtype)
}

impl Axis {
    pub(crate) fn new(
        input: u64,
        output: u64,
        taps: u64,
        stride: u64,
        dilation: u64,
        is_same: bool,
    ) -> Option<Self> {
        let is_counted = [input, output, taps, stride, dilation].iter().all(|n| (1..=MOST).contains(n));
        if !is_counted {
            return None;
        }
        let axis = Self { input, output, taps, stride, dilation, before: 0 };
        let begins = if is_same { input } else { (input + 1).saturating_sub(axis.reach()) };
        // As the kernels compute it from the height of what they are given, be it a picture or a stripe of one.
        let before = if is_same { axis.covered().saturating_sub(input) / 2 } else { 0 };
        (begins.div_ceil(stride) == output).then_some(Self { before, ..axis })
    }

    /// From the first place under a window to behind the last.
    fn reach(&self) -> u64 {
        (self.taps - 1) * self.dilation + 1
    }

    /// From the first place under the first window to behind the last under the last.
    pub(super) fn covered(&self) -> u64 {
        (self.output - 1) * self.stride + self.reach()
    }

    /// The places under the window at `place`; `None` for those outside.
    pub(crate) fn places(&self, place: u64) -> impl Iterator<Item = Option<u64>> + '_ {
        (0..self.taps).map(move |tap| {
            let place = (place * self.stride + tap * self.dilation).checked_sub(self.before);
            place.filter(|&place| place < self.input)
        })
    }
}
