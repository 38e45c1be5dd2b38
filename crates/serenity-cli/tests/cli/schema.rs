//! `serenity schema` says all that programs are told, and nothing else: every JSON output of these tests is compared with it.
//!
//! The schema allows fields to be added, as users must; here a field that it does not name is a fault. The validator
//! knows the part of JSON Schema that is used, and refuses to work with any other.

use crate::harness::Desk;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(serenity_cli::schema);

/// The names of all fields that an object of this kind can have.
pub(crate) fn fields_of(kind: &str) -> BTreeSet<String> {
    SCHEMA["$defs"][kind]["properties"].as_object().unwrap().keys().cloned().collect()
}

/// Panics unless `object` is exactly what the schema says of an object of its kind.
#[track_caller]
pub(crate) fn assert_documented(object: &Value) {
    let faults = faults(object);
    let beginning: String = object.to_string().chars().take(300).collect();
    assert!(faults.is_empty(), "{}\n\nin {beginning} …", faults.join("\n"));
}

/// All that differs, each with the field and the remedy.
fn faults(object: &Value) -> Vec<String> {
    let Some(name) = object["schema"].as_str() else {
        return vec!["the field `schema` is missing: every JSON output says what it is".to_owned()];
    };
    let kind = name.strip_prefix("serenity.").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if SCHEMA["$defs"][kind]["properties"]["schema"]["const"] != name {
        return vec![format!("`{name}` is not described in the schema")];
    }
    let mut validator = Validator { output: kind.to_owned(), faults: Vec::new() };
    validator.validate(&SCHEMA["$defs"][kind], object, "");
    validator.faults
}

struct Validator {
    output: String,
    faults: Vec<String>,
}

impl Validator {
    fn fault(&mut self, path: &str, what: &str) {
        self.faults.push(format!("`{}`, field `{}`: {what}", self.output, path.trim_start_matches('.')));
    }

    /// The schema and all that it includes; of alternatives, the one that comes closest.
    fn parts(schema: &'static Value, value: &Value) -> Vec<&'static Value> {
        let mut parts = vec![schema];
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.strip_prefix("#/$defs/").expect("a reference into $defs");
            parts.extend(Self::parts(&SCHEMA["$defs"][name], value));
        }
        let distance = |one: &&'static Value| {
            let mut validator = Self { output: String::new(), faults: Vec::new() };
            validator.validate(one, value, "");
            validator.faults.len()
        };
        for alternatives in ["anyOf", "oneOf"].iter().filter_map(|keyword| schema[keyword].as_array()) {
            parts
                .extend(alternatives.iter().min_by_key(distance).map(|one| Self::parts(one, value)).unwrap());
        }
        parts
    }

    fn validate(&mut self, schema: &'static Value, value: &Value, path: &str) {
        if schema == &Value::Bool(false) {
            return self.fault(path, "is not in the schema");
        }
        let parts = Self::parts(schema, value);
        for part in &parts {
            self.validate_simple(part, value, path);
        }
        match value {
            Value::Object(fields) => self.validate_fields(&parts, fields, path),
            Value::Array(items) => {
                for (part, (index, item)) in
                    parts.iter().flat_map(|part| items.iter().enumerate().map(move |item| (part, item)))
                {
                    if let Some(schema) = part["prefixItems"].get(index).or(part.get("items")) {
                        self.validate(schema, item, &format!("{path}[{index}]"));
                    }
                }
            }
            _ => {}
        }
    }

    fn validate_simple(&mut self, schema: &Value, value: &Value, path: &str) {
        for (keyword, rule) in schema.as_object().unwrap() {
            let holds = match keyword.as_str() {
                "type" => match rule {
                    Value::Array(types) => types.iter().any(|one| has_type(value, one)),
                    one => has_type(value, one),
                },
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "minItems" => {
                    value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap())
                }
                "maxItems" => {
                    value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap())
                }
                "required" => {
                    for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                        if value.is_object() && value.get(name).is_none() {
                            self.fault(
                                &format!("{path}.{name}"),
                                "the schema requires it, and it is not there",
                            );
                        }
                    }
                    true
                }
                // Looked at elsewhere.
                "$ref"
                | "anyOf"
                | "oneOf"
                | "items"
                | "prefixItems"
                | "properties"
                | "additionalProperties"
                | "description"
                | "format"
                | "default" => true,
                other => panic!("the validator of the tests does not know the keyword `{other}`"),
            };
            if !holds {
                self.fault(path, &format!("{value} is not of {keyword} {rule}, as the schema says"));
            }
        }
    }

    fn validate_fields(&mut self, parts: &[&'static Value], fields: &Map<String, Value>, path: &str) {
        for (name, value) in fields {
            let path = format!("{path}.{name}");
            let described = |part: &&'static Value| {
                let others = || part.get("additionalProperties").filter(|schema| **schema != false);
                part["properties"].get(name).or_else(others)
            };
            let described: Vec<&Value> = parts.iter().filter_map(described).collect();
            if described.is_empty() {
                self.fault(&path, "not documented: describe it in docs/FORMATS.md");
            }
            for schema in described {
                self.validate(schema, value, &path);
            }
        }
    }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("no such type: {other}"),
    }
}

/// Every schema in the file that describes a field, with the path to it.
fn fields<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    match schema {
        Value::Object(parts) => {
            for (name, part) in parts {
                let path = format!("{path}/{name}");
                if name == "properties" || name == "$defs" {
                    for (field, schema) in part.as_object().unwrap() {
                        found.push((format!("{path}/{field}"), schema));
                    }
                }
                fields(part, &path, found);
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| fields(part, path, found)),
        _ => {}
    }
}

#[test]
fn every_field_of_the_schema_is_explained() {
    let mut all = Vec::new();
    fields(&SCHEMA, "", &mut all);
    assert!(all.len() > 200, "{}", all.len());
    for (path, field) in all {
        // Alternatives are explained as a whole.
        let is_tagged =
            path.contains("/oneOf/") && (field["const"].is_string() || path.ends_with("/position"));
        let explained = match field["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            Some(name) => &SCHEMA["$defs"][name]["description"],
            None => &field["description"],
        };
        assert!(explained.is_string() || is_tagged, "{path} has no description");
    }
}

#[test]
fn the_kinds_of_errors_are_explained() {
    let explained = SCHEMA["$defs"]["StatedError"]["properties"]["kind"]["description"].to_string();
    let formats = include_str!("../../../../docs/FORMATS.md");
    for (kind, _) in serenity::ErrorKind::all() {
        assert!(explained.contains(&format!("{kind}: ")), "{kind} is not explained in the schema");
        assert!(formats.contains(&format!("| `{kind}` | ")), "{kind} is not explained in docs/FORMATS.md");
    }
}

/// One run of everything that prints JSON, each with all of its fields in use.
#[test]
fn every_field_in_the_schema_is_printed_by_some_command() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-c", "-o", "c.onnx"]);
    desk.write("table.csv", "id,lower,upper,size\na,0,2,30\nb,1,3,20\n");
    let app =
        "[[memory]]\nname = \"sram\"\nsize = \"256KiB\"\n[[model]]\nname = \"c\"\nfile = \"c.tflite\"\n";
    desk.write("app.toml", app);
    let mut seen = BTreeSet::new();
    let mut note = |object: &Value| {
        assert_documented(object);
        let kind =
            object["schema"].as_str().unwrap().trim_start_matches("serenity.").split('/').next().unwrap();
        seen.extend(object.as_object().unwrap().keys().map(|field| format!("{kind}.{field}")));
    };
    for args in [
        &["zoo", "export", "swiftnet-c", "--int8", "-o", "c.tflite", "--json"][..],
        &["zoo", "list", "--json"],
        &["optimize", "zoo:swiftnet-b", "--memory", "fast=48KB,slow=1MB", "--plan", "plan.json", "--json"],
        &["optimize", "c.tflite", "--budget", "1KB", "--json"],
        &["optimize", "c.onnx", "-o", "small.onnx", "--json"],
        &["optimize", "c.tflite", "--report", "page.html", "--svg", "pictures", "--json"],
        &["report", "c.tflite", "-o", "page.html", "--budget", "1KB", "--svg", "pictures", "--json"],
        &["fit", "c.tflite", "--budget", "1KB", "--allow", "plan,rewrites,c", "--json"],
        &["emit", "c", "c.tflite", "-o", "code", "--budget", "1MB", "--json"],
        &["inspect", "c.tflite", "--json"],
        &["inspect", "zoo:swiftnet-b", "--json"],
        &["device", "app.toml", "--json"],
        &["diff", "c.tflite", "c.tflite", "--budget", "1MB", "--max-growth", "0", "--json"],
        &["schedule", "zoo:swiftnet-a", "--json"],
        &["schedule", "zoo:swiftnet-a", "--algorithm", "kahn", "--runtime", "plain", "--json"],
        &["place", "table.csv", "--capacity", "40", "--json"],
        &["place", "c.tflite", "--json"],
        &["traffic", "zoo:swiftnet-b", "--on-chip", "16KB", "--json"],
        &["sample", "zoo:swiftnet-a", "--budget", "250KB", "--json"],
        &["sample", "zoo:swiftnet-a", "--exact", "--json"],
        &["check", "plan.json", "zoo:swiftnet-b", "--json"],
        &["check", "plan.json", "zoo:swiftnet-a", "--json"],
        &["schedule", "nowhere.json", "--json"],
    ] {
        note(&desk.run(args).json());
    }
    note(&serde_json::from_str(&desk.read("plan.json")).unwrap());
    let mut never = String::new();
    for output in SCHEMA["anyOf"].as_array().unwrap() {
        let kind = output["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
        // These need a runtime, or minutes; their own tests see their output.
        if kind == "verify" || kind == "paper" {
            continue;
        }
        for field in fields_of(kind).iter().filter(|field| !seen.contains(&format!("{kind}.{field}"))) {
            writeln!(never, "`{kind}`, field `{field}`: in the schema, but no command prints it").unwrap();
        }
    }
    assert!(never.is_empty(), "{never}");
}

#[test]
fn what_is_not_documented_is_found_and_named() {
    let desk = Desk::new();
    let good = desk.run(&["inspect", "zoo:swiftnet-b", "--json"]).json();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut object = good.clone();
        change(&mut object);
        faults(&object)
    };
    assert_eq!(changed(&|_| ()), Vec::<String>::new());
    for (change, fault) in [
        (
            &(|o: &mut Value| o["novel"] = 1.into()) as &dyn Fn(&mut Value),
            "`inspect`, field `novel`: not documented",
        ),
        (&|o| o["steps"][3]["novel"] = 1.into(), "`inspect`, field `steps[3].novel`: not documented"),
        (&|o| o["peak"] = "large".into(), "`inspect`, field `peak`: \"large\" is not of type"),
        (&|o| o["peak"] = (-1).into(), "`inspect`, field `peak`: -1 is not of minimum"),
        (&|o| o["runtime"] = "magic".into(), "`inspect`, field `runtime`: \"magic\" is not of enum"),
        (&|o| drop(o.as_object_mut().unwrap().remove("bound")), "`inspect`, field `bound`: "),
        (&|o| o["schema"] = "serenity.inspect/2".into(), "`serenity.inspect/2` is not described"),
        (&|o| drop(o.as_object_mut().unwrap().remove("schema")), "the field `schema` is missing"),
    ] {
        let found = changed(change);
        assert!(found.len() == 1 && found[0].starts_with(fault), "{fault}: {found:?}");
    }
}

#[test]
fn the_command_prints_the_schema() {
    let desk = Desk::new();
    assert_eq!(serde_json::from_str::<Value>(&desk.run(&["schema"]).stdout).unwrap(), *SCHEMA);
    let one: Value = serde_json::from_str(&desk.run(&["schema", "optimize"]).stdout).unwrap();
    assert_eq!(one["anyOf"], serde_json::json!([{"$ref": "#/$defs/optimize"}]));
    let run = desk.run(&["schema", "optimise"]);
    assert!(run.code == 2 && run.stderr.contains("help: give one of: optimize, fit, inspect,"), "{run:?}");
}
