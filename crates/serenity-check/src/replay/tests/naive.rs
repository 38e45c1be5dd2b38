//! A kernel played element by element.

use std::collections::BTreeSet;

/// Everything that a kernel does to one operand and one result, in order.
pub(super) struct Naive {
    /// Bytes of an element of the operand.
    item: i64,
    events: Vec<Event>,
    /// Where the bytes written so far end.
    written: i64,
    pub(super) least_distance: i64,
}

enum Event {
    Read { begin: i64, end: i64 },
    Write { begin: i64, end: i64 },
    Copy { from: i64, to: i64, bytes: i64 },
}

impl Naive {
    pub(super) fn of(item: i64) -> Self {
        Self { item, events: Vec::new(), written: 0, least_distance: 0 }
    }

    /// Reads the element that begins at this byte of the operand.
    pub(super) fn read(&mut self, byte: i64) {
        self.events.push(Event::Read { begin: byte, end: byte + self.item });
        self.notice(byte);
    }

    /// Writes what ends at this byte of the result.
    pub(super) fn write(&mut self, end: i64) {
        self.events.push(Event::Write { begin: self.written, end });
        self.written = self.written.max(end);
    }

    /// A copy that may not overlap itself: it counts as written first.
    pub(super) fn copy(&mut self, from: i64, to: i64, bytes: i64) {
        self.events.push(Event::Copy { from, to, bytes });
        self.written = self.written.max(to + bytes);
        self.notice(from);
    }

    fn notice(&mut self, byte: i64) {
        if self.written > 0 {
            self.least_distance = self.least_distance.max(self.written - byte);
        }
    }

    /// The bytes of the operand that are written over, then read, if it begins so many bytes above the result.
    pub(super) fn lost_bytes(&self, distance: i64) -> BTreeSet<i64> {
        let mut written = vec![false; self.written as usize];
        let mut lost = BTreeSet::new();
        let mut read = |begin: i64, end: i64, written: &[bool]| {
            let is_lost = |byte: &i64| {
                let place = usize::try_from(byte + distance).ok();
                place.and_then(|place| written.get(place)).is_some_and(|&is_written| is_written)
            };
            lost.extend((begin..end).filter(is_lost));
        };
        for event in &self.events {
            match *event {
                Event::Read { begin, end } => read(begin, end, &written),
                Event::Write { begin, end } => written[begin as usize..end as usize].fill(true),
                Event::Copy { from, to, bytes } => {
                    let is_onto_itself = from + distance == to;
                    if is_onto_itself {
                        read(from, from + bytes, &written);
                    }
                    written[to as usize..(to + bytes) as usize].fill(true);
                    if !is_onto_itself {
                        read(from, from + bytes, &written);
                    }
                }
            }
        }
        lost
    }
}
