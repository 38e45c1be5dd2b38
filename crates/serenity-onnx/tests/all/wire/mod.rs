//! Models written by hand, record by record.

#![allow(dead_code, unreachable_pub, reason = "not every test needs every helper")]

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A record that holds a number.
pub fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value as u64)].concat()
}

/// A record that holds text, bytes or a message.
pub fn record(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn records(field: u64, contents: &[&str]) -> Vec<u8> {
    contents.iter().flat_map(|content| record(field, content)).collect()
}

/// `NodeProto` as a record of its graph, with further records of its own.
pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str], more: &[Vec<u8>]) -> Vec<u8> {
    record(1, [records(1, inputs), records(2, outputs), record(4, op_type), more.concat()].concat())
}

pub const FLOAT: i64 = 1;
pub const INT64: i64 = 7;

/// `ValueInfoProto` without its tag. A dimension of -1 is an open one called `N`.
pub fn value(name: &str, data_type: i64, shape: &[i64]) -> Vec<u8> {
    let dim = |&size: &i64| record(1, if size < 0 { record(2, "N") } else { number(1, size) });
    let shape: Vec<u8> = shape.iter().flat_map(dim).collect();
    let tensor = [number(1, data_type), record(2, shape)].concat();
    [record(1, name), record(2, record(1, tensor))].concat()
}

pub fn input(name: &str, shape: &[i64]) -> Vec<u8> {
    record(11, value(name, FLOAT, shape))
}

/// An output whose shape is left to inference.
pub fn output(name: &str) -> Vec<u8> {
    record(12, record(1, name))
}

/// `TensorProto` without its tag: whole numbers, packed.
pub fn ints(name: &str, values: &[i64]) -> Vec<u8> {
    let packed: Vec<u8> = values.iter().flat_map(|&v| varint(v as u64)).collect();
    [number(1, values.len() as i64), number(2, INT64), record(7, packed), record(8, name)].concat()
}

/// `TensorProto` without its tag: one whole number, in no dimension.
pub fn int(name: &str, value: i64) -> Vec<u8> {
    [number(2, INT64), number(7, value), record(8, name)].concat()
}

/// `TensorProto` without its tag: floats of any shape, all 0 and not written down.
pub fn floats(name: &str, shape: &[i64]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|&size| number(1, size)).collect();
    [dims, number(2, FLOAT), record(8, name)].concat()
}

pub fn initializer(tensor: &[u8]) -> Vec<u8> {
    record(5, tensor)
}

/// Attributes, as records of their node.
pub fn int_attribute(name: &str, value: i64) -> Vec<u8> {
    record(5, [record(1, name), number(3, value), number(20, 2)].concat())
}

pub fn ints_attribute(name: &str, values: &[i64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|&v| number(8, v)).collect();
    record(5, [record(1, name), values, number(20, 7)].concat())
}

pub fn graph_attribute(name: &str, graph: &[u8]) -> Vec<u8> {
    record(5, [record(1, name), record(6, graph), number(20, 5)].concat())
}

pub fn tensor_attribute(name: &str, tensor: &[u8]) -> Vec<u8> {
    record(5, [record(1, name), record(5, tensor), number(20, 4)].concat())
}

/// A whole file of version 13.
pub fn model(graph: &[Vec<u8>]) -> Vec<u8> {
    [number(1, 8), record(7, graph.concat()), record(8, number(2, 13))].concat()
}

/// A shuffle that is the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }
}
