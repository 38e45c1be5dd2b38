//! `.onnx` models through every command.

use crate::harness::Desk;
use crate::tiny_onnx;
use serde_json::json;

/// A desk with a network that another order helps.
fn desk() -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "randwire-cifar10?nodes=10", "-o", "net.onnx", "--json"]);
    assert_eq!((run.code, run.json()["output"].as_str()), (0, Some("net.onnx")), "{run:?}");
    desk
}

#[test]
fn optimize_writes_a_model_that_asks_for_less_and_says_how_to_run_it() {
    let desk = desk();
    let run = desk.run(&["optimize", "net.onnx", "--no-rewrite", "-o", "small.onnx", "--plan", "plan.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    for part in [
        "memory model `ort`",
        "options = onnxruntime.SessionOptions()",
        "options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED",
        "serenity verify net.onnx small.onnx",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    assert_eq!(desk.run(&["check", "plan.json", "net.onnx", "--deep"]).code, 0);
    let [before, after] =
        ["net.onnx", "small.onnx"].map(|file| desk.run(&["inspect", file, "--json"]).json());
    assert!(after["arena"].as_u64() < before["arena"].as_u64());
    assert_eq!(after["arena"], before["best_arena"]);
    // Only the order of the nodes differs.
    let [old, new] = ["net.onnx", "small.onnx"].map(|file| std::fs::read(desk.path(file)).unwrap());
    assert_eq!(old.len(), new.len());
    // Where nothing is gained, nothing changes.
    let run =
        desk.run(&["optimize", "net.onnx", "-o", "same.onnx", "--no-reorder", "--no-rewrite", "--json"]);
    assert_eq!(
        run.json()["session_options"],
        json!({
            "graph_optimization_level": "ORT_DISABLE_ALL",
            "execution_order": "PRIORITY_BASED",
            "enable_mem_reuse": true,
            "enable_mem_pattern": false,
        })
    );
    assert!(std::fs::read(desk.path("same.onnx")).unwrap() == old);
}

#[test]
fn without_an_onnxruntime_the_model_is_ordered_as_it_is_and_that_is_said() {
    let desk = desk();
    let run = desk.run(&["optimize", "net.onnx", "-o", "small.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("only reordered, for a session with graph optimisation off"),
        "{}",
        run.stdout
    );
    let plain = desk.run(&["optimize", "net.onnx", "-o", "plain.onnx", "--ort-session", "plain"]);
    assert!(!plain.stdout.contains("for a plain session"), "{}", plain.stdout);
    let [small, plain] = ["small.onnx", "plain.onnx"].map(|file| std::fs::read(desk.path(file)).unwrap());
    assert!(small == plain);
    let run = desk.run(&["optimize", "net.onnx", "-o", "small.onnx", "--ort-session", "fast"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cannot be made for a fast session"), "{}", run.stderr);
    assert!(run.stderr.contains("pip install onnxruntime"), "{}", run.stderr);
    // A good file is not lost.
    assert!(std::fs::read(desk.path("small.onnx")).unwrap() == small);
}

#[test]
fn a_file_for_a_fast_session_says_so_and_every_command_knows() {
    let Some(python) = serenity_judges::python() else { return };
    let desk = desk();
    let args = ["optimize", "net.onnx", "-o", "fast.onnx", "--plan", "plan.json"];
    let run = desk.run_with_python(&python, &args);
    assert_eq!(run.code, 0, "{run:?}");
    for part in [
        "a default session, measured",
        "options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL",
        "options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED",
        "options.enable_mem_reuse = False",
        "serenity check plan.json fast.onnx --deep --allow-unverified session",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    let object = desk.run_with_python(&python, &[&args[..2], &["--json"]].concat()).json();
    assert_eq!(object["session"]["session"], "fast");
    assert_eq!(
        (&object["ort_reuse"], &object["session_options"]["enable_mem_reuse"]),
        (&json!(false), &json!(false))
    );
    assert!(object["after"]["arena"].as_u64() <= object["before"]["arena"].as_u64());
    let check = ["check", "plan.json", "fast.onnx", "--deep"];
    let checked = desk.run(&[&check[..], &["--allow-unverified", "session"]].concat());
    assert_eq!(checked.code, 0, "{checked:?}");
    // What a default session asked for, nobody can see in the file.
    let checked = desk.run(&[&check[..], &["--json"]].concat());
    assert_eq!((checked.code, &checked.json()["unverified"]), (1, &json!(["session"])));
    let checked = desk.run(&["check", "plan.json", "net.onnx"]);
    assert!(checked.code == 1 && checked.stdout.contains("the file that was written"), "{checked:?}");
    assert_eq!(desk.run(&["inspect", "fast.onnx", "--json"]).json()["arena"], object["after"]["arena"]);
    let python_name = python.to_str().unwrap();
    let verified = desk.run(&["verify", "--python", python_name, "net.onnx", "fast.onnx", "--json"]).json();
    assert_eq!(verified["equal"], true);
    // What is fast already is not made again.
    let again = desk.run_with_python(&python, &["optimize", "fast.onnx", "-o", "again.onnx", "--no-rewrite"]);
    assert_eq!(again.code, 0, "{again:?}");
    let [fast, again] = ["fast.onnx", "again.onnx"].map(|file| std::fs::read(desk.path(file)).unwrap());
    assert!(fast == again);
}

#[test]
fn a_rewritten_model_needs_less_still_and_its_plan_checks() {
    let desk = desk();
    let run = desk.run(&["optimize", "net.onnx", "-o", "small.onnx", "--plan", "plan.json", "--json"]).json();
    let ordered = desk.run(&["optimize", "net.onnx", "--no-rewrite", "--json"]).json();
    assert!(run["after"]["arena"].as_u64() < ordered["after"]["arena"].as_u64(), "{run}");
    assert_eq!(desk.run(&["check", "plan.json", "net.onnx", "--deep"]).code, 0);
    let inspected = desk.run(&["inspect", "small.onnx", "--json"]).json();
    assert_eq!(inspected["arena"], run["after"]["arena"]);
}

#[test]
fn the_default_walk_is_steered_by_another_file_order() {
    let desk = desk();
    let run = desk.run(&[
        "optimize",
        "net.onnx",
        "-o",
        "small.onnx",
        "--ort-order",
        "default",
        "--plan",
        "plan.json",
        "--json",
    ]);
    let object = run.json();
    assert_eq!(
        (&object["ort_order"], &object["session_options"]["execution_order"]),
        (&json!("default"), &json!("DEFAULT"))
    );
    assert!(object["after"]["arena"].as_u64() < object["before"]["arena"].as_u64());
    assert_ne!(object["file_order"], object["order"]);
    assert_eq!(desk.run(&["check", "plan.json", "net.onnx", "--deep"]).code, 0);
    let again = desk.run(&["inspect", "small.onnx", "--ort-order", "default", "--json"]).json();
    assert_eq!((&again["arena"], &again["peak"]), (&object["after"]["arena"], &object["after"]["peak"]));
}

#[test]
fn an_open_shape_is_asked_for_and_taken() {
    let desk = Desk::new();
    std::fs::write(desk.path("open.onnx"), tiny_onnx::one_op_of_any_length("Relu")).unwrap();
    let run = desk.run(&["inspect", "open.onnx"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the sizes of inputs are left open: `x` [N]"), "{}", run.stderr);
    assert!(run.stderr.contains("as in\n  --shape x=1"), "{}", run.stderr);
    let object =
        desk.run(&["inspect", "open.onnx", "--shape", "x=100", "--runtime", "plain", "--json"]).json();
    assert_eq!(object["peak"], 800);
    assert_eq!(desk.run(&["schedule", "open.onnx", "--shape", "x=100", "--json"]).json()["peak"], 400);
    let run = desk.run(&["inspect", "open.onnx", "--shape", "x:100"]);
    assert!(run.stderr.contains("as in input=1,3,224,224"), "{}", run.stderr);
    let run = desk.run(&["inspect", "open.onnx", "--shape", "x=1", "--shape", "z=100"]);
    assert!(run.stderr.contains("its inputs are: `x`"), "{}", run.stderr);
}

#[test]
fn a_model_is_written_in_the_format_it_came_in() {
    let desk = desk();
    for (input, output) in [("net.onnx", "net.tflite"), ("zoo:swiftnet", "net2.onnx")] {
        let run = desk.run(&["optimize", input, "-o", output]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(&format!("cannot write `{output}`")), "{}", run.stderr);
    }
    let run = desk.run(&["zoo", "export", "swiftnet", "-o", "small.onnx", "--int8"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("8-bit models are not offered as .onnx"), "{}", run.stderr);
    assert_eq!(desk.files(), ["net.onnx"]);
}

#[test]
fn constants_in_files_beside_the_model_must_be_there() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("elsewhere")).unwrap();
    std::fs::write(desk.path("net.onnx"), tiny_onnx::with_side_file("weights.bin")).unwrap();
    desk.write("weights.bin", "12345678901234567890123456789012");
    assert_eq!(desk.run(&["optimize", "net.onnx", "-o", "new.onnx"]).code, 0);
    let run = desk.run(&["optimize", "net.onnx", "-o", "elsewhere/new.onnx"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("keeps them in `weights.bin` beside it"), "{}", run.stderr);
    std::fs::copy(desk.path("weights.bin"), desk.path("elsewhere/weights.bin")).unwrap();
    assert_eq!(desk.run(&["optimize", "net.onnx", "-o", "elsewhere/new.onnx"]).code, 0);
}
