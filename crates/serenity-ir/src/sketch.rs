//! Small graphs written as text, for examples and tests.

use crate::{Attributes, ElementType, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Reads a graph written as lines, which may also end in `;`. Tensors are numbered as they appear, and an op is called
/// like its first result.
///
/// - `x:16 y:int8[1,4]` alone are inputs: a name, and bytes or a type and a shape.
/// - `z:16 = KIND x int8#[4] [0,1] - axis=1` is an op that reads `x` and two constants, of the second also the values, and
///   leaves out its fourth operand. A tensor that was not named before (`int8[1,4]`) is an input too. The values of
///   attributes are JSON without spaces.
/// - `-> z` are the outputs.
///
/// ```
/// let graph = serenity_ir::sketch("x:8; a:4 = RELU x; b:4 = TANH x; y:8 = CONCATENATION a b axis=1; -> y");
/// assert_eq!((graph.ops().len(), graph.outputs().len()), (3, 1));
/// assert_eq!(graph.op_label(serenity_ir::OpId(2)), "y");
/// ```
///
/// # Panics
/// If the text is none of this, or describes a graph that cannot be.
pub fn sketch(text: &str) -> Graph {
    let mut sketch = Sketch::default();
    for line in text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()) {
        sketch.line(line);
    }
    sketch.builder.build().expect("a graph")
}

#[derive(Default)]
struct Sketch {
    builder: GraphBuilder,
    names: HashMap<String, TensorId>,
}

impl Sketch {
    fn line(&mut self, line: &str) {
        if let Some(outputs) = line.strip_prefix("->") {
            outputs.split_whitespace().for_each(|name| self.builder.output(self.names[name]));
        } else if let Some((results, op)) = line.split_once(" = ") {
            let results = results.split_whitespace().map(|result| self.tensor(result)).collect();
            self.op(results, op);
        } else {
            for word in line.split_whitespace() {
                self.operand(word);
            }
        }
    }

    fn tensor(&mut self, word: &str) -> TensorId {
        let (name, size) = word.split_once(':').unwrap_or(("", word));
        let tensor = match size.split_once('[') {
            Some((dtype, shape)) => Tensor::shaped(name, dims(shape), ElementType::parse(dtype)),
            None => size.parse().ok().map(|bytes| Tensor::sized(name, bytes)),
        };
        let id = self.builder.tensor(tensor.expect("a size of a tensor"));
        self.names.insert(name.to_owned(), id);
        id
    }

    fn operand(&mut self, word: &str) -> TensorId {
        self.names.get(word).copied().unwrap_or_else(|| {
            let input = self.tensor(word);
            self.builder.mark_input(input);
            input
        })
    }

    fn op(&mut self, outputs: Vec<TensorId>, text: &str) {
        let mut words = text.split_whitespace();
        let kind = OpKind::new(words.next().expect("a type"));
        let (mut inputs, mut constants, mut absent) = (Vec::new(), Map::new(), Vec::new());
        let (mut attributes, mut position) = (Attributes::new(), 0);
        for word in words {
            if let Some((name, value)) = word.split_once('=') {
                attributes.insert(name.to_owned(), serde_json::from_str(value).expect("JSON"));
                continue;
            }
            if word == "-" {
                absent.push(json!(position));
            } else if let Some(constant) = constant(word) {
                constants.insert(position.to_string(), constant);
            } else {
                inputs.push(self.operand(word));
            }
            position += 1;
        }
        if !constants.is_empty() {
            attributes.insert("constants".to_owned(), Value::Object(constants));
        }
        if !absent.is_empty() {
            attributes.insert("absent".to_owned(), Value::Array(absent));
        }
        let name = outputs.first().map_or("", |&result| &self.builder.get(result).name).to_owned();
        self.builder.push_op(Op { name, kind, inputs, outputs, attributes, extra: Map::new() });
    }
}

/// What `int8#[4]` and `[0,1]` describe.
fn constant(word: &str) -> Option<Value> {
    if word.starts_with('[') {
        let values: Vec<i64> = serde_json::from_str(word).expect("values");
        return Some(json!({"name": "", "shape": [values.len()], "dtype": "int32", "values": values}));
    }
    let (dtype, shape) = word.split_once("#[")?;
    Some(json!({"name": "", "shape": dims(shape), "dtype": dtype}))
}

/// `1,4]` as numbers.
fn dims(shape: &str) -> Vec<u64> {
    serde_json::from_str(&format!("[{shape}")).expect("a shape")
}
