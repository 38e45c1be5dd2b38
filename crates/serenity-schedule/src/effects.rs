//! The buffers that each op allocates and frees, laid out for the inner loops of the searches.
//!
//! Most buffers have one writer, and many one reader: then running that op changes the memory in use by a constant. Of
//! the others the writers (readers) are kept as words of a bit set, so that one comparison answers for up to 64 ops.
//! The set is that of the buffer, not of all ops but one: a buffer of many readers would need as many sets.

use crate::Buffer;

/// A change that depends on what has run.
#[derive(Clone, Copy, Debug)]
struct Condition {
    bytes: u64,
    /// Its words in [`Effects::masks`].
    start: u32,
    end: u32,
}

/// The effects of all ops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    allocates: Side,
    frees: Side,
}

/// One kind of effect, for all ops.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Bytes whatever has run.
    constant: Vec<u64>,
    /// The conditions of op `u` are `conditions[first[u]..first[u + 1]]`.
    first: Vec<u32>,
    conditions: Vec<Condition>,
    /// Words of the sets of ops of a buffer: where, and which bits.
    masks: Vec<(u32, u64)>,
}

impl Side {
    /// `of_op` lists the buffers of each op, `ops_of` the ops of a buffer, ascending.
    fn new(of_op: &[Vec<u32>], buffers: &[Buffer], ops_of: impl Fn(&Buffer) -> &[crate::OpIndex]) -> Self {
        let mut side = Self { first: vec![0], ..Self::default() };
        let conditions: Vec<Condition> = buffers
            .iter()
            .map(|buffer| {
                let start = side.masks.len();
                for op in ops_of(buffer).iter().filter(|_| ops_of(buffer).len() > 1) {
                    let (word, bit) = (op.0 >> 6, 1 << (op.0 & 63));
                    match side.masks[start..].last_mut() {
                        Some(last) if last.0 == word => last.1 |= bit,
                        _ => side.masks.push((word, bit)),
                    }
                }
                Condition { bytes: buffer.bytes, start: start as u32, end: side.masks.len() as u32 }
            })
            .collect();
        for list in of_op {
            let mut constant = 0;
            for &b in list {
                let condition = conditions[b as usize];
                if condition.start == condition.end {
                    constant += condition.bytes;
                } else {
                    side.conditions.push(condition);
                }
            }
            side.constant.push(constant);
            side.first.push(side.conditions.len() as u32);
        }
        side
    }

    /// The bytes of `op`, counting those of buffers whose ops satisfy `holds` word by word.
    #[inline]
    fn bytes(&self, op: u32, holds: impl Fn(u32, u64) -> bool) -> u64 {
        let mut bytes = self.constant[op as usize];
        let conditions =
            &self.conditions[self.first[op as usize] as usize..self.first[op as usize + 1] as usize];
        for condition in conditions {
            let masks = &self.masks[condition.start as usize..condition.end as usize];
            if masks.iter().all(|&(word, bits)| holds(word, bits)) {
                bytes += condition.bytes;
            }
        }
        bytes
    }
}

impl Effects {
    pub(crate) fn new(writes: &[Vec<u32>], reads: &[Vec<u32>], buffers: &[Buffer]) -> Self {
        Self {
            allocates: Side::new(writes, buffers, |b| &b.writers),
            frees: Side::new(reads, buffers, |b| &b.readers),
        }
    }

    /// Bytes that `op`, which has not run, brings to life: buffers of which no writer has run.
    #[inline]
    pub(crate) fn allocated(&self, done: &[u64], op: u32) -> u64 {
        self.allocates.bytes(op, |word, bits| done[word as usize] & bits == 0)
    }

    /// Bytes that `op` lets go: buffers of which all other readers have run.
    #[inline]
    pub(crate) fn freed(&self, done: &[u64], op: u32) -> u64 {
        let (own_word, own_bit) = (op >> 6, 1 << (op & 63));
        self.frees.bytes(op, |word, bits| {
            let own = if word == own_word { own_bit } else { 0 };
            (done[word as usize] | own) & bits == bits
        })
    }
}
