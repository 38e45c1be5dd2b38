//! From the nodes of a file to the operators of a [`Graph`].
//!
//! A node that reads constants only is no operator: its output is as constant as they are. (Weights behind
//! `ConstantOfShape`, `DequantizeLinear` or `Identity` would otherwise count as activations.) Two exceptions: a node
//! that draws random numbers or that the standard does not define, and one that writes a result of the model, which the
//! caller holds beside all others. A node that reads an activation stays, also if its result is known beforehand, such
//! as `Shape`: the runtime runs it, and keeps its input until then. On request all but `Constant` stay, for a runtime
//! that does not fold.

use crate::attributes::{describe, describe_constant};
use crate::effects::{captures, has_effects, holds_secrets, is_secret};
use crate::error::Error;
use crate::fact::Fact;
use crate::infer::{Call, Scope};
use crate::proto::{Model, Node};
use serde_json::{Map, Value, json};
use serenity_ir::{Graph, GraphBuilder, KnownShape, Op, OpKind, Tensor, TensorId, Unknown, UnknownKind};
use std::collections::{HashMap, HashSet};

/// The graph, and how it hangs together with the file.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub(crate) graph: Graph,
    /// For each op, its node.
    pub(crate) node_of_op: Vec<usize>,
    /// The nodes that are no ops, in the file's order.
    pub(crate) folded: Vec<usize>,
    /// For each node, the folded nodes whose outputs it reads.
    pub(crate) folded_needs: Vec<Vec<usize>>,
    pub(crate) unsized_tensors: Vec<TensorId>,
}

/// Where a tensor comes from.
#[derive(Clone, Copy)]
enum Source {
    Initializer,
    /// A node that is no op.
    Folded(usize),
    Activation(TensorId),
}

/// An operator, before those that must keep their order are tied together.
struct Pending {
    op: Op,
    /// Must it keep its order?
    is_ordered: bool,
    /// Is that so because nothing is known of it?
    is_secret: bool,
}

/// How much a runtime that loads the file knows of the shape of a tensor, by its name and the shape it will have.
pub(crate) type Known<'k> = dyn Fn(&str, Option<&[u64]>) -> KnownShape + 'k;

struct Lowering<'m, 'a> {
    model: &'m Model<'a>,
    scope: &'m Scope<'a, 'm>,
    known: &'m Known<'m>,
    keep_constant_nodes: bool,
    sources: HashMap<&'a str, Source>,
    results: HashSet<&'a str>,
    builder: GraphBuilder,
    unsized_tensors: Vec<TensorId>,
    ops: Vec<Pending>,
    node_of_op: Vec<usize>,
    folded: Vec<usize>,
    folded_needs: Vec<Vec<usize>>,
    bodies: usize,
}

/// Makes the graph of the model's main graph.
pub(crate) fn lower<'a>(
    model: &Model<'a>,
    scope: &Scope<'a, '_>,
    known: &Known<'_>,
    keep_constant_nodes: bool,
) -> Result<Lowered, Error> {
    let mut lowering = Lowering {
        model,
        scope,
        known,
        keep_constant_nodes,
        sources: HashMap::new(),
        results: model.graph.outputs.iter().map(|o| o.name).collect(),
        builder: GraphBuilder::new(model.graph.name),
        unsized_tensors: Vec::new(),
        ops: Vec::new(),
        node_of_op: Vec::new(),
        folded: Vec::new(),
        folded_needs: Vec::new(),
        bodies: 0,
    };
    lowering.add_inputs()?;
    for (index, node) in model.graph.nodes.iter().enumerate() {
        lowering.add_node(index, node)?;
    }
    lowering.finish()
}

impl<'a> Lowering<'_, 'a> {
    /// Initializers hide inputs of the same name: before version 4 of the format every constant was listed as an input
    /// too, and later such an input has a default that callers seldom replace.
    fn add_inputs(&mut self) -> Result<(), Error> {
        for tensor in &self.model.graph.initializers {
            self.sources.insert(tensor.name, Source::Initializer);
        }
        let mut constants: HashSet<&str> = self.sources.keys().copied().collect();
        for input in &self.model.graph.inputs {
            if constants.remove(input.name) {
                continue;
            }
            let id = self.add_activation(input.name, None);
            self.builder.mark_input(id);
            self.define(input.name, Source::Activation(id), || "the list of inputs".to_owned())?;
        }
        Ok(())
    }

    fn add_activation(&mut self, name: &str, writer: Option<&Node<'a>>) -> TensorId {
        let fact = self.scope.get(name).cloned().unwrap_or_default();
        let bytes = fact.bytes();
        let tensor = Tensor {
            dtype: fact.data_type.map(crate::data_type::DataType::element_type),
            known: (self.known)(name, fact.shape.as_deref()),
            shape: fact.shape,
            ..Tensor::sized(name, bytes.unwrap_or(0))
        };
        let id = self.builder.tensor(tensor);
        if bytes.is_none() {
            self.unsized_tensors.push(id);
            let reason =
                writer.map_or_else(|| "it is no tensor of numbers".to_owned(), |node| self.why_unsized(node));
            self.builder.unknown(Unknown::new(UnknownKind::Size, name, reason));
        }
        id
    }

    fn define(&mut self, name: &'a str, source: Source, place: impl Fn() -> String) -> Result<(), Error> {
        match self.sources.insert(name, source) {
            None => Ok(()),
            Some(_) => Err(Error::TwoSources { place: place(), tensor: name.to_owned() }),
        }
    }

    fn add_node(&mut self, index: usize, node: &Node<'a>) -> Result<(), Error> {
        let place = || format!("node {index} (`{}`)", node.label());
        let captured = captures(node);
        let mut needs = Vec::new();
        let mut is_constant = true;
        for &name in node.inputs.iter().filter(|name| !name.is_empty()).chain(&captured) {
            match self.sources.get(name) {
                Some(Source::Initializer) => {}
                Some(&Source::Folded(producer)) => needs.push(producer),
                Some(Source::Activation(_)) => is_constant = false,
                None => return Err(Error::Undefined { reader: place(), tensor: name.to_owned() }),
            }
        }
        self.folded_needs.push(needs);
        let is_ordered = has_effects(node, self.model, self.scope);
        let is_result = node.outputs.iter().any(|name| self.results.contains(name));
        let may_fold = !self.keep_constant_nodes || node.op_type == "Constant";
        let is_folded = is_constant && may_fold && !is_ordered && !is_result;
        let mut outputs = Vec::new();
        for &name in node.outputs.iter().filter(|name| !name.is_empty()) {
            let source = if is_folded {
                Source::Folded(index)
            } else {
                let id = self.add_activation(name, Some(node));
                outputs.push(id);
                Source::Activation(id)
            };
            self.define(name, source, place)?;
        }
        if is_folded {
            self.folded.push(index);
        } else {
            let op = self.make_op(node, &captured, outputs);
            if self.model.functions.contains(&(node.domain, node.op_type)) {
                let reason =
                    format!("the function `{}` that the file defines is not looked into", kind(node));
                self.builder.unknown(Unknown::new(UnknownKind::SubGraph, node.label(), reason));
            }
            self.ops.push(Pending { op, is_ordered, is_secret: holds_secrets(node, self.model) });
            self.node_of_op.push(index);
        }
        Ok(())
    }

    /// Why nobody knows the size of what this node writes.
    fn why_unsized(&self, node: &Node<'a>) -> String {
        let kind = kind(node);
        if is_secret(node, self.model) {
            return format!("nothing is known of `{kind}`, which writes it");
        }
        let is_unsized =
            |name: &&&str| !name.is_empty() && self.scope.get(name).is_none_or(|fact| fact.bytes().is_none());
        match node.inputs.iter().find(is_unsized) {
            Some(input) => format!("`{kind}` makes it of `{input}`, whose size is unknown"),
            None => format!("`{kind}` does not tell it before it runs"),
        }
    }

    fn make_op(&mut self, node: &Node<'a>, captured: &[&'a str], outputs: Vec<TensorId>) -> Op {
        let call = Call::new(node, self.scope, self.model.opset);
        let mut attributes = describe(&call);
        let (mut inputs, mut absent, mut constants) = (Vec::new(), Vec::new(), Map::new());
        for (position, &name) in node.inputs.iter().enumerate() {
            match self.sources.get(name) {
                _ if name.is_empty() => absent.push(position),
                Some(&Source::Activation(id)) => inputs.push(id),
                _ => {
                    let unknown = Fact::default();
                    let fact = call.input(position).unwrap_or(&unknown);
                    constants.insert(position.to_string(), describe_constant(name, fact));
                }
            }
        }
        for name in captured {
            if let Some(&Source::Activation(id)) = self.sources.get(name) {
                inputs.push(id);
            }
        }
        let mut set = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        if !constants.is_empty() {
            set("constants", Value::Object(constants));
        }
        if !absent.is_empty() {
            set("absent", json!(absent));
        }
        let body_count = node.bodies().count();
        if body_count > 0 {
            set("bodies", (self.bodies + 1..=self.bodies + body_count).collect());
            set("captures", json!(captured));
            self.bodies += body_count;
        }
        Op {
            name: node.label().to_owned(),
            kind: OpKind::new(kind(node)),
            inputs,
            outputs,
            attributes,
            extra: Map::new(),
        }
    }

    fn finish(mut self) -> Result<Lowered, Error> {
        for output in &self.model.graph.outputs {
            match self.sources.get(output.name) {
                Some(&Source::Activation(id)) => self.builder.output(id),
                Some(_) => {}
                None => {
                    let reader = "the list of outputs".to_owned();
                    return Err(Error::Undefined { reader, tensor: output.name.to_owned() });
                }
            }
        }
        // Each op that must keep its order hands a token to the next.
        let ordered: Vec<usize> = (0..self.ops.len()).filter(|&op| self.ops[op].is_ordered).collect();
        // One alone is tied to nothing.
        for &op in ordered.iter().filter(|&&op| self.ops[op].is_secret && ordered.len() > 1) {
            let Op { name, kind, .. } = &self.ops[op].op;
            let reason = format!("nobody says whether `{}` may change places with others", kind.as_str());
            self.builder.unknown(Unknown::new(UnknownKind::Order, name, reason));
        }
        for (number, pair) in ordered.windows(2).enumerate() {
            let token = self.builder.tensor(Tensor::sized(format!("state#{number}"), 0));
            self.ops[pair[0]].op.outputs.push(token);
            self.ops[pair[1]].op.inputs.push(token);
        }
        for pending in self.ops {
            self.builder.push_op(pending.op);
        }
        Ok(Lowered {
            graph: self.builder.build()?,
            node_of_op: self.node_of_op,
            folded: self.folded,
            folded_needs: self.folded_needs,
            unsized_tensors: self.unsized_tensors,
        })
    }
}

/// The operator's name, with its domain if that is not the standard's.
fn kind(node: &Node<'_>) -> String {
    if crate::proto::is_standard(node.domain) {
        node.op_type.to_owned()
    } else {
        format!("{}:{}", node.domain, node.op_type)
    }
}
