//! Places as batches, as channels, and back.

use super::moves::{Nest, strides};
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use crate::source::SourceTensor;
use serenity_ir::ElementType::{Float32, Int8};

/// A picture of one or two sides, with all that stands at a place as bytes: pictures, rows, columns, bytes.
fn picture(at: &At, tensor: &SourceTensor) -> Result<[i64; 4], Refused> {
    let sides = match tensor.shape[..] {
        [batches, rows, columns, depth] => [batches, rows, columns, depth],
        [batches, rows, depth] => [batches, rows, 1, depth],
        _ => return Err(at.not_covered("it is covered for tensors of three or four sides only")),
    };
    at.refuse_misfit(tensor.dtype.bytes_of(&tensor.shape) != Some(tensor.bytes))?;
    let [batches, rows, columns, depth] = sides.map(|side| side as i64);
    Ok([batches, rows, columns, depth * tensor.item() as i64])
}

/// `SPACE_TO_BATCH_ND` and `BATCH_TO_SPACE_ND`.
pub(super) fn batches(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let is_to_batch = at.op.kind == "SPACE_TO_BATCH_ND";
    let (whole, small) = if is_to_batch { (input, output) } else { (output, input) };
    at.refuse_misfit(input.dtype != output.dtype || input.shape.len() != output.shape.len())?;
    let [batches, rows, columns, bytes] = picture(at, whole)?;
    let [pictures, small_rows, small_columns, small_bytes] = picture(at, small)?;
    let mut block = at.fixed_numbers(1).ok_or_else(|| at.not_covered("its blocks are no constant"))?;
    let mut around = at.fixed_numbers(2).ok_or_else(|| at.not_covered("its borders are no constant"))?;
    at.refuse_misfit(block.len() + 2 != input.shape.len() || around.len() != 2 * block.len())?;
    block.resize(2, 1);
    around.resize(4, 0);
    let fits = |size: i64, small: i64, side: usize| {
        let (block, pair) = (block[side], &around[2 * side..2 * side + 2]);
        let is_sane = (1..1 << 16).contains(&block) && pair.iter().all(|put| (0..1 << 16).contains(put));
        is_sane && size + pair[0] + pair[1] == small * block
    };
    let is_fit = fits(rows, small_rows, 0)
        && fits(columns, small_columns, 1)
        && pictures == batches * block[0] * block[1]
        && bytes == small_bytes;
    at.refuse_misfit(!is_fit)?;
    if !matches!(input.dtype, Int8 | Float32) {
        return Err(at.not_covered(format!("it is not covered for {}", input.dtype)));
    }
    if is_to_batch {
        if around.iter().any(|&put| put != 0) {
            let why = "it puts something around, and TFLM leaves open which number that is";
            return Err(at.not_covered(why));
        }
        return to_batches(at, [batches, small_rows, small_columns, bytes], [block[0], block[1]]);
    }
    at.uses(Fragment::Space);
    let (kernel, from, to) = (at.k("space"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{batches}, {rows}, {columns}, {bytes}, {small_rows}, {small_columns}, {{{}, {}}}, {{{}, {}}}}};\n\
         {kernel}(&how, {from}, {to});\n",
        block[0], block[1], around[0], around[2]
    ))
}

/// Every place of a block is a picture of its own.
fn to_batches(
    at: &mut At,
    [batches, rows, columns, bytes]: [i64; 4],
    block: [i64; 2],
) -> Result<String, Refused> {
    let (wide, small) = (columns * block[1] * bytes, rows * columns * bytes);
    let sides = [
        [block[0], wide, block[1] * batches * small],
        [block[1], bytes, batches * small],
        [batches, rows * block[0] * wide, small],
        [rows, block[0] * wide, columns * bytes],
        [columns, block[1] * bytes, bytes],
        [bytes, 1, 1],
    ];
    let nest = Nest::new(sides.into_iter(), 1);
    let (from, to) = (at.read(0)?, at.write(0)?);
    nest.code(at, &from, &to)
}

/// `SPACE_TO_DEPTH` and `DEPTH_TO_SPACE`: rows of a block, as they stand, somewhere else.
pub(super) fn depth(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let block = at.int("block_size").filter(|block| (1..1 << 16).contains(block));
    let block = block.ok_or_else(|| at.not_covered("its blocks are missing or out of range"))?;
    let is_to_depth = at.op.kind == "SPACE_TO_DEPTH";
    let (space, deep) = if is_to_depth { (input, output) } else { (output, input) };
    let (wide, narrow) = (at.sides(space)?, at.sides(deep)?);
    let is_fit = wide[0] == narrow[0]
        && wide[1] == narrow[1] * block
        && wide[2] == narrow[2] * block
        && narrow[3] == wide[3] * block * block
        && input.dtype == output.dtype
        && input.dtype.bytes_of(&input.shape) == Some(input.bytes);
    at.refuse_misfit(!is_fit)?;
    let (of_space, of_deep, item) = (strides(space), strides(deep), input.item() as i64);
    let row = block * wide[3];
    let sides = [
        [wide[0], of_space[0], of_deep[0]],
        [narrow[1], block * of_space[1], of_deep[1]],
        [block, of_space[1], row * item],
        [narrow[2], block * of_space[2], of_deep[2]],
        [row, item, item],
    ];
    let [from, to] = if is_to_depth { [1, 2] } else { [2, 1] };
    let nest = Nest::new(sides.map(|side| [side[0], side[from], side[to]]).into_iter(), item);
    let (from, to) = (at.read(0)?, at.write(0)?);
    nest.code(at, &from, &to)
}
