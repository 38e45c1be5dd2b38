//! Reads a plan back, to check it.
//!
//! A plan needs an order, a peak, a bound and a proof; otherwise [`PlanFile::parse`] is an error. Any other field may
//! be missing and then claims nothing. A field that cannot be understood is kept as [`malformed`](PlanFile::malformed)
//! and refused by the check, so that no claim is dropped silently.

use crate::Error;
use crate::account::StatedFootprint;
use crate::load::read_text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serenity_check::Witness;
use serenity_formats::{NarrowedChannels, QuantizedIo};
use serenity_ir::OpId;
use serenity_pipeline::{AppliedLoops, AppliedRewrite, RewriteChoice, StatedProofs};
use serenity_runtimes::{Kernels, MemoryModel, Offsets, OrtOrder, OrtSetup};

/// The claims of a plan file. None of them is trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFile {
    /// The memory model of the plan, if stated.
    pub model: Option<MemoryModel>,
    /// The change of inputs and outputs to integers, which comes before all other changes.
    pub int8_io: Option<QuantizedIo>,
    /// The channels that were removed, which comes next.
    pub constant_channels: Option<NarrowedChannels>,
    /// The rewrites, which come next.
    pub rewrites: Vec<AppliedRewrite>,
    /// How the rewrites were chosen, and whether the choice is called proved.
    pub(crate) rewrite_choice: Option<(RewriteChoice, bool)>,
    /// The loops that windows of the rewritten model became.
    pub(crate) loops: Option<AppliedLoops>,
    /// The number of ops, if stated.
    pub ops: Option<u64>,
    /// The ops in execution order.
    pub order: Vec<OpId>,
    /// The ops in the order of the file, if the runtime runs a file in another order.
    pub file_order: Option<Vec<OpId>>,
    /// The orders of the graphs after the main one; empty if not stated.
    pub bodies: Vec<Vec<OpId>>,
    /// The offsets of the tensors, if stated.
    pub offsets: Option<Offsets>,
    /// The arena, if stated.
    pub arena: Option<u64>,
    /// The stated peak.
    pub peak: u64,
    /// The stated lower bound on peaks.
    pub peak_bound: u64,
    /// The stated lower bound on the need: on the arena if there is one, otherwise on the peak.
    pub bound: u64,
    /// Does the plan claim that nothing needs less?
    pub optimal: bool,
    /// The stated proof of each decision.
    pub(crate) proofs: Option<StatedProofs>,
    /// What the plan says is unknown about the model.
    pub(crate) unknown: Option<Vec<Value>>,
    /// The witness that proves the bound on peaks, if there is one.
    pub witness: Option<Witness>,
    /// The stated need of the original model.
    pub(crate) before: Option<StatedFootprint>,
    /// The stated need of the planned model, if it is stated a second time.
    pub(crate) after: Option<StatedFootprint>,
    /// All fields that are neither null nor empty, as they were read.
    pub(crate) fields: Map<String, Value>,
    /// Fields that cannot be understood, with the reason.
    pub(crate) malformed: Vec<(String, String)>,
}

/// The JSON schema that the text of a plan names; the number is raised if a field changes its meaning or goes away.
const SCHEMA: &str = "serenity.plan/1";

impl PlanFile {
    /// The text of a plan file with these fields: those of a [`StatedPlan`](serenity_pipeline::StatedPlan), and perhaps
    /// more. It names no input, because it belongs to its model wherever that lies.
    pub fn text(fields: impl Serialize) -> String {
        #[derive(Serialize)]
        struct Object<T> {
            schema: &'static str,
            #[serde(flatten)]
            fields: T,
        }
        format!("{}\n", json!(Object { schema: SCHEMA, fields }))
    }

    /// The orders of the main graph and of its sub-graphs.
    pub fn orders(&self) -> Vec<&[OpId]> {
        std::iter::once(&self.order).chain(&self.bodies).map(Vec::as_slice).collect()
    }

    /// Reads a plan: what `optimize --plan` writes, or what `schedule --json` and `optimize --json` print.
    ///
    /// # Errors
    /// If the file cannot be read, or is no plan.
    pub fn load(path: &str) -> Result<Self, Error> {
        let text = read_text(path)?;
        Self::parse(&text).map_err(|reason| Error::PlanFile { path: path.to_owned(), reason })
    }

    /// Reads a plan from text; the error says what is wrong with it.
    ///
    /// # Errors
    /// If the text is no plan.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = serenity_ir::json::without_mark(text);
        let plan: Value = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
        Self::from_json(&plan)
    }

    /// Reads a plan from a JSON value; the error says what is wrong with it.
    ///
    /// # Errors
    /// If the value is no plan.
    pub fn from_json(plan: &Value) -> Result<Self, String> {
        let plan = plan.as_object().ok_or("a plan is a JSON object")?;
        let optimal = match plan.get("proof").and_then(Value::as_str) {
            Some("optimal") => true,
            Some("gap") => false,
            _ => return Err("`proof` must be \"optimal\" or \"gap\"".to_owned()),
        };
        let order = present(plan, "order").and_then(Value::as_array);
        let order = order.ok_or("`order` must be an array of op numbers")?.iter().enumerate();
        let op = |(at, op)| derived(op).ok_or_else(|| format!("`order[{at}]` must be the number of an op"));
        let order = order.map(op).collect::<Result<_, _>>()?;
        if let Some(schema) = present(plan, "schema")
            && !SCHEMAS.iter().any(|known| schema == known)
        {
            return Err(format!("`schema` must be one of {}, not {schema}", SCHEMAS.join(", ")));
        }
        let (peak, bound) = (bytes(plan, "peak")?, bytes(plan, "bound")?);
        let mut malformed = Vec::new();
        let mut reader = Reader { plan, malformed: &mut malformed };
        let arena = reader.optional("arena", "must be a whole number of bytes", derived);
        let peak_bound = reader.optional("peak_bound", "must be a whole number of bytes", derived);
        if peak_bound.is_none() && arena.is_some() {
            reader.complain("peak_bound", "must stand beside an `arena`: `bound` speaks of that");
        }
        Ok(Self {
            model: model(plan)?,
            int8_io: reader.optional(
                "int8_io",
                "must be an object with `inputs` and `outputs`, each with `position`, `was`, `name`, `dtype`, `scale` and `zero_point`, and `kept`, each \
                 with `port`, `position`, `name` and `reason`",
                derived,
            ),
            constant_channels: reader.optional(
                "constant_channels",
                "must be an object with `removed`, `channels`, `macs` and `weight_bytes`, each of these with `before` and `after`, `folded`, `rounds_reals`, and `tensors`, each with \
                 `tensor`, `channels` and `gone`",
                derived,
            ),
            rewrites: reader.list("rewrites", rewrite).unwrap_or_default(),
            rewrite_choice: reader.optional(
                "rewrite_choice",
                "must be an object with `sets`, `proved`, `without`, `with` and `floor`",
                choice,
            ),
            loops: reader.optional(
                "loops",
                "must be an object with `order`, `spread`, `macs`, `extra_macs`, `copied`, `time`, `extra_time`, `instructions`, `extra_instructions` and `windows`, each with `ops`, `enters`, `leaves`, `carries`, `peeled`, \
                 `step`, `iterations`, `extra_macs`, `copied` and `extra_time`",
                derived,
            ),
            ops: reader.optional("ops", "must be the number of ops", derived),
            order,
            file_order: reader.list("file_order", |value| derived(value).ok_or("must be the number of an op")),
            bodies: reader
                .list("bodies", |body| derived(body).ok_or("must be an array of op numbers"))
                .unwrap_or_default(),
            offsets: reader.list("offsets", |graph| {
                derived(graph).ok_or("must hold a place in bytes, or null, for each tensor of the graph")
            }),
            arena,
            peak,
            peak_bound: peak_bound.unwrap_or(bound),
            bound,
            optimal,
            proofs: reader.optional(
                "proofs",
                "must say of `rewrites`, `order` and `places` what is proved: a `proof`, what `stopped` it and a `bound`",
                derived,
            ),
            unknown: reader.list("unknown", |value| Ok(value.clone())),
            witness: reader.optional("witness", "must be an op and its chains of tensors, or a bound and steps", derived),
            before: reader.optional("before", FOOTPRINT, derived),
            after: reader.optional("after", FOOTPRINT, derived),
            fields: plan
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            malformed,
        })
    }
}

/// The schemas of plans; one that names none is taken for one of these.
const SCHEMAS: [&str; 3] = ["serenity.plan/1", "serenity.optimize/1", "serenity.schedule/1"];

const FOOTPRINT: &str = "must be an object with `peak`, `arena`, `total` and `ops`";

/// Reads fields that may be missing or null, and remembers the malformed ones.
struct Reader<'a> {
    plan: &'a Map<String, Value>,
    malformed: &'a mut Vec<(String, String)>,
}

impl Reader<'_> {
    fn complain(&mut self, field: &str, what: &str) {
        self.malformed.push((field.to_owned(), format!("`{field}` {what}")));
    }

    fn optional<T>(&mut self, field: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = present(self.plan, field)?;
        let read = read(value);
        if read.is_none() {
            self.complain(field, what);
        }
        read
    }

    fn list<T>(&mut self, field: &str, read: impl Fn(&Value) -> Result<T, &'static str>) -> Option<Vec<T>> {
        let value = present(self.plan, field)?;
        let Some(items) = value.as_array() else {
            self.complain(field, "must be an array");
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read(item) {
                Ok(item) => list.push(item),
                Err(what) => {
                    self.malformed.push((field.to_owned(), format!("`{field}[{index}]` {what}")));
                    return None;
                }
            }
        }
        Some(list)
    }
}

fn present<'a>(plan: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    plan.get(field).filter(|value| !value.is_null())
}

fn bytes(plan: &Map<String, Value>, field: &str) -> Result<u64, String> {
    let value = plan.get(field).and_then(Value::as_u64);
    value.ok_or_else(|| format!("`{field}` must be a whole number of bytes"))
}

/// What the types of the parts of a plan read themselves.
fn derived<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn model(plan: &Map<String, Value>) -> Result<Option<MemoryModel>, String> {
    let name = |field: &str| match present(plan, field) {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.as_str())),
        Some(other) => Err(format!("`{field}` must be a name, not {other}")),
    };
    let unknown = |field: &str, error: &dyn std::fmt::Display| format!("`{field}`: {error}");
    let (kernels, walk) = (name("kernels")?, name("ort_order")?);
    let Some(model) = name("runtime")? else {
        return match kernels.or(walk) {
            None => Ok(None),
            Some(_) => Err("`kernels` and `ort_order` must stand beside a `runtime`".to_owned()),
        };
    };
    let model: MemoryModel = model.parse().map_err(|error| unknown("runtime", &error))?;
    if kernels.is_some() != model.kernels().is_some() {
        return Err(format!("`kernels` must be stated for TFLM and for nothing else, not for `{model}`"));
    }
    if walk.is_some() != model.ort_order().is_some() {
        return Err(format!("`ort_order` must be stated for ort and for nothing else, not for `{model}`"));
    }
    let kernels: Option<Kernels> =
        kernels.map(str::parse).transpose().map_err(|error| unknown("kernels", &error))?;
    let order: Option<OrtOrder> =
        walk.map(str::parse).transpose().map_err(|error| unknown("ort_order", &error))?;
    let reuse = match present(plan, "ort_reuse") {
        // Plans of older versions are for sessions that reuse buffers.
        None => true,
        Some(&Value::Bool(reuse)) if model.ort().is_some() => reuse,
        Some(_) => {
            return Err("`ort_reuse` must be true or false for ort, and be left out for others".to_owned());
        }
    };
    let setup = OrtSetup { order: order.unwrap_or_default(), reuse };
    Ok(Some(model.with_kernels(kernels.unwrap_or_default()).with_ort(setup)))
}

/// Reads a rewrite. No rule adds multiplications.
fn rewrite(value: &Value) -> Result<AppliedRewrite, &'static str> {
    let rewrite: Option<AppliedRewrite> = derived(value);
    rewrite.filter(|rewrite| rewrite.cost.macs == 0).ok_or(
        "must have `rule`, `exact`, `round`, `ops`, `order`, `gain`, `extra_ops`, `extra_weight_bytes`, `extra_macs` 0, `extra_additions` and `text`",
    )
}

fn choice(value: &Value) -> Option<(RewriteChoice, bool)> {
    derived(value).zip(value.get("proved")?.as_bool())
}
