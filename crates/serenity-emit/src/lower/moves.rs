//! Operators that move elements and do not change them. What lies already where it is to go is not moved.

use super::options::Affine;
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use crate::source::{DataPlace, SourceTensor};
use serenity_ir::ElementType::{Float32, Int8};
use std::fmt::Write;

/// Blocks along some sides: how many, and how many bytes apart where they come from and where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    sides: Vec<[i64; 3]>,
    bytes: i64,
}

impl Nest {
    /// Sides from the first to the last, with elements of so many bytes; what goes on as one is made one.
    pub(super) fn new(sides: impl DoubleEndedIterator<Item = [i64; 3]>, item: i64) -> Self {
        let (mut bytes, mut kept): (i64, Vec<[i64; 3]>) = (item, Vec::new());
        for [count, from, to] in sides.rev().filter(|side| side[0] != 1) {
            match kept.last_mut() {
                None if from == bytes && to == bytes => bytes *= count,
                Some(last) if from == last[0] * last[1] && to == last[0] * last[2] => last[0] *= count,
                _ => kept.push([count, from, to]),
            }
        }
        kept.reverse();
        Self { sides: kept, bytes }
    }

    fn is_block(&self) -> bool {
        self.sides.is_empty()
    }

    /// The code that moves them.
    pub(super) fn code(&self, at: &mut At, from: &str, to: &str) -> Result<String, Refused> {
        if self.is_block() {
            return Ok(format!("memmove({to}, {from}, {});\n", self.bytes));
        }
        let mut sides = self.sides.clone();
        if sides.len() > 5 {
            return Err(at.refused("it has more sides than five"));
        }
        while sides.len() < 5 {
            sides.insert(0, [1, 0, 0]);
        }
        at.uses(Fragment::Copy);
        let kernel = at.k("copy");
        let list =
            |part: usize| sides.iter().map(|side| side[part].to_string()).collect::<Vec<_>>().join(", ");
        Ok(format!(
            "static const struct {kernel} how = {{{{{}}}, {{{}}}, {{{}}}, {}}};\n{kernel}(&how, {from}, {to});\n",
            list(0),
            list(1),
            list(2),
            self.bytes
        ))
    }
}

/// Bytes between neighbours along each side of a packed tensor.
pub(super) fn strides(tensor: &SourceTensor) -> Vec<i64> {
    let mut stride = tensor.item() as i64;
    let mut all: Vec<i64> = tensor
        .shape
        .iter()
        .rev()
        .map(|&side| {
            let own = stride;
            stride = stride.saturating_mul(side as i64);
            own
        })
        .collect();
    all.reverse();
    all
}

fn added(address: &str, expression: &str) -> String {
    if expression == "0" { address.to_owned() } else { format!("{address} + ({expression})") }
}

fn whole(at: &At, tensor: &SourceTensor) -> Result<(), Refused> {
    let packed = tensor.dtype.bytes_of(&tensor.shape) == Some(tensor.bytes)
        && tensor.dtype.bits().is_some_and(|bits| bits % 8 == 0);
    if packed { Ok(()) } else { Err(at.refused("elements that are no whole bytes")) }
}

pub(super) fn reshape(at: &mut At) -> Result<Option<String>, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    at.refuse_misfit(input.bytes != output.bytes)?;
    let (from, to) = (at.read(0)?, at.write(0)?);
    Ok((from != to && input.bytes > 0).then(|| format!("memmove({to}, {from}, {});\n", input.bytes)))
}

pub(super) fn pad(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    whole(at, input)?;
    let amounts = at.fixed_numbers(1).ok_or_else(|| at.refused("its paddings are no constant"))?;
    let rank = input.shape.len();
    let item = input.item();
    if rank > 4
        || amounts.len() != 2 * rank
        || output.shape.len() != rank
        || input.dtype != output.dtype
        || item > 4
    {
        return Err(at.refused("it is covered for up to four sides only"));
    }
    let mut sides = [[1, 0, 0]; 4];
    for (axis, pair) in amounts.chunks(2).enumerate() {
        let (inside, outside) = (input.shape[axis] as i64, output.shape[axis] as i64);
        let is_fit =
            pair.iter().all(|amount| (0..=outside).contains(amount)) && inside + pair[0] + pair[1] == outside;
        if !is_fit {
            return Err(at.refused("its paddings do not fit its shapes"));
        }
        sides[4 - rank + axis] = [inside, pair[0], pair[1]];
    }
    let mut value = padding(at, output)?;
    value.resize(4, 0);
    at.uses(Fragment::Pad);
    let (kernel, from, to) = (at.k("pad"), at.read(0)?, at.write(0)?);
    let list = |part: usize| sides.iter().map(|side| side[part].to_string()).collect::<Vec<_>>().join(", ");
    let value = value.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "static const struct {kernel} how = {{{{{}}}, {{{}}}, {{{}}}, {item}, {{{value}}}}};\n{kernel}(&how, {from}, {to});\n",
        list(0),
        list(1),
        list(2)
    ))
}

/// The bytes of the element that is put around.
pub(crate) fn padding(at: &At, output: &SourceTensor) -> Result<Vec<u8>, Refused> {
    if at.op.kind == "PADV2" {
        let value = at.constant(2).filter(|bytes| bytes.len() as u64 == output.item());
        return value.map(<[u8]>::to_vec).ok_or_else(|| at.refused("its value is no constant"));
    }
    match &output.dtype {
        Int8 => at.affine(output).map(|Affine { zero, .. }| vec![zero as u8]),
        Float32 => Ok(vec![0; 4]),
        dtype => Err(at.refused(format!("it is not covered for {dtype}"))),
    }
}

pub(super) fn concatenation(at: &mut At) -> Result<Option<String>, Refused> {
    let output = at.output(0)?;
    let axis = at.axis(output.shape.len())?;
    if at.word("activation").is_some_and(|activation| activation != "none") {
        return Err(at.refused("its fused activation is not covered"));
    }
    if output.dtype == Int8 {
        for position in 0..at.op.inputs.len() {
            at.must_be_alike([at.input(position)?, output], 0.0)?;
        }
    }
    let blocks: u64 = output.shape[..axis].iter().product();
    joined(at, blocks)
}

pub(super) fn pack(at: &mut At) -> Result<Option<String>, Refused> {
    let output = at.output(0)?;
    let axis = at.axis(output.shape.len())?;
    let blocks: u64 = output.shape[..axis].iter().product();
    joined(at, blocks)
}

/// A block of each operand in turn.
fn joined(at: &mut At, blocks: u64) -> Result<Option<String>, Refused> {
    let output = at.output(0)?;
    whole(at, output)?;
    let count = at.op.inputs.len();
    let mut total = 0;
    for position in 0..count {
        let input = at.input(position)?;
        total += input.bytes;
        if input.dtype != output.dtype || blocks == 0 || !input.bytes.is_multiple_of(blocks) {
            return Err(at.refused("its shapes or types do not fit together"));
        }
    }
    at.refuse_misfit(total != output.bytes)?;
    let to = at.write(0)?;
    if blocks == 1 {
        let (mut code, mut end) = (String::new(), 0);
        for position in 0..count {
            let place = if end == 0 { to.clone() } else { format!("{to} + {end}") };
            if let Some(line) =
                placed(at, position, &place, at.offset(at.output_id(0)).map(|offset| offset + end))?
            {
                code.push_str(&line);
            }
            end += at.input(position)?.bytes;
        }
        return Ok((!code.is_empty()).then_some(code));
    }
    at.uses(Fragment::Concat);
    // Where the rows of a stream lie is known when they are there.
    let storage = if at.scope.row.is_empty() { "static " } else { "" };
    let mut parts = Vec::new();
    for position in 0..count {
        let bytes = at.input(position)?.bytes / blocks;
        parts.push(format!("{{{}, {bytes}}}", at.read(position)?));
    }
    let (kernel, type_name) = (at.k("concat"), at.k("part"));
    Ok(Some(format!(
        "{storage}const struct {type_name} parts[{count}] = {{\n    {},\n}};\n{kernel}(parts, {count}, {blocks}, {to});\n",
        parts.join(",\n    ")
    )))
}

/// An operand, moved as a whole to a place (which may be known); `None` if it is there.
pub(super) fn placed(
    at: &mut At,
    position: usize,
    to: &str,
    offset: Option<u64>,
) -> Result<Option<String>, Refused> {
    let input = at.input(position)?;
    if input.bytes == 0 || offset.is_some() && at.offset(at.input_id(position)) == offset {
        return Ok(None);
    }
    if let DataPlace::Constant(bytes) = &input.place
        && let Some(&first) = bytes.first()
        && bytes.iter().all(|&byte| byte == first)
    {
        return Ok(Some(format!("memset({to}, {first}, {});\n", input.bytes)));
    }
    let from = at.read(position)?;
    Ok(Some(format!("memmove({to}, {from}, {});\n", input.bytes)))
}

pub(super) fn split(at: &mut At) -> Result<Option<String>, Refused> {
    let data = usize::from(at.op.kind == "SPLIT");
    let input = at.input(data)?;
    whole(at, input)?;
    let axis = at.axis(input.shape.len())?;
    let blocks: u64 = input.shape[..axis].iter().product();
    let (mut lines, mut begin, from) = (Vec::new(), 0, at.read(data)?);
    for position in 0..at.op.outputs.len() {
        let output = at.output(position)?;
        at.refuse_misfit(blocks == 0 || !output.bytes.is_multiple_of(blocks) || output.dtype != input.dtype)?;
        let (to, bytes) = (at.write(position)?, output.bytes / blocks);
        let is_there = blocks == 1
            && at.offset(at.output_id(position)) == at.offset(at.input_id(data)).map(|o| o + begin);
        if !is_there && bytes > 0 {
            lines.push((to, begin, bytes));
        }
        begin += bytes;
    }
    at.refuse_misfit(begin * blocks != input.bytes)?;
    if lines.is_empty() {
        return Ok(None);
    }
    let mut code = String::new();
    for (to, at, bytes) in &lines {
        let _ = if blocks == 1 {
            writeln!(code, "memmove({to}, {from} + {at}, {bytes});")
        } else {
            writeln!(code, "    memmove({to} + block * {bytes}, {from} + block * {begin} + {at}, {bytes});")
        };
    }
    if blocks == 1 {
        return Ok(Some(code));
    }
    Ok(Some(format!("for (int32_t block = 0; block < {blocks}; ++block) {{\n{code}}}\n")))
}

/// A part of a tensor, of the size of the result, that begins somewhere in each iteration.
pub(super) fn slice(at: &mut At) -> Result<Option<String>, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    whole(at, input)?;
    let begins = at.numbers(1).ok_or_else(|| at.refused("where it begins is not known"))?;
    let strides = strides(input);
    let rank = input.shape.len();
    at.refuse_misfit(output.shape.len() != rank || output.dtype != input.dtype || output.shape.contains(&0))?;
    let room = |axis: usize| input.shape[axis] as i64 - output.shape[axis] as i64;
    let is_inside = |begin: &Vec<i64>| {
        begin.len() == rank && (0..rank).all(|axis| (0..=room(axis)).contains(&begin[axis]))
    };
    if !begins.iter().all(is_inside) {
        return Err(at.refused("it reads beyond its input"));
    }
    let first = |begin: &Vec<i64>| begin.iter().zip(&strides).map(|(b, s)| b * s).sum::<i64>();
    let offsets: Vec<i64> = begins.iter().map(first).collect();
    let targets = super::moves::strides(output);
    let nest = Nest::new(
        (0..rank).map(|axis| [output.shape[axis] as i64, strides[axis], targets[axis]]),
        input.item() as i64,
    );
    let is_fixed = offsets.iter().all(|&offset| offset == offsets[0]);
    let place = at.offset(at.input_id(0)).zip(at.offset(at.output_id(0)));
    if nest.is_block() && is_fixed && place.is_some_and(|(from, to)| from + offsets[0] as u64 == to) {
        return Ok(None);
    }
    let begin = at.expression(&offsets, "begin")?;
    let (from, to) = (at.read(0)?, at.write(0)?);
    nest.code(at, &added(&from, &begin), &to).map(Some)
}

pub(super) fn strided_slice(at: &mut At) -> Result<Option<String>, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    whole(at, input)?;
    let lists = [1, 2, 3].map(|position| at.fixed_numbers(position));
    let [Some(begin), Some(end), Some(step)] = lists else {
        return Err(at.refused("where it begins is no constant"));
    };
    let rank = input.shape.len();
    let is_plain = at.int("ellipsis_mask").unwrap_or(0) == 0
        && at.int("new_axis_mask").unwrap_or(0) == 0
        && !at.flag("offset");
    if !is_plain
        || begin.len() != rank
        || end.len() != rank
        || step.len() != rank
        || input.dtype != output.dtype
    {
        return Err(at.refused("it is covered without new axes and ellipses only"));
    }
    let masks = ["begin_mask", "end_mask", "shrink_axis_mask"].map(|name| at.int(name).unwrap_or(0));
    let own = strides(input);
    let (mut offset, mut sides) = (0, Vec::new());
    for axis in 0..rank {
        let (size, step) = (input.shape[axis] as i64, step[axis]);
        let is_set = |mask: i64| mask >> axis & 1 == 1;
        if step == 0 || size == 0 || i32::try_from(step).is_err() {
            return Err(at.refused("a step of 0, or an empty side"));
        }
        let wrapped = |value: i64| if value < 0 { value.saturating_add(size) } else { value };
        let ends = if step > 0 { (0, size) } else { (-1, size - 1) };
        let first = if is_set(masks[0]) {
            if step > 0 { 0 } else { size - 1 }
        } else {
            wrapped(begin[axis]).clamp(ends.0.max(0), ends.1)
        };
        let last = if is_set(masks[1]) {
            if step > 0 { size } else { -1 }
        } else {
            wrapped(end[axis]).clamp(ends.0, ends.1)
        };
        let count =
            if is_set(masks[2]) { 1 } else { ((last - first) as f64 / step as f64).ceil().max(0.0) as i64 };
        if count == 0 || first + (count - 1) * step < 0 || first + (count - 1) * step >= size {
            return Err(at.refused("it is empty, or reads beyond its input"));
        }
        offset += first * own[axis];
        sides.push((count, own[axis] * step));
    }
    let item = input.item() as i64;
    at.refuse_misfit(sides.iter().map(|side| side.0).product::<i64>() * item != output.bytes as i64)?;
    let mut target = item;
    let mut all: Vec<[i64; 3]> = Vec::new();
    for &(count, from) in sides.iter().rev() {
        all.push([count, from, target]);
        target *= count;
    }
    all.reverse();
    let nest = Nest::new(all.into_iter(), item);
    let place = at.offset(at.input_id(0)).zip(at.offset(at.output_id(0)));
    if nest.is_block() && place.is_some_and(|(from, to)| from + offset as u64 == to) {
        return Ok(None);
    }
    let (from, to) = (at.read(0)?, at.write(0)?);
    nest.code(at, &added(&from, &offset.to_string()), &to).map(Some)
}

pub(super) fn transpose(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    whole(at, input)?;
    let order = at.fixed_numbers(1).ok_or_else(|| at.refused("its order is no constant"))?;
    let rank = input.shape.len();
    let axes: Option<Vec<usize>> = order.iter().map(|&axis| serenity_ir::from_front(axis, rank)).collect();
    let axes = axes.filter(|axes| axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis)));
    let axes = axes.ok_or_else(|| at.refused("its order is none"))?;
    at.refuse_misfit(
        output.shape.len() != rank
            || (0..rank).any(|axis| output.shape[axis] != input.shape[axes[axis]])
            || input.dtype != output.dtype,
    )?;
    let (own, targets) = (strides(input), strides(output));
    let nest = Nest::new(
        (0..rank).map(|axis| [output.shape[axis] as i64, own[axes[axis]], targets[axis]]),
        input.item() as i64,
    );
    let (from, to) = (at.read(0)?, at.write(0)?);
    nest.code(at, &from, &to)
}

pub(super) fn fill(at: &mut At) -> Result<Option<String>, Refused> {
    let output = at.output(0)?;
    let value = at.constant(1).ok_or_else(|| at.refused("its value is no constant"))?;
    let first = value.first().copied().filter(|&first| value.iter().all(|&byte| byte == first));
    let first = first.ok_or_else(|| at.refused("its value is covered if all its bytes are alike only"))?;
    let to = at.write(0)?;
    Ok((output.bytes > 0).then(|| format!("memset({to}, {first}, {});\n", output.bytes)))
}

/// A tensor with a part replaced, which begins somewhere in each iteration.
pub(super) fn update(at: &mut At) -> Result<Option<String>, Refused> {
    let (operand, part, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    whole(at, operand)?;
    let begins = at.numbers(2).ok_or_else(|| at.refused("where it begins is not known"))?;
    let rank = operand.shape.len();
    let is_fit = part.shape.len() == rank
        && part.dtype == operand.dtype
        && operand.bytes == output.bytes
        && (0..rank).all(|axis| part.shape[axis] <= operand.shape[axis])
        && begins.iter().all(|begin| begin.len() == rank);
    at.refuse_misfit(!is_fit)?;
    let mut code = String::new();
    let (from, to) = (at.read(0)?, at.write(0)?);
    if from != to {
        code = format!("memmove({to}, {from}, {});\n", operand.bytes);
    }
    if part.bytes == 0 {
        return Ok((!code.is_empty()).then_some(code));
    }
    let (own, parts) = (strides(operand), strides(part));
    let first = |begin: &Vec<i64>| {
        (0..rank)
            .map(|axis| begin[axis].clamp(0, (operand.shape[axis] - part.shape[axis]) as i64) * own[axis])
            .sum::<i64>()
    };
    let offsets: Vec<i64> = begins.iter().map(first).collect();
    let nest = Nest::new(
        (0..rank).map(|axis| [part.shape[axis] as i64, parts[axis], own[axis]]),
        operand.item() as i64,
    );
    let begin = at.expression(&offsets, "begin")?;
    let target = added(&to, &begin);
    let is_fixed = offsets.iter().all(|&offset| offset == offsets[0]);
    let place = at.offset(at.input_id(1)).zip(at.offset(at.output_id(0)));
    if nest.is_block() {
        if is_fixed && place.is_some_and(|(from, to)| from == to + offsets[0] as u64) {
            return Ok((!code.is_empty()).then_some(code));
        }
        code.push_str(&placed(at, 1, &target, None)?.unwrap_or_default());
    } else {
        let from = at.read(1)?;
        code.push_str(&nest.code(at, &from, &target)?);
    }
    Ok(Some(code))
}

#[cfg(test)]
mod tests {
    use super::Nest;

    #[test]
    fn what_goes_on_as_one_is_one() {
        let rows = Nest::new([[2, 24, 12], [3, 8, 4], [4, 1, 1]].into_iter(), 1);
        assert_eq!(rows, Nest { sides: vec![[6, 8, 4]], bytes: 4 });
        assert!(Nest::new([[1, 99, 7], [3, 8, 8], [4, 2, 2]].into_iter(), 2).is_block());
    }
}
