//! The data of constants, in all the ways in which a file may hold them.

use crate::wire::*;
use serenity_ir::ElementType;
use serenity_onnx::{Model, ReadOptions};
use std::borrow::Cow;

const DOUBLE: i64 = 11;
const FLOAT16: i64 = 10;
const BFLOAT16: i64 = 16;
const INT8: i64 = 3;
const UINT8: i64 = 2;
const INT32: i64 = 6;
const BOOL: i64 = 9;

/// A model around an initializer `w`, given without its name.
fn around(tensor: &[Vec<u8>]) -> Model {
    let bytes = model(&[
        node("Relu", &["x"], &["y"], &[]),
        initializer(&[tensor.concat(), record(8, "w")].concat()),
        input("x", &[4]),
        output("y"),
    ]);
    Model::parse(bytes, &ReadOptions::default()).unwrap()
}

fn data(data_type: i64, shape: &[i64], records: &[Vec<u8>]) -> Option<Vec<u8>> {
    let dims = shape.iter().flat_map(|&size| number(1, size)).collect();
    let model = around(&[vec![dims, number(2, data_type)], records.to_vec()].concat());
    let constant = model.constant("w")?;
    assert_eq!(constant.shape, shape.iter().map(|&size| size as u64).collect::<Vec<_>>());
    Some(constant.data.into_owned())
}

fn packed(field: u64, values: &[i64]) -> Vec<u8> {
    record(field, values.iter().flat_map(|&value| varint(value as u64)).collect::<Vec<u8>>())
}

#[test]
fn raw_bytes_are_handed_out_as_they_are() {
    let raw = |length: usize| vec![record(9, (0..length as u8).collect::<Vec<u8>>())];
    let types =
        [(FLOAT, 4), (DOUBLE, 8), (FLOAT16, 2), (BFLOAT16, 2), (INT8, 1), (UINT8, 1), (INT32, 4), (INT64, 8)];
    for (data_type, size) in types {
        let expected: Vec<u8> = (0..6 * size as u8).collect();
        assert_eq!(data(data_type, &[2, 3], &raw(6 * size)), Some(expected));
        assert_eq!(data(data_type, &[2, 3], &raw(6 * size - 1)), None);
        assert_eq!(data(data_type, &[2, 0], &raw(0)), Some(vec![]));
    }
    let model = around(&[number(1, 2), number(2, INT8), record(9, [1, 2])]);
    let constant = model.constant("w").unwrap();
    assert_eq!(constant.dtype, ElementType::Int8);
    // Without a copy.
    assert!(matches!(constant.data, Cow::Borrowed(_)));
}

#[test]
fn lists_of_numbers_are_packed() {
    let float = |value: f32| value.to_le_bytes().to_vec();
    let two_floats = [float(1.5), float(-2.0)].concat();
    assert_eq!(data(FLOAT, &[2], &[record(4, &two_floats)]), Some(two_floats.clone()));
    let one_by_one = [[varint(4 << 3 | 5), float(1.5)].concat(), [varint(4 << 3 | 5), float(-2.0)].concat()];
    assert_eq!(data(FLOAT, &[2], &one_by_one), Some(two_floats.clone()));
    assert_eq!(data(FLOAT, &[2], &[record(4, float(1.5)), one_by_one[1].clone()]), Some(two_floats));
    let double = 0.1_f64.to_le_bytes();
    assert_eq!(data(DOUBLE, &[], &[record(10, double)]), Some(double.to_vec()));
    assert_eq!(data(DOUBLE, &[1], &[[varint(10 << 3 | 1), double.to_vec()].concat()]), Some(double.to_vec()));
    let wide = [i64::MIN, -1, 300];
    let bytes: Vec<u8> = wide.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(data(INT64, &[3], &[packed(7, &wide)]), Some(bytes.clone()));
    assert_eq!(data(INT64, &[3], &wide.map(|v| number(7, v))), Some(bytes));
    assert_eq!(data(INT32, &[2], &[packed(5, &[-2, 7])]), Some(vec![254, 255, 255, 255, 7, 0, 0, 0]));
    assert_eq!(data(INT8, &[2], &[number(5, -128), number(5, 127)]), Some(vec![128, 127]));
    assert_eq!(data(UINT8, &[2], &[packed(5, &[0, 255])]), Some(vec![0, 255]));
    for half in [FLOAT16, BFLOAT16] {
        assert_eq!(data(half, &[2], &[packed(5, &[0x3c00, 0xffff])]), Some(vec![0, 0x3c, 0xff, 0xff]));
    }
}

#[test]
fn what_is_no_constant_with_data_gives_none() {
    // Too many, too few, too large, in another type's field, nothing at all.
    assert_eq!(data(INT64, &[2], &[packed(7, &[1])]), None);
    assert_eq!(data(INT64, &[2], &[packed(7, &[1, 2, 3])]), None);
    assert_eq!(data(INT8, &[1], &[packed(5, &[128])]), None);
    assert_eq!(data(UINT8, &[1], &[packed(5, &[-1])]), None);
    assert_eq!(data(FLOAT16, &[1], &[packed(5, &[0x1_0000])]), None);
    assert_eq!(data(FLOAT, &[1], &[packed(5, &[1])]), None);
    assert_eq!(data(FLOAT, &[1], &[record(4, [0; 3])]), None);
    assert_eq!(data(FLOAT, &[i64::MAX, i64::MAX], &[]), None);
    assert_eq!(data(FLOAT, &[1], &[]), None);
    // Types that are not handed out, numbers cut off, pieces, and data elsewhere.
    assert_eq!(data(BOOL, &[1], &[record(9, [1])]), None);
    assert_eq!(data(INT64, &[1], &[record(7, [0x80])]), None);
    assert_eq!(data(INT8, &[1], &[record(3, []), record(9, [1])]), None);
    assert_eq!(data(INT8, &[1], &[record(9, [1]), number(14, 1)]), None);
    let model = around(&[number(1, 1), number(2, INT8), record(9, [1])]);
    assert!(["x", "y", "", "other"].iter().all(|name| model.constant(name).is_none()));
}

#[test]
fn constant_nodes_count_and_doubtful_names_do_not() {
    let constant = |name: &str, value: i64| {
        node("Constant", &[], &[name], &[tensor_attribute("value", &ints("other", &[value]))])
    };
    let sparse = record(15, [record(1, ints("sparse", &[1])), number(3, 1)].concat());
    let bytes = model(&[
        constant("k", 5),
        node("Constant", &[], &["listed"], &[ints_attribute("value_ints", &[1])]),
        node("Relu", &["x"], &["y"], &[]),
        initializer(&ints("twice", &[1])),
        initializer(&ints("twice", &[2])),
        sparse,
        input("x", &[4]),
        output("y"),
    ]);
    let model = Model::parse(bytes, &ReadOptions::default()).unwrap();
    assert_eq!(model.constant("k").unwrap().data[..], 5_i64.to_le_bytes());
    assert!(["listed", "twice", "sparse", "other"].iter().all(|name| model.constant(name).is_none()));
    assert_eq!((model.node_inputs(2), model.node_outputs(2)), (vec!["x".to_owned()], vec!["y".to_owned()]));
    assert!(model.node_inputs(99).is_empty());
    assert_eq!(model.opset(), 13);
}
