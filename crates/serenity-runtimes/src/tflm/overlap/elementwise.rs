//! Operators that work element by element.

use super::safe::{Pair, Safe, walk};
use serenity_ir::Operator::{self, *};
use serenity_ir::{Call, Layout};

/// How many operands an element-wise operator has that any kernels run in place, if none of them is broadcast; `None`
/// if it is another.
pub(super) fn operands_read_once(operator: Operator) -> Option<usize> {
    match operator {
        RELU | RELU6 | RELU_N1_TO_1 | RELU_0_TO_1 | LEAKY_RELU | ELU | HARD_SWISH | LOGISTIC | TANH | ABS
        | NEG | SQUARE | FLOOR | CEIL | ROUND => Some(1),
        ADD | SUB | MUL => Some(2),
        _ => None,
    }
}

/// How many operands an element-wise operator has in the portable kernels; `None` if it is another. `SOFTMAX` passes
/// over a row several times, but writes an element no earlier than in the last pass that reads it, and reads nothing
/// before that element again.
pub(super) fn operands(operator: Operator) -> Option<usize> {
    operands_read_once(operator).or(match operator {
        QUANTIZE | DEQUANTIZE | CAST | SOFTMAX | EXP | LOG | SQRT | RSQRT | SIN | COS | LOGICAL_NOT => {
            Some(1)
        }
        DIV | MAXIMUM | MINIMUM | SQUARED_DIFFERENCE | FLOOR_DIV | FLOOR_MOD | PRELU | LOGICAL_AND
        | LOGICAL_OR | EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL => Some(2),
        _ => None,
    })
}

/// At the same offset only: the operands are as large as the result, element for element.
pub(super) fn in_place(call: &Call, operands: usize) -> Option<Vec<Pair>> {
    let same_offset = |input: &Layout, output: &Layout| (input.item == output.item).then(|| Safe::exactly(0));
    (!is_broadcast(call, operands)).then(|| full_operands(call, operands, same_offset))
}

/// The portable kernels run from front to back, also where an operand is broadcast: element `i` is read, then written,
/// and none before `i` is wanted again. Wider results run ahead of narrower operands by the difference for each
/// element. A broadcast operand itself is wanted again and again, and must be disjoint.
pub(super) fn front_to_back(call: &Call, operands: usize) -> Vec<Pair> {
    let lead = |input: &Layout, output: &Layout| walk(output.count, output.item, input.item);
    full_operands(call, operands, |input, output| Some(Safe::at_least(lead(input, output))))
}

/// Judges those of the first operands that are not broadcast.
fn full_operands(
    call: &Call,
    operands: usize,
    judge: impl Fn(&Layout, &Layout) -> Option<Safe>,
) -> Vec<Pair> {
    let judged = |operand| {
        let (input, output) = call.input_and_output(operand)?;
        let safe = (input.count == output.count).then(|| judge(&input, &output))??;
        Some(Pair { operand, result: 0, safe })
    };
    (0..operands).filter_map(judged).collect()
}

/// Has any of the first operands other than just as many elements as the result?
pub(super) fn is_broadcast(call: &Call, operands: usize) -> bool {
    let elements = |position| {
        let shape = call.shape(position)?;
        shape.iter().try_fold(1_u64, |product, &dimension| product.checked_mul(dimension))
    };
    let expected = call.result(0).map(|output| output.count as u64);
    expected.is_none() || (0..operands).any(|position| elements(position) != expected)
}
