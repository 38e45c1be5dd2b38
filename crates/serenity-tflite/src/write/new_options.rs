//! The options of operators that are added, from the attributes that a graph has for them.

use crate::Error;
use crate::attributes::options::ACTIVATIONS;
use crate::write::edit::{NewOptions, OptionValue};
use serde_json::Value;
use serenity_ir::Attributes;

/// The numbers of their tables in the union `BuiltinOptions`.
const CONCATENATION: u8 = 10;
const ADD: u8 = 11;
const RESHAPE: u8 = 17;
const PAD: u8 = 22;
const LESS: u8 = 41;
const SLICE: u8 = 48;
const FILL: u8 = 68;
const WHILE: u8 = 93;
const DYNAMIC_UPDATE_SLICE: u8 = 117;

impl NewOptions {
    /// The options of an operator that rewriting or a loop adds.
    ///
    /// # Errors
    /// If it is another operator, or the attributes say something that the format cannot.
    pub fn of(kind: &str, attributes: &Attributes) -> Result<Self, Error> {
        let given = Given { kind, attributes };
        let (kind, fields) = match kind {
            "ADD" => (ADD, vec![(0, given.activation()?)]),
            "CONCATENATION" => (CONCATENATION, vec![(0, given.axis()?), (1, given.activation()?)]),
            "RESHAPE" => (RESHAPE, given.new_shape()?.map(|shape| (0, shape)).into_iter().collect()),
            "WHILE" => {
                let [condition, body] = given.bodies()?;
                (WHILE, vec![(0, condition), (1, body)])
            }
            // Everything about these is in their operands.
            "PAD" => (PAD, Vec::new()),
            "LESS" => (LESS, Vec::new()),
            "SLICE" => (SLICE, Vec::new()),
            "FILL" => (FILL, Vec::new()),
            "DYNAMIC_UPDATE_SLICE" => (DYNAMIC_UPDATE_SLICE, Vec::new()),
            _ => return Err(given.refused("options that are not known here")),
        };
        Ok(Self::Table { kind, fields })
    }
}

struct Given<'a> {
    kind: &'a str,
    attributes: &'a Attributes,
}

impl Given<'_> {
    fn refused(&self, what: &str) -> Error {
        Error::Edit(format!("a new `{}` with {what}", self.kind))
    }

    fn activation(&self) -> Result<OptionValue, Error> {
        let name = self.attributes.get("activation").and_then(Value::as_str).unwrap_or("none");
        let code = ACTIVATIONS.iter().position(|&known| known == name);
        let code = code.ok_or_else(|| self.refused(&format!("activation `{name}`")))?;
        Ok(OptionValue::Byte(code as i8))
    }

    fn axis(&self) -> Result<OptionValue, Error> {
        let axis = self.attributes.get("axis").and_then(int);
        axis.map(OptionValue::Int).ok_or_else(|| self.refused("no axis"))
    }

    /// May be left out if a constant operand says it.
    fn new_shape(&self) -> Result<Option<OptionValue>, Error> {
        match self.attributes.get("new_shape") {
            Some(shape) => {
                let shape = ints(shape).ok_or_else(|| self.refused(&format!("shape {shape}")))?;
                Ok(Some(OptionValue::Ints(shape)))
            }
            None if self
                .attributes
                .get("constants")
                .is_some_and(|constants| constants.get("1").is_some()) =>
            {
                Ok(None)
            }
            None => Err(self.refused("no shape")),
        }
    }

    /// The sub-graphs of the condition and of the body.
    fn bodies(&self) -> Result<[OptionValue; 2], Error> {
        let bodies = self.attributes.get("bodies").and_then(ints);
        let pair: Option<[i32; 2]> = bodies.and_then(|bodies| bodies.try_into().ok());
        pair.map(|pair| pair.map(OptionValue::Int)).ok_or_else(|| self.refused("other than two `bodies`"))
    }
}

fn int(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

fn ints(value: &Value) -> Option<Vec<i32>> {
    value.as_array()?.iter().map(int).collect()
}
