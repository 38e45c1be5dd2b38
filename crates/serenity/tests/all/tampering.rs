//! Every field of a plan, changed one at a time: each change is refused, or said not to be verified, or the field is
//! one that claims nothing, or what the plan says then is true all the same, by the count of the pipeline (which shares
//! no code with the checker).

use crate::fuzzed::targets::truth::is_true;
use serde_json::{Value, json};
use serenity::pipeline::Footprint;
use serenity::plan_check::{CheckOptions, NO_CLAIM, Status};
use serenity::runtimes::{Kernels, MemoryModel, OrtOrder, OrtSetup};
use serenity::zoo::Precision;
use serenity::{
    Format, Input, Loops, Optimized, Options, PlanFile, Rewrites, check_plan, export, load, optimize,
};
use serenity_judges::{is_slow, on_all_cores, sample, shared};

/// A plan, the model that it was made for, and the model that it speaks of.
struct Case {
    name: String,
    input: Input,
    planned: Input,
    plan: Value,
}

fn case(name: &str, path: &str, model: MemoryModel, plan_arena: bool) -> Case {
    let input = load(path).unwrap();
    let options = Options { model, plan_arena, given_plan: input.plan(), ..Options::default() };
    // Rewriting is a search of its own: a few with many rewrites are enough.
    let rewrites = if REWRITTEN.contains(&name) { Rewrites::All } else { Rewrites::None };
    let Optimized { model: planned, plan, .. } = optimize(&input, &Options { rewrites, ..options }).unwrap();
    let mut json = plan.to_json();
    let footprint = |of: &Input, needs: Footprint| {
        let total = of.tail(plan.model).map(|tail| tail.needed(needs.needs()));
        json!({
            "peak": needs.peak,
            "arena": needs.arena,
            "total": total.map(|total| json!({"arm32": total.arm32, "x86_64": total.x86_64})),
            "ops": needs.ops,
        })
    };
    json["before"] = footprint(&input, plan.before);
    json["after"] = footprint(&planned, plan.after);
    let rewrites = plan.rewrites.len();
    Case { name: format!("{name} for {model}, {rewrites} rewrites"), input, planned, plan: json }
}

const PLAIN: MemoryModel = MemoryModel::Plain;
const PAPER: MemoryModel = MemoryModel::Paper;
const ANY: MemoryModel = MemoryModel::Tflm(Kernels::Any);
const REFERENCE: MemoryModel = MemoryModel::Tflm(Kernels::Reference);
const CMSIS_NN: MemoryModel = MemoryModel::Tflm(Kernels::CmsisNn);
const LITERT: MemoryModel = MemoryModel::Litert;
const PRIORITY: MemoryModel = MemoryModel::Ort(OrtSetup::PLAIN);
const DEFAULT: MemoryModel = MemoryModel::Ort(OrtSetup { order: OrtOrder::Default, reuse: true });

/// What is rewritten first.
const REWRITTEN: &[&str] = &["zoo:swiftnet-b", "swiftnet-b"];

/// Built-in networks as graphs.
const GRAPHS: &[(&str, MemoryModel)] = &[
    ("zoo:swiftnet-a", PLAIN),
    ("zoo:swiftnet-b", PAPER),
    ("zoo:swiftnet-c", PAPER),
    ("zoo:darts-cell", PLAIN),
    ("zoo:randwire-cifar10?nodes=10", PAPER),
    ("zoo:mobilenet", PLAIN),
];

/// Built-in networks as files: name, format, precision, target, and whether the arena is planned.
const FILES: &[(&str, Format, Precision, MemoryModel, bool)] = &[
    ("swiftnet-a", Format::TfLite, Precision::Int8, ANY, true),
    ("swiftnet-b", Format::TfLite, Precision::Float32, REFERENCE, true),
    ("swiftnet-c", Format::TfLite, Precision::Int8, CMSIS_NN, true),
    ("mobilenet?resolution=32", Format::TfLite, Precision::Int8, REFERENCE, true),
    ("mobilenet?resolution=32", Format::TfLite, Precision::Int8, CMSIS_NN, false),
    ("swiftnet-a", Format::TfLite, Precision::Int8, REFERENCE, false),
    ("swiftnet-b", Format::TfLite, Precision::Float32, ANY, false),
    ("swiftnet-b", Format::TfLite, Precision::Float32, LITERT, false),
    ("darts-cell", Format::TfLite, Precision::Int8, LITERT, false),
    ("swiftnet-a", Format::Onnx, Precision::Float32, PRIORITY, false),
    ("swiftnet-b", Format::Onnx, Precision::Float32, DEFAULT, false),
    ("mobilenet?resolution=32", Format::Onnx, Precision::Float32, PRIORITY, false),
];

/// Models of the collection, the small ones.
const SHARED: &[(&str, MemoryModel, bool)] = &[
    ("mlperf_tiny_vww_96_int8.tflite", ANY, true),
    ("mlperf_tiny_kws_int8.tflite", REFERENCE, true),
    ("mlperf_tiny_resnet8_int8.tflite", CMSIS_NN, true),
    ("microwakeword_okay_nabu.tflite", CMSIS_NN, true),
    ("tflm_mnist_lstm_int8.tflite", LITERT, false),
    ("tflm_audio_preprocessor_int8.tflite", LITERT, false),
];

/// A change: where, and to what.
struct Change {
    path: Vec<String>,
    plan: Value,
    what: String,
}

/// All changes of one value, made in a copy of the whole plan.
fn changes(plan: &Value) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let value = at(plan, &path);
        let mut put = |what: &str, new: Value| {
            let mut changed = plan.clone();
            *at_mut(&mut changed, &path) = new;
            if changed == *plan {
                return;
            }
            found.push(Change { path: path.clone(), plan: changed, what: what.to_owned() });
        };
        if !path.is_empty() && !value.is_null() {
            put("null", Value::Null);
            put("wrong type", if value.is_string() { json!(7) } else { json!("7") });
        }
        match value {
            Value::Null => {
                for new in [json!(0), json!(1), json!("any"), json!([0]), json!({})] {
                    put("something for null", new);
                }
            }
            Value::Bool(old) => put("not", json!(!old)),
            Value::Number(number) => {
                let old = number.as_i64().unwrap_or(0);
                let new = [
                    json!(old + 1),
                    json!(old - 1),
                    json!(old * 2),
                    json!(0),
                    json!(u64::MAX),
                    json!(1_u64 << 63),
                    json!(0.5),
                ];
                for new in new.into_iter().filter(|new| new != value) {
                    put(&format!("{old} to {new}"), new);
                }
            }
            Value::String(old) => {
                for new in NAMES.iter().filter(|new| *new != old) {
                    put(&format!("`{old}` to `{new}`"), json!(new));
                }
            }
            Value::Array(items) => {
                let mut edit = |what: String, edit: &dyn Fn(&mut Vec<Value>)| {
                    let mut new = items.clone();
                    edit(&mut new);
                    put(&what, new.into());
                };
                for index in some_of(items.len()) {
                    edit(format!("without {index}"), &|list| drop(list.remove(index)));
                    edit(format!("{index} twice"), &|list| list.insert(index, list[index].clone()));
                    if index + 1 < items.len() && items[index] != items[index + 1] {
                        edit(format!("{index} and the next swapped"), &|list| list.swap(index, index + 1));
                    }
                    if index > 0 && items[index] != items[0] {
                        edit(format!("{index} and the first swapped"), &|list| list.swap(index, 0));
                    }
                }
                edit("emptied".to_owned(), &|list| list.clear());
                for index in some_of(items.len()) {
                    open.push([path.as_slice(), &[index.to_string()]].concat());
                }
            }
            Value::Object(fields) => {
                for key in fields.keys() {
                    let mut changed = plan.clone();
                    let fields = at_mut(&mut changed, &path).as_object_mut().unwrap();
                    fields.remove(key);
                    let path = [path.as_slice(), std::slice::from_ref(key)].concat();
                    found.push(Change { path: path.clone(), plan: changed, what: "removed".to_owned() });
                    open.push(path);
                }
            }
        }
    }
    found
}

/// Values that fields with names have.
const NAMES: &[&str] = &[
    "plain",
    "paper",
    "tflm",
    "tflm-planned",
    "litert",
    "ort",
    "any",
    "reference",
    "cmsis-nn",
    "priority",
    "default",
    "optimal",
    "gap",
    "pad-folding",
    "channel-partitioning",
    "kernel-partitioning",
    "x",
];

/// The first, the last, and a few between.
fn some_of(count: usize) -> Vec<usize> {
    let mut some: Vec<usize> =
        (0..4).map(|part| part * count.saturating_sub(1) / 3).filter(|&i| i < count).collect();
    some.dedup();
    some
}

fn at<'a>(value: &'a Value, path: &[String]) -> &'a Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(items) => &items[key.parse::<usize>().unwrap()],
        value => &value[key],
    })
}

fn at_mut<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        value => &mut value[key],
    })
}

/// The field as the list of those that claim nothing names it.
fn listed(path: &[String]) -> String {
    match path {
        [first, _, last] if first == "proofs" => format!("proofs.*.{last}"),
        [first, second, last] if second.parse::<usize>().is_ok() => format!("{first}[].{last}"),
        path => path.join("."),
    }
}

/// How many changes were refused, are not verified or claim nothing, are true all the same.
fn tamper(case: &Case) -> [usize; 3] {
    let whole = PlanFile::from_json(&case.plan).unwrap();
    let verdict = check_plan(&case.input, &whole, &CheckOptions::default());
    assert!(verdict.is_valid(), "{}: {:?}", case.name, verdict.problems().collect::<Vec<_>>());
    let mut counts = [0; 3];
    let mut accepted = Vec::new();
    for Change { path, plan, what } in changes(&case.plan) {
        let Ok(file) = PlanFile::from_json(&plan) else {
            counts[0] += 1;
            continue;
        };
        let verdict = check_plan(&case.input, &file, &CheckOptions::default());
        if !verdict.is_valid() {
            counts[0] += 1;
            continue;
        }
        let is_verified = |field: &str| matches!(verdict.status(field), Some(Status::Verified { .. }));
        if let Some((field, _)) = NO_CLAIM.iter().find(|(field, _)| *field == listed(&path)) {
            assert!(!is_verified(field), "{}: {} {what} is called verified", case.name, path.join("."));
            counts[1] += 1;
            continue;
        }
        // What rests on a search is said not to be verified.
        let claim = if path.iter().any(|key| key == "gain") { "gain" } else { path[0].as_str() };
        if matches!(verdict.status(claim), Some(Status::NotVerified { .. })) {
            counts[1] += 1;
            continue;
        }
        // The terms of a sum may be added in another order: all figures were counted again for the model that this makes.
        // And rewrites are made all at once, in whatever order they are listed.
        let is_other_sum = path[0] == "rewrites"
            && (path.iter().any(|key| key == "order") || (path.len() == 1 && what.contains("swapped")));
        let is_about_this_model = path[0] != "rewrites" || whole.rewrites.is_empty();
        let is_harmless = is_other_sum || (is_about_this_model && is_true(&case.planned, &case.plan, &file));
        // A claim that is not made any more is not verified any more.
        let is_withdrawn = path.len() == 1 && (what == "removed" || what == "null") && path[0] != "runtime";
        let is_silent = !is_withdrawn || !is_verified(&path[0]);
        let is_harmless = is_harmless && is_silent;
        if !is_harmless {
            accepted.push(format!("{}: {what}", path.join(".")));
        }
        counts[2] += 1;
    }
    assert!(accepted.is_empty(), "{}: accepted {accepted:#?}", case.name);
    counts
}

#[test]
fn every_change_is_refused_or_named() {
    let folder = std::env::temp_dir().join(format!("serenity-tampering-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut cases: Vec<(String, String, MemoryModel, bool)> = GRAPHS
        .iter()
        .map(|&(network, model)| (network.to_owned(), network.to_owned(), model, true))
        .collect();
    for (index, &(network, format, precision, model, plan_arena)) in FILES.iter().enumerate() {
        let extension = if format == Format::TfLite { "tflite" } else { "onnx" };
        let path = folder.join(format!("{index}.{extension}"));
        std::fs::write(&path, export(network, format, precision).unwrap().bytes).unwrap();
        cases.push((network.to_owned(), path.to_str().unwrap().to_owned(), model, plan_arena));
    }
    if let Some(folder) = shared("models") {
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        cases.extend(
            SHARED.iter().map(|&(name, model, plan_arena)| (name.to_owned(), path(name), model, plan_arena)),
        );
    }
    let cases = sample(cases, 8);
    let counts = on_all_cores(&cases, |(name, path, model, plan_arena)| {
        let case = case(name, path, *model, *plan_arena);
        let counts = tamper(&case);
        let [refused, not_verified, harmless] = counts;
        eprintln!(
            "{}: {refused} refused, {not_verified} not verified, {harmless} true all the same",
            case.name
        );
        counts
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let sums: [usize; 3] = std::array::from_fn(|kind| counts.iter().map(|counts| counts[kind]).sum());
    assert!(counts.len() >= if is_slow() { 18 } else { 3 } && sums[0] > 2 * (sums[1] + sums[2]), "{sums:?}");
}

/// Whatever a plan says of its loops is made again, compared, and followed row by row.
#[test]
fn every_change_of_loops_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.tflite");
    let cases = [
        ("mobilenet?resolution=32", Kernels::Any),
        ("swiftnet-b", Kernels::Reference),
        ("swiftnet-c", Kernels::Any),
    ];
    for (network, kernels) in sample(cases, 3) {
        std::fs::write(&path, export(network, Format::TfLite, Precision::Int8).unwrap().bytes).unwrap();
        let input = load(path.to_str().unwrap()).unwrap();
        let options = Options {
            model: MemoryModel::Tflm(kernels),
            rewrites: Rewrites::None,
            // Nothing fits no bytes: then the smallest plan is taken, whatever its time.
            loops: Some(Loops { most_extra_macs: 0.5, enough: Some(0) }),
            ..Options::for_input(&input)
        };
        let plan = optimize(&input, &options).unwrap().plan.to_json();
        assert!(plan["loops"].is_object(), "{network} has no loops");
        let is_refused = |plan: &Value| {
            PlanFile::from_json(plan)
                .map_or(true, |file| !check_plan(&input, &file, &CheckOptions::default()).is_valid())
        };
        assert!(!is_refused(&plan), "{network}");
        let mut accepted = Vec::new();
        for Change { path, plan, what } in changes(&plan) {
            if path[0] != "loops" || is_refused(&plan) {
                continue;
            }
            // Windows are found in the order of the model, however they are listed; with lines carried, all that enters
            // the first op is cut into stripes; and other orders may do as well, for which all figures are counted
            // again.
            let is_harmless = what.contains("swapped") || path.last().is_some_and(|field| field == "enters");
            if !is_harmless {
                accepted.push(format!("{}: {what}", path.join(".")));
            }
        }
        assert!(accepted.is_empty(), "{network}: accepted {accepted:#?}");
    }
}
