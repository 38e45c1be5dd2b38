//! Is everything that is read defined before, and only once?

use super::names;
use super::{NewConstant, NodeSource};
use crate::error::Error;
use crate::proto::Model;
use std::collections::HashSet;

/// Names defined so far, and those that none may take.
struct Definitions<'n> {
    defined: HashSet<&'n str>,
    /// By the main graph of the old file.
    old: HashSet<&'n str>,
    reserved: HashSet<&'n str>,
}

/// Checks a new list of nodes; returns all that is defined: the inputs, all old and new constants, and what the nodes write.
pub(super) fn check<'n>(
    nodes: &'n [NodeSource],
    constants: &'n [NewConstant],
    model: &Model<'n>,
) -> Result<HashSet<&'n str>, Error> {
    let graph = &model.graph;
    let inputs = graph.inputs.iter().map(|input| input.name);
    let mut definitions = Definitions {
        defined: inputs.chain(graph.initializers.iter().map(|tensor| tensor.name)).collect(),
        old: names::defined(graph),
        reserved: names::reserved(model),
    };
    for constant in constants {
        definitions.define(&constant.name, || "a new constant".to_owned())?;
    }
    for (position, source) in nodes.iter().enumerate() {
        let place = || format!("node {position} (`{}`) of the new list", source.label(graph));
        for name in source.reads(graph) {
            definitions.read(name, place)?;
        }
        for name in source.writes(graph) {
            definitions.define(name, place)?;
        }
    }
    for output in &graph.outputs {
        definitions.read(output.name, || "the list of outputs".to_owned())?;
    }
    for name in names::training_reads(model) {
        if definitions.old.contains(name) {
            definitions.read(name, || "the training of the model".to_owned())?;
        }
    }
    Ok(definitions.defined)
}

impl<'n> Definitions<'n> {
    fn read(&self, name: &str, reader: impl Fn() -> String) -> Result<(), Error> {
        if self.defined.contains(name) {
            return Ok(());
        }
        Err(Error::Undefined { reader: reader(), tensor: name.to_owned() })
    }

    fn define(&mut self, name: &'n str, place: impl Fn() -> String) -> Result<(), Error> {
        if name.is_empty() {
            return Err(Error::Edit(format!("{} has no name", place())));
        }
        if !self.old.contains(name) && self.reserved.contains(name) {
            let what = "the file uses that name within a sub-graph or in a declaration; take a fresh name";
            return Err(Error::Edit(format!("{} defines `{name}`, but {what}", place())));
        }
        if !self.defined.insert(name) {
            return Err(Error::TwoSources { place: place(), tensor: name.to_owned() });
        }
        Ok(())
    }
}
