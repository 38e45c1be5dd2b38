//! What a file is to say about the shapes of its tensors.

use crate::data_type::DataType;
use serenity_ir::{Graph, TensorId};
use std::collections::BTreeMap;

/// One dimension of a shape to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewDim {
    Size(u64),
    /// A size that is equal wherever this name is used.
    Named(String),
}

impl NewDim {
    /// A shape all of whose sizes are known.
    pub(crate) fn sizes(shape: &[u64]) -> Vec<Self> {
        shape.iter().map(|&size| Self::Size(size)).collect()
    }
}

/// Name, type and dimensions of every tensor between nodes of which something is to be said.
pub(crate) fn all<'g>(
    graph: &'g Graph,
    alike: &[(TensorId, TensorId)],
    is_open: bool,
) -> Vec<(&'g str, DataType, Vec<NewDim>)> {
    let is_between = |t: &TensorId| graph.producer(*t).is_some() && !graph.is_output(*t);
    let dims: Vec<(TensorId, Vec<NewDim>)> = if is_open {
        named(graph, alike)
    } else {
        let sizes = |t: TensorId| Some((t, NewDim::sizes(graph.tensor(t).shape.as_ref()?)));
        graph.tensor_ids().filter_map(sizes).collect()
    };
    let typed = |(t, dims): (TensorId, Vec<NewDim>)| {
        let tensor = graph.tensor(t);
        Some((tensor.name.as_str(), DataType::of(tensor.dtype.as_ref()?)?, dims))
    };
    dims.into_iter().filter(|(t, _)| is_between(t)).filter_map(typed).collect()
}

/// Names in common for the dimensions of tensors that are alike, through any number of pairs.
fn named(graph: &Graph, alike: &[(TensorId, TensorId)]) -> Vec<(TensorId, Vec<NewDim>)> {
    let mut groups: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for &(a, b) in alike {
        let (a, b) = (first_of(&groups, a), first_of(&groups, b));
        groups.entry(a).or_insert(a);
        groups.insert(a.max(b), a.min(b));
        groups.entry(a.min(b)).or_insert(a.min(b));
    }
    let dims = |&t: &TensorId| {
        let group = first_of(&groups, t);
        let rank = graph.tensor(t).shape.as_ref()?.len();
        Some((t, (0..rank).map(|axis| NewDim::Named(format!("serenity_{}_{axis}", group.0))).collect()))
    };
    groups.keys().filter_map(dims).collect()
}

fn first_of(groups: &BTreeMap<TensorId, TensorId>, mut t: TensorId) -> TensorId {
    while let Some(&before) = groups.get(&t).filter(|&&before| before != t) {
        t = before;
    }
    t
}
