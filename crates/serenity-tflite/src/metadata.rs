//! What the file says about itself: named metadata, signatures, and a memory plan, if somebody made one before.

use crate::budget::Budget;
use crate::error::At;
use crate::flat::Table;
use crate::schema::{metadata, model, signature, tensor_map};
use crate::{Error, FileTensor, Model, Storage, SubGraph};

/// The metadata that holds a memory plan for TensorFlow Lite for Microcontrollers.
pub const OFFLINE_PLAN: &str = "OfflineMemoryAllocation";

/// The metadata in which whoever made that plan says for what it is.
pub const PLAN_NOTE: &str = "serenity";

/// One named piece of metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The name of the entry.
    pub name: String,
    /// The buffer that holds its bytes.
    pub buffer: usize,
}

impl Metadata {
    pub(crate) fn read_all(root: &Table, buffers: usize, budget: &mut Budget) -> Result<Vec<Self>, Error> {
        let mut result = Vec::new();
        let tables = root.tables(model::METADATA).at(|| "metadata".to_owned())?;
        for (index, table) in tables.iter().enumerate() {
            let place = || format!("metadata {index}");
            let table = table.at(place)?;
            let name = table.text(metadata::NAME).at(place)?;
            budget.take(64 + name.len(), place)?;
            let number: u32 = table.number(metadata::BUFFER, 0).at(place)?;
            let buffer = number as usize;
            if buffer >= buffers {
                let (what, index) = ("buffer", i64::from(number));
                return Err(Error::Reference { place: place(), what, index, count: buffers });
            }
            result.push(Self { name: String::from_utf8_lossy(name).into_owned(), buffer });
        }
        Ok(result)
    }
}

/// A named entry point: which sub-graph, and what its inputs and outputs are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the signature.
    pub key: String,
    /// The sub-graph it runs.
    pub sub_graph: usize,
    /// Inputs: name and the number of the tensor in the sub-graph's table.
    pub inputs: Vec<(String, usize)>,
    /// Outputs: name and the number of the tensor in the sub-graph's table.
    pub outputs: Vec<(String, usize)>,
}

impl Signature {
    /// `tensors`: how many tensors each sub-graph has.
    pub(crate) fn read_all(root: &Table, tensors: &[usize], budget: &mut Budget) -> Result<Vec<Self>, Error> {
        let mut result = Vec::new();
        let tables = root.tables(model::SIGNATURES).at(|| "signatures".to_owned())?;
        for (index, table) in tables.iter().enumerate() {
            let place = || format!("signature {index}");
            let table = table.at(place)?;
            let key = table.text(signature::KEY).at(place)?;
            budget.take(128 + key.len(), place)?;
            let number: u32 = table.number(signature::SUB_GRAPH, 0).at(place)?;
            let tensors_there = *tensors.get(number as usize).ok_or_else(|| Error::Reference {
                place: place(),
                what: "sub-graph",
                index: i64::from(number),
                count: tensors.len(),
            })?;
            let mut names = |slot, what: &str| {
                let place = || format!("signature {index}, {what}");
                let maps = table.tables(slot).at(place)?;
                maps.iter()
                    .map(|map| named_tensor(&map.at(place)?, tensors_there, budget, &place))
                    .collect::<Result<_, Error>>()
            };
            result.push(Self {
                key: String::from_utf8_lossy(key).into_owned(),
                sub_graph: number as usize,
                inputs: names(signature::INPUTS, "inputs")?,
                outputs: names(signature::OUTPUTS, "outputs")?,
            });
        }
        Ok(result)
    }
}

fn named_tensor(
    map: &Table,
    tensors: usize,
    budget: &mut Budget,
    place: &dyn Fn() -> String,
) -> Result<(String, usize), Error> {
    let name = map.text(tensor_map::NAME).at(place)?;
    budget.take(64 + name.len(), place)?;
    let number: u32 = map.number(tensor_map::TENSOR, 0).at(place)?;
    if number as usize >= tensors {
        let (what, index) = ("tensor", i64::from(number));
        return Err(Error::Reference { place: place(), what, index, count: tensors });
    }
    Ok((String::from_utf8_lossy(name).into_owned(), number as usize))
}

/// A memory plan for TensorFlow Lite for Microcontrollers: byte offsets from the start of the arena's head.
///
/// ```
/// use serenity_tflite::OfflinePlan;
/// let plan = OfflinePlan { sub_graphs: 1, offsets: vec![0, -1, 4096] };
/// assert_eq!(OfflinePlan::from_bytes(&plan.to_bytes()), Some(plan));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflinePlan {
    /// How many sub-graphs it is for.
    pub sub_graphs: i32,
    /// One for each tensor of all sub-graphs, constants included, in the file's order; -1 leaves the place to the runtime.
    pub offsets: Vec<i32>,
}

impl OfflinePlan {
    /// Reads the metadata's bytes as TFLM does: whatever they say of their version and of the number of sub-graphs, and
    /// whatever follows the last offset. `None` if they end before it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|&word| i32::from_le_bytes(word));
        let (_version, sub_graphs, count) = (words.next()?, words.next()?, words.next()?);
        let count = usize::try_from(count).ok().filter(|&count| count <= words.len())?;
        Some(Self { sub_graphs, offsets: words.take(count).collect() })
    }

    /// The metadata's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [1, self.sub_graphs, self.offsets.len() as i32];
        head.iter().chain(&self.offsets).flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Why TFLM cannot follow the plan of the arena that a model came with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum RefusedPlan {
    /// Its bytes end before the last offset: TFLM would read what lies behind them.
    #[error("the plan of the arena in this model ends before its last offset")]
    CutShort,
    /// TFLM refuses such a plan.
    #[error("the plan of the arena in this model is for {offsets} tensors, and the model has {tensors}")]
    Count { offsets: usize, tensors: usize },
    /// TFLM would write outside of its arena.
    #[error("the plan of the arena in this model puts tensor `{tensor}` {distance} bytes before the arena")]
    Outside { tensor: String, distance: u32 },
    /// TFLM would take the variable into the head, where others may overwrite it between two runs.
    #[error(
        "the plan of the arena in this model has a place for the variable `{tensor}`, which must persist"
    )]
    Variable { tensor: String },
}

/// The plan that TFLM follows: of several it checks each and takes the last.
///
/// # Errors
/// If TFLM refuses one of them, or would fail in the run.
pub(crate) fn plan_of(model: &Model) -> Result<Option<OfflinePlan>, RefusedPlan> {
    let tensors: Vec<&FileTensor> = model.sub_graphs().iter().flat_map(SubGraph::tensors).collect();
    let mut last = None;
    for entry in model.metadata().iter().filter(|entry| entry.name == OFFLINE_PLAN) {
        let plan = OfflinePlan::from_bytes(model.buffer(entry.buffer)).ok_or(RefusedPlan::CutShort)?;
        if plan.offsets.len() != tensors.len() {
            return Err(RefusedPlan::Count { offsets: plan.offsets.len(), tensors: tensors.len() });
        }
        last = Some(plan);
    }
    for (tensor, &offset) in tensors.iter().zip(last.iter().flat_map(|plan| &plan.offsets)) {
        let name = || tensor.name.clone();
        match tensor.storage {
            Storage::Activation if offset < -1 && tensor.bytes > 0 => {
                return Err(RefusedPlan::Outside { tensor: name(), distance: offset.unsigned_abs() });
            }
            Storage::Variable if offset != -1 => return Err(RefusedPlan::Variable { tensor: name() }),
            _ => {}
        }
    }
    Ok(last)
}
