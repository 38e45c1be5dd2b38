//! What is not the same, or cannot be written, stays as it is.

use super::wire::*;
use super::{MODEL, collection, read, stem};
use serenity::pipeline::{possible_rewrites, rewrite};
use serenity::runtimes::MemoryModel;
use serenity::{Input, ReadOptions, Rewrites, load_with};

/// A convolution, then `more`, over `a` and `b` joined.
fn convolution(weights: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let records = [
        input("a", &[1, 2, 4, 4]),
        input("b", &[1, 3, 4, 4]),
        node("Concat", &["a", "b"], &["x"], &[int_attribute("axis", 1)]),
        node("Conv", &["x", "w"], &["z"], &[]),
        initializer(weights),
        output("z"),
        more.concat(),
    ];
    record(7, records.concat())
}

fn file(version: i64, graph: Vec<u8>, more: &[Vec<u8>]) -> Vec<u8> {
    [number(1, version), graph, record(8, number(2, 13)), more.concat()].concat()
}

/// `TensorProto` without its tag: zeros that are written down.
fn zeros(name: &str, shape: &[i64]) -> Vec<u8> {
    let count = shape.iter().product::<i64>() as usize;
    [floats(name, shape), record(9, vec![0; 4 * count])].concat()
}

fn read_as(bytes: Vec<u8>, model: MemoryModel) -> Input {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, bytes).unwrap();
    let mut options = ReadOptions::default();
    options.model = Some(model);
    load_with(path.to_str().unwrap(), &options).unwrap()
}

fn possible(bytes: Vec<u8>) -> usize {
    possible_rewrites(&read_as(bytes, MODEL), MODEL, Rewrites::All).len()
}

#[test]
fn constants_that_are_not_the_files_own_stay_whole() {
    let weights = zeros("w", &[4, 5, 1, 1]);
    assert_eq!(possible(file(8, convolution(&weights, &[]), &[])), 1);
    let listed = [input("w", &[4, 5, 1, 1])];
    assert_eq!(possible(file(8, convolution(&weights, &listed), &[])), 0, "a caller may give another");
    assert_eq!(possible(file(3, convolution(&weights, &listed), &[])), 1, "every constant had to be listed");
    let place = record(13, [record(1, "location"), record(2, "weights.bin")].concat());
    let elsewhere = [floats("w", &[4, 5, 1, 1]), place, number(14, 1)].concat();
    assert_eq!(possible(file(8, convolution(&elsewhere, &[]), &[])), 0, "in another file");
    assert_eq!(possible(file(8, convolution(&floats("w", &[4, 5, 1, 1]), &[]), &[])), 0, "no data");
    let function = record(25, [record(1, "Conv"), record(10, "")].concat());
    assert_eq!(possible(file(8, convolution(&weights, &[]), &[function])), 0, "not the standard's operator");
}

#[test]
fn what_is_rounded_to_integers_is_the_same_bit_for_bit_or_not_done() {
    let weights = zeros("w", &[4, 5, 1, 1]);
    let scale =
        initializer(&[number(2, FLOAT), record(8, "scale"), record(9, 0.5_f32.to_le_bytes())].concat());
    let quantised = [node("QuantizeLinear", &["z", "scale"], &["q"], &[]), scale];
    assert_eq!(possible(file(8, convolution(&weights, &quantised), &[])), 0);
    for path in collection().iter().filter(|path| stem(path).contains("qdq")) {
        let patches = possible_rewrites(&read(path), MODEL, Rewrites::All);
        assert!(patches.iter().all(|patch| patch.exact), "{path:?}: {patches:?}");
    }
}

#[test]
fn models_read_without_their_constant_nodes_are_rewritten_or_refused() {
    let stored = convolution(&zeros("w", &[4, 5, 1, 1]), &[]);
    let plain = read_as(file(8, stored, &[]), MemoryModel::Plain);
    let patches = possible_rewrites(&plain, MemoryModel::Plain, Rewrites::All);
    let rewritten = rewrite(&plain, &patches, MemoryModel::Plain).unwrap();
    assert_eq!((patches.len(), rewritten.graph().ops().len()), (1, 3), "two convolutions and their sum");
    assert!(
        possible_rewrites(&plain, MemoryModel::Paper, Rewrites::All).is_empty(),
        "ONNX has no accumulators"
    );
    let shape = initializer(&ints("shape", &[4, 5, 1, 1]));
    let computed = [
        input("a", &[1, 2, 4, 4]),
        input("b", &[1, 3, 4, 4]),
        shape,
        node("ConstantOfShape", &["shape"], &["w"], &[]),
        node("Concat", &["a", "b"], &["x"], &[int_attribute("axis", 1)]),
        node("Conv", &["x", "w"], &["z"], &[]),
        output("z"),
    ];
    let folded = read_as(model(&computed), MemoryModel::Plain);
    assert!(
        possible_rewrites(&folded, MemoryModel::Plain, Rewrites::All).is_empty(),
        "of no constant of the file"
    );
    assert_eq!(possible(model(&computed)), 1);
    for path in collection() {
        let mut options = ReadOptions::default();
        options.model = Some(MemoryModel::Plain);
        let input = load_with(path.to_str().unwrap(), &options).unwrap();
        let patches = possible_rewrites(&input, MemoryModel::Plain, Rewrites::All);
        let rewritten = rewrite(&input, &patches, MemoryModel::Plain);
        assert!(rewritten.is_ok(), "{path:?}: {:?}", rewritten.err());
    }
}
