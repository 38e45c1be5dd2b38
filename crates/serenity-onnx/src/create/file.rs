//! A file under construction: nodes, constants and names.

use crate::compose::{self, Attribute};
use crate::data_type::DataType;
use crate::declare::NewDim;
use crate::message::Message;
use std::collections::HashSet;

/// The version of the format; opset 17 came with it.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// What goes into a file.
#[derive(Default)]
pub(super) struct File {
    nodes: Vec<Message>,
    initializers: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    names: HashSet<String>,
}

impl File {
    /// `name`, or something like it if it is taken or empty.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut number = self.names.len();
        while unique.is_empty() || !self.names.insert(unique.clone()) {
            unique = format!("{name}#{number}");
            number += 1;
        }
        unique
    }

    pub(super) fn node(
        &mut self,
        op_type: &str,
        name: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute)],
    ) {
        let attributes = attributes.iter().map(|(name, value)| (*name, value));
        self.nodes.push(compose::node(op_type, "", name, inputs, &[output], attributes));
    }

    /// A constant of 32-bit floats; its name.
    pub(super) fn floats(&mut self, name: &str, shape: &[u64], data: &[u8]) -> String {
        let name = self.unique(name);
        self.initializer(&name, DataType::FLOAT, shape, data);
        name
    }

    /// A constant list of whole numbers; its name.
    pub(super) fn integers(&mut self, name: &str, values: &[i64]) -> String {
        let name = self.unique(name);
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(&name, DataType::INT64, &[values.len() as u64], &data);
        name
    }

    fn initializer(&mut self, name: &str, data_type: DataType, shape: &[u64], data: &[u8]) {
        self.initializers.push(compose::tensor(name, data_type, shape, data));
    }

    pub(super) fn input(&mut self, name: &str, shape: &[u64]) {
        self.inputs.push(compose::value_info(name, DataType::FLOAT, &NewDim::sizes(shape)));
    }

    pub(super) fn output(&mut self, name: &str, shape: &[u64]) {
        self.outputs.push(compose::value_info(name, DataType::FLOAT, &NewDim::sizes(shape)));
    }

    /// The bytes of the file.
    pub(super) fn finish(self, graph_name: &str) -> Vec<u8> {
        let mut graph = Message::new();
        let with = |graph: Message, field: u64, all: &[Message]| {
            all.iter().fold(graph, |graph, one| graph.message(field, one))
        };
        graph = with(graph, 1, &self.nodes).bytes(2, graph_name);
        graph = with(graph, 5, &self.initializers);
        graph = with(with(graph, 11, &self.inputs), 12, &self.outputs);
        let opset = Message::new().bytes(1, "").int(2, OPSET);
        let model = Message::new().int(1, IR_VERSION).bytes(2, "serenity");
        model.message(7, &graph).message(8, &opset).into_bytes()
    }
}
