//! Models with weights of 16-bit floats, which TFLM runs once they are 32-bit floats of the file.

use crate::common::exported;
use serenity::ir::ElementType::{Float16, Float32};
use serenity::ir::{Op, Operator};
use serenity::tflite::{Model, NewOptions, NewTensor, OperatorSource};
use serenity::zoo::Precision;
use serenity::{Format, Input, Options, ReadOptions, Rewrites, load_with, optimize};
use serenity_judges::{Engine, Inputs, Rewritten, Verdict, rewritten_tflite, shared_files};
use std::path::{Path, PathBuf};

/// The model with its constants of floats in 16 bits, each behind a `DEQUANTIZE`, as converters write it.
fn with_halves(bytes: Vec<u8>) -> Vec<u8> {
    let model = Model::parse(bytes).unwrap();
    let main = &model.sub_graphs()[0];
    let mut edit = model.edit();
    let code = edit.operator_code("DEQUANTIZE", 3).unwrap();
    let mut operators = Vec::new();
    for (number, tensor) in main.tensors().iter().enumerate() {
        let Some(data) = model.constant(0, number).filter(|_| tensor.dtype == Float32) else { continue };
        // Ten bits of the fraction fit. Smaller numbers become zero; there are no larger ones.
        let half = |four: &[u8]| {
            let bits = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            let (sign, exponent) = ((bits >> 31) as u16, (bits >> 23 & 255) as i32 - 127 + 15);
            if (1..31).contains(&exponent) {
                sign << 15 | (exponent as u16) << 10 | (bits >> 13 & 1023) as u16
            } else {
                sign << 15
            }
        };
        let halves = data.chunks_exact(4).flat_map(|four| half(four).to_le_bytes()).collect();
        let buffer = edit.add_buffer(halves);
        let (shape, shape_signature, quantization) = (tensor.shape.clone(), None, None);
        let name = format!("{}/half", tensor.name);
        let from = NewTensor {
            name,
            shape: shape.clone(),
            shape_signature,
            dtype: Float16,
            buffer,
            quantization: None,
        };
        let from = edit.add_tensor(0, from).unwrap();
        let name = tensor.name.clone();
        let to = NewTensor { name, shape, shape_signature: None, dtype: Float32, buffer: 0, quantization };
        edit.replace_tensor(0, number, to).unwrap();
        let (inputs, outputs) = (vec![Some(from)], vec![Some(number)]);
        operators.push(OperatorSource::New { code, inputs, outputs, options: NewOptions::None });
    }
    assert!(!operators.is_empty());
    operators.extend((0..main.operators().len()).map(OperatorSource::Kept));
    edit.set_operators(0, operators).unwrap();
    edit.finish().unwrap().bytes
}

fn folded(path: &Path) -> Input {
    let mut options = ReadOptions::default();
    options.fold_constants = true;
    load_with(path.to_str().unwrap(), &options).unwrap()
}

#[test]
fn weights_of_half_floats_become_floats_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut before: Vec<PathBuf> = ["swiftnet-c", "mobilenet?resolution=64", "densenet?resolution=32"]
        .map(|name| {
            let path = exported(name, Format::TfLite, Precision::Float32, folder.path());
            std::fs::write(&path, with_halves(std::fs::read(&path).unwrap())).unwrap();
            path
        })
        .into();
    let names = ["face_detection_short_range", "pose_landmark_lite"];
    before.extend(
        shared_files("models", "tflite")
            .into_iter()
            .filter(|path| names.iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name))),
    );
    let mut after = Vec::new();
    for path in &before {
        let input = folded(path);
        let converts = |op: &Op| op.kind.operator() == Operator::DEQUANTIZE;
        assert!(!input.graph().ops().iter().any(converts), "{}", path.display());
        let found =
            optimize(&input, &Options { rewrites: Rewrites::None, ..Options::for_input(&input) }).unwrap();
        assert!(serenity::account::refused_by_tflm(&input, found.plan.model).is_empty());
        let name = format!("folded-{}", path.file_name().unwrap().to_string_lossy());
        let written = folder.path().join(name);
        std::fs::write(&written, found.to_bytes().unwrap()).unwrap();
        after.push(written);
    }
    // TFLM does not run what came, but what is written.
    let inputs = Inputs { runs: 2, seed: 16 };
    for verdict in serenity_judges::tflm(&after, &inputs).into_iter().flatten() {
        verdict.accepted();
    }
    let verdicts = rewritten_tflite(Engine::LiteRtReference, &before, &after, &inputs);
    for (path, verdict) in before.iter().zip(verdicts.into_iter().flatten()) {
        let is_same = matches!(verdict, Verdict::Accepted(Rewritten::Compared { identical: true, .. }));
        assert!(is_same, "{}: {verdict:?}", path.display());
    }
}
