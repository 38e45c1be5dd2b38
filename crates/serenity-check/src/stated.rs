//! What a graph states of its kernels, counted once more: aliases, and outputs that take the place of an input which their op is the last to read, whatever the order.

use crate::holdings::Holding;
use crate::reach::Reach;
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Lets tensors share memory as the graph says they do.
pub(crate) fn share(graph: &Graph, holdings: &mut [Option<Holding>]) {
    if !graph.states_sharing() {
        return;
    }
    let mut reach = Reach::new(graph);
    let mut hosts: Vec<BTreeSet<TensorId>> = graph.tensor_ids().map(|t| BTreeSet::from([t])).collect();
    for id in graph.file_order() {
        let op = graph.op(id);
        let mut views: BTreeMap<TensorId, BTreeSet<TensorId>> = BTreeMap::new();
        for (view, of) in op.aliases() {
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
        let mut taken = BTreeSet::new();
        for (new, old) in op.in_place() {
            let Some(host) =
                host_to_take(graph, &hosts, &mut reach, id, new, old).filter(|host| !taken.contains(host))
            else {
                continue;
            };
            taken.insert(host);
            hosts[new.index()] = BTreeSet::from([host]);
            if let (Some(guest), Some(memory)) = (holdings[new.index()].take(), &mut holdings[host.index()]) {
                memory.readers.extend(guest.readers);
                memory.kept |= guest.kept;
                // What is there from the start is brought to life by nobody.
                if !memory.writers.is_empty() {
                    memory.writers.push(id);
                }
            }
        }
    }
}

/// The memory that `new` may take over from `old`, whatever the order: all of one tensor's, as large, which nobody wants but the op, those that passed it on, and those that have run before.
fn host_to_take(
    graph: &Graph,
    hosts: &[BTreeSet<TensorId>],
    reach: &mut Reach,
    id: OpId,
    new: TensorId,
    old: TensorId,
) -> Option<TensorId> {
    let host = *hosts[old.index()].first().filter(|_| hosts[old.index()].len() == 1)?;
    let is_whole = graph.tensor(host).bytes == graph.tensor(new).bytes;
    if !is_whole || hosts[new.index()] != BTreeSet::from([new]) {
        return None;
    }
    let inside: BTreeSet<TensorId> =
        graph.tensor_ids().filter(|t| hosts[t.index()].contains(&host)).collect();
    let passes_on = |reader: OpId| graph.op(reader).outputs.iter().any(|output| inside.contains(output));
    let is_free = inside.iter().all(|&t| {
        let others = graph.consumers(t).iter().filter(|&&reader| reader != id);
        let is_read_otherwise = t != old && graph.consumers(t).contains(&id);
        !graph.is_output(t)
            && !is_read_otherwise
            && others.into_iter().all(|&reader| passes_on(reader) || reach.precedes(reader, id))
    });
    is_free.then_some(host)
}
