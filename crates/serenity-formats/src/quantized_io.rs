//! Inputs and outputs of a model that became integers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::ElementType;
use std::fmt;

/// What became of the inputs and outputs of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantizedIo {
    /// Inputs that are integers now.
    pub inputs: Vec<QuantizedPort>,
    /// Outputs that are integers now.
    pub outputs: Vec<QuantizedPort>,
    /// Inputs and outputs that are converted but had to stay floats.
    pub kept: Vec<KeptPort>,
}

/// An input or an output, by its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "port", content = "position", rename_all = "lowercase")]
pub enum Port {
    /// The input at this index.
    Input(usize),
    /// The output at this index.
    Output(usize),
}

/// A float input or output that became an integer one: `real = scale * (q - zero_point)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantizedPort {
    /// Its position among the inputs or outputs, from 0.
    pub position: usize,
    /// The name of its old float tensor.
    pub was: String,
    /// The name of its new tensor.
    pub name: String,
    /// The type of its elements.
    #[schemars(with = "String", extend("enum" = ["int8", "uint8", "int16"]))]
    pub dtype: ElementType,
    /// The value of one step of the integer.
    pub scale: f32,
    /// The integer that stands for 0.
    pub zero_point: i64,
}

/// An input or output that is converted but stays a float.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptPort {
    /// The input or output.
    #[serde(flatten)]
    pub port: Port,
    /// The name of its tensor.
    pub name: String,
    /// Why it stays a float, for people.
    pub reason: String,
}

impl QuantizedIo {
    /// The inputs that are integers now, then the outputs.
    pub fn changed(&self) -> impl Iterator<Item = (Port, &QuantizedPort)> {
        let inputs = self.inputs.iter().map(|one| (Port::Input(one.position), one));
        inputs.chain(self.outputs.iter().map(|one| (Port::Output(one.position), one)))
    }

    /// Are all inputs and outputs as they were?
    pub fn is_unchanged(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(position) => write!(f, "input {position}"),
            Self::Output(position) => write!(f, "output {position}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let port = |position, scale, zero_point| QuantizedPort {
            position,
            was: "x".to_owned(),
            name: "q".to_owned(),
            dtype: ElementType::Int8,
            scale,
            zero_point,
        };
        let kept = KeptPort { port: Port::Input(1), name: "y".to_owned(), reason: "it must".to_owned() };
        let (inputs, outputs) = (vec![port(0, 0.1, -128)], vec![port(2, 1e-9, 3)]);
        let io = QuantizedIo { inputs, outputs, kept: vec![kept] };
        assert_eq!(serde_json::from_value::<QuantizedIo>(serde_json::json!(io)).unwrap(), io);
        for wrong in ["{}", "[]", r#"{"inputs": [{}], "outputs": [], "kept": []}"#, "7"] {
            assert!(serde_json::from_str::<QuantizedIo>(wrong).is_err(), "{wrong}");
        }
    }
}
