//! Reads a plan back, to check it.
//!
//! A plan needs an order, a peak, a bound and a proof; otherwise [`PlanFile::parse`] is an error. Any other field may
//! be missing and then claims nothing. A field that cannot be understood is kept as [`malformed`](PlanFile::malformed)
//! and refused by the check, so that no claim is dropped silently.

use crate::Error;
use crate::load::read_text;
use serde_json::{Map, Value};
use serenity_check::{Witness, WitnessChain};
use serenity_formats::{NarrowedChannels, QuantizedIo};
use serenity_ir::{OpId, TensorId};
use serenity_loops::{Loop, LoopCost};
use serenity_pipeline::{AppliedRewrite, Decision, RewriteChoice, RewriteCost};
use serenity_runtimes::{Kernels, MemoryModel, Offsets, OrtOrder, OrtSetup};
use serenity_search::StopReason;

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
    pub(crate) loops: Option<ClaimedLoops>,
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
    pub(crate) proofs: Option<Vec<ClaimedProof>>,
    /// What the plan says is unknown about the model.
    pub(crate) unknown: Option<Vec<Value>>,
    /// The witness that proves the bound on peaks, if there is one.
    pub witness: Option<Witness>,
    /// The stated need of the original model.
    pub(crate) before: Option<ClaimedFootprint>,
    /// The stated need of the planned model, if it is stated a second time.
    pub(crate) after: Option<ClaimedFootprint>,
    /// All fields that are neither null nor empty, as they were read.
    pub(crate) fields: Map<String, Value>,
    /// Fields that cannot be understood, with the reason.
    pub(crate) malformed: Vec<(String, String)>,
}

/// The loops of a model, as a plan states them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedLoops {
    /// The order of the model without loops.
    pub(crate) order: Vec<OpId>,
    /// Did every reader of a padding get one of its own first?
    pub(crate) spread: bool,
    /// Multiplications of the row-local ops without loops.
    pub(crate) macs: u64,
    /// Multiplications that the loops add.
    pub(crate) extra_macs: u64,
    /// Bytes that the loops copy.
    pub(crate) copied: u64,
    /// The time without loops; `extra_time` is what they add.
    pub(crate) time: u64,
    pub(crate) extra_time: u64,
    /// Instructions without loops; `extra_instructions` are what they add.
    pub(crate) instructions: u64,
    pub(crate) extra_instructions: u64,
    /// The loops and their costs.
    pub(crate) windows: Vec<(Loop, LoopCost)>,
}

/// The proof of one decision, as a plan states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedProof {
    pub(crate) decision: Decision,
    /// Is it called optimal?
    pub(crate) is_optimal: bool,
    /// The reason why the search ended, if it is not optimal.
    pub(crate) stopped: Option<String>,
    /// The lower bound for other decisions.
    pub(crate) bound: u64,
}

/// The need of a model, as `optimize --json` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedFootprint {
    pub(crate) peak: u64,
    pub(crate) arena: Option<u64>,
    /// The whole TFLM arena on 32-bit Arm and on x86-64, and the safety margin, if stated.
    pub(crate) total: Option<(u64, u64, Option<u64>)>,
    pub(crate) ops: u64,
}

impl PlanFile {
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
        let order = list(present(plan, "order").ok_or("`order` must be an array of op numbers")?, op)
            .map_err(|at| format!("`order{at}` must be the number of an op"))?;
        if let Some(schema) = present(plan, "schema")
            && !SCHEMAS.iter().any(|known| schema == known)
        {
            return Err(format!("`schema` must be one of {}, not {schema}", SCHEMAS.join(", ")));
        }
        let (peak, bound) = (bytes(plan, "peak")?, bytes(plan, "bound")?);
        let mut malformed = Vec::new();
        let mut reader = Reader { plan, malformed: &mut malformed };
        let arena = reader.optional("arena", "must be a whole number of bytes", unsigned);
        let peak_bound = reader.optional("peak_bound", "must be a whole number of bytes", unsigned);
        if peak_bound.is_none() && arena.is_some() {
            reader.complain("peak_bound", "must stand beside an `arena`: `bound` speaks of that");
        }
        Ok(Self {
            model: model(plan)?,
            int8_io: reader.optional(
                "int8_io",
                "must be an object with `inputs` and `outputs`, each with `position`, `was`, `name`, `dtype`, `scale` and `zero_point`, and `kept`, each \
                 with `port`, `position`, `name` and `reason`",
                QuantizedIo::from_json,
            ),
            constant_channels: reader.optional(
                "constant_channels",
                "must be an object with `removed`, `channels`, `macs` and `weight_bytes`, each of these with `before` and `after`, `folded`, `rounds_reals`, and `tensors`, each with \
                 `tensor`, `channels` and `gone`",
                NarrowedChannels::from_json,
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
                loops,
            ),
            ops: reader.optional("ops", "must be the number of ops", unsigned),
            order,
            file_order: reader.list("file_order", |value| op(value).ok_or("must be the number of an op")),
            bodies: reader
                .list("bodies", |body| list(body, op).map_err(|_| "must be an array of op numbers"))
                .unwrap_or_default(),
            offsets: reader.list("offsets", |graph| {
                list(graph, |value| place(value).ok())
                    .map_err(|_| "must hold a place in bytes, or null, for each tensor of the graph")
            }),
            arena,
            peak,
            peak_bound: peak_bound.unwrap_or(bound),
            bound,
            optimal,
            proofs: reader.optional(
                "proofs",
                "must say of `rewrites`, `order` and `places` what is proved: a `proof`, what `stopped` it and a `bound`",
                proofs,
            ),
            unknown: reader.list("unknown", |value| Ok(value.clone())),
            witness: reader.optional("witness", "must be an op and its chains of tensors", witness),
            before: reader.optional("before", FOOTPRINT, footprint),
            after: reader.optional("after", FOOTPRINT, footprint),
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

fn unsigned(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// All items of an array, or the index of the first that is malformed.
fn list<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, String> {
    let items = value.as_array().ok_or_else(String::new)?;
    let read = |(index, item)| read(item).ok_or_else(|| format!("[{index}]"));
    items.iter().enumerate().map(read).collect()
}

fn op(value: &Value) -> Option<OpId> {
    value.as_u64().and_then(|id| u32::try_from(id).ok()).map(OpId)
}

fn tensor(value: &Value) -> Option<TensorId> {
    op(value).map(|id| TensorId(id.0))
}

/// A number, or `None` for null.
fn place(value: &Value) -> Result<Option<u64>, &'static str> {
    match value {
        Value::Null => Ok(None),
        value => value.as_u64().map(Some).ok_or("must be a whole number of bytes, or null"),
    }
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

/// Reads a rewrite; all its fields must be there.
fn rewrite(value: &Value) -> Result<AppliedRewrite, &'static str> {
    let signed = |key: &str| value.get(key).and_then(Value::as_i64);
    let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    // No rule adds multiplications.
    if signed("extra_macs") != Some(0) {
        return Err("must have `extra_macs` 0");
    }
    let gain = match value.get("gain") {
        Some(Value::Null) => None,
        Some(gain) => Some(gain.as_u64().ok_or("must have a `gain` in bytes, or null")?),
        None => return Err("must have a `gain` in bytes, or null"),
    };
    Ok(AppliedRewrite {
        rule: text("rule").ok_or("must have a `rule`")?,
        round: value.get("round").and_then(count).ok_or("must have a `round`")?,
        ops: value.get("ops").and_then(|ops| list(ops, op).ok()).ok_or("must have `ops`, their numbers")?,
        order: value
            .get("order")
            .and_then(|order| list(order, count).ok())
            .ok_or("must have an `order` of its terms")?,
        text: text("text").ok_or("must have a `text`")?,
        exact: value.get("exact").and_then(Value::as_bool).ok_or("must say whether it is `exact`")?,
        rounds_in: value.get("rounds_in").map_or(Ok(Vec::new()), |names| {
            list(names, |name| name.as_str().map(str::to_owned)).map_err(|_| "must have names in `rounds_in`")
        })?,
        error: match value.get("error_steps") {
            None => None,
            Some(steps) => Some(steps.as_f64().ok_or("must have a number of `error_steps`")?),
        },
        gain,
        cost: RewriteCost {
            ops: signed("extra_ops").ok_or("must have `extra_ops`")?,
            weight_bytes: signed("extra_weight_bytes").ok_or("must have `extra_weight_bytes`")?,
            additions: signed("extra_additions").ok_or("must have `extra_additions`")?,
        },
    })
}

fn choice(value: &Value) -> Option<(RewriteChoice, bool)> {
    let number = |key: &str| value.get(key)?.as_u64();
    let choice = RewriteChoice {
        sets: usize::try_from(number("sets")?).ok()?,
        without: number("without")?,
        with: number("with")?,
        floor: number("floor")?,
        stopped: stop_reason(value.get("stopped")?).ok()?,
    };
    Some((choice, value.get("proved")?.as_bool()?))
}

/// Reads loops; all their fields must be there.
fn loops(value: &Value) -> Option<ClaimedLoops> {
    fn number(value: &Value, key: &str) -> Option<u64> {
        value.get(key)?.as_u64()
    }
    let ops = |value: &Value, key: &str| list(value.get(key)?, op).ok();
    let window = |value: &Value| {
        let one = Loop {
            ops: ops(value, "ops")?,
            enters: tensor(value.get("enters")?)?,
            carries: value.get("carries")?.as_bool()?,
            peeled: value.get("peeled")?.as_bool()?,
            step: number(value, "step")?,
        };
        let cost = LoopCost {
            iterations: number(value, "iterations")?,
            extra_macs: number(value, "extra_macs")?,
            copied: number(value, "copied")?,
            extra_time: number(value, "extra_time")?,
            leaves: tensor(value.get("leaves")?)?,
        };
        Some((one, cost))
    };
    Some(ClaimedLoops {
        order: ops(value, "order")?,
        spread: value.get("spread")?.as_bool()?,
        macs: number(value, "macs")?,
        extra_macs: number(value, "extra_macs")?,
        copied: number(value, "copied")?,
        time: number(value, "time")?,
        extra_time: number(value, "extra_time")?,
        instructions: number(value, "instructions")?,
        extra_instructions: number(value, "extra_instructions")?,
        windows: list(value.get("windows")?, window).ok()?,
    })
}

/// A reason by its name, or `None` for null.
fn stop_reason(value: &Value) -> Result<Option<StopReason>, &'static str> {
    match value {
        Value::Null => Ok(None),
        value => {
            let reason = value.as_str().and_then(StopReason::named);
            reason.map(Some).ok_or("must be the name of a reason, or null")
        }
    }
}

fn proofs(value: &Value) -> Option<Vec<ClaimedProof>> {
    let proof = |(name, value): (&String, &Value)| {
        let decision = [Decision::Rewrites, Decision::Order, Decision::Places];
        let is_optimal = match value.get("proof")?.as_str()? {
            "optimal" => true,
            "gap" => false,
            _ => return None,
        };
        Some(ClaimedProof {
            decision: decision.into_iter().find(|decision| decision.name() == name)?,
            is_optimal,
            stopped: stop_reason(value.get("stopped")?).ok()?.map(|reason| reason.name().to_owned()),
            bound: value.get("bound")?.as_u64()?,
        })
    };
    value.as_object()?.iter().map(proof).collect()
}

fn footprint(value: &Value) -> Option<ClaimedFootprint> {
    let number = |key: &str| value.get(key)?.as_u64();
    let total = match value.get("total")? {
        Value::Null => None,
        total => {
            let margin = total.get("margin").map_or(Some(None), |margin| margin.as_u64().map(Some))?;
            Some((total.get("arm32")?.as_u64()?, total.get("x86_64")?.as_u64()?, margin))
        }
    };
    let arena = place(value.get("arena")?).ok()?;
    Some(ClaimedFootprint { peak: number("peak")?, arena, total, ops: number("ops")? })
}

fn witness(value: &Value) -> Option<Witness> {
    let chain = |value: &Value| {
        let tensors = list(value.get("tensors")?, tensor).ok()?;
        Some(WitnessChain { bytes: value.get("bytes")?.as_u64()?, tensors })
    };
    Some(Witness { op: op(value.get("op")?)?, chains: list(value.get("chains")?, chain).ok()? })
}
