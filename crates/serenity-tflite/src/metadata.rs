//! What the file says about itself: named metadata, signatures, and a memory plan, if somebody made one before.

use crate::Error;
use crate::budget::Budget;
use crate::error::At;
use crate::flat::Table;
use crate::schema::{metadata, model, signature, tensor_map};

/// The metadata that holds a memory plan for TensorFlow Lite for Microcontrollers.
pub const OFFLINE_PLAN: &str = "OfflineMemoryAllocation";

/// The metadata in which whoever made that plan says for what it is.
pub const PLAN_NOTE: &str = "serenity";

/// One named piece of metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its name.
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
    /// Its name.
    pub key: String,
    /// The sub-graph it runs.
    pub sub_graph: usize,
    /// Inputs: name and the number of the tensor in the sub-graph's table.
    pub inputs: Vec<(String, usize)>,
    /// Outputs, likewise.
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
    /// Reads the metadata's bytes; `None` if they are not a plan of version 1.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<4>();
        let words: Vec<i32> = words.iter().map(|&word| i32::from_le_bytes(word)).collect();
        match words.as_slice() {
            [1, sub_graphs, count, offsets @ ..]
                if rest.is_empty() && usize::try_from(*count) == Ok(offsets.len()) =>
            {
                Some(Self { sub_graphs: *sub_graphs, offsets: offsets.to_vec() })
            }
            _ => None,
        }
    }

    /// The metadata's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [1, self.sub_graphs, self.offsets.len() as i32];
        head.iter().chain(&self.offsets).flat_map(|word| word.to_le_bytes()).collect()
    }
}
