//! Whole numbers that can be told when the code is written: shapes, and what loops look up by their counter.

use crate::emitter::At;
use crate::number::Numbers;
use serenity_ir::ElementType::{Int32, Int64};

/// Are the results of this operator known now? Then they are noted, and nothing runs.
pub(super) fn are_known(at: &mut At) -> bool {
    let Some(output) = at.output_id(0) else { return false };
    if !matches!(at.graph.tensors[output].dtype, Int32 | Int64) {
        return false;
    }
    let Some(numbers) = evaluated(at) else { return false };
    if numbers.iter().any(|numbers| numbers.len() as u64 != at.graph.tensors[output].count()) {
        return false;
    }
    at.scope.numbers.insert(output, numbers);
    true
}

fn evaluated(at: &At) -> Option<Numbers> {
    match at.op.kind.as_str() {
        "SHAPE" => {
            let shape = at.input(0).ok()?.shape.iter().map(|&side| side as i64).collect();
            Some(vec![shape; at.scope.iterations])
        }
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => at.numbers(0),
        "SLICE" => {
            // A table is the same in every iteration.
            let (table, begin, size) =
                (at.constant_numbers(0)?, at.numbers(1)?, at.output(0).ok()?.count() as usize);
            let cut = |begin: &Vec<i64>| {
                let [begin] = begin[..] else { return None };
                let begin = usize::try_from(begin).ok()?;
                table.get(begin..begin.checked_add(size)?).map(<[i64]>::to_vec)
            };
            begin.iter().map(cut).collect()
        }
        "STRIDED_SLICE" => {
            let (data, begin, size) =
                (at.numbers(0)?, at.fixed_numbers(1)?, at.output(0).ok()?.count() as usize);
            let ([begin], Some(1)) = (&begin[..], at.fixed_numbers(3)?.first()) else { return None };
            let first = if at.int("begin_mask") == Some(1) { 0 } else { *begin };
            let from = |data: &Vec<i64>| {
                let first = if first < 0 { first + data.len() as i64 } else { first };
                let first = usize::try_from(first).ok()?;
                data.get(first..first.checked_add(size)?).map(<[i64]>::to_vec)
            };
            data.iter().map(from).collect()
        }
        "PACK" | "CONCATENATION" if at.output(0).ok()?.shape.len() == 1 => {
            let parts: Vec<Numbers> =
                (0..at.op.inputs.len()).map(|position| at.numbers(position)).collect::<Option<_>>()?;
            Some(
                (0..at.scope.iterations)
                    .map(|i| parts.iter().flat_map(|part| part[i].clone()).collect())
                    .collect(),
            )
        }
        _ => None,
    }
}
