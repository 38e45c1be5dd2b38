//! Models that take and give whole numbers instead of floats: what they need, whether their plans can be checked, and
//! whether the runtimes agree.

use crate::common::portable_head;
use crate::float_io::with_float_io;
use serenity::formats::Port;
use serenity::plan_check::CheckOptions;
use serenity::zoo::Precision;
use serenity::{
    Format, Input, Loops, Optimized, Options, PlanFile, check_plan, export, inspect, load, optimize,
};
use serenity_judges::{Inputs, sample, shared};
use serenity_verify::{Engine, VerifyOptions, verify};
use std::path::{Path, PathBuf};

/// A built-in network with floats at both ends, in a file.
fn network(name: &str, folder: &Path) -> PathBuf {
    let bytes = export(name, Format::TfLite, Precision::Int8).unwrap().bytes;
    let path = folder.join("floats.tflite");
    std::fs::write(&path, with_float_io(bytes)).unwrap();
    path
}

fn read(path: &Path) -> Input {
    load(path.to_str().unwrap()).unwrap()
}

fn with_int8_io(input: &Input, loops: Option<Loops>) -> Optimized {
    optimize(input, &Options { int8_io: true, loops, ..Options::for_input(input) }).unwrap()
}

fn written(best: &Optimized, path: PathBuf) -> PathBuf {
    std::fs::write(&path, best.to_bytes().unwrap()).unwrap();
    path
}

fn assert_checks(input: &Input, plan: &serenity::Plan, name: &str) {
    let plan = PlanFile::from_json(&plan.to_json()).unwrap();
    let verdict = check_plan(input, &plan, &CheckOptions::default());
    let problems: Vec<&str> = verdict.problems().collect();
    assert!(problems.is_empty() && verdict.is_verified("int8_io"), "{name}: {problems:?}");
}

#[test]
fn the_model_between_the_conversions_is_what_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let path = network("mobilenet?resolution=64", folder.path());
    let floats = read(&path);
    let bytes = export("mobilenet?resolution=64", Format::TfLite, Precision::Int8).unwrap().bytes;
    let plain = folder.path().join("plain.tflite");
    std::fs::write(&plain, bytes).unwrap();
    let plain = read(&plain);
    for loops in [None, Some(Loops::default())] {
        let best = with_int8_io(&floats, loops);
        let wanted = optimize(&plain, &Options { loops, ..Options::for_input(&plain) }).unwrap();
        assert_eq!(best.plan.after.arena, wanted.plan.after.arena);
        assert_eq!(best.plan.loops.is_some(), loops.is_some());
        // As it came is as it came.
        let options = Options { loops, ..Options::for_input(&floats) };
        let unchanged = optimize(&floats, &options).unwrap();
        assert_eq!(best.plan.before, unchanged.plan.before);
        assert!(best.plan.after.arena < unchanged.plan.after.arena, "{:?}", best.plan.after);
        assert_eq!(unchanged.plan.int8_io, None);
        let io = best.plan.int8_io.as_ref().unwrap();
        let ports: Vec<Port> = io.changed().map(|(port, _)| port).collect();
        assert_eq!(ports, [Port::Input(0), Port::Output(0)]);
        assert_checks(&floats, &best.plan, "mobilenet");
        let verdict = check_plan(
            &best.model,
            &PlanFile::from_json(&best.plan.to_json()).unwrap(),
            &CheckOptions::default(),
        );
        assert!(verdict.problems().any(|problem| problem.contains("not with the file that was written")));
    }
}

#[test]
fn a_plan_that_says_otherwise_is_refuted() {
    let folder = tempfile::tempdir().unwrap();
    let input = read(&network("swiftnet-c", folder.path()));
    let json = with_int8_io(&input, None).plan.to_json();
    let one = |field: &str, value: serde_json::Value| {
        let mut changed = json.clone();
        changed["int8_io"]["inputs"][0][field] = value;
        changed
    };
    let mut without = json.clone();
    without["int8_io"] = serde_json::Value::Null;
    let mut fewer = json.clone();
    fewer["int8_io"]["outputs"] = serde_json::json!([]);
    for (what, changed) in [
        ("not at all", without),
        ("fewer", fewer),
        ("scale", one("scale", 0.5.into())),
        ("zero_point", one("zero_point", 77.into())),
        ("name", one("name", "another".into())),
        ("position", one("position", 9.into())),
        ("dtype", one("dtype", "uint8".into())),
        ("no scale", one("scale", serde_json::Value::Null)),
    ] {
        let plan = PlanFile::from_json(&changed).unwrap();
        assert!(!check_plan(&input, &plan, &CheckOptions::default()).is_valid(), "{what}");
    }
}

#[test]
fn done_again_nothing_happens() {
    let folder = tempfile::tempdir().unwrap();
    let input = read(&network("swiftnet-c", folder.path()));
    let once = with_int8_io(&input, None);
    let again = with_int8_io(&read(&written(&once, folder.path().join("once.tflite"))), None);
    let io = again.plan.int8_io.as_ref().unwrap();
    assert!(io.is_unchanged() && io.kept.is_empty(), "{io:?}");
    assert_eq!(again.plan.after.arena, once.plan.after.arena);
    assert_eq!(again.plan.before.arena, once.plan.after.arena);
    assert_checks(&again.model, &again.plan, "again");
}

#[test]
fn the_runtimes_agree() {
    let Some(python) = serenity_judges::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let floats = network("swiftnet-c", folder.path());
    let input = read(&floats);
    for loops in [None, Some(Loops::default())] {
        let best = with_int8_io(&input, loops);
        let new = written(&best, folder.path().join("bytes.tflite"));
        let Some(verdicts) = serenity_judges::tflm(&[&new], &Inputs::default()) else { return };
        assert_eq!(Some(verdicts[0].accepted().head), portable_head(&best.model, &best.plan));
        let options = VerifyOptions { python: Some(python.clone()), ..VerifyOptions::default() };
        let compare =
            |a: &Path, b: &Path| verify(a.to_str().unwrap(), b.to_str().unwrap(), &options).unwrap();
        let found = compare(&floats, &new);
        let engines: Vec<Engine> = found.comparisons.iter().map(|one| one.engine).collect();
        assert_eq!(engines, [Engine::LiteRt, Engine::Tflm]);
        assert!(found.equal, "{found:?}");
        assert_eq!(found.quantized.as_ref().map(|io| io.changed().count()), Some(2));
        // The other way round, or a model of another network, is another matter.
        assert!(!compare(&new, &floats).equal);
        let other = folder.path().join("other.tflite");
        let bytes = export("swiftnet-a", Format::TfLite, Precision::Int8).unwrap().bytes;
        std::fs::write(&other, bytes).unwrap();
        let found = compare(&floats, &other);
        assert!(!found.equal && found.quantized.is_none(), "{found:?}");
    }
}

/// Real models that take floats to convert them, with what the head of TFLM's arena must not exceed without loops and
/// with, on the portable kernels.
const REAL: [(&str, usize, [u64; 2]); 2] = [
    ("blazeface_front_128_int8.tflite", 3, [327_680, 75_328]),
    ("face_landmark_192_int8.tflite", 3, [442_368, 137_440]),
];

#[test]
fn floats_at_the_ends_of_real_models_are_not_needed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut files, mut heads) = (Vec::new(), Vec::new());
    for (name, ports, most) in sample(REAL, 2) {
        let Some(path) = shared(&format!("models/{name}")) else { continue };
        let input = read(&path);
        for (loops, most) in [None, Some(Loops::default())].into_iter().zip(most) {
            let best = with_int8_io(&input, loops);
            let arena = best.plan.after.arena.unwrap();
            let head = portable_head(&best.model, &best.plan).unwrap();
            println!(
                "{name}: {:?} -> {arena}, {head} with portable kernels, with loops: {}",
                best.plan.before.arena,
                loops.is_some()
            );
            assert!(head <= most && head <= arena, "{name}: {head} of {arena}");
            assert_eq!(best.plan.int8_io.as_ref().unwrap().changed().count(), ports, "{name}");
            assert_checks(&input, &best.plan, name);
            let file = written(&best, folder.path().join(format!("{}.tflite", files.len())));
            let seen = inspect(read(&file).graphs(), best.plan.model, best.plan.offsets.as_ref());
            assert_eq!(seen.arena.map(|arena| arena.bytes), Some(arena), "{name}");
            files.push(file);
            heads.push(head);
        }
    }
    let Some(verdicts) = serenity_judges::tflm(&files, &Inputs { runs: 0, ..Inputs::default() }) else {
        return;
    };
    let judged: Vec<u64> = verdicts.iter().map(|verdict| verdict.accepted().head).collect();
    assert_eq!(judged, heads);
}
