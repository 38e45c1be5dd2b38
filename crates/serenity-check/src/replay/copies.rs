//! Operators that move elements and do not change them.

use super::call::{Call, is_feasible};
use super::trace::{Beats, Trace};
use serenity_ir::Layout;
use serenity_ir::Operator::*;

/// One copy of everything.
pub(super) fn reshape(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only_moved(0)?;
    (input.count == output.count).then(|| trace.copy(0, input.count * input.item))
}

/// The portable kernel writes the output from front to back, element by element: the padding value, or the next of the input.
pub(super) fn pad(call: &Call, trace: &mut Trace) -> Option<()> {
    let padding = Padding::of(call)?;
    let item = padding.item;
    padding.rows(|row| match row {
        Row::Padding { bytes } => trace.append(bytes),
        Row::Inside { from, before, elements, after } => {
            trace.append(before);
            trace.beats(&Beats {
                reads: &[from],
                length: item,
                read_step: item,
                elements: 1,
                item,
                count: elements,
            });
            trace.append(after);
        }
    });
    Some(())
}

/// How much is put where around the elements of a tensor.
pub(super) struct Padding {
    input: Vec<i64>,
    output: Vec<i64>,
    before: Vec<i64>,
    pub(super) item: i64,
}

/// Output elements along the last dimension.
pub(super) enum Row {
    /// All of them padding.
    Padding { bytes: i64 },
    /// From some byte of the input on, with so many bytes of padding on either side.
    Inside { from: i64, before: i64, elements: i64, after: i64 },
}

impl Padding {
    pub(super) fn of(call: &Call) -> Option<Self> {
        let (input, output) = call.only_moved(0)?;
        let amounts = call.values(1)?;
        let item = input.item;
        let [mut input, mut output] = [&input, &output].map(sizes);
        if output.len() != input.len() || amounts.len() != 2 * input.len() {
            return None;
        }
        let mut before: Vec<i64> = amounts.iter().step_by(2).copied().collect();
        for (side, amounts) in amounts.chunks(2).enumerate() {
            let fits = amounts.iter().all(|&amount| amount >= 0)
                && amounts[0].checked_add(amounts[1])?.checked_add(input[side]) == Some(output[side]);
            if !fits {
                return None;
            }
        }
        if input.is_empty() {
            (input, output, before) = (vec![1], vec![1], vec![0]);
        }
        is_feasible(&output[..output.len() - 1]).then_some(Self { input, output, before, item })
    }

    /// Is there no padding inside the last dimension?
    pub(super) fn keeps_depth(&self) -> bool {
        self.input.last() == self.output.last()
    }

    /// The last two dimensions as one, so that rows are rows of a picture.
    pub(super) fn merge_last(&mut self) {
        let depth = self.input.last().copied().unwrap_or(1);
        for sizes in [&mut self.input, &mut self.output, &mut self.before] {
            // There is nothing in front of the first channel, and one dimension alone is a row.
            if sizes.len() > 1 {
                sizes.pop();
                sizes.iter_mut().last().into_iter().for_each(|columns| *columns *= depth);
            }
        }
    }

    /// All rows of the output, in order.
    pub(super) fn rows(&self, mut visit: impl FnMut(Row)) {
        let last = self.input.len() - 1;
        let [elements, width, left] = [self.input[last], self.output[last], self.before[last]];
        let [before, after] = [left, width - left - elements].map(|amount| amount * self.item);
        let mut next = 0;
        for_each_index(&self.output[..last], |index| {
            let is_inside = (0..last).all(|side| {
                let place = index[side] - self.before[side];
                (0..self.input[side]).contains(&place)
            });
            if is_inside {
                visit(Row::Inside { from: next * elements * self.item, before, elements, after });
                next += 1;
            } else {
                visit(Row::Padding { bytes: width * self.item });
            }
        });
    }
}

/// The kernel copies a block of each operand in turn, and so on until all are through.
pub(super) fn concatenation(call: &Call, trace: &mut Trace) -> Option<()> {
    let blocks = Blocks::of(call)?;
    for copy in 0..blocks.copies {
        trace.append(blocks.before);
        trace.copy(copy * blocks.own, blocks.own);
        trace.append(blocks.after);
    }
    Some(())
}

/// Where an operand lies that is copied as one block, onto itself: so many bytes above the output.
pub(super) fn own_place(call: &Call) -> Option<u64> {
    match call.operator() {
        RESHAPE | SQUEEZE | EXPAND_DIMS => Some(0),
        CONCATENATION => {
            let blocks = Blocks::of(call).filter(|blocks| blocks.copies == 1)?;
            u64::try_from(blocks.before).ok()
        }
        _ => None,
    }
}

/// A concatenation, seen from one operand. In bytes.
struct Blocks {
    copies: i64,
    before: i64,
    own: i64,
    after: i64,
}

impl Blocks {
    fn of(call: &Call) -> Option<Self> {
        let (_, output) = call.only_moved(call.operand)?;
        let shape = sizes(&output);
        let axis = call.axis(shape.len())?;
        let copies: i64 = shape[..axis].iter().product();
        let inside: i64 = shape[axis + 1..].iter().product::<i64>() * output.item;
        let mut along = Vec::new();
        for position in 0..call.operand_count() {
            let given = call.shape_of(position).filter(|given| given.len() == shape.len())?;
            let is_alike = (0..shape.len()).all(|side| side == axis || given[side] == shape[side]);
            along.push(is_alike.then_some(given[axis])?);
        }
        let sum = |sizes: &[i64]| sizes.iter().sum::<i64>() * inside;
        let is_complete = along.iter().sum::<i64>() == shape[axis];
        (is_complete && is_feasible(&[copies, 3])).then(|| Self {
            copies,
            before: sum(&along[..call.operand]),
            own: along[call.operand] * inside,
            after: sum(&along[call.operand + 1..]),
        })
    }
}

/// Where an output comes from is not always told. Read from a lower place than in truth, what is lost in truth is lost
/// in the replay, as long as the input does not begin below the output: then, what is written so far reaches from below
/// the input up to some byte of it.
fn from_no_lower(trace: &Trace) -> bool {
    trace.distance() >= 0
}

/// Element by element, from front to back. Where the slice begins does not matter: from further up it would read the
/// same, only higher.
pub(super) fn slice(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only_moved(0)?;
    let steps = vec![1; input.shape.len()];
    let item = input.item;
    let count = output.depth();
    from_no_lower(trace).then_some(())?;
    let read_row = |from: i64| {
        trace.beats(&Beats {
            reads: &[from * item],
            length: item,
            read_step: item,
            elements: 1,
            item,
            count,
        });
    };
    rows_of_slice(&input, &output, &steps, read_row)
}

/// As a slice, but pieces along the last dimension are copied as blocks if they are in one piece. Backward strides go
/// another way.
pub(super) fn strided_slice(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only_moved(0)?;
    let strides = call.values(3).filter(|strides| strides.len() == input.shape.len())?;
    if strides.iter().any(|&stride| stride < 1) {
        return None;
    }
    let item = input.item;
    let in_one_piece = strides.last() == Some(&1);
    if input.shape.len() != output.shape.len() {
        // Dimensions were dropped, and which is not told. Pieces are no longer than the last dimension, and come from
        // no lower a place than their own.
        let piece = if in_one_piece { input.depth() } else { 1 };
        let is_alike = from_no_lower(trace) && is_feasible(&[output.count / piece]);
        return is_alike.then(|| {
            for begin in (0..output.count).step_by(piece as usize) {
                let bytes = piece.min(output.count - begin) * item;
                if in_one_piece {
                    trace.move_block(begin * item, bytes);
                } else {
                    trace.read(begin * item, begin * item + bytes);
                    trace.append(bytes);
                }
            }
        });
    }
    let (count, stride) = (output.depth(), strides.last().copied().unwrap_or(1));
    from_no_lower(trace).then_some(())?;
    rows_of_slice(&input, &output, &strides, |from| {
        if in_one_piece {
            trace.move_block(from * item, count * item);
        } else {
            let read_step = stride * item;
            trace.beats(&Beats { reads: &[from * item], length: item, read_step, elements: 1, item, count });
        }
    })
}

/// The elements of the input at which rows of the output begin, were the slice to begin with the first of all.
fn rows_of_slice(input: &Layout, output: &Layout, strides: &[i64], mut visit: impl FnMut(i64)) -> Option<()> {
    let [from, to] = [input, output].map(sizes);
    let is_inside = |side: usize| {
        let last = (to[side] - 1).checked_mul(strides[side]);
        last.is_some_and(|last| last < from[side])
    };
    let fits = from.len() == to.len() && (0..to.len()).all(is_inside);
    if !fits || !is_feasible(&[output.count / output.depth()]) {
        return None;
    }
    let outer = to.len().saturating_sub(1);
    for_each_index(&to[..outer], |index| {
        let place = (0..outer).fold(0, |place, side| place * from[side] + index[side] * strides[side]);
        visit(place * from.last().copied().unwrap_or(1));
    });
    Some(())
}

/// The kernel reads the input once, from front to back, and hands each element to one of the outputs. However many went
/// to others before, an element of an output comes from no lower a place than its own: it is read as if there were no
/// others.
pub(super) fn split(call: &Call, operand: usize, trace: &mut Trace) -> Option<()> {
    let (input, output) = (call.operand == operand).then(|| call.input().zip(call.output()))??;
    let is_part = input.dtype == output.dtype && output.count <= input.count && from_no_lower(trace);
    let (item, count) = (input.item, output.count);
    is_part.then(|| {
        trace.beats(&Beats { reads: &[0], length: item, read_step: item, elements: 1, item, count });
    })
}

fn sizes(layout: &Layout) -> Vec<i64> {
    layout.shape.iter().map(|&size| size as i64).collect()
}

/// All indices of a shape, in order.
fn for_each_index(shape: &[i64], mut visit: impl FnMut(&[i64])) {
    let mut index = vec![0; shape.len()];
    loop {
        visit(&index);
        let Some(side) = (0..shape.len()).rev().find(|&side| index[side] + 1 < shape[side]) else { return };
        index[side] += 1;
        index[side + 1..].fill(0);
    }
}
