//! Every field that a plan can have, forged: `check --deep` accepts no plan with a false field, unless the field is
//! documented to claim nothing.

use crate::float_io::with_float_io;
use crate::harness::Desk;
use crate::schema::fields_of;
use serde_json::{Value, json};
use serenity::plan_check::{CheckOptions, NO_CLAIM};
use serenity::search::Limits;
use serenity::{PlanFile, check_plan, load};
use serenity_judges::{on_all_cores, sample};
use std::collections::BTreeSet;

/// What is planned, and how; together their plans have every field that says something.
const PLANS: [(&str, &[&str]); 6] = [
    ("float.tflite", &["--budget", "1KB"]),
    ("io.tflite", &["--int8-io", "--loops", "--budget", "1KB"]),
    ("net.tflite", &["--kernels", "reference", "--no-rewrite", "--budget", "1MB"]),
    ("net.onnx", &["--ort-order", "priority"]),
    ("net.onnx", &["--ort-order", "default", "--no-rewrite"]),
    ("zoo:swiftnet-b", &["--memory", "fast=48KB,slow=1MB"]),
];

/// Values that fields of one of a few words can have.
const WORDS: [&str; 15] = [
    "plain",
    "paper",
    "tflm",
    "tflm-planned",
    "litert",
    "ort",
    "reference",
    "cmsis-nn",
    "esp-nn-s3",
    "any",
    "priority",
    "default",
    "optimal",
    "gap",
    "fast",
];

fn desk() -> Desk {
    let desk = Desk::new();
    for (network, file, options) in [
        ("mobilenet?resolution=32", "net.tflite", &["--int8"][..]),
        ("swiftnet-b", "float.tflite", &[]),
        ("swiftnet-b", "net.onnx", &[]),
    ] {
        let run = desk.run(&[&["zoo", "export", network, "-o", file], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
    }
    let bytes = std::fs::read(desk.path("net.tflite")).unwrap();
    std::fs::write(desk.path("io.tflite"), with_float_io(bytes)).unwrap();
    desk
}

/// The paths of all values in a plan, without the items of an array after the second.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                paths(value, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate().take(2) {
                paths(value, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Other values for a field. Of words, one that is true all the same may be among them.
fn forged(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) => vec![number.as_u64().map_or(json!(7.5), |number| json!(number + 1))],
        Value::String(text) if WORDS.contains(&text.as_str()) => {
            WORDS.iter().filter(|word| *word != text).map(|word| json!(word)).collect()
        }
        Value::String(_) => vec![json!("another")],
        Value::Array(items) if items.is_empty() => vec![json!([7])],
        Value::Array(items) => vec![json!(items[1..])],
        // Claims that the plan does not make: with these, the file is another.
        Value::Null => vec![json!(7), json!("fast"), json!({"session": "fast"}), json!([[0]])],
        Value::Object(_) => vec![json!(7)],
    }
}

/// The name of a field in the list of those that claim nothing.
fn listed(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["proofs", _, last] => format!("proofs.*.{last}"),
        [first, second, last] if second.parse::<usize>().is_ok() => format!("{first}[].{last}"),
        _ => parts.join("."),
    }
}

/// Is it in that list, or part of a field that is? A chain that begins later may prove as much, so its tensors are only
/// forged one by one.
fn claims_nothing(path: &str) -> bool {
    if path.starts_with("/witness/") && path.ends_with("/tensors") {
        return true;
    }
    let names = [listed(path), path.split('/').nth(1).unwrap_or_default().to_owned()];
    NO_CLAIM.iter().any(|(field, _)| names.iter().any(|name| name == field))
}

#[test]
fn no_field_can_be_forged() {
    let desk = desk();
    let seen = on_all_cores(&PLANS, |(model, options)| {
        let run = desk.run(&[&["optimize", model, "--json"], *options].concat());
        let plan = run.json();
        let path = if model.starts_with("zoo:") { (*model).into() } else { desk.path(model) };
        let input = load(path.to_str().unwrap()).unwrap();
        let options = CheckOptions { model: None, deep: Some(Limits::default()) };
        // What is refuted at once needs no search.
        let is_accepted = |plan: &Value| {
            PlanFile::from_json(plan).is_ok_and(|file| {
                check_plan(&input, &file, &CheckOptions::default()).is_valid() && {
                    let verdict = check_plan(&input, &file, &options);
                    verdict.is_valid() && verdict.unverified().is_empty()
                }
            })
        };
        let verdict = check_plan(&input, &PlanFile::from_json(&plan).unwrap(), &options);
        assert!(is_accepted(&plan), "{model} {options:?}: {:#?}", verdict.claims);
        let mut all = Vec::new();
        paths(&plan, "", &mut all);
        let mut accepted = Vec::new();
        let all: Vec<&String> = all.iter().filter(|path| !path.is_empty() && !claims_nothing(path)).collect();
        for path in sample(all, 4) {
            let value = plan.pointer(path).unwrap();
            let is_accepted = |new: &Value| {
                let mut forged = plan.clone();
                *forged.pointer_mut(path).unwrap() = new.clone();
                is_accepted(&forged)
            };
            // A buffer may lie a byte higher where there is room, but not outside of its memory.
            let is_place = path.starts_with("/memories/") && path.ends_with("/offset");
            let new = if is_place { vec![json!(1_000_000_000)] } else { forged(value) };
            let mut new = new.into_iter().filter(|new| new != value);
            let is_fooled = if value.is_string() {
                new.all(|new| is_accepted(&new))
            } else {
                new.any(|new| is_accepted(&new))
            };
            if is_fooled {
                accepted.push(format!("{path}: {value}"));
            }
        }
        assert!(accepted.is_empty(), "{model} {options:?}: forged and accepted: {accepted:#?}");
        plan.as_object()
            .unwrap()
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, _)| name.clone())
            .collect::<BTreeSet<_>>()
    });
    let seen: BTreeSet<String> = seen.into_iter().flatten().collect();
    let all: BTreeSet<String> = [fields_of("plan"), fields_of("optimize")].into_iter().flatten().collect();
    let never: Vec<&String> = all.difference(&seen).collect();
    // These are forged where they are null: a plan that makes the claim for another file is refused.
    assert_eq!(never, NEVER, "forge these as well");
}

/// Fields that no plan above has: they need another model, a runtime, or a file to write.
const NEVER: [&str; 7] = ["code", "constant_channels", "hop", "output", "plan_fault", "plan_note", "report"];

#[test]
fn fields_that_claim_nothing_are_documented() {
    let guide = include_str!("../../../../docs/LIBRARY.md");
    let known: BTreeSet<String> = ["plan", "optimize", "schedule"].into_iter().flat_map(fields_of).collect();
    for (field, _) in NO_CLAIM {
        assert!(guide.contains(&format!("`{field}`")), "`{field}` is not in docs/LIBRARY.md");
        let name = field.split(['.', '[']).next().unwrap();
        assert!(known.contains(name), "no plan has a field `{field}`");
    }
}
