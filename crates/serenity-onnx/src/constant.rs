//! The constants of a file, with their data.

use crate::proto::{AttributeValue, Model, Tensor, is_standard};
use crate::wire::Message;
use serenity_ir::ElementType;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The first version of the format in which constants need not be listed as inputs.
pub(crate) const CONSTANTS_ARE_NO_INPUTS: i64 = 4;

/// A constant of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constant<'m> {
    /// The element type.
    pub dtype: ElementType,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The elements, packed, little-endian.
    pub data: Cow<'m, [u8]>,
}

impl<'m> Constant<'m> {
    pub(crate) fn read(content: Message<'m>) -> Option<Self> {
        let tensor = Tensor::read(content).ok()?;
        let data = tensor.packed()?;
        Some(Self { dtype: tensor.data_type.element_type(), shape: tensor.shape, data })
    }
}

/// Where the tensors of the main graph's constants are, by name. Of a name defined twice, runtimes disagree on which counts.
pub(crate) fn index(model: &Model<'_>) -> HashMap<String, Range<usize>> {
    let initializers = model.graph.initializers.iter().map(|tensor| (tensor.name, tensor));
    let nodes = model.graph.nodes.iter().filter(|node| {
        let is_redefined = model.functions.contains(&(node.domain, node.op_type));
        node.op_type == "Constant" && is_standard(node.domain) && !is_redefined
    });
    let values = nodes.filter_map(|node| match (node.outputs.as_slice(), node.attribute("value")) {
        (&[name], Some(AttributeValue::Tensor(tensor))) => Some((name, tensor)),
        _ => None,
    });
    let (mut places, mut twice) = (HashMap::new(), HashSet::new());
    for (name, tensor) in initializers.chain(values).filter(|(name, _)| !name.is_empty()) {
        if places.insert(name.to_owned(), tensor.content()).is_some() {
            twice.insert(name);
        }
    }
    places.retain(|name, place| place.start < place.end && !twice.contains(name.as_str()));
    places
}

/// The constants that are only what inputs are if the caller does not give them.
pub(crate) fn overridable(model: &Model<'_>) -> HashSet<String> {
    if model.ir_version < CONSTANTS_ARE_NO_INPUTS {
        return HashSet::new();
    }
    let inputs: HashSet<&str> = model.graph.inputs.iter().map(|input| input.name).collect();
    let constants = model.graph.initializers.iter().map(|tensor| tensor.name);
    constants.filter(|name| inputs.contains(name)).map(str::to_owned).collect()
}
