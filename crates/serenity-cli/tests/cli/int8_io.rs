//! `optimize --int8-io`: what people, programs and applications are told, and requests that make no sense.

use crate::float_io::with_float_io;
use crate::harness::Desk;
use serde_json::{Value, json};

/// A folder with a model in it that takes and gives floats.
fn desk() -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "mobilenet?resolution=64", "-o", "int8.tflite", "--int8"]);
    assert_eq!(run.code, 0, "{run:?}");
    let bytes = std::fs::read(desk.path("int8.tflite")).unwrap();
    std::fs::write(desk.path("net.tflite"), with_float_io(bytes)).unwrap();
    desk
}

#[test]
fn programs_and_applications_are_told() {
    let desk = desk();
    let args = ["optimize", "net.tflite", "--int8-io", "--loops", "--json"];
    let files = ["-o", "out.tflite", "--plan", "plan.json", "--emit-header", "arena.h"];
    let object = desk.run(&[&args[..], &files].concat()).json();
    let floats = desk.run(&["optimize", "net.tflite", "--loops", "--json"]).json();
    assert_eq!(floats["int8_io"], Value::Null);
    assert_eq!(object["before"], floats["before"]);
    let arena = |object: &Value| object["after"]["arena"].as_u64().unwrap();
    assert!(arena(&object) < arena(&floats), "{} {}", arena(&object), arena(&floats));
    let io = &object["int8_io"];
    assert_eq!((&io["kept"], &io["outputs"][0]["position"]), (&json!([]), &json!(0)));
    let input = &io["inputs"][0];
    assert_eq!((&input["was"], &input["dtype"]), (&json!("input/float"), &json!("int8")));
    assert_eq!(input["name"], "input");

    let header = desk.read("arena.h");
    for (kind, port) in [("INPUT", input), ("OUTPUT", &io["outputs"][0])] {
        let scale = format!("#define NET_{kind}_0_SCALE {}f /* ", port["scale"]);
        let point = format!("#define NET_{kind}_0_ZERO_POINT ({})\n", port["zero_point"]);
        assert!(header.contains(&scale) && header.contains(&point), "{scale}{point}{header}");
    }

    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    crate::schema::assert_documented(&plan);
    assert_eq!(&plan["int8_io"], io);
    let check = desk.run(&["check", "plan.json", "net.tflite", "--deep"]);
    assert!(check.code == 0 && check.stdout.contains("int8_io verified: "), "{check:?}");
    let check = desk.run(&["check", "plan.json", "out.tflite"]);
    assert!(check.code == 1 && check.stdout.contains("the model that was optimised"), "{check:?}");
    let inspection = desk.run(&["inspect", "out.tflite", "--json"]).json();
    assert_eq!(inspection["arena"], object["after"]["arena"]);
}

#[test]
fn people_are_told_each_change_and_how_to_fill_it() {
    let desk = desk();
    let run = desk.run(&["optimize", "net.tflite", "--int8-io", "-o", "out.tflite", "--plan", "plan.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    for part in [
        "the application must convert, real = scale * (q - zero_point):",
        "- input 0 `input/float` is int8 `input`: scale ",
        ", zero point ",
        "serenity check plan.json net.tflite --deep",
        "serenity verify net.tflite out.tflite",
    ] {
        assert!(run.stdout.contains(part), "`{part}` is not in {}", run.stdout);
    }
    let run = desk.run(&["optimize", "net.tflite", "--int8-io"]);
    assert!(run.stdout.contains(" --int8-io -o smaller.tflite"), "{}", run.stdout);

    // Again there is nothing to do, which is no error.
    let run = desk.run(&["optimize", "out.tflite", "--int8-io"]);
    assert!(run.code == 0 && run.stdout.contains("nothing to do for --int8-io: no float32 input"), "{run:?}");
    let object = desk.run(&["optimize", "out.tflite", "--int8-io", "--json"]).json();
    assert_eq!(object["int8_io"], json!({"inputs": [], "outputs": [], "kept": []}));
}

#[test]
fn the_same_without_a_plan_and_for_another_runtime() {
    let desk = desk();
    for args in [&["--no-plan"][..], &["--runtime", "litert"], &["--no-rewrite", "--no-reorder"]] {
        let files =
            ["optimize", "net.tflite", "--int8-io", "-o", "out.tflite", "--plan", "plan.json", "--json"];
        let object = desk.run(&[&files[..], args].concat()).json();
        assert_eq!(object["int8_io"]["inputs"].as_array().map(Vec::len), Some(1), "{args:?}");
        let check = desk.run(&["check", "plan.json", "net.tflite", "--deep"]);
        assert_eq!(check.code, 0, "{args:?} {check:?}");
        let full = desk.run(
            &["optimize", "net.tflite", "--int8-io", "--json"]
                .iter()
                .chain(args)
                .copied()
                .collect::<Vec<_>>(),
        );
        desk.write("full.json", &full.stdout);
        let check = desk.run(&["check", "full.json", "net.tflite", "--deep"]);
        assert_eq!(check.code, 0, "{args:?}: what is said of `before` is right. {check:?}");
    }
}

#[test]
fn verify_runs_such_a_pair() {
    let Some(python) = serenity_judges::python() else { return };
    let desk = desk();
    desk.run(&["optimize", "net.tflite", "--int8-io", "-o", "out.tflite"]);
    let python = python.to_str().unwrap();
    let run = desk.run(&["verify", "--python", python, "net.tflite", "out.tflite"]);
    assert!(run.code == 0 && run.stdout.starts_with("equal: "), "{run:?}");
    assert!(run.stdout.contains("interfaces differ, as --int8-io makes them"), "{run:?}");
    let object = desk.run(&["verify", "--python", python, "net.tflite", "out.tflite", "--json"]).json();
    assert_eq!(object["int8_io"]["inputs"][0]["name"], "input");
    let run = desk.run(&["verify", "--python", python, "out.tflite", "net.tflite"]);
    assert!(run.code == 1 && run.stdout.contains("dtype int8 against float32"), "{run:?}");
}

#[test]
fn requests_that_make_no_sense_name_the_remedy() {
    let desk = desk();
    for format in ["net.onnx", "net.json"] {
        desk.run(&["zoo", "export", "swiftnet-c", "-o", format]);
    }
    for (args, messages) in [
        (&["zoo:swiftnet-c"][..], &["--int8-io is for .tflite models", "serenity zoo export swiftnet-c"][..]),
        (&["net.onnx"], &["for .tflite models", "`net.onnx`", "help: leave out --int8-io"]),
        (&["net.json", "--runtime", "tflm"], &["for .tflite models", "help: give the model"]),
    ] {
        let run = desk.run(&[&["optimize"], args, &["--int8-io", "-o", "out.tflite"]].concat());
        assert!(run.code == 2 && run.stdout.is_empty(), "{args:?} {run:?}");
        for message in messages {
            assert!(run.stderr.contains(message), "{args:?}: `{message}` is not in {}", run.stderr);
        }
    }
    assert!(!desk.files().contains(&"out.tflite".to_owned()));
}
