//! The chunks that ONNX Runtime's arena hands out.
//!
//! A request is rounded up to 256 bytes and gets the smallest free chunk that holds it. The chunk is split if it is
//! twice as large, and given whole otherwise: so more is in use than was asked for. Memory comes in regions, 1 MiB at
//! first; free neighbours in a region merge.

use std::collections::{BTreeMap, BTreeSet};

const UNIT: u64 = 256;
const FIRST_REGION: u64 = 1 << 20;
/// A chunk this much larger than the request is split in any case.
const ALWAYS_SPLIT: u64 = 128 << 20;

/// Region and offset.
pub(super) type ChunkPlace = (usize, u64);

#[derive(Default)]
pub(super) struct Chunks {
    /// Size and whether it is free, by place.
    all: BTreeMap<ChunkPlace, (u64, bool)>,
    free: BTreeSet<(u64, ChunkPlace)>,
    regions: usize,
    next_region: u64,
    in_use: u64,
    most: u64,
}

impl Chunks {
    /// The most bytes in use so far.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// A chunk for so many bytes; none for none.
    pub(super) fn take(&mut self, bytes: u64) -> Option<ChunkPlace> {
        if bytes == 0 {
            return None;
        }
        // More than fits an address is for nobody to allocate; it need not be counted to the byte.
        let needed = bytes.min(1 << 60).next_multiple_of(UNIT);
        if self.free.range((needed, (0, 0))..).next().is_none() {
            self.extend(needed);
        }
        let &(size, place) = self.free.range((needed, (0, 0))..).next()?;
        self.free.remove(&(size, place));
        let taken = if size >= 2 * needed || size - needed >= ALWAYS_SPLIT { needed } else { size };
        self.all.insert(place, (taken, false));
        if taken < size {
            self.add_free((place.0, place.1 + taken), size - taken);
        }
        self.in_use += taken;
        self.most = self.most.max(self.in_use);
        Some(place)
    }

    pub(super) fn give_back(&mut self, place: ChunkPlace) {
        let Some(&(mut size, false)) = self.all.get(&place) else { return };
        self.in_use -= size;
        let mut start = place;
        let next = (place.0, place.1 + size);
        if let Some(&(more, true)) = self.all.get(&next) {
            self.remove_free(next, more);
            size += more;
        }
        if let Some((&before, &(more, true))) = self.all.range(..place).next_back()
            && before.0 == place.0
        {
            self.remove_free(before, more);
            self.all.remove(&place);
            start = before;
            size += more;
        }
        self.add_free(start, size);
    }

    fn extend(&mut self, needed: u64) {
        let mut size = self.next_region.max(FIRST_REGION);
        let had_to_grow = needed > size;
        while needed > size {
            size *= 2;
        }
        self.next_region = if had_to_grow { size } else { size * 2 };
        self.add_free((self.regions, 0), size);
        self.regions += 1;
    }

    fn add_free(&mut self, place: ChunkPlace, size: u64) {
        self.all.insert(place, (size, true));
        self.free.insert((size, place));
    }

    fn remove_free(&mut self, place: ChunkPlace, size: u64) {
        self.all.remove(&place);
        self.free.remove(&(size, place));
    }
}

#[cfg(test)]
mod tests {
    use super::Chunks;

    #[test]
    fn large_chunks_are_split_and_others_given_whole() {
        let mut chunks = Chunks::default();
        let a = chunks.take(1000).unwrap();
        chunks.take(1).unwrap();
        assert_eq!(chunks.most(), 1024 + 256);
        chunks.give_back(a);
        // A chunk of 1024 bytes for 600: not twice as large, so all of it.
        assert_eq!(chunks.take(600), Some(a));
        assert_eq!(chunks.most(), 1024 + 256);
        chunks.give_back(a);
        chunks.take(500);
        assert_eq!(chunks.take(512), Some((0, 512)));
    }

    #[test]
    fn regions_grow_and_neighbours_merge() {
        let mut chunks = Chunks::default();
        let large = chunks.take(3 << 20).unwrap();
        assert_eq!((large, chunks.most()), ((0, 0), 4 << 20));
        chunks.give_back(large);
        let parts: Vec<_> = (0..4).map(|_| chunks.take(1 << 20).unwrap()).collect();
        for part in parts {
            chunks.give_back(part);
        }
        assert_eq!(chunks.take(4 << 20), Some((0, 0)));
        // The last extension had to grow, so the next is as large.
        assert_eq!(chunks.take(4 << 20), Some((1, 0)));
    }
}
