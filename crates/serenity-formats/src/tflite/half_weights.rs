//! Weights of 16-bit floats, written as the 32-bit floats that runtimes make of them.
//!
//! Converters keep weights in 16 bits and put a `DEQUANTIZE` behind each. A runtime makes room in its arena for all
//! that these write, and TFLM does not run them at all. Written as what they stand for, the weights take twice the
//! flash and no RAM.

use serenity_ir::ElementType::{Float16, Float32};
use serenity_tflite::{Error, Model, NewTensor, OperatorSource, SubGraph};
use std::collections::BTreeSet;

/// The model without these operators; `None` if it has none.
pub(super) fn as_floats(model: &Model) -> Result<Option<Model>, Error> {
    let gone: Vec<BTreeSet<usize>> =
        (0..model.sub_graphs().len()).map(|graph| conversions(model, graph)).collect();
    if gone.iter().all(BTreeSet::is_empty) {
        return Ok(None);
    }
    let mut edit = model.edit();
    for (graph, gone) in gone.iter().enumerate().filter(|(_, gone)| !gone.is_empty()) {
        let sub_graph = &model.sub_graphs()[graph];
        let operators = 0..sub_graph.operators().len();
        edit.set_operators(
            graph,
            operators.clone().filter(|number| !gone.contains(number)).map(OperatorSource::Kept).collect(),
        )?;
        for (from, to) in gone.iter().filter_map(|&number| ends(sub_graph, number)) {
            let Some(data) = model.constant(graph, from) else { continue };
            let halves = data.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
            let buffer = edit.add_buffer(halves.flat_map(|half| float(half).to_le_bytes()).collect());
            let tensor = &sub_graph.tensors()[to];
            let (name, shape) = (tensor.name.clone(), tensor.shape.clone());
            let new =
                NewTensor { name, shape, shape_signature: None, dtype: Float32, buffer, quantization: None };
            edit.replace_tensor(graph, to, new)?;
        }
        let kept = operators.filter(|number| !gone.contains(number));
        let read: BTreeSet<usize> =
            kept.flat_map(|number| sub_graph.operators()[number].inputs.iter().flatten().copied()).collect();
        let sources = gone.iter().filter_map(|&number| ends(sub_graph, number)).map(|(from, _)| from);
        let unread: BTreeSet<usize> =
            sources.filter(|from| !read.contains(from) && !sub_graph.outputs().contains(from)).collect();
        for tensor in unread {
            edit.retire_tensor(graph, tensor)?;
        }
    }
    edit.shrink();
    Model::parse(edit.finish()?.bytes).map(Some)
}

/// The operators of a sub-graph that make 32-bit floats of constants of 16 bits, which no output of it shows.
fn conversions(model: &Model, graph: usize) -> BTreeSet<usize> {
    let sub_graph = &model.sub_graphs()[graph];
    let is_conversion = |&number: &usize| {
        let operator = &sub_graph.operators()[number];
        ends(sub_graph, number).is_some_and(|(from, to)| {
            let [old, new] = [from, to].map(|tensor| &sub_graph.tensors()[tensor]);
            operator.kind == "DEQUANTIZE"
                && (&old.dtype, &new.dtype) == (&Float16, &Float32)
                && old.shape == new.shape
                && !sub_graph.outputs().contains(&to)
                && model.constant(graph, from).is_some_and(|data| data.len() as u64 * 2 == new.bytes)
        })
    };
    (0..sub_graph.operators().len()).filter(is_conversion).collect()
}

/// What an operator with one operand and one result reads and writes.
fn ends(sub_graph: &SubGraph, number: usize) -> Option<(usize, usize)> {
    let operator = &sub_graph.operators()[number];
    match (operator.inputs.as_slice(), operator.outputs.as_slice()) {
        (&[Some(from)], &[Some(to)]) => Some((from, to)),
        _ => None,
    }
}

/// A 16-bit float: a sign, five bits of exponent, ten of fraction. Every one of them is a 32-bit float as well.
fn float(half: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(half >> 15), half >> 10 & 31, u32::from(half & 1023));
    let magnitude = match exponent {
        0 => (fraction as f32 * 2_f32.powi(-24)).to_bits(),
        31 => 0x7F80_0000 | fraction << 13,
        _ => (u32::from(exponent) + 127 - 15) << 23 | fraction << 13,
    };
    f32::from_bits(sign << 31 | magnitude)
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn all_halves_are_what_they_stand_for() {
        for half in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(half >> 10 & 31), f64::from(half & 1023) / 1024.0);
            let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
            let wanted = match exponent {
                0 => sign * fraction * 2_f64.powi(-14),
                31 if fraction == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                _ => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
            };
            let made = f64::from(float(half));
            assert!(
                made.to_bits() == wanted.to_bits() || (made.is_nan() && wanted.is_nan()),
                "{half:#06x}: {made}, not {wanted}"
            );
        }
    }
}
