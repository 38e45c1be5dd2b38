//! Weights and biases as numbers.

use serenity_ir::ElementType;
use serenity_rewrite::constant_channels::Weights;

/// The elements of a constant.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'m> {
    pub(crate) data: &'m [u8],
    pub(crate) dtype: &'m ElementType,
    /// What is stored for zero.
    pub(crate) zero_point: i32,
}

impl Elements<'_> {
    /// Adds the weights of a pair of channels; `None` if one is not there, or they are of a type that cannot be followed.
    pub(crate) fn push(self, weights: &mut Weights, indices: impl Iterator<Item = usize>) -> Option<()> {
        let data = self.data;
        match self.dtype {
            ElementType::Int8 => {
                let taps = indices.map(|at| Some(i32::from(*data.get(at)? as i8) - self.zero_point));
                weights.push(taps.collect::<Option<Vec<_>>>()?.into_iter());
            }
            ElementType::UInt8 => {
                let taps = indices.map(|at| Some(i32::from(*data.get(at)?) - self.zero_point));
                weights.push(taps.collect::<Option<Vec<_>>>()?.into_iter());
            }
            ElementType::Float32 => {
                let real = |at: usize| data.get(at.checked_mul(4)?..)?.first_chunk().copied();
                let taps = indices.map(|at| Some(f32::from_le_bytes(real(at)?)));
                weights.push_real(taps.collect::<Option<Vec<_>>>()?.into_iter());
            }
            _ => return None,
        }
        Some(())
    }
}

/// The numbers of a bias. One of -0.0, or none at all, changes how real sums end: then there is nothing to be told.
pub(crate) fn bias(data: &[u8], dtype: &ElementType, channels: usize) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = match dtype {
        ElementType::Int32 => {
            whole_chunks(data)?.iter().map(|&bytes| f64::from(i32::from_le_bytes(bytes))).collect()
        }
        ElementType::Int64 => {
            whole_chunks(data)?.iter().map(|&bytes| i64::from_le_bytes(bytes) as f64).collect()
        }
        ElementType::Float32 => {
            let numbers = whole_chunks(data)?.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes)));
            let is_plain =
                |number: &f64| number.is_finite() && !(*number == 0.0 && number.is_sign_negative());
            numbers.map(|number| Some(number).filter(is_plain)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    (numbers.len() == channels).then_some(numbers)
}

fn whole_chunks<const N: usize>(data: &[u8]) -> Option<&[[u8; N]]> {
    let (chunks, rest) = data.as_chunks();
    rest.is_empty().then_some(chunks)
}
