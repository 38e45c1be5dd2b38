//! Models that mean harm: what is written compiles and does what it says, or nothing is.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use serde_json::json;
use serenity_emit::{
    DataPlace, Emitted, Library, Refused, Source, SourceGraph, SourceOp, SourceTensor, c_code, not_covered,
};
use serenity_ir::{Attributes, ElementType, Quantization};
use serenity_judges::{Need, skip};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A tensor of bytes with a scale.
fn tensor(name: &str, shape: &[u64], place: DataPlace) -> SourceTensor {
    let quantization = Some(Quantization { scales: vec![0.5], zero_points: vec![0], axis: 0 });
    let bytes = shape.iter().fold(1_u64, |bytes, &side| bytes.saturating_mul(side));
    SourceTensor {
        name: name.to_owned(),
        shape: shape.to_vec(),
        dtype: ElementType::Int8,
        quantization,
        bytes,
        place,
    }
}

fn op(kind: &str, inputs: &[usize], output: usize, attributes: serde_json::Value) -> SourceOp {
    let serde_json::Value::Object(attributes) = attributes else { unreachable!() };
    SourceOp {
        kind: kind.to_owned(),
        inputs: inputs.iter().copied().map(Some).collect(),
        outputs: vec![Some(output)],
        attributes: attributes.into_iter().collect::<Attributes>(),
        bodies: vec![],
        scratch: None,
    }
}

fn model(tensors: Vec<SourceTensor>, ops: Vec<SourceOp>, about: &str) -> Source {
    let output = ops.last().and_then(|op| op.outputs[0]).unwrap();
    Source {
        graphs: vec![SourceGraph { tensors, ops, inputs: vec![0], outputs: vec![output] }],
        about: about.to_owned(),
        library: Library::None,
        stream: None,
    }
}

/// A dense layer from `x` to `y`, all of them called so.
fn dense(name: &str, weights: Vec<u8>, shape: [u64; 2], bias: Option<i32>) -> Source {
    let mut tensors = vec![
        tensor(name, &[1, shape[1]], DataPlace::Arena(0)),
        tensor(name, &shape, DataPlace::Constant(weights)),
        tensor(name, &[1, shape[0]], DataPlace::Arena(1024)),
    ];
    let mut inputs = vec![0, 1];
    if let Some(bias) = bias {
        let mut list =
            tensor(name, &[shape[0]], DataPlace::Constant(bias.to_le_bytes().repeat(shape[0] as usize)));
        (list.dtype, list.bytes) = (ElementType::Int32, 4 * shape[0]);
        tensors.push(list);
        inputs.push(3);
    }
    let options = json!({"activation": "none", "weights_format": "default"});
    model(tensors, vec![op("FULLY_CONNECTED", &inputs, 2, options)], name)
}

/// Does it compile without a word? Where there is no compiler, nobody knows.
fn compiles(code: &Emitted) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("serenity-hostile-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in &code.files {
        assert!(text.is_ascii(), "{name}");
        std::fs::write(folder.join(name), text).unwrap();
    }
    for file in ["model.c", "kernels.c"] {
        let compiled = Command::new("cc")
            .args([
                "-std=c11",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Wcomment",
                "-Werror",
                "-c",
                file,
                "-o",
                "/dev/null",
            ])
            .current_dir(&folder)
            .output();
        let Ok(compiled) = compiled else {
            skip(Need::Compiler, "there is no cc");
            break;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a compiler sees.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, rest)| rest))
}

#[test]
fn names_do_no_harm() {
    let long = "x*/".repeat(10_000);
    let names = [
        "int",
        "main",
        "*/ int evil(void) { return 1; } /*",
        "a\"b",
        "a\nb\r#error",
        "??/",
        "\\",
        "\u{202e}",
        "",
        "%s%n",
        "_",
        "9",
        &long,
        "step_0",
        "model_arena",
    ];
    for name in names {
        let code = c_code(&dense(name, vec![1; 8], [2, 4], Some(7)), name).unwrap();
        for (file, text) in &code.files {
            let seen = without_comments(text);
            assert!(!seen.contains("evil(") && !seen.contains("#error"), "{file} of {name}");
        }
        compiles(&code);
    }
}

#[test]
fn only_layers_whose_sums_fit_are_packed() {
    let is_packed = |weight: u8, bias: i32| {
        let code = c_code(&dense("y", vec![weight; 8], [2, 4], Some(bias)), "m").unwrap();
        compiles(&code);
        code.files[1].1.contains("m_packed_pointwise_s8(")
    };
    assert!(is_packed(1, 1 << 20));
    assert!(!is_packed(1, i32::MAX));
    assert!(!is_packed(0x80, i32::MIN));
}

#[test]
fn loops_that_run_themselves_are_refused() {
    let of = |bodies: [usize; 2]| {
        let tensors = vec![tensor("x", &[1], DataPlace::Arena(0)), tensor("y", &[1], DataPlace::Arena(16))];
        let mut source = model(tensors, vec![op("WHILE", &[0], 1, json!({}))], "m");
        source.graphs[0].ops[0].bodies = vec![1, 1];
        source.graphs.push(source.graphs[0].clone());
        source.graphs[0].ops[0].bodies = bodies.to_vec();
        c_code(&source, "m").unwrap_err().why
    };
    assert_eq!(of([1, 1]), "it is inside another loop");
    assert_eq!(of([0, 0]), "it runs no graphs");
    assert_eq!(of([7, 1]), "it runs no graphs");
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    // Told before a plan is searched for as well.
    assert_eq!(not_covered(&dense("y", vec![1; 8], [2, 4], None)), None);
    assert!(not_covered(&dense("y", vec![1; 7], [2, 4], None)).is_some());
    let refused = |source: &Source| -> Refused { c_code(source, "m").unwrap_err() };
    // Weights of another size than the shape says, and shapes at the limits.
    refused(&dense("y", vec![1; 7], [2, 4], None));
    refused(&dense("y", vec![1; 8], [u64::MAX, 4], None));
    refused(&dense("y", vec![1; 8], [1 << 31, 1 << 31], None));
    refused(&dense("y", vec![], [0, u64::MAX], None));
    let copy = |shape: &[u64], attributes| {
        let tensors = vec![tensor("x", shape, DataPlace::Arena(0)), tensor("y", shape, DataPlace::Arena(64))];
        model(tensors, vec![op("SOFTMAX", &[0], 1, attributes)], "m")
    };
    refused(&copy(&[0, 1 << 40], json!({"beta": 1.0})));
    refused(&copy(&[1, 1 << 32], json!({"beta": 1.0})));
    refused(&copy(&[1, 4], json!({"beta": 1e300})));
    let mut far = copy(&[1, 4], json!({}));
    far.graphs[0].tensors[1].place = DataPlace::Arena(u64::MAX);
    assert_eq!(refused(&far).why, "the arena is larger than 2 GiB");
    assert_eq!(
        refused(&model(
            vec![tensor("x", &[1], DataPlace::Arena(0)); 2],
            vec![op("*/", &[0], 1, json!({}))],
            "m"
        ))
        .kind,
        "_/"
    );
}

#[test]
fn steps_and_axes_beyond_all_bounds_are_refused() {
    let numbers = |values: [i64; 1]| {
        let mut list = tensor("n", &[1], DataPlace::Constant(values[0].to_le_bytes().to_vec()));
        (list.dtype, list.bytes) = (ElementType::Int64, 8);
        list
    };
    for (begin, end, step) in
        [(0, 4, i64::MAX), (i64::MIN, i64::MAX, i64::MIN), (0, 0, 1), (4, 4, 1), (0, 4, 0)]
    {
        let tensors = vec![
            tensor("x", &[4], DataPlace::Arena(0)),
            numbers([begin]),
            numbers([end]),
            numbers([step]),
            tensor("y", &[1], DataPlace::Arena(16)),
        ];
        assert!(
            c_code(&model(tensors, vec![op("STRIDED_SLICE", &[0, 1, 2, 3], 4, json!({}))], "m"), "m")
                .is_err()
        );
    }
    let tensors = vec![tensor("x", &[4], DataPlace::Arena(0)), tensor("y", &[4], DataPlace::Arena(16))];
    for axis in [i64::MIN, -2, 1, i64::MAX] {
        let joined = op("CONCATENATION", &[0], 1, json!({"axis": axis}));
        assert!(c_code(&model(tensors.clone(), vec![joined], "m"), "m").is_err());
    }
}

/// A tensor of another type.
fn typed(shape: &[u64], dtype: ElementType, place: DataPlace) -> SourceTensor {
    let mut tensor = tensor("t", shape, place);
    tensor.bytes = dtype.bytes_of(shape).unwrap();
    tensor.dtype = dtype;
    tensor
}

fn halves(values: &[i16]) -> SourceTensor {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    typed(&[values.len() as u64], ElementType::Int16, DataPlace::Constant(bytes))
}

/// What is said of an operator that reads all tensors but the last, which it writes.
fn why(kind: &str, tensors: Vec<SourceTensor>, attributes: serde_json::Value) -> String {
    let last = tensors.len() - 1;
    let inputs: Vec<usize> = (0..last).collect();
    match c_code(&model(tensors, vec![op(kind, &inputs, last, attributes)], "m"), "m") {
        Ok(code) => {
            compiles(&code);
            String::new()
        }
        Err(refused) => refused.why,
    }
}

#[test]
fn signals_stay_within_their_tensors() {
    let words = |shape: &[u64], place| typed(shape, ElementType::Int16, DataPlace::Arena(place));
    let transform = |length, size: i64, written| {
        let tensors = vec![words(&[length], 0), words(&[written], 4096)];
        why("CUSTOM:SignalRfft", tensors, json!({"fft_length": size}))
    };
    assert_eq!(transform(60, 64, 66), "");
    assert!(transform(60, 60, 62).contains("no power of two"));
    assert!(transform(60, 64, 64).contains("do not fit"));
    assert!(transform(65, 64, 66).contains("do not fit"));
    for size in [i64::MIN, 0, 2, 1 << 40] {
        assert!(transform(60, size, 66).contains("out of range"));
    }
    let bank = |place: i16, start: i16, width: i16, weight: i16| {
        let tensors = vec![
            typed(&[8], ElementType::UInt32, DataPlace::Arena(0)),
            halves(&[weight; 6]),
            halves(&[1; 6]),
            halves(&[0, place]),
            halves(&[0, start]),
            halves(&[2, width]),
            typed(&[1], ElementType::UInt64, DataPlace::Arena(64)),
        ];
        why("CUSTOM:SignalFilterBank", tensors, json!({"num_channels": 1}))
    };
    assert_eq!(bank(4, 2, 4, 3), "");
    for (place, start, width, weight) in
        [(5, 2, 4, 3), (4, 3, 4, 3), (-1, 2, 4, 3), (4, 2, -1, 3), (4, 2, 4, -3)]
    {
        assert!(bank(place, start, width, weight).contains("do not fit"));
    }
    let gains = |count: usize, down: i64| {
        let words = |place| typed(&[4], ElementType::UInt32, DataPlace::Arena(place));
        let tensors = vec![words(0), words(16), halves(&vec![1; count]), words(32)];
        why("CUSTOM:SignalPCAN", tensors, json!({"snr_shift": down}))
    };
    assert_eq!(gains(125, 6), "");
    assert!(gains(124, 6).contains("fewer than 125"));
    assert!(gains(125, 32).contains("out of range"));
}

#[test]
fn whole_numbers_divide_by_known_ones() {
    let quotient = |divisor: i32| {
        let words = |place| typed(&[4], ElementType::Int32, place);
        let divisors = divisor.to_le_bytes().repeat(4);
        let tensors = vec![
            words(DataPlace::Arena(0)),
            words(DataPlace::Constant(divisors)),
            words(DataPlace::Arena(16)),
        ];
        why("DIV", tensors, json!({"activation": "none"}))
    };
    assert_eq!(quotient(-7), "");
    assert!(quotient(0).contains("or 0") && quotient(-1).contains("or -1"));
    let floats = vec![
        typed(&[4], ElementType::Float32, DataPlace::Arena(0)),
        typed(&[4], ElementType::UInt8, DataPlace::Arena(16)),
    ];
    assert!(why("CAST", floats, json!({})).contains("from float32 to uint8"));
}

#[test]
fn images_do_not_grow_beyond_their_input() {
    let resized = |from: u64, to: u64, aligned: bool| {
        let tensors = vec![
            tensor("x", &[1, from, 1, 1], DataPlace::Arena(0)),
            tensor("y", &[1, to, 1, 1], DataPlace::Arena(1 << 20)),
        ];
        why("RESIZE_BILINEAR", tensors, json!({"align_corners": aligned, "half_pixel_centers": aligned}))
    };
    assert_eq!(resized(4, 8, false), "");
    assert!(resized(4, 8, true).contains("corners"));
    // A step is rounded to 1/1024 of a pixel.
    assert!(resized(3, 5000, false).contains("beyond the input"));
}

/// Two cells that read three numbers: four gates, their biases, and two variables.
fn recurrent(weight: u8, memory_scale: f32, state: DataPlace, clip: f32) -> String {
    let mut tensors = vec![
        tensor("x", &[1, 2, 3], DataPlace::Arena(0)),
        tensor("w", &[2, 3], DataPlace::Constant(vec![weight; 6])),
        tensor("r", &[2, 2], DataPlace::Constant(vec![weight; 4])),
        typed(&[2], ElementType::Int32, DataPlace::Constant(i32::MAX.to_le_bytes().repeat(2))),
        tensor("h", &[1, 2], state.clone()),
        typed(&[1, 2], ElementType::Int16, state),
        tensor("y", &[1, 2, 2], DataPlace::Arena(64)),
    ];
    if weight == 1 {
        tensors[3].place = DataPlace::Constant(vec![0; 8]);
    }
    tensors[5].quantization =
        Some(Quantization { scales: vec![memory_scale], zero_points: vec![0], axis: 0 });
    let mut lstm = op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        &[0, 1, 1, 1, 1, 2, 2, 2, 2],
        6,
        json!({"activation": "tanh", "cell_clip": clip, "time_major": false}),
    );
    lstm.inputs.extend([None; 3]);
    lstm.inputs.extend([Some(3); 4]);
    lstm.inputs.extend([None, None, Some(4), Some(5), None, None, None, None]);
    match c_code(&model(tensors, vec![lstm], "m"), "m") {
        Ok(code) => {
            assert_eq!(code.state, 16 + 4 + 4, "results, memory, and whether there are any yet");
            compiles(&code);
            String::new()
        }
        Err(refused) => refused.why,
    }
}

#[test]
fn cells_remember_what_can_be_proved() {
    let scale = 1.0 / 2048.0;
    assert_eq!(recurrent(1, scale, DataPlace::Variable, 0.0), "");
    assert_eq!(recurrent(1, scale, DataPlace::Variable, 1e30), "");
    assert!(recurrent(1, scale, DataPlace::Arena(128), 0.0).contains("no variable"));
    assert!(recurrent(1, 0.3, DataPlace::Variable, 0.0).contains("power of two"));
    assert!(recurrent(1, f32::NAN, DataPlace::Variable, 0.0).contains("power of two"));
    assert!(recurrent(2, scale, DataPlace::Variable, 0.0).contains("beyond 32 bits"));
}
