//! Which operators at the beginning of a network can run row by row.

use crate::rows::{Image, RowLocal, Rows};
use serenity_ir::Operator::{AVERAGE_POOL_2D, MEAN};
use serenity_ir::{Call, ElementType, Graph, OpId, Padding, TensorId, Window};

/// How rows of the result follow from rows of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Row by row.
    Rows(Rows),
    /// All rows are added up in 32 bits; the result is made of the sums when the last row is in. It is always the last
    /// operator.
    Sum,
}

impl Rule {
    /// The rows `a..b` of the inputs that row `row` needs, clipped to those that exist.
    pub(super) fn needs(self, row: i64, rows: i64) -> (i64, i64) {
        let (a, b) = match self {
            Self::Rows(rule) => rule.needed((row, row + 1)),
            Self::Sum => (row, row + 1),
        };
        (a.max(0), b.min(rows))
    }
}

/// An operator of a stream.
#[derive(Clone, Debug)]
pub struct StreamOp {
    /// The op in its graph.
    pub op: OpId,
    /// The lines that it reads, each once.
    pub reads: Vec<usize>,
    /// How rows of the result follow from rows of the inputs.
    pub rule: Rule,
    /// Multiplications per row of the result.
    pub macs: u64,
}

/// Rows of a tensor, and bytes of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) tensor: TensorId,
    pub(super) rows: i64,
    pub(super) row_bytes: i64,
}

/// The most tensors that may leave a prefix.
const MOST_LEAVING: usize = 3;

/// The first operators of an order, which make a few tensors for the others out of the only input.
#[derive(Clone, Debug)]
pub struct Prefix {
    pub(super) ops: Vec<StreamOp>,
    /// By line: see [`Line`](super::Line).
    pub(super) shapes: Vec<Shape>,
    /// The lines whose tensors leave, that of the last operator last.
    pub(super) leaving: Vec<usize>,
    /// Bytes of what the last operator makes.
    pub(super) last_bytes: u64,
}

impl Prefix {
    /// All prefixes of an order that can run row by row, the shortest first.
    pub fn all(graph: &Graph, order: &[OpId]) -> Vec<Self> {
        let &[input] = graph.inputs() else { return Vec::new() };
        let Some(shape) = shape_of(graph, input).filter(|shape| shape.rows >= 2) else { return Vec::new() };
        let (mut ops, mut shapes, mut found) = (Vec::new(), vec![shape], Vec::new());
        for &op in order {
            let Some((one, shape)) = streamed(graph, op, &shapes) else { break };
            let is_sum = one.rule == Rule::Sum;
            ops.push(one);
            shapes.push(shape);
            let leaving = leaving(graph, &ops, &shapes);
            let is_private = |&line: &usize| line > 0 && !graph.is_output(shapes[line].tensor);
            let is_cut = leaving.last() == Some(&ops.len()) && leaving.len() <= MOST_LEAVING;
            if is_cut && leaving.iter().all(is_private) {
                let last_bytes = graph.tensor(shape.tensor).bytes;
                found.push(Self { ops: ops.clone(), shapes: shapes.clone(), leaving, last_bytes });
            }
            if is_sum {
                break;
            }
        }
        found
    }

    /// The number of its operators.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// The tensors that leave, which the rest reads.
    pub fn leaves(&self) -> Vec<TensorId> {
        self.leaving.iter().map(|&line| self.shapes[line].tensor).collect()
    }

    /// Has it no operators? It always has.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

/// The lines of tensors that something outside needs.
fn leaving(graph: &Graph, ops: &[StreamOp], shapes: &[Shape]) -> Vec<usize> {
    let is_inside = |op: &OpId| ops.iter().any(|inside| inside.op == *op);
    let is_needed = |t: TensorId| graph.is_output(t) || !graph.consumers(t).iter().all(is_inside);
    (0..shapes.len()).filter(|&line| is_needed(shapes[line].tensor)).collect()
}

/// Images of four dimensions whose rows are their second.
fn shape_of(graph: &Graph, tensor: TensorId) -> Option<Shape> {
    let image = Image::upright(graph, tensor)?;
    let row_bytes = graph.tensor(tensor).bytes as i64 / image.rows;
    Some(Shape { tensor, rows: image.rows, row_bytes })
}

fn streamed(graph: &Graph, op: OpId, shapes: &[Shape]) -> Option<(StreamOp, Shape)> {
    let line = |t: TensorId| shapes.iter().position(|shape| shape.tensor == t);
    if let Some((reads, shape)) = summed(graph, op).and_then(|(t, shape)| Some((line(t)?, shape))) {
        return Some((StreamOp { op, reads: vec![reads], rule: Rule::Sum, macs: 0 }, shape));
    }
    let local = RowLocal::upright(graph, op)?;
    let shape = shape_of(graph, local.output)?;
    let reads: Vec<usize> = local.inputs.iter().map(|&t| line(t)).collect::<Option<_>>()?;
    let macs = local.macs / shape.rows as u64;
    Some((StreamOp { op, reads, rule: Rule::Rows(local.rows), macs }, shape))
}

/// The input of a mean over all pixels of an image, and the shape of the sums: whole numbers add up to the same in any
/// order, floats are added up in the order of the pixels, as they are in one go.
fn summed(graph: &Graph, op: OpId) -> Option<(TensorId, Shape)> {
    let call = Call::new(graph, op);
    let (input, &[output]) = (call.activation(0)?, call.op.outputs.as_slice()) else { return None };
    let [one, rows, columns, depth] = call.operand(0)?.dims::<4>()?;
    let dtype = |t: TensorId| graph.tensor(t).dtype.clone();
    let is_summed = matches!(dtype(input), Some(ElementType::Int8 | ElementType::Float32));
    let covers_all = match call.operator() {
        MEAN => call.values(1).is_some_and(|mut axes| {
            axes.sort_unstable();
            axes == [1, 2]
        }),
        AVERAGE_POOL_2D => {
            let padding = Padding::named(call.op.word("padding")?)?;
            let (kernel, stride) = (call.kernel()?, call.sides("stride")?);
            let alone = |side: usize, size: i64| {
                let slide = Window::new(kernel[side] as i64, stride[side], 1)?.along(size, padding)?;
                Some((slide.window.taps, slide.output, slide.before) == (size, 1, 0))
            };
            alone(0, rows)? && alone(1, columns)?
        }
        _ => false,
    };
    let is_whole = covers_all && one == 1 && rows >= 2 && is_summed && dtype(input) == dtype(output);
    let is_depth = graph.tensor(output).bytes == depth as u64 * call.operand(0)?.item as u64;
    (is_whole && is_depth).then_some((input, Shape { tensor: output, rows, row_bytes: 4 * depth }))
}
