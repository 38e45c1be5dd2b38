//! The new file.

use super::folded::with_folded;
use super::gone::gone;
use super::splice::Patches;
use super::{Edit, NewConstant, NodeSource, definitions};
use crate::compose;
use crate::constant::CONSTANTS_ARE_NO_INPUTS;
use crate::declare::NewDim;
use crate::error::Error;
use crate::message::Message;
use crate::proto::Model;
use std::borrow::Cow;
use std::collections::HashSet;

impl Edit<'_> {
    /// The new file.
    ///
    /// With the nodes and names that are gone go the constants that were read before and are not read now, the inputs
    /// whose values those were, declared shapes, and notes on quantisation. Everything else stays byte for byte; a
    /// change that changes nothing gives back the file.
    ///
    /// # Errors
    /// If a node is none of the file or of an operator that the model cannot use, if a tensor is read before it is
    /// defined or defined twice, if a result is gone, or if the file would be larger than the format allows.
    pub fn finish(mut self) -> Result<Vec<u8>, Error> {
        let (file, model) = (self.file, &self.model);
        let listed = self.nodes.take();
        let listed = listed.unwrap_or_else(|| (0..model.graph.nodes.len()).map(NodeSource::Kept).collect());
        listed.iter().try_for_each(|source| source.check(model))?;
        let nodes = with_folded(listed, self.folded, &model.graph);
        let defined = definitions::check(&nodes, &self.constants, model)?;
        let mut gone = gone(&nodes, &defined, model);
        gone.extend(self.unread.iter().map(String::as_str));

        let mut patches = Patches::default();
        let slots = model.graph.slots();
        let behind_nodes = slots.last().map_or(model.graph_content.end, |slot| slot.end);
        let records = nodes.iter().map(|source| source.record(file, &model.graph));
        patches.fill(&slots, records.collect::<Result<Vec<_>, _>>()?, behind_nodes);
        remove(&gone, model, &mut patches);
        self.replace_declarations(&gone, behind_nodes, &mut patches);
        add_constants(&self.constants, model, behind_nodes, &mut patches);
        let mut result = replace_graph(file, model, &patches.apply(file, model.graph_content.clone()))?;
        // Of two notes with one key, readers take the last.
        for (key, value) in &self.notes {
            let entry = Message::new().bytes(1, key).bytes(2, value);
            result.extend(Message::new().message(14, &entry).into_bytes());
        }
        Ok(result)
    }
}

impl Edit<'_> {
    /// Writes new declarations behind the old ones, or behind the nodes if there are none.
    fn replace_declarations(&self, gone: &HashSet<&str>, behind_nodes: usize, patches: &mut Patches<'_>) {
        let old = &self.model.graph.value_info;
        let is_replaced = |name: &str| self.declared.contains_key(name) || self.undeclared.contains(name);
        for info in old.iter().filter(|info| is_replaced(info.name) && !gone.contains(info.name)) {
            patches.remove(info.record.clone());
        }
        let behind = old.iter().map(|info| info.record.end).max().unwrap_or(behind_nodes);
        for (name, (data_type, dims)) in &self.declared {
            let info = compose::value_info(name, *data_type, dims);
            patches.insert(behind, Message::new().message(13, &info).into_bytes());
        }
    }
}

/// Removes all records about tensors that are gone.
fn remove(gone: &HashSet<&str>, model: &Model<'_>, patches: &mut Patches<'_>) {
    let graph = &model.graph;
    let constants = graph.initializers.iter().map(|tensor| (tensor.name, &tensor.record));
    let declared = graph.inputs.iter().chain(&graph.value_info).map(|info| (info.name, &info.record));
    let annotations = graph.annotations.iter().map(|annotation| (annotation.tensor, &annotation.record));
    for (_, record) in constants.chain(declared).chain(annotations).filter(|(name, _)| gone.contains(name)) {
        patches.remove(record.clone());
    }
}

/// Adds constants behind the old ones.
fn add_constants(
    constants: &[NewConstant],
    model: &Model<'_>,
    behind_nodes: usize,
    patches: &mut Patches<'_>,
) {
    let behind_inputs = model.graph.inputs.iter().map(|input| input.record.end).max().unwrap_or(behind_nodes);
    let behind =
        model.graph.initializers.iter().map(|tensor| tensor.record.end).max().unwrap_or(behind_nodes);
    for NewConstant { name, data_type, shape, data } in constants {
        let tensor = compose::tensor(name, *data_type, shape, data);
        patches.insert(behind, Message::new().message(5, &tensor).into_bytes());
        if model.ir_version < CONSTANTS_ARE_NO_INPUTS {
            let input = compose::value_info(name, *data_type, &NewDim::sizes(shape));
            patches.insert(behind_inputs, Message::new().message(11, &input).into_bytes());
        }
    }
}

/// The file with another main graph.
fn replace_graph(file: &[u8], model: &Model<'_>, graph: &[u8]) -> Result<Vec<u8>, Error> {
    let mut patches = Patches::default();
    if graph.len() == model.graph_content.len() {
        // The length as it is written, which may be in more bytes than it needs.
        patches.remove(model.graph_content.clone());
        patches.insert(model.graph_content.start, graph);
    } else {
        patches.remove(model.graph_record.clone());
        patches.insert(model.graph_record.start, Cow::Owned(Message::new().bytes(7, graph).into_bytes()));
    }
    let result = patches.apply(file, 0..file.len());
    if i32::try_from(result.len()).is_err() && result.len() > file.len() {
        return Err(Error::Edit(format!(
            "it would take {} bytes, and a protocol buffer may have {}",
            result.len(),
            i32::MAX
        )));
    }
    Ok(result)
}
