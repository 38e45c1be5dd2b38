//! What the judges report.

use serde_json::Value;
use std::collections::BTreeMap;

/// What a runtime did with a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// It took the model.
    Accepted(T),
    /// It did not, for this reason; a crash of the runtime is a refusal too.
    Refused(String),
}

impl<T> Verdict<T> {
    /// The report, where refusing would be a failed test.
    ///
    /// # Panics
    /// If the runtime refused the model.
    #[track_caller]
    pub fn accepted(&self) -> &T {
        match self {
            Self::Accepted(report) => report,
            Self::Refused(reason) => panic!("the runtime refused the model: {reason}"),
        }
    }
}

/// What TensorFlow Lite for Microcontrollers allocated, in bytes of a 64-bit host, and computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tflm {
    /// Activations and scratch; the same on every device.
    pub head: u64,
    /// What persists; larger here than on a 32-bit device.
    pub tail: u64,
    /// Head and tail.
    pub total: u64,
    /// The tail by purpose.
    pub split: BTreeMap<String, u64>,
    /// A hash per invocation, or why the model could not run.
    pub outputs: Result<Vec<String>, String>,
}

/// What LiteRT allocated for its sub-graphs, and computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteRt {
    /// The main sub-graph.
    pub main: SubGraph,
    /// Further sub-graphs.
    pub bodies: Vec<SubGraph>,
    /// A hash per invocation.
    pub outputs: Vec<String>,
}

/// What LiteRT allocated for one sub-graph, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGraph {
    /// The arena of activations and temporaries.
    pub arena: u64,
    /// Where each tensor lies in it, by the index of the tensor; temporaries of kernels follow the tensors of the model.
    pub offsets: BTreeMap<u32, u64>,
    /// The second arena: variables, and constants that are unpacked once.
    pub persistent: u64,
    /// Tensors in no arena, because their size is not known beforehand or because they are computed while the graph is prepared.
    pub heap: u64,
}

/// What ONNX Runtime allocated in its first run, in which order it ran, and what it computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ort {
    /// The nodes as they ran, by name, or as `TYPE_INDEX` where they have none.
    pub order: Vec<String>,
    /// Bytes of its arena, in chunks as the arena hands them out.
    pub peak: u64,
    /// The largest sum of requests alive after a node.
    pub requested_peak: u64,
    /// The largest sum of requests alive after a node, without what was there before the first node ran.
    pub activations: u64,
    /// A hash per invocation.
    pub outputs: Vec<String>,
}

/// What ONNX Runtime knows of shapes when it has loaded a model: each a JSON list of sizes, names, and `null` where
/// nothing is known, or `null` if nothing at all is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownShapes {
    /// Those of tensors that nodes write, by name.
    pub shapes: BTreeMap<String, Value>,
    /// Those of the model's inputs, as the file has them.
    pub inputs: BTreeMap<String, Value>,
}

impl KnownShapes {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let all = |name: &str| {
            let shapes = object[name].as_object()?;
            Some(shapes.iter().map(|(tensor, shape)| (tensor.clone(), shape.clone())).collect())
        };
        Some(Self { shapes: all("shapes")?, inputs: all("inputs")? })
    }
}

/// How far the outputs of one network in two files are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Across {
    /// The largest difference.
    pub difference: f64,
    /// The largest output.
    pub largest: f64,
}

/// What a runtime makes of a rewritten `.tflite`.
#[derive(Clone, Debug, PartialEq)]
pub enum Rewritten {
    /// It takes both models.
    Compared {
        /// How far apart they are.
        across: Across,
        /// Is every bit of all outputs the same?
        identical: bool,
    },
    /// It does not take the model before rewriting, for this reason.
    NotBefore(String),
}

impl Rewritten {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        if let Some(reason) = object["not_before"].as_str() {
            return Some(Self::NotBefore(reason.to_owned()));
        }
        let identical = object["identical"].as_bool()?;
        Some(Self::Compared { across: Across::read(object)?, identical })
    }
}

/// The least time that an invocation took, in seconds of CPU, of two models that took turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slower {
    /// Of the model before.
    pub before: f64,
    /// Of the other one.
    pub after: f64,
}

impl Slower {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Some(Self { before: object["before"].as_f64()?, after: object["after"].as_f64()? })
    }
}

impl Across {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Some(Self { difference: object["difference"].as_f64()?, largest: object["largest"].as_f64()? })
    }
}

impl Tflm {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let split = object["split"].as_object()?;
        Some(Self {
            head: object["head"].as_u64()?,
            tail: object["tail"].as_u64()?,
            total: object["total"].as_u64()?,
            split: split
                .iter()
                .map(|(part, bytes)| Some((part.clone(), bytes.as_u64()?)))
                .collect::<Option<_>>()?,
            outputs: match object["failed"].as_str() {
                Some(reason) => Err(reason.to_owned()),
                None => Ok(texts(&object["outputs"])?),
            },
        })
    }
}

impl LiteRt {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Some(Self {
            main: SubGraph::read(object)?,
            bodies: object["bodies"].as_array()?.iter().map(SubGraph::read).collect::<Option<_>>()?,
            outputs: texts(&object["outputs"])?,
        })
    }
}

impl SubGraph {
    fn read(object: &Value) -> Option<Self> {
        let offset = |(index, offset): (&String, &Value)| Some((index.parse().ok()?, offset.as_u64()?));
        Some(Self {
            arena: object["arena"].as_u64()?,
            offsets: object["offsets"].as_object()?.iter().map(offset).collect::<Option<_>>()?,
            persistent: object["persistent"].as_u64()?,
            heap: object["heap"].as_u64()?,
        })
    }
}

impl Ort {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Some(Self {
            order: texts(&object["order"])?,
            peak: object["peak"].as_u64()?,
            requested_peak: object["requested_peak"].as_u64()?,
            activations: object["activations"].as_u64()?,
            outputs: texts(&object["outputs"])?,
        })
    }
}

/// A default session of one model of ONNX Runtime, and a fast session of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// Activations that the first run of the default session asked for.
    pub default: u64,
    /// And of the fast one.
    pub fast: u64,
    /// Are all outputs the same to the last bit?
    pub equal: bool,
    /// The largest difference of two numbers.
    pub difference: f64,
    /// The least seconds of CPU that a run took in each.
    pub seconds: [f64; 2],
}

impl Sessions {
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Some(Self {
            default: object["default"].as_u64()?,
            fast: object["fast"].as_u64()?,
            equal: object["equal"].as_bool()?,
            difference: object["difference"].as_f64()?,
            seconds: [object["default_cpu"].as_f64()?, object["fast_cpu"].as_f64()?],
        })
    }
}

fn texts(list: &Value) -> Option<Vec<String>> {
    list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}
