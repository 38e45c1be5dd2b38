//! Facts about buffers that are read and written together.

use super::{Buffer, OpIndex};
use crate::hand_over::HandOvers;
use std::collections::BTreeMap;

/// The most that one op reads and writes together, less what it can write over.
pub(super) fn largest_working_set(ops: u32, buffers: &[Buffer], hand_overs: &HandOvers) -> u64 {
    let mut bytes = vec![0; ops as usize];
    let mut always = 0;
    // Which buffer was last counted for an op.
    let mut counted = vec![usize::MAX; ops as usize];
    for (number, buffer) in buffers.iter().enumerate() {
        if buffer.from_start && buffer.to_end {
            always += buffer.bytes;
            continue;
        }
        // Where any of several may write it first, a reader need not come behind the others; and what is kept goes with
        // no reader, so that nothing else puts one behind a writer.
        let is_read_late = !buffer.to_end || buffer.writers.len() < 2;
        let readers = buffer.readers.iter().filter(|_| is_read_late);
        for op in buffer.writers.iter().chain(readers) {
            if std::mem::replace(&mut counted[op.index()], number) != number {
                bytes[op.index()] += buffer.bytes;
            }
        }
    }
    let needed = (0..).zip(bytes).map(|(op, bytes)| bytes - hand_overs.most_saved(op));
    always + needed.max().unwrap_or(0)
}

/// Buffers that come and go with the same ops are one buffer; those of no size are none. What is always there needs no ops.
pub(super) fn merged(buffers: Vec<Buffer>) -> impl Iterator<Item = Buffer> {
    type Key = (Vec<OpIndex>, Vec<OpIndex>, bool, bool);
    let mut bytes: BTreeMap<Key, u64> = BTreeMap::new();
    for mut buffer in buffers.into_iter().filter(|b| b.bytes > 0) {
        if buffer.from_start {
            buffer.writers.clear();
        }
        if buffer.to_end {
            buffer.readers.clear();
        }
        for ops in [&mut buffer.writers, &mut buffer.readers] {
            ops.sort_unstable();
            ops.dedup();
        }
        *bytes.entry((buffer.writers, buffer.readers, buffer.from_start, buffer.to_end)).or_insert(0) +=
            buffer.bytes;
    }
    bytes.into_iter().map(|((writers, readers, from_start, to_end), bytes)| Buffer {
        bytes,
        writers,
        readers,
        from_start,
        to_end,
    })
}
