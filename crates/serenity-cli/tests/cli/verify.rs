//! `serenity verify` with the real runtimes, where they are set up (`scripts/python-env`).

use crate::harness::{Desk, Run};
use crate::tiny_onnx::{one_op, one_op_named};
use serde_json::{Value, json};
use serenity_judges::shared;

/// A desk with models on it, and the Python with the runtimes; `None`, and said plainly, without them.
fn desk(models: &[(&str, Vec<u8>)]) -> Option<(Desk, String)> {
    let python = serenity_judges::python()?;
    let desk = Desk::new();
    for (name, content) in models {
        std::fs::write(desk.path(name), content).unwrap();
    }
    Some((desk, python.to_str().unwrap().to_owned()))
}

fn verify(desk: &Desk, python: &str, args: &[&str]) -> Run {
    desk.run(&[&["verify", "--python", python], args].concat())
}

/// Models that are not ours; `None`, and said plainly, if they are not here.
fn real(names: [&str; 2]) -> Option<[String; 2]> {
    let folder = shared("models")?;
    Some(names.map(|name| folder.join(name).to_str().unwrap().to_owned()))
}

#[test]
fn the_same_function_is_equal_to_the_last_bit() {
    // Half of the values are NaN: those of negative numbers.
    let models = [("a.onnx", one_op("Sqrt")), ("b.onnx", one_op("Sqrt"))];
    let Some((desk, python)) = desk(&models) else { return };
    let run = verify(&desk, &python, &["a.onnx", "b.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("equal: the same to the last bit in 4 runs"), "{run:?}");
    assert!(run.stdout.contains("ONNX Runtime (onnxruntime 1."), "{run:?}");
    let object = verify(&desk, &python, &["a.onnx", "b.onnx", "--runs", "2", "--json"]).json();
    assert_eq!((&object["equal"], object["max_abs_difference"].as_f64()), (&json!(true), Some(0.0)));
    assert_eq!((&object["runs"], &object["engines"][0]["engine"]), (&json!(2), &json!("onnxruntime")));
}

#[test]
fn another_function_is_different_unless_it_is_close_enough() {
    let models = [("a.onnx", one_op("Sin")), ("b.onnx", one_op("Tanh"))];
    let Some((desk, python)) = desk(&models) else { return };
    let run = verify(&desk, &python, &["a.onnx", "b.onnx", "--json"]);
    let object = run.json();
    assert_eq!((run.code, &object["equal"], &object["passed"]), (1, &json!(false), &json!(false)));
    // sin 1 - tanh 1 = 0.0799; the same seed draws the same.
    let difference = object["max_abs_difference"].as_f64().unwrap();
    assert!(difference > 0.01 && difference < 0.08, "{difference}");
    assert_eq!(object["engines"][0]["first_difference"], json!({"run": 0, "invocation": 0}));
    assert_eq!(verify(&desk, &python, &["a.onnx", "b.onnx", "--json"]).json(), object);
    let run = verify(&desk, &python, &["a.onnx", "b.onnx", "--tolerance", "0.08"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("within the tolerance"), "{run:?}");
    let run = verify(&desk, &python, &["a.onnx", "b.onnx", "--tolerance", "0.01"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.starts_with("DIFFERENT") && run.stdout.contains("output `y`"), "{run:?}");
}

#[test]
fn a_number_is_never_within_the_tolerance_of_a_nan() {
    let models = [("a.onnx", one_op("Relu")), ("b.onnx", one_op("Sqrt"))];
    let Some((desk, python)) = desk(&models) else { return };
    let run = verify(&desk, &python, &["a.onnx", "b.onnx", "--tolerance", "1e30", "--json"]);
    let object = run.json();
    assert_eq!((run.code, &object["max_abs_difference"]), (1, &Value::Null));
    assert!(object["engines"][0]["outputs"][0]["incomparable"].as_u64() > Some(0), "{object}");
}

#[test]
fn other_inputs_or_outputs_are_a_difference_that_is_named() {
    let models = [
        ("a.onnx", one_op("Relu")),
        ("b.onnx", one_op_named("Relu", "z", 8)),
        ("c.onnx", one_op_named("Relu", "y", 9)),
    ];
    let Some((desk, python)) = desk(&models) else { return };
    for (other, message) in
        [("b.onnx", "output 0 (`y`): name y against z"), ("c.onnx", "input 0 (`x`): shape [8] against [9]")]
    {
        let run = verify(&desk, &python, &["a.onnx", other]);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stdout.starts_with("DIFFERENT") && run.stdout.contains(message), "{run:?}");
    }
}

#[test]
fn a_model_that_does_not_run_is_an_error() {
    let models =
        [("a.onnx", one_op("Relu")), ("b.onnx", one_op("NoSuchOp")), ("c.onnx", b"no model at all".to_vec())];
    let Some((desk, python)) = desk(&models) else { return };
    for (a, b, message) in [
        ("a.onnx", "b.onnx", "runs `a.onnx`, but fails on `b.onnx`"),
        ("a.onnx", "c.onnx", "runs `a.onnx`, but fails on `c.onnx`"),
        ("c.onnx", "a.onnx", "no runtime can run the first model"),
    ] {
        let run = verify(&desk, &python, &[a, b]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        assert!(run.stderr.contains(message), "{run:?}");
    }
}

#[test]
fn a_model_for_microcontrollers_runs_there_too() {
    let Some((desk, python)) = desk(&[]) else { return };
    let Some([keywords, residual]) = real(["mlperf_tiny_kws_int8.tflite", "mlperf_tiny_resnet8_int8.tflite"])
    else {
        return;
    };
    let object = verify(&desk, &python, &[&keywords, &keywords, "--json"]).json();
    assert_eq!(object["equal"], true);
    let engines = object["engines"].as_array().unwrap().iter().map(|engine| &engine["engine"]);
    assert_eq!(engines.collect::<Vec<_>>(), ["litert", "litert-builtin", "litert-xnnpack", "tflm"]);
    let run = verify(&desk, &python, &[&keywords, &residual, "--engine", "tflm"]);
    assert!(run.code == 1 && run.stdout.contains("[1, 49, 10, 1] against [1, 32, 32, 3]"), "{run:?}");
}

#[test]
fn a_runtime_that_does_not_take_the_first_model_is_not_asked() {
    let Some((desk, python)) = desk(&[]) else { return };
    let Some([model, _]) = real(["mobilenet_v1_0.25_128_quant.tflite", ""]) else { return };
    let run = verify(&desk, &python, &[&model, &model, "--runs", "1"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("not asked: TensorFlow Lite for Microcontrollers"), "{run:?}");
    let run = verify(&desk, &python, &[&model, &model, "--runs", "1", "--engine", "tflm"]);
    assert!(run.code == 2 && run.stderr.contains("Hybrid models are not supported"), "{run:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_remedy() {
    let desk = Desk::new();
    for name in ["a.onnx", "b.onnx", "c.tflite", "d.json"] {
        desk.write(name, "");
    }
    for (args, message) in [
        (&["a.onnx", "c.tflite"][..], "different runtimes"),
        (&["a.onnx", "d.json"], "`d.json` cannot be run"),
        (&["zoo:swiftnet", "zoo:swiftnet"], "`zoo:swiftnet` cannot be run"),
        (&["a.onnx", "nowhere.onnx"], "cannot read `nowhere.onnx`"),
        (&["a.onnx", "b.onnx", "--engine", "litert"], "LiteRT, reference kernels does not run `a.onnx`"),
        (&["a.onnx", "b.onnx", "--python", "./no-python"], "pip install onnxruntime"),
        (&["a.onnx", "b.onnx", "--python", "./no-python"], "./no-python: "),
        (&["a.onnx", "b.onnx", "--runs", "0"], "--runs"),
        (&["a.onnx", "b.onnx", "--tolerance", "-1"], "--tolerance"),
        (&["a.onnx", "b.onnx", "--tolerance", "nan"], "not negative"),
    ] {
        let run = desk.run(&[&["verify"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.stderr.contains(message), "{args:?} {run:?}");
    }
}
