//! The JSON graph format.
//!
//! ```json
//! {"name": "cell", "tensors": [{"id": 0, "name": "x", "bytes": 4096}],
//!  "ops": [{"name": "conv1", "type": "CONV_2D", "inputs": [0], "outputs": [1]}], "inputs": [0], "outputs": [1]}
//! ```
//!
//! Activations only. Ids are dense: the tensor at position `i` has id `i` (`"id"` may be left out). Op order is the
//! file's order. `"name"` is optional everywhere; `"shape"` and `"dtype"` may stand beside `"bytes"`, or instead of it;
//! a tensor may carry `"quantization"`: `{"scales": [0.5], "zero_points": [3], "axis": 0}`; ops may carry
//! `"attributes"`, and say with `"in_place"` and `"aliases"` which outputs may lie in whose place ([`Op::in_place`],
//! [`Op::aliases`]). `"known_shape"` says how much of a shape a runtime knows beforehand, if that is not all: `[1,
//! "batch", null]`, or `null` for nothing ([`KnownShape`]). `"unknown"` lists what the graph counts as nothing because
//! nobody knows it: `{"kind": "size", "name": "y", "reason": "…"}` ([`Unknown`]).
//!
//! Written back is everything that was given, digit by digit and in its own spelling: fields we do not know, a
//! `"dtype"` under another name, an empty `"name"`. Only `"id"` and `"bytes"`, which may be left out, are always
//! written, and known fields come first.
//!
//! Errors name the place as a path into the document, `tensors[3].bytes`.

use crate::{
    Attributes, ElementType, Graph, GraphBuilder, GraphError, KnownShape, Op, OpKind, Quantization, Tensor,
    TensorId, Unknown, sharing,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Why a text is not a graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum JsonError {
    /// Not JSON at all.
    #[error("not valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// JSON, but a value is not what the format asks for.
    #[error("`{path}`: expected {expected}, found {found}")]
    Field { path: String, expected: String, found: String },
    /// Well-formed, but not a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Text without the mark that some editors put before it, which JSON does not know.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a graph.
///
/// # Errors
/// If the text is not JSON, not in the format, or not a graph; see [`JsonError`].
pub fn parse(text: &str) -> Result<Graph, JsonError> {
    let text = without_mark(text);
    let Ok(mut document) = Document::read(text) else {
        // What is wrong, and where, is said of the whole text.
        let value = serde_json::from_str(text)?;
        let not_a_graph =
            |root: Fields| field_error("the document".to_owned(), "a graph", &Value::Object(root.map));
        return Err(Fields::new("", value).map_or_else(|error| error, not_a_graph));
    };
    let (tensors, ops) = (document.tensors.take(), document.ops.take());
    let mut root = Fields { path: String::new(), map: document.rest };
    let mut builder = GraphBuilder::new(root.text("name")?);
    for (index, raw) in items(tensors, "tensors")?.into_iter().enumerate() {
        builder.tensor(tensor(index, value(text, raw)?)?);
    }
    for (index, raw) in items(ops, "ops")?.into_iter().enumerate() {
        builder.push_op(op(index, value(text, raw)?)?);
    }
    for id in root.ids("inputs")? {
        builder.mark_input(id);
    }
    for id in root.ids("outputs")? {
        builder.output(id);
    }
    for unknown in root.unknown()? {
        builder.unknown(unknown);
    }
    builder.extra(root.rest());
    let graph = builder.build()?;
    for (index, op) in graph.ops().iter().enumerate() {
        if let Some((field, pair, expected)) = sharing::fault(&graph, op) {
            let place = pair.map_or_else(String::new, |pair| format!("[{pair}]"));
            let value = &op.extra[field];
            let found = pair.map_or(value, |pair| &value[pair]);
            return Err(field_error(format!("ops[{index}].{field}{place}"), &expected, found));
        }
    }
    Ok(graph)
}

/// The text of a graph, its long lists not yet read: as values they would take a hundred times the memory of the text.
struct Document<'a> {
    tensors: Option<&'a RawValue>,
    ops: Option<&'a RawValue>,
    rest: Map<String, Value>,
}

impl<'a> Document<'a> {
    fn read(text: &'a str) -> serde_json::Result<Self> {
        let mut fields: BTreeMap<String, &'a RawValue> = serde_json::from_str(text)?;
        let (tensors, ops) = (fields.remove("tensors"), fields.remove("ops"));
        // In the order in which they stand in the text.
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by_key(|(_, raw)| raw.get().as_ptr());
        let rest = fields.into_iter().map(|(key, raw)| Ok((key, serde_json::from_str(raw.get())?)));
        Ok(Self { tensors, ops, rest: rest.collect::<serde_json::Result<_>>()? })
    }
}

fn items<'a>(list: Option<&'a RawValue>, key: &str) -> Result<Vec<&'a RawValue>, JsonError> {
    let text = list.map_or("null", RawValue::get);
    match serde_json::from_str(text) {
        Ok(items) => Ok(items),
        Err(_) => Err(field_error(key.to_owned(), "an array", &serde_json::from_str(text)?)),
    }
}

/// One of them. If it cannot be read, the fault is shown where it stands in the whole text.
fn value(text: &str, item: &RawValue) -> Result<Value, JsonError> {
    serde_json::from_str(item.get()).map_err(|error| {
        let of_all = serde_json::from_str::<Value>(text).err();
        of_all.unwrap_or(error).into()
    })
}

/// Writes a graph, one tensor or op per line.
pub fn write(graph: &Graph) -> String {
    let given = graph.extra().get("name").filter(|_| graph.name().is_empty());
    let mut lines = vec![format!("{{\"name\": {},", given.unwrap_or(&graph.name().into()))];
    for (key, value) in graph.extra().iter().filter(|(key, _)| *key != "name") {
        lines.push(format!(" {}: {value},", Value::from(key.as_str())));
    }
    let list = |key: &str, items: Vec<Value>| {
        let items: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
        format!(" \"{key}\": [\n{}\n ],", items.join(",\n"))
    };
    lines.push(list("tensors", graph.tensor_ids().map(|id| tensor_to_json(id, graph.tensor(id))).collect()));
    lines.push(list("ops", graph.ops().iter().map(op_to_json).collect()));
    if !graph.unknown().is_empty() {
        lines.push(list("unknown", graph.unknown().iter().map(|unknown| json!(unknown)).collect()));
    }
    lines.push(format!(" \"inputs\": {},", ids_to_json(graph.inputs())));
    lines.push(format!(" \"outputs\": {}}}", ids_to_json(graph.outputs())));
    lines.join("\n") + "\n"
}

fn tensor(index: usize, value: Value) -> Result<Tensor, JsonError> {
    let mut fields = Fields::new(&format!("tensors[{index}]"), value)?;
    if let Some(id) = fields.take("id")
        && id.as_u64() != Some(index as u64)
    {
        let expected = format!("{index}: ids are dense and in order");
        return Err(fields.error("id", &expected, &id));
    }
    let (name, shape) = (fields.text("name")?, fields.shape()?);
    let dtype = match fields.text("dtype")?.as_str() {
        "" => None,
        name => {
            let dtype = ElementType::parse(name);
            if dtype.name() != name {
                fields.keep("dtype", name.into());
            }
            Some(dtype)
        }
    };
    let quantization = fields.quantization()?;
    let bytes = match fields.take("bytes") {
        Some(value) => value.as_u64().ok_or_else(|| {
            fields.error("bytes", "a whole number of bytes, at least 0 and below 2^64", &value)
        })?,
        None => {
            shape.as_ref().zip(dtype.as_ref()).and_then(|(shape, dtype)| dtype.bytes_of(shape)).ok_or_else(
                || {
                    fields.error(
                        "bytes",
                        "a size, or \"shape\" and a known \"dtype\" that give one",
                        &Value::Null,
                    )
                },
            )?
        }
    };
    let known = match fields.take("known_shape") {
        None => KnownShape::Whole,
        Some(value) => KnownShape::deserialize(&value)
            .map_err(|_| fields.error("known_shape", "sizes, names and nulls in a list, or null", &value))?,
    };
    Ok(Tensor { name, bytes, shape, known, dtype, quantization, extra: fields.rest() })
}

fn op(index: usize, value: Value) -> Result<Op, JsonError> {
    let mut fields = Fields::new(&format!("ops[{index}]"), value)?;
    let attributes = match fields.take_unless_empty("attributes") {
        None => Attributes::new(),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(fields.error("attributes", "an object", &other)),
    };
    Ok(Op {
        name: fields.text("name")?,
        kind: OpKind::new(fields.text("type")?),
        inputs: fields.ids("inputs")?,
        outputs: fields.ids("outputs")?,
        attributes,
        extra: fields.rest(),
    })
}

fn tensor_to_json(id: TensorId, tensor: &Tensor) -> Value {
    let mut map = Map::new();
    map.insert("id".into(), id.0.into());
    if !tensor.name.is_empty() {
        map.insert("name".into(), tensor.name.as_str().into());
    }
    map.insert("bytes".into(), tensor.bytes.into());
    if let Some(shape) = &tensor.shape {
        map.insert("shape".into(), json!(shape));
    }
    if let Ok(known) = serde_json::to_value(&tensor.known) {
        map.insert("known_shape".into(), known);
    }
    if let Some(dtype) = &tensor.dtype {
        // As it was spelled, if that still says the same.
        let spelled = tensor.extra.get("dtype").and_then(Value::as_str);
        let spelled = spelled.filter(|&name| ElementType::parse(name) == *dtype);
        map.insert("dtype".into(), spelled.unwrap_or(dtype.name()).into());
    }
    if let Some(quantization) = &tensor.quantization {
        let spelled = tensor.extra.get("quantization");
        let spelled =
            spelled.filter(|&value| Quantization::from_json(value).is_ok_and(|q| q == *quantization));
        map.insert("quantization".into(), spelled.cloned().unwrap_or_else(|| quantization.to_json()));
    }
    add_the_rest(&mut map, &tensor.extra);
    Value::Object(map)
}

fn op_to_json(op: &Op) -> Value {
    let mut map = Map::new();
    if !op.name.is_empty() {
        map.insert("name".into(), op.name.as_str().into());
    }
    if !op.kind.as_str().is_empty() {
        map.insert("type".into(), op.kind.as_str().into());
    }
    map.insert("inputs".into(), ids_to_json(&op.inputs));
    map.insert("outputs".into(), ids_to_json(&op.outputs));
    if !op.attributes.is_empty() {
        map.insert("attributes".into(), Value::Object(op.attributes.clone()));
    }
    add_the_rest(&mut map, &op.extra);
    Value::Object(map)
}

/// What was kept for writing back, where nothing newer has taken its place.
fn add_the_rest(map: &mut Map<String, Value>, kept: &Map<String, Value>) {
    for (key, value) in kept {
        map.entry(key).or_insert_with(|| value.clone());
    }
}

fn ids_to_json(ids: &[TensorId]) -> Value {
    ids.iter().map(|id| Value::from(id.0)).collect()
}

/// The fields of one JSON object, taken out one by one; what remains is unknown to us.
struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    fn new(path: &str, value: Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(map) => Ok(Self { path: path.to_owned(), map }),
            other => {
                let path = if path.is_empty() { "the document" } else { path };
                Err(field_error(path.to_owned(), "an object", &other))
            }
        }
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn error(&self, key: &str, expected: &str, found: &Value) -> JsonError {
        field_error(self.at(key), expected, found)
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key)
    }

    /// Puts a value back to be written again as it was.
    fn keep(&mut self, key: &str, value: Value) {
        self.map.insert(key.to_owned(), value);
    }

    /// A field that says something. One that is null or empty means the same as none; it stays, to be written again as it was.
    fn take_unless_empty(&mut self, key: &str) -> Option<Value> {
        let is_empty = match self.map.get(key)? {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if is_empty { None } else { self.take(key) }
    }

    /// A text, or an empty one if there is none.
    fn text(&mut self, key: &str) -> Result<String, JsonError> {
        match self.take_unless_empty(key) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.error(key, "a text", &other)),
        }
    }

    fn array(&mut self, key: &str) -> Result<Vec<Value>, JsonError> {
        match self.take(key) {
            Some(Value::Array(items)) => Ok(items),
            other => Err(self.error(key, "an array", &other.unwrap_or(Value::Null))),
        }
    }

    fn ids(&mut self, key: &str) -> Result<Vec<TensorId>, JsonError> {
        let items = self.array(key)?;
        items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                item.as_u64().and_then(|id| u32::try_from(id).ok()).map(TensorId).ok_or_else(|| {
                    self.error(&format!("{key}[{index}]"), "the id of a tensor, a whole number", item)
                })
            })
            .collect()
    }

    fn unknown(&mut self) -> Result<Vec<Unknown>, JsonError> {
        if !self.map.contains_key("unknown") {
            return Ok(Vec::new());
        }
        let items = self.array("unknown")?;
        let read = |(index, item): (usize, &Value)| {
            let expected = "an object with a \"kind\" (size, scratch, sub-graph or order) and a \"name\"";
            Unknown::deserialize(item).map_err(|_| self.error(&format!("unknown[{index}]"), expected, item))
        };
        items.iter().enumerate().map(read).collect()
    }

    fn shape(&mut self) -> Result<Option<Vec<u64>>, JsonError> {
        let dims = match self.take_unless_empty("shape") {
            None => return Ok(None),
            Some(Value::Array(dims)) => dims,
            Some(other) => return Err(self.error("shape", "an array", &other)),
        };
        dims.iter()
            .enumerate()
            .map(|(index, dim)| {
                dim.as_u64().ok_or_else(|| {
                    self.error(&format!("shape[{index}]"), "a dimension, a whole number at least 0", dim)
                })
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn quantization(&mut self) -> Result<Option<Quantization>, JsonError> {
        let Some(given) = self.take_unless_empty("quantization") else {
            return Ok(None);
        };
        let read = Quantization::from_json(&given).map_err(|(path, expected, found)| {
            self.error(&format!("quantization{path}"), expected, &found)
        })?;
        if read.to_json() != given {
            self.keep("quantization", given);
        }
        Ok(Some(read))
    }

    fn rest(self) -> Map<String, Value> {
        self.map
    }
}

fn field_error(path: String, expected: &str, found: &Value) -> JsonError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => {
            let text = other.to_string();
            match text.char_indices().nth(40) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        }
    };
    JsonError::Field { path, expected: expected.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = r#"{"name": "cell", "made_by": {"tool": "x"},
        "tensors": [{"id": 0, "name": "x", "bytes": 4096, "note": [1]}, {"shape": [1, 2, 2, 4], "dtype": "FLOAT"}],
        "ops": [{"name": "conv1", "type": "CONV_2D", "inputs": [0], "outputs": [1], "attributes": {"stride": 2}, "line": 7}],
        "inputs": [0], "outputs": [1]}"#;

    /// Every value of `given` that `written` lacks or has otherwise, by its path.
    fn lost(given: &Value, written: &Value, path: &str) -> Vec<String> {
        match (given, written) {
            (Value::Object(given), Value::Object(written)) => given
                .iter()
                .flat_map(|(key, value)| {
                    let path = format!("{path}.{key}");
                    written.get(key).map_or_else(|| vec![path.clone()], |other| lost(value, other, &path))
                })
                .collect(),
            (Value::Array(given), Value::Array(written)) if given.len() == written.len() => {
                let pairs = given.iter().zip(written).enumerate();
                pairs
                    .flat_map(|(i, (given, written))| lost(given, written, &format!("{path}[{i}]")))
                    .collect()
            }
            _ if given == written => Vec::new(),
            _ => vec![format!("{path}: {given} became {written}")],
        }
    }

    #[test]
    fn a_round_trip_loses_nothing() {
        let odd = r#"{"name": "", "version": 123456789012345678901234567890, "pi": 3.14159265358979323846264338327950288,
            "tensors": [{"name": "", "bytes": 1, "dtype": "Float"}, {"name": null, "bytes": 2, "dtype": "weird", "shape": []},
                {"bytes": 3, "dtype": "", "shape": null, "scale": 0.10, "big": 1e400},
                {"bytes": 4, "quantization": {"scales": [0.10, 2], "zero_points": [-128], "axis": 3}},
                {"bytes": 5, "quantization": {"scales": [0.5], "min": [0.0]}}, {"bytes": 6, "quantization": {}}],
            "ops": [{"name": "", "type": "", "inputs": [0], "outputs": [1], "attributes": {}},
                {"type": null, "inputs": [1], "outputs": [2], "attributes": null},
                {"inputs": [2, 2], "outputs": [], "attributes": {"alpha": 1.0, "beta": 0.30000000000000004}, "x": {"y": []}}],
            "inputs": [0], "outputs": [2, 2]}"#;
        for text in [CELL, odd] {
            let graph = parse(text).unwrap();
            let written = write(&graph);
            assert_eq!(parse(&written).unwrap(), graph);
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(lost(&value(text), &value(&written), ""), Vec::<String>::new(), "{written}");
        }
        assert_eq!(parse(CELL).unwrap().tensors()[1].bytes, 64);
    }

    #[test]
    fn a_spelling_is_kept_only_while_it_says_the_same() {
        let mut tensor = parse(CELL).unwrap().tensor(TensorId(1)).clone();
        assert_eq!(tensor_to_json(TensorId(1), &tensor)["dtype"], "FLOAT");
        tensor.dtype = Some(ElementType::Int8);
        assert_eq!(tensor_to_json(TensorId(1), &tensor)["dtype"], "int8");
    }

    #[test]
    fn every_fault_names_its_place() {
        let cases = [
            ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "`the document`: expected an object, found an array"),
            ("{}", "`tensors`: expected an array, found nothing"),
            (
                r#"{"tensors": [{"bytes": -1}], "ops": [], "inputs": [], "outputs": []}"#,
                "`tensors[0].bytes`: expected a whole number of bytes, at least 0 and below 2^64, found -1",
            ),
            (
                r#"{"tensors": [{"bytes": 18446744073709551616}], "ops": [], "inputs": [], "outputs": []}"#,
                "`tensors[0].bytes`: expected a whole number of bytes, at least 0 and below 2^64, found 18446744073709551616",
            ),
            (
                r#"{"tensors": [{"id": 1, "bytes": 1}], "ops": [], "inputs": [], "outputs": []}"#,
                "`tensors[0].id`: expected 0: ids are dense and in order, found 1",
            ),
            (
                r#"{"tensors": [{"shape": [2]}], "ops": [], "inputs": [], "outputs": []}"#,
                "`tensors[0].bytes`: expected a size, or \"shape\" and a known \"dtype\" that give one, found nothing",
            ),
            (
                r#"{"tensors": [{"bytes": 1, "quantization": {"scales": [1, "a"]}}], "ops": [], "inputs": [], "outputs": []}"#,
                "`tensors[0].quantization.scales[1]`: expected a number, found \"a\"",
            ),
            (
                r#"{"tensors": [], "ops": [{"inputs": ["x"], "outputs": []}], "inputs": [], "outputs": []}"#,
                "`ops[0].inputs[0]`: expected the id of a tensor, a whole number, found \"x\"",
            ),
            (
                r#"{"tensors": [], "ops": [], "inputs": [], "outputs": []}"#,
                "the graph has no operators: there is nothing to schedule",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn no_prefix_and_no_single_byte_change_panics() {
        for end in 0..CELL.len() {
            let _ = parse(&CELL[..end]);
        }
        for position in 0..CELL.len() {
            for byte in [b'0', b'9', b'"', b'[', b'}', b'-', b'e'] {
                let mut bytes = CELL.as_bytes().to_vec();
                bytes[position] = byte;
                if let Ok(text) = std::str::from_utf8(&bytes) {
                    let _ = parse(text);
                }
            }
        }
    }
}
