//! Constants that the file holds, and those that a graph describes in full.

use super::operators::MAIN;
use serde_json::Value;
use serenity_ir::{Constant, ElementType, OpId, Quantization};
use serenity_tflite::Model;

/// The constant that an operator of the main graph has for an operand.
pub(super) fn operand(model: &Model, op: OpId, position: usize) -> Option<Constant> {
    let operator = model.sub_graphs()[MAIN].operators().get(op.index())?;
    let tensor = operator.inputs.get(position).copied().flatten()?;
    model.sub_graphs()[MAIN].graph_tensor(tensor).is_none().then(|| stored(model, tensor))?
}

/// A tensor of the main graph whose elements are in the file.
pub(super) fn stored(model: &Model, tensor: usize) -> Option<Constant> {
    let described = model.sub_graphs()[MAIN].tensors().get(tensor)?;
    Some(Constant {
        name: described.name.clone(),
        shape: described.shape.clone(),
        dtype: described.dtype.clone(),
        quantization: described.quantization.clone(),
        data: model.constant(MAIN, tensor)?.to_vec(),
    })
}

/// The constant of a description with a shape, a type and all values; `None` if it lacks any of these, or they
/// contradict each other.
pub(super) fn made(description: &Value) -> Option<Constant> {
    let shape: Vec<u64> =
        description.get("shape")?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let dtype = ElementType::parse(description.get("dtype")?.as_str()?);
    let data = match (description.get("values"), description.get("fill")) {
        (Some(values), _) => {
            let elements = values.as_array()?.iter().map(|value| element(value, &dtype));
            elements.collect::<Option<Vec<_>>>()?.concat()
        }
        (None, Some(value)) => {
            let count = shape.iter().try_fold(1, |product: u64, &dim| product.checked_mul(dim))?;
            element(value, &dtype)?.repeat(usize::try_from(count).ok()?)
        }
        (None, None) => return None,
    };
    if dtype.bytes_of(&shape) != Some(data.len() as u64) {
        return None;
    }
    let quantization = match description.get("quantization").filter(|given| !given.is_null()) {
        Some(given) => Some(quantization(given)?),
        None => None,
    };
    let name = description.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Constant { name, shape, dtype, quantization, data })
}

/// One element, little-endian.
fn element(value: &Value, dtype: &ElementType) -> Option<Vec<u8>> {
    fn int<T: TryFrom<i64>>(value: &Value) -> Option<T> {
        T::try_from(value.as_i64()?).ok()
    }
    Some(match dtype {
        ElementType::Int8 => int::<i8>(value)?.to_le_bytes().to_vec(),
        ElementType::UInt8 => int::<u8>(value)?.to_le_bytes().to_vec(),
        ElementType::Int16 => int::<i16>(value)?.to_le_bytes().to_vec(),
        ElementType::Int32 => int::<i32>(value)?.to_le_bytes().to_vec(),
        ElementType::Int64 => int::<i64>(value)?.to_le_bytes().to_vec(),
        ElementType::Float32 => real(value)?.to_le_bytes().to_vec(),
        _ => return None,
    })
}

fn quantization(given: &Value) -> Option<Quantization> {
    let list = |key: &str| given.get(key).and_then(Value::as_array).map_or([].as_slice(), Vec::as_slice);
    Some(Quantization {
        scales: given.get("scales")?.as_array()?.iter().map(real).collect::<Option<_>>()?,
        zero_points: list("zero_points").iter().map(Value::as_i64).collect::<Option<_>>()?,
        axis: given.get("axis").map_or(Some(0), |axis| u32::try_from(axis.as_u64()?).ok())?,
    })
}

/// From the digits themselves: by way of a double it could be rounded twice.
fn real(value: &Value) -> Option<f32> {
    value.is_number().then(|| value.to_string().parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_and_fills_become_bytes() {
        let data = |description: &Value| made(description).map(|constant| constant.data);
        let rows = json!({"shape": [2, 2], "dtype": "int8", "fill": -3});
        assert_eq!(data(&rows), Some(vec![253; 4]));
        let table = json!({"shape": [2], "dtype": "int32", "values": [1, -2]});
        assert_eq!(data(&table), Some(vec![1, 0, 0, 0, 254, 255, 255, 255]));
        assert_eq!(data(&json!({"shape": [1], "dtype": "int16", "fill": 258})), Some(vec![2, 1]));
        let reals = json!({"shape": [2], "dtype": "float32", "values": [0, 0.1]});
        assert_eq!(data(&reals), Some([[0; 4], 0.1_f32.to_le_bytes()].concat()));
        let described = json!({
            "name": "rows", "shape": [], "dtype": "int8", "values": [0],
            "quantization": {"scales": [0.1], "zero_points": [-128]},
        });
        let quantization = Quantization { scales: vec![0.1], zero_points: vec![-128], axis: 0 };
        let constant = made(&described).unwrap();
        assert_eq!((constant.name.as_str(), constant.quantization), ("rows", Some(quantization)));
    }

    #[test]
    fn what_is_not_said_in_full_is_no_constant() {
        for description in [
            json!({"shape": [2], "dtype": "int8"}),
            json!({"shape": [2], "dtype": "int8", "values": [1]}),
            json!({"shape": [1], "dtype": "int8", "values": [128]}),
            json!({"shape": [1], "dtype": "int8", "values": [0.5]}),
            json!({"shape": [1], "dtype": "strange", "values": [1]}),
            json!({"dtype": "int8", "fill": 1}),
            json!({"shape": [1], "dtype": "int8", "fill": 1, "quantization": {"count": 65, "axis": 3}}),
        ] {
            assert_eq!(made(&description), None, "{description}");
        }
    }
}
