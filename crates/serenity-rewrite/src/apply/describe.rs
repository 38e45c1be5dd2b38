//! Names and descriptions of what is new.

use super::NewConstant;
use serde_json::{Value, json};
use serenity_ir::{Attributes, Op};

pub(super) fn rename(op: &mut Op, label: &str, suffix: &str) {
    op.name = joined(label, suffix);
}

/// Converters join the names of all that they fused by semicolons; the first is enough.
pub(super) fn joined(name: &str, suffix: &str) -> String {
    let name = name.split(';').next().unwrap_or_default();
    if name.is_empty() { suffix.to_owned() } else { format!("{name}/{suffix}") }
}

/// Describes a constant anew; the values of a part are no longer those of the whole.
pub(super) fn set_constant(
    attributes: &mut Attributes,
    position: usize,
    constant: &NewConstant,
    suffix: &str,
) {
    let key = position.to_string();
    let Some(constants) = attributes.get_mut("constants").and_then(Value::as_object_mut) else { return };
    if *constant == NewConstant::Absent {
        constants.remove(&key);
        return;
    }
    let Some(described) = constants.get_mut(&key).and_then(Value::as_object_mut) else { return };
    described.remove("values");
    if let Some(name) = described.get("name").and_then(Value::as_str) {
        let name = joined(name, suffix);
        described.insert("name".to_owned(), json!(name));
    }
    match constant {
        NewConstant::Slice { axis, from, to } => {
            if let Some(size) = described.get_mut("shape").and_then(|shape| shape.get_mut(axis)) {
                *size = json!(to - from);
            }
        }
        NewConstant::Dimensions(dims) => drop(described.insert("values".to_owned(), json!(dims))),
        NewConstant::Permuted(permutation) => {
            let old = described.get("shape").and_then(Value::as_array).cloned().unwrap_or_default();
            drop(described.insert("shape".to_owned(), json!(permuted(&old, &json!(1), permutation))));
        }
        NewConstant::Zeros | NewConstant::Absent | NewConstant::Rows(_) => {}
    }
}

/// The sizes of dimensions after a permutation of as many as it has; those that are missing in front are `one`.
pub(crate) fn permuted<T: Clone>(shape: &[T], one: &T, permutation: &[usize]) -> Vec<T> {
    let missing = permutation.len().saturating_sub(shape.len());
    let size =
        |&axis: &usize| axis.checked_sub(missing).and_then(|axis| shape.get(axis)).unwrap_or(one).clone();
    permutation.iter().map(size).collect()
}
