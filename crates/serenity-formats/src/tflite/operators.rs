//! What all changes to the operators of a `.tflite` file need.

use serenity_ir::{Attributes, ElementType, Op, Tensor};
use serenity_tflite::{Edit, Error, FileTensor, NewTensor, OperatorSource, SubGraph, is_said_by_operands};
use std::collections::BTreeSet;

/// The main graph: it alone is changed.
pub(super) const MAIN: usize = 0;

pub(super) fn activation(tensor: &Tensor) -> Result<NewTensor, Error> {
    let refused = || Error::Edit(format!("tensor `{}` has no shape or type", tensor.name));
    Ok(NewTensor {
        name: tensor.name.clone(),
        shape: tensor.shape.clone().ok_or_else(refused)?,
        shape_signature: None,
        dtype: tensor.dtype.clone().ok_or_else(refused)?,
        buffer: 0,
        quantization: tensor.quantization.clone(),
    })
}

/// The version of an operator in which it learned of a type: what a converter writes.
pub(super) fn version(kind: &str, dtype: Option<&ElementType>) -> i32 {
    match (kind, dtype) {
        ("SLICE", Some(ElementType::Int16)) => 4,
        ("FILL", Some(ElementType::Int8 | ElementType::Int16))
        | ("ADD" | "CONCATENATION" | "PAD", Some(ElementType::Int16)) => 3,
        ("ADD" | "CONCATENATION" | "PAD" | "SLICE", Some(ElementType::Int8)) => 2,
        _ => 1,
    }
}

/// The options in which an op differs from the one it comes from.
pub(super) fn changed_options(old: &Op, new: &Op) -> Attributes {
    let is_option = |name: &str| name != "input_weights" && !is_said_by_operands(new.kind.as_str(), name);
    let changed = new
        .attributes
        .iter()
        .filter(|(name, value)| is_option(name) && old.attributes.get(*name) != Some(value));
    changed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Leaves nothing of those tensors of the main graph that no operator touches any more, if they are worth it.
pub(super) fn retire(
    edit: &mut Edit,
    sub_graph: &SubGraph,
    operators: &[OperatorSource],
    is_worth_it: impl Fn(&FileTensor) -> bool,
) -> Result<(), Error> {
    let mut used: BTreeSet<usize> = sub_graph.inputs().iter().chain(sub_graph.outputs()).copied().collect();
    for operator in operators {
        match operator {
            OperatorSource::Kept(kept) => {
                let old = &sub_graph.operators()[*kept];
                used.extend(old.inputs.iter().chain(&old.outputs).flatten());
            }
            OperatorSource::Rewired { inputs, outputs, .. }
            | OperatorSource::Changed { inputs, outputs, .. }
            | OperatorSource::New { inputs, outputs, .. } => {
                used.extend(inputs.iter().chain(outputs).flatten());
            }
        }
    }
    let touched =
        sub_graph.operators().iter().flat_map(|old| old.inputs.iter().chain(&old.outputs).flatten());
    let touched: BTreeSet<usize> = touched.copied().collect();
    for &tensor in touched.difference(&used).filter(|&&tensor| is_worth_it(&sub_graph.tensors()[tensor])) {
        edit.retire_tensor(MAIN, tensor)?;
    }
    Ok(())
}
