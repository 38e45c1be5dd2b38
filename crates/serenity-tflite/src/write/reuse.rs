//! New buffers in the place of old ones that nothing refers to any more.
//!
//! Weights that were cut into parts would otherwise be in the file twice. All parts of a constant have as many bytes as
//! the whole, so most of them fit where it was.

use crate::flat::{Fault, Table};
use crate::schema::{buffer, model as slot};
use crate::write::edit::{AddedTensor, Edit};
use crate::write::extents::extents;
use crate::write::node::DATA_ALIGNMENT;
use crate::write::ranges::Ranges;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The number of elements stands before them.
const LENGTH: usize = 4;

/// What becomes of old buffers' bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reuse {
    /// New buffers, counted from the first new one, by where their vectors begin in the old file.
    pub(crate) vectors: BTreeMap<usize, usize>,
    /// Old buffers whose bytes are gone.
    pub(crate) emptied: BTreeSet<usize>,
    /// The bytes of the old file that are written anew.
    pub(crate) ranges: Ranges,
}

impl Reuse {
    /// Finds places for as much of the new data as fits: the largest first, each where the least is left over.
    pub(crate) fn plan(edit: &Edit, new: &[Vec<u8>]) -> Result<Self, Fault> {
        let dead = edit.dead_buffers()?;
        if dead.is_empty() || new.iter().all(Vec::is_empty) {
            return Ok(Self::default());
        }
        let mut holes = holes(edit, &dead)?;
        let mut largest_first: Vec<usize> = (0..new.len()).filter(|&index| !new[index].is_empty()).collect();
        largest_first.sort_by_key(|&index| (Reverse(new[index].len()), index));
        let mut vectors = BTreeMap::new();
        let mut ranges = Vec::new();
        for index in largest_first {
            let bytes = new[index].len();
            let Some(&(capacity, start)) = holes.range((bytes, 0)..).next() else { continue };
            holes.remove(&(capacity, start));
            vectors.insert(index, start - LENGTH);
            ranges.push(start - LENGTH..start + bytes);
            holes.extend(hole(&(start + bytes..start + capacity)));
        }
        let ranges: Ranges = ranges.into_iter().collect();
        let is_gone = |index: &usize| ranges.overlap(&edit.model.buffers.place(*index));
        let emptied = dead.into_iter().filter(is_gone).collect();
        Ok(Self { vectors, emptied, ranges })
    }

    /// Finds no places, but empties what nothing names any more.
    pub(crate) fn nothing(edit: &Edit) -> Result<Self, Fault> {
        Ok(Self { emptied: edit.dead_buffers()?, ..Self::default() })
    }

    /// Writes the new data into the old file.
    pub(crate) fn write(&self, new: &[Vec<u8>], old: &mut [u8]) -> Option<()> {
        for (&index, &vector) in &self.vectors {
            let data = &new[index];
            let length = u32::try_from(data.len()).ok()?;
            let start = vector + LENGTH;
            old.get_mut(vector..start)?.copy_from_slice(&length.to_le_bytes());
            old.get_mut(start..start + data.len())?.copy_from_slice(data);
        }
        Some(())
    }
}

/// The bytes within `range` that aligned data can take, as their number and their start; the length comes before.
fn hole(range: &Range<usize>) -> Option<(usize, usize)> {
    let start = (range.start + LENGTH).next_multiple_of(DATA_ALIGNMENT);
    let capacity = range.end.checked_sub(start)?;
    (capacity > 0).then_some((capacity, start))
}

/// What data of dead buffers nothing else lies upon.
fn holes(edit: &Edit, dead: &BTreeSet<usize>) -> Result<BTreeSet<(usize, usize)>, Fault> {
    let model = edit.model;
    let Some(live) = extents(model, &|index| dead.contains(&index))? else { return Ok(BTreeSet::new()) };
    let mut vacant = Vec::new();
    for (index, table) in Table::root(&model.bytes)?.tables(slot::BUFFERS)?.iter().enumerate() {
        if dead.contains(&index) {
            vacant.extend(table?.vector_extent(buffer::DATA, 1)?);
        }
    }
    vacant.retain(|vector| !live.overlap(vector));
    let vacant: Ranges = vacant.into_iter().collect();
    Ok(vacant.iter().filter_map(hole).collect())
}

impl Edit<'_> {
    /// Buffers of the old file that tensors or metadata named, and that nothing names any more. A buffer that nothing
    /// has ever named may have a purpose that we do not know.
    fn dead_buffers(&self) -> Result<BTreeSet<usize>, Fault> {
        let old = self.model;
        let mut dead: BTreeSet<usize> = old.metadata.iter().map(|metadata| metadata.buffer).collect();
        dead.extend(old.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.tensors).map(|t| t.buffer));
        for (sub_graph, edit) in old.sub_graphs.iter().zip(&self.sub_graphs) {
            for (number, tensor) in sub_graph.tensors.iter().enumerate() {
                let new = edit.replaced_tensors.get(&number).map(|new| new.buffer);
                dead.remove(&new.unwrap_or(tensor.buffer));
            }
        }
        for added in self.sub_graphs.iter().flat_map(|edit| &edit.new_tensors) {
            dead.remove(&match added {
                AddedTensor::New(new) => new.buffer,
                AddedTensor::Old { sub_graph, tensor } => old.sub_graphs[*sub_graph].tensors[*tensor].buffer,
            });
        }
        for kept in old.metadata.iter().filter(|metadata| !self.metadata.contains_key(&metadata.name)) {
            dead.remove(&kept.buffer);
        }
        for named in Table::root(&old.bytes)?.numbers::<i32>(slot::METADATA_BUFFER)? {
            dead.remove(&usize::try_from(named).unwrap_or(0));
        }
        dead.remove(&0);
        Ok(dead)
    }
}
