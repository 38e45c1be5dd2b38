//! It folds what it should, and for each condition, it does not where that alone fails.

use super::*;
use crate::{apply, find};
use serenity_ir::{GraphBuilder, OpKind, Quantization};

/// A pad and a convolution of stride 2 that fold; each test spoils one thing.
struct Network {
    given: Tensor,
    padded: Tensor,
    written: Tensor,
    pad: Op,
    conv: Op,
    /// Something else that reads what is padded.
    other_reader: bool,
    /// Another convolution that does: its stride and what it writes.
    second_conv: Option<([u64; 2], [u64; 4])>,
    padded_is_output: bool,
}

fn attributes(value: Value) -> Attributes {
    let Value::Object(map) = value else { panic!("{value} is no object") };
    map
}

fn op(kind: &str, inputs: &[u32], outputs: &[u32], given: Value) -> Op {
    Op {
        name: kind.to_lowercase(),
        kind: OpKind::new(kind),
        inputs: inputs.iter().copied().map(TensorId).collect(),
        outputs: outputs.iter().copied().map(TensorId).collect(),
        attributes: attributes(given),
        extra: Attributes::new(),
    }
}

impl Network {
    fn new(dtype: &ElementType) -> Self {
        let is_float = *dtype == ElementType::Float32;
        let tensor = |name: &str, shape: [u64; 4], zero: i64| Tensor {
            quantization: (!is_float).then(|| Quantization {
                scales: vec![0.5],
                zero_points: vec![zero],
                axis: 0,
            }),
            ..Tensor::shaped(name, shape.to_vec(), dtype.clone()).unwrap()
        };
        let zero = if *dtype == ElementType::Int16 { 0 } else { 7 };
        let filter =
            json!({"name": "w", "shape": [5, 3, 3, 2], "dtype": if is_float { "float32" } else { "int8" }});
        Self {
            given: tensor("x", [1, 8, 7, 2], zero),
            padded: tensor("p", [1, 9, 9, 2], zero),
            written: tensor("y", [1, 4, 4, 5], 3),
            pad: op("PAD", &[0], &[1], json!({"paddings": [[0, 0], [0, 1], [1, 1], [0, 0]]})),
            conv: op(
                "CONV_2D",
                &[1],
                &[2],
                json!({
                    "kernel": [3, 3], "stride": [2, 2], "dilation": [1, 1], "padding": "valid", "activation": "relu", "constants": {"1": filter}
                }),
            ),
            other_reader: false,
            second_conv: None,
            padded_is_output: false,
        }
    }

    fn graph(&self) -> Graph {
        let mut builder = GraphBuilder::new("net");
        let x = builder.input(self.given.clone());
        let p = builder.tensor(self.padded.clone());
        let y = builder.tensor(self.written.clone());
        builder.push_op(self.pad.clone());
        builder.push_op(self.conv.clone());
        builder.output(y);
        if self.padded_is_output {
            builder.output(p);
        }
        // Tensors that the ops of a test may name: 3 is given by the caller, 4 is a weight made of constants alone.
        builder.input(Tensor::sized("more", 8));
        let weight = Tensor { dtype: Some(ElementType::Float32), ..Tensor::sized("weight", 8) };
        builder.op("weights", "DEQUANTIZE", &[], weight);
        if self.other_reader {
            let more = builder.op("other", "RELU", &[p], self.padded.clone());
            builder.output(more);
        }
        if let Some((stride, shape)) = self.second_conv {
            let written = Tensor::shaped("z", shape.to_vec(), ElementType::Int8).unwrap();
            let z = builder.tensor(written);
            let mut conv = Op { outputs: vec![z], ..self.conv.clone() };
            conv.attributes.insert("stride".into(), json!(stride));
            builder.push_op(conv);
            builder.output(z);
        }
        assert_eq!((x, p, y), (TensorId(0), TensorId(1), TensorId(2)));
        builder.build().unwrap()
    }

    fn folds(&self) -> bool {
        !find(&self.graph(), &Settings::default()).is_empty()
    }

    fn set(&mut self, attribute: &str, value: Value) {
        self.conv.attributes.insert(attribute.to_owned(), value);
    }
}

/// Does the network of this type still fold after a change?
fn folds_after(dtype: &ElementType, change: impl Fn(&mut Network)) -> bool {
    let mut network = Network::new(dtype);
    assert!(network.folds(), "the network of {dtype} folds before anything is changed");
    change(&mut network);
    network.folds()
}

fn int8(change: impl Fn(&mut Network)) -> bool {
    folds_after(&ElementType::Int8, change)
}

fn float(change: impl Fn(&mut Network)) -> bool {
    folds_after(&ElementType::Float32, change)
}

#[test]
fn the_convolution_pads_by_itself() {
    let network = Network::new(&ElementType::Int8);
    let graph = network.graph();
    let patches = find(&graph, &Settings::default());
    let [patch] = patches.as_slice() else { panic!("{patches:?}") };
    assert_eq!((patch.rule, patch.exact, patch.ops()), ("pad-folding", true, vec![OpId(0), OpId(1)]));
    assert!(patch.identity.contains("0 above, 1 below, 1 left, 1 right"), "{}", patch.identity);
    let new = apply(&graph, &patches, &Settings::default()).unwrap().graph;
    let mut expected = network.conv.clone();
    expected.inputs = vec![TensorId(0)];
    expected.attributes.insert("padding".into(), json!("same"));
    assert_eq!(new.op(OpId(0)), &expected);
    assert_eq!(new.tensor(TensorId(1)).bytes, 0);
    assert_eq!(find(&new, &Settings::default()), [], "a second time nothing is left to do");
}

#[test]
fn it_folds_for_every_type_and_both_convolutions() {
    for dtype in [ElementType::Float32, ElementType::Int8, ElementType::UInt8, ElementType::Int16] {
        assert!(folds_after(&dtype, |net| net.conv.kind = OpKind::new("DEPTHWISE_CONV_2D")), "{dtype}");
        assert!(!folds_after(&dtype, |net| net.conv.kind = OpKind::new("MAX_POOL_2D")), "{dtype}");
    }
    for dtype in [ElementType::Int32, ElementType::Float16, ElementType::Other("x".into())] {
        assert!(!int8(|net| {
            net.given.dtype = Some(dtype.clone());
            net.padded.dtype = Some(dtype.clone());
        }));
    }
}

#[test]
fn a_pad_that_others_need_stays() {
    assert!(!int8(|net| net.other_reader = true));
    assert!(!int8(|net| net.padded_is_output = true));
    assert!(!int8(|net| net.conv.inputs.push(TensorId(1))), "the same tensor as the bias");
}

#[test]
fn a_pad_that_several_convolutions_read_goes_if_all_can_do_without() {
    let twice = |stride: [u64; 2], shape: [u64; 4]| {
        let mut network = Network::new(&ElementType::Int8);
        network.second_conv = Some((stride, shape));
        let graph = network.graph();
        let patches = find(&graph, &Settings::default());
        let changed: usize = patches.iter().map(|patch| patch.ops().len() - 1).sum();
        apply(&graph, &patches, &Settings::default()).unwrap();
        changed
    };
    assert_eq!(twice([2, 2], [1, 4, 4, 5]), 2);
    assert_eq!(twice([2, 1], [1, 4, 7, 5]), 2, "each in its own way");
    assert_eq!(twice([1, 2], [1, 7, 4, 5]), 0, "with a stride of 1 a row is missing above");
}

#[test]
fn only_height_and_width_are_padded() {
    let paddings = |given: Value| {
        int8(|net| {
            net.pad.attributes.insert("paddings".into(), given.clone());
        })
    };
    assert!(paddings(json!([[0, 0], [0, 1], [1, 1], [0, 0]])));
    assert!(!paddings(json!([[1, 0], [0, 1], [1, 1], [0, 0]])));
    assert!(!paddings(json!([[0, 0], [0, 1], [1, 1], [0, 1]])));
    assert!(!paddings(json!([[0, 0], [0, 1], [1, 1]])));
    assert!(!paddings(json!([[0, 0], [-1, 2], [1, 1], [0, 0]])));
    assert!(!paddings(json!("same")));
}

#[test]
fn the_amounts_must_be_those_of_same() {
    let amounts = |rows: [u64; 2], columns: [u64; 2]| {
        int8(|net| {
            net.pad.attributes.insert("paddings".into(), json!([[0, 0], rows, columns, [0, 0]]));
            net.padded.shape = Some(vec![1, 8 + rows[0] + rows[1], 7 + columns[0] + columns[1], 2]);
        })
    };
    assert!(amounts([0, 1], [1, 1]));
    assert!(amounts([0, 2], [1, 1]), "a row that no window reaches");
    assert!(!amounts([0, 3], [1, 1]), "one window more");
    assert!(!amounts([1, 0], [1, 1]), "the odd one goes behind");
    assert!(!amounts([0, 1], [0, 2]));
    assert!(!amounts([0, 1], [2, 0]));
}

#[test]
fn amounts_that_are_not_known_before_the_run_are_left_alone() {
    assert!(!int8(|net| drop(net.pad.attributes.remove("paddings"))));
    assert!(!int8(|net| net.pad.inputs.push(TensorId(3))));
    assert!(!int8(|net| net.pad.attributes =
        attributes(json!({"paddings": [[0, 0], [0, 1], [1, 1], [0, 0]], "constants": {"0": {}}}))));
}

#[test]
fn the_padding_must_be_zero() {
    let with_value = |dtype: &ElementType, value: Option<Value>| {
        folds_after(dtype, |net| {
            net.pad.kind = OpKind::new("PADV2");
            net.pad.attributes.extend(value.clone().map(|value| ("pad_value".to_owned(), value)));
        })
    };
    assert!(with_value(&ElementType::Int8, Some(json!(7))));
    assert!(!with_value(&ElementType::Int8, Some(json!(0))));
    assert!(!with_value(&ElementType::Int8, Some(json!(0.0))));
    assert!(with_value(&ElementType::Int16, Some(json!(0))));
    assert!(with_value(&ElementType::Float32, Some(json!(0.0))));
    assert!(!with_value(&ElementType::Float32, Some(json!(7.0))));
    assert!(!with_value(&ElementType::Float32, None));
    assert!(!int8(|net| net.pad.kind = OpKind::new("MIRROR_PAD")));
}

#[test]
fn the_padded_tensor_must_mean_the_same_numbers() {
    let other = |zero_points: Vec<i64>| Some(Quantization { scales: vec![0.25], zero_points, axis: 0 });
    assert!(!int8(|net| net.padded.quantization = other(vec![7])));
    assert!(!int8(|net| net.padded.quantization = None));
    let both = |dtype: &ElementType, zero_points: Vec<i64>| {
        folds_after(dtype, |net| {
            net.given.quantization = other(zero_points.clone());
            net.padded.quantization = other(zero_points.clone());
        })
    };
    assert!(both(&ElementType::Int8, vec![9]));
    assert!(both(&ElementType::Int8, vec![]));
    assert!(!both(&ElementType::Int8, vec![9, 9]), "a zero point for each channel");
    assert!(!both(&ElementType::Int16, vec![9]), "int16 is padded with a stored 0");
    assert!(!int8(|net| net.padded.dtype = Some(ElementType::UInt8)));
}

#[test]
fn the_convolution_must_have_no_padding_of_its_own() {
    assert!(!int8(|net| net.set("padding", json!("same"))));
    assert!(!int8(|net| net.set("padding", json!(2))));
    assert!(!int8(|net| drop(net.conv.attributes.remove("padding"))));
}

#[test]
fn window_and_shapes_must_be_known_and_agree() {
    assert!(int8(|net| drop(net.conv.attributes.remove("dilation"))), "none is 1");
    for (name, value) in [
        ("kernel", json!([3])),
        ("kernel", json!([0, 3])),
        ("stride", json!([2, 0])),
        ("stride", json!(null)),
        ("dilation", json!([2, 1])),
        ("dilation", json!([0, 1])),
    ] {
        assert!(!int8(|net| net.set(name, value.clone())), "{name} {value}");
    }
    assert!(!int8(|net| net.given.shape = None));
    assert!(!int8(|net| net.padded.shape = Some(vec![1, 10, 9, 2])));
    assert!(!int8(|net| net.written.shape = Some(vec![1, 3, 4, 5])));
    assert!(!int8(|net| net.written.shape = Some(vec![4, 4, 5])));
    assert!(!int8(|net| net.given.dtype = None));
}

#[test]
fn images_must_have_a_fixed_size() {
    let open = |signature: [i64; 4]| {
        int8(|net| {
            net.given.extra.insert("shape_signature".into(), json!(signature));
        })
    };
    assert!(open([-1, 8, 7, 2]), "any number of images");
    assert!(!open([1, -1, 7, 2]));
    assert!(!open([-1, 8, -1, 2]));
}

#[test]
fn weights_must_be_fixed_and_of_the_same_kind() {
    let weights = |input: u32| {
        move |net: &mut Network| {
            net.conv.attributes.remove("constants");
            net.conv.inputs.push(TensorId(input));
        }
    };
    assert!(float(weights(4)), "made of constants before the convolution runs");
    assert!(!float(weights(3)), "given by the caller");
    assert!(float(|net| drop(net.conv.attributes.remove("constants"))), "a graph without a file");
    assert!(
        !float(|net| net.set("constants", json!({"1": {"dtype": "int8"}}))),
        "the runtime quantises what it reads"
    );
    assert!(!int8(|net| net.set("constants", json!({"1": {"dtype": "float32"}}))));
}
