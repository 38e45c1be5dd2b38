//! `optimize --loops`: files, figures, plans that can be checked, and requests that make no sense.

use crate::harness::Desk;
use serde_json::{Value, json};

/// A folder with a model in it.
fn desk() -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", NETWORK, "-o", "net.tflite", "--int8"]);
    assert_eq!(run.code, 0, "{run:?}");
    desk
}

const NETWORK: &str = "mobilenet?resolution=64";

fn size(desk: &Desk, name: &str) -> u64 {
    std::fs::metadata(desk.path(name)).unwrap().len()
}

#[test]
fn a_model_with_loops_is_written_and_its_plan_checks() {
    let desk = desk();
    let flat = desk.run(&["optimize", "net.tflite", "--json"]).json();
    assert_eq!(flat["loops"], Value::Null);
    let run = desk.run(&[
        "optimize",
        "net.tflite",
        "--loops",
        "-o",
        "looped.tflite",
        "--plan",
        "plan.json",
        "--emit-header",
        "arena.h",
        "--json",
    ]);
    let object = run.json();
    let arena = |object: &Value| object["after"]["arena"].as_u64().unwrap();
    assert!(arena(&object) < arena(&flat), "{} {}", arena(&object), arena(&flat));
    assert_eq!(object["before"], flat["before"]);
    let loops = &object["loops"];
    let windows = loops["windows"].as_array().unwrap();
    let sum = |field: &str| windows.iter().map(|one| one[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((&loops["extra_macs"], &loops["copied"]), (&json!(sum("extra_macs")), &json!(sum("copied"))));
    assert!(loops["extra_macs"].as_u64().unwrap() * 10 <= loops["macs"].as_u64().unwrap(), "{loops}");

    // What is in use lies in the arena, and no less than the largest tensor is.
    let bytes = |value: &Value| value.as_u64().unwrap();
    let (peak, bound) = (bytes(&object["peak"]), bytes(&object["bound"]));
    assert!(12_288 <= bound && bound <= peak && peak <= arena(&object), "{bound} {peak}");
    assert_eq!(object["after"]["peak"], object["peak"]);

    // The file needs what was promised, and so says the header.
    let inspection = desk.run(&["inspect", "looped.tflite", "--json"]).json();
    assert_eq!(inspection["arena"], object["after"]["arena"]);
    assert_eq!(inspection["peak"], object["peak"]);
    assert!(bytes(&inspection["bound"]) >= 12_288 && bytes(&inspection["max_op"]["bytes"]) <= peak);
    let again = desk.run(&["optimize", "looped.tflite", "--json"]).json();
    assert_eq!(again["before"]["peak"], object["peak"]);
    let header = desk.read("arena.h");
    assert!(header.contains(&format!("_ARENA_HEAD_BYTES {}u ", arena(&object))), "{header}");
    assert!(
        header.contains(&format!("_ARENA_TOTAL_BYTES {}u ", object["after"]["total"]["arm32"])),
        "{header}"
    );
    assert!(!header.contains("0.0 % above"), "{header}");

    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    crate::schema::assert_documented(&plan);
    assert_eq!(plan["loops"], object["loops"]);
    let check = desk.run(&["check", "plan.json", "net.tflite", "--deep"]);
    assert_eq!(check.code, 0, "{check:?}");
    let said = check.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("loops verified: ") && said.contains("the same bit for bit"), "{said}");
    assert!(said.contains("placement verified"), "{said}");
    // What was written has its loops already.
    assert_eq!(desk.run(&["check", "plan.json", "looped.tflite"]).code, 1);
}

#[test]
fn people_are_told_what_loops_take_and_what_they_ask_for() {
    let desk = desk();
    let run = desk.run(&["optimize", "net.tflite", "--loops", "-o", "looped.tflite"]);
    assert_eq!(run.code, 0, "{run:?}");
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "the same bit for bit",
        " at a time, ",
        "more MACs (10 % allowed)",
        "more instructions with CMSIS-NN (an estimate, calibrated on five int8 models)",
        "bytes copied per run",
        "floor for loops: 12,288 bytes, the network's input itself",
        "also register these operators:",
        "AddWhile();",
        "AddDynamicUpdateSlice();",
        "needs TFLM of November 2025 or later",
    ] {
        assert!(said.contains(part), "`{part}` is not in {}", run.stdout);
    }
    // Operators that it had are not asked for.
    assert!(!said.contains("AddConv2D"), "{}", run.stdout);
    let growth = size(&desk, "looped.tflite") - size(&desk, "net.tflite");
    let digits: String = said.replace(',', "");
    assert!(digits.contains(&format!("+{growth} bytes of file")), "{growth} {}", run.stdout);
}

#[test]
fn no_more_multiplications_than_asked_for() {
    let desk = desk();
    let object = desk.run(&["optimize", "net.tflite", "--loops=1%", "--json"]).json();
    let (macs, extra) = (&object["loops"]["macs"], &object["loops"]["extra_macs"]);
    assert!(extra.as_u64().unwrap() * 100 <= macs.as_u64().unwrap(), "{extra} of {macs}");
    let run = desk.run(&["optimize", "net.tflite", "--loops", "--max-extra-macs", "0.5"]);
    assert!(run.stdout.contains(" --loops=0.5% -o smaller.tflite"), "{}", run.stdout);
}

#[test]
fn a_budget_takes_the_loops_that_multiply_least() {
    let desk = desk();
    let run = |budget: &str| desk.run(&["optimize", "net.tflite", "--loops", "--budget", budget, "--json"]);
    let least = desk.run(&["optimize", "net.tflite", "--loops", "--json"]).json();
    let flat = desk.run(&["optimize", "net.tflite", "--json"]).json();
    let total = |object: &Value| {
        let total = &object["after"]["total"];
        total["arm32"].as_u64().unwrap() + total["margin"].as_u64().unwrap()
    };
    let extra = |object: &Value| object["loops"]["extra_macs"].as_u64().unwrap_or(0);

    let middle = total(&least).midpoint(total(&flat));
    let enough = run(&middle.to_string()).json();
    assert_eq!(enough["fits"], true);
    assert!(total(&enough) <= middle && extra(&enough) < extra(&least), "{enough} {least}");

    // None if it fits without, as little as possible if nothing fits.
    let fits = desk.run(&["optimize", "net.tflite", "--loops", "--budget", &total(&flat).to_string()]);
    assert!(fits.code == 0 && fits.stdout.contains("no loops: the model fits"), "{fits:?}");
    let nothing_fits = run("1KB");
    assert_eq!(nothing_fits.code, 1);
    assert!(total(&nothing_fits.json()) <= total(&least), "{nothing_fits:?}");
}

#[test]
fn where_no_loop_helps_none_is_made() {
    let desk = Desk::new();
    // Its two inputs at once are as much as it ever needs.
    desk.run(&["zoo", "export", "darts-cell", "-o", "net.tflite", "--int8"]);
    let run = desk.run(&["optimize", "net.tflite", "--loops", "--kernels", "reference"]);
    assert!(
        run.code == 0 && run.stdout.contains("no loops: none saves enough memory for its time"),
        "{run:?}"
    );
}

#[test]
fn a_plan_that_was_tampered_with_is_refuted() {
    let desk = desk();
    desk.run(&["optimize", "net.tflite", "--loops", "--plan", "plan.json", "--json"]);
    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    let refuted = |what: &str, claim: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = plan.clone();
        change(&mut changed);
        assert_ne!(changed, plan, "{what}");
        desk.write("changed.json", &changed.to_string());
        let run = desk.run(&["check", "changed.json", "net.tflite", "--json"]);
        let object = run.json();
        let is_refuted = |one: &Value| one["claim"] == claim && one["status"] == "refuted";
        let claims = object["claims"].as_array().unwrap();
        assert!(run.code == 1 && claims.iter().any(is_refuted), "{what}: {object}");
    };
    let window = |plan: &Value| plan["loops"]["windows"][0].clone();
    refuted("no loops", "ops", &|plan| plan["loops"] = Value::Null);
    refuted("no windows", "loops", &|plan| plan["loops"]["windows"] = json!([]));
    refuted("a window twice", "loops", &|plan| {
        let one = window(plan);
        plan["loops"]["windows"].as_array_mut().unwrap().push(one);
    });
    for (field, value) in [
        ("step", json!(0)),
        ("step", json!(u64::MAX)),
        ("step", json!(window(&plan)["step"].as_u64().unwrap() + 1)),
        ("ops", json!([])),
        ("ops", json!([100_000])),
        ("ops", json!(window(&plan)["ops"].as_array().unwrap()[1..])),
        ("enters", json!(100_000)),
        ("leaves", json!(0)),
        ("carries", json!(!window(&plan)["carries"].as_bool().unwrap())),
        ("peeled", json!(!window(&plan)["peeled"].as_bool().unwrap())),
        ("iterations", json!(1)),
        ("extra_macs", json!(1)),
        ("copied", json!(1)),
        ("step", json!("two")),
        ("carries", Value::Null),
    ] {
        refuted(field, "loops", &|plan| plan["loops"]["windows"][0][field] = value.clone());
    }
    for field in ["macs", "extra_macs", "copied", "order", "instructions", "extra_instructions"] {
        refuted(field, "loops", &|plan| plan["loops"][field] = json!(1));
    }
    refuted("order", "loops", &|plan| plan["loops"]["order"].as_array_mut().unwrap().reverse());
    refuted("peak", "peak", &|plan| plan["peak"] = json!(plan["peak"].as_u64().unwrap() + 16));
    // In the body of the first loop.
    refuted("offsets", "offsets", &|plan| {
        plan["offsets"][2].as_array_mut().unwrap().iter_mut().for_each(|place| *place = json!(0));
    });
}

#[test]
fn requests_that_make_no_sense_name_the_remedy() {
    let desk = desk();
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "net.onnx"]);
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "net.json"]);
    for (args, messages) in [
        (&["zoo:swiftnet-c", "--loops"][..], &["for .tflite models", "serenity zoo export swiftnet-c"][..]),
        (&["net.onnx", "--loops"], &["for .tflite models", "`net.onnx`", "help: "]),
        (&["net.json", "--loops", "--runtime", "tflm"], &["for .tflite models", "help: "]),
        (&["net.tflite", "--loops", "--runtime", "litert"], &["not for `litert`", "--runtime tflm"]),
        (&["net.tflite", "--loops", "--no-plan"], &["--no-plan"]),
        (&["net.tflite", "--loops", "--memory", "a=1KB,b=1MB"], &["--memory"]),
        (&["net.tflite", "--max-extra-macs", "5%"], &["--loops"]),
        (&["net.tflite", "--loops", "--max-extra-macs", "lots"], &["expected a percentage, as in 10%"]),
        (&["net.tflite", "--loops", "--max-extra-macs", "-5"], &["not negative"]),
        (&["net.tflite", "--loops", "--max-extra-macs", "1e99"], &["more than 10000%"]),
    ] {
        let run = desk.run(&[&["optimize"], args, &["-o", "out.tflite"]].concat());
        assert!(run.code == 2 && run.stdout.is_empty(), "{args:?} {run:?}");
        for message in messages {
            assert!(run.stderr.contains(message), "{args:?}: `{message}` is not in {}", run.stderr);
        }
    }
    assert!(!desk.files().contains(&"out.tflite".to_owned()));
}
