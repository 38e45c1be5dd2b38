//! `serenity check` accepts a right plan and names the fault in a wrong one.

use crate::harness::Desk;
use serde_json::Value;
use serenity_judges::shared;

fn plan(desk: &Desk) -> Value {
    desk.run(&["schedule", "zoo:swiftnet-a", "--json"]).json()
}

fn check(desk: &Desk, plan: &Value) -> (i32, Value) {
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--json"]);
    (run.code, run.json())
}

fn assert_names(change: impl Fn(&mut Value), fault: &str) {
    let desk = Desk::new();
    let mut plan = plan(&desk);
    change(&mut plan);
    let (code, report) = check(&desk, &plan);
    assert_eq!((code, report["valid"].as_bool()), (1, Some(false)));
    let problems = report["problems"].to_string();
    assert!(problems.contains(fault), "`{fault}` is not in {problems}");
}

fn order(plan: &mut Value) -> &mut Vec<Value> {
    plan["order"].as_array_mut().unwrap()
}

#[test]
fn a_right_plan_is_accepted() {
    let desk = Desk::new();
    let (code, report) = check(&desk, &plan(&desk));
    assert_eq!((code, report["valid"].as_bool()), (0, Some(true)));
    assert_eq!(report["problems"], Value::Array(vec![]));
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
    assert!(run.stdout.starts_with("order and peak verified: 21 ops"), "{}", run.stdout);
}

#[test]
fn a_forged_claim_of_optimality_is_not_endorsed() {
    let desk = Desk::new();
    let mut plan = desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", "file", "--json"]).json();
    assert_eq!((&plan["proof"], plan["peak"].as_u64()), (&"gap".into(), Some(213_248)));
    plan["proof"] = "optimal".into();
    (plan["bound"], plan["peak_bound"]) = (plan["peak"].clone(), plan["peak"].clone());
    // Whoever forges one field must forge all that speak of it.
    assert_eq!(check(&desk, &plan).0, 1);
    plan["proofs"]["order"] = serde_json::json!({"proof": "optimal", "stopped": null, "bound": plan["peak"]});
    // Nothing refutes it, and nothing verifies it: that is not accepted.
    let (code, report) = check(&desk, &plan);
    assert_eq!((code, &report["valid"], &report["optimal_verified"]), (1, &true.into(), &false.into()));
    assert_eq!((&report["bound_verified"], &report["optimal_claimed"]), (&false.into(), &true.into()));
    assert_eq!(report["verified"], false);
    assert_eq!(report["unverified"], serde_json::json!(["bound", "peak_bound", "proof"]));
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
    assert!(run.stdout.contains("order and peak verified"), "{}", run.stdout);
    assert!(run.stdout.contains("optimality NOT verified"), "{}", run.stdout);
    assert!(run.stdout.contains("--allow-unverified bound,optimality\n  accepts that\n"), "{}", run.stdout);
}

#[test]
fn what_is_named_may_stay_unverified_and_nothing_else() {
    let desk = Desk::new();
    let mut bare = plan(&desk);
    bare["witness"] = Value::Null;
    desk.write("plan.json", &bare.to_string());
    let code = |options: &[&str]| {
        let run = desk.run(&[&["check", "plan.json", "zoo:swiftnet-a"], options].concat());
        (run.code, run.stderr)
    };
    for (options, wanted) in [
        (&[][..], 1),
        (&["--allow-unverified"], 0),
        (&["--allow-unverified", "optimality,bound"], 0),
        (&["--allow-unverified", "proof,bound,peak_bound"], 0),
        (&["--allow-unverified=optimality"], 1),
        (&["--allow-unverified", "session"], 1),
        (&["--deep"], 0),
    ] {
        assert_eq!(code(options).0, wanted, "{options:?}");
    }
    // An allowance for what is wrong is none.
    bare["peak"] = 1.into();
    desk.write("plan.json", &bare.to_string());
    assert_eq!(code(&["--allow-unverified"]).0, 1);
    // A file is no name of a claim, and the remedy is said.
    let run = desk.run(&["check", "--allow-unverified", "plan.json", "zoo:swiftnet-a"]);
    assert!(run.code == 2 && run.stderr.contains("put the option behind the files"), "{run:?}");
}

/// A field that nobody here knows may claim anything.
#[test]
fn an_unknown_field_is_not_verified() {
    let desk = Desk::new();
    let mut plan = plan(&desk);
    plan["joules"] = 3.into();
    let (code, report) = check(&desk, &plan);
    assert_eq!((code, &report["unverified"]), (1, &serde_json::json!(["joules"])));
    let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--allow-unverified", "joules"]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_bound_that_one_place_shows_is_verified_and_the_place_is_named() {
    let desk = Desk::new();
    let mut plan = desk.run(&["schedule", "zoo:mobilenet", "--json"]).json();
    plan["witness"] = Value::Null;
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:mobilenet"]);
    assert!(run.stdout.contains("optimality verified: no order needs less, because op "), "{}", run.stdout);
    assert_eq!(desk.run(&["check", "plan.json", "zoo:mobilenet", "--json"]).json()["optimal_verified"], true);
    plan["proof"] = "gap".into();
    plan["bound"] = 1.into();
    plan["peak_bound"] = 1.into();
    plan["proofs"]["order"] = serde_json::json!({"proof": "gap", "stopped": "work", "bound": 1});
    desk.write("plan.json", &plan.to_string());
    let run = desk.run(&["check", "plan.json", "zoo:mobilenet"]);
    assert!(run.stdout.contains("bound verified: no order needs less than 1 bytes"), "{}", run.stdout);
    // Two inputs that are results: no op needs both.
    desk.write(
        "inputs.json",
        r#"{"tensors": [{"bytes": 4}, {"bytes": 4}, {"bytes": 1}], "ops": [{"inputs": [0], "outputs": [2]}, {"inputs": [1], "outputs": []}],
            "inputs": [0, 1], "outputs": []}"#,
    );
    desk.write("plan.json", r#"{"order": [1, 0], "peak": 8, "bound": 8, "proof": "optimal"}"#);
    let run = desk.run(&["check", "plan.json", "inputs.json"]);
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("because the graph's inputs alone need that much"), "{said}");
}

#[test]
fn an_op_missing() {
    assert_names(|plan| drop(order(plan).pop()), "op 20 (`a/convO`) is missing");
}

#[test]
fn an_op_twice() {
    assert_names(|plan| order(plan).push(0.into()), "op 0 (`a/dw1`) runs 2 times");
}

#[test]
fn a_consumer_before_its_producer() {
    assert_names(
        |plan| order(plan).swap(0, 1),
        "op 1 (`a/cat2`) reads `a/dw1` before op 0 (`a/dw1`) has written it",
    );
}

#[test]
fn a_peak_one_byte_off() {
    for delta in [-1, 1] {
        let change = |plan: &mut Value| plan["peak"] = (plan["peak"].as_i64().unwrap() + delta).into();
        assert_names(change, "the peak is 200704 bytes");
    }
}

#[test]
fn a_bound_that_cannot_be() {
    assert_names(|plan| plan["peak_bound"] = 200_705.into(), "is above the peak");
    assert_names(|plan| plan["bound"] = 200_705.into(), "is not that on peaks");
    assert_names(|plan| plan["bound"] = 200_703.into(), "called optimal");
}

#[test]
fn a_file_that_is_no_plan() {
    let desk = Desk::new();
    for text in ["", "{}", r#"{"order": 3}"#, r#"{"order": [-1], "peak": 1, "bound": 1, "proof": "optimal"}"#]
    {
        desk.write("plan.json", text);
        let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.starts_with("error: `plan.json` is not a plan"), "{}", run.stderr);
    }
}

#[test]
fn a_proof_in_the_plan_is_verified_and_a_forged_one_refused() {
    let desk = Desk::new();
    let good = plan(&desk);
    let (_, report) = check(&desk, &good);
    assert_eq!(
        (report["bound_verified"].as_bool(), report["optimal_verified"].as_bool()),
        (Some(true), Some(true))
    );
    assert_names(
        |plan| plan["witness"]["chains"][0]["bytes"] = 999_999.into(),
        "the proof of the bound does not hold",
    );
    assert_names(|plan| plan["witness"]["op"] = 99.into(), "the proof of the bound does not hold");
}

#[test]
fn a_claim_without_a_proof_is_proved_again_or_refuted() {
    let desk = Desk::new();
    let deep = |plan: &Value| {
        desk.write("plan.json", &plan.to_string());
        let run = desk.run(&["check", "plan.json", "zoo:swiftnet-a", "--deep", "--json"]);
        (run.code, run.json())
    };
    let mut bare = plan(&desk);
    bare["witness"] = Value::Null;
    let (code, report) = check(&desk, &bare);
    assert_eq!((code, report["optimal_verified"].as_bool()), (1, Some(false)));
    let (code, report) = deep(&bare);
    assert_eq!((code, report["optimal_verified"].as_bool()), (0, Some(true)));
    assert!(report["deep_states"].as_u64() > Some(0));

    let mut forged = desk.run(&["schedule", "zoo:swiftnet-a", "--algorithm", "kahn", "--json"]).json();
    (forged["bound"], forged["proof"]) = (forged["peak"].clone(), "optimal".into());
    forged["peak_bound"] = forged["peak"].clone();
    let (code, report) = deep(&forged);
    assert_eq!(code, 1);
    assert!(report["problems"].to_string().contains("there is an order that needs less"), "{report}");
}

/// Exports a network as a file and plans it; what the plan says is changed by the test.
fn planned(desk: &Desk, network: &str, file: &str, options: &[&str]) -> Value {
    let export = desk
        .run(&["zoo", "export", network, "-o", file, "--int8"][..if file.ends_with("onnx") { 5 } else { 6 }]);
    assert_eq!(export.code, 0, "{export:?}");
    let run = desk.run(&[&["optimize", file, "--plan", "plan.json", "--no-rewrite"], options].concat());
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&desk.read("plan.json")).unwrap()
}

/// The problems that are found in a changed plan; none if it is accepted.
fn problems(desk: &Desk, plan: &Value, model: &str) -> String {
    desk.write("changed.json", &plan.to_string());
    let run = desk.run(&["check", "changed.json", model, "--allow-unverified", "--json"]);
    let report = run.json();
    assert_eq!(report["valid"].as_bool(), Some(run.code == 0), "{run:?}");
    report["problems"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_chain_of_two_to_the_sixty_three_bytes_proves_nothing() {
    let desk = Desk::new();
    let mut forged = desk
        .run(&["schedule", "zoo:swiftnet-a", "--runtime", "plain", "--algorithm", "kahn", "--json"])
        .json();
    for field in ["bound", "peak_bound"] {
        forged[field] = forged["peak"].clone();
    }
    forged["proof"] = "optimal".into();
    forged["witness"] = serde_json::json!({"op": 0, "chains": [{"bytes": 1_u64 << 63, "tensors": [0]}]});
    assert!(problems(&desk, &forged, "zoo:swiftnet-a").contains("more bytes of tensor 0 than it has"));
    let deep = desk.run(&["check", "changed.json", "zoo:swiftnet-a", "--deep"]);
    assert_eq!(deep.code, 1, "{deep:?}");
}

#[test]
fn arenas_of_all_runtimes_are_recomputed() {
    for (file, options, runtime) in [
        ("net.tflite", ["--runtime", "litert"], "litert"),
        ("net.tflite", ["--kernels", "reference"], "tflm-planned"),
        ("net.onnx", ["--ort-order", "priority"], "ort"),
        ("net.onnx", ["--ort-order", "default"], "ort"),
    ] {
        let desk = Desk::new();
        let plan = planned(&desk, "swiftnet-a", file, &options);
        assert_eq!((&plan["runtime"], problems(&desk, &plan, file)), (&runtime.into(), String::new()));
        let mut small = plan.clone();
        for field in ["arena", "bound"] {
            small[field] = 1.into();
        }
        assert!(problems(&desk, &small, file).contains("the runtime's arena takes"));
        let mut large = plan.clone();
        let twice = 2 * plan["arena"].as_u64().unwrap();
        (large["arena"], large["bound"]) = (twice.into(), twice.into());
        large["proof"] = "optimal".into();
        assert!(problems(&desk, &large, file).contains("the runtime's arena takes"));
    }
}

#[test]
fn places_are_checked_whatever_becomes_of_the_arena() {
    let desk = Desk::new();
    let mut plan = planned(&desk, "swiftnet-a", "net.tflite", &["--kernels", "any"]);
    for offset in plan["offsets"][0].as_array_mut().unwrap() {
        *offset = 0.into();
    }
    let arena = plan["arena"].clone();
    assert!(problems(&desk, &plan, "net.tflite").contains("share bytes"));
    plan["arena"] = Value::Null;
    plan["peak_bound"] = plan["bound"].clone();
    assert!(problems(&desk, &plan, "net.tflite").contains("no `arena`"));
    plan["arena"] = arena.to_string().into();
    assert!(problems(&desk, &plan, "net.tflite").contains("`arena` must be a whole number of bytes"));
}

/// The plan for the reference kernels leaves no room for what those of CMSIS-NN ask for.
#[test]
fn scratch_counts() {
    let desk = Desk::new();
    let mut plan = planned(&desk, "mobilenet?resolution=32", "net.tflite", &["--kernels", "reference"]);
    plan["kernels"] = "cmsis-nn".into();
    let found = problems(&desk, &plan, "net.tflite");
    assert!(found.contains("the runtime's arena takes") || found.contains("the peak is"), "{found}");
}

#[test]
fn rewrites_are_what_they_are() {
    let desk = Desk::new();
    desk.run(&["optimize", "zoo:swiftnet-a", "--plan", "plan.json"]);
    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    assert_eq!(problems(&desk, &plan, "zoo:swiftnet-a"), "");
    let rewrites = plan["rewrites"].as_array().unwrap();
    let rounded = rewrites.iter().position(|rewrite| rewrite["exact"] == false).unwrap();
    for (field, value, fault) in [
        ("exact", true.into(), "is not exact"),
        ("extra_ops", 0.into(), "`extra_ops` of"),
        ("rule", "pad-folding".into(), "cannot be rewritten in the same"),
        ("order", vec![7, 7].into(), "terms once"),
        ("extra_macs", Value::Null, "`extra_macs`"),
    ] {
        let mut plan = plan.clone();
        plan["rewrites"][rounded][field] = value;
        let found = problems(&desk, &plan, "zoo:swiftnet-a");
        assert!(found.contains(fault), "{field}: {found}");
    }
}

#[test]
fn every_claim_is_listed() {
    let desk = Desk::new();
    planned(&desk, "swiftnet-a", "net.tflite", &["--kernels", "reference"]);
    let report = desk.run(&["check", "plan.json", "net.tflite", "--json"]).json();
    let status = |claim: &str| {
        let claims = report["claims"].as_array().unwrap();
        claims.iter().find(|c| c["claim"] == claim).map(|c| c["status"].as_str().unwrap().to_owned())
    };
    for claim in ["order", "peak", "arena", "offsets", "ops"] {
        assert_eq!(status(claim).as_deref(), Some("verified"), "{claim}");
    }
    for claim in ["seconds", "states", "graph"] {
        assert_eq!(status(claim).as_deref(), Some("no_claim"), "{claim}");
    }
    assert_eq!((&report["arena_verified"], &report["placement_verified"]), (&true.into(), &true.into()));
    let text = desk.run(&["check", "plan.json", "net.tflite"]).stdout;
    assert!(text.contains("arena verified: ") && text.contains("placement verified: "), "{text}");
    assert!(text.contains("fields without a claim: "), "{text}");
}

/// The plans of the issue, where they are at hand.
#[test]
fn plans_that_were_accepted_once_are_refused() {
    let (Some(repro), Some(models)) = (shared("repro"), shared("models")) else { return };
    let (vww, resnet8) = ("mlperf_tiny_vww_96_int8.tflite", "mlperf_tiny_resnet8_int8.tflite");
    for (plan, model, fault) in [
        ("forged-witness", "zoo:swiftnet-a", "more bytes of tensor 0 than it has"),
        ("tl_arena1", vww, "arena takes 82944 bytes, not 1"),
        ("to_arena1", "light_inception_v1.onnx", "arena takes 4647168 bytes, not 1"),
        ("t_off0", vww, "over tensor 0"),
        ("t_off0_noarena", vww, "no `arena`"),
        ("t_off0_strarena", vww, "`arena` must be a whole number of bytes"),
        ("t_arena2_opt", vww, "arena takes 55296 bytes, not 110592"),
        ("scratch-ignored", resnet8, "arena takes 33888 bytes, not 33312"),
        ("rewrites-exact", "zoo:swiftnet", "is not exact"),
    ] {
        let file = repro.join(format!("check-{plan}.json"));
        let model = if model.starts_with("zoo:") { model.into() } else { models.join(model) };
        let run = Desk::new().run(&["check", file.to_str().unwrap(), model.to_str().unwrap(), "--json"]);
        assert_eq!(run.code, 1, "{plan}: {run:?}");
        assert!(run.json()["problems"].to_string().contains(fault), "{plan}: {run:?}");
    }
    // Called optimal by nobody but itself, by a version that did not estimate instructions.
    let (forged, person) = ("repro/loops_forged_optimal.plan.json", "more-models/person_detect.tflite");
    if let (Some(forged), Some(person)) = (shared(forged), shared(person)) {
        let desk = Desk::new();
        let run = desk.run(&["check", forged.to_str().unwrap(), person.to_str().unwrap()]);
        assert!(run.code == 1 && run.stdout.contains("`extra_instructions`"), "{run:?}");
        // With the fields that it lacks, its other claims are looked at. Its peak counted what loops hand on several
        // times, as peaks were counted once; with the right one, the bound is refused.
        let mut plan: Value = serde_json::from_slice(&std::fs::read(forged).unwrap()).unwrap();
        (plan["loops"]["instructions"], plan["loops"]["extra_instructions"]) = (1.into(), 1.into());
        for (peak, fault) in [(45_296, "the peak is 20144 bytes"), (20_144, "bound of 21008 bytes is above")]
        {
            plan["peak"] = peak.into();
            desk.write("plan.json", &plan.to_string());
            let run = desk.run(&["check", "plan.json", person.to_str().unwrap()]);
            assert!(run.code == 1 && run.stdout.contains(fault), "{run:?}");
        }
    }
    let loops = repro.join("loops-share-bytes.tflite");
    let run = Desk::new().run(&["inspect", loops.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
}
