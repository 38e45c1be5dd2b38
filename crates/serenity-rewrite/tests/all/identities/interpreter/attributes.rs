//! The attributes of an op; one that is missing or odd fails the test that needs it.

use serde_json::Value;
use serenity_ir::Op;

fn get<'a, T>(op: &'a Op, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> T {
    let value = op.attributes.get(name);
    value.and_then(read).unwrap_or_else(|| panic!("op `{}` has {name} = {value:?}", op.name))
}

pub(crate) fn text<'a>(op: &'a Op, name: &str) -> &'a str {
    get(op, name, Value::as_str)
}

pub(crate) fn number(op: &Op, name: &str) -> usize {
    get(op, name, |value| value.as_u64().map(|value| value as usize))
}

pub(crate) fn real(op: &Op, name: &str) -> f32 {
    get(op, name, |value| value.as_f64().map(|value| value as f32))
}

pub(crate) fn pair(op: &Op, name: &str) -> [usize; 2] {
    get(op, name, |value| {
        let numbers: Option<Vec<usize>> =
            value.as_array()?.iter().map(|value| value.as_u64().map(|value| value as usize)).collect();
        numbers?.try_into().ok()
    })
}

/// The numbers of an operand such as `axes`, `size` or `paddings`; where the op has them as an attribute too, it must say the same.
pub(crate) fn numbers(op: &Op, name: &str, operand: &super::Value) -> Vec<usize> {
    fn flat(value: &Value) -> Vec<u64> {
        match value {
            Value::Array(items) => items.iter().flat_map(flat).collect(),
            number => vec![number.as_u64().expect("a whole number")],
        }
    }
    let numbers: Vec<usize> =
        operand.int32().values.iter().map(|&number| usize::try_from(number).expect("no sign")).collect();
    if let Some(said) = op.attributes.get(name) {
        let given: Vec<u64> = numbers.iter().map(|&number| number as u64).collect();
        assert_eq!(flat(said), given, "`{name}` of `{}`, as attribute and as operand", op.name);
    }
    numbers
}

/// The new height and width of an image.
pub(crate) fn size(op: &Op, operand: &super::Value) -> [usize; 2] {
    numbers(op, "size", operand).try_into().expect("height and width")
}

/// How much is added before and after, along each axis.
pub(crate) fn paddings(op: &Op, operand: &super::Value) -> Vec<[usize; 2]> {
    numbers(op, "paddings", operand).as_chunks().0.to_vec()
}

/// A yes-or-no that means no where it is missing.
pub(crate) fn is_set(op: &Op, name: &str) -> bool {
    op.attributes.contains_key(name) && get(op, name, Value::as_bool)
}

/// The fused activation; none where it is missing.
pub(crate) fn activation(op: &Op) -> &str {
    if op.attributes.contains_key("activation") { text(op, "activation") } else { "none" }
}

/// The real numbers between which a fused activation keeps results.
pub(crate) fn limits(activation: &str) -> [Option<f32>; 2] {
    match activation {
        "none" => [None, None],
        "relu" => [Some(0.0), None],
        "relu6" => [Some(0.0), Some(6.0)],
        "relu_n1_to_1" => [Some(-1.0), Some(1.0)],
        other => panic!("no such fused activation: {other}"),
    }
}
