//! A file without the bytes that nothing in it refers to.
//!
//! Weights that became smaller would otherwise leave holes. Parts keep their order and move towards the front by whole
//! multiples of what data are aligned to, and every distance from one part to another is written anew. That takes a
//! file of which every part is understood; any other stays as it is.

use crate::flat::{Fault, Table};
use crate::schema::{buffer, model as slot};
use crate::write::extents::{Layout, layout};
use crate::write::node::DATA_ALIGNMENT;
use crate::{Error, Model};
use std::ops::Range;

/// The model in fewer bytes; `None` if no bytes can be saved, or not every part of it is understood.
pub(crate) fn compacted(model: &Model) -> Result<Option<Vec<u8>>, Error> {
    let is_plain = !has_file_offsets(model)?;
    let Some(layout) = layout(model)?.filter(|_| is_plain) else { return Ok(None) };
    let holes = holes(&layout, model.bytes.len());
    if holes.is_empty() {
        return Ok(None);
    }
    let Some(bytes) = moved(&model.bytes, &layout, &holes) else { return Ok(None) };
    let new = Model::parse(bytes)?;
    if is_same(model, &new) {
        Ok(Some(new.bytes))
    } else {
        Err(Error::Unfaithful("the file without holes".to_owned()))
    }
}

/// Does anything count from the start of the file?
fn has_file_offsets(model: &Model) -> Result<bool, Fault> {
    let root = Table::root(&model.bytes)?;
    for table in root.tables(slot::BUFFERS)?.iter() {
        if table?.number::<u64>(buffer::OFFSET, 0)? > 1 {
            return Ok(true);
        }
    }
    for operator in model.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.operators) {
        let table = Table::at(&model.bytes, operator.position)?;
        if table.field(crate::schema::operator::LARGE_CUSTOM_OPTIONS_OFFSET, 8)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Bytes that can go: behind the last part all, between parts as many as keep the rest aligned.
fn holes(layout: &Layout, length: usize) -> Vec<Range<usize>> {
    let mut holes = Vec::new();
    let mut end = 0;
    for range in layout.live.iter() {
        let spare = range.start.saturating_sub(end) / DATA_ALIGNMENT * DATA_ALIGNMENT;
        if spare > 0 {
            holes.push(range.start - spare..range.start);
        }
        end = range.end;
    }
    if end < length {
        holes.push(end..length);
    }
    holes
}

/// The file without these bytes; `None` if a distance cannot be written.
fn moved(bytes: &[u8], layout: &Layout, holes: &[Range<usize>]) -> Option<Vec<u8>> {
    // Before each hole, and behind the last: how many bytes are gone.
    let mut gone = vec![0];
    for hole in holes {
        gone.push(gone.last()? + hole.len());
    }
    let place = |at: usize| Some(at - gone.get(holes.partition_point(|hole| hole.start <= at))?);
    let mut new = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for hole in holes {
        new.extend_from_slice(bytes.get(copied..hole.start)?);
        copied = hole.end;
    }
    new.extend_from_slice(bytes.get(copied..)?);
    for &(at, target) in &layout.links {
        let (at, target) = (place(at)?, place(target)?);
        let distance = u32::try_from(target.checked_sub(at)?).ok()?;
        new.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
    }
    for &(table, vtable) in &layout.vtables {
        let (table, vtable) = (place(table)?, place(vtable)?);
        let back = i32::try_from(i64::try_from(table).ok()? - i64::try_from(vtable).ok()?).ok()?;
        new.get_mut(table..table + 4)?.copy_from_slice(&back.to_le_bytes());
    }
    Some(new)
}

/// Do two models say the same, wherever in the file they do?
fn is_same(old: &Model, new: &Model) -> bool {
    let tensors = |model: &Model| -> Vec<_> {
        let all = model.sub_graphs.iter().flat_map(|sub_graph| sub_graph.tensors.clone());
        all.map(|tensor| crate::FileTensor { position: 0, ..tensor }).collect()
    };
    let operators = |model: &Model| -> Vec<_> {
        let all = model.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.operators);
        let options = |place: &Range<usize>| model.bytes.get(place.clone()).map(<[u8]>::to_vec);
        all.map(|operator| {
            let bare = crate::FileOperator { position: 0, custom_options: 0..0, ..operator.clone() };
            (bare, options(&operator.custom_options))
        })
        .collect()
    };
    let names = |model: &Model| -> Vec<_> {
        model
            .sub_graphs
            .iter()
            .map(|one| (one.name.clone(), one.inputs.clone(), one.outputs.clone()))
            .collect()
    };
    let metadata = |model: &Model| -> Vec<_> {
        model.metadata.iter().map(|one| (one.name.clone(), one.buffer)).collect()
    };
    let same_buffers = (0..old.buffers.len()).all(|index| {
        let (before, after) = (old.buffers.place(index), new.buffers.place(index));
        // What is aligned stays so.
        old.buffer(index) == new.buffer(index)
            && (before.is_empty() || before.start % DATA_ALIGNMENT == after.start % DATA_ALIGNMENT)
    });
    old.buffers.len() == new.buffers.len()
        && same_buffers
        && old.graphs == new.graphs
        && tensors(old) == tensors(new)
        && operators(old) == operators(new)
        && names(old) == names(new)
        && metadata(old) == metadata(new)
        && (&old.description, &old.codes, &old.signatures, &old.control)
            == (&new.description, &new.codes, &new.signatures, &new.control)
}
