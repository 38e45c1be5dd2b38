//! What an op is given, position by position. A copy of an op of the original has the constants of that at all
//! positions where it has none of its own.

use super::identity::Identity;
use serde_json::Value;
use serenity_ir::{ElementType, Graph, Op, TensorId};
use std::collections::BTreeSet;

/// What is given at one position.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Activation(TensorId),
    Constant(Constant),
    /// State that outlives a run, or nothing.
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct Constant {
    /// The op that it belongs to.
    pub(super) of: Identity,
    pub(super) shape: Option<Vec<u64>>,
    pub(super) dtype: Option<ElementType>,
    /// Its bytes, or a part of them that they repeat, if they are known.
    pub(super) data: Option<Box<[u8]>>,
    /// The description, if a copy has one that its original has not.
    pub(super) is_own: bool,
}

/// A tensor that lies packed in whole bytes, wherever it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: ElementType,
    /// Bytes an element.
    pub(super) item: u64,
    pub(super) bytes: u64,
}

impl Packed {
    pub(super) fn of(shape: Option<&Vec<u64>>, dtype: Option<&ElementType>) -> Option<Self> {
        let (shape, dtype) = (shape?.clone(), dtype?.clone());
        let item = dtype.bits().filter(|bits| bits.is_multiple_of(8))? / 8;
        let bytes = dtype.bytes_of(&shape).filter(|&bytes| bytes > 0)?;
        Some(Self { shape, dtype, item, bytes })
    }

    pub(super) fn tensor(graph: &Graph, tensor: TensorId) -> Option<Self> {
        let tensor = graph.tensor(tensor);
        Self::of(tensor.shape.as_ref(), tensor.dtype.as_ref()).filter(|packed| packed.bytes == tensor.bytes)
    }

    /// Height, width and depth of a picture.
    /// How many rows it has, how wide they are and how deep: of a picture, or of one line whose columns are taken for rows.
    pub(super) fn picture(&self, is_line: bool) -> Option<[u64; 3]> {
        match self.shape[..] {
            [1, 1, width, depth] | [1, width, depth] if is_line => Some([width, 1, depth]),
            [1, height, width, depth] if !is_line => Some([height, width, depth]),
            _ => None,
        }
    }
}

impl Operand {
    pub(super) fn packed(&self, graph: &Graph) -> Option<Packed> {
        match self {
            Self::Activation(tensor) => Packed::tensor(graph, *tensor),
            Self::Constant(constant) => Packed::of(constant.shape.as_ref(), constant.dtype.as_ref()),
            Self::Other => None,
        }
    }
}

/// An op with who it is, and the op of the original that it is a copy of.
pub(super) struct Who<'a> {
    pub(super) identity: Identity,
    pub(super) original: Option<(&'a Op, Identity)>,
    /// Are its columns taken for rows?
    pub(super) is_line: bool,
}

/// All operands of an op, in the order of its signature. `numbers` knows the values of constants that are not described in full.
pub(super) fn operands(op: &Op, who: &Who, numbers: &dyn Fn(usize) -> Option<Vec<i64>>) -> Vec<Operand> {
    let of_original = |name, position| who.original.as_ref().and_then(|(op, _)| stored(op, name, position));
    let is_other = |position: usize| {
        let is_left_out =
            op.is_absent(position) || who.original.as_ref().is_some_and(|(op, _)| op.is_absent(position));
        is_left_out || stored(op, "variables", position).or(of_original("variables", position)).is_some()
    };
    let mut activations = op.inputs.iter();
    let mut operands = Vec::new();
    let mut stored_at: BTreeSet<String> = stored_positions(op).collect();
    stored_at.extend(who.original.iter().flat_map(|(op, _)| stored_positions(op)));
    let count = op.inputs.len() + stored_at.len();
    for position in 0..count {
        let own = stored(op, "constants", position);
        let operand = match (own, of_original("constants", position)) {
            (Some(own), Some(original)) if is_described_alike(own, original) => {
                constant(original, who.original.as_ref().map_or(who.identity, |(_, identity)| *identity))
            }
            (Some(own), original) => Constant { is_own: original.is_some(), ..constant(own, who.identity) },
            (None, Some(original)) => {
                constant(original, who.original.as_ref().map_or(who.identity, |(_, identity)| *identity))
            }
            (None, None) if is_other(position) => {
                operands.push(Operand::Other);
                continue;
            }
            (None, None) => {
                operands.push(activations.next().map_or(Operand::Other, |&t| Operand::Activation(t)));
                continue;
            }
        };
        let data = operand.data.clone().or_else(|| {
            let values: Vec<Value> = numbers(position)?.into_iter().map(Value::from).collect();
            encoded(&values, operand.shape.as_deref()?, operand.dtype.as_ref()?)
        });
        operands.push(Operand::Constant(Constant { data, ..operand }));
    }
    operands
}

/// Where an op is given something that is no activation, or nothing.
fn stored_positions(op: &Op) -> impl Iterator<Item = String> {
    let keys = |name: &str| op.attributes.get(name).and_then(Value::as_object).map(|map| map.keys().cloned());
    let absent = op.attributes.get("absent").and_then(Value::as_array);
    let absent = absent.into_iter().flatten().filter_map(Value::as_u64).map(|position| position.to_string());
    keys("constants").into_iter().flatten().chain(keys("variables").into_iter().flatten()).chain(absent)
}

fn stored<'a>(op: &'a Op, list: &str, position: usize) -> Option<&'a Value> {
    op.attributes.get(list)?.get(position.to_string())
}

/// Names aside: a copy may be given the constant under another one.
fn is_described_alike(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    a.keys().chain(b.keys()).filter(|&key| key != "name").all(|key| a.get(key) == b.get(key))
}

fn constant(description: &Value, of: Identity) -> Constant {
    let list = |name: &str| description.get(name).and_then(Value::as_array);
    let shape = list("shape").and_then(|sides| sides.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
    let dtype = description.get("dtype").and_then(Value::as_str).map(ElementType::parse);
    let data = match (description.get("fill"), list("values"), &shape, &dtype) {
        (Some(fill), _, _, Some(dtype)) => element(fill, dtype).map(Vec::into_boxed_slice),
        (None, Some(values), Some(shape), Some(dtype)) => encoded(values, shape, dtype),
        _ => None,
    };
    Constant { of, shape, dtype, data, is_own: false }
}

/// The bytes of a constant, if there are as many values as its shape says.
fn encoded(values: &[Value], shape: &[u64], dtype: &ElementType) -> Option<Box<[u8]>> {
    let elements: Vec<Vec<u8>> = values.iter().map(|value| element(value, dtype)).collect::<Option<_>>()?;
    let bytes = elements.concat();
    (dtype.bytes_of(shape) == Some(bytes.len() as u64) && !bytes.is_empty()).then(|| bytes.into_boxed_slice())
}

/// The bytes of one element; `None` for types that nobody fills with numbers here.
pub(super) fn element(value: &Value, dtype: &ElementType) -> Option<Vec<u8>> {
    if *dtype == ElementType::Float32 {
        return Some((value.as_f64()? as f32).to_le_bytes().to_vec());
    }
    let number = value.as_bool().map(i64::from).or_else(|| value.as_i64())?;
    let is_signed =
        matches!(dtype, ElementType::Int8 | ElementType::Int16 | ElementType::Int32 | ElementType::Int64);
    let is_unsigned = matches!(dtype, ElementType::UInt8 | ElementType::Bool);
    let bits = dtype.bits().filter(|_| is_signed || is_unsigned)?;
    let (low, high) = match (is_signed, bits) {
        (_, 64) => (i64::MIN, i64::MAX),
        (true, _) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, _) => (0, (1 << bits) - 1),
    };
    (low..=high).contains(&number).then(|| number.to_le_bytes()[..bits as usize / 8].to_vec())
}

/// The whole numbers that bytes stand for.
pub(super) fn numbers(bytes: &[u8], dtype: &ElementType) -> Option<Vec<i64>> {
    match dtype {
        ElementType::Int32 => {
            Some(bytes.as_chunks::<4>().0.iter().map(|&e| i64::from(i32::from_le_bytes(e))).collect())
        }
        ElementType::Int64 => Some(bytes.as_chunks::<8>().0.iter().map(|&e| i64::from_le_bytes(e)).collect()),
        _ => None,
    }
}
