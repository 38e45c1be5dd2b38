//! Judged by TensorFlow Lite for Microcontrollers itself: models that come with a plan of the arena that somebody else
//! wrote, and models that leave nothing to plan.

use serenity::ir::{ElementType, GraphBuilder, Model as NewModel, Tensor};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::tflite::{Model, OFFLINE_PLAN, Storage};
use serenity::zoo::Precision;
use serenity::{Format, Input, Options, ReadOptions, export, inspect, load_bytes, optimize};
use serenity_judges::{Inputs, Verdict, tflm};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Reference);

/// Activations lie this far apart, so that no planner would come up with it.
const APART: i32 = 1 << 16;

fn read(bytes: Vec<u8>) -> Input {
    load_bytes("given.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap()
}

/// A model with these words as its plan: version, number of sub-graphs, and offsets behind their number.
fn with_plan(model: &Model, [version, sub_graphs]: [i32; 2], offsets: &[i32]) -> Vec<u8> {
    let head = [version, sub_graphs, offsets.len() as i32];
    let mut edit = model.edit();
    edit.set_metadata(OFFLINE_PLAN, head.iter().chain(offsets).flat_map(|word| word.to_le_bytes()).collect());
    edit.finish().unwrap().bytes
}

fn head(input: &Input) -> u64 {
    inspect(input.graphs(), TFLM, input.plan().as_ref()).arena.unwrap().bytes
}

fn written(folder: &Path, files: &[Vec<u8>]) -> Vec<PathBuf> {
    let write = |(number, bytes): (usize, &Vec<u8>)| {
        let path = folder.join(format!("{number}.tflite"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    files.iter().enumerate().map(write).collect()
}

#[test]
fn a_plan_is_followed_whatever_its_version_and_refused_as_tflm_refuses_it() {
    let model = Model::parse(export("swiftnet-c", Format::TfLite, Precision::Int8).unwrap().bytes).unwrap();
    let mut next = 0;
    let tensors = model.sub_graphs()[0].tensors().iter();
    let offsets: Vec<i32> = tensors
        .map(|tensor| {
            next += APART;
            if tensor.storage == Storage::Activation { next } else { -1 }
        })
        .collect();
    let followed: Vec<Vec<u8>> =
        [[0, 1], [1, 1], [2, 0], [7, -1]].map(|head| with_plan(&model, head, &offsets)).into();
    let refused: Vec<Vec<u8>> = [&offsets[1..], &[]].map(|offsets| with_plan(&model, [1, 1], offsets)).into();
    for file in &followed {
        assert!(head(&read(file.clone())) > APART as u64);
    }
    let options = |input: &Input| Options { model: TFLM, ..Options::for_input(input) };
    let mended: Vec<Vec<u8>> = refused
        .iter()
        .map(|file| {
            let input = read(file.clone());
            assert!(input.plan().is_none() && input.plan_fault(Kernels::Reference).is_some());
            optimize(&input, &options(&input)).unwrap().to_bytes().unwrap()
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let files = [followed.clone(), mended, refused].concat();
    let Some(verdicts) = tflm(&written(folder.path(), &files), &Inputs::default()) else { return };
    for (file, verdict) in files.iter().zip(&verdicts).take(6) {
        assert_eq!(verdict.accepted().head, head(&read(file.clone())));
        assert_eq!(verdict.accepted().outputs, verdicts[0].accepted().outputs);
    }
    for verdict in &verdicts[6..] {
        assert!(matches!(verdict, Verdict::Refused(_)), "{verdict:?}");
    }
}

#[test]
fn a_model_without_operators_needs_what_tflm_needs_and_stays_as_it_is() {
    let models = [(1, 0), (2, 1)].map(|(inputs, output)| {
        let mut builder = GraphBuilder::new("passes on");
        let ids: Vec<_> = (0..inputs)
            .map(|side| {
                let shape = vec![1, 10, 10 + side, 3];
                builder.input(Tensor::shaped(format!("x{side}"), shape, ElementType::Float32).unwrap())
            })
            .collect();
        builder.output(ids[output]);
        let model = NewModel::new(builder.build_body().unwrap(), Vec::new(), Vec::new()).unwrap();
        Format::TfLite.create(&model).unwrap()
    });
    for file in &models {
        let input = read(file.clone());
        let best = optimize(&input, &Options { model: TFLM, ..Options::for_input(&input) }).unwrap();
        assert_eq!((best.plan.before.arena, best.plan.after.arena), (Some(head(&input)), Some(head(&input))));
        assert_eq!(best.to_bytes().unwrap(), *file);
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(verdicts) = tflm(&written(folder.path(), &models), &Inputs::default()) else { return };
    for (file, verdict) in models.iter().zip(verdicts) {
        let input = read(file.clone());
        let seen = verdict.accepted();
        assert_eq!((seen.head, seen.tail), (head(&input), input.tail(TFLM).unwrap().x86_64));
    }
}
