//! Sharing that a graph states itself, for frameworks that know their own kernels: aliases, and outputs that may take the place of an input ([`Op::in_place`](serenity_ir::Op::in_place)).
//!
//! Let an op be allowed to write `y` over `x`, of the same size. If it is the last that reads the memory of `x`, in whatever order, it is no worse to do so: the two are one buffer. If others may read it later,
//! the order decides who is the last: that is for whoever knows the order, as placement does. So the peak of an order counts what is certain, and [`least_storage`] what could be.

use crate::ArenaProblem;
use serenity_arena::{Overlap, Step};
use serenity_ir::{BufferId, Graph, OpId, Storage, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Where the tensors lie if every op does in place what it may do for certain.
pub(crate) fn storage(graph: &Graph) -> Storage {
    if graph.states_sharing() { Shared::of(graph).storage } else { Storage::one_buffer_a_tensor(graph) }
}

/// The same where also what an op might do in place, as the last of several readers, costs nothing while it is written, but only from its first reader on: no order and no placement needs less.
pub(crate) fn least_storage(graph: &Graph) -> Storage {
    if !graph.states_sharing() {
        return Storage::one_buffer_a_tensor(graph);
    }
    let shared = Shared::of(graph);
    let late: Vec<TensorId> = graph
        .ops()
        .iter()
        .flat_map(|op| op.in_place().filter(|&(y, x)| shared.is_possible(graph, y, x)).map(|(y, _)| y))
        .collect();
    let mut storage = shared.storage;
    for y in late {
        storage.late.insert(BufferId(y.0), y);
    }
    storage
}

/// A tensor that an op may write over one that it reads, if it is the last that needs its memory: in some orders, not in others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOver {
    /// The op.
    pub op: OpId,
    /// What it writes.
    pub output: TensorId,
    /// All others that read or write the memory that it would take.
    pub others: Vec<OpId>,
}

/// All of these, besides what is certain.
pub fn possible_writes_over(graph: &Graph) -> Vec<WriteOver> {
    let shared = Shared::of(graph);
    let mut found = Vec::new();
    for op in graph.op_ids() {
        for (output, x) in graph.op(op).in_place() {
            if !shared.is_possible(graph, output, x) {
                continue;
            }
            let tenants = &shared.tenants[shared.storage.of[x.index()][0].index()];
            let users =
                tenants.iter().flat_map(|&t| graph.consumers(t).iter().copied().chain(graph.producer(t)));
            let others: BTreeSet<OpId> = users.filter(|&user| user != op).collect();
            found.push(WriteOver { op, output, others: others.into_iter().collect() });
        }
    }
    found
}

/// With permission to write over what dies, where the order makes the op that may do so the last reader.
pub(crate) fn with_overlaps(arena: ArenaProblem, graph: &Graph, order: &[OpId]) -> Option<ArenaProblem> {
    if !graph.states_sharing() {
        return Some(arena);
    }
    let buffers = arena.problem.buffers();
    let mut buffer_of: BTreeMap<TensorId, Vec<usize>> = BTreeMap::new();
    for (buffer, tensors) in arena.tensors.iter().enumerate() {
        for &tensor in tensors {
            buffer_of.entry(tensor).or_default().push(buffer);
        }
    }
    let mut pairs = BTreeSet::new();
    for (step, &op) in order.iter().enumerate() {
        for (y, x) in graph.op(op).in_place() {
            let (Some(&[writer]), Some(&[over])) =
                (buffer_of.get(&y).map(Vec::as_slice), buffer_of.get(&x).map(Vec::as_slice))
            else {
                continue;
            };
            let reads_otherwise =
                graph.op(op).inputs.iter().any(|t| *t != x && arena.tensors[over].contains(t));
            let (new, old) = (&buffers[writer], &buffers[over]);
            let is_handed_over = old.last == step as Step
                && new.first == step as Step
                && old.first < new.first
                && old.size == new.size;
            // What the caller wants in the end is in use after the last op too.
            let is_wanted = arena.tensors[over].iter().any(|&tenant| graph.is_output(tenant));
            if writer != over && !reads_otherwise && !is_wanted && is_handed_over {
                pairs.insert((writer, over));
            }
        }
    }
    let overlaps = pairs.into_iter().map(|(writer, over)| Overlap::same_offset(writer, over)).collect();
    let problem = arena.problem.with_overlaps(overlaps).ok()?;
    Some(ArenaProblem { problem, ..arena })
}

/// Storage, and who lives in each buffer.
struct Shared {
    storage: Storage,
    tenants: Vec<Vec<TensorId>>,
}

impl Shared {
    fn of(graph: &Graph) -> Self {
        let storage = Storage::one_buffer_a_tensor(graph);
        let tenants = graph.tensor_ids().map(|t| vec![t]).collect();
        let mut shared = Self { storage, tenants };
        for op in graph.file_order() {
            for &y in &graph.op(op).outputs {
                shared.make_view(graph, op, y);
            }
            let mut given = Vec::new();
            for (y, x) in graph.op(op).in_place() {
                if shared.is_possible(graph, y, x)
                    && shared.is_last_reader(graph, op, x)
                    && !given.contains(&shared.storage.of[x.index()][0])
                {
                    given.push(shared.storage.of[x.index()][0]);
                    shared.move_in(y, &[shared.storage.of[x.index()][0]]);
                }
            }
        }
        shared
    }

    /// An alias lies where the tensors lie that it is another name for.
    fn make_view(&mut self, graph: &Graph, op: OpId, y: TensorId) {
        let pieces: BTreeSet<BufferId> = graph
            .op(op)
            .aliases()
            .filter(|(output, _)| *output == y)
            .flat_map(|(_, x)| self.storage.of[x.index()].clone())
            .collect();
        if !pieces.is_empty() {
            self.move_in(y, &pieces.into_iter().collect::<Vec<_>>());
            self.storage.is_view[y.index()] = true;
        }
    }

    fn move_in(&mut self, y: TensorId, buffers: &[BufferId]) {
        for buffer in &self.storage.of[y.index()] {
            self.tenants[buffer.index()].retain(|tenant| *tenant != y);
        }
        self.storage.of[y.index()] = buffers.to_vec();
        for buffer in buffers {
            self.tenants[buffer.index()].push(y);
        }
    }

    /// Could `y` take the place of `x` in some order? It has one of its own, `x` is all there is in a buffer, and nobody wants that in the end.
    fn is_possible(&self, graph: &Graph, y: TensorId, x: TensorId) -> bool {
        let bytes = |t: TensorId| graph.tensor(t).bytes;
        let [buffer] = self.storage.of[x.index()][..] else { return false };
        self.storage.of[y.index()] == [BufferId(y.0)]
            && self.storage.bytes[buffer.index()] == bytes(y)
            && !self.tenants[buffer.index()].iter().any(|&tenant| graph.is_output(tenant))
    }

    /// Is `op` the last that reads what lies where `x` lies, in every order, apart from those that made other tensors of it there, and does it read that as `x` alone?
    fn is_last_reader(&self, graph: &Graph, op: OpId, x: TensorId) -> bool {
        let tenants = &self.tenants[self.storage.of[x.index()][0].index()];
        let stays_inside =
            |reader: OpId| graph.op(reader).outputs.iter().any(|output| tenants.contains(output));
        let readers =
            || tenants.iter().flat_map(|&t| graph.consumers(t).iter().map(move |&reader| (t, reader)));
        if readers().any(|(tenant, reader)| reader == op && tenant != x) {
            return false;
        }
        let mut others =
            readers().map(|(_, reader)| reader).filter(|&r| r != op && !stays_inside(r)).peekable();
        if others.peek().is_none() {
            return true;
        }
        let before = all_before(graph, op);
        others.all(|reader| before.contains(&reader))
    }
}

/// The ops that have run whenever this one runs.
fn all_before(graph: &Graph, op: OpId) -> BTreeSet<OpId> {
    let (mut before, mut open) = (BTreeSet::new(), vec![op]);
    while let Some(op) = open.pop() {
        open.extend(graph.predecessors(op).into_iter().filter(|&p| before.insert(p)));
    }
    before
}
