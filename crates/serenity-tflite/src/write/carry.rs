//! Metadata that names operators or tensors by their numbers, and what becomes of it.

use crate::Error;
use crate::control::{self, CONTROL_DEPENDENCIES};
use crate::metadata::{OFFLINE_PLAN, PLAN_NOTE};
use crate::write::edit::{Edit, SubGraphEdit};

impl Edit<'_> {
    /// Updates what can be updated and removes what would be wrong, unless the caller has seen to it; returns what was removed.
    ///
    /// A memory plan, with the note about it, is made for one order of operators and one list of tensors. Control
    /// dependencies follow their operators.
    pub(crate) fn carry_metadata(&mut self) -> Vec<String> {
        let changes_operators = self.sub_graphs.iter().any(|edit| edit.operators.is_some());
        let mut dropped = Vec::new();
        if !self.sub_graphs.iter().all(SubGraphEdit::changes_nothing) {
            dropped.extend(self.drop_unless_given(OFFLINE_PLAN));
            dropped.extend(self.drop_unless_given(PLAN_NOTE));
        }
        if changes_operators {
            match self.moved_dependencies() {
                Some(bytes) => {
                    self.metadata.entry(CONTROL_DEPENDENCIES.to_owned()).or_insert(Some(bytes));
                }
                None => dropped.extend(self.drop_unless_given(CONTROL_DEPENDENCIES)),
            }
        }
        dropped
    }

    fn drop_unless_given(&mut self, name: &str) -> Option<String> {
        let there = self.model.metadata.iter().any(|metadata| metadata.name == name);
        if !there || self.metadata.contains_key(name) {
            return None;
        }
        self.remove_metadata(name);
        Some(name.to_owned())
    }

    /// Where each operator of the old list of a sub-graph stands in the new one.
    pub(crate) fn new_positions(&self, sub_graph: usize) -> Vec<Option<usize>> {
        let count = self.model.sub_graphs[sub_graph].operators.len();
        let Some(operators) = &self.sub_graphs[sub_graph].operators else {
            return (0..count).map(Some).collect();
        };
        let mut positions = vec![None; count];
        for (position, source) in operators.iter().enumerate() {
            if let Some(entry) = source.origin().and_then(|origin| positions.get_mut(origin)) {
                *entry = Some(position);
            }
        }
        positions
    }

    /// The control dependencies by the new numbers; `None` if there are none, or an operator that they name is gone.
    fn moved_dependencies(&self) -> Option<Vec<u8>> {
        let control = self.model.control.as_ref()?;
        let mut moved = Vec::new();
        for (sub_graph, pairs) in control.iter().enumerate() {
            let positions = self.new_positions(sub_graph);
            let mut new_pairs = Vec::new();
            for &(first, second) in pairs {
                new_pairs.push((positions[first]?, positions[second]?));
            }
            moved.push(new_pairs);
        }
        Some(control::write(&moved))
    }

    /// Operators on the same state stay in order, as far as they are still there.
    pub(crate) fn check_state_order(&self) -> Result<(), Error> {
        for (sub_graph, graph) in self.model.graphs.iter().enumerate() {
            let positions = self.new_positions(sub_graph);
            let made_up = self.model.sub_graphs[sub_graph].file_tensors.len();
            for token in graph.tensor_ids().skip(made_up) {
                let Some(first) = graph.producer(token) else { continue };
                for &second in graph.consumers(token) {
                    if let (Some(before), Some(after)) = (positions[first.index()], positions[second.index()])
                        && before > after
                    {
                        return Err(Error::Edit(format!(
                            "sub-graph {sub_graph}: operator {second} (`{}`) must stay behind operator {first} (`{}`), since both touch the same state",
                            graph.op_label(second),
                            graph.op_label(first)
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}
