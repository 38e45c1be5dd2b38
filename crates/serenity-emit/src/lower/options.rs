//! Options of an operator, and what quantisations say.

use crate::activation::{self};
use crate::emitter::At;
use crate::refused::Refused;
use crate::source::SourceTensor;
use serde_json::Value;
use serenity_ir::ElementType;

/// The scale and zero point of a whole tensor of integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine {
    pub(crate) scale: f32,
    pub(crate) zero: i32,
}

impl Affine {
    /// The stored number as a real one, with the precision that the runtime has before it rounds.
    pub(crate) fn scale(self) -> f64 {
        f64::from(self.scale)
    }
}

impl<'s> At<'_, 's> {
    /// The name of a kernel or type of this code.
    pub(crate) fn k(&self, name: &str) -> String {
        format!("{}_{name}", self.emitter.prefix)
    }

    pub(crate) fn option(&self, name: &str) -> Option<&Value> {
        self.op.attributes.get(name)
    }

    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.option(name)?.as_str()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.option(name)?.as_i64()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.option(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn real(&self, name: &str) -> Option<f32> {
        Some(self.option(name)?.as_f64()? as f32)
    }

    /// Height and width, both at least 1.
    pub(crate) fn pair(&self, name: &str) -> Result<[i64; 2], Refused> {
        let list = self.option(name).and_then(Value::as_array);
        let pair: Option<Vec<i64>> = list.and_then(|list| list.iter().map(Value::as_i64).collect());
        match pair.as_deref() {
            Some(&[height, width]) if (1..=32_767).contains(&height) && (1..=32_767).contains(&width) => {
                Ok([height, width])
            }
            _ => Err(self.not_covered(format!("its option `{name}` is missing or out of range"))),
        }
    }

    /// An axis counted from the front.
    pub(crate) fn axis(&self, rank: usize) -> Result<usize, Refused> {
        let axis = self.int("axis").and_then(|axis| serenity_ir::from_front(axis, rank));
        axis.ok_or_else(|| self.not_covered("its axis is not known"))
    }

    /// Is a tensor of this type? Refused if not, by name.
    pub(crate) fn must_be(&self, tensor: &SourceTensor, dtype: &ElementType) -> Result<(), Refused> {
        if tensor.dtype == *dtype {
            return Ok(());
        }
        Err(self.not_covered(format!("it is covered for {dtype} only, and this is {}", tensor.dtype)))
    }

    /// The first operand and the first result, which must be of these types.
    pub(crate) fn ends(
        &self,
        [from, to]: [&ElementType; 2],
    ) -> Result<(&'s SourceTensor, &'s SourceTensor), Refused> {
        let (input, output) = (self.input(0)?, self.output(0)?);
        self.must_be(input, from)?;
        self.must_be(output, to)?;
        Ok((input, output))
    }

    /// Do two tensors have one scale and one zero point, as far as the runtime looks? Refused if not: it does not
    /// rescale here, and refuses such a model itself.
    pub(crate) fn must_be_alike(
        &self,
        [one, other]: [&SourceTensor; 2],
        most_apart: f64,
    ) -> Result<(), Refused> {
        let numbers = |tensor: &SourceTensor| {
            let own = tensor.quantization.as_ref();
            let scale = own.and_then(|q| q.scales.first()).map_or(0.0, |&scale| f64::from(scale));
            (scale, own.and_then(|q| q.zero_points.first()).copied().unwrap_or(0))
        };
        let (one, other) = (numbers(one), numbers(other));
        if (one.0 - other.0).abs() <= most_apart && one.1 == other.1 {
            return Ok(());
        }
        Err(self
            .not_covered("its result has another scale or zero point than what it reads: TFLM refuses it"))
    }

    /// Scale and zero point of a whole tensor of bytes.
    pub(crate) fn affine(&self, tensor: &SourceTensor) -> Result<Affine, Refused> {
        let quantization = tensor.quantization.as_ref();
        let range = if tensor.dtype == ElementType::UInt8 { 0..=255 } else { -128..=127 };
        let found =
            quantization.filter(|q| q.scales.len() == 1 && q.zero_points.len() <= 1).map(|q| Affine {
                scale: q.scales[0],
                zero: q.zero_points.first().map_or(0, |&zero| zero.clamp(-1000, 1000) as i32),
            });
        found.filter(|a| a.scale.is_finite() && a.scale > 0.0 && range.contains(&a.zero)).ok_or_else(|| {
            self.not_covered(format!("`{}` has no scale of its own", crate::names::in_comment(&tensor.name)))
        })
    }

    /// Where the fused activation cuts 8-bit results off.
    pub(crate) fn bounds(&self, out: Affine) -> Result<(i32, i32), Refused> {
        let activation = self.word("activation").unwrap_or("none");
        activation::bounds(activation, out.scale, out.zero, (-128, 127))
            .ok_or_else(|| self.not_covered(format!("its fused activation `{activation}` is not covered")))
    }

    /// Four sides of a tensor, none of them empty.
    pub(crate) fn sides(&self, tensor: &SourceTensor) -> Result<[i64; 4], Refused> {
        let sides: Option<Vec<i64>> = tensor.shape.iter().map(|&side| i64::try_from(side).ok()).collect();
        let sides: Option<[i64; 4]> = sides.and_then(|sides| sides.try_into().ok());
        sides
            .filter(|sides| sides.iter().all(|&side| side > 0))
            .ok_or_else(|| self.not_covered("it is covered for tensors of four sides only"))
    }
}
