//! A rewritten graph as a `.tflite` file.

use super::constants::stored;
use super::operators::{self, MAIN, changed_options, version};
use serenity_ir::{Graph, Op, TensorId};
use serenity_rewrite::{NewConstant, Origin, Rewriting};
use serenity_tflite::{Edit, Error, Model, NewOptions, NewTensor, OperatorSource, SubGraph};
use std::collections::BTreeMap;

/// The file with its main graph rewritten, read again.
pub(super) fn rewritten(model: &Model, rewriting: &Rewriting) -> Result<Model, Error> {
    let mut writer = Writer {
        model,
        sub_graph: &model.sub_graphs()[MAIN],
        edit: model.edit(),
        tensors: BTreeMap::new(),
        constants: BTreeMap::new(),
        zeros: BTreeMap::new(),
    };
    let old = model.graphs()[MAIN].tensors().len();
    for id in rewriting.graph.tensor_ids().skip(old) {
        writer.add_activation(id, rewriting)?;
    }
    // A tensor may have got another layout.
    for id in model.graphs()[MAIN].tensor_ids().filter(|&id| rewriting.graph.producer(id).is_some()) {
        let new = rewriting.graph.tensor(id);
        if new.shape != model.graphs()[MAIN].tensor(id).shape
            && let Some(number) = writer.sub_graph.file_tensor(id)
        {
            writer.edit.replace_tensor(MAIN, number, operators::activation(new)?)?;
        }
    }
    let mut operators = Vec::new();
    for (op, origin) in rewriting.graph.ops().iter().zip(&rewriting.origins) {
        operators.push(writer.operator(&rewriting.graph, op, origin)?);
    }
    operators::retire(&mut writer.edit, writer.sub_graph, &operators, |_| true)?;
    writer.edit.set_operators(MAIN, operators)?;
    let new = Model::parse(writer.edit.finish()?.bytes)?;
    if !new.graphs()[MAIN].computes_as(&rewriting.graph) {
        return Err(Error::Unfaithful("the rewritten graph".to_owned()));
    }
    Ok(new)
}

struct Writer<'a> {
    model: &'a Model,
    sub_graph: &'a SubGraph,
    edit: Edit<'a>,
    /// New activations, by their numbers in the rewritten graph.
    tensors: BTreeMap<TensorId, usize>,
    /// New constants that several operators may share, by what they are made of.
    constants: BTreeMap<(usize, String), usize>,
    /// Buffers of zeros by their length.
    zeros: BTreeMap<usize, usize>,
}

impl Writer<'_> {
    fn add_activation(&mut self, id: TensorId, rewriting: &Rewriting) -> Result<(), Error> {
        let number = self.edit.add_tensor(MAIN, operators::activation(rewriting.graph.tensor(id))?)?;
        self.tensors.insert(id, number);
        Ok(())
    }

    fn activation(&self, id: TensorId) -> Option<usize> {
        self.tensors.get(&id).copied().or_else(|| self.sub_graph.file_tensor(id))
    }

    fn operator(&mut self, graph: &Graph, op: &Op, origin: &Origin) -> Result<OperatorSource, Error> {
        let outputs: Vec<Option<usize>> = op.outputs.iter().map(|&t| self.activation(t)).collect();
        let Some(from) = origin.op else {
            let dtype = op.outputs.first().and_then(|&t| graph.tensor(t).dtype.as_ref());
            let code = self.edit.operator_code(op.kind.as_str(), version(op.kind.as_str(), dtype))?;
            let inputs = op.inputs.iter().map(|&t| self.activation(t)).collect();
            let options = NewOptions::of(op.kind.as_str(), &op.attributes)?;
            return Ok(OperatorSource::New { code, inputs, outputs, options });
        };
        let old = self.sub_graph.operators()[from.index()].clone();
        let mut activations = op.inputs.iter().map(|&t| self.activation(t)).collect::<Vec<_>>().into_iter();
        let mut inputs = Vec::new();
        if old.inputs.iter().flatten().all(|&tensor| self.sub_graph.graph_tensor(tensor).is_some()) {
            // A concatenation may have more inputs than before.
            inputs.extend(activations);
        } else {
            for (position, operand) in old.inputs.iter().enumerate() {
                match operand {
                    Some(tensor) if self.sub_graph.graph_tensor(*tensor).is_some() => {
                        inputs.push(activations.next().flatten());
                    }
                    Some(tensor) => {
                        let new = origin.constants.get(&position);
                        inputs.push(self.constant(*tensor, new, &op.name)?);
                    }
                    None => inputs.push(None),
                }
            }
        }
        let old_op = self.model.graphs()[MAIN].op(from);
        let options = changed_options(old_op, op);
        if (&inputs, &outputs) == (&old.inputs, &old.outputs) && options.is_empty() {
            return Ok(OperatorSource::Kept(from.index()));
        }
        let operator = from.index();
        Ok(if options.is_empty() {
            OperatorSource::Rewired { operator, inputs, outputs }
        } else {
            OperatorSource::Changed { operator, inputs, outputs, options }
        })
    }

    fn constant(
        &mut self,
        tensor: usize,
        new: Option<&NewConstant>,
        name: &str,
    ) -> Result<Option<usize>, Error> {
        let Some(new) = new else { return Ok(Some(tensor)) };
        let key = (tensor, format!("{new:?}"));
        if let Some(&known) = self.constants.get(&key) {
            return Ok(Some(known));
        }
        let described = &self.sub_graph.tensors()[tensor];
        let refused = || Error::Edit(format!("constant `{}` cannot be divided", described.name));
        let old = stored(self.model, tensor).ok_or_else(refused)?;
        let name = format!("{}/{}", described.name.split(';').next().unwrap_or_default(), last_part(name));
        let Some(made) = new.make(&old, name).map_err(|_| refused())? else { return Ok(None) };
        let buffer = match new {
            // Zeros are zeros, whatever they are added to.
            NewConstant::Zeros => {
                let edit = &mut self.edit;
                *self.zeros.entry(made.data.len()).or_insert_with(|| edit.add_buffer(made.data))
            }
            _ => self.edit.add_buffer(made.data),
        };
        let new = NewTensor {
            name: made.name,
            shape: made.shape,
            shape_signature: None,
            dtype: made.dtype,
            buffer,
            quantization: made.quantization,
        };
        let number = self.edit.add_tensor(MAIN, new)?;
        self.constants.insert(key, number);
        Ok(Some(number))
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}
