//! What every JSON output has in common: `serenity.schema.json` describes all of it.

use serde_json::{Map, Value};

/// The published description.
pub(crate) const SCHEMA: &str = include_str!("../serenity.schema.json");

/// Raised when a field changes its meaning or goes away; not when one is added.
const VERSION: u32 = 1;

/// An object for programs: what it is and what it is about come first.
pub(crate) fn object(what: &str, input: Option<&str>, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("schema".to_owned(), format!("serenity.{what}/{VERSION}").into());
    object.insert("input".to_owned(), input.into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

/// The JSON object of a plan. It names no input, because it belongs to its model wherever that lies.
pub(crate) fn plan(fields: Value) -> Value {
    let mut plan = object("plan", None, fields);
    if let Value::Object(fields) = &mut plan {
        fields.shift_remove("input");
    }
    plan
}
