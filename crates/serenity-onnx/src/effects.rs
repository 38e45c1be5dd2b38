//! Which nodes must keep their order among each other, and which names a node reads beyond its inputs.

use crate::fact::Fact;
use crate::infer::{Scope, is_of_runtime};
use crate::proto::{AttributeValue, Graph, Model, Node, is_standard};
use std::collections::HashSet;

/// Does running this node do more than compute its outputs from its inputs: draw random numbers, or whatever an operator that
/// the standard does not define may do? The graphs it runs count.
pub(crate) fn has_effects<'a>(node: &Node<'a>, model: &Model<'a>, scope: &Scope<'a, '_>) -> bool {
    is_secret(node, model)
        || draws(node, model.opset, scope)
        || node.bodies().any(|body| body.nodes.iter().any(|inner| has_effects(inner, model, scope)))
}

/// Is nothing known of this operator: neither what it computes nor what else it does? A function that the model defines
/// is one of these, since its body is not looked at.
pub(crate) fn is_secret(node: &Node<'_>, model: &Model<'_>) -> bool {
    let is_defined = is_standard(node.domain) || node.domain.starts_with("ai.onnx.") || is_of_runtime(node);
    !is_defined || model.functions.contains(&(node.domain, node.op_type))
}

/// Is it, or does it run, such an operator?
pub(crate) fn holds_secrets(node: &Node<'_>, model: &Model<'_>) -> bool {
    is_secret(node, model)
        || node.bodies().any(|body| body.nodes.iter().any(|inner| holds_secrets(inner, model)))
}

/// Is the output random?
fn draws<'a>(node: &Node<'a>, opset: i64, scope: &Scope<'a, '_>) -> bool {
    match node.op_type {
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform"
        | "RandomUniformLike" => true,
        // In training only, which an attribute said in the oldest versions and an input says today.
        "Dropout" if opset < 7 => !matches!(node.attribute("is_test"), Some(AttributeValue::Int(1))),
        "Dropout" => node.inputs.get(2).is_some_and(|&training| {
            let known = scope.get(training).and_then(Fact::ints);
            !training.is_empty() && known != Some(&[0])
        }),
        _ => false,
    }
}

/// Names that the graphs which a node runs read from around them: each once, in the order of their first use.
pub(crate) fn captures<'a>(node: &Node<'a>) -> Vec<&'a str> {
    let mut captured = Vec::new();
    for body in node.bodies() {
        add_captures(body, &mut captured);
    }
    let mut seen = HashSet::new();
    captured.retain(|name| seen.insert(*name));
    captured
}

/// Names that a graph reads and does not define itself, as often as it reads them.
pub(crate) fn add_captures<'a>(graph: &Graph<'a>, into: &mut Vec<&'a str>) {
    let mut local: HashSet<&str> = graph.inputs.iter().map(|i| i.name).collect();
    local.extend(graph.initializers.iter().map(|t| t.name));
    for node in &graph.nodes {
        let mut read: Vec<&str> = node.inputs.iter().copied().filter(|name| !name.is_empty()).collect();
        for body in node.bodies() {
            add_captures(body, &mut read);
        }
        into.extend(read.into_iter().filter(|name| !local.contains(name)));
        local.extend(&node.outputs);
    }
    into.extend(graph.outputs.iter().map(|o| o.name).filter(|name| !local.contains(name)));
}
