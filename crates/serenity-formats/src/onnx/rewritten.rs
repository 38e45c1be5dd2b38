//! A rewritten graph as an `.onnx` file.

use serde_json::Value;
use serenity_ir::{Attributes, ElementType, Op, OpId, Role, TensorId};
use serenity_onnx::{Attribute, Constant, Edit, Error, Model, NodeSource, ReadOptions};
use serenity_rewrite::{NewConstant, Origin, Rewriting, slice};
use std::collections::BTreeMap;

/// The file with its main graph rewritten, read again.
pub(super) fn rewritten(model: &Model, rewriting: &Rewriting) -> Result<Model, Error> {
    let mut writer = Writer {
        model,
        rewriting,
        edit: model.edit()?,
        tensors: BTreeMap::new(),
        constants: BTreeMap::new(),
        stored: BTreeMap::new(),
    };
    writer.name_new_tensors();
    let ops = rewriting.graph.ops().iter().zip(&rewriting.origins);
    let nodes: Vec<NodeSource> =
        ops.map(|(op, origin)| writer.node(op, origin)).collect::<Result<_, Error>>()?;
    writer.edit.set_nodes(nodes);
    let new = Model::parse(writer.edit.finish()?, &options_without_gone(model, rewriting))?;
    if !new.graph().computes_as(&rewriting.graph) {
        return Err(Error::Unfaithful("the rewritten graph".to_owned()));
    }
    Ok(new)
}

/// How to read the new file: as the old one, but for shapes given for tensors that are gone.
fn options_without_gone(model: &Model, rewriting: &Rewriting) -> ReadOptions {
    let graph = &rewriting.graph;
    let is_there = |&id: &TensorId| graph.producer(id).is_some() || graph.inputs().contains(&id);
    let there: Vec<&str> =
        graph.tensor_ids().filter(is_there).map(|id| graph.tensor(id).name.as_str()).collect();
    let mut options = model.options().clone();
    options.shapes.retain(|name, _| there.contains(&name.as_str()));
    options.types.retain(|name, _| there.contains(&name.as_str()));
    options
}

struct Writer<'a> {
    model: &'a Model,
    rewriting: &'a Rewriting,
    edit: Edit<'a>,
    /// Names of new activations.
    tensors: BTreeMap<TensorId, String>,
    /// Names of new constants that several nodes may share, by what they are made of.
    constants: BTreeMap<(String, String), String>,
    /// Constants of the file that were looked up, since many parts may be taken of one.
    stored: BTreeMap<String, Option<Constant<'a>>>,
}

impl Writer<'_> {
    fn name_new_tensors(&mut self) {
        let graph = &self.rewriting.graph;
        for id in graph.tensor_ids().skip(self.model.graph().tensors().len()) {
            let name = self.edit.fresh_name(&graph.tensor(id).name);
            self.tensors.insert(id, name);
        }
    }

    fn activation(&self, id: TensorId) -> String {
        self.tensors.get(&id).unwrap_or_else(|| &self.rewriting.graph.tensor(id).name).clone()
    }

    fn activations(&self, ids: &[TensorId]) -> Vec<String> {
        ids.iter().map(|&id| self.activation(id)).collect()
    }

    fn node(&mut self, op: &Op, origin: &Origin) -> Result<NodeSource, Error> {
        let Some(from) = origin.op else {
            return Ok(NodeSource::New {
                op_type: op.kind.as_str().to_owned(),
                domain: String::new(),
                name: self.edit.fresh_name(&op.name),
                inputs: self.activations(&op.inputs),
                outputs: self.activations(&op.outputs),
                attributes: changed_attributes(&Attributes::new(), op)?,
            });
        };
        let node = self.model.node_of(from);
        let (old_inputs, old_outputs) = (self.model.node_inputs(node), self.model.node_outputs(node));
        let inputs = self.inputs(op, origin, from, &old_inputs)?;
        let outputs = self.outputs(op, &old_outputs);
        let old = self.model.graph().op(from);
        let attributes = changed_attributes(&old.attributes, op)?;
        if (&inputs, &outputs) == (&old_inputs, &old_outputs) && attributes.is_empty() {
            return Ok(NodeSource::Kept(node));
        }
        let name = if op.name != old.name {
            self.edit.fresh_name(&op.name)
        } else if old_outputs.contains(&op.name) {
            // It has no name: the graph calls it by what it writes.
            String::new()
        } else {
            op.name.clone()
        };
        Ok(NodeSource::Changed { node, name, inputs, outputs, attributes })
    }

    /// What the new node reads, in terms of what the old one does.
    fn inputs(
        &mut self,
        op: &Op,
        origin: &Origin,
        from: OpId,
        old_inputs: &[String],
    ) -> Result<Vec<String>, Error> {
        let old = self.model.graph().op(from);
        if op.kind.role() == Role::Concat && !old.has_constants() {
            // It may have more pieces than before.
            return Ok(self.activations(&op.inputs));
        }
        let mut inputs = Vec::new();
        let (mut given, mut given_before) = (op.inputs.iter(), old.inputs.iter());
        for (position, name) in old_inputs.iter().enumerate() {
            let new = origin.constants.get(&position);
            if name.is_empty() {
                inputs.push(String::new());
            } else if old.constant(position).is_some() {
                inputs.push(self.constant(name, new, &op.name)?);
            } else {
                given_before.next();
                let is_left_out = new == Some(&NewConstant::Absent);
                let id = if is_left_out { None } else { given.next() };
                inputs.push(id.map_or_else(String::new, |&id| self.activation(id)));
            }
        }
        // What is left are tensors that graphs within the node read by name, and made-up ones that keep nodes in order.
        if given.as_slice() != given_before.as_slice() {
            let what = "reads a rewritten tensor in a graph of its own";
            return Err(Error::Edit(format!("node `{}` {what}", old.name)));
        }
        if origin.constants.values().any(|new| *new == NewConstant::Absent) {
            let last = inputs.iter().rposition(|name| !name.is_empty());
            inputs.truncate(last.map_or(0, |last| last + 1));
        }
        Ok(inputs)
    }

    /// What the new node writes, at the positions of what the old one does.
    fn outputs(&self, op: &Op, old_outputs: &[String]) -> Vec<String> {
        let mut written = op.outputs.iter();
        let name = |old: &String| {
            let id = if old.is_empty() { None } else { written.next() };
            id.map_or_else(String::new, |&id| self.activation(id))
        };
        old_outputs.iter().map(name).collect()
    }

    /// The name of what becomes of the constant `name`; empty if it is left out.
    fn constant(&mut self, name: &str, new: Option<&NewConstant>, op: &str) -> Result<String, Error> {
        let Some(new) = new else { return Ok(name.to_owned()) };
        let key = (name.to_owned(), format!("{new:?}"));
        if let Some(known) = self.constants.get(&key) {
            return Ok(known.clone());
        }
        let Some(Part { dtype, shape, data }) = self.part(name, new)? else { return Ok(String::new()) };
        let fresh = self.edit.fresh_name(&format!("{name}/{}", op.rsplit('/').next().unwrap_or_default()));
        self.edit.add_constant(&fresh, &dtype, &shape, data)?;
        self.constants.insert(key, fresh.clone());
        Ok(fresh)
    }

    fn part(&mut self, name: &str, new: &NewConstant) -> Result<Option<Part>, Error> {
        if *new == NewConstant::Absent {
            return Ok(None);
        }
        if let NewConstant::Dimensions(dims) = new {
            let data = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
            let shape = vec![dims.len() as u64];
            return Ok(Some(Part { dtype: ElementType::Int64, shape, data }));
        }
        let model = self.model;
        let old = self.stored.entry(name.to_owned()).or_insert_with(|| model.constant(name));
        let part = old.as_ref().and_then(|old| {
            let (mut shape, dtype) = (old.shape.clone(), old.dtype.clone());
            let data = if let NewConstant::Slice { axis, from, to } = *new {
                let data = slice(&old.data, &shape, &dtype, axis, from, to)?;
                shape[axis] = to - from;
                data
            } else {
                vec![0; old.data.len()]
            };
            Some(Part { dtype, shape, data })
        });
        part.map(Some).ok_or_else(|| Error::Edit(format!("constant `{name}` cannot be divided")))
    }
}

/// A new constant.
struct Part {
    dtype: ElementType,
    shape: Vec<u64>,
    data: Vec<u8>,
}

/// The attributes in which a node differs from the one it comes from. Rewriting changes whole numbers only.
fn changed_attributes(old: &Attributes, op: &Op) -> Result<BTreeMap<String, Attribute>, Error> {
    let is_changed =
        |(name, value): &(&String, &Value)| *name != "constants" && old.get(name.as_str()) != Some(value);
    let attribute = |(name, value): (&String, &Value)| {
        let fault = || Error::Edit(format!("attribute `{name}` of `{}` cannot be written", op.name));
        value.as_i64().map(|value| (name.clone(), Attribute::Int(value))).ok_or_else(fault)
    };
    op.attributes.iter().filter(is_changed).map(attribute).collect()
}
