//! One node at a time: the shape its output must have.

use crate::wire::*;
use serenity_onnx::{Model, ReadOptions};

/// The shape of the first output of a node that reads `x` of shape `input`, then the given whole numbers as constants.
fn shape(
    op_type: &str,
    attributes: &[Vec<u8>],
    input_shape: &[i64],
    constants: &[&[i64]],
) -> Option<Vec<u64>> {
    let names: Vec<String> = (0..constants.len()).map(|n| format!("c{n}")).collect();
    let inputs: Vec<&str> = std::iter::once("x").chain(names.iter().map(String::as_str)).collect();
    let mut graph = vec![node(op_type, &inputs, &["y"], attributes), input("x", input_shape), output("y")];
    graph.extend(names.iter().zip(constants).map(|(name, values)| initializer(&ints(name, values))));
    let bytes = model(&graph);
    let model = Model::parse(&bytes[..], &ReadOptions::default()).unwrap();
    model.graph().tensor(model.graph().outputs()[0]).shape.clone()
}

/// The inferred shape of the output of a node that also reads weights of a given shape.
fn with_weights(
    op_type: &str,
    attributes: &[Vec<u8>],
    input_shape: &[i64],
    weights: &[i64],
) -> Option<Vec<u64>> {
    let graph = [
        node(op_type, &["x", "w"], &["y"], attributes),
        initializer(&floats("w", weights)),
        input("x", input_shape),
        output("y"),
    ];
    let bytes = model(&graph);
    let model = Model::parse(&bytes[..], &ReadOptions::default()).unwrap();
    model.graph().tensor(model.graph().outputs()[0]).shape.clone()
}

#[allow(clippy::unnecessary_wraps, reason = "it stands for what an inference found")]
fn some(shape: &[u64]) -> Option<Vec<u64>> {
    Some(shape.to_vec())
}

#[test]
fn windows() {
    let list = ints_attribute;
    let same = record(5, [record(1, "auto_pad"), record(4, "SAME_UPPER"), number(20, 3)].concat());
    let conv = |attributes: &[Vec<u8>]| with_weights("Conv", attributes, &[1, 4, 10, 7], &[8, 4, 3, 3]);
    assert_eq!(conv(&[]), some(&[1, 8, 8, 5]));
    assert_eq!(conv(&[list("strides", &[2, 3])]), some(&[1, 8, 4, 2]));
    assert_eq!(conv(&[list("dilations", &[2, 2])]), some(&[1, 8, 6, 3]));
    assert_eq!(conv(&[list("pads", &[1, 0, 2, 0])]), some(&[1, 8, 11, 5]));
    assert_eq!(conv(&[same, list("strides", &[2, 2])]), some(&[1, 8, 5, 4]));
    // A window larger than the image, and strides that go nowhere.
    assert_eq!(conv(&[list("dilations", &[9, 9])]), None);
    assert_eq!(conv(&[list("strides", &[0, 1])]), None);
    assert_eq!(conv(&[list("strides", &[1])]), None);
    let transposed =
        |attributes: &[Vec<u8>]| with_weights("ConvTranspose", attributes, &[1, 8, 5, 5], &[8, 4, 3, 3]);
    assert_eq!(transposed(&[list("strides", &[2, 2])]), some(&[1, 4, 11, 11]));
    let padded = [list("strides", &[2, 2]), list("pads", &[1, 1, 1, 1]), list("output_padding", &[1, 1])];
    assert_eq!(transposed(&padded), some(&[1, 4, 10, 10]));
    let pool = |size: i64, ceil: i64| {
        let window =
            [list("kernel_shape", &[3, 3]), list("strides", &[2, 2]), int_attribute("ceil_mode", ceil)];
        shape("MaxPool", &window, &[1, 4, size, size], &[])
    };
    assert_eq!((pool(6, 0), pool(6, 1)), (some(&[1, 4, 2, 2]), some(&[1, 4, 3, 3])));
    assert_eq!(shape("GlobalAveragePool", &[], &[2, 4, 9, 9], &[]), some(&[2, 4, 1, 1]));
}

#[test]
fn layouts() {
    assert_eq!(shape("Reshape", &[], &[2, 3, 4], &[&[0, -1]]), some(&[2, 12]));
    assert_eq!(shape("Reshape", &[], &[2, 3, 4], &[&[5, -1]]), None);
    assert_eq!(shape("Reshape", &[], &[2, 3, 4], &[&[-1, -1]]), None);
    assert_eq!(shape("Flatten", &[int_attribute("axis", 3)], &[2, 3, 4], &[]), some(&[24, 1]));
    assert_eq!(shape("Squeeze", &[], &[1, 3, 1], &[]), some(&[3]));
    assert_eq!(shape("Squeeze", &[], &[1, 3, 1], &[&[-1]]), some(&[1, 3]));
    assert_eq!(shape("Unsqueeze", &[], &[3], &[&[0, -1]]), some(&[1, 3, 1]));
    assert_eq!(shape("Transpose", &[], &[2, 3, 4], &[]), some(&[4, 3, 2]));
    assert_eq!(shape("Slice", &[], &[10], &[&[8], &[-100], &[0], &[-3]]), some(&[3]));
    assert_eq!(shape("Slice", &[], &[10, 4], &[&[2], &[i64::MAX], &[-1]]), some(&[10, 2]));
    assert_eq!(shape("Slice", &[], &[10], &[&[5], &[2]]), some(&[0]));
    assert_eq!(shape("Slice", &[], &[10], &[&[0], &[9], &[0], &[0]]), None);
    assert_eq!(shape("Pad", &[], &[4, 4], &[&[0, 1, 0, -2]]), some(&[4, 3]));
    assert_eq!(shape("Pad", &[], &[4, 4], &[&[0, -9, 0, 0]]), None);
    assert_eq!(shape("Tile", &[], &[2, 3], &[&[2, 2]]), some(&[4, 6]));
    let border = |sides: &[i64]| ints_attribute("border", sides);
    assert_eq!(shape("Crop", &[border(&[1, 2, 3, 4])], &[1, 3, 10, 20], &[]), some(&[1, 3, 4, 16]));
    let cut = [border(&[1, 2, 0, 0]), ints_attribute("scale", &[5, 6])];
    assert_eq!(shape("Crop", &cut, &[1, 3, 10, 20], &[]), some(&[1, 3, 5, 6]));
    assert_eq!(shape("Crop", &[border(&[0, 9, 0, 9])], &[1, 3, 10, 20], &[]), None);
    assert_eq!(shape("ImageScaler", &[], &[1, 3, 10, 20], &[]), some(&[1, 3, 10, 20]));
    assert_eq!(shape("Expand", &[], &[3, 1], &[&[2, 1, 6]]), some(&[2, 3, 6]));
    assert_eq!(shape("Expand", &[], &[3, 2], &[&[3, 5]]), None);
    assert_eq!(
        shape("DepthToSpace", &[int_attribute("blocksize", 2)], &[1, 8, 3, 3], &[]),
        some(&[1, 2, 6, 6])
    );
    assert_eq!(shape("DepthToSpace", &[int_attribute("blocksize", 0)], &[1, 8, 3, 3], &[]), None);
}

#[test]
fn sums_choices_and_products() {
    assert_eq!(shape("ReduceSum", &[int_attribute("keepdims", 0)], &[2, 3, 4], &[&[1]]), some(&[2, 4]));
    assert_eq!(shape("ReduceMean", &[ints_attribute("axes", &[-1])], &[2, 3, 4], &[]), some(&[2, 3, 1]));
    assert_eq!(shape("ReduceMax", &[], &[2, 3, 4], &[]), some(&[1, 1, 1]));
    assert_eq!(shape("ArgMax", &[int_attribute("axis", 1)], &[2, 3, 4], &[]), some(&[2, 1, 4]));
    assert_eq!(shape("TopK", &[], &[2, 30], &[&[5]]), some(&[2, 5]));
    assert_eq!(shape("Gather", &[int_attribute("axis", 1)], &[2, 3, 4], &[&[0, 2, 2, 1]]), some(&[2, 4, 4]));
    assert_eq!(with_weights("MatMul", &[], &[7, 1, 2, 3], &[5, 3, 4]), some(&[7, 5, 2, 4]));
    assert_eq!(with_weights("MatMul", &[], &[3], &[3, 4]), some(&[4]));
    assert_eq!(with_weights("Gemm", &[int_attribute("transB", 1)], &[2, 3], &[4, 3]), some(&[2, 4]));
    assert_eq!(with_weights("Add", &[], &[2, 1, 4], &[3, 1]), some(&[2, 3, 4]));
    assert_eq!(with_weights("Add", &[], &[2, 4], &[3]), None);
}
