//! Whole numbers of more than a byte.

use super::elementwise::pairs;
use crate::emitter::At;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::{self, Bool, Float32, Int8, Int16, Int32, UInt32};

/// The code of an operator on two tensors of 32-bit integers; `None` if it is another.
pub(super) fn lowered(at: &mut At) -> Result<Option<String>, Refused> {
    if !at.output_id(0).is_some_and(|output| at.graph.tensors[output].dtype == Int32) {
        return Ok(None);
    }
    let name = match at.op.kind.as_str() {
        "ADD" => "add_s32",
        "SUB" => "sub_s32",
        "MUL" => "mul_s32",
        "DIV" => "div_s32",
        "SQUARED_DIFFERENCE" => "squared_difference_s32",
        "MAXIMUM" => "maximum_s32",
        "MINIMUM" => "minimum_s32",
        _ => return Ok(None),
    };
    at.must_be(at.input(0)?, &Int32)?;
    at.must_be(at.input(1)?, &Int32)?;
    if at.word("activation").is_some_and(|activation| activation != "none") {
        return Err(at.not_covered("of whole numbers it is covered without an activation only"));
    }
    let is_known = |divisors: &Vec<i64>| divisors.iter().all(|&divisor| divisor != 0 && divisor != -1);
    if at.op.kind == "DIV" && !at.constant_numbers(1).as_ref().is_some_and(is_known) {
        return Err(at.not_covered("what it divides by is no constant, or 0, or -1"));
    }
    at.uses(Fragment::PairsS32);
    let (kernel, type_name) = (at.k(name), at.k("pairs"));
    let (a, b, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    let each = pairs(at)?;
    Ok(Some(format!("static const struct {type_name} each = {each};\n{kernel}(&each, {a}, {b}, {to});\n")))
}

/// `CAST` between whole numbers.
pub(super) fn cast(at: &mut At) -> Result<String, Refused> {
    let (input, output) = (at.input(0)?, at.output(0)?);
    let (from_float, to_float) = (input.dtype == Float32, output.dtype == Float32);
    let sources = [Bool, Int8, Int16, Int32, UInt32];
    let is_covered = |known: &[ElementType], dtype: &ElementType| known.contains(dtype);
    if from_float && to_float
        || !(from_float || is_covered(&sources, &input.dtype))
        || !(to_float || is_covered(&sources[1..], &output.dtype))
    {
        return Err(at.not_covered(format!("from {} to {} is not covered", input.dtype, output.dtype)));
    }
    let count = input.count();
    at.refuse_misfit(count != output.count())?;
    let (from, to) = (at.read(0)?, at.write(0)?);
    let (item, wider) = (input.item(), output.item());
    let has_sign = i32::from(!matches!(input.dtype, Bool | UInt32));
    at.uses(if from_float || to_float { Fragment::CastF32 } else { Fragment::Cast });
    if from_float {
        let (least, most) = range(&output.dtype);
        return Ok(format!("{}({count}, {least}, {most}, {from}, {wider}, {to});\n", at.k("cast_from_f32")));
    }
    if to_float {
        return Ok(format!("{}({count}, {item}, {has_sign}, {from}, {to});\n", at.k("cast_to_f32")));
    }
    Ok(format!("{}({count}, {item}, {has_sign}, {from}, {wider}, {to});\n", at.k("cast")))
}

/// The least and the most of a type of whole numbers, in C.
fn range(dtype: &ElementType) -> (&'static str, &'static str) {
    match dtype {
        Int8 => ("-128", "127"),
        Int16 => ("-32768", "32767"),
        UInt32 => ("0", "4294967295"),
        _ => ("-2147483647 - 1", "2147483647"),
    }
}
