//! Which names a file uses, and for what.

use crate::effects::{add_captures, captures};
use crate::proto::{Graph, Model, Node};
use std::collections::HashSet;

/// Every name of a tensor or a node that could clash with one in the main graph.
pub(super) fn all<'a>(model: &Model<'a>) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    add(&model.graph, &mut names);
    names.extend(reserved(model));
    names
}

/// The names that no new tensor may have although the main graph does not define them: those in the graphs that its
/// nodes run, where a new tensor would hide or be hidden, those of training, and those that the file says something
/// about.
pub(super) fn reserved<'a>(model: &Model<'a>) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for body in model.graph.nodes.iter().flat_map(Node::bodies).chain(&model.training.graphs) {
        add(body, &mut names);
    }
    names.extend(&model.training.bindings);
    names.extend(model.graph.value_info.iter().map(|info| info.name));
    names.extend(model.graph.annotations.iter().map(|annotation| annotation.tensor));
    names
}

/// The tensors that the main graph defines.
pub(super) fn defined<'a>(graph: &Graph<'a>) -> HashSet<&'a str> {
    let outputs = graph.nodes.iter().flat_map(|node| node.outputs.iter().copied());
    let given = graph.inputs.iter().map(|input| input.name);
    given.chain(graph.initializers.iter().map(|tensor| tensor.name)).chain(outputs).collect()
}

/// What a node of the file reads: the operands that are given, and what the graphs that it runs take from around them.
pub(super) fn reads<'a>(node: &Node<'a>) -> Vec<&'a str> {
    let given = node.inputs.iter().copied().filter(|name| !name.is_empty());
    given.chain(captures(node)).collect()
}

/// What training takes from the main graph.
pub(super) fn training_reads<'a>(model: &Model<'a>) -> Vec<&'a str> {
    let mut read = model.training.bindings.clone();
    for graph in &model.training.graphs {
        add_captures(graph, &mut read);
    }
    read
}

/// Every name in a graph and the graphs in it; how deep these nest is limited by the reader.
fn add<'a>(graph: &Graph<'a>, into: &mut HashSet<&'a str>) {
    into.extend(defined(graph));
    into.extend(graph.value_info.iter().chain(&graph.outputs).map(|info| info.name));
    for node in &graph.nodes {
        into.insert(node.name);
        into.extend(&node.inputs);
        node.bodies().for_each(|body| add(body, into));
    }
}
