//! Operators that move elements and do not change them.

use super::safe::{Pair, Safe, walk};
use serenity_ir::{Call, Layout};

/// One copy of everything, which must be disjoint or go onto itself.
pub(super) fn reshape(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    (input.count == output.count).then(|| Safe::exactly(0).of_operand(0))
}

/// The portable kernel writes the output from front to back, element by element: the padding value, or the next of the
/// input. The input falls behind with every padding, so its last element decides.
pub(super) fn pad(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    let paddings = call.values(1)?;
    let rank = input.shape.len();
    if output.shape.len() != rank || paddings.len() != 2 * rank {
        return None;
    }
    let (mut lead, mut read_step, mut write_step) = (0, input.item, output.item);
    for dimension in (0..rank).rev() {
        let [inside, outside] = [input.shape[dimension] as i64, output.shape[dimension] as i64];
        let [before, after] = [paddings[2 * dimension], paddings[2 * dimension + 1]];
        let fits =
            before >= 0 && after >= 0 && before.checked_add(after)?.checked_add(inside) == Some(outside);
        if !fits {
            return None;
        }
        lead += before * write_step + walk(inside, write_step, read_step);
        (read_step, write_step) = (inside * read_step, outside * write_step);
    }
    Some(Safe::at_least(lead).of_operand(0))
}

/// The kernel copies a block of each operand in turn, and so on until all are through. An operand may begin no earlier
/// than where the copy of its last block ends, less what lies before that block in the operand. If there is but one
/// block an operand, it may also lie where it ends up: that block is then copied onto itself, and the others go
/// elsewhere.
pub(super) fn concatenation(call: &Call) -> Option<Vec<Pair>> {
    let output = call.only_result()?;
    let axis = call.axis(output.shape.len())?;
    let [copies, inside] =
        [&output.shape[..axis], &output.shape[axis + 1..]].map(|part| part.iter().product::<u64>());
    let bytes_along = |size: u64| {
        let elements = i64::try_from(size.checked_mul(inside)?).ok()?;
        elements.checked_mul(output.item)
    };
    let (copies, all) = (copies as i64, bytes_along(output.shape[axis])?);

    let mut pairs = Vec::new();
    let mut behind = 0;
    for operand in 0..call.operand_count() {
        let shape = call.shape(operand)?;
        let is_alike = shape.len() == output.shape.len()
            && (0..shape.len())
                .all(|dimension| dimension == axis || shape[dimension] == output.shape[dimension]);
        if !is_alike {
            return None;
        }
        let block = bytes_along(shape[axis]).filter(|&block| block <= all - behind)?;
        if call.operand(operand).is_some_and(|input| input.dtype == output.dtype) {
            let lead = behind + block + walk(copies, all, block);
            let exactly = (copies == 1).then_some(behind as u64);
            let safe = Safe { exactly, ..Safe::at_least(lead) };
            pairs.push(Pair { operand, result: 0, safe });
        }
        behind += block;
    }
    (behind == all).then_some(pairs)
}

/// Element by element, from front to back: of each, the place in the input is no lower than that in the output.
pub(super) fn slice(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    is_inside(&input, &output, &vec![1; input.shape.len()]).then(|| Safe::at_least(0).of_operand(0))
}

/// As a slice, but pieces along the last dimension are copied as blocks if they are in one piece. Backward strides go
/// another way.
pub(super) fn strided_slice(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.moved(0)?;
    let strides = call.values(3).filter(|strides| strides.len() == input.shape.len())?;
    if strides.iter().any(|&stride| stride < 1) {
        return None;
    }
    let is_last_kept = input.shape.len() == output.shape.len();
    if is_last_kept && !is_inside(&input, &output, &strides) {
        return None;
    }
    let block = match strides.last() {
        Some(1) if is_last_kept => output.depth(),
        Some(1) => input.depth(),
        _ => 0,
    };
    Some(Safe::at_least(block * input.item).of_operand(0))
}

/// Can the output be cut out of the input, with these steps?
fn is_inside(input: &Layout, output: &Layout, strides: &[i64]) -> bool {
    let sides = || input.shape.iter().zip(output.shape).zip(strides);
    let fits = |((&from, &to), &stride): ((&u64, &u64), &i64)| {
        (to as i64 - 1).checked_mul(stride).is_some_and(|last| last < from as i64)
    };
    input.shape.len() == output.shape.len() && sides().all(fits)
}

/// The kernel reads the input once, from front to back, and hands each element to one of the outputs. So none of these
/// is ever ahead.
pub(super) fn split(call: &Call, operand: usize) -> Option<Vec<Pair>> {
    let input = call.operand(operand)?;
    let safe = Safe::at_least(0);
    let outputs = (0..).map_while(|result| Some((result, call.output(result)?)));
    let is_part = |output: Layout| output.dtype == input.dtype && output.count <= input.count;
    let alike = outputs.filter(|&(result, _)| call.result(result).is_some_and(is_part));
    Some(alike.map(|(result, _)| Pair { operand, result, safe }).collect())
}
