//! The attributes of a node as JSON, in the words that all formats share.

use crate::fact::Fact;
use crate::infer::{Call, Padding};
use crate::proto::{Attribute, AttributeValue, Tensor};
use serde_json::{Map, Value, json};
use serenity_ir::Attributes;

/// Longer lists (lookup tables, decision trees) are described by their length.
const MOST_ELEMENTS: usize = 256;

/// Operators that slide a window.
const WINDOWED: [&str; 9] = [
    "Conv",
    "ConvInteger",
    "QLinearConv",
    "ConvTranspose",
    "DeformConv",
    "AveragePool",
    "MaxPool",
    "LpPool",
    "MaxUnpool",
];

/// All attributes of the file, those of windows under their common names.
pub(crate) fn describe(call: &Call<'_, '_>) -> Attributes {
    let is_windowed = WINDOWED.contains(&call.node.op_type);
    let mut result = if is_windowed { describe_window(call) } else { Attributes::new() };
    for Attribute { name, value } in &call.node.attributes {
        let is_window = matches!(*name, "kernel_shape" | "strides" | "dilations" | "pads" | "auto_pad");
        if is_windowed && is_window {
            continue;
        }
        if let Some(value) = to_json(value) {
            result.insert((*name).to_owned(), value);
        }
    }
    result
}

/// `kernel`, `stride`, `dilation`, and `padding` ("same", "valid"), or `pads` where that says it all.
fn describe_window(call: &Call<'_, '_>) -> Attributes {
    let mut result = Attributes::new();
    let weights = if call.node.op_type == "QLinearConv" { 3 } else { 1 };
    let kernel = match call.ints_attribute("kernel_shape") {
        Some(kernel) => json!(kernel),
        None => json!(call.shape(weights).and_then(|shape| shape.get(2..))),
    };
    let axes = call.shape(0).map_or(0, |shape| shape.len().saturating_sub(2));
    result.insert("kernel".to_owned(), kernel);
    for (name, ours) in [("strides", "stride"), ("dilations", "dilation")] {
        let values = call.ints_attribute(name).map_or_else(|| vec![1; axes], <[i64]>::to_vec);
        result.insert(ours.to_owned(), json!(values));
    }
    let pads = call.ints_attribute("pads").filter(|pads| pads.iter().any(|&pad| pad != 0));
    match (Padding::of(call), pads) {
        (Padding::Same, _) if call.text_attribute("auto_pad") == Some("SAME_LOWER") => {
            result.insert("padding".to_owned(), json!("same_lower"));
        }
        (Padding::Same, _) => drop(result.insert("padding".to_owned(), json!("same"))),
        (Padding::Explicit, Some(pads)) => drop(result.insert("pads".to_owned(), json!(pads))),
        (Padding::Valid, _) | (Padding::Explicit, None) => {
            result.insert("padding".to_owned(), json!("valid"));
        }
    }
    result
}

/// `None` for what JSON has no words for: graphs, and kinds of attributes that we do not know.
fn to_json(value: &AttributeValue<'_>) -> Option<Value> {
    Some(match value {
        AttributeValue::Float(value) => real(*value),
        AttributeValue::Int(value) => json!(value),
        AttributeValue::Text(text) => words(text),
        AttributeValue::Tensor(tensor) => describe_tensor(tensor),
        AttributeValue::Floats(values) => list(values, |&value| real(value)),
        AttributeValue::Ints(values) => list(values, |&value| json!(value)),
        AttributeValue::Texts(texts) => list(texts, |text| words(text)),
        AttributeValue::Tensors(tensors) => list(tensors, describe_tensor),
        AttributeValue::Graphs(_) | AttributeValue::Other => return None,
    })
}

fn list<T>(values: &[T], convert: impl Fn(&T) -> Value) -> Value {
    if values.len() > MOST_ELEMENTS {
        return json!({"length": values.len()});
    }
    values.iter().map(convert).collect()
}

/// The shortest decimal that means this number; JSON has no infinity.
fn real(value: f32) -> Value {
    let shortest = value.to_string();
    shortest.parse::<f64>().ok().filter(|v| v.is_finite()).map_or_else(|| json!(shortest), |v| json!(v))
}

fn words(text: &[u8]) -> Value {
    if text.len() > MOST_ELEMENTS {
        json!({"length": text.len()})
    } else {
        json!(String::from_utf8_lossy(text))
    }
}

fn describe_tensor(tensor: &Tensor<'_>) -> Value {
    Value::Object(describe_fact(&tensor.fact()))
}

/// Shape, type, and the values of a short tensor of whole numbers.
fn describe_fact(fact: &Fact) -> Map<String, Value> {
    let mut result = Map::new();
    if let Some(shape) = &fact.shape {
        result.insert("shape".to_owned(), json!(shape));
    }
    if let Some(data_type) = fact.data_type {
        result.insert("dtype".to_owned(), json!(data_type.element_type().name()));
    }
    if let Some(values) = fact.ints() {
        result.insert("values".to_owned(), json!(values));
    }
    result
}

/// One entry of `constants`.
pub(crate) fn describe_constant(name: &str, fact: &Fact) -> Value {
    let mut result = Map::new();
    result.insert("name".to_owned(), json!(name));
    result.extend(describe_fact(fact));
    Value::Object(result)
}
