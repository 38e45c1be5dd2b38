//! Means.

use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::Int8;
use std::collections::BTreeSet;

/// Sides that are reduced, as the middle of three.
pub(super) fn three_sides(at: &At) -> Result<[u64; 3], Refused> {
    let input = at.input(0)?;
    let rank = input.shape.len();
    let axes = at.fixed_numbers(1).ok_or_else(|| at.refused("its axes are no constant"))?;
    let axes: Option<BTreeSet<usize>> =
        axes.iter().map(|&axis| serenity_ir::from_front(axis, rank)).collect();
    let axes = axes.ok_or_else(|| at.refused("its axes are out of range"))?;
    // Sides of one place may count as either.
    let mut sides = [1, 1, 1];
    let mut part = 0;
    for (axis, &side) in input.shape.iter().enumerate().filter(|&(_, &side)| side != 1) {
        part = match (part, axes.contains(&axis)) {
            (0, false) => 0,
            (0 | 1, true) => 1,
            (1 | 2, false) => 2,
            _ => return Err(at.refused("it reduces sides that are not next to each other")),
        };
        sides[part] *= side;
    }
    Ok(sides)
}

pub(super) fn mean(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let [outer, reduced, inner] = three_sides(at)?;
    at.refuse_misfit(
        output.count() != outer * inner || reduced >= 1 << 22 || reduced == 0 || output.count() == 0,
    )?;
    // The division is part of the factor, as far as there is room for it.
    let whole = Factor::of(read.scale() / written.scale());
    let more = (63 - reduced.leading_zeros() as i32).min(32).min(31 + whole.shift);
    if more < 0 {
        return Err(at.refused("its result has too coarse a scale"));
    }
    let multiplier = ((i64::from(whole.multiplier) << more) / reduced as i64) as i32;
    let factor = Factor { multiplier, shift: whole.shift - more };
    if !factor.holds(255 * reduced as i64) {
        return Err(at.refused("its result has too fine a scale"));
    }
    at.uses(Fragment::MeanS8);
    let (kernel, from, to) = (at.k("mean_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{outer}, {reduced}, {inner}, {}, {}, {}, {}}};\n\
         {kernel}(&how, (const int8_t *)({from}), (int8_t *)({to}));\n",
        read.zero, factor.multiplier, factor.shift, written.zero
    ))
}
