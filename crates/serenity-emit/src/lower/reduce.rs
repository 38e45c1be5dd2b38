//! Means, and what is largest.

use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::{Float32, Int8, Int32};
use std::collections::BTreeSet;

/// Sides that are reduced, as the middle of three.
pub(super) fn three_sides(at: &At) -> Result<[u64; 3], Refused> {
    let input = at.input(0)?;
    let rank = input.shape.len();
    let axes = at.fixed_numbers(1).ok_or_else(|| at.not_covered("its axes are no constant"))?;
    let axes: Option<BTreeSet<usize>> =
        axes.iter().map(|&axis| serenity_ir::from_front(axis, rank)).collect();
    let axes = axes.ok_or_else(|| at.not_covered("its axes are out of range"))?;
    // Sides of one place may count as either.
    let mut sides = [1, 1, 1];
    let mut part = 0;
    for (axis, &side) in input.shape.iter().enumerate().filter(|&(_, &side)| side != 1) {
        part = match (part, axes.contains(&axis)) {
            (0, false) => 0,
            (0 | 1, true) => 1,
            (1 | 2, false) => 2,
            _ => return Err(at.not_covered("it reduces sides that are not next to each other")),
        };
        sides[part] *= side;
    }
    Ok(sides)
}

/// A mean, whoever computes it: the sum of `reduced` elements less their zero points, times a factor.
pub(crate) struct Mean {
    pub(crate) sides: [u64; 3],
    pub(crate) zero: i32,
    pub(crate) factor: Factor,
    pub(crate) out_zero: i32,
}

impl Mean {
    pub(crate) fn of(at: &At) -> Result<Self, Refused> {
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
            return Err(at.not_covered("its result has too coarse a scale"));
        }
        let multiplier = ((i64::from(whole.multiplier) << more) / reduced as i64) as i32;
        let factor = Factor { multiplier, shift: whole.shift - more };
        if !factor.holds(255 * reduced as i64) {
            return Err(at.not_covered("its result has too fine a scale"));
        }
        Ok(Self { sides: [outer, reduced, inner], zero: read.zero, factor, out_zero: written.zero })
    }
}

pub(super) fn mean(at: &mut At) -> Result<String, Refused> {
    let Mean { sides: [outer, reduced, inner], zero, factor, out_zero } = Mean::of(at)?;
    at.uses(Fragment::MeanS8);
    let (kernel, from, to) = (at.k("mean_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{outer}, {reduced}, {inner}, {zero}, {}, {}, {out_zero}}};\n\
         {kernel}(&how, (const int8_t *)({from}), (int8_t *)({to}));\n",
        factor.multiplier, factor.shift
    ))
}

/// `REDUCE_MAX` and `REDUCE_MIN` of 8-bit integers, which have one scale before and after.
pub(super) fn extreme(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    at.must_be_alike([input, output], 0.0)?;
    let [outer, reduced, inner] = three_sides(at)?;
    at.refuse_misfit(output.count() != outer * inner || reduced == 0)?;
    at.uses(Fragment::ReduceS8);
    let kernel = at.k(if at.op.kind == "REDUCE_MAX" { "reduce_max_s8" } else { "reduce_min_s8" });
    let (from, to) = (at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({outer}, {reduced}, {inner}, (const int8_t *)({from}), (int8_t *)({to}));\n"))
}

/// `ARG_MAX` and `ARG_MIN`: where the first of the largest stands along one side, as 32-bit integers.
pub(super) fn place(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    at.must_be(output, &Int32)?;
    let rank = input.shape.len();
    let axis = at.fixed_numbers(1).and_then(|axes| serenity_ir::from_front(*axes.first()?, rank));
    let axis = axis.ok_or_else(|| at.not_covered("its axis is no constant, or out of range"))?;
    let (outer, inner): (u64, u64) =
        (input.shape[..axis].iter().product(), input.shape[axis + 1..].iter().product());
    let along = input.shape[axis];
    at.refuse_misfit(
        along == 0 || output.count() != outer * inner || input.count() != outer * along * inner,
    )?;
    let (fragment, name) = match &input.dtype {
        Float32 => (Fragment::PlaceF32, "place_f32"),
        Int8 => (Fragment::PlaceS8, "place_s8"),
        dtype => return Err(at.not_covered(format!("it is not covered for {dtype}"))),
    };
    at.uses(fragment);
    let sign = if at.op.kind == "ARG_MAX" { 1 } else { -1 };
    let (kernel, from, to) = (at.k(name), at.read(0)?, at.write(0)?);
    Ok(format!("{kernel}({outer}, {along}, {inner}, {sign}, {from}, {to});\n"))
}
