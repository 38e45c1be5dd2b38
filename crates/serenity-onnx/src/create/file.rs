//! A file under construction: nodes, constants and names.

use super::message::Message;
use std::collections::HashSet;

/// The version of the format; opset 17 came with it.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

const FLOAT: i64 = 1;
const INT64: i64 = 7;

/// An attribute of a node.
#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
}

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
        let mut node = Message::new();
        for input in inputs {
            node = node.bytes(1, input);
        }
        node = node.bytes(2, output).bytes(3, name).bytes(4, op_type);
        for (name, value) in attributes {
            node = node.message(5, &attribute(name, value));
        }
        self.nodes.push(node);
    }

    /// A constant of 32-bit floats; its name.
    pub(super) fn floats(&mut self, name: &str, shape: &[u64], data: &[u8]) -> String {
        let name = self.unique(name);
        self.initializer(&name, FLOAT, shape, data);
        name
    }

    /// A constant list of whole numbers; its name.
    pub(super) fn integers(&mut self, name: &str, values: &[i64]) -> String {
        let name = self.unique(name);
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(&name, INT64, &[values.len() as u64], &data);
        name
    }

    fn initializer(&mut self, name: &str, data_type: i64, shape: &[u64], data: &[u8]) {
        let tensor = shape.iter().fold(Message::new(), |tensor, &dim| tensor.int(1, dim as i64));
        self.initializers.push(tensor.int(2, data_type).bytes(8, name).bytes(9, data));
    }

    pub(super) fn input(&mut self, name: &str, shape: &[u64]) {
        self.inputs.push(value_info(name, shape));
    }

    pub(super) fn output(&mut self, name: &str, shape: &[u64]) {
        self.outputs.push(value_info(name, shape));
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

fn attribute(name: &str, value: &Attribute) -> Message {
    const INT: i64 = 2;
    const INTS: i64 = 7;
    let message = Message::new().bytes(1, name);
    match value {
        Attribute::Int(value) => message.int(3, *value).int(20, INT),
        Attribute::Ints(values) => {
            values.iter().fold(message, |message, &value| message.int(8, value)).int(20, INTS)
        }
    }
}

fn value_info(name: &str, shape: &[u64]) -> Message {
    let dims = shape.iter().map(|&dim| Message::new().int(1, dim as i64));
    let shape = dims.fold(Message::new(), |shape, dim| shape.message(1, &dim));
    let tensor = Message::new().int(1, FLOAT).message(2, &shape);
    Message::new().bytes(1, name).message(2, &Message::new().message(1, &tensor))
}
