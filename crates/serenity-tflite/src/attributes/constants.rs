//! Operands that are no activations: constants, variables, and absent ones.

use crate::budget::Budget;
use crate::operator::FileOperator;
use crate::schema::element;
use crate::tensor::{FileTensor, Storage};
use crate::{Error, Model};
use serde_json::{Map, Value, json};
use serenity_ir::{Attributes, ElementType};

/// Constants of at most so many whole numbers are given with their values, quantisations of at most so many scales in full.
const MOST_VALUES: usize = 64;

/// Tables by which loops look numbers up may be longer.
const MOST_OF_A_TABLE: usize = 4096;

/// Adds `constants`, `variables` and `absent`, as far as there are any.
pub(crate) fn describe(
    model: &Model,
    sub_graph: usize,
    operator: usize,
    storage: &[Storage],
    attributes: &mut Attributes,
    budget: &mut Budget,
) -> Result<(), Error> {
    let place = || format!("sub-graph {sub_graph}, operator {operator}, inputs");
    let tables = &model.sub_graphs[sub_graph];
    let (mut constants, mut variables, mut absent) = (Map::new(), Map::new(), Vec::new());
    for (position, operand) in tables.operators[operator].inputs.iter().enumerate() {
        let Some(operand) = *operand else {
            absent.push(position);
            continue;
        };
        let tensor = &tables.tensors[operand];
        let list = match storage[operand] {
            Storage::Activation => continue,
            Storage::Constant => &mut constants,
            Storage::Variable => &mut variables,
        };
        budget.take(1024 + tensor.name.len() + 64 * tensor.shape.len(), place)?;
        let mut description = Map::new();
        description.insert("name".to_owned(), json!(tensor.name));
        description.insert("shape".to_owned(), json!(tensor.shape));
        description.insert("dtype".to_owned(), json!(tensor.dtype.name()));
        if let Some(quantization) = &tensor.quantization {
            description.insert("quantization".to_owned(), quantization_json(quantization, budget, place)?);
        }
        let data = model.buffer(tensor.buffer);
        let kind = tables.operators[operator].kind.as_str();
        if storage[operand] == Storage::Constant {
            if let Some(values) = values(tensor, data, most_values(kind, position)) {
                budget.take(64 * values.len(), place)?;
                description.insert("values".to_owned(), json!(values));
            } else if let Some(value) = fill(kind, tensor, data) {
                description.insert("fill".to_owned(), json!(value));
            }
        }
        list.insert(position.to_string(), Value::Object(description));
    }
    for (name, list) in [("constants", constants), ("variables", variables)] {
        if !list.is_empty() {
            attributes.insert(name.to_owned(), Value::Object(list));
        }
    }
    if !absent.is_empty() {
        attributes.insert("absent".to_owned(), json!(absent));
    }
    Ok(())
}

/// In full, or, if there is a scale for each of many channels, only how many there are; the file's own tensor has them all.
fn quantization_json(
    quantization: &serenity_ir::Quantization,
    budget: &mut Budget,
    place: impl Fn() -> String,
) -> Result<Value, Error> {
    let count = quantization.scales.len().max(quantization.zero_points.len());
    if count > MOST_VALUES {
        return Ok(json!({"count": count, "axis": quantization.axis}));
    }
    budget.take(128 * count, place)?;
    Ok(quantization.to_json())
}

/// The whole numbers of a small constant operand.
pub(crate) fn operand_values(
    model: &Model,
    sub_graph: usize,
    operator: &FileOperator,
    position: usize,
    storage: &[Storage],
) -> Option<Vec<i64>> {
    let operand = operator.inputs.get(position).copied().flatten()?;
    let tensor = &model.sub_graphs[sub_graph].tensors[operand];
    (storage[operand] == Storage::Constant)
        .then(|| values(tensor, model.buffer(tensor.buffer), MOST_VALUES))
        .flatten()
}

/// The one finite number of a constant operand of type `float32`.
pub(crate) fn operand_real(
    model: &Model,
    sub_graph: usize,
    operator: &FileOperator,
    position: usize,
    storage: &[Storage],
) -> Option<f32> {
    let operand = operator.inputs.get(position).copied().flatten()?;
    let tensor = &model.sub_graphs[sub_graph].tensors[operand];
    if storage[operand] != Storage::Constant || tensor.dtype != ElementType::Float32 {
        return None;
    }
    let bytes = model.buffer(tensor.buffer).try_into().ok()?;
    Some(f32::from_le_bytes(bytes)).filter(|value| value.is_finite())
}

/// A `SLICE` of a constant looks numbers up in a table, which says what a loop does.
fn most_values(kind: &str, position: usize) -> usize {
    if (kind, position) == ("SLICE", 0) { MOST_OF_A_TABLE } else { MOST_VALUES }
}

/// The one value of all elements of a constant that a loop fills rows with.
fn fill(kind: &str, tensor: &FileTensor, data: &[u8]) -> Option<i64> {
    let is_filler = matches!(kind, "WHILE" | "CONCATENATION" | "DYNAMIC_UPDATE_SLICE" | "FILL");
    if !is_filler || data.len() as u64 != tensor.bytes {
        return None;
    }
    let first = *data.first()?;
    match element::name(tensor.type_code)? {
        "int8" => data.iter().all(|&byte| byte == first).then_some(i64::from(first.cast_signed())),
        "int16" => {
            let (elements, _) = data.as_chunks::<2>();
            elements.iter().all(|e| Some(e) == elements.first()).then_some(())?;
            Some(i64::from(i16::from_le_bytes(*elements.first()?)))
        }
        "float32" => data.iter().all(|&byte| byte == 0).then_some(0),
        _ => None,
    }
}

/// The elements of a small constant of whole numbers.
fn values(tensor: &FileTensor, data: &[u8], most: usize) -> Option<Vec<i64>> {
    fn each<const N: usize>(data: &[u8], read: impl Fn([u8; N]) -> i64) -> Vec<i64> {
        data.as_chunks::<N>().0.iter().map(|&element| read(element)).collect()
    }
    if data.len() as u64 != tensor.bytes || data.len() > 8 * most {
        return None;
    }
    let values = match element::name(tensor.type_code)? {
        "int8" => each(data, |[byte]| i64::from(byte.cast_signed())),
        "uint8" | "bool" => each(data, |[byte]| i64::from(byte)),
        "int16" => each(data, |e| i64::from(i16::from_le_bytes(e))),
        "uint16" => each(data, |e| i64::from(u16::from_le_bytes(e))),
        "int32" => each(data, |e| i64::from(i32::from_le_bytes(e))),
        "uint32" => each(data, |e| i64::from(u32::from_le_bytes(e))),
        "int64" => each(data, i64::from_le_bytes),
        _ => return None,
    };
    (values.len() <= most).then_some(values)
}
