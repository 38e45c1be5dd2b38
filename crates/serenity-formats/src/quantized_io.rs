//! Inputs and outputs of a model that became integers.

use serde_json::{Value, json};
use serenity_ir::ElementType;

/// What became of the inputs and outputs of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuantizedIo {
    /// Those that are whole numbers now.
    pub changed: Vec<QuantizedPort>,
    /// The converted ones that had to stay floats.
    pub kept: Vec<KeptPort>,
}

/// An input or an output, by its position among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// The input at this index.
    Input(usize),
    /// The output at this index.
    Output(usize),
}

/// A float input or output that became an integer one: `real = scale * (q - zero_point)`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedPort {
    /// The input or output.
    pub port: Port,
    /// The name of its old float tensor.
    pub was: String,
    /// The name of its new tensor.
    pub name: String,
    /// The type of its elements.
    pub dtype: ElementType,
    /// The value of one step of the integer.
    pub scale: f32,
    /// The integer that stands for 0.
    pub zero_point: i64,
}

/// An input or output that is converted but stays a float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPort {
    /// The input or output.
    pub port: Port,
    /// The name of its tensor.
    pub name: String,
    /// Why it stays a float, for people.
    pub reason: String,
}

impl QuantizedIo {
    /// The result as a plan states it, in JSON.
    pub fn to_json(&self) -> Value {
        let changed = |wanted: &str| {
            let ports = self
                .changed
                .iter()
                .map(|one| (split(one.port), one))
                .filter(|((kind, _), _)| *kind == wanted);
            let port = |((_, position), one): ((&str, usize), &QuantizedPort)| {
                json!({
                    "position": position,
                    "was": one.was,
                    "name": one.name,
                    "dtype": one.dtype.to_string(),
                    "scale": one.scale,
                    "zero_point": one.zero_point,
                })
            };
            ports.map(port).collect::<Vec<_>>()
        };
        let kept = self.kept.iter().map(|one| {
            let (kind, position) = split(one.port);
            json!({"port": kind, "position": position, "name": one.name, "reason": one.reason})
        });
        json!({"inputs": changed(INPUT), "outputs": changed(OUTPUT), "kept": kept.collect::<Vec<_>>()})
    }

    /// What a plan says; `None` if it cannot be understood.
    pub fn from_json(value: &Value) -> Option<Self> {
        let list = |key: &str| value.get(key)?.as_array();
        let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let port = |kind: &str, value: &Value| {
            let position = usize::try_from(value.get("position")?.as_u64()?).ok()?;
            match kind {
                INPUT => Some(Port::Input(position)),
                OUTPUT => Some(Port::Output(position)),
                _ => None,
            }
        };
        let changed = |kind: &str, value: &Value| {
            Some(QuantizedPort {
                port: port(kind, value)?,
                was: text(value, "was")?,
                name: text(value, "name")?,
                dtype: ElementType::parse(value.get("dtype")?.as_str()?),
                // From the digits themselves: by way of a double it could be rounded twice.
                scale: value.get("scale").filter(|scale| scale.is_number())?.to_string().parse().ok()?,
                zero_point: value.get("zero_point")?.as_i64()?,
            })
        };
        let kept = |value: &Value| {
            Some(KeptPort {
                port: port(value.get("port")?.as_str()?, value)?,
                name: text(value, "name")?,
                reason: text(value, "reason")?,
            })
        };
        let inputs = list("inputs")?.iter().map(|value| changed(INPUT, value));
        let outputs = list("outputs")?.iter().map(|value| changed(OUTPUT, value));
        Some(Self {
            changed: inputs.chain(outputs).collect::<Option<_>>()?,
            kept: list("kept")?.iter().map(kept).collect::<Option<_>>()?,
        })
    }
}

const INPUT: &str = "input";
const OUTPUT: &str = "output";

fn split(port: Port) -> (&'static str, usize) {
    match port {
        Port::Input(position) => (INPUT, position),
        Port::Output(position) => (OUTPUT, position),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let port = |port, scale, zero_point| QuantizedPort {
            port,
            was: "x".to_owned(),
            name: "q".to_owned(),
            dtype: ElementType::Int8,
            scale,
            zero_point,
        };
        let kept = KeptPort { port: Port::Input(1), name: "y".to_owned(), reason: "it must".to_owned() };
        let changed = vec![port(Port::Input(0), 0.1, -128), port(Port::Output(2), 1e-9, 3)];
        let io = QuantizedIo { changed, kept: vec![kept] };
        let text = io.to_json().to_string();
        assert_eq!(QuantizedIo::from_json(&serde_json::from_str(&text).unwrap()), Some(io));
        for wrong in ["{}", "[]", r#"{"inputs": [{}], "outputs": [], "kept": []}"#, "7"] {
            assert_eq!(QuantizedIo::from_json(&serde_json::from_str(wrong).unwrap()), None, "{wrong}");
        }
    }
}
