//! What a graph states of its kernels, counted once more: aliases, and outputs that an op may write over an input which
//! nobody else is to read.
//!
//! An op may write `new` over `old` if the two have one size, the op reads the memory of `old` by one name only, that
//! memory is all of one tensor's, and the caller does not want it in the end. Whether it does is for what has run to
//! say: everybody else who reads that memory must have.

use crate::holdings::Holding;
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// What each op may write over what: pairs of an output and of the tensor in whose memory the input lies.
#[derive(Default)]
pub(crate) struct InPlace {
    pairs: BTreeMap<OpId, BTreeSet<(TensorId, TensorId)>>,
}

impl InPlace {
    /// Bytes that `op` saves while it runs, if it may write over those tensors of which that `is_free`.
    pub(crate) fn saved(
        &self,
        op: OpId,
        holdings: &[Option<Holding>],
        is_free: impl Fn(&Holding) -> bool,
    ) -> i128 {
        let Some(pairs) = self.pairs.get(&op) else { return 0 };
        let memory = |t: TensorId| holdings[t.index()].as_ref();
        let free: Vec<(TensorId, TensorId)> =
            pairs.iter().copied().filter(|&(_, old)| memory(old).is_some_and(&is_free)).collect();
        // Both sides of a pair have one size, so more pairs are more bytes.
        side_by_side(&free).iter().filter_map(|&new| memory(new)).map(|new| new.bytes).sum()
    }

    /// The most that `op` saves in any order.
    pub(crate) fn most_saved(&self, op: OpId, holdings: &[Option<Holding>]) -> i128 {
        self.saved(op, holdings, |old| !old.kept)
    }
}

/// Lets tensors share memory as the graph says they do, and tells who may write over what.
pub(crate) fn share(graph: &Graph, holdings: &mut [Option<Holding>]) -> InPlace {
    let mut in_place = InPlace::default();
    if !graph.states_sharing() {
        return in_place;
    }
    let mut hosts: Vec<BTreeSet<TensorId>> = graph.tensor_ids().map(|t| BTreeSet::from([t])).collect();
    for id in graph.file_order() {
        let mut views: BTreeMap<TensorId, BTreeSet<TensorId>> = BTreeMap::new();
        for (view, of) in graph.op(id).aliases() {
            views.entry(view).or_default().extend(&hosts[of.index()]);
        }
        for (view, of) in views {
            let wanted = holdings[view.index()].take();
            for host in &of {
                if let (Some(memory), Some(wanted)) = (&mut holdings[host.index()], &wanted) {
                    memory.readers.extend(&wanted.readers);
                    memory.kept |= wanted.kept;
                }
            }
            hosts[view.index()] = of;
        }
    }
    for id in graph.op_ids() {
        let op = graph.op(id);
        let read: BTreeSet<TensorId> = op.inputs.iter().copied().collect();
        for (new, old) in op.in_place() {
            let mut under = hosts[old.index()].iter();
            let (Some(&host), None) = (under.next(), under.next()) else { continue };
            let names = read.iter().filter(|t| hosts[t.index()].contains(&host)).count();
            let is_own = hosts[new.index()] == BTreeSet::from([new]);
            if names == 1 && is_own && graph.tensor(host).bytes == graph.tensor(new).bytes {
                in_place.pairs.entry(id).or_default().insert((new, host));
            }
        }
    }
    in_place
}

/// The left sides of the most pairs of which no two have a side in common. As long as somebody without a partner can
/// get one by others changing theirs, they do.
fn side_by_side(pairs: &[(TensorId, TensorId)]) -> BTreeSet<TensorId> {
    let mut partner: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    loop {
        let holder: BTreeMap<TensorId, TensorId> = partner.iter().map(|(&new, &old)| (old, new)).collect();
        let mut asked_by: BTreeMap<TensorId, TensorId> = BTreeMap::new();
        let mut asking: Vec<TensorId> =
            pairs.iter().map(|pair| pair.0).filter(|new| !partner.contains_key(new)).collect();
        let mut free = None;
        while let (Some(new), None) = (asking.pop(), free) {
            for &(_, old) in pairs.iter().filter(|pair| pair.0 == new) {
                if asked_by.contains_key(&old) {
                    continue;
                }
                asked_by.insert(old, new);
                match holder.get(&old) {
                    Some(&other) => asking.push(other),
                    None => free = Some(old),
                }
            }
        }
        let Some(mut old) = free else { return partner.into_keys().collect() };
        while let Some(before) = partner.insert(asked_by[&old], old) {
            old = before;
        }
    }
}
