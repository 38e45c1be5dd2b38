//! What an op does: move bytes, make rows from rows, run others, or something of which only that is known what it reads
//! and writes.

use super::operands::{Operand, Packed, numbers};
use super::windows::{Window, turned};
use crate::replay::{element_operands, nearest_rows};
use serenity_ir::Operator::{self, *};
use serenity_ir::{ElementType, Graph, Op, OpId, TensorId, from_front};

/// What an op does.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Move(Move),
    /// A comparison whose operands may be known.
    Less,
    While {
        cond: usize,
        body: usize,
    },
    Window(Window),
    /// Each row of the result is made from one row of each operand.
    Rows(Vec<RowOperand>),
    /// All of the result is made from all of the operands.
    Whole,
    Unknown(&'static str),
}

/// Ways to move bytes without changing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Reshape,
    Slice,
    /// `STRIDED_SLICE` without strides.
    Crop,
    Concatenation {
        axis: usize,
    },
    Pad,
    /// `DYNAMIC_UPDATE_SLICE`.
    Update,
    Fill,
}

/// An operand that is read row by row. The last, at no position, is the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowOperand {
    pub(super) position: usize,
    /// How many rows it has: one for each of the result, one for all, or each one for as many of the result.
    pub(super) rows: u64,
    /// Width and depth.
    pub(super) row: [u64; 2],
    pub(super) row_bytes: u64,
}

impl Act {
    /// `is_line`: whether columns are taken for rows.
    pub(super) fn of(graph: &Graph, id: OpId, operands: &[Operand], graphs: usize, is_line: bool) -> Self {
        let op = graph.op(id);
        match op.kind.operator() {
            WHILE => match op.bodies().collect::<Vec<_>>()[..] {
                [cond, body] if cond < graphs && body < graphs => Self::While { cond, body },
                _ => Self::Unknown("it names no condition and no body"),
            },
            _ if op.has("bodies") => Self::Unknown("it runs sub-graphs, and which is not known"),
            LESS => Self::Less,
            operator => {
                let window = || Window::of(graph, id, operands, is_line).map(Self::Window);
                let rows = || rows(graph, id, operands, is_line).map(Self::Rows);
                let moves = || moves(graph, op, operands, operator).map(Self::Move);
                moves().or_else(window).or_else(rows).unwrap_or(Self::Whole)
            }
        }
    }

    /// Do both make the same of the same? Where bytes are only moved, what moves where is seen when it does.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Window(a), Self::Window(b)) => a.is_alike(b),
            (Self::Rows(a), Self::Rows(b)) => {
                let row = |operand: &RowOperand| (operand.position, operand.row, operand.row_bytes);
                a.iter().map(row).eq(b.iter().map(row))
            }
            (Self::Whole, Self::Whole) | (Self::Less, Self::Less) => true,
            (Self::Move(a), Self::Move(b)) => a == b,
            _ => false,
        }
    }
}

/// Is all that an op reads and writes but one row high? What is made of it is then followed by columns.
pub(super) fn is_of_lines(graph: &Graph, op: &Op) -> bool {
    let is_line = |&t: &TensorId| matches!(graph.tensor(t).shape.as_deref(), Some([1, _, _] | [1, 1, _, _]));
    op.inputs.iter().chain(&op.outputs).all(is_line)
}

/// The only result, if there is but one.
pub(super) fn only_result(graph: &Graph, op: &Op) -> Option<Packed> {
    match op.outputs[..] {
        [output] => Packed::tensor(graph, output),
        _ => None,
    }
}

fn moves(graph: &Graph, op: &Op, operands: &[Operand], operator: Operator) -> Option<Move> {
    let output = only_result(graph, op)?;
    let packed = |position: usize| operands.get(position)?.packed(graph);
    let like_output = |position| packed(position).filter(|input| input.dtype == output.dtype);
    let of_same_rank = || like_output(0).filter(|input| input.shape.len() == output.shape.len());
    match operator {
        RESHAPE | SQUEEZE | EXPAND_DIMS => {
            like_output(0).filter(|input| input.bytes == output.bytes).map(|_| Move::Reshape)
        }
        SLICE => of_same_rank().map(|_| Move::Slice),
        STRIDED_SLICE => {
            let is_plain = ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
                .iter()
                .all(|mask| op.number(mask).unwrap_or(0) == 0)
                && op.flag("offset") != Some(true);
            is_plain.then(of_same_rank)?.map(|_| Move::Crop)
        }
        CONCATENATION => {
            let axis = from_front(op.number("axis")?, output.shape.len())?;
            let is_of_channels = output.shape.len() == 4 && axis == 3;
            let is_copied = output.dtype != ElementType::UInt8 && !op.has_activation() && !is_of_channels;
            let fits = |position: usize| {
                like_output(position).is_some_and(|input| {
                    input.shape.len() == output.shape.len()
                        && (0..input.shape.len()).all(|d| d == axis || input.shape[d] == output.shape[d])
                })
            };
            let sum = (0..operands.len()).try_fold(0_u64, |sum, position| {
                fits(position).then_some(())?;
                sum.checked_add(packed(position)?.shape[axis])
            });
            let is_complete = sum == Some(output.shape[axis]);
            (is_copied && is_complete).then_some(Move::Concatenation { axis })
        }
        PAD | PADV2 => of_same_rank().map(|_| Move::Pad),
        DYNAMIC_UPDATE_SLICE => {
            let (operand, update) = (like_output(0)?, like_output(1)?);
            let fits = operand.shape == output.shape
                && update.shape.len() == output.shape.len()
                && update.shape.iter().zip(&output.shape).all(|(part, whole)| part <= whole);
            fits.then_some(Move::Update)
        }
        FILL => like_output(1).filter(|value| value.bytes == value.item).map(|_| Move::Fill),
        _ => None,
    }
}

/// Element-wise ops, and concatenations of channels, on pictures.
fn rows(graph: &Graph, id: OpId, operands: &[Operand], is_line: bool) -> Option<Vec<RowOperand>> {
    let op = graph.op(id);
    if op.kind.operator() == RESIZE_NEAREST_NEIGHBOR {
        return repeated(graph, op, operands, is_line);
    }
    let output = only_result(graph, op)?;
    let [height, width, depth] = output.picture(is_line)?;
    let is_concatenation = op.kind.operator() == CONCATENATION;
    match element_operands(op.kind.operator()) {
        Some(count) => (operands.len() == count).then_some(())?,
        None => (is_concatenation && from_front(op.number("axis")?, 4) == Some(3)).then_some(())?,
    }
    let mut rows = Vec::new();
    for (position, operand) in operands.iter().enumerate() {
        let given = operand.packed(graph)?;
        // Operands with fewer dimensions are broadcast along the first.
        let mut shape = vec![1; 4_usize.checked_sub(given.shape.len())?];
        shape.extend(&given.shape);
        let [own_height, own_width, own_depth] = Packed { shape, ..given.clone() }.picture(is_line)?;
        let fits = if is_concatenation {
            given.shape.len() == 4 && own_height == height && own_width == width
        } else {
            [(own_height, height), (own_width, width), (own_depth, depth)]
                .iter()
                .all(|(own, of)| own == of || *own == 1)
        };
        let row_bytes = own_width * own_depth * given.item;
        let row = RowOperand { position, rows: own_height, row: [own_width, own_depth], row_bytes };
        rows.push(fits.then_some(row)?);
    }
    let position = operands.len();
    rows.push(RowOperand {
        position,
        rows: height,
        row: [width, depth],
        row_bytes: width * depth * output.item,
    });
    Some(rows)
}

/// A picture of which each row is there equally often, as its kernel finds them. The size that the kernel is told must
/// be that of the result; what it makes of the columns is the same for all rows.
fn repeated(graph: &Graph, op: &Op, operands: &[Operand], is_line: bool) -> Option<Vec<RowOperand>> {
    let [given, Operand::Constant(size)] = operands else { return None };
    let (input, output) = (given.packed(graph)?, only_result(graph, op)?);
    let told = numbers(size.data.as_deref()?, size.dtype.as_ref()?)?;
    let part = |picture: &Packed, position: usize| {
        let [rows, width, depth] = picture.picture(is_line)?;
        Some(RowOperand { position, rows, row: [width, depth], row_bytes: width * depth * picture.item })
    };
    let (from, to) = (part(&input, 0)?, part(&output, operands.len())?);
    let is_told =
        told.iter().map(|&side| u64::try_from(side).ok()).eq(turned([to.rows, to.row[0]], is_line).map(Some));
    let taken = nearest_rows(op, from.rows, to.rows)?;
    let is_even = taken.iter().zip(0..).all(|(&taken, row)| taken == row * from.rows / to.rows);
    let is_of_one_kind = input.dtype == output.dtype && from.row[1] == to.row[1];
    (is_told && is_even && is_of_one_kind && to.rows.is_multiple_of(from.rows)).then(|| vec![from, to])
}
