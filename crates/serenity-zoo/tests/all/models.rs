//! What every model promises: basic ops, the same weights every time, and quantisation that runtimes accept.

use serenity_ir::{Constant, ElementType, Graph, Model, Op, Operand, Quantization};
use serenity_zoo::{Precision, ZooError, build, build_model, networks};
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

/// Every network that can be a model, the large ones with options that make them small.
const SPECS: &[&str] = &[
    "swiftnet",
    "swiftnet?full=true",
    "swiftnet-a",
    "swiftnet-a?wiring=fitted",
    "swiftnet-a?wiring=mixed",
    "swiftnet-b",
    "swiftnet-c",
    "darts-cell",
    "darts-cell?ops=split",
    "darts-cifar?layers=3&channels=4",
    "darts-imagenet?layers=3&channels=4",
    "nasnet-cifar?cells=1&filters=8",
    "nasnet-imagenet?cells=1&filters=8",
    "amoebanet-cifar?cells=1&filters=8",
    "amoebanet-imagenet?cells=1&filters=8",
    "pnasnet-cifar?cells=1&filters=8",
    "pnasnet-imagenet?cells=1&filters=8",
    "randwire-cifar10?nodes=8&channels=8",
    "randwire-cifar10?nodes=8&channels=8&ops=split",
    "randwire-cifar10?nodes=8&channels=8&ops=binary",
    "randwire-cifar100?nodes=8&channels=8&resolution=8",
    "randwire-imagenet?nodes=8&channels=8&resolution=32",
    "densenet?growth=4&blocks=2-2&resolution=32",
    "inception?resolution=32",
    "mobilenet?resolution=32",
    "branches",
    "branches?branches=1",
];

const BASIC: &[&str] = &[
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "MAX_POOL_2D",
    "MEAN",
    "MUL",
    "PAD",
    "RELU",
    "SOFTMAX",
    "STRIDED_SLICE",
];

fn model(spec: &str, precision: Precision) -> Model {
    build_model(spec, precision).expect(spec)
}

/// All of them, made once: spec, float, `int8`.
static MODELS: LazyLock<Vec<(&str, Model, Model)>> = LazyLock::new(|| {
    let both = |spec: &&'static str| (*spec, model(spec, Precision::Float32), model(spec, Precision::Int8));
    SPECS.iter().map(both).collect()
});

fn kinds(graph: &Graph) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    graph.ops().iter().for_each(|op| *counts.entry(op.kind.as_str()).or_default() += 1);
    counts
}

fn quantization<'a>(graph: &'a Graph, op: &Op) -> &'a Quantization {
    graph.tensor(op.outputs[0]).quantization.as_ref().expect("all tensors are quantised")
}

#[test]
fn every_network_is_a_model_or_says_why_not() {
    for network in networks() {
        if network.name.starts_with("random-") {
            let error = build_model(network.name, Precision::Float32).unwrap_err();
            assert!(matches!(error, ZooError::NoModel { .. }), "{error}");
        } else {
            assert!(
                SPECS.iter().any(|spec| spec.split('?').next() == Some(network.name)),
                "{}",
                network.name
            );
        }
    }
}

#[test]
fn models_have_basic_ops_with_unique_names_in_an_order_that_runs() {
    for (spec, model, _) in &*MODELS {
        let (graph, source) = (model.graph(), build(spec).unwrap());
        assert!(kinds(graph).keys().all(|kind| BASIC.contains(kind)), "{spec}");
        assert!(graph.op_ids().eq(graph.file_order()), "{spec}");
        let mut names: HashSet<&str> = HashSet::new();
        let tensors = graph.tensors().iter().map(|tensor| tensor.name.as_str());
        let constants = model.constants().iter().map(|constant| constant.name.as_str());
        assert!(tensors.chain(constants).all(|name| names.insert(name)), "{spec}");
        // Whatever the graph has, the model has under the same name and in the same shape.
        for tensor in source.tensors() {
            let same = graph.tensors().iter().find(|other| other.name == tensor.name);
            assert_eq!(same.unwrap_or_else(|| panic!("{spec} {}", tensor.name)).shape, tensor.shape);
        }
        assert_eq!(graph.name(), source.name());
        assert!(graph.tensors().iter().all(|tensor| tensor.dtype == Some(ElementType::Float32)), "{spec}");
    }
}

#[test]
fn one_op_becomes_as_few_as_possible() {
    let ops =
        |spec: &str| (build(spec).unwrap().ops().len(), model(spec, Precision::Float32).graph().ops().len());
    assert_eq!(ops("swiftnet"), (62, 62));
    assert_eq!(ops("mobilenet?resolution=32"), (30, 30));
    // 2 + 1 convolutions with a ReLU before, 11 separable ones of three ops, 4 sums, a concatenation.
    assert_eq!(ops("darts-cell"), (19, 3 * 2 + 11 * 3 + 4 + 1));
    // What is split automatically equals what is split by hand.
    let split = model("darts-cell?ops=split", Precision::Float32);
    assert_eq!(kinds(split.graph()), kinds(model("darts-cell", Precision::Float32).graph()));
}

#[test]
fn factors_are_multiplications_and_an_average_is_one() {
    let spec = "randwire-cifar10?nodes=8&channels=8&ops=split";
    let (graph, model) = (build(spec).unwrap(), model(spec, Precision::Float32));
    let sums = graph.ops().iter().filter(|op| op.attributes.contains_key("input_weights"));
    let expected: usize = sums.map(|op| if op.name.ends_with("average") { 1 } else { op.inputs.len() }).sum();
    assert_eq!(kinds(model.graph())["MUL"], expected);
    let average =
        model.constants().iter().find(|constant| constant.name.ends_with("average.factor")).unwrap();
    let factor = f32::from_le_bytes(average.data[..].try_into().unwrap());
    let sinks = graph.ops().iter().find(|op| op.name.ends_with("average")).unwrap().inputs.len();
    assert!((factor - 1.0 / sinks as f32).abs() < 1e-6);
}

#[test]
fn weights_depend_on_the_name_and_on_nothing_else() {
    let first = model("swiftnet-c", Precision::Float32);
    assert_eq!(first, model("swiftnet-c", Precision::Float32));
    let kernel = |spec: &str| {
        let model = model(spec, Precision::Float32);
        model.constants().iter().find(|constant| constant.name == "stem.kernel").unwrap().data.clone()
    };
    assert_ne!(kernel("mobilenet?resolution=32"), kernel("mobilenet?resolution=33"));
}

/// A change here changes files that people may have measured: do it only on purpose.
#[test]
fn weights_are_the_same_on_every_platform() {
    let fingerprint = |precision| {
        let model = model("randwire-cifar10?nodes=8&channels=8", precision);
        let bytes = model.constants().iter().flat_map(|constant| &constant.data);
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    assert_eq!(
        [fingerprint(Precision::Float32), fingerprint(Precision::Int8)],
        [0xeacc_bf6a_cfac_e0fb, 0x6c62_c152_674c_7527]
    );
}

#[test]
fn weights_are_finite_and_activations_keep_their_size() {
    for (spec, float, int8) in &*MODELS {
        for constant in float.constants().iter().filter(|constant| constant.dtype == ElementType::Float32) {
            let (values, _) = constant.data.as_chunks::<4>();
            assert!(values.iter().all(|&value| f32::from_le_bytes(value).is_finite()), "{spec}");
        }
        for tensor in int8.graph().tensors() {
            let quantization = tensor.quantization.as_ref().unwrap();
            let range = 255.0 * quantization.scales[0];
            assert!((0.05..60.0).contains(&range), "{spec} {} {range}", tensor.name);
        }
    }
}

#[test]
fn integers_mean_what_runtimes_expect() {
    for (spec, _, model) in &*MODELS {
        let graph = model.graph();
        for (op, operands) in graph.ops().iter().zip(model.operands()) {
            let at = format!("{spec} {}", op.name);
            let output = quantization(graph, op);
            assert!((-128..=127).contains(&output.zero_points[0]), "{at}");
            let inputs = op.inputs.iter().map(|&input| graph.tensor(input).quantization.as_ref().unwrap());
            match op.kind.as_str() {
                "CONCATENATION" | "MAX_POOL_2D" | "AVERAGE_POOL_2D" | "PAD" | "STRIDED_SLICE" => {
                    inputs.for_each(|input| assert_eq!(input, output, "{at}"));
                }
                "SOFTMAX" => assert_eq!((output.scales[0], output.zero_points[0]), (1.0 / 256.0, -128)),
                "RELU"
                    if graph
                        .consumers(op.outputs[0])
                        .iter()
                        .all(|&r| graph.op(r).kind.as_str() == "CONV_2D") =>
                {
                    assert_eq!(output.zero_points[0], -128, "{at}");
                }
                _ => {}
            }
            if let [Operand::Activation(x), Operand::Constant(kernel), Operand::Constant(bias)] = operands[..]
                && ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"].contains(&op.kind.as_str())
            {
                let x = graph.tensor(x).quantization.as_ref().unwrap();
                check_kernel(op, x, &model.constants()[kernel], &model.constants()[bias]);
            }
        }
    }
}

fn check_kernel(op: &Op, x: &Quantization, kernel: &Constant, bias: &Constant) {
    assert_eq!((&kernel.dtype, &bias.dtype), (&ElementType::Int8, &ElementType::Int32));
    let (Some(of_kernel), Some(of_bias)) = (&kernel.quantization, &bias.quantization) else {
        panic!("{} has weights without a scale", op.name)
    };
    assert!(of_kernel.zero_points.iter().chain(&of_bias.zero_points).all(|&zero| zero == 0));
    let (axis, filters) = match op.kind.as_str() {
        "CONV_2D" => (0, kernel.shape[0]),
        "DEPTHWISE_CONV_2D" => (3, kernel.shape[3]),
        _ => (0, 1),
    };
    assert_eq!((of_kernel.axis, of_kernel.scales.len() as u64), (axis, filters), "{}", op.name);
    assert!(kernel.data.iter().all(|&weight| weight != 0x80), "{}: -128 is not symmetric", op.name);
    let products: Vec<f32> = of_kernel.scales.iter().map(|scale| x.scales[0] * scale).collect();
    assert_eq!(of_bias.scales, products, "{}", op.name);
}

#[test]
fn both_precisions_have_the_same_ops() {
    for (spec, float, int8) in &*MODELS {
        assert_eq!(float.operands(), int8.operands(), "{spec}");
        assert_eq!(float.graph().ops(), int8.graph().ops(), "{spec}");
    }
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    let error = build_model("densenet?resolution=1024", Precision::Float32).unwrap_err();
    assert!(error.to_string().contains("multiply-accumulates, too many for a model"), "{error}");
    let error = build_model("randwire-imagenet?channels=4096", Precision::Int8).unwrap_err();
    assert!(error.to_string().contains("weights, too many for a model"), "{error}");
}
