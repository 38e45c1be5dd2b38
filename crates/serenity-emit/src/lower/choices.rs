//! Comparisons, and choices by what they gave.

use super::elementwise::pairs;
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::{Bool, Float32, Int32};

pub(super) fn equal(at: &mut At) -> Result<String, Refused> {
    let (a, b, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    at.must_be(a, &Float32)?;
    at.must_be(b, &Float32)?;
    at.must_be(output, &Bool)?;
    at.uses(Fragment::Choose);
    let (kernel, type_name) = (at.k("equal_f32"), at.k("pairs"));
    let (a, b, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    Ok(format!("static const struct {type_name} each = {};\n{kernel}(&each, {a}, {b}, {to});\n", pairs(at)?))
}

/// Of elements of four bytes; each choice, and what decides, is as large as the result, or a single value.
pub(super) fn select(at: &mut At) -> Result<String, Refused> {
    let (condition, output) = (at.input(0)?, at.output(0)?);
    at.must_be(condition, &Bool)?;
    let count = output.count();
    let mut steps = Vec::new();
    for position in [1, 2] {
        let choice = at.input(position)?;
        let is_fit = choice.count() == count || choice.count() == 1;
        if choice.dtype != output.dtype || ![Float32, Int32].contains(&choice.dtype) || !is_fit {
            return Err(
                at.refused("a choice is neither as large as the result nor a single value of four bytes")
            );
        }
        steps.push(i32::from(choice.count() == count));
    }
    if condition.count() != count && condition.count() != 1 {
        return Err(at.refused("what decides is neither as large as the result nor a single value"));
    }
    let decisions = i32::from(condition.count() == count);
    at.uses(Fragment::Choose);
    let (kernel, condition, to) = (at.k("select_4"), at.read(0)?, at.write(0)?);
    let (x, y) = (at.read(1)?, at.read(2)?);
    Ok(format!("{kernel}({count}, {condition}, {decisions}, {x}, {}, {y}, {}, {to});\n", steps[0], steps[1]))
}
