//! Comparisons, and choices by what they gave.

use super::elementwise::pairs;
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::{self, Bool, Float32, Int32};

/// Answers of a comparison, as the kernel counts them.
const LESS: i32 = 1;
const EQUAL: i32 = 2;
const GREATER: i32 = 4;
const NEITHER: i32 = 8;

/// A comparison of 32-bit integers or of floats.
pub(super) fn compared(at: &mut At) -> Result<String, Refused> {
    let wanted = match at.op.kind.as_str() {
        "EQUAL" => EQUAL,
        "NOT_EQUAL" => LESS | GREATER | NEITHER,
        "LESS" => LESS,
        "LESS_EQUAL" => LESS | EQUAL,
        "GREATER" => GREATER,
        _ => GREATER | EQUAL,
    };
    let of_floats = at.input(0)?.dtype == Float32;
    let (kind, name) = if of_floats { (Float32, "compare_f32") } else { (Int32, "compare_s32") };
    asked(at, name, &kind, wanted)
}

/// `LOGICAL_AND` and `LOGICAL_OR`.
pub(super) fn truth(at: &mut At) -> Result<String, Refused> {
    asked(at, "truth", &Bool, if at.op.kind == "LOGICAL_AND" { 0b1000 } else { 0b1110 })
}

/// Two operands of a type, and what is wanted of them.
fn asked(at: &mut At, name: &str, kind: &ElementType, wanted: i32) -> Result<String, Refused> {
    at.must_be(at.input(0)?, kind)?;
    at.must_be(at.input(1)?, kind)?;
    at.must_be(at.output(0)?, &Bool)?;
    at.uses(Fragment::Compare);
    let (kernel, type_name) = (at.k(name), at.k("pairs"));
    let (a, b, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    let each = pairs(at)?;
    Ok(format!(
        "static const struct {type_name} each = {each};\n{kernel}(&each, {wanted}, {a}, {b}, {to});\n"
    ))
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
                at.not_covered("a choice is neither as large as the result nor a single value of four bytes")
            );
        }
        steps.push(i32::from(choice.count() == count));
    }
    if condition.count() != count && condition.count() != 1 {
        return Err(at.not_covered("what decides is neither as large as the result nor a single value"));
    }
    let decisions = i32::from(condition.count() == count);
    at.uses(Fragment::Choose);
    let (kernel, condition, to) = (at.k("select_4"), at.read(0)?, at.write(0)?);
    let (x, y) = (at.read(1)?, at.read(2)?);
    Ok(format!("{kernel}({count}, {condition}, {decisions}, {x}, {}, {y}, {}, {to});\n", steps[0], steps[1]))
}
