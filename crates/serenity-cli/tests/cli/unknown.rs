//! What is unknown is never counted as nothing, and the order of a model is kept where that was asked for.

use crate::harness::{Desk, Run};
use crate::tiny_onnx::{network, node, running};
use serde_json::{Value, json};

/// `y = Relu(Secret(x))`: nobody knows what `Secret` writes.
fn secret() -> Vec<u8> {
    network(&[node("com.example", "Secret", &["x"], &["a"]), node("", "Relu", &["a"], &["y"])], &[], &["y"])
}

/// Two `Secret`s that write what the file declares, and something else that could run before, between or after them.
fn held() -> Vec<u8> {
    let nodes = [
        node("com.example", "Secret", &["x"], &["a"]),
        node("", "Relu", &["x"], &["r"]),
        node("com.example", "Secret", &["x"], &["b"]),
        node("", "Sum", &["a", "b", "r"], &["y"]),
    ];
    network(&nodes, &["a", "b"], &["y"])
}

/// An `If` whose result is declared, but not what its branches need.
fn branches() -> Vec<u8> {
    let choice = node("", "If", &["x"], &["a"]);
    let choice = running(running(choice, "then_branch", "Relu"), "else_branch", "Sigmoid");
    network(&[choice, node("", "Relu", &["a"], &["y"])], &["a", "y"], &["y"])
}

fn desk_with(name: &str, bytes: &[u8]) -> Desk {
    let desk = Desk::new();
    std::fs::write(desk.path(name), bytes).unwrap();
    desk
}

fn kinds(object: &Value) -> Vec<&str> {
    object["unknown"].as_array().unwrap().iter().map(|unknown| unknown["kind"].as_str().unwrap()).collect()
}

fn claims_nothing(run: &Run) {
    for word in ["proved optimal", "x less", "% saved", "\nfits "] {
        assert!(!run.stdout.contains(word), "`{word}` in {run:?}");
    }
}

#[test]
fn a_tensor_of_unknown_size_leaves_no_proof_no_ratio_and_no_budget() {
    let desk = desk_with("secret.onnx", &secret());
    let run = desk.run(&["optimize", "secret.onnx", "--budget", "1MB", "--plan", "plan.json", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let object = run.json();
    assert_eq!(
        (&object["proof"], &object["fits"], &object["missing"]),
        (&json!("gap"), &json!(false), &json!(null))
    );
    assert_eq!(object["stopped"], "the sizes of 2 tensors are unknown");
    assert_eq!(kinds(&object), ["size", "size"]);
    assert_eq!(object["unknown"][0]["name"], "a");
    assert_eq!(object["unknown"][0]["reason"], "nothing is known of `com.example:Secret`, which writes it");
    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    assert_eq!((&plan["proof"], &plan["unknown"]), (&json!("gap"), &object["unknown"]));

    let told = desk.run(&["optimize", "secret.onnx", "--budget", "1MB"]);
    claims_nothing(&told);
    assert_eq!(told.code, 1);
    for part in
        ["at least", "cannot tell whether it fits", "the sizes of 2 tensors are unknown", "--shape a="]
    {
        assert!(told.stdout.contains(part), "{part} is not in\n{}", told.stdout);
    }
}

#[test]
fn places_for_what_has_no_size_are_no_proof_and_can_be_checked() {
    // A loop over text, of which nobody knows how long it gets.
    let Some(models) = serenity_judges::shared("more-models") else { return };
    let model = models.join("lt_while_op_with_forwarding_input.tflite");
    let model = model.to_str().unwrap();
    let desk = Desk::new();
    let run = desk.run(&["optimize", model, "--plan", "plan.json", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let object = run.json();
    assert_eq!(object["proofs"]["places"]["proof"], "gap", "{object}");
    assert_eq!(object["proofs"]["places"]["bound"], object["bound"]);
    let checked = desk.run(&["check", "plan.json", model, "--deep"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn every_command_tells_what_is_unknown() {
    let desk = desk_with("secret.onnx", &secret());
    for (command, condition) in [
        (vec!["inspect", "secret.onnx"], 0),
        (vec!["schedule", "secret.onnx"], 0),
        (vec!["place", "secret.onnx", "--capacity", "1MB"], 1),
        (vec!["traffic", "secret.onnx", "--on-chip", "1KB"], 0),
        (vec!["sample", "secret.onnx", "--budget", "1MB"], 1),
    ] {
        let told = desk.run(&command);
        assert_eq!(told.code, condition, "{told:?}");
        claims_nothing(&told);
        assert!(told.stdout.contains("size of `a`: nothing is known of"), "{told:?}");
        let object = desk.run(&[command.as_slice(), &["--json"]].concat()).json();
        assert_eq!(kinds(&object), ["size", "size"], "{command:?}");
        assert!(object["proof"] != "optimal" && object["share_optimal"].is_null(), "{object}");
    }
    let placed = desk.run(&["place", "secret.onnx", "--capacity", "1MB", "--json"]).json();
    assert_eq!(placed["fits"], false);
    let sampled = desk.run(&["sample", "secret.onnx", "--budget", "1MB", "--json"]).json();
    assert_eq!(sampled["share_within_budget"], json!(null));
}

#[test]
fn whoever_knows_better_may_say_so() {
    let desk = desk_with("secret.onnx", &secret());
    let run = desk.run(&["optimize", "secret.onnx", "--shape", "a=8:float32", "--budget", "1MB", "--json"]);
    assert_eq!((run.code, &run.json()["proof"]), (0, &json!("optimal")), "{run:?}");
    assert_eq!(kinds(&run.json()), [""; 0]);
    // A shape without a type is not enough to know the size.
    let shape_only = desk.run(&["inspect", "secret.onnx", "--shape", "a=8", "--json"]).json();
    assert_eq!(kinds(&shape_only), ["size", "size"]);
    let wrong = desk.run(&["inspect", "secret.onnx", "--shape", "a=8:elephants"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("elephants"), "{wrong:?}");
}

#[test]
fn what_a_graph_of_its_own_needs_is_not_nothing() {
    let desk = desk_with("if.onnx", &branches());
    let run = desk.run(&["optimize", "if.onnx", "--budget", "1MB", "--json"]);
    assert_eq!((run.code, &run.json()["proof"]), (1, &json!("gap")), "{run:?}");
    assert_eq!(kinds(&run.json()), ["sub-graph"]);
    let told = desk.run(&["optimize", "if.onnx"]);
    claims_nothing(&told);
    assert!(told.stdout.contains("what `If` runs is not counted"), "{told:?}");
}

/// What a default session was measured to ask for counts the bodies; what is planned does not. The two are never set
/// against each other.
#[test]
fn what_was_measured_with_bodies_is_not_compared_with_what_leaves_them_out() {
    let Some(python) = serenity_judges::python() else { return };
    let desk = Desk::new();
    let mut paths = Vec::new();
    for name in ["branch", "repeat", "scan"] {
        let path = serenity_judges::network(name, false, &desk.path("")).to_str().unwrap().to_owned();
        let object = desk.run_with_python(&python, &["optimize", &path, "--json"]).json();
        let measured = object["session"]["default_requested"].as_u64().unwrap();
        assert_eq!(kinds(&object), ["sub-graph"], "{name}");
        let before = object["before"]["arena"].as_u64().unwrap();
        assert!(before < measured, "{name}: {before} {measured}");
        let told = desk.run_with_python(&python, &["optimize", &path, "--report", "page.html"]);
        claims_nothing(&told);
        assert!(!told.stdout.contains("as measured"), "{told:?}");
        assert!(told.stdout.contains("measured: a default session asks for"), "{told:?}");
        let page = desk.read("page.html");
        assert!(page.contains("Not all is known.") && !page.contains("aria-label=\"becomes\""), "{name}");
        paths.push(path);
    }
    let args: Vec<&str> = ["optimize"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let table = desk.run_with_python(&python, &args);
    assert_eq!(table.stdout.matches("-  at least; not proved").count(), 3, "{table:?}");
}

/// Where all that is known adds up to nothing, nothing is known.
#[test]
fn no_bytes_at_all_are_no_figure() {
    let desk = desk_with("secret.onnx", &secret());
    std::fs::write(desk.path("other.onnx"), secret()).unwrap();
    for command in [
        &["optimize", "secret.onnx"][..],
        &["optimize", "secret.onnx", "other.onnx"],
        &["schedule", "secret.onnx"],
        &["inspect", "secret.onnx"],
        &["report", "secret.onnx", "-o", "page.html"],
    ] {
        let told = desk.run(&[command, &["--runtime", "ort"]].concat());
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.stdout.contains("unknown"), "{told:?}");
        // Positions in an order count from 0, and a search may visit no state.
        let is_figure = |line: &&str| !["  order", "  search"].iter().any(|start| line.starts_with(start));
        let figures = told.stdout.lines().take(12).filter(is_figure);
        assert!(!figures.flat_map(str::split_whitespace).any(|word| word == "0"), "{command:?} {told:?}");
    }
    let page = desk.read("page.html");
    assert!(page.contains("<span class=\"new\">unknown</span>"));
}

/// LiteRT quantises what such a layer reads, in memory that is not modelled.
#[test]
fn scratch_that_is_not_known_is_not_nothing() {
    let layer = |dtype: &str| {
        json!({
            "tensors": [{"shape": [1, 8], "dtype": "float32"}, {"shape": [1, 4], "dtype": "float32"}],
            "ops": [{"name": "dense", "type": "FULLY_CONNECTED", "inputs": [0], "outputs": [1],
                "attributes": {"constants": {"1": {"name": "w", "shape": [4, 8], "dtype": dtype}}}}],
            "inputs": [0], "outputs": [1],
        })
    };
    let desk = Desk::new();
    desk.write("hybrid.json", &layer("int8").to_string());
    desk.write("float.json", &layer("float32").to_string());
    let run = |file| desk.run(&["optimize", file, "--runtime", "litert", "--budget", "1MB", "--json"]);
    let hybrid = run("hybrid.json");
    assert_eq!((hybrid.code, kinds(&hybrid.json())), (1, vec!["scratch"]), "{hybrid:?}");
    assert_eq!(run("float.json").code, 0);
    // Other runtimes know nothing of this, and graphs leave no shapes to tell.
    assert_eq!(desk.run(&["optimize", "hybrid.json", "--budget", "1MB"]).code, 0);
    let told = desk.run(&["optimize", "hybrid.json", "--runtime", "litert", "--budget", "1MB"]);
    claims_nothing(&told);
    assert!(told.stdout.contains("scratch of `dense`") && !told.stdout.contains("--shape"), "{told:?}");
}

#[test]
fn an_order_that_keeps_strangers_in_place_is_the_best_of_those_only() {
    let desk = desk_with("held.onnx", &held());
    // Sizes are known, so a budget can be kept.
    let run = desk.run(&["optimize", "held.onnx", "--budget", "1MB", "--json"]);
    assert_eq!((run.code, &run.json()["fits"]), (0, &json!(true)), "{run:?}");
    assert_eq!((&run.json()["proof"], kinds(&run.json())), (&json!("gap"), vec!["order", "order"]));
    let told = desk.run(&["optimize", "held.onnx", "--budget", "1MB"]);
    assert!(!told.stdout.contains("proved optimal"), "{told:?}");
    assert!(told.stdout.contains("2 ops of which nothing is known keep their places"), "{told:?}");
    assert!(told.stdout.contains("\nfits "), "{told:?}");
    // One alone is tied to nothing.
    let one = network(&[node("com.example", "Secret", &["x"], &["a"])], &["a"], &["a"]);
    let desk = desk_with("one.onnx", &one);
    assert_eq!(desk.run(&["inspect", "one.onnx", "--json"]).json()["proof"], "optimal");
}

#[test]
fn a_graph_that_is_written_stays_as_unknown_as_it_was() {
    let desk = desk_with("secret.onnx", &secret());
    assert_eq!(desk.run(&["optimize", "secret.onnx", "-o", "secret.json"]).code, 0);
    let run = desk.run(&["optimize", "secret.json", "--budget", "1MB", "--json"]);
    assert_eq!((run.code, kinds(&run.json())), (1, vec!["size", "size"]), "{run:?}");
}

fn order_of(run: &Run) -> Vec<u64> {
    assert_eq!(run.code, 0, "{run:?}");
    run.json()["order"].as_array().unwrap().iter().map(|op| op.as_u64().unwrap()).collect()
}

/// Without rewriting, the order of the file is the order of the plan, and what is written has it.
fn keeps_order(desk: &Desk, model: &str) {
    let run = desk.run(&[
        "optimize",
        model,
        "--no-rewrite",
        "--no-reorder",
        "-o",
        "kept.tflite",
        "--plan",
        "plan.json",
        "--json",
    ]);
    assert!(order_of(&run).is_sorted(), "{model}: {:?}", order_of(&run));
    let bodies = run.json()["bodies"].clone();
    for body in bodies.as_array().unwrap() {
        let order: Vec<u64> = body.as_array().unwrap().iter().map(|op| op.as_u64().unwrap()).collect();
        assert!(order.is_sorted(), "{model}: {order:?}");
    }
    assert_eq!(desk.run(&["check", "plan.json", model, "--deep"]).code, 0);
}

#[test]
fn the_order_of_the_model_is_kept_if_that_is_asked_for() {
    let desk = Desk::new();
    for network in ["swiftnet-a", "randwire-cifar10?nodes=10", "darts-cell"] {
        let run = desk.run(&["zoo", "export", network, "-o", "net.tflite"]);
        assert_eq!(run.code, 0, "{run:?}");
        keeps_order(&desk, "net.tflite");
    }
    // The places are planned all the same.
    let run = desk.run(&["optimize", "net.tflite", "--no-rewrite", "--no-reorder", "--json"]).json();
    assert!(run["after"]["arena"].as_u64() < run["before"]["arena"].as_u64(), "{run}");
}

#[test]
fn the_order_of_a_model_of_the_collection_is_kept_too() {
    let Some(models) = serenity_judges::shared("models") else { return };
    let desk = Desk::new();
    std::fs::copy(models.join("hand_recrop.tflite"), desk.path("hand_recrop.tflite")).unwrap();
    keeps_order(&desk, "hand_recrop.tflite");
}
