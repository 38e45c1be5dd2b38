//! Weights and biases as numbers.

use crate::channels::elements::{self, Elements};
use serenity_ir::{ElementType, Quantization};
use serenity_rewrite::constant_channels::{Numbers, Weights};
use serenity_tflite::{FileTensor, Model, Storage};

/// How the numbers of an activation are stored; `None` if it is not one of the types that can be followed.
pub(super) fn numbers(tensor: &FileTensor) -> Option<Numbers> {
    if tensor.storage != Storage::Activation || !tensor.is_plain {
        return None;
    }
    let (least, most) = match tensor.dtype {
        ElementType::Float32 => return Some(Numbers::Real),
        ElementType::Int8 => (-128, 127),
        ElementType::UInt8 => (0, 255),
        ElementType::Int16 => (-32768, 32767),
        _ => return None,
    };
    let Quantization { scales, zero_points, .. } = tensor.quantization.as_ref()?;
    let (&[scale], [] | [_]) = (scales.as_slice(), zero_points.as_slice()) else { return None };
    let zero_point = zero_points.first().copied().unwrap_or(0);
    let is_sensible = scale.is_finite() && scale > 0.0 && (least..=most).contains(&zero_point);
    is_sensible.then_some(Numbers::Whole { scale: f64::from(scale), zero_point, least, most })
}

/// Are sums of this type rounded as 8-bit kernels round?
pub(super) fn is_byte(tensor: &FileTensor) -> bool {
    matches!(tensor.dtype, ElementType::Int8 | ElementType::UInt8)
}

/// Weights that stay as they are, laid out as `[outer, taps, inner]`.
pub(super) struct Filter<'m> {
    elements: Elements<'m>,
    taps: usize,
    inner: usize,
}

impl<'m> Filter<'m> {
    /// A constant with as many elements as its shape says; `None` if it is none, or of a type that cannot be followed.
    pub(super) fn of(model: &'m Model, sub_graph: usize, number: usize) -> Option<Self> {
        let tensor = model.sub_graphs().get(sub_graph)?.tensors().get(number)?;
        let data = model.constant(sub_graph, number).filter(|_| tensor.is_plain)?;
        let zero_point = zero_point(tensor)?;
        if data.len() as u64 != tensor.bytes {
            return None;
        }
        let (&inner, front) = tensor.shape.split_last()?;
        let taps = front.get(1..)?.iter().product::<u64>();
        let [taps, inner] = [taps, inner].map(|size| usize::try_from(size).ok());
        let elements = Elements { data, dtype: &tensor.dtype, zero_point };
        Some(Self { elements, taps: taps?, inner: inner? })
    }

    /// Do its numbers go with these?
    pub(super) fn goes_with(&self, numbers: Numbers) -> bool {
        matches!(self.elements.dtype, ElementType::Float32) == (numbers == Numbers::Real)
    }

    /// By position along the first dimension, by position along the last.
    pub(super) fn by_pair(&self, outer: usize) -> Option<Weights> {
        let mut weights = Weights::default();
        for one in 0..outer {
            for other in 0..self.inner {
                let at = |tap: usize| (one * self.taps + tap) * self.inner + other;
                self.elements.push(&mut weights, (0..self.taps).map(at))?;
            }
        }
        Some(weights)
    }

    /// By position along the last dimension, where the first has one.
    pub(super) fn by_last(&self) -> Option<Weights> {
        let mut weights = Weights::default();
        for channel in 0..self.inner {
            self.elements.push(&mut weights, (0..self.taps).map(|tap| tap * self.inner + channel))?;
        }
        Some(weights)
    }
}

/// What is stored for zero. Kernels take it from int8 weights differently, so that it must be 0 there.
fn zero_point(tensor: &FileTensor) -> Option<i32> {
    let given = tensor.quantization.as_ref().map_or(&[][..], |given| &given.zero_points);
    match tensor.dtype {
        ElementType::UInt8 => match given {
            [] => Some(0),
            [one] => i32::try_from(*one).ok().filter(|one| (0..=255).contains(one)),
            _ => None,
        },
        ElementType::Int8 | ElementType::Float32 => given.iter().all(|&point| point == 0).then_some(0),
        _ => None,
    }
}

/// By channel of the result: what a weight of 1 stands for; `None` if that is not said for each.
pub(super) fn scales(tensor: &FileTensor, channels: usize, axis: u32) -> Option<Vec<f64>> {
    let Quantization { scales, axis: along, .. } = tensor.quantization.as_ref()?;
    match scales.as_slice() {
        [one] => Some(vec![f64::from(*one); channels]),
        several if several.len() == channels && *along == axis => {
            Some(several.iter().map(|&scale| f64::from(scale)).collect())
        }
        _ => None,
    }
}

pub(super) fn bias(model: &Model, sub_graph: usize, number: usize, channels: usize) -> Option<Vec<f64>> {
    let tensor = model.sub_graphs().get(sub_graph)?.tensors().get(number)?;
    let data = model.constant(sub_graph, number).filter(|_| tensor.is_plain)?;
    elements::bias(data, &tensor.dtype, channels)
}
