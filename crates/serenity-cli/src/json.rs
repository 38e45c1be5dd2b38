//! What every JSON output has in common, and the schema of all of them, which is made of their types.

use crate::commands::{check, device, diff, emit, fit, optimize, paper, place, report, traffic, verify, zoo};
use crate::failure::StatedFailure;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use serenity::inspect::StatedInspection;
use serenity::pipeline::StatedPlan;
use serenity::sample::StatedSample;

/// Raised when a field changes its meaning or goes away; not when one is added.
const VERSION: u32 = 1;

/// An object for programs: what it is and what it is about come first.
pub(crate) fn object(what: &str, input: Option<&str>, fields: impl Serialize) -> Value {
    #[derive(Serialize)]
    struct Object<'a, T> {
        schema: String,
        input: Option<&'a str>,
        #[serde(flatten)]
        fields: T,
    }
    json!(Object { schema: name(what), input, fields })
}

fn name(what: &str) -> String {
    format!("serenity.{what}/{VERSION}")
}

/// The JSON schema of all that the command prints for programs, and of plans.
pub(crate) fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let (given, none, either) = (&json!("string"), &json!("null"), &json!(["string", "null"]));
    let all = [
        described::<optimize::Stated>("optimize", given, &mut generator),
        described::<fit::Stated>("fit", given, &mut generator),
        described::<StatedInspection>("inspect", given, &mut generator),
        described::<device::Stated>("device", given, &mut generator),
        described::<diff::Stated>("diff", given, &mut generator),
        described::<report::Reported>("report", given, &mut generator),
        described::<emit::Written>("emit", given, &mut generator),
        described::<StatedPlan>("schedule", given, &mut generator),
        described::<place::Placed>("place", given, &mut generator),
        described::<traffic::MovedBytes>("traffic", given, &mut generator),
        described::<StatedSample>("sample", given, &mut generator),
        described::<check::Checked>("check", given, &mut generator),
        described::<verify::Verified>("verify", given, &mut generator),
        described::<zoo::Listed>("zoo-list", none, &mut generator),
        described::<zoo::Exported>("zoo-export", given, &mut generator),
        described::<paper::Evaluated>("paper", none, &mut generator),
        described::<optimize::WrittenPlan>("plan", &Value::Null, &mut generator),
        described::<StatedFailure>("error", either, &mut generator),
    ];
    let refs: Vec<Value> = all.iter().map(|(name, _)| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    let mut defs: Map<String, Value> = all.into_iter().collect();
    defs.extend(generator.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Serenity",
        "description": "What `serenity COMMAND --json` prints, one object per line, and what `optimize --plan` writes. Sizes are bytes. The field `schema` says which of these an object is; fields may be added, and the number in `schema` is raised if one changes its meaning or goes away.",
        "anyOf": refs,
        "$defs": defs,
    })
}

/// The schema of an output: that of its own fields, and of those that all have. `input` is the type of that field, if
/// there is one.
fn described<T: JsonSchema>(what: &str, input: &Value, generator: &mut SchemaGenerator) -> (String, Value) {
    let mut common = Map::new();
    common.insert("schema".into(), json!({ "const": name(what), "description": "Which object this is." }));
    if !input.is_null() {
        let text = "The input, as given on the command line; null if there is none.";
        common.insert("input".into(), json!({ "type": input, "description": text }));
    }
    let mut schema = Value::from(T::json_schema(generator));
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.splice(0..0, common.keys().map(|name| json!(name)));
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        common.extend(std::mem::take(fields));
        *fields = common;
    }
    (what.to_owned(), schema)
}
