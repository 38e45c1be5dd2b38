//! An `.onnx` model without channels that are constant or never read.
//!
//! Channels are the second dimension. Sums of whole numbers are those of `QLinearConv`. Where a model quantises and yet
//! sums real numbers (`DequantizeLinear`, `Conv`, `QuantizeLinear`), a session may do either. A last bit of a real sum
//! may become a whole step there, so that zeros are left out of short sums only.

mod constants;
mod steps;

use crate::channels::{is_same, part, weighing};
use crate::{BeforeAfter, NarrowedChannels};
use constants::Constants;
use serenity_ir::{Graph, OpId, TensorId};
use serenity_onnx::{Attribute, Edit, Error, Model, NodeSource};
use serenity_rewrite::constant_channels::{Apart, Narrowing, Network, Step, Transfer, narrow};
use std::collections::BTreeMap;
use steps::{Operand, Reader, Reading};

/// The model without such channels, read again, and what that saves; `None` if there are none, or if `stop` said so.
pub(super) fn narrowed(
    model: &Model,
    is_quantised: bool,
    stop: &dyn Fn() -> bool,
) -> Result<Option<(Model, NarrowedChannels)>, Error> {
    // What lies in other files is not read, and what redefines operators says nothing by their names.
    if model.redefines_operators() {
        return Ok(None);
    }
    let constants = Constants::of(model);
    let Some(reading) = Reader::new(&constants, is_quantised).network(stop) else { return Ok(None) };
    let Reading { network, operands, weights } = reading;
    let narrowing = narrow(&network, stop);
    if narrowing.is_empty() {
        return Ok(None);
    }
    let graph = model.graph();
    let mut writer = Writer {
        constants: &constants,
        narrowing: &narrowing,
        network: &network,
        edit: model.edit()?,
        made: BTreeMap::new(),
    };
    let nodes = graph.op_ids().map(|op| writer.node(op, &operands[op.index()]));
    let nodes = nodes.collect::<Result<Vec<_>, Error>>()?;
    let mut edit = writer.edit;
    edit.set_nodes(nodes);
    let shapes: Vec<Option<Vec<u64>>> =
        graph.tensor_ids().map(|id| new_shape(graph, id, &narrowing, weights.get(&id))).collect();
    let mut options = model.options().clone();
    for (tensor, shape) in
        graph.tensors().iter().zip(&shapes).filter(|(tensor, shape)| tensor.shape != **shape)
    {
        edit.undeclare(&tensor.name);
        if let (Some(given), Some(shape)) = (options.shapes.get_mut(&tensor.name), shape) {
            given.clone_from(shape);
        }
    }
    let new = Model::parse(edit.finish()?, &options)?;
    check(graph, new.graph(), &shapes)?;
    let channels = counted((model, &new), &network, &narrowing, is_quantised);
    Ok(Some((new, channels)))
}

struct Writer<'a> {
    constants: &'a Constants<'a>,
    narrowing: &'a Narrowing,
    network: &'a Network,
    edit: Edit<'a>,
    /// Constants that were made, by what they were made of and how.
    made: BTreeMap<(String, String), String>,
}

impl Writer<'_> {
    fn node(&mut self, op: OpId, operands: &[Operand]) -> Result<NodeSource, Error> {
        let model = self.constants.model;
        let node = model.node_of(op);
        let old = model.node_inputs(node);
        let mut inputs = old.clone();
        for operand in operands {
            if let Some(input) = inputs.get_mut(operand.position) {
                *input = self.constant(op, input, operand)?;
            }
        }
        let attributes = self.groups(op);
        if inputs == old && attributes.is_empty() {
            return Ok(NodeSource::Kept(node));
        }
        let outputs = model.node_outputs(node);
        let name = model.graph().op(op).name.clone();
        // It may have no name: then the graph calls it by what it writes.
        let name = if outputs.contains(&name) { String::new() } else { name };
        Ok(NodeSource::Changed { node, name, inputs, outputs, attributes })
    }

    /// A convolution of each channel by itself has as many groups as it reads channels.
    fn groups(&self, op: OpId) -> BTreeMap<String, Attribute> {
        let Step::Apart(Apart { inputs, transfer: Transfer::Window { .. }, .. }) =
            &self.network.steps[op.index()]
        else {
            return BTreeMap::new();
        };
        let kept = inputs.first().and_then(|tie| self.narrowing.kept[tie.input].as_ref());
        kept.map(|kept| ("group".to_owned(), Attribute::Int(kept.len() as i64))).into_iter().collect()
    }

    /// The name of what becomes of a constant.
    fn constant(&mut self, op: OpId, name: &str, operand: &Operand) -> Result<String, Error> {
        let folded = self.narrowing.folded.get(&op.index()).filter(|_| operand.is_bias);
        let cuts: Vec<(usize, usize, &Vec<usize>)> = operand
            .axes
            .iter()
            .filter_map(|&(axis, tensor)| {
                Some((axis, self.network.tensors[tensor].count, self.narrowing.kept[tensor].as_ref()?))
            })
            .collect();
        if folded.is_none() && cuts.is_empty() {
            return Ok(name.to_owned());
        }
        let key = (name.to_owned(), format!("{cuts:?} {folded:?}"));
        if let Some(known) = self.made.get(&key) {
            return Ok(known.clone());
        }
        let refused = || Error::Edit(format!("constant `{name}` cannot be made smaller"));
        let old = self.constants.model.constant(name).ok_or_else(refused)?;
        let (mut shape, mut data) = (old.shape.clone(), old.data.to_vec());
        if let Some(folded) = folded {
            data = part::with_added(&data, &old.dtype, folded).ok_or_else(refused)?;
        }
        for (axis, count, kept) in cuts {
            data = part::along(&data, &shape, &old.dtype, axis, count, kept).ok_or_else(refused)?;
            shape[axis] = kept.len() as u64;
        }
        let fresh = self.edit.fresh_name(name);
        self.edit.add_constant(&fresh, &old.dtype, &shape, data)?;
        self.made.insert(key, fresh.clone());
        Ok(fresh)
    }
}

/// The shape of a tensor without the channels that go.
fn new_shape(
    graph: &Graph,
    id: TensorId,
    narrowing: &Narrowing,
    axes: Option<&Vec<(usize, usize)>>,
) -> Option<Vec<u64>> {
    let mut shape = graph.tensor(id).shape.clone()?;
    let own = vec![(1, id.index())];
    for &(axis, tensor) in axes.unwrap_or(&own) {
        if let (Some(kept), Some(size)) = (&narrowing.kept[tensor], shape.get_mut(axis)) {
            *size = kept.len() as u64;
        }
    }
    Some(shape)
}

/// Is the new graph the old one, but for the shapes of its tensors?
fn check(old: &Graph, new: &Graph, shapes: &[Option<Vec<u64>>]) -> Result<(), Error> {
    let is_as_wide = |id: TensorId| {
        new.tensor(id).shape == shapes[id.index()] && new.tensor(id).name == old.tensor(id).name
    };
    if is_same(old, new, is_as_wide) {
        Ok(())
    } else {
        Err(Error::Unfaithful("the model without constant channels".to_owned()))
    }
}

/// What was saved.
fn counted(
    (old, new): (&Model, &Model),
    network: &Network,
    narrowing: &Narrowing,
    is_quantised: bool,
) -> NarrowedChannels {
    let [(macs, bytes), (fewer_macs, fewer_bytes)] = [old, new].map(|model| {
        let constants = Constants::of(model);
        let macs = weighing(network).filter_map(|(step, _)| constants.macs(OpId::from_index(step)));
        (macs.sum(), constants.bytes())
    });
    let macs = BeforeAfter { before: macs, after: fewer_macs };
    let weight_bytes = BeforeAfter { before: bytes, after: fewer_bytes };
    let graph_tensor = |number| Some(TensorId::from_index(number));
    let channels = NarrowedChannels::of(network, narrowing, graph_tensor, macs, weight_bytes);
    // Short sums of a model that quantises are added up one by one.
    NarrowedChannels { rounds_reals: channels.rounds_reals && !is_quantised, ..channels }
}
