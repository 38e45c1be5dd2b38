//! Ops that may write one buffer over another.
//!
//! Let op `u` be the only writer of `new`, a reader of `old`, and both of one size. If all others that read `old` have
//! run, `u` may write `new` over it: the two are one while it runs. With several such pairs, each buffer takes part
//! once. So after a set `X` of ops, `u` saves the bytes of the most pairs that fit side by side, of those whose `old`
//! nobody else waits for:
//!
//! ```text
//! during(X,u) = f(X) + sizes that u brings to life - s(X,u)
//! ```
//!
//! `u` lets go every `old` that it writes over, so f is what it was, and `s(X,u)` is at most what `u` brings to life
//! and what it lets go: whoever asks for these two is told both less `s(X,u)`. What has run decides, not in which
//! order, so every algorithm that goes from set to set counts right. `s(X,u)` grows with `X`.
//!
//! **What is settled.** Where `u` reads `old` last in every order, the pair is *certain*. If the certain pairs of an op
//! let it save as much as all its pairs could, then it saves just that, whatever has run: the two buffers of each
//! chosen pair are made one, and the others are forgotten. Only what is left depends on the order.

use crate::{Buffer, OpIndex, bits};
use serenity_search::most_pairs;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An op that may write one buffer over another of the same size, if it is the last reader of that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandOver {
    /// The op: the only writer of `new`, and a reader of `old`.
    pub op: OpIndex,
    /// The index of the buffer that it writes.
    pub new: usize,
    /// The index of the buffer that it may write over.
    pub old: usize,
}

/// A pair that the order decides about.
#[derive(Clone, Debug)]
struct Pair {
    new: u32,
    old: u32,
    bytes: u64,
    /// All that read `old`, the op among them: words of a set, and which bits. Pairs with the same `old` have it in common.
    readers: Arc<[(u32, u64)]>,
}

impl Pair {
    /// Have all that read `old` run before `op`, of those that are not `op`?
    fn is_free(&self, done: &[u64], op: u32) -> bool {
        let own = |word: u32| if word == op >> 6 { 1 << (op & 63) } else { 0 };
        self.readers.iter().all(|&(word, ops)| (done[word as usize] | own(word)) & ops == ops)
    }

    fn readers(&self) -> impl Iterator<Item = u32> {
        self.readers.iter().flat_map(|&(word, ops)| {
            (0..64).filter(move |bit| ops >> bit & 1 == 1).map(move |bit| 64 * word + bit)
        })
    }
}

fn set_of(ops: impl IntoIterator<Item = u32>) -> Arc<[(u32, u64)]> {
    let mut words: BTreeMap<u32, u64> = BTreeMap::new();
    for op in ops {
        *words.entry(op >> 6).or_default() |= 1 << (op & 63);
    }
    words.into_iter().collect()
}

/// What the order decides about, by op.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandOvers {
    by_op: BTreeMap<u32, Vec<Pair>>,
    /// Bytes that ops save whatever has run, for those who count both buffers of a pair.
    settled: BTreeMap<u32, u64>,
}

impl HandOvers {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_op.is_empty()
    }

    /// Bytes that `op` saves if `done` have run before.
    #[inline]
    pub(crate) fn saved(&self, done: &[u64], op: u32) -> u64 {
        if self.by_op.is_empty() {
            return 0;
        }
        let pairs = self.by_op.get(&op).into_iter().flatten();
        shared(pairs.filter(|pair| pair.is_free(done, op)))
    }

    /// Bytes that `op` saves at most, of what depends on the order.
    pub(crate) fn most_saved(&self, op: u32) -> u64 {
        shared(self.by_op.get(&op).into_iter().flatten())
    }

    /// Bytes that `op` saves at most, what is settled included.
    pub(crate) fn most_saved_in_all(&self, op: u32) -> u64 {
        self.most_saved(op) + self.settled.get(&op).copied().unwrap_or(0)
    }

    /// Those of `ops`, which run after `done`, by their positions in `ops`. Where somebody else reads `old` later,
    /// there are none.
    pub(crate) fn of_segment(&self, done: &[u64], ops: &[u32]) -> Self {
        let local = |op: u32| ops.binary_search(&op).ok().map(|i| i as u32);
        let within = |pair: &Pair| {
            let to_come = pair.readers().filter(|&reader| !bits::contains(done, reader));
            let readers: Option<Vec<u32>> = to_come.map(local).collect();
            Some(Pair { readers: set_of(readers?), ..pair.clone() })
        };
        let mut by_op = BTreeMap::new();
        for (i, op) in (0..).zip(ops).filter(|_| !self.is_empty()) {
            let pairs: Vec<Pair> = self.by_op.get(op).into_iter().flatten().filter_map(within).collect();
            if !pairs.is_empty() {
                by_op.insert(i, pairs);
            }
        }
        Self { by_op, settled: BTreeMap::new() }
    }

    /// Makes one of the two buffers of every pair that is settled, and returns what is left. `have_run(others, op)`:
    /// have all these run whenever `op` runs?
    pub(crate) fn settle(
        hand_overs: &[HandOver],
        buffers: &mut [Buffer],
        have_run: impl Fn(&[u32], u32) -> bool,
    ) -> Self {
        let by_op = pairs_by_op(hand_overs, buffers);
        let mut left = Self::default();
        // The buffer that each has become a part of; of those that have not, itself.
        let mut home: Vec<usize> = (0..buffers.len()).collect();
        for (op, pairs) in by_op {
            let is_certain = |pair: &&Pair| {
                let others: Vec<u32> = pair.readers().filter(|&reader| reader != op).collect();
                have_run(&others, op)
            };
            let certain = chosen(pairs.iter().filter(is_certain));
            if certain.len() < chosen(&pairs).len() {
                left.by_op.insert(op, pairs);
                continue;
            }
            for (new, old) in certain {
                *left.settled.entry(op).or_default() += buffers[new].bytes;
                join(buffers, &mut home, new, old);
            }
        }
        left
    }
}

/// The hand-overs of each op that save something in some order.
fn pairs_by_op(hand_overs: &[HandOver], buffers: &[Buffer]) -> BTreeMap<u32, Vec<Pair>> {
    let mut readers: BTreeMap<usize, Arc<[(u32, u64)]>> = BTreeMap::new();
    let mut by_op: BTreeMap<u32, Vec<Pair>> = BTreeMap::new();
    for &HandOver { op, new, old } in hand_overs {
        if buffers[old].to_end || buffers[old].bytes == 0 {
            continue;
        }
        let readers =
            readers.entry(old).or_insert_with(|| set_of(buffers[old].readers.iter().map(|r| r.0))).clone();
        let pair = Pair { new: new as u32, old: old as u32, bytes: buffers[old].bytes, readers };
        by_op.entry(op.0).or_default().push(pair);
    }
    by_op
}

fn chosen<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> Vec<(usize, usize)> {
    let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|pair| (pair.new, pair.old)).collect();
    most_pairs(&pairs).into_iter().map(|(new, old)| (new as usize, old as usize)).collect()
}

/// The two sides of a pair have one size: the most bytes are those of the most pairs of each size, and pairs of
/// different sizes have no side in common.
fn shared<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> u64 {
    let pairs: Vec<&Pair> = pairs.into_iter().collect();
    if let [pair] = pairs[..] {
        return pair.bytes;
    }
    let bytes_of: BTreeMap<u32, u64> = pairs.iter().map(|pair| (pair.new, pair.bytes)).collect();
    chosen(pairs.iter().copied()).iter().map(|(new, _)| bytes_of[&(*new as u32)]).sum()
}

/// Makes `new` a part of the buffer that `old` lies in. `new` keeps an entry without bytes.
fn join(buffers: &mut [Buffer], home: &mut [usize], new: usize, old: usize) {
    let mut host = old;
    while home[host] != host {
        host = home[host];
    }
    home[new] = host;
    buffers[new].bytes = 0;
    let Buffer { writers, readers, to_end, .. } = buffers[new].clone();
    let host = &mut buffers[host];
    host.writers.extend(writers);
    host.readers.extend(readers);
    host.to_end |= to_end;
}
