//! Products of matrices, of which none is a constant.

use super::options::Affine;
use crate::emitter::At;
use crate::fixed_point::Factor;
use crate::fragments::Fragment;
use crate::refused::Refused;
use serenity_ir::ElementType::{Float32, Int8};

/// A matrix of a batch: sides of the batches, rows, columns, and how far apart both are.
struct Operand {
    batches: Vec<i64>,
    rows: i64,
    columns: i64,
    apart: [i64; 2],
}

impl Operand {
    fn of(at: &At, position: usize, is_turned: bool) -> Result<Self, Refused> {
        let tensor = at.input(position)?;
        at.refuse_misfit(tensor.dtype.bytes_of(&tensor.shape) != Some(tensor.bytes))?;
        let [batches @ .., rows, columns] = &tensor.shape[..] else {
            return Err(at.not_covered("an operand is no matrix"));
        };
        let (rows, columns) = (*rows as i64, *columns as i64);
        let batches = batches.iter().map(|&side| side as i64).collect();
        Ok(if is_turned {
            Self { batches, rows: columns, columns: rows, apart: [1, columns] }
        } else {
            Self { batches, rows, columns, apart: [columns, 1] }
        })
    }

    /// How far apart its matrices are along the sides of the result; 0 where one is repeated.
    fn strides(&self, at: &At, batches: [i64; 3]) -> Result<[i64; 5], Refused> {
        let mut all = [0, 0, 0, self.apart[0], self.apart[1]];
        let mut stride = self.rows * self.columns;
        for (side, &own) in (0..3).rev().zip(self.batches.iter().rev()) {
            at.refuse_misfit(own != 1 && own != batches[side])?;
            all[side] = if own == 1 { 0 } else { stride };
            stride *= own;
        }
        Ok(all)
    }
}

/// `BATCH_MATMUL`.
pub(super) fn products(at: &mut At) -> Result<String, Refused> {
    let (input, other, output) = (at.input(0)?, at.input(1)?, at.output(0)?);
    let is_float = input.dtype == Float32;
    let kind = if is_float { Float32 } else { Int8 };
    for tensor in [input, other, output] {
        at.must_be(tensor, &kind)?;
    }
    let (a, b) = (Operand::of(at, 0, at.flag("adj_x"))?, Operand::of(at, 1, at.flag("adj_y"))?);
    let [outer @ .., rows, columns] = &output.shape[..] else {
        return Err(at.not_covered("its result is no matrix"));
    };
    at.refuse_misfit(a.columns != b.rows || *rows as i64 != a.rows || *columns as i64 != b.columns)?;
    if outer.len() > 3 || a.batches.len() > outer.len() || b.batches.len() > outer.len() {
        return Err(at.not_covered("it is covered for up to five sides only"));
    }
    let mut batches = [1; 3];
    for (batch, &side) in batches.iter_mut().rev().zip(outer.iter().rev()) {
        *batch = side as i64;
    }
    let lists = [a.strides(at, batches)?, b.strides(at, batches)?].map(|list| listed(&list));
    let each = format!(
        "{{{{{}}}, {}, {}, {}, {{{}}}, {{{}}}}}",
        listed(&batches),
        a.rows,
        a.columns,
        b.columns,
        lists[0],
        lists[1]
    );
    let (first, second, to) = (at.read(0)?, at.read(1)?, at.write(0)?);
    if is_float {
        at.uses(Fragment::MatricesF32);
        let (kernel, type_name) = (at.k("matrices_f32"), at.k("matrices"));
        return Ok(format!(
            "static const struct {type_name} how = {each};\n{kernel}(&how, {first}, {second}, {to});\n"
        ));
    }
    let [x, y, written] = [at.affine(input)?, at.affine(other)?, at.affine(output)?];
    let factor = factor([x, y, written]);
    if !factor.is_usual() {
        return Err(at.not_covered("its result has too fine a scale"));
    }
    at.uses(Fragment::MatricesS8);
    let kernel = at.k("matrices_s8");
    Ok(format!(
        "static const struct {kernel} how = {{{each}, {}, {}, {}, {}, {}}};\n\
         {kernel}(&how, (const int8_t *)({first}), (const int8_t *)({second}), (int8_t *)({to}));\n",
        x.zero, y.zero, written.zero, factor.multiplier, factor.shift
    ))
}

/// The runtime multiplies the scales of the operands as floats.
fn factor([x, y, written]: [Affine; 3]) -> Factor {
    Factor::of(f64::from(x.scale * y.scale) / written.scale())
}

fn listed(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}
