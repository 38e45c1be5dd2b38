//! Judged by TensorFlow Lite for Microcontrollers itself: what it keeps, and whether the arena that we name is enough.

use serenity::ir::{Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor};
use serenity::runtimes::{Kernels, MemoryModel, Tail};
use serenity::zoo::Precision;
use serenity::{Format, ReadOptions, export, inspect, load, load_bytes};
use serenity_judges::{Inputs, Tflm, Verdict, shared_files, tflm, tflm_each_within};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Reference);

const ALLOCATE_ONLY: Inputs = Inputs { runs: 0, seed: 1 };

/// Together they use every operator that the zoo lowers to.
const NETWORKS: &[&str] = &["swiftnet-a", "darts-cell", "mobilenet", "inception"];

/// A model with what we say about it.
struct Predicted {
    path: PathBuf,
    head: u64,
    tail: Tail,
}

impl Predicted {
    fn new(path: PathBuf) -> Self {
        let input = load(path.to_str().unwrap()).unwrap();
        let head = inspect(input.graphs(), TFLM, None).arena.unwrap().bytes;
        let tail = input.tail(TFLM).unwrap();
        Self { path, head, tail }
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap().to_string_lossy().into_owned()
    }

    fn needed(&self) -> u64 {
        self.tail.needed(self.head).x86_64
    }
}

/// Built-in networks, exported into `folder`, and the collection of real models where it is present.
fn models(folder: &Path) -> Vec<Predicted> {
    let mut paths = Vec::new();
    for name in NETWORKS {
        for precision in [Precision::Float32, Precision::Int8] {
            let file = folder.join(format!("{name}_{precision:?}.tflite"));
            std::fs::write(&file, export(name, Format::TfLite, precision).unwrap().bytes).unwrap();
            paths.push(file);
        }
    }
    paths.extend(shared_files("models", "tflite"));
    paths.sort();
    paths.into_iter().map(Predicted::new).collect()
}

#[test]
fn what_holds_for_any_kernels_holds_for_each_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swiftnet-a.tflite");
    let model = export("swiftnet-a", Format::TfLite, Precision::Int8).unwrap();
    std::fs::write(&path, model.bytes).unwrap();
    let input = load(path.to_str().unwrap()).unwrap();
    let tail = |kernels| input.tail(MemoryModel::Tflm(kernels)).unwrap();
    let (any, reference, cmsis_nn) = (tail(Kernels::Any), tail(Kernels::Reference), tail(Kernels::CmsisNn));
    assert_eq!((reference.x86_64, reference.arm32, reference.unknown_kernels), (9040, 6748, 0));
    assert_eq!((any.arm32, cmsis_nn.x86_64), (reference.arm32.max(cmsis_nn.arm32), reference.x86_64));
    for head in [0, 100_000] {
        for set in [reference, cmsis_nn] {
            assert!(any.needed(head).arm32 >= set.needed(head).arm32);
            assert!(any.needed(head).arm32 + any.margin(head) >= set.needed(head).arm32 + set.margin(head));
        }
        assert!(any.margin(head) < any.arm32);
    }
    // Without any head, notes decide.
    assert!(any.needed(0).arm32 > any.arm32);
    assert!(input.tail(MemoryModel::Litert).is_none());
}

/// CMSIS-NN runs a dense layer whose result has more than two sides as a convolution. The scales of its channels are
/// scratch, which the head holds, and were kept by releases until 2024, for which the margin is.
#[test]
fn scales_of_dense_layers_that_are_scratch_are_not_kept_as_well() {
    let int8 = |name: &str, shape: &[u64]| {
        let quantization = Some(Quantization { scales: vec![0.5], zero_points: vec![0], axis: 0 });
        Tensor { quantization, ..Tensor::shaped(name, shape.to_vec(), ElementType::Int8).unwrap() }
    };
    let tail = |sides: &[u64]| {
        let mut builder = GraphBuilder::new("dense");
        let x = builder.input(int8("x", &[1, 1, 128]));
        let y = builder.tensor(int8("y", sides));
        let attributes = serde_json::json!({"activation": "none"}).as_object().unwrap().clone();
        builder.push_op(Op {
            name: "y".into(),
            kind: OpKind::new("FULLY_CONNECTED"),
            inputs: vec![x],
            outputs: vec![y],
            attributes,
            extra: serde_json::Map::new(),
        });
        builder.output(y);
        let weights = Constant {
            name: "w".into(),
            shape: vec![256, 128],
            dtype: ElementType::Int8,
            quantization: Some(Quantization { scales: vec![0.1], zero_points: vec![0], axis: 0 }),
            data: vec![1; 256 * 128],
        };
        let operands = vec![vec![Operand::Activation(x), Operand::Constant(0)]];
        let model = Model::new(builder.build().unwrap(), operands, vec![weights]).unwrap();
        let bytes = Format::TfLite.create(&model).unwrap();
        let input = load_bytes("dense.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
        input.tail(MemoryModel::Tflm(Kernels::CmsisNn)).unwrap()
    };
    let (product, convolution) = (tail(&[1, 256]), tail(&[1, 1, 256]));
    // A pointer to the scratch.
    assert!(convolution.arm32 - product.arm32 <= 16, "{product:?}, {convolution:?}");
    assert!(convolution.margin(4096) >= product.margin(4096) + 2 * 4 * 256 - 16);
}

/// What TFLM of 2026 keeps on a core of 32 bits, with the portable kernels, CMSIS-NN, ESP-NN in C and that for the
/// ESP32-S3, and what we say more: it has shorter options of dense layers than the release at hand, and other tables of
/// resource variables.
const ARM32: &[(&str, [u64; 4], u64)] = &[
    ("tflm_mnist_lstm_int8", [1_692, 2_572, 1_692, 1_692], 16),
    ("mlperf_tiny_kws_int8", [6_780, 6_828, 6_780, 6_812], 16),
    ("mlperf_tiny_resnet8_int8", [5_212, 5_292, 5_212, 5_244], 16),
    ("mlperf_tiny_resnet8_float", [5_176, 2_536, 5_176, 5_176], 16),
    ("mlperf_tiny_vww_96_int8", [26_940, 26_988, 26_940, 27_052], 16),
    ("mobilenet_v2_035_96_int8", [66_876, 66_924, 66_892, 67_100], 16),
    ("densenet_2242_64_float", [24_264, 9_256, 24_264, 24_264], 16),
    ("densenet_2242_64_int8", [24_428, 24_588, 24_444, 24_540], 0),
    ("nasnet_a_n1_f192_96_float", [58_312, 38_760, 58_312, 58_312], 0),
    ("nasnet_a_n1_f192_96_int8", [59_212, 59_948, 59_244, 59_868], 16),
    ("nasnet_mobile_224_int8", [351_372, 352_604, 351_372, 352_796], 0),
    ("blazeface_front_128_float", [29_072, 11_568, 29_088, 29_088], 0),
    ("blazeface_front_128_int8", [28_048, 28_096, 28_048, 28_192], 0),
    ("face_landmark_192_int8", [55_408, 55_488, 55_408, 55_584], 0),
    ("basic_pitch_nmp", [25_496, 19_384, 25_496, 25_496], 0),
    ("hand_recrop", [15_192, 8_920, 15_192, 15_192], 0),
    ("movenet_single_pose_lightning_ptq", [163_496, 163_496, 163_496, 163_784], 0),
    ("microwakeword_okay_nabu", [16_748, 16_812, 16_748, 16_796], 208),
    ("tflm_audio_preprocessor_int8", [5_448, 5_448, 5_448, 5_448], 48),
];

#[test]
fn a_device_keeps_what_we_predict() {
    for path in shared_files("models", "tflite") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some((_, kept, more)) = ARM32.iter().find(|(model, ..)| *model == name) else { continue };
        let input = load(path.to_str().unwrap()).unwrap();
        let sets = [Kernels::Reference, Kernels::CmsisNn, Kernels::EspNn, Kernels::EspNnS3];
        for (kernels, kept) in sets.into_iter().zip(kept) {
            let said = input.tail(MemoryModel::Tflm(kernels)).unwrap().arm32;
            assert!((*kept..=kept + more).contains(&said), "{name}, {kernels}: {said}, and {kept} are kept");
        }
    }
}

#[test]
fn tflm_keeps_what_we_predict_and_needs_no_larger_arena() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let paths: Vec<&Path> = models.iter().map(|model| model.path.as_path()).collect();
    let Some(verdicts) = tflm(&paths, &ALLOCATE_ONLY) else { return };
    let mut accepted: Vec<(&Predicted, &Tflm)> = Vec::new();
    for (model, verdict) in models.iter().zip(&verdicts) {
        match verdict {
            Verdict::Accepted(seen) => accepted.push((model, seen)),
            Verdict::Refused(_) => println!("{}: refused by TFLM", model.name()),
        }
    }
    let mut faults = Vec::new();
    for &(model, seen) in &accepted {
        let (name, tail) = (model.name(), model.tail);
        println!(
            "{name}: tail {} (seen {}), needs {}; on 32 bits {}, needs {} and up to {} more",
            tail.x86_64,
            seen.tail,
            model.needed(),
            tail.arm32,
            tail.needed(model.head).arm32,
            tail.margin(model.head)
        );
        if (tail.x86_64, tail.unknown_kernels) != (seen.tail, 0) {
            faults.push(format!("{name}: predicted {tail:?}, seen {} in {:?}", seen.tail, seen.split));
        }
        if tail.arm32 >= tail.x86_64 {
            faults.push(format!("{name}: pointers of half the size make nothing smaller: {tail:?}"));
        }
    }

    let paths: Vec<&Path> = accepted.iter().map(|(model, _)| model.path.as_path()).collect();
    let within = |less: u64| {
        let arenas: Vec<u64> = accepted.iter().map(|(model, _)| model.needed() - less).collect();
        tflm_each_within(&arenas, &paths, &ALLOCATE_ONLY).unwrap()
    };
    for ((model, _), verdict) in accepted.iter().zip(within(0)) {
        if let Verdict::Refused(reason) = verdict {
            faults.push(format!("{}: {} bytes are not enough: {reason}", model.name(), model.needed()));
        }
    }
    for ((model, _), verdict) in accepted.iter().zip(within(64)) {
        if let Verdict::Accepted(_) = verdict {
            faults.push(format!("{}: 64 bytes less than {} are enough", model.name(), model.needed()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
