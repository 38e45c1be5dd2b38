//! The options of operators that are added, from the attributes that a graph has for them.

use crate::Error;
use crate::attributes::options::ACTIVATIONS;
use crate::write::edit::{NewOptions, OptionValue};
use serde_json::Value;
use serenity_ir::Attributes;

/// The numbers of their tables in the union `BuiltinOptions`.
const CONCATENATION: u8 = 10;
const ADD: u8 = 11;

impl NewOptions {
    /// The options of an `ADD` or a `CONCATENATION`.
    ///
    /// # Errors
    /// If it is another operator, or the attributes say something that the format cannot.
    pub fn of(kind: &str, attributes: &Attributes) -> Result<Self, Error> {
        let refused = |what: &str| Error::Edit(format!("a new `{kind}` with {what}"));
        let activation = attributes.get("activation").and_then(Value::as_str).unwrap_or("none");
        let code = ACTIVATIONS.iter().position(|&known| known == activation);
        let code = code.ok_or_else(|| refused(&format!("activation `{activation}`")))? as i8;
        match kind {
            "ADD" => Ok(Self::Table { kind: ADD, fields: vec![(0, OptionValue::Byte(code))] }),
            "CONCATENATION" => {
                let axis = attributes.get("axis").and_then(Value::as_i64);
                let axis =
                    axis.and_then(|axis| i32::try_from(axis).ok()).ok_or_else(|| refused("no axis"))?;
                let fields = vec![(0, OptionValue::Int(axis)), (1, OptionValue::Byte(code))];
                Ok(Self::Table { kind: CONCATENATION, fields })
            }
            _ => Err(refused("options that are not known here")),
        }
    }
}
