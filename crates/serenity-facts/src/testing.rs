//! Graphs of one op, written as text, for the tests of this folder.

use crate::{Kernels, LitertKernels, scratch};
use serde_json::{Map, Value, json};
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Tensor};

/// Reads `KIND operand… > result… attribute=value…`. An operand is an activation (`int8[1,4]`), a constant
/// (`int8#[1,4]`) or left out (`-`). Values are JSON without spaces.
pub(crate) fn one_op(text: &str) -> Graph {
    let mut words = text.split_whitespace();
    let kind = OpKind::new(words.next().unwrap());
    let mut builder = GraphBuilder::new("");
    let (mut inputs, mut outputs, mut constants, mut absent) = (vec![], vec![], Map::new(), vec![]);
    let (mut attributes, mut position, mut are_results) = (Attributes::new(), 0, false);
    for word in words {
        let (dtype, shape) = word.split_once('[').unwrap_or((word, "]"));
        let shape: Vec<u64> = serde_json::from_str(&format!("[{shape}")).unwrap_or_default();
        if let Some((name, value)) = word.split_once('=') {
            attributes.insert(name.to_owned(), serde_json::from_str(value).unwrap());
            continue;
        } else if word == ">" {
            are_results = true;
            continue;
        } else if word == "-" {
            absent.push(json!(position));
        } else if let Some(dtype) = dtype.strip_suffix('#') {
            constants.insert(position.to_string(), json!({"name": "", "shape": shape, "dtype": dtype}));
        } else {
            let tensor = Tensor::shaped("", shape, ElementType::parse(dtype)).unwrap();
            if are_results {
                outputs.push(builder.tensor(tensor))
            } else {
                inputs.push(builder.input(tensor))
            }
        }
        position += 1;
    }
    attributes.entry("constants").or_insert(Value::Object(constants));
    attributes.entry("absent").or_insert(Value::Array(absent));
    builder.push_op(Op { name: String::new(), kind, inputs, outputs, attributes, extra: Map::new() });
    builder.build().unwrap()
}

/// Each op, written as text, asks these kernels for just this scratch.
pub(crate) fn assert_scratch(kernels: Kernels, rows: &[(&str, &[u64])]) {
    for (op, expected) in rows {
        assert_eq!(scratch(&one_op(op), OpId(0), kernels), *expected, "{op}");
    }
}

/// Each op, written as text, has just this in LiteRT's arenas besides its tensors.
pub(crate) fn assert_temporaries(rows: &[(&str, &[u64])]) {
    for (op, expected) in rows {
        let kernels = LitertKernels::of(&one_op(op));
        let in_arena = kernels.temporaries(OpId(0)).iter().filter(|t| t.place == crate::LitertPlace::Arena);
        let bytes: Vec<u64> = in_arena.map(|temporary| temporary.bytes).collect();
        assert_eq!(bytes, *expected, "{op}");
    }
}
