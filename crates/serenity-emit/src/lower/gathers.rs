//! Operators that take each place of their result from some place of their input: mirrored borders, nearest neighbours.

use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use crate::source::SourceTensor;
use serenity_ir::ElementType::{Float32, Int8, Int32};

use super::moves::strides;

/// Where the places along one side come from; `None` if they are as they were.
type List = Option<Vec<i64>>;

pub(super) fn mirror_pad(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    if input.dtype != Float32 {
        at.must_be(input, &Int8)?;
    }
    let amounts = at.fixed_numbers(1).ok_or_else(|| at.not_covered("its paddings are no constant"))?;
    let rank = input.shape.len();
    // A border that is mirrored itself, or not.
    let inside = match at.word("mode") {
        Some("reflect") => 1,
        Some("symmetric") => 0,
        _ => return Err(at.not_covered("its mode is not known")),
    };
    if rank > 4 || amounts.len() != 2 * rank || output.shape.len() != rank {
        return Err(at.not_covered("it is covered for up to four sides only"));
    }
    let mut lists = Vec::new();
    for axis in 0..rank {
        let (size, whole) = (input.shape[axis] as i64, output.shape[axis] as i64);
        let (before, after) = (amounts[2 * axis], amounts[2 * axis + 1]);
        let most = size - inside;
        if !(0..=most).contains(&before) || !(0..=most).contains(&after) || size + before + after != whole {
            return Err(at.not_covered("its paddings do not fit its shapes"));
        }
        let from = |place: i64| match place - before {
            front @ ..0 => -front - 1 + inside,
            back if back >= size => 2 * size - 1 - inside - back,
            own => own,
        };
        lists.push((before + after > 0).then(|| (0..whole).map(from).collect()));
    }
    gathered(at, input, output, &lists)
}

pub(super) fn nearest(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let (from, to) = (at.sides(input)?, at.sides(output)?);
    at.refuse_misfit(from[0] != to[0] || from[3] != to[3])?;
    let (aligned, centred) = (at.flag("align_corners"), at.flag("half_pixel_centers"));
    // In floats, as the runtime does.
    let list = |size: i64, whole: i64| -> List {
        let scale = if aligned && whole > 1 {
            (size - 1) as f32 / (whole - 1) as f32
        } else {
            size as f32 / whole as f32
        };
        let place = |index: i64| {
            let exact = (index as f32 + if centred { 0.5 } else { 0.0 }) * scale;
            (if aligned { exact.round() } else { exact.floor() } as i64).clamp(0, size - 1)
        };
        Some((0..whole).map(place).collect())
    };
    let lists = [None, list(from[1], to[1]), list(from[2], to[2]), None];
    gathered(at, input, output, &lists)
}

/// `GATHER`: blocks along one side, by indices.
pub(super) fn taken(at: &mut At) -> Result<String, Refused> {
    let (input, indices, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    at.must_be(indices, &Int32)?;
    if input.dtype != output.dtype || input.dtype.bytes_of(&input.shape) != Some(input.bytes) {
        return Err(at.not_covered("its types do not fit together"));
    }
    let axis = at.axis(input.shape.len())?;
    if at.int("batch_dims").unwrap_or(0) != 0 {
        return Err(at.not_covered("its indices are in batches"));
    }
    let (outer, inner): (u64, u64) =
        (input.shape[..axis].iter().product(), input.shape[axis + 1..].iter().product());
    let (side, bytes) = (input.shape[axis], inner * input.item());
    at.refuse_misfit(output.bytes != outer * indices.count() * bytes)?;
    if let Some(numbers) = at.fixed_numbers(1)
        && !numbers.iter().all(|index| (0..side as i64).contains(index))
    {
        return Err(at.not_covered("an index is out of range"));
    }
    at.uses(Fragment::Take);
    let (kernel, from, by, to) = (at.k("take"), at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{outer}, {side}, {}, {bytes}}};\n{kernel}(&how, {from}, {by}, {to});\n",
        indices.count()
    ))
}

fn gathered(
    at: &mut At,
    input: &SourceTensor,
    output: &SourceTensor,
    lists: &[List],
) -> Result<String, Refused> {
    if input.dtype != output.dtype || input.dtype.bytes_of(&input.shape) != Some(input.bytes) {
        return Err(at.not_covered("its types do not fit together"));
    }
    let apart = strides(input);
    let mut sides: Vec<(u64, i64, &List)> =
        (0..lists.len()).map(|axis| (output.shape[axis], apart[axis], &lists[axis])).collect();
    // What is taken as it is, at the end, is one block.
    let mut bytes = input.item() as i64;
    while let Some((count, _, None)) = sides.last() {
        bytes *= *count as i64;
        sides.pop();
    }
    while sides.len() < 4 {
        sides.insert(0, (1, 0, &None));
    }
    let mut names = Vec::new();
    for (.., list) in &sides {
        let Some(list) = list else {
            names.push("0".to_owned());
            continue;
        };
        let words: Option<Vec<i32>> = list.iter().map(|&place| i32::try_from(place).ok()).collect();
        let words = words.ok_or_else(|| at.not_covered("a side of it is longer than 2^31"))?;
        names.push(at.emitter.pool.i32s(&words, "places", "where places come from"));
    }
    at.uses(Fragment::Gather);
    let (kernel, from, to) = (at.k("gather"), at.read(0)?, at.write(0)?);
    let list =
        |part: &dyn Fn(&(u64, i64, &List)) -> String| sides.iter().map(part).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "static const struct {kernel} how = {{{{{}}}, {{{}}}, {bytes}, {{{}}}}};\n{kernel}(&how, {from}, {to});\n",
        list(&|side| side.0.to_string()),
        list(&|side| side.1.to_string()),
        names.join(", ")
    ))
}
