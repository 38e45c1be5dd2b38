//! What the caller of a sub-graph provides and what it gets, and the signatures that name it.

use crate::Error;
use crate::flat::Table;
use crate::metadata::Signature;
use crate::schema::{model as slot, signature, tensor_map};
use crate::write::edit::Edit;
use crate::write::node::{Field, Fields, Node};
use crate::write::parts::{refusal, unknown_field};

/// Inputs and outputs of a sub-graph, by the numbers of its tensors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interface {
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
}

impl Interface {
    pub(crate) fn fields(&self) -> Fields {
        use crate::schema::sub_graph::{INPUTS, OUTPUTS};
        let numbers = |list: &[usize]| Field::Node(Node::i32s(list.iter().map(|&tensor| tensor as i32)));
        vec![(INPUTS, numbers(&self.inputs)), (OUTPUTS, numbers(&self.outputs))]
    }
}

impl Edit<'_> {
    /// What the caller of a sub-graph provides, and what it gets. An old one keeps the number of both, and its
    /// signatures call the tensors in each place as they called those that were there.
    ///
    /// # Errors
    /// If there is no such sub-graph, or an old one would get more or fewer. The tensors are checked by [`finish`](Self::finish).
    pub fn set_inputs_outputs(
        &mut self,
        sub_graph: usize,
        inputs: Vec<usize>,
        outputs: Vec<usize>,
    ) -> Result<(), Error> {
        if let Some(old) = self.model.sub_graphs.get(sub_graph)
            && !self.drops_signatures
            && (old.inputs.len(), old.outputs.len()) != (inputs.len(), outputs.len())
        {
            let (inputs, outputs) = (old.inputs.len(), old.outputs.len());
            let problem =
                format!("sub-graph {sub_graph} must keep its {inputs} inputs and {outputs} outputs");
            return Err(Error::Edit(problem));
        }
        match self.sub_graphs.get_mut(sub_graph) {
            Some(edit) => {
                edit.interface = Some(Interface { inputs, outputs });
                Ok(())
            }
            None => Err(self.no_sub_graph(sub_graph)),
        }
    }

    /// The signatures with the tensors that they name now.
    pub(crate) fn signatures(&self) -> Vec<Signature> {
        if self.drops_signatures {
            return Vec::new();
        }
        let moved = |old: &Signature| {
            let Some(new) = &self.sub_graphs[old.sub_graph].interface else { return old.clone() };
            let before = &self.model.sub_graphs[old.sub_graph];
            let follow = |named: &[(String, usize)], from: &[usize], to: &[usize]| {
                let place = |tensor: usize| from.iter().position(|&before| before == tensor);
                let now = |tensor: usize| place(tensor).and_then(|place| to.get(place)).copied();
                named.iter().map(|(name, tensor)| (name.clone(), now(*tensor).unwrap_or(*tensor))).collect()
            };
            Signature {
                inputs: follow(&old.inputs, &before.inputs, &new.inputs),
                outputs: follow(&old.outputs, &before.outputs, &new.outputs),
                ..old.clone()
            }
        };
        self.model.signatures.iter().map(moved).collect()
    }

    /// The list of signatures: the old one if nothing that it names has changed.
    pub(crate) fn signature_list(&self, root: &Table) -> Result<Fields, Error> {
        let signatures = self.signatures();
        if signatures == self.model.signatures {
            let old = root.target(slot::SIGNATURES)?;
            return Ok(old
                .map(|target| (slot::SIGNATURES, Field::Node(Node::Old(target))))
                .into_iter()
                .collect());
        }
        let mut nodes = Vec::new();
        for ((new, old), table) in
            signatures.iter().zip(&self.model.signatures).zip(root.tables(slot::SIGNATURES)?.iter())
        {
            let table = table?;
            nodes.push(if new == old { Node::Old(table.position()) } else { signature_node(&table, new)? });
        }
        Ok(vec![(slot::SIGNATURES, Field::Node(Node::Vector(nodes)))])
    }
}

/// A signature with other tensors under the same names.
fn signature_node(old: &Table, new: &Signature) -> Result<Node, Error> {
    let place = || format!("signature `{}`", new.key);
    if let Some(field) = unknown_field(old, signature::SUB_GRAPH)? {
        return Err(refusal(&place(), field));
    }
    let mut fields = vec![(signature::SUB_GRAPH, Field::U32(new.sub_graph as u32))];
    for kept in [signature::KEY, signature::TAG] {
        fields.extend(old.target(kept)?.map(|target| (kept, Field::Node(Node::Old(target)))));
    }
    for (slot, tensors) in [(signature::INPUTS, &new.inputs), (signature::OUTPUTS, &new.outputs)] {
        let mut maps = Vec::new();
        for (map, (_, tensor)) in old.tables(slot)?.iter().zip(tensors) {
            let map = map?;
            if let Some(field) = unknown_field(&map, tensor_map::TENSOR)? {
                return Err(refusal(&place(), field));
            }
            let name = map.target(tensor_map::NAME)?;
            let name = name.map(|target| (tensor_map::NAME, Field::Node(Node::Old(target))));
            let number = (tensor_map::TENSOR, Field::U32(*tensor as u32));
            maps.push(Node::Table(name.into_iter().chain([number]).collect()));
        }
        fields.push((slot, Field::Node(Node::Vector(maps))));
    }
    Ok(Node::Table(fields))
}
