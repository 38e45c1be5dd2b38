//! Cells on top of each other.

use super::operation::Granularity;
use super::{Genotype, cell};
use crate::net::{Conv, Feature, Net};
use crate::options::Options;

/// Which cell to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Reduction,
}

/// The cells of a network from bottom to top, each with its number of filters.
pub(super) type Plan = Vec<(Kind, u64)>;

/// Adds the cells of `plan` to `net`; the first reads `states`.
pub(super) fn add(net: &mut Net, genotype: &Genotype, mut states: [Feature; 2], plan: &Plan) -> Feature {
    for (index, &(kind, filters)) in plan.iter().enumerate() {
        let (table, stride) = match kind {
            Kind::Normal => (&genotype.normal, 1),
            Kind::Reduction => (&genotype.reduction, 2),
        };
        let at = format!("cell{index}");
        let preprocessed = cell::preprocess(net, &at, states, filters);
        let output = cell::nodes(net, &at, table, preprocessed, stride, Granularity::Split);
        states = [states[1], output];
    }
    states[1]
}

/// `NASNet`'s plan, which `AmoebaNet` shares: three runs of `cells` normal cells with a reduction cell between them,
/// each with twice the filters of the one before.
pub(super) fn stages(options: &Options) -> Plan {
    let (cells, filters) = (options.integer("cells"), options.integer("filters"));
    let mut plan = Plan::new();
    for stage in 0..3 {
        let filters = filters << stage;
        if stage > 0 {
            plan.push((Kind::Reduction, filters));
        }
        plan.extend((0..cells).map(|_| (Kind::Normal, filters)));
    }
    plan
}

/// On `ImageNet` the stack begins with two reduction cells, with a quarter and a half of the filters.
pub(super) fn with_stem_cells(filters: u64, stack: Plan) -> Plan {
    let stem = [(Kind::Reduction, filters / 4), (Kind::Reduction, filters / 2)];
    stem.into_iter().chain(stack).collect()
}

/// `NASNet`'s stem: one convolution.
pub(super) fn stem(net: &mut Net, resolution: u64, filters: u64, conv: Conv) -> [Feature; 2] {
    let image = net.input("input", [resolution, resolution, 3]);
    let x = net.conv("stem/conv", image, filters, conv);
    [x, x]
}

/// `NASNet`'s head: the last state is a sum, so its `ReLU` comes first.
pub(super) fn head(net: &mut Net, x: Feature, classes: u64) -> Feature {
    let x = net.relu("head/relu", x);
    net.classifier(x, classes)
}
