//! Softmax.

use crate::curves::exp_of_negative;
use crate::emitter::At;
use crate::fixed_point::{Factor, product};
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::Int8;

/// Longer rows would add up to more than 32 bits hold.
const DEEPEST: u64 = 4000;

/// A softmax, whoever makes it: rows of so many elements, the factor of differences to the largest, and the furthest
/// difference that counts.
pub(super) struct Softmax {
    pub(super) rows: u64,
    pub(super) depth: u64,
    pub(super) factor: Factor,
    pub(super) furthest: i64,
}

impl Softmax {
    pub(super) fn of(at: &At) -> Result<Self, Refused> {
        let (input, output) = at.ends([&Int8, &Int8])?;
        let (read, written) = (at.affine(input)?, at.affine(output)?);
        let depth = input.shape.last().copied().unwrap_or(1);
        if written.scale.to_bits() != (1.0_f32 / 256.0).to_bits() || written.zero != -128 {
            return Err(at.not_covered("its result has another scale than 1/256"));
        }
        if input.count() != output.count() || !(1..=DEEPEST).contains(&depth) {
            return Err(at.not_covered("its rows are longer than 4000, or its shapes do not fit together"));
        }
        let beta = at.real("beta").unwrap_or(1.0);
        // Differences are numbers with five bits before the point.
        let real = (f64::from(beta) * read.scale() * f64::from(1 << 26)).min(f64::from(i32::MAX));
        let factor = Factor::of(real);
        if !(real > 1.0 && (0..=30).contains(&factor.shift)) {
            return Err(at.not_covered("its input has too fine a scale"));
        }
        let furthest = (31.0 * f64::from(1 << 26) / f64::from(1_u32 << factor.shift)).floor() as i64;
        Ok(Self { rows: input.count() / depth, depth, factor, furthest })
    }
}

pub(super) fn softmax(at: &mut At) -> Result<String, Refused> {
    let Softmax { rows, depth, factor, furthest } = Softmax::of(at)?;
    let exps: Vec<i32> = (0..=255_i64)
        .take_while(|&difference| difference <= furthest)
        .map(|difference| {
            exp_of_negative(product((-difference << factor.shift) as i32, factor.multiplier), 5)
        })
        .collect();
    let known = exps.len();
    at.uses(Fragment::SoftmaxS8);
    let exps = at.emitter.pool.i32s(&exps, "exps", "powers of e by difference to the largest");
    let (kernel, from, to) = (at.k("softmax_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{rows}, {depth}, {known}, {exps}}};\n\
         {kernel}(&how, (const int8_t *)({from}), (int8_t *)({to}));\n"
    ))
}
