//! Images in another size, in a straight line between places.

use crate::emitter::At;
use crate::fragments::Fragment;
use crate::pool::float;
use crate::refused::Refused;
use serenity_ir::ElementType::Int8;

/// Sizes up to here times 1024 fit into 32 bits with room to spare.
const LARGEST: i64 = 1 << 20;

/// `RESIZE_BILINEAR` of 8-bit integers: places are multiples of 1/1024.
pub(super) fn bilinear(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (from, to) = (at.sides(input)?, at.sides(output)?);
    let sides = [from[1], from[2], to[1], to[2]];
    at.refuse_misfit(from[0] != to[0] || from[3] != to[3] || sides.iter().any(|&side| side > LARGEST))?;
    let (aligned, centred) = (at.flag("align_corners"), at.flag("half_pixel_centers"));
    if aligned && centred {
        return Err(at.not_covered("it aligns corners and the centres of pixels"));
    }
    let steps = [1, 2].map(|side| {
        let (mut size, mut whole) = (from[side], to[side]);
        if aligned && whole > 1 {
            (size, whole) = (size - 1, whole - 1);
        }
        let step = (1024 * size + whole / 2) / whole;
        let first = if centred { step / 2 - 512 } else { 0 };
        // The step is rounded, so that the last place could be beyond the end.
        let last = first + step * (to[side] - 1);
        (last < 1024 * from[side]).then_some([step, first])
    });
    let [Some(rows), Some(columns)] = steps else {
        return Err(at.not_covered("its result is so large that its last places are beyond the input"));
    };
    at.uses(Fragment::ResizeS8);
    let (kernel, type_name, source, target) =
        (at.k("resize_bilinear_s8"), at.k("resize_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} how = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};\n\
         {kernel}(&how, (const int8_t *)({source}), (int8_t *)({target}));\n",
        from[0], from[1], from[2], from[3], to[1], to[2], rows[0], rows[1], columns[0], columns[1],
    ))
}

/// `RESIZE_BILINEAR` of floats.
pub(super) fn floats(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let (from, to) = (at.sides(input)?, at.sides(output)?);
    at.refuse_misfit(
        from[0] != to[0] || from[3] != to[3] || [from, to].concat().iter().any(|&side| side > LARGEST),
    )?;
    let (aligned, centred) = (at.flag("align_corners"), at.flag("half_pixel_centers"));
    let [rows, columns] = [1, 2].map(|side| {
        let less = i64::from(aligned && to[side] > 1);
        float((from[side] - less) as f32 / (to[side] - less) as f32)
    });
    at.uses(Fragment::ResizeF32);
    let (kernel, type_name, source, target) =
        (at.k("resize_bilinear_f32"), at.k("resize_f32"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {type_name} how = {{{}, {}, {}, {}, {}, {}, {rows}, {columns}, {}}};\n\
         {kernel}(&how, {source}, {target});\n",
        from[0],
        from[1],
        from[2],
        from[3],
        to[1],
        to[2],
        i32::from(centred),
    ))
}
