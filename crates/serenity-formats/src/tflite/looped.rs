//! A graph with loops as a `.tflite` file.

use super::constants;
use super::operators::{self, MAIN, changed_options, version};
use serde_json::Value;
use serenity_ir::{Graph, Op, OpId, TensorId};
use serenity_loops::Looped;
use serenity_tflite::{
    CARRIED, Edit, Error, FileTensor, Model, NewOptions, NewTensor, OFFLINE_PLAN, OperatorSource, PLAN_NOTE,
    Storage, SubGraph,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The file with its main graph in loops, read again.
pub(super) fn looped(model: &Model, looped: &Looped) -> Result<Model, Error> {
    if model.folds_constants() {
        return Err(Error::Edit("it was read with constants folded; read it without".to_owned()));
    }
    let old = model.graphs().len();
    if looped.graphs.len() < old || looped.origins.len() != looped.graphs.len() {
        return Err(Error::Edit("the loops are those of another model".to_owned()));
    }
    let mut writer = Writer::new(model, looped);
    for graph in &looped.graphs[old..] {
        writer.edit.add_sub_graph(graph.name(), MAIN)?;
    }
    for (index, graph) in looped.graphs.iter().enumerate().filter(|&(index, _)| index == MAIN || index >= old)
    {
        writer.sub_graph(index, graph, &looped.origins[index])?;
    }
    let main = &looped.graphs[MAIN];
    if main.inputs() != model.graphs()[MAIN].inputs() || main.outputs() != model.graphs()[MAIN].outputs() {
        writer.interface(main)?;
    }
    let new = Model::parse(writer.edit.finish()?.bytes)?;
    let is_same = |(read, asked): (&Graph, &Graph)| read.computes_as(asked) && bodies(read) == bodies(asked);
    if new.graphs().len() != looped.graphs.len() || !new.graphs().iter().zip(&looped.graphs).all(is_same) {
        return Err(Error::Unfaithful("the graphs with loops".to_owned()));
    }
    carrying(new, main)
}

/// The model with a note of what its main graph carries from run to run, if it does.
fn carrying(model: Model, main: &Graph) -> Result<Model, Error> {
    let Some(carried) = main.extra().get(serenity_ir::CARRIED) else { return Ok(model) };
    let mut edit = model.edit();
    edit.set_metadata(CARRIED, carried.to_string().into_bytes());
    let new = Model::parse(edit.finish()?.bytes)?;
    if new.graphs()[MAIN].carried().len() == main.carried().len() {
        Ok(new)
    } else {
        Err(Error::Unfaithful("what is carried from run to run".to_owned()))
    }
}

/// Tensors that nothing touches in the new main graph. The last come first: they are taken from the end.
fn free(main: &SubGraph, new: &Graph, kept: &[Option<OpId>]) -> Vec<usize> {
    let kept: BTreeSet<usize> = kept.iter().flatten().map(|op| op.index()).collect();
    let mut used: BTreeSet<usize> = main.inputs().iter().chain(main.outputs()).copied().collect();
    used.extend(
        new.ops()
            .iter()
            .flat_map(|op| op.inputs.iter().chain(&op.outputs))
            .filter_map(|&t| main.file_tensor(t)),
    );
    let mut touched = BTreeSet::new();
    for (number, operator) in main.operators().iter().enumerate() {
        let list = if kept.contains(&number) { &mut used } else { &mut touched };
        list.extend(operator.inputs.iter().chain(&operator.outputs).flatten());
    }
    let is_plain = |tensor: &&usize| main.tensors()[**tensor].storage != Storage::Variable;
    let mut free: Vec<usize> = touched.difference(&used).filter(is_plain).copied().collect();
    free.reverse();
    free
}

/// The graphs that each op runs.
fn bodies(graph: &Graph) -> Vec<Vec<usize>> {
    graph.ops().iter().map(|op| op.bodies().collect()).collect()
}

fn description(op: &Op, position: usize) -> Option<&Value> {
    op.attributes.get("constants")?.get(position.to_string())
}

struct Writer<'a> {
    model: &'a Model,
    main: &'a SubGraph,
    edit: Edit<'a>,
    /// New activations of the main graph. Those of a new one have the same numbers in the file.
    activations: BTreeMap<TensorId, usize>,
    /// Constants of the old main graph that are in a new one as well, by graph and old number.
    copied: BTreeMap<(usize, usize), usize>,
    /// New constants, by graph and all that they are: each costs the runtime as much as any tensor.
    constants: BTreeMap<(usize, String), usize>,
    /// Buffers by their bytes.
    buffers: BTreeMap<Cow<'a, [u8]>, usize>,
    /// Places of the old main graph's tensors that nothing touches any more.
    free: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn new(model: &'a Model, looped: &Looped) -> Self {
        let tensors = model.sub_graphs().iter().flat_map(SubGraph::tensors);
        let stored = tensors.filter(|tensor| tensor.storage == Storage::Constant && tensor.buffer > 0);
        let buffers = stored.map(|tensor| (Cow::Borrowed(model.buffer(tensor.buffer)), tensor.buffer));
        Self {
            model,
            main: &model.sub_graphs()[MAIN],
            edit: model.edit(),
            activations: BTreeMap::new(),
            copied: BTreeMap::new(),
            constants: BTreeMap::new(),
            buffers: buffers.collect(),
            free: free(&model.sub_graphs()[MAIN], &looped.graphs[MAIN], &looped.origins[MAIN]),
        }
    }

    fn sub_graph(&mut self, index: usize, graph: &Graph, origins: &[Option<OpId>]) -> Result<(), Error> {
        let old = if index == MAIN { self.model.graphs()[MAIN].tensors().len() } else { 0 };
        let is_touched = |id: &TensorId| {
            index != MAIN || graph.producer(*id).is_some() || !graph.consumers(*id).is_empty()
        };
        for id in graph.tensor_ids().skip(old).filter(is_touched) {
            let number = self.add(index, operators::activation(graph.tensor(id))?)?;
            if index == MAIN {
                self.activations.insert(id, number);
            }
        }
        let mut list = Vec::new();
        for (op, &origin) in graph.ops().iter().zip(origins) {
            list.push(match origin {
                Some(origin) => self.old_operator(index, op, origin)?,
                None => self.new_operator(index, graph, op)?,
            });
        }
        if index == MAIN {
            // Constants stay: they take no memory, and nothing of their own in the file.
            let takes_memory = |tensor: &FileTensor| tensor.storage == Storage::Activation;
            operators::retire(&mut self.edit, self.main, &list, takes_memory)?;
        } else {
            let [inputs, outputs] = [graph.inputs(), graph.outputs()].map(|ids| self.numbers(index, ids));
            self.edit.set_inputs_outputs(index, inputs, outputs)?;
        }
        self.edit.set_operators(index, list)
    }

    /// Other inputs and outputs of the main graph: signatures go, and so do plans.
    fn interface(&mut self, main: &Graph) -> Result<(), Error> {
        let [inputs, outputs] = [main.inputs(), main.outputs()].map(|ids| self.numbers(MAIN, ids));
        for &id in self.model.graphs()[MAIN].inputs() {
            let is_touched =
                main.producer(id).is_some() || !main.consumers(id).is_empty() || main.is_input(id);
            if let Some(old) = self.main.file_tensor(id).filter(|_| !is_touched) {
                self.edit.retire_tensor(MAIN, old)?;
            }
        }
        self.edit.remove_signatures();
        self.edit.remove_metadata(OFFLINE_PLAN);
        self.edit.remove_metadata(PLAN_NOTE);
        self.edit.set_inputs_outputs(MAIN, inputs, outputs)
    }

    /// Adds a tensor, in the place of one that nothing touches any more if there is one: runtimes keep something for
    /// each that is listed.
    fn add(&mut self, index: usize, tensor: NewTensor) -> Result<usize, Error> {
        if index == MAIN
            && let Some(place) = self.free.pop()
        {
            self.edit.replace_tensor(index, place, tensor)?;
            return Ok(place);
        }
        self.edit.add_tensor(index, tensor)
    }

    /// Where the file has these tensors. It has none for those that are made up to keep ops in order.
    fn numbers(&self, index: usize, ids: &[TensorId]) -> Vec<usize> {
        let number = |&id: &TensorId| match index {
            MAIN => self.activations.get(&id).copied().or_else(|| self.main.file_tensor(id)),
            _ => Some(id.index()),
        };
        ids.iter().filter_map(number).collect()
    }

    fn new_operator(&mut self, index: usize, graph: &Graph, op: &Op) -> Result<OperatorSource, Error> {
        let kind = op.kind.as_str();
        let dtype = op.outputs.first().and_then(|&output| graph.tensor(output).dtype.as_ref());
        Ok(OperatorSource::New {
            code: self.edit.operator_code(kind, version(kind, dtype))?,
            inputs: self.inputs(index, op, None)?,
            outputs: self.numbers(index, &op.outputs).into_iter().map(Some).collect(),
            options: NewOptions::of(kind, &op.attributes)?,
        })
    }

    fn old_operator(&mut self, index: usize, op: &Op, origin: OpId) -> Result<OperatorSource, Error> {
        let operator = origin.index();
        let missing =
            || Error::Edit(format!("op `{}` comes from op {operator}, which is not there", op.name));
        let old = self.main.operators().get(operator).ok_or_else(missing)?;
        let inputs = self.inputs(index, op, Some(origin))?;
        let mut written = self.numbers(index, &op.outputs).into_iter();
        let mut outputs = Vec::new();
        for output in &old.outputs {
            outputs.push(match *output {
                Some(tensor) if self.main.graph_tensor(tensor).is_none() => Some(self.kept(index, tensor)?),
                Some(_) => written.next(),
                None => None,
            });
        }
        let options = changed_options(self.model.graphs()[MAIN].op(origin), op);
        Ok(if !options.is_empty() {
            OperatorSource::Changed { operator, inputs, outputs, options }
        } else if index == MAIN && (&inputs, &outputs) == (&old.inputs, &old.outputs) {
            OperatorSource::Kept(operator)
        } else {
            OperatorSource::Rewired { operator, inputs, outputs }
        })
    }

    /// What an op reads: its own constants, those of the op that it comes from, and activations where neither has one.
    fn inputs(&mut self, index: usize, op: &Op, origin: Option<OpId>) -> Result<Vec<Option<usize>>, Error> {
        let old_op = origin.map(|origin| self.model.graphs()[MAIN].op(origin));
        let old = origin.map_or([].as_slice(), |origin| &self.main.operators()[origin.index()].inputs);
        let listed = op.attributes.get("constants").and_then(Value::as_object);
        let last = listed.into_iter().flatten().filter_map(|(key, _)| key.parse::<usize>().ok()).max();
        let mut activations = self.numbers(index, &op.inputs).into_iter();
        let mut inputs = Vec::new();
        for position in 0..old.len().max(last.map_or(0, |last| last + 1)) {
            let own = description(op, position)
                .filter(|&own| old_op.and_then(|old| description(old, position)) != Some(own));
            inputs.push(match (own, old.get(position)) {
                (Some(own), _) => Some(self.constant(index, op, own)?),
                (None, Some(None)) => None,
                (None, Some(&Some(tensor))) if self.main.graph_tensor(tensor).is_none() => {
                    Some(self.kept(index, tensor)?)
                }
                (None, _) => {
                    let missing = || Error::Edit(format!("op `{}` lacks operand {position}", op.name));
                    Some(activations.next().ok_or_else(missing)?)
                }
            });
        }
        inputs.extend(activations.map(Some));
        Ok(inputs)
    }

    /// What the old main graph has besides activations, in the graph that needs it.
    fn kept(&mut self, index: usize, tensor: usize) -> Result<usize, Error> {
        if index == MAIN {
            return Ok(tensor);
        }
        if let Some(&known) = self.copied.get(&(index, tensor)) {
            return Ok(known);
        }
        let number = self.edit.copy_constant(index, tensor)?;
        self.copied.insert((index, tensor), number);
        Ok(number)
    }

    fn constant(&mut self, index: usize, op: &Op, description: &Value) -> Result<usize, Error> {
        let unsaid = || Error::Edit(format!("op `{}`: a constant is not said in full", op.name));
        let made = constants::made(description).ok_or_else(unsaid)?;
        let buffer = match self.buffers.get(made.data.as_slice()) {
            Some(&known) => known,
            None => self.edit.add_buffer(made.data.clone()),
        };
        self.buffers.insert(Cow::Owned(made.data), buffer);
        let key = (index, format!("{:?}", (&made.shape, &made.dtype, &made.quantization, buffer)));
        if let Some(&known) = self.constants.get(&key) {
            return Ok(known);
        }
        let new = NewTensor {
            name: made.name,
            shape: made.shape,
            shape_signature: None,
            dtype: made.dtype,
            buffer,
            quantization: made.quantization,
        };
        let number = self.add(index, new)?;
        self.constants.insert(key, number);
        Ok(number)
    }
}
