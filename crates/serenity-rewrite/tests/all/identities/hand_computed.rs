//! The interpreter against numbers computed by hand.

use crate::identities::interpreter::{Data, Grid, run};
use crate::identities::sketch::{Sketch, affine};
use serde_json::{Value, json};
use serenity_ir::{Operand, Quantization};

/// What one op makes of `x`, of shape `from`, and of constants; the result must have the shape `to`.
fn floats(
    kind: &str,
    attributes: Value,
    (from, x): (&[u64], &[f32]),
    constants: impl FnOnce(&mut Sketch) -> Vec<Operand>,
    to: &[u64],
) -> Vec<f32> {
    let mut sketch = Sketch::new("one op");
    let input = sketch.input(from, None);
    let mut operands = vec![Operand::Activation(input)];
    operands.extend(constants(&mut sketch));
    let output = sketch.op(kind, operands, attributes, to, None);
    let shape: Vec<usize> = from.iter().map(|&size| size as usize).collect();
    let results = run(&sketch.finish(&[output]), &[Data::Float(Grid::new(&shape, x.to_vec()))]);
    let [Data::Float(result)] = results.as_slice() else { panic!("floats") };
    result.values.clone()
}

/// The result of one op on integers, with a quantization for its input and another for its output.
fn integers(
    kind: &str,
    attributes: Value,
    (from, x, before): (&[u64], &[i8], Quantization),
    constants: impl FnOnce(&mut Sketch) -> Vec<Operand>,
    (to, after): (&[u64], Quantization),
) -> Vec<i8> {
    let mut sketch = Sketch::new("one op");
    let input = sketch.input(from, Some(before));
    let mut operands = vec![Operand::Activation(input)];
    operands.extend(constants(&mut sketch));
    let output = sketch.op(kind, operands, attributes, to, Some(after));
    let shape: Vec<usize> = from.iter().map(|&size| size as usize).collect();
    let results = run(&sketch.finish(&[output]), &[Data::Int8(Grid::new(&shape, x.to_vec()))]);
    let [Data::Int8(result)] = results.as_slice() else { panic!("integers") };
    result.values.clone()
}

fn none(_: &mut Sketch) -> Vec<Operand> {
    vec![]
}

fn window(size: u64, stride: u64, dilation: u64, padding: &str, activation: &str) -> Value {
    json!({"kernel": [size, size], "stride": [stride, stride], "dilation": [dilation, dilation],
        "padding": padding, "activation": activation, "multiplier": 1})
}

/// 1 to 9, row by row.
const SQUARE: (&[u64], &[f32]) = (&[1, 3, 3, 1], &[1., 2., 3., 4., 5., 6., 7., 8., 9.]);

#[test]
fn convolutions_of_floats() {
    let ones = |size: u64| {
        move |s: &mut Sketch| vec![s.floats(&[1, size, size, 1], &vec![1.0; (size * size) as usize])]
    };
    for kind in ["CONV_2D", "DEPTHWISE_CONV_2D"] {
        let of = |size, attributes, to: &[u64]| floats(kind, attributes, SQUARE, ones(size), to);
        assert_eq!(
            of(3, window(3, 1, 1, "same", "none"), &[1, 3, 3, 1]),
            [12., 21., 16., 27., 45., 33., 24., 39., 28.]
        );
        assert_eq!(of(3, window(3, 1, 1, "valid", "none"), &[1, 1, 1, 1]), [45.]);
        assert_eq!(of(3, window(3, 1, 1, "valid", "relu6"), &[1, 1, 1, 1]), [6.]);
        // One row and one column of padding, both after the end.
        assert_eq!(of(2, window(2, 2, 1, "same", "none"), &[1, 2, 2, 1]), [12., 9., 15., 9.]);
        assert_eq!(of(2, window(2, 1, 2, "valid", "none"), &[1, 1, 1, 1]), [20.]);
    }
    // Two channels, three filters, biases.
    let kernel = |s: &mut Sketch| {
        vec![s.floats(&[3, 1, 1, 2], &[1., 2., 3., 4., 5., -6.]), s.floats(&[3], &[0.5, 0., 0.])]
    };
    let x: (&[u64], &[f32]) = (&[1, 1, 1, 2], &[1., 10.]);
    let attributes = window(1, 1, 1, "same", "relu");
    assert_eq!(floats("CONV_2D", attributes, x, kernel, &[1, 1, 1, 3]), [21.5, 43., 0.]);
    // Two groups: the first filter reads the first channel.
    let groups = |s: &mut Sketch| vec![s.floats(&[2, 1, 1, 1], &[3., 4.])];
    let attributes = window(1, 1, 1, "same", "none");
    assert_eq!(floats("CONV_2D", attributes, x, groups, &[1, 1, 1, 2]), [3., 40.]);
    // Two filters for each channel, which stand side by side.
    let kernel = |s: &mut Sketch| vec![s.floats(&[1, 1, 1, 4], &[1., 2., 3., 4.])];
    let attributes = json!({"kernel": [1, 1], "stride": [1, 1], "padding": "same", "multiplier": 2});
    assert_eq!(floats("DEPTHWISE_CONV_2D", attributes, x, kernel, &[1, 1, 1, 4]), [1., 2., 30., 40.]);
}

#[test]
fn pools_of_floats() {
    let attributes = || window(3, 2, 1, "same", "none");
    let to = &[1, 2, 2, 1];
    assert_eq!(floats("AVERAGE_POOL_2D", attributes(), SQUARE, none, to), [3., 4., 6., 7.]);
    assert_eq!(floats("MAX_POOL_2D", attributes(), SQUARE, none, to), [5., 6., 8., 9.]);
    let axes = |s: &mut Sketch| vec![s.int32(&[2], &[1, 2], None)];
    assert_eq!(floats("MEAN", json!({"keep_dims": true}), SQUARE, axes, &[1, 1, 1, 1]), [5.]);
    assert_eq!(floats("MEAN", json!({}), (&[1, 1, 2, 2], &[1., 2., 3., 4.]), axes, &[1, 2]), [2., 3.]);
}

#[test]
fn pairs_of_floats() {
    let x: (&[u64], &[f32]) = (&[1, 1, 2, 2], &[1., -2., 3., -4.]);
    let channels = |s: &mut Sketch| vec![s.floats(&[2], &[10., 20.])];
    let of = |kind, attributes| floats(kind, attributes, x, channels, &[1, 1, 2, 2]);
    assert_eq!(of("ADD", json!({"activation": "none"})), [11., 18., 13., 16.]);
    assert_eq!(of("SUB", json!({})), [-9., -22., -7., -24.]);
    assert_eq!(of("MUL", json!({"activation": "relu"})), [10., 0., 30., 0.]);
    assert_eq!(of("PRELU", json!({})), [1., -40., 3., -80.]);
    let scalar = |s: &mut Sketch| vec![s.floats(&[], &[2.])];
    assert_eq!(floats("MUL", json!({}), x, scalar, &[1, 1, 2, 2]), [2., -4., 6., -8.]);
    let more = |s: &mut Sketch| vec![s.floats(&[1, 1, 2, 2], &[1.; 4]), s.floats(&[1, 1, 2, 2], &[2.; 4])];
    assert_eq!(floats("ADD_N", json!({}), x, more, &[1, 1, 2, 2]), [4., 1., 6., -1.]);
}

#[test]
fn elements_of_floats() {
    let of = |kind, attributes| floats(kind, attributes, (&[4], &[-1., 0., 3., 7.]), none, &[4]);
    assert_eq!(of("RELU", json!({})), [0., 0., 3., 7.]);
    assert_eq!(of("RELU6", json!({})), [0., 0., 3., 6.]);
    assert_eq!(of("LEAKY_RELU", json!({"alpha": 0.5})), [-0.5, 0., 3., 7.]);
    assert_eq!(of("HARD_SWISH", json!({})), [-1. / 3., 0., 3., 7.]);
    assert_eq!(of("LOGISTIC", json!({}))[1], 0.5);
    assert_eq!(of("TANH", json!({}))[1], 0.0);
    let close = |found: f32, wanted: f32| (found - wanted).abs() < 1e-6;
    assert!(close(of("LOGISTIC", json!({}))[0], 0.268_941_4));
    assert!(close(of("TANH", json!({}))[0], -0.761_594_2));
}

#[test]
fn floats_that_move() {
    let x: (&[u64], &[f32]) = (&[1, 1, 2, 2], &[1., 2., 3., 4.]);
    let more = |s: &mut Sketch| vec![s.floats(&[1, 1, 2, 1], &[8., 9.])];
    let joined = floats("CONCATENATION", json!({"axis": 3}), x, more, &[1, 1, 2, 3]);
    assert_eq!(joined, [1., 2., 8., 3., 4., 9.]);
    let more = |s: &mut Sketch| vec![s.floats(&[1, 1, 1, 2], &[8., 9.])];
    let joined = floats("CONCATENATION", json!({"axis": 2}), x, more, &[1, 1, 3, 2]);
    assert_eq!(joined, [1., 2., 3., 4., 8., 9.]);
    let amounts = |s: &mut Sketch| vec![s.int32(&[4, 2], &[0, 0, 0, 1, 1, 0, 0, 0], None)];
    let padded = floats("PAD", json!({}), x, amounts, &[1, 2, 3, 2]);
    assert_eq!(padded, [0., 0., 1., 2., 3., 4., 0., 0., 0., 0., 0., 0.]);
    let amounts =
        |s: &mut Sketch| vec![s.int32(&[4, 2], &[0, 0, 0, 0, 0, 0, 0, 1], None), s.floats(&[], &[7.])];
    assert_eq!(floats("PADV2", json!({}), x, amounts, &[1, 1, 2, 3]), [1., 2., 7., 3., 4., 7.]);
}

#[test]
fn floats_of_another_size() {
    let x: (&[u64], &[f32]) = (&[1, 1, 2, 1], &[10., 20.]);
    let of =
        |kind, attributes| floats(kind, attributes, x, |s| vec![s.int32(&[2], &[1, 4], None)], &[1, 1, 4, 1]);
    assert_eq!(of("RESIZE_NEAREST_NEIGHBOR", json!({})), [10., 10., 20., 20.]);
    assert_eq!(of("RESIZE_NEAREST_NEIGHBOR", json!({"align_corners": true})), [10., 10., 20., 20.]);
    assert_eq!(of("RESIZE_BILINEAR", json!({})), [10., 15., 20., 20.]);
    assert_eq!(of("RESIZE_BILINEAR", json!({"half_pixel_centers": true})), [10., 12.5, 17.5, 20.]);
    let aligned = of("RESIZE_BILINEAR", json!({"align_corners": true}));
    assert!(aligned.iter().zip([10., 40. / 3., 50. / 3., 20.]).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn convolutions_of_integers() {
    // Reals 1 and 2 (scale 0.5, zero 10), weights 3 and 4 at scale 0.25 and 0.5, bias 8 at 0.125 and 0.25.
    let x = (&[1_u64, 1, 2, 1][..], &[12_i8, 14][..], affine(0.5, 10));
    let kernel = |axis: u32| Quantization { scales: vec![0.25, 0.5], zero_points: vec![0, 0], axis };
    let bias = Quantization { scales: vec![0.125, 0.25], zero_points: vec![0, 0], axis: 0 };
    let to = (&[1_u64, 1, 2, 2][..], affine(0.25, -5));
    let conv = |s: &mut Sketch| {
        vec![s.int8(&[2, 1, 1, 1], &[3, 4], kernel(0)), s.int32(&[2], &[8, 8], Some(bias.clone()))]
    };
    // 1 * 0.75 + 1 = 1.75, 1 * 2 + 2 = 4, 2 * 0.75 + 1 = 2.5, 2 * 2 + 2 = 6; in quarters, less 5.
    let found = integers("CONV_2D", window(1, 1, 1, "same", "none"), x.clone(), conv, to.clone());
    assert_eq!(found, [2, 11, 5, 19]);
    let depthwise = |s: &mut Sketch| vec![s.int8(&[1, 1, 1, 2], &[-3, 4], kernel(3))];
    let mut attributes = window(1, 1, 1, "same", "relu");
    attributes["multiplier"] = json!(2);
    assert_eq!(integers("DEPTHWISE_CONV_2D", attributes, x, depthwise, to), [-5, 3, -5, 11]);
    // Padding stands for 0, which is stored as 10.
    let x = (&[1_u64, 1, 1, 1][..], &[12_i8][..], affine(0.5, 10));
    let ones = |s: &mut Sketch| vec![s.int8(&[1, 3, 3, 1], &[2; 9], affine(0.5, 0))];
    let to = (&[1_u64, 1, 1, 1][..], affine(0.5, 0));
    assert_eq!(integers("CONV_2D", window(3, 1, 1, "same", "none"), x, ones, to), [2]);
}

#[test]
fn pairs_of_integers() {
    // Reals 1, -2, 30.
    let x = (&[3_u64][..], &[2_i8, -4, 60][..], affine(0.5, 0));
    let y = |s: &mut Sketch| vec![s.int8(&[1], &[11], affine(2.0, 10))];
    let of = |kind, activation, after| {
        integers(kind, json!({"activation": activation}), x.clone(), y, (&[3], after))
    };
    assert_eq!(of("ADD", "none", affine(0.5, 1)), [7, 1, 65]);
    assert_eq!(of("ADD", "relu6", affine(0.5, 1)), [7, 1, 13]);
    assert_eq!(of("SUB", "none", affine(0.5, 1)), [-1, -7, 57]);
    assert_eq!(of("MUL", "none", affine(0.5, 1)), [5, -7, 121]);
    assert_eq!(of("MUL", "none", affine(0.25, 0)), [8, -16, 127]);
    // The slope is 2.
    assert_eq!(of("PRELU", "none", affine(0.5, 1)), [3, -7, 61]);
}

#[test]
fn elements_of_integers() {
    // Reals -1, 0, 3, 7 before; halves after.
    let of = |kind, attributes, after| {
        integers(kind, attributes, (&[4], &[-5, -1, 11, 27], affine(0.25, -1)), none, (&[4], after))
    };
    assert_eq!(of("RELU", json!({}), affine(0.5, 3)), [3, 3, 9, 17]);
    assert_eq!(of("RELU6", json!({}), affine(0.5, 3)), [3, 3, 9, 15]);
    assert_eq!(of("LEAKY_RELU", json!({"alpha": 0.5}), affine(0.5, 3)), [2, 3, 9, 17]);
    // 3 + 3 is 6: from there on it is the input. -1 becomes -1/3, which is nearer to -0.5 than to 0.
    assert_eq!(of("HARD_SWISH", json!({}), affine(0.5, 3)), [2, 3, 9, 17]);
    // 256 times 0.2689, 0.5, 0.9526 and 0.9991, less 128.
    assert_eq!(of("LOGISTIC", json!({}), affine(1.0 / 256.0, -128)), [-59, 0, 116, 127]);
    assert_eq!(of("TANH", json!({}), affine(1.0 / 128.0, 0)), [-97, 0, 127, 127]);
}

#[test]
fn integers_that_move() {
    let q = || affine(0.5, 7);
    let x = || (&[1_u64, 2, 2, 1][..], &[1_i8, 2, 3, 5][..], q());
    let one = || (&[1_u64, 1, 1, 1][..], q());
    // 11 / 4 is 2.75.
    let attributes = || window(2, 2, 1, "valid", "none");
    assert_eq!(integers("AVERAGE_POOL_2D", attributes(), x(), none, one()), [3]);
    assert_eq!(integers("MAX_POOL_2D", attributes(), x(), none, one()), [5]);
    // What stands for 0 is 7, so nothing is below it.
    assert_eq!(integers("MAX_POOL_2D", window(2, 2, 1, "valid", "relu"), x(), none, one()), [7]);
    let axes = |s: &mut Sketch| vec![s.int32(&[2], &[1, 2], None)];
    assert_eq!(integers("MEAN", json!({"keep_dims": true}), x(), axes, one()), [3]);
    let amounts = |s: &mut Sketch| vec![s.int32(&[4, 2], &[0, 0, 0, 0, 1, 0, 0, 0], None)];
    let wider = (&[1_u64, 2, 3, 1][..], q());
    assert_eq!(integers("PAD", json!({}), x(), amounts, wider), [7, 1, 2, 7, 3, 5]);
    // The real -1.5 is stored as -3 there, and as 4 here.
    let more = |s: &mut Sketch| vec![s.int8(&[1, 1, 2, 1], &[-3, 0], affine(0.5, 0))];
    let taller = (&[1_u64, 3, 2, 1][..], q());
    assert_eq!(integers("CONCATENATION", json!({"axis": 1}), x(), more, taller), [1, 2, 3, 5, 4, 7]);
    let size = |s: &mut Sketch| vec![s.int32(&[2], &[2, 4], None)];
    let to = || (&[1_u64, 2, 4, 1][..], q());
    let nearest = integers("RESIZE_NEAREST_NEIGHBOR", json!({}), x(), size, to());
    assert_eq!(nearest, [1, 1, 2, 2, 3, 3, 5, 5]);
    assert_eq!(integers("RESIZE_BILINEAR", json!({}), x(), size, to()), [1, 2, 2, 2, 3, 4, 5, 5]);
}

#[test]
#[should_panic(expected = "no op of kind SOFTMAX")]
fn an_unknown_op_is_no_op() {
    floats("SOFTMAX", json!({}), (&[1], &[1.]), none, &[1]);
}
