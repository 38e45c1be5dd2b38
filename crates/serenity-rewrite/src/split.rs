//! Rules for ops that read a concatenation: they propose to give them its pieces.
//!
//! The proofs are in [`treatment`](crate::treatment).

use crate::treatment::{Treatment, concat_axis, treatment};
use crate::{Action, Patch, Rule, Settings, short_name};
use serenity_ir::{Graph, OpId, Operator, Role, TensorId};
use std::collections::BTreeMap;

/// A convolution (or another product with constant weights) of a concatenation is the sum of the convolutions of its
/// pieces: the paper's channel-wise partitioning, equations 3 to 6 and figure 9.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelPartitioning;

/// A depthwise convolution of a concatenation is the concatenation of the depthwise convolutions of its pieces: the
/// paper's kernel-wise partitioning, equations 7 and 8 and figure 9.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelPartitioning;

/// Ops that treat each channel alike and separately (activations, normalisations, pools, padding, resizing) can come
/// before a concatenation instead of after it; and a concatenation of concatenations is a single one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConcatSinking;

/// `LiteRT`'s optimised kernels have several ways to filter, which round differently, and choose by the number of channels.
const LITERT_BUILTIN: [&str; 1] = ["litert-builtin"];

impl Rule for ChannelPartitioning {
    fn name(&self) -> &'static str {
        "channel-partitioning"
    }

    fn find(&self, graph: &Graph, settings: &Settings) -> Vec<Patch> {
        let propose = |site: Site| {
            let name = short_name(graph, site.op);
            let output = *graph.op(site.op).outputs.first()?;
            let may =
                matches!(site.treatment, Treatment::Sums(_)) && settings.may_round(graph.tensor(output));
            let identity = format!("`{name}` of a concatenation is the sum of `{name}` of its pieces");
            may.then(|| patch(self.name(), site.op, identity, false))
        };
        sites(graph).into_iter().filter_map(propose).collect()
    }
}

impl Rule for KernelPartitioning {
    fn name(&self) -> &'static str {
        "kernel-partitioning"
    }

    fn find(&self, graph: &Graph, _: &Settings) -> Vec<Patch> {
        let propose = |site: Site| {
            let Treatment::Apart(_) = site.treatment else { return None };
            let name = short_name(graph, site.op);
            let identity = format!("`{name}` filters every channel by itself, so it can filter the pieces");
            let is_litert = graph.op(site.op).kind.operator() == Operator::DEPTHWISE_CONV_2D;
            let rounds_in: &[_] = if is_litert { &LITERT_BUILTIN } else { &[] };
            is_depthwise(graph, &site)
                .then(|| Patch { rounds_in, ..patch(self.name(), site.op, identity, true) })
        };
        sites(graph).into_iter().filter_map(propose).collect()
    }
}

impl Rule for ConcatSinking {
    fn name(&self) -> &'static str {
        "concat-sinking"
    }

    fn find(&self, graph: &Graph, _: &Settings) -> Vec<Patch> {
        let propose = |site: Site| {
            let name = short_name(graph, site.op);
            let identity = match site.treatment {
                Treatment::Sums(_) => return None,
                Treatment::Apart(_) if is_depthwise(graph, &site) => return None,
                Treatment::Apart(_) => {
                    format!("`{name}` treats every channel by itself, before or after they are joined")
                }
                Treatment::Joins => {
                    format!("`{name}` joins the pieces of a concatenation as well as the concatenation")
                }
            };
            Some(patch(self.name(), site.op, identity, true))
        };
        sites(graph).into_iter().filter_map(propose).collect()
    }
}

fn patch(rule: &'static str, op: OpId, identity: String, exact: bool) -> Patch {
    Patch { rule, action: Action::Split { op, order: Vec::new() }, identity, exact, rounds_in: &[] }
}

fn is_depthwise(graph: &Graph, site: &Site) -> bool {
    matches!(&site.treatment, Treatment::Apart(apart) if apart.is_grouped)
        || graph.op(site.op).kind.operator() == Operator::DEPTHWISE_CONV_2D
}

/// An op that could work on the pieces of an input.
pub(crate) struct Site {
    pub(crate) op: OpId,
    pub(crate) treatment: Treatment,
}

/// All ops that could work on pieces if those before them do.
pub(crate) fn sites(graph: &Graph) -> Vec<Site> {
    let mut joined: BTreeMap<TensorId, usize> = BTreeMap::new();
    let mut sites = Vec::new();
    for op in graph.file_order() {
        let found = treatment(graph, op, |input| joined.get(&input).copied()).map(|(treatment, _)| treatment);
        let axis = match (&found, graph.op(op).kind.role()) {
            (_, Role::Concat) => concat_axis(graph, op),
            (Some(Treatment::Apart(apart)), _) => Some(apart.axis),
            _ => None,
        };
        if let (Some(axis), &[output]) = (axis, graph.op(op).outputs.as_slice()) {
            joined.insert(output, axis);
        }
        sites.extend(found.map(|treatment| Site { op, treatment }));
    }
    sites
}
