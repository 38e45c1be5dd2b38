//! `place`, and what `optimize` makes for a device: a C header, and places in two memories.

use crate::harness::Desk;
use serde_json::{Value, json};
use serenity_judges::{Need, skip};
use std::process::Command;

/// A chain of four, each read by the op that writes the next: TFLM's planner needs 60 bytes, 50 will do.
const CHAIN: &str = "id,lower,upper,size\na,0,2,30\nb,1,3,20\nc,2,4,10\nd,3,5,40\n";

#[test]
fn a_table_comes_back_with_offsets() {
    let desk = Desk::new();
    desk.write("chain.csv", CHAIN);
    let run = desk.run(&["place", "chain.csv", "-o", "placed.csv", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let object = run.json();
    assert_eq!((&object["height"], &object["bound"]), (&json!(50), &json!(50)));
    assert_eq!((&object["proof"], &object["fits"]), (&json!("optimal"), &Value::Null));
    assert_eq!(object["offsets"].as_array().unwrap().len(), 4);
    assert!(object["seconds"].is_f64());
    let placed = desk.read("placed.csv");
    assert!(placed.starts_with("id,lower,upper,size,offset\na,0,2,30,"), "{placed}");
    // What was written is a placement that stands as it is.
    let again = desk.run(&["place", "placed.csv", "--json"]).json();
    assert_eq!((&again["offsets"], &again["height"]), (&object["offsets"], &object["height"]));
    let greedy = desk.run(&["place", "chain.csv", "--planner", "tflm", "--json"]).json();
    assert_eq!(greedy["offsets"], json!([0, 30, 50, 0]));
    assert_eq!((&greedy["height"], &greedy["proof"]), (&json!(60), &json!("gap")));
    let aligned = desk.run(&["place", "chain.csv", "--align", "16", "--json"]).json();
    assert!(aligned["offsets"].as_array().unwrap().iter().all(|offset| offset.as_u64().unwrap() % 16 == 0));
}

#[test]
fn a_capacity_decides_the_exit_code() {
    let desk = Desk::new();
    desk.write("chain.csv", CHAIN);
    let run = desk.run(&["place", "chain.csv", "--capacity", "50"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("fits 50 bytes: 0 bytes to spare"), "{}", run.stdout);
    let run = desk.run(&["place", "chain.csv", "--capacity", "48"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("impossible in 48 bytes: the proved minimum is 50 bytes"), "{}", run.stdout);
    let run = desk.run(&["place", "chain.csv", "--capacity", "50", "--planner", "tflm"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("does not fit 50 bytes: 10 bytes over"), "{}", run.stdout);
    let object = desk.run(&["place", "chain.csv", "--capacity", "1", "--json"]).json();
    assert_eq!((&object["fits"], &object["impossible"]), (&json!(false), &json!(true)));
}

#[test]
fn a_model_is_placed_in_its_own_order() {
    let desk = Desk::new();
    let run = desk.run(&["place", "zoo:swiftnet-a"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    for part in
        ["memory model `paper`", "213,248", "proved optimal: no placement is lower", "┤", "-o FILE.csv"]
    {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    // The planner of a runtime makes what `inspect` says that the runtime makes.
    for (runtime, planner) in [("tflm", "tflm"), ("litert", "litert")] {
        let placed = desk
            .run(&["place", "zoo:swiftnet-b", "--runtime", runtime, "--planner", planner, "--json"])
            .json();
        let inspected = desk.run(&["inspect", "zoo:swiftnet-b", "--runtime", runtime, "--json"]).json();
        assert_eq!(placed["height"], inspected["arena"], "{runtime}");
        assert_eq!(placed["runtime"], runtime);
    }
    desk.run(&["place", "zoo:swiftnet-b", "-o", "b.csv"]);
    let table = desk.run(&["place", "b.csv", "--json"]).json();
    let model = desk.run(&["place", "zoo:swiftnet-b", "--json"]).json();
    assert_eq!(table["height"], model["height"]);
}

/// Between what can be counted and what can be placed there is room for a wrong reason.
#[test]
fn the_limits_of_sizes_are_those_that_are_stated() {
    let desk = Desk::new();
    for (name, sizes) in
        [("place", [1_u64 << 59, 1 << 59]), ("count", [1 << 60, 1 << 60]), ("over", [1 << 60, (1 << 60) + 1])]
    {
        let tensors = sizes.map(|bytes| format!("{{\"bytes\": {bytes}}}")).join(", ");
        let graph = format!(
            r#"{{"tensors": [{tensors}], "ops": [{{"inputs": [0], "outputs": [1]}}], "inputs": [0], "outputs": [1]}}"#
        );
        desk.write(&format!("{name}.json"), &graph);
    }
    let placed = desk.run(&["place", "place.json", "--json"]).json();
    assert_eq!(placed["height"], 1_u64 << 60);
    assert_eq!(desk.run(&["inspect", "count.json", "--json"]).json()["peak"], 1_u64 << 61);
    for (args, message) in [
        (["place", "count.json"], "2^60 bytes"),
        (["place", "over.json"], "add up to more than 2^61 bytes at tensor `1`"),
        (["inspect", "over.json"], "add up to more than 2^61 bytes at tensor `1`"),
    ] {
        let run = desk.run(&args);
        assert!(run.code == 2 && run.stderr.contains(message), "{args:?} {run:?}");
    }
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let desk = Desk::new();
    desk.write("empty.csv", "");
    desk.write("bad.csv", "id,lower,upper,size\na,0,2,-30\n");
    desk.write("huge.csv", "id,lower,upper,size\na,0,2,18446744073709551615\n");
    desk.write("fixed.csv", "id,lower,upper,size,offset\na,0,2,30,0\nb,1,3,20,10\n");
    desk.write("misaligned.csv", "id,lower,upper,size,alignment,offset\na,0,1,4,16,32\nb,1,2,4,16,1\n");
    desk.write("aligned.csv", "id,lower,upper,size,alignment,offset\na,0,1,4,16,32\nb,1,2,4,16,\n");
    desk.write("limit.csv", "id,lower,upper,size\na,0,2,1152921504606846976\n");
    desk.write("over.csv", "id,lower,upper,size\na,0,2,1152921504606846976\nb,2,3,1\n");
    assert_eq!(desk.run(&["place", "limit.csv", "--json"]).json()["height"], 1_u64 << 60);
    assert_eq!(desk.run(&["place", "aligned.csv", "--align", "32", "--json"]).json()["height"], 36);
    desk.write("chain.csv", CHAIN);
    for (args, message) in [
        (&["place", "empty.csv"][..], "the file is empty"),
        (&["place", "bad.csv"], "line 2, column `size`"),
        (&["place", "huge.csv"], "2^60"),
        (&["place", "over.csv"], "buffer 1 brings the sizes to more than 2^60 bytes"),
        (&["place", "fixed.csv"], "`a` and `b` are in use at once"),
        (&["place", "misaligned.csv"], "line 3, column `offset`: 1 is no multiple of 16"),
        (&["place", "aligned.csv", "--align", "64"], "the offset 32 of `a` is no multiple of 64"),
        (&["place", "fixed.csv", "--align", "4"], "the offset 10 of `b` is no multiple of 4"),
        (&["place", "missing.csv"], "cannot read `missing.csv`"),
        (&["place", "missing.json"], "cannot read `missing.json`"),
        (&["place", "chain.csv", "--runtime", "tflm"], "--runtime"),
        (&["place", "chain.csv", "-o", "out.json"], "end the name in .csv"),
        (&["place", "chain.csv", "-o", "no/such/out.csv"], "there is no folder"),
        (&["place", "chain.csv", "--align", "0"], "--align"),
        (&["place", "chain.csv", "--planner", "magic"], "simple-arena"),
    ] {
        let run = desk.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.stderr.contains(message), "{args:?} {run:?}");
    }
    assert_eq!(desk.files().len(), 9);
}

#[test]
fn a_name_in_a_table_cannot_drive_the_terminal() {
    let desk = Desk::new();
    desk.write("net.csv", "id,lower,upper,size\n\u{1b}[2Ja,0,2,30\n");
    let run = desk.run(&["place", "net.csv"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.chars().any(|c| c.is_control() && c != '\n'), "{run:?}");
}

#[test]
fn a_header_holds_the_arena_and_compiles() {
    let desk = Desk::new();
    let export = desk.run(&["zoo", "export", "swiftnet-b", "--int8", "-o", "net.tflite"]);
    assert_eq!(export.code, 0, "{export:?}");
    let args =
        ["optimize", "net.tflite", "-o", "small.tflite", "--plan", "plan.json", "--emit-header", "arena.h"];
    let run = desk.run(&[&args[..], &["--json"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let object = run.json();
    let header = desk.read("arena.h");
    let head = format!("#define NET_ARENA_HEAD_BYTES {}u ", object["after"]["arena"]);
    let total = format!("#define NET_ARENA_TOTAL_BYTES {}u ", object["after"]["total"]["arm32"]);
    for part in [head.as_str(), &total, "NET_ARENA_TAIL_BYTES", "NET_ARENA_MARGIN_BYTES", "kernels `any`"] {
        assert!(header.contains(part), "{part} is not in\n{header}");
    }
    let folder = desk.path("").to_str().unwrap().to_owned();
    assert!(!header.contains(&folder), "{header}");
    desk.write(
        "use.c",
        "#include \"arena.h\"\n#include \"arena.h\"\nunsigned char arena[NET_ARENA_TOTAL_BYTES];\n",
    );
    assert_compiles(&desk, "use.c");
    assert_eq!(desk.run(&["check", "plan.json", "net.tflite", "--deep"]).code, 0);
}

/// What builds of TFLM define, and the size that they get; `None`: the plan is not for them.
const BUILDS: &[(&[&str], Option<&str>)] = &[
    (&[], Some("REFERENCE")),
    (&["CMSIS_NN"], Some("CMSIS_NN")),
    (&["CMSIS_NN", "__ARM_FEATURE_MVE=3"], Some("CMSIS_NN_MVE")),
    (&["ESP_NN"], Some("ESP_NN")),
    (&["ESP_PLATFORM"], Some("ESP_NN")),
    (&["ESP_PLATFORM", "CONFIG_IDF_TARGET_ESP32S3"], Some("ESP_NN")),
    (&["ESP_PLATFORM", "CONFIG_IDF_TARGET_ESP32S3", "CONFIG_NN_OPTIMIZED"], Some("ESP_NN_S3")),
    (&["ESP_NN", "CONFIG_IDF_TARGET_ESP32P4", "CONFIG_NN_OPTIMIZED"], None),
    (&["XTENSA"], None),
];

#[test]
fn a_header_has_the_arena_of_each_set_of_kernels() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-b", "--int8", "-o", "net.tflite"]);
    let object = desk.run(&["optimize", "net.tflite", "-o", "arena.h", "--json"]).json();
    let header = desk.read("arena.h");
    for need in object["by_kernels"].as_array().unwrap() {
        let name = need["kernels"].as_str().unwrap().to_uppercase().replace('-', "_");
        let line = format!("#define NET_ARENA_BYTES_{name} ");
        let bytes = header.split_once(&line).unwrap().1.split_once('u').unwrap().0;
        // The margin comes on top.
        let margin = bytes.parse::<u64>().unwrap() - need["total"].as_u64().unwrap();
        assert!((1..10_000).contains(&margin), "{name}: {margin}");
    }
    desk.write("sdkconfig.h", "");
    desk.run(&["optimize", "net.tflite", "--kernels", "reference", "-o", "reference.h"]);
    for (file, sets) in [("arena.h", None), ("reference.h", Some("REFERENCE"))] {
        for &(defines, name) in BUILDS {
            let name = name.filter(|&name| sets.is_none_or(|only| only == name));
            let size =
                name.map_or_else(|| "NET_ARENA_BYTES".to_owned(), |name| format!("NET_ARENA_BYTES_{name}"));
            let text = format!("#include \"{file}\"\nchar right[NET_ARENA_BYTES == {size} ? 1 : -1];\n");
            for source in ["use.c", "use.cc"] {
                desk.write(source, &text);
                let defines = defines.iter().map(|define| format!("-D{define}"));
                let mut compiler = Command::new(if source == "use.c" { "cc" } else { "g++" });
                let run =
                    compiler.args(["-Wall", "-Werror", "-fsyntax-only"]).args(defines).arg(desk.path(source));
                let Ok(output) = run.output() else {
                    return skip(Need::Compiler, "there is no `cc` or no `g++`");
                };
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.success(), name.is_some(), "{run:?}: {said}");
                assert!(name.is_some() || said.contains("NET_IS_NOT_PLANNED_FOR_"), "{run:?}: {said}");
            }
        }
    }
}

fn assert_compiles(desk: &Desk, source: &str) {
    let args = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
    match Command::new("cc").args(args).arg(desk.path(source)).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => skip(Need::Compiler, format!("there is no `cc` to try the header with ({error})")),
    }
}

#[test]
fn a_header_that_cannot_be_written_is_refused_before_the_search() {
    let desk = Desk::new();
    // Weeks of search, were it begun.
    let hard = "zoo:randwire-imagenet?nodes=400";
    for (args, message) in [
        (&["optimize", hard, "--emit-header", "a.h"][..], "planned for TFLM, not for `paper`"),
        (&["optimize", hard, "--runtime", "litert", "--emit-header", "a.h"], "not for `litert`"),
        (&["optimize", hard, "--runtime", "tflm", "--no-plan", "--emit-header", "a.h"], "--no-plan"),
        (&["optimize", hard, "--runtime", "tflm", "--emit-header", "no/such/a.h"], "there is no folder"),
        (
            &["optimize", hard, "--runtime", "tflm", "--plan", "a.h", "--emit-header", "./a.h"],
            "different names",
        ),
        (&["optimize", hard, "--memory", "fast=1KB"], "expected two memories"),
        (&["optimize", hard, "--memory", "fast=1KB,fast=2KB"], "both memories are called `fast`"),
    ] {
        let run = desk.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.stderr.contains(message), "{args:?} {run:?}");
    }
    assert_eq!(desk.files(), Vec::<String>::new());
}

#[test]
fn two_memories_are_told_in_the_plan_and_the_header() {
    let desk = Desk::new();
    let args = ["optimize", "zoo:swiftnet-b", "--runtime", "tflm", "--memory", "fast=64KB,slow=1MB"];
    let run = desk.run(&[&args[..], &["--plan", "plan.json", "--emit-header", "arena.h"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    for part in ["fast", "slow", "  this plan ", "  first fit ", "no model file can express this"] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
    let memories = plan["memories"].as_array().unwrap();
    assert_eq!((&memories[0]["name"], &memories[1]["capacity"]), (&json!("fast"), &json!(1_000_000)));
    assert!(memories[0]["used"].as_u64().unwrap() <= 64_000);
    let moved = memories[1]["read"].as_u64().unwrap() + memories[1]["written"].as_u64().unwrap();
    assert!(moved > 0 && plan["slow_bound"].as_u64().unwrap() <= moved);
    let placed: usize = memories.iter().map(|memory| memory["tensors"].as_array().unwrap().len()).sum();
    assert_eq!(
        placed,
        plan["offsets"][0].as_array().unwrap().iter().filter(|offset| !offset.is_null()).count()
    );
    let header = desk.read("arena.h");
    assert!(header.contains("_MEMORY_FAST_BYTES ") && header.contains("_SLOW_OFFSET_"), "{header}");
    desk.write("use.c", "#include \"arena.h\"\nint main(void) { return 0; }\n");
    assert_compiles(&desk, "use.c");
    // The plan still checks, and the same is said as JSON.
    assert_eq!(desk.run(&["check", "plan.json", "zoo:swiftnet-b", "--deep"]).code, 0);
    let printed = desk.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(printed["memories"], plan["memories"]);
}

#[test]
fn memories_that_are_too_small_name_the_missing_bytes() {
    let desk = Desk::new();
    let run = desk.run(&[
        "optimize",
        "zoo:swiftnet-a",
        "--no-rewrite",
        "--memory",
        "fast=100000,slow=100702",
        "--plan",
        "plan.json",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
    assert!(run.stderr.contains("2 bytes more than `fast` (100,000 of 100000 free) and `slow` (100,702 of 100702 free) hold, whatever lies where"), "{}", run.stderr);
    assert_eq!(desk.files(), Vec::<String>::new());
}
