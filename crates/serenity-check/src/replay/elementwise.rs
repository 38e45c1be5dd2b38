//! Operators that work element by element.

use super::call::{Call, is_feasible};
use super::trace::{Beats, Trace};
use serenity_ir::Layout;
use serenity_ir::Operator::{self, *};

/// How many operands an element-wise operator has that any kernel reads but once; `None` if it is another.
pub(super) fn read_once(operator: Operator) -> Option<usize> {
    match operator {
        RELU | RELU6 | RELU_N1_TO_1 | RELU_0_TO_1 | LEAKY_RELU | ELU | HARD_SWISH | LOGISTIC | TANH | ABS
        | NEG | SQUARE | FLOOR | CEIL | ROUND => Some(1),
        ADD | SUB | MUL => Some(2),
        _ => None,
    }
}

/// How many operands an element-wise operator has; `None` if it is another.
pub(crate) fn operands(operator: Operator) -> Option<usize> {
    read_once(operator).or(match operator {
        QUANTIZE | DEQUANTIZE | CAST | EXP | LOG | SQRT | RSQRT | SIN | COS | LOGICAL_NOT => Some(1),
        DIV | MAXIMUM | MINIMUM | SQUARED_DIFFERENCE | FLOOR_DIV | FLOOR_MOD | PRELU | LOGICAL_AND
        | LOGICAL_OR | EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL => Some(2),
        _ => None,
    })
}

/// The portable kernels go from front to back, also where the other operand is broadcast: an element is read, and the
/// result written. An operand that is broadcast itself is wanted again and again, in an order that depends on both
/// shapes: that is not replayed.
pub(super) fn one_by_one(call: &Call, operands: usize, trace: &mut Trace) -> Option<()> {
    let (input, output) = full(call, operands)?;
    walk(0, output.count, &input, &output, trace);
    Some(())
}

/// Row by row: the largest is looked for, the exponentials are added up, and each element is read once more before its
/// result is written. The kernel for floats writes in the second pass, and works on what it wrote in the third.
pub(super) fn softmax(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = full(call, 1)?;
    let depth = output.depth();
    let rows = output.count / depth;
    is_feasible(&[rows, 2]).then_some(())?;
    for row in 0..rows {
        let begin = row * depth * input.item;
        trace.read(begin, begin + depth * input.item);
        walk(begin, depth, &input, &output, trace);
    }
    Some(())
}

/// So many elements from this byte of the operand on, each of which is read, then written.
fn walk(begin: i64, count: i64, input: &Layout, output: &Layout, trace: &mut Trace) {
    let [length, read_step, item] = [input.item, input.item, output.item];
    trace.beats(&Beats { reads: &[begin], length, read_step, elements: 1, item, count });
}

/// The operand and the result, if they have one element for one.
fn full<'g>(call: &Call<'g>, operands: usize) -> Option<(Layout<'g>, Layout<'g>)> {
    let is_operand = call.operand < operands;
    let (input, output) = is_operand.then(|| call.only(call.operand))??;
    (input.count == output.count).then_some((input, output))
}

/// The operand and the result, if no operand is broadcast.
pub(super) fn alike<'g>(call: &Call<'g>, operands: usize) -> Option<(Layout<'g>, Layout<'g>)> {
    let (input, output) = full(call, operands)?;
    let elements = |position| {
        let shape = call.shape_of(position)?;
        shape.iter().try_fold(1_i64, |product, &size| product.checked_mul(size))
    };
    (0..operands).all(|position| elements(position) == Some(output.count)).then_some((input, output))
}
