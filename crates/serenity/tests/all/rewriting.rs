//! Pads that convolutions can do without: which of them go, and which must stay.

use serde_json::{Value, json};
use serenity::ir::{
    Attributes, Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor,
};
use serenity::pipeline::{possible_rewrites, rewrite};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{
    Format, Input, Optimized, Options, ReadOptions, Rewrites, load, load_bytes, optimize, tflite,
};
use serenity_judges::shared;
use std::path::{Path, PathBuf};

/// A pad and a convolution over an image.
#[derive(Clone, Debug)]
struct Case {
    is_float: bool,
    size: [u64; 2],
    kernel: [u64; 2],
    stride: [u64; 2],
    /// Before and after, along height and width; as `same` would if there are none.
    amounts: Option<[[u64; 2]; 2]>,
    /// Takes the place of the first weight, if they are floats.
    weight: f32,
}

const CHANNELS: u64 = 3;

impl Case {
    fn amounts(&self) -> [[u64; 2]; 2] {
        self.amounts.unwrap_or_else(|| {
            [0, 1].map(|axis| {
                let results = self.size[axis].div_ceil(self.stride[axis]);
                let needed = (results - 1) * self.stride[axis] + self.kernel[axis];
                let total = needed.saturating_sub(self.size[axis]);
                [total / 2, total - total / 2]
            })
        })
    }

    /// Bytes that look random and are the same every time.
    fn noise(count: u64) -> impl Iterator<Item = i8> {
        let mut state = 1_u32;
        (0..count).map(move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24).cast_signed() as i8
        })
    }

    fn tensor(&self, name: &str, [height, width]: [u64; 2], channels: u64, scale: f32, zero: i64) -> Tensor {
        let dtype = if self.is_float { ElementType::Float32 } else { ElementType::Int8 };
        let quantization = Quantization { scales: vec![scale], zero_points: vec![zero], axis: 0 };
        Tensor {
            quantization: (!self.is_float).then_some(quantization),
            ..Tensor::shaped(name, vec![1, height, width, channels], dtype).unwrap()
        }
    }

    fn weights(&self, name: &str, shape: Vec<u64>, axis: u32) -> Constant {
        let filters = shape[axis as usize];
        let noise = Self::noise(shape.iter().product());
        let floats = |(at, value): (usize, i8)| {
            if at == 0 { self.weight } else { f32::from(value) / 64.0 }.to_le_bytes()
        };
        let scales = (1..=filters).map(|filter| filter as f32 / 512.0).collect();
        Constant {
            name: name.to_owned(),
            shape,
            dtype: if self.is_float { ElementType::Float32 } else { ElementType::Int8 },
            quantization: (!self.is_float).then(|| Quantization {
                scales,
                zero_points: vec![0; filters as usize],
                axis,
            }),
            data: if self.is_float {
                noise.enumerate().flat_map(floats).collect()
            } else {
                noise.map(|value| value.max(-127).cast_unsigned()).collect()
            },
        }
    }

    fn bias(&self, filters: u64) -> Constant {
        let noise = Self::noise(filters);
        let scales = (1..=filters).map(|filter| 0.05 * (filter as f32 / 512.0)).collect();
        Constant {
            name: "bias".to_owned(),
            shape: vec![filters],
            dtype: if self.is_float { ElementType::Float32 } else { ElementType::Int32 },
            quantization: (!self.is_float).then(|| Quantization {
                scales,
                zero_points: vec![0; filters as usize],
                axis: 0,
            }),
            data: if self.is_float {
                noise.flat_map(|value| (f32::from(value) / 16.0).to_le_bytes()).collect()
            } else {
                noise.flat_map(|value| (i32::from(value) * 8).to_le_bytes()).collect()
            },
        }
    }

    fn model(&self) -> Vec<u8> {
        let amounts = self.amounts();
        let padded = [0, 1].map(|axis| self.size[axis] + amounts[axis][0] + amounts[axis][1]);
        let results = [0, 1].map(|axis| (padded[axis] - self.kernel[axis]) / self.stride[axis] + 1);
        let (filters, [height, width]) = (4, self.kernel);
        let filter = self.weights("filter", vec![filters, height, width, CHANNELS], 0);
        let paddings = [[0, 0], amounts[0], amounts[1], [0, 0]];
        let amounts = Constant {
            name: "amounts".to_owned(),
            shape: vec![4, 2],
            dtype: ElementType::Int32,
            quantization: None,
            data: paddings.iter().flatten().flat_map(|&amount| (amount as i32).to_le_bytes()).collect(),
        };
        let mut builder = GraphBuilder::new("padded");
        let x = builder.input(self.tensor("x", self.size, CHANNELS, 0.05, -3));
        let p = builder.tensor(self.tensor("p", padded, CHANNELS, 0.05, -3));
        let y = builder.tensor(self.tensor("y", results, filters, 0.25, 5));
        builder.output(y);
        let op = |kind: &str, input, output, attributes: Value| Op {
            name: kind.to_owned(),
            kind: OpKind::new(kind),
            inputs: vec![input],
            outputs: vec![output],
            attributes: attributes.as_object().unwrap().clone(),
            extra: Attributes::new(),
        };
        builder.push_op(op("PAD", x, p, json!({"paddings": paddings})));
        builder.push_op(op("CONV_2D", p, y, json!({
            "kernel": self.kernel, "stride": self.stride, "dilation": [1, 1], "padding": "valid", "activation": "none",
        })));
        let operands = vec![
            vec![Operand::Activation(x), Operand::Constant(0)],
            vec![Operand::Activation(p), Operand::Constant(1), Operand::Constant(2)],
        ];
        let model = Model::new(builder.build().unwrap(), operands, vec![amounts, filter, self.bias(filters)]);
        tflite::create(&model.unwrap()).unwrap()
    }

    fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, self.model()).unwrap();
        path
    }
}

fn read(path: &Path) -> Input {
    load(path.to_str().unwrap()).unwrap()
}

const PLAIN: Case =
    Case { is_float: true, size: [8, 7], kernel: [3, 3], stride: [2, 2], amounts: None, weight: 0.5 };

/// The model with all its pads folded that can be, and how many these are.
fn without_pads(input: &Input) -> (Input, usize) {
    let model = MemoryModel::Tflm(Kernels::Any);
    let mut patches = possible_rewrites(input, model, Rewrites::All);
    patches.retain(|patch| patch.rule == "pad-folding");
    (rewrite(input, &patches, model).unwrap(), patches.len())
}

#[test]
fn what_would_not_be_the_same_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let changed = |case: &Case| {
        let input = read(&case.write(folder.path(), "model.tflite"));
        let (rewritten, folds) = without_pads(&input);
        assert_eq!(folds == 0, input.file.bytes() == rewritten.file.bytes(), "{case:?}");
        folds > 0
    };
    assert!(changed(&PLAIN));
    assert!(!changed(&Case { amounts: Some([[1, 0], [1, 1]]), ..PLAIN }), "the odd row above");
    assert!(!changed(&Case { amounts: Some([[2, 2], [1, 1]]), ..PLAIN }));
    for weight in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        assert!(!changed(&Case { weight, ..PLAIN }), "zero times {weight}");
        assert!(changed(&Case { weight, is_float: false, ..PLAIN }), "not used");
    }
}

#[test]
fn a_rewrite_is_kept_only_if_it_needs_less() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { model: MemoryModel::Tflm(Kernels::Any), plan_arena: true, ..Options::default() };
    let input = read(&PLAIN.write(folder.path(), "model.tflite"));
    let Optimized { plan, .. } = optimize(&input, &options).unwrap();
    assert!(plan.after.needs() < plan.before.needs());
    assert_eq!((plan.before.ops, plan.after.ops, plan.rewrites.len()), (2, 1, 1));
    // A pad by nothing, of an image so small that all else vanishes in the rounding of sizes.
    let no_gain = Case { size: [1, 1], kernel: [1, 1], stride: [1, 1], ..PLAIN };
    let input = read(&no_gain.write(folder.path(), "model.tflite"));
    assert_eq!(without_pads(&input).1, 1);
    let options = Options { model: MemoryModel::Tflm(Kernels::Reference), ..options };
    let Optimized { model, plan, .. } = optimize(&input, &options).unwrap();
    assert!(model.graphs() == input.graphs() && plan.rewrites.is_empty(), "{plan:?}");
}

/// How many of the pads of real models fold. The runtimes run them in `rewriting_tflite.rs`.
const REAL: &[(&str, usize)] = &[
    ("mobilenet_v2_035_96_int8", 4),
    ("nasnet_a_n1_f192_96_int8", 12),
    ("nasnet_a_n1_f192_96_float", 12),
    ("nasnet_mobile_224_int8", 12),
    ("ultraface_rfb_320_tf", 14),
];

#[test]
fn pads_of_real_models_fold() {
    let Some(models) = shared("models") else { return };
    for &(name, folds) in REAL {
        let input = read(&models.join(format!("{name}.tflite")));
        let (rewritten, folded) = without_pads(&input);
        assert_eq!((folded, without_pads(&rewritten).1), (folds, 0), "{name}");
        let file = rewritten.file.bytes().into_owned();
        let again = load_bytes(name, file, Format::TfLite, &ReadOptions::default()).unwrap();
        assert_eq!(again.graphs(), rewritten.graphs(), "{name}: what is read is what was written");
        if name.starts_with("mobilenet") {
            let model = MemoryModel::Tflm(Kernels::Reference);
            let options = Options { model, plan_arena: true, ..Options::default() };
            assert!(optimize(&input, &options).unwrap().plan.after.arena <= Some(110_608));
        }
    }
}
