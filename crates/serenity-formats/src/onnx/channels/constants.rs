//! The constants that nodes read.

use crate::channels::elements::{Elements, bias};
use serenity_ir::{Call, ElementType, Given, OpId};
use serenity_onnx::{Constant, Model};
use serenity_rewrite::constant_channels::{Numbers, Weights};
use std::collections::BTreeMap;

/// Constants by the nodes that read them.
pub(super) struct Constants<'m> {
    pub(super) model: &'m Model,
}

impl<'m> Constants<'m> {
    pub(super) fn of(model: &'m Model) -> Self {
        Self { model }
    }

    pub(super) fn call(&self, op: OpId) -> Call<'m> {
        Call::new(self.model.graph(), op)
    }

    /// The constant at a position; `None` if there is none, or whoever runs the model may give another.
    pub(super) fn at(&self, call: &Call<'m>, position: usize) -> Option<Constant<'m>> {
        let Given::Constant(stored) = call.given(position) else { return None };
        let name = stored.name()?;
        if self.model.is_overridable(name) { None } else { self.model.constant(name) }
    }

    /// One real number.
    fn real(&self, call: &Call<'m>, position: usize) -> Option<f64> {
        let constant = self.at(call, position)?;
        let &bytes = constant.data.as_chunks::<4>().0.first()?;
        let is_one = constant.dtype == ElementType::Float32 && constant.data.len() == 4;
        is_one.then(|| f64::from(f32::from_le_bytes(bytes)))
    }

    /// What is stored for zero, the same for all: 0 if nothing is said.
    fn zero_point(&self, call: &Call<'m>, position: usize, dtype: &ElementType) -> Option<i64> {
        if matches!(call.given(position), Given::Absent) {
            return Some(0);
        }
        let constant = self.at(call, position)?;
        let (&first, rest) = constant.data.split_first()?;
        if constant.dtype != *dtype || rest.iter().any(|&other| other != first) {
            return None;
        }
        match dtype {
            ElementType::Int8 => Some(i64::from(first as i8)),
            ElementType::UInt8 => Some(i64::from(first)),
            _ => None,
        }
    }

    /// What whole numbers stand for, by a scale and a zero point among the operands.
    pub(super) fn numbers(&self, call: &Call<'m>, scale: usize, dtype: &ElementType) -> Option<Numbers> {
        let (least, most) = match dtype {
            ElementType::Int8 => (-128, 127),
            ElementType::UInt8 => (0, 255),
            _ => return None,
        };
        let zero_point = self.zero_point(call, scale + 1, dtype)?;
        let scale = self.real(call, scale).filter(|scale| scale.is_finite() && *scale > 0.0)?;
        Some(Numbers::Whole { scale, zero_point, least, most })
    }

    /// By channel of the result: what a weight of 1 stands for.
    pub(super) fn scales(&self, call: &Call<'m>, position: usize, channels: usize) -> Option<Vec<f64>> {
        let constant = self.at(call, position).filter(|constant| constant.dtype == ElementType::Float32)?;
        let (numbers, rest) = constant.data.as_chunks::<4>();
        let scales: Vec<f64> = numbers.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))).collect();
        match scales.as_slice() {
            _ if !rest.is_empty() => None,
            [one] => Some(vec![*one; channels]),
            several if several.len() == channels => Some(scales),
            _ => None,
        }
    }

    /// Weights that lie pair after pair, and what they are stored as.
    pub(super) fn weights(
        &self,
        call: &Call<'m>,
        position: usize,
        zero_point: Option<usize>,
        pairs: usize,
    ) -> Option<(Weights, ElementType)> {
        let constant = self.at(call, position)?;
        let zero_point = match zero_point {
            Some(at) => i32::try_from(self.zero_point(call, at, &constant.dtype)?).ok()?,
            None => 0,
        };
        let count = usize::try_from(constant.shape.iter().product::<u64>()).ok()?;
        let taps = count.checked_div(pairs).filter(|taps| taps * pairs == count)?;
        let elements = Elements { data: &constant.data, dtype: &constant.dtype, zero_point };
        let mut weights = Weights::default();
        for pair in 0..pairs {
            elements.push(&mut weights, pair * taps..(pair + 1) * taps)?;
        }
        Some((weights, constant.dtype.clone()))
    }

    /// The bias, if there is one, and whether something can be added to it.
    pub(super) fn bias(&self, call: &Call<'m>, position: usize, channels: usize) -> Option<(Vec<f64>, bool)> {
        if matches!(call.given(position), Given::Absent) {
            return Some((vec![0.0; channels], false));
        }
        let constant = self.at(call, position)?;
        Some((bias(&constant.data, &constant.dtype, channels)?, constant.dtype == ElementType::Int32))
    }

    /// Every weight is used once at every position of the result.
    pub(super) fn macs(&self, op: OpId) -> Option<u64> {
        let call = self.call(op);
        let weights = (0..call.operand_count()).filter(|&at| matches!(call.given(at), Given::Constant(_)));
        // Of all constants of a convolution its weights are the only ones with several dimensions; or a node makes them.
        let weights = weights.filter_map(|at| call.shape(at)).find(|shape| shape.len() > 1);
        let weights = weights.or_else(|| call.shape(1))?;
        let result = call.described_result(0)?.shape;
        let positions = result.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, size)| size);
        Some(positions.chain(&weights).fold(1, |product: u64, &factor| product.saturating_mul(factor)))
    }

    /// Bytes of all constants that nodes read, each once.
    pub(super) fn bytes(&self) -> u64 {
        let graph = self.model.graph();
        let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
        for op in graph.op_ids() {
            let call = Call::new(graph, op);
            for position in 0..call.operand_count() {
                if let Given::Constant(stored) = call.given(position)
                    && let (Some(name), Some(dtype), Some(shape)) =
                        (stored.name(), stored.dtype(), stored.shape())
                {
                    sizes.insert(name, dtype.bytes_of(&shape).unwrap_or(0));
                }
            }
        }
        sizes.values().sum()
    }
}
