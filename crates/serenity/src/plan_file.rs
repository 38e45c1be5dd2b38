//! Reading a plan back, to check it.

use crate::input::read_text;
use crate::{AppliedRewrite, Error, Offsets};
use serde_json::Value;
use serenity_check::{Witness, WitnessChain};
use serenity_ir::{Kernels, MemoryModel, OpId, OrtOrder, TensorId};

/// What a plan file claims. Nothing of it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// The memory model it speaks of, if it says.
    pub model: Option<MemoryModel>,
    /// What was rewritten before the rest was planned.
    pub rewrites: Vec<AppliedRewrite>,
    /// The ops in execution order.
    pub order: Vec<OpId>,
    /// The same for the graphs after the main one; empty if it says nothing of them.
    pub bodies: Vec<Vec<OpId>>,
    /// Where it places the tensors, if it does.
    pub offsets: Option<Offsets>,
    /// The arena it claims, if it says.
    pub arena: Option<u64>,
    /// The peak it claims.
    pub peak: u64,
    /// The lower bound on peaks that it claims.
    pub bound: u64,
    /// The lower bound it claims for what counts: the arena if there is one, otherwise the peak.
    pub arena_bound: u64,
    /// Does it claim that the peak is the least possible?
    pub optimal: bool,
    /// The proof of the bound, if it carries one.
    pub witness: Option<Witness>,
}

impl PlanFile {
    /// Reads a plan: what `optimize --plan` writes, or what `schedule --json` and `optimize --json` print.
    ///
    /// # Errors
    /// If the file cannot be read, or a field is missing or of the wrong kind.
    pub fn load(path: &str) -> Result<Self, Error> {
        let text = read_text(path)?;
        Self::parse(&text).map_err(|reason| Error::PlanFile { path: path.to_owned(), reason })
    }

    /// As [`load`](Self::load), from text; the error says what is wrong.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(text: &str) -> Result<Self, String> {
        let plan: Value = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
        let number = |key: &str| {
            plan.get(key)
                .and_then(Value::as_u64)
                .ok_or_else(|| format!("`{key}` must be a whole number of bytes"))
        };
        let kernels = match plan.get("kernels") {
            None | Some(Value::Null) => Kernels::default(),
            Some(value) => {
                let name = value.as_str().ok_or("`kernels` must be the name of a kernel set")?;
                name.parse().map_err(|error| format!("`kernels`: {error}"))?
            }
        };
        let model = match plan.get("runtime") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.parse().map_err(|error| format!("`runtime`: {error}"))?),
            Some(other) => return Err(format!("`runtime` must be the name of a memory model, not {other}")),
        };
        let ort_order = match plan.get("ort_order") {
            None | Some(Value::Null) => OrtOrder::default(),
            Some(value) => {
                let name = value.as_str().ok_or("`ort_order` must be the name of an order")?;
                name.parse().map_err(|error| format!("`ort_order`: {error}"))?
            }
        };
        let optimal = match plan.get("proof").and_then(Value::as_str) {
            Some("optimal") => true,
            Some("gap") => false,
            _ => return Err("`proof` must be \"optimal\" or \"gap\"".to_owned()),
        };
        Ok(Self {
            model: model.map(|model: MemoryModel| model.with_kernels(kernels).with_ort_order(ort_order)),
            rewrites: match plan.get("rewrites") {
                None | Some(Value::Null) => Vec::new(),
                Some(list) => rewrites(list)
                    .ok_or("`rewrites` must be an array of objects, each with a `rule` and `ops`")?,
            },
            order: order("order", plan.get("order"))?,
            offsets: match plan.get("offsets") {
                None | Some(Value::Null) => None,
                Some(value) => Some(offsets(value).ok_or(
                    "`offsets` must be a list a graph, of a place in bytes or null for each of its tensors",
                )?),
            },
            arena: plan.get("arena").and_then(Value::as_u64),
            bodies: match plan.get("bodies") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(bodies)) => {
                    let numbered = bodies.iter().enumerate();
                    numbered
                        .map(|(i, body)| order(&format!("bodies[{i}]"), Some(body)))
                        .collect::<Result<_, _>>()?
                }
                Some(_) => return Err("`bodies` must be an array of orders".to_owned()),
            },
            peak: number("peak")?,
            // Where there is an arena, `bound` speaks of that.
            bound: match (plan.get("arena").and_then(Value::as_u64), plan.get("peak_bound")) {
                (Some(_), Some(_)) => number("peak_bound")?,
                _ => number("bound")?,
            },
            arena_bound: number("bound")?,
            optimal,
            witness: match plan.get("witness") {
                None | Some(Value::Null) => None,
                Some(value) => {
                    Some(witness(value).ok_or("`witness` must be an op and its chains of tensors")?)
                }
            },
        })
    }
}

fn rewrites(value: &Value) -> Option<Vec<AppliedRewrite>> {
    value.as_array()?.iter().map(AppliedRewrite::from_json).collect()
}

fn order(field: &str, value: Option<&Value>) -> Result<Vec<OpId>, String> {
    let list =
        value.and_then(Value::as_array).ok_or_else(|| format!("`{field}` must be an array of op numbers"))?;
    let op = |(position, value): (usize, &Value)| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.map(OpId).ok_or_else(|| format!("`{field}[{position}]` must be the number of an op, not {value}"))
    };
    list.iter().enumerate().map(op).collect()
}

fn offsets(value: &Value) -> Option<Offsets> {
    let place = |value: &Value| match value {
        Value::Null => Some(None),
        value => value.as_u64().map(Some),
    };
    value.as_array()?.iter().map(|graph| graph.as_array()?.iter().map(place).collect()).collect()
}

fn witness(value: &Value) -> Option<Witness> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let chain = |value: &Value| {
        let tensors = value.get("tensors")?.as_array()?.iter().map(|t| id(t).map(TensorId));
        Some(WitnessChain { bytes: value.get("bytes")?.as_u64()?, tensors: tensors.collect::<Option<_>>()? })
    };
    Some(Witness {
        op: OpId(id(value.get("op")?)?),
        chains: value.get("chains")?.as_array()?.iter().map(chain).collect::<Option<_>>()?,
    })
}
