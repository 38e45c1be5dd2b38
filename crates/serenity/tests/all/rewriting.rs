//! Rewritten models, judged by the outside: the runtimes compute the same with them, bit for bit.

use serde_json::{Value, json};
use serenity::ir::{
    Attributes, Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor,
};
use serenity::pipeline::{planned_model, possible_rewrites, rewrite};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{Input, Optimized, Options, Rewrites, load, optimize, tflite};
use serenity_judges::{Inputs, Verdict, shared};
use std::path::{Path, PathBuf};

/// A pad and a convolution over an image.
#[derive(Clone, Debug)]
struct Case {
    kind: &'static str,
    is_float: bool,
    size: [u64; 2],
    kernel: [u64; 2],
    stride: [u64; 2],
    dilation: [u64; 2],
    /// Before and after, along height and width; as `same` would if there are none.
    amounts: Option<[[u64; 2]; 2]>,
    /// Takes the place of the first weight, if they are floats.
    weight: f32,
}

const CHANNELS: u64 = 3;

impl Case {
    fn reach(&self, axis: usize) -> u64 {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    fn amounts(&self) -> [[u64; 2]; 2] {
        self.amounts.unwrap_or_else(|| {
            [0, 1].map(|axis| {
                let results = self.size[axis].div_ceil(self.stride[axis]);
                let needed = (results - 1) * self.stride[axis] + self.reach(axis);
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
        let results = [0, 1].map(|axis| (padded[axis] - self.reach(axis)) / self.stride[axis] + 1);
        let is_depthwise = self.kind == "DEPTHWISE_CONV_2D";
        let filters = if is_depthwise { CHANNELS } else { 4 };
        let [height, width] = self.kernel;
        let filter = if is_depthwise {
            self.weights("filter", vec![1, height, width, filters], 3)
        } else {
            self.weights("filter", vec![filters, height, width, CHANNELS], 0)
        };
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
        builder.push_op(op(self.kind, p, y, json!({
            "kernel": self.kernel, "stride": self.stride, "dilation": self.dilation, "padding": "valid", "activation": "none", "multiplier": 1,
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

/// Both runtimes must compute the same with each pair of models.
fn assert_same_outputs(pairs: &[(PathBuf, PathBuf)]) {
    let files: Vec<&PathBuf> = pairs.iter().flat_map(|(old, new)| [old, new]).collect();
    if let Some(verdicts) = serenity_judges::tflm(&files, &Inputs { runs: 2, seed: 3 }) {
        for (pair, names) in verdicts.chunks(2).zip(pairs) {
            // Some models are for LiteRT only.
            if let (Verdict::Refused(_), Verdict::Refused(_)) = (&pair[0], &pair[1]) {
                println!("TFLM refuses {names:?}");
                continue;
            }
            let (old, new) = (pair[0].accepted(), pair[1].accepted());
            println!("TFLM, {}: {} -> {}", names.0.display(), old.head, new.head);
            assert!(new.tail < old.tail, "{names:?}: {old:?}, {new:?}");
            assert_eq!(old.outputs.as_ref().unwrap(), new.outputs.as_ref().unwrap(), "TFLM, {names:?}");
        }
    }
    if let Some(verdicts) = serenity_judges::litert(&files, &Inputs { runs: 2, seed: 3 }) {
        for (pair, names) in verdicts.chunks(2).zip(pairs) {
            assert_eq!(pair[0].accepted().outputs, pair[1].accepted().outputs, "LiteRT, {names:?}");
        }
    }
}

const PLAIN: Case = Case {
    kind: "CONV_2D",
    is_float: true,
    size: [8, 7],
    kernel: [3, 3],
    stride: [2, 2],
    dilation: [1, 1],
    amounts: None,
    weight: 0.5,
};

/// The model with all its pads folded that can be, and how many these are.
fn without_pads(input: &Input) -> (Input, usize) {
    let model = MemoryModel::Tflm(Kernels::Any);
    let mut patches = possible_rewrites(input, model, Rewrites::All);
    patches.retain(|patch| patch.rule == "pad-folding");
    (rewrite(input, &patches, model).unwrap(), patches.len())
}

#[test]
fn a_folded_pad_changes_no_bit() {
    let windows = [
        ([8, 7], [3, 3], [2, 2], [1, 1]),
        ([7, 8], [5, 2], [1, 3], [1, 1]),
        ([9, 6], [3, 2], [1, 1], [2, 3]),
        ([5, 5], [1, 7], [1, 2], [1, 1]),
        ([2, 3], [7, 5], [3, 1], [1, 1]),
        ([6, 6], [1, 1], [2, 2], [1, 1]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = Vec::new();
    for (size, kernel, stride, dilation) in windows {
        for (kind, is_float) in
            [("CONV_2D", true), ("CONV_2D", false), ("DEPTHWISE_CONV_2D", true), ("DEPTHWISE_CONV_2D", false)]
        {
            let case = Case { kind, is_float, size, kernel, stride, dilation, ..PLAIN };
            let old = case.write(folder.path(), &format!("{}.tflite", pairs.len()));
            let input = read(&old);
            let (rewritten, folds) = without_pads(&input);
            assert_eq!(folds, 1, "{case:?}");
            assert_eq!(rewritten.graph().ops()[0].attributes["padding"], "same");
            let new = folder.path().join(format!("{}_new.tflite", pairs.len()));
            std::fs::write(&new, rewritten.file.bytes()).unwrap();
            // What is read from the disk is what was given; and there is nothing left to do.
            let (again, folds) = without_pads(&read(&new));
            assert_eq!((again.graphs(), folds), (rewritten.graphs(), 0), "{case:?}");
            pairs.push((old, new));
        }
    }
    assert_same_outputs(&pairs);
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
    std::fs::write(folder.path().join("model.tflite"), PLAIN.model()).unwrap();
    let mut folded = serenity::ReadOptions::default();
    folded.fold_constants = true;
    let path = folder.path().join("model.tflite");
    let input = serenity::load_with(path.to_str().unwrap(), &folded).unwrap();
    assert_eq!(without_pads(&input).1, 0, "such a model cannot be written");
}

/// The file with another table for its input, in which these dimensions are left open (-1).
fn with_open_dimensions(mut bytes: Vec<u8>, shape: [i32; 4], signature: [i32; 4]) -> Vec<u8> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let follow = |bytes: &[u8], at: usize| at + word(bytes, at);
    let field = |bytes: &[u8], table: usize, slot: usize| {
        let back = i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap());
        let entry = (table as i64 - i64::from(back)) as usize + 4 + 2 * slot;
        table + usize::from(u16::from_le_bytes([bytes[entry], bytes[entry + 1]]))
    };
    let main = follow(&bytes, follow(&bytes, field(&bytes, word(&bytes, 0), 2)) + 4);
    let input = word(&bytes, follow(&bytes, field(&bytes, main, 1)) + 4);
    let slot = follow(&bytes, field(&bytes, main, 0)) + 4 + 4 * input;
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    // A vtable of eight slots, of which the first and the last are there, and a table of two distances; then two vectors.
    bytes.extend([20_u16, 12, 4, 0, 0, 0, 0, 0, 0, 8].iter().flat_map(|word| word.to_le_bytes()));
    let table = bytes.len();
    bytes.extend([20_u32, 8, 24].iter().flat_map(|word| word.to_le_bytes()));
    for dims in [shape, signature] {
        bytes.extend(4_u32.to_le_bytes());
        bytes.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
    }
    bytes[slot..slot + 4].copy_from_slice(&((table - slot) as u32).to_le_bytes());
    bytes
}

#[test]
fn a_pad_folds_only_if_the_image_keeps_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let folds = |signature: [i32; 4]| {
        let path = folder.path().join("open.tflite");
        std::fs::write(&path, with_open_dimensions(PLAIN.model(), [1, 8, 7, 3], signature)).unwrap();
        without_pads(&read(&path)).1
    };
    assert_eq!([1, -1].map(|batch| folds([batch, 8, 7, 3])), [1, 1]);
    assert_eq!((folds([1, -1, 7, 3]), folds([1, 8, -1, 3])), (0, 0));
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

/// How many of the pads of real models fold, and what TFLM needs at most then, where that is known.
const REAL: &[(&str, usize, Option<u64>)] = &[
    ("mobilenet_v2_035_96_int8", 4, Some(110_608)),
    ("nasnet_a_n1_f192_96_int8", 12, None),
    ("nasnet_a_n1_f192_96_float", 12, None),
    ("nasnet_mobile_224_int8", 12, None),
    ("ultraface_rfb_320_tf", 14, None),
];

#[test]
fn real_models_compute_the_same_in_less() {
    let Some(models) = shared("models") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut rewritten_pairs, mut planned) = (Vec::new(), Vec::new());
    for &(name, folds, most) in REAL {
        let old = models.join(format!("{name}.tflite"));
        let input = read(&old);
        let (rewritten, folded) = without_pads(&input);
        assert_eq!((folded, without_pads(&rewritten).1), (folds, 0), "{name}");
        let new = folder.path().join(format!("{name}.tflite"));
        std::fs::write(&new, rewritten.file.bytes()).unwrap();
        rewritten_pairs.push((old, new));
        if let Some(most) = most {
            let options = Options {
                model: MemoryModel::Tflm(Kernels::Reference),
                plan_arena: true,
                ..Options::default()
            };
            let Optimized { model: smaller, plan, .. } = optimize(&input, &options).unwrap();
            let new = folder.path().join(format!("{name}_planned.tflite"));
            std::fs::write(&new, planned_model(&smaller, &plan).unwrap()).unwrap();
            planned.push((name, new, plan, most));
        }
    }
    assert_same_outputs(&rewritten_pairs);
    let files: Vec<&PathBuf> = planned.iter().map(|(_, file, ..)| file).collect();
    let Some(verdicts) = serenity_judges::tflm(&files, &Inputs::default()) else { return };
    for (verdict, (name, _, plan, most)) in verdicts.iter().zip(&planned) {
        let head = verdict.accepted().head;
        println!("{name}: {} -> {head}", plan.before.needs());
        assert!(head <= *most && Some(head) == plan.after.arena, "{name}: {head}, planned {:?}", plan.after);
    }
}
