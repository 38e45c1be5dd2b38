//! Operators that work element by element.

use super::options::Affine;
use crate::activation;
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::refused::Refused;
use crate::rounding;
use serenity_ir::ElementType::Int8;

/// Two operands along at most four sides, sides that go on as one made one.
pub(super) fn pairs(at: &At) -> Result<String, Refused> {
    let (a, b, out) = (at.input(0)?, at.input(1)?, at.output(0)?);
    let rank = out.shape.len();
    let extended = |shape: &[u64]| {
        let mut all = vec![1; rank.saturating_sub(shape.len())];
        all.extend(shape);
        all
    };
    let shapes = [extended(&a.shape), extended(&b.shape)];
    let fits = |shape: &Vec<u64>| {
        shape.len() == rank && shape.iter().zip(&out.shape).all(|(&own, &all)| own == all || own == 1)
    };
    at.refuse_misfit(!shapes.iter().all(fits) || out.shape.contains(&0))?;
    // How far apart the elements of each operand are along each side; 0 where it is repeated.
    let strides = shapes.each_ref().map(|shape| {
        let mut stride = 1;
        let mut all: Vec<u64> = shape
            .iter()
            .rev()
            .map(|&side| {
                let own = if side == 1 { 0 } else { stride };
                stride *= side;
                own
            })
            .collect();
        all.reverse();
        all
    });
    // (count, a, b) from the last side on.
    let mut sides: Vec<[u64; 3]> = Vec::new();
    for side in (0..rank).rev() {
        let next = [out.shape[side], strides[0][side], strides[1][side]];
        if next[0] == 1 {
            continue;
        }
        match sides.last_mut() {
            // It goes on where the last ended, for both.
            Some(last) if next[1] == last[0] * last[1] && next[2] == last[0] * last[2] => last[0] *= next[0],
            _ => sides.push(next),
        }
    }
    if sides.len() > 4 {
        return Err(at.not_covered("its operands are repeated along too many sides"));
    }
    sides.resize(4, [1, 0, 0]);
    sides.reverse();
    let list = |part: usize| sides.iter().map(|side| side[part].to_string()).collect::<Vec<_>>().join(", ");
    Ok(format!("{{{{{}}}, {{{}}}, {{{}}}}}", list(0), list(1), list(2)))
}

/// Both operands and the result, of 8-bit integers.
fn affines(at: &At) -> Result<[Affine; 3], Refused> {
    let tensors = [at.input(0)?, at.input(1)?, at.output(0)?];
    for tensor in tensors {
        at.must_be(tensor, &Int8)?;
    }
    Ok([at.affine(tensors[0])?, at.affine(tensors[1])?, at.affine(tensors[2])?])
}

fn called(at: &mut At, fragment: Fragment, name: &str, parameters: &str) -> Result<String, Refused> {
    at.uses(fragment);
    let kernel = at.k(name);
    let (a, b, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{\n    {},\n    {parameters}\n}};\n\
         {kernel}(&how, (const int8_t *)({a}), (const int8_t *)({b}), (int8_t *)({to}));\n",
        pairs(at)?
    ))
}

/// A sum or difference, whoever makes it: operands, result, and the factors that bring the operands to one scale and
/// their sum to that of the result.
pub(super) struct Sum {
    pub(super) ends: [Affine; 3],
    pub(super) factors: [Factor; 3],
    pub(super) bounds: (i32, i32),
}

impl Sum {
    pub(super) fn of(at: &At) -> Result<Self, Refused> {
        let ends @ [a, b, out] = affines(at)?;
        let twice = 2.0 * a.scale().max(b.scale());
        let [of_a, of_b] = [a, b].map(|one| Factor::of(one.scale() / twice));
        let of_sum = Factor::of(twice / (f64::from(1 << 20) * out.scale()));
        if of_sum.shift > 0 || !of_sum.holds(1 << 29) {
            return Err(at.not_covered("its result has too fine a scale"));
        }
        Ok(Self { ends, factors: [of_a, of_b, of_sum], bounds: at.bounds(out)? })
    }
}

pub(super) fn sum(at: &mut At) -> Result<String, Refused> {
    let Sum { ends: [a, b, out], factors: [of_a, of_b, of_sum], bounds: (least, most) } = Sum::of(at)?;
    let sign = if at.op.kind == "SUB" { -1 } else { 1 };
    if let Some(code) = affine(at, sign)? {
        return Ok(code);
    }
    let parameters = format!(
        "/* operands */ {}, {}, {}, {}, {}, {}, {sign},\n    /* result */ {}, {}, {}, {least}, {most},",
        a.zero,
        of_a.multiplier,
        of_a.shift,
        b.zero,
        of_b.multiplier,
        of_b.shift,
        of_sum.multiplier,
        of_sum.shift,
        out.zero
    );
    called(at, Fragment::AddS8, "add_s8", &parameters)
}

/// A sum of operands as large as the result, or a difference, if one rounding gives the same for each pair of operands.
fn affine(at: &mut At, sign: i32) -> Result<Option<String>, Refused> {
    let Sum { ends: [a, b, out], factors: [of_a, of_b, of_sum], bounds: (least, most) } = Sum::of(at)?;
    let brought = |value: i32, read: Affine, factor: Factor| factor.apply((value - read.zero) << 20);
    let result = |one: i32, other: i32| {
        let sum = brought(one, a, of_a) + sign * brought(other, b, of_b);
        (of_sum.apply(sum) + out.zero).clamp(least, most)
    };
    let reals = [a.scale() / out.scale(), f64::from(sign) * b.scale() / out.scale()];
    let shape = &at.output(0)?.shape;
    let are_alike = at.input(0)?.shape == *shape && at.input(1)?.shape == *shape;
    let found = if are_alike { rounding::affine(reals, result) } else { None };
    let Some([times_a, times_b, constant]) = found else { return Ok(None) };
    at.uses(Fragment::AffineS8);
    let (from_a, from_b, to, kernel) = (at.read(0)?, at.read(1)?, at.write(0)?, at.k("affine_s8"));
    Ok(Some(format!(
        "static const struct {kernel} how = {{{}, {times_a}, {times_b}, {constant}}};\n\
         {kernel}(&how, (const int8_t *)({from_a}), (const int8_t *)({from_b}), (int8_t *)({to}));\n",
        at.output(0)?.count()
    )))
}

/// A product, whoever makes it.
pub(super) struct Product {
    pub(super) ends: [Affine; 3],
    pub(super) factor: Factor,
    pub(super) bounds: (i32, i32),
}

impl Product {
    pub(super) fn of(at: &At) -> Result<Self, Refused> {
        let ends @ [a, b, out] = affines(at)?;
        let factor = Factor::of(a.scale() * b.scale() / out.scale());
        if !factor.holds(1 << 16) {
            return Err(at.not_covered("its result has too fine a scale"));
        }
        Ok(Self { ends, factor, bounds: at.bounds(out)? })
    }
}

pub(super) fn product(at: &mut At) -> Result<String, Refused> {
    let Product { ends: [a, b, out], factor, bounds: (least, most) } = Product::of(at)?;
    let parameters = format!(
        "/* zero points */ {}, {}, /* result */ {}, {}, {}, {least}, {most},",
        a.zero, b.zero, factor.multiplier, factor.shift, out.zero
    );
    called(at, Fragment::MulS8, "mul_s8", &parameters)
}

pub(super) fn squared_difference(at: &mut At) -> Result<String, Refused> {
    let [a, b, out] = affines(at)?;
    let twice = 2.0 * a.scale().max(b.scale());
    let [of_a, of_b] = [a, b].map(|one| Factor::of(one.scale() / twice));
    let factor = Factor::of(twice * twice / (f64::from(1 << 14) * out.scale()));
    if !factor.holds(1 << 30) {
        return Err(at.not_covered("its result has too fine a scale"));
    }
    let parameters = format!(
        "/* operands */ {}, {}, {}, {}, {}, {},\n    /* result */ {}, {}, {},",
        a.zero,
        of_a.multiplier,
        of_a.shift,
        b.zero,
        of_b.multiplier,
        of_b.shift,
        factor.multiplier,
        factor.shift,
        out.zero
    );
    called(at, Fragment::SquaredDifferenceS8, "squared_difference_s8", &parameters)
}

pub(super) fn extreme(at: &mut At) -> Result<String, Refused> {
    // Compared as stored, which the runtime does as well; other scales would be nonsense there, too.
    affines(at)?;
    at.uses(Fragment::ExtremeS8);
    let kernel = at.k(if at.op.kind == "MAXIMUM" { "maximum_s8" } else { "minimum_s8" });
    let (from_a, from_b, to, type_name) = (at.read(0)?, at.read(1)?, at.write(0)?, at.k("pairs"));
    Ok(format!(
        "static const struct {type_name} each = {};\n\
         {kernel}(&each, (const int8_t *)({from_a}), (const int8_t *)({from_b}), (int8_t *)({to}));\n",
        pairs(at)?
    ))
}

/// Cut off: `RELU` in the scale of the result, `RELU6` as it is stored, whatever the scale of the result.
pub(super) fn relu(at: &mut At) -> Result<String, Refused> {
    let (input, output) = at.ends([&Int8, &Int8])?;
    let (read, written) = (at.affine(input)?, at.affine(output)?);
    let activation = at.op.kind.to_ascii_lowercase();
    let written = if activation == "relu6" { read } else { written };
    let bounds = activation::bounds(&activation, written.scale, written.zero, (-128, 127));
    let bounds = bounds.ok_or_else(|| at.not_covered("its bounds are not known"))?;
    rescaled(at, Factor::of(f64::from(read.scale / written.scale)), read, written, bounds)
}

/// In another scale.
pub(super) fn rescaled(
    at: &mut At,
    factor: Factor,
    read: Affine,
    written: Affine,
    (least, most): (i32, i32),
) -> Result<String, Refused> {
    at.refuse_misfit(at.input(0)?.count() != at.output(0)?.count())?;
    if !factor.holds(256) {
        return Err(at.not_covered("its result has too fine a scale"));
    }
    at.uses(Fragment::RescaleS8);
    let (kernel, from, to) = (at.k("rescale_s8"), at.read(0)?, at.write(0)?);
    Ok(format!(
        "static const struct {kernel} how = {{{}, {}, {}, {}, {}, {least}, {most}}};\n\
         {kernel}(&how, (const int8_t *)({from}), (int8_t *)({to}));\n",
        at.input(0)?.count(),
        read.zero,
        factor.multiplier,
        factor.shift,
        written.zero
    ))
}
