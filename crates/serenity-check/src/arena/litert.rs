//! The span of LiteRT's arena for the main graph.
//!
//! Before the run the planner decides who lies in whose memory, and after which op memory is given back. It then places
//! in rounds: each ends with an op after which the rest is planned anew, around what is still there. In a round, what
//! stays for the whole run comes first, by number; the others by size, the largest first, of equals those of the
//! earlier op. Each takes the smallest gap that holds it, or lies on top.

use super::shelves::{Placed, Shelves, aligned};
use super::sorting::{hash_set, std_sort};
use crate::timeline::Span;
use serenity_facts::{LitertKernels, LitertPlace};
use serenity_ir::Operator::*;
use serenity_ir::{Graph, OpId, TensorId};

/// Every tensor begins at a multiple of this.
const ALIGNMENT: u64 = 64;

/// The last step of what is never given back.
const NEVER: usize = usize::MAX;

/// Memory that comes up for placing.
struct Request {
    bytes: u64,
    first: usize,
    last: usize,
    /// Its number, if it is a tensor that stays for the whole run.
    stays: Option<u32>,
    /// Others are only in the list that is sorted.
    is_placed_here: bool,
    offset: u64,
}

impl Request {
    fn steps(&self) -> Span {
        (self.first as u64, self.last as u64)
    }

    /// `None` if it ends where no number reaches.
    fn in_place(&self) -> Option<Placed> {
        Placed::new(self.offset, self.bytes, self.steps())
    }
}

/// `None` if it would be absurdly large.
pub(super) fn span(graph: &Graph, order: &[OpId]) -> Option<u64> {
    let planner = Planner::new(graph, order);
    let mut placed: Vec<Request> = Vec::new();
    let mut round = Vec::new();
    for (step, &op) in order.iter().enumerate() {
        round.extend(hash_set(planner.requests(step, op)));
        if planner.kernels.pauses(op) || step + 1 == order.len() {
            std_sort(&mut round, &comes_first);
            let new: Vec<Request> = round.drain(..).filter(|r: &Request| r.is_placed_here).collect();
            let Some(start) = new.iter().map(|r| r.first).min() else { continue };
            let stays = placed.iter().filter(|r| r.last >= start && r.bytes > 0);
            let mut there =
                Shelves::new(stays.map(Request::in_place).collect::<Option<Vec<_>>>()?, ALIGNMENT);
            for mut request in new {
                if request.bytes > 0 {
                    request.offset = smallest_gap(&there, &request)?;
                    there.insert(request.in_place()?);
                }
                placed.push(request);
            }
        }
    }
    placed.iter().try_fold(0, |most: u64, r| Some(most.max(r.offset.checked_add(r.bytes)?)))
}

fn comes_first(a: &Request, b: &Request) -> bool {
    match (a.stays, b.stays) {
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => (b.bytes, a.first) < (a.bytes, b.first),
    }
}

/// Gaps are compared by their length from the aligned beginning, but the best is remembered by its whole length: so it
/// is in the runtime.
fn smallest_gap(there: &Shelves, request: &Request) -> Option<u64> {
    let (mut best, mut best_length) = (None, u64::MAX);
    let top = there.gaps(request.steps(), request.bytes, |from, to| {
        let begin = aligned(from, ALIGNMENT);
        if to - begin < best_length {
            (best, best_length) = (Some(begin), to - from);
        }
        false
    });
    best.or(top?.checked_next_multiple_of(ALIGNMENT))
}

struct Planner<'a> {
    graph: &'a Graph,
    kernels: LitertKernels,
    /// By tensor: in whose memory the planner wants it.
    hosts: Vec<TensorId>,
    /// By host: the last step at which its memory is read.
    last_read: Vec<Option<usize>>,
}

impl<'a> Planner<'a> {
    fn new(graph: &'a Graph, order: &[OpId]) -> Self {
        let kernels = LitertKernels::of(graph);
        // Ops behind the first pause are not prepared when the planner decides, so it takes their results for tensors
        // of the arena.
        let prepared = order.iter().position(|&op| kernels.pauses(op)).map_or(order.len(), |pause| pause + 1);
        let mut is_late = vec![false; graph.ops().len()];
        for op in &order[prepared..] {
            is_late[op.index()] = true;
        }
        let is_in_arena = |t: TensorId| {
            graph.producer(t).is_some_and(|op| is_late[op.index()]) || kernels.place(t) == LitertPlace::Arena
        };
        let hosts: Vec<TensorId> = hosts(graph, is_in_arena).into_iter().map(|guest| guest.host).collect();
        let mut last_read = vec![None; graph.tensors().len()];
        for (step, &op) in order.iter().enumerate() {
            for t in &graph.op(op).inputs {
                last_read[hosts[t.index()].index()] = Some(step);
            }
        }
        Self { graph, kernels, hosts, last_read }
    }

    /// What the planner lists for the op at `step`: its results, before the first op also the inputs, and its temporaries.
    fn requests(&self, step: usize, op: OpId) -> Vec<Request> {
        let inputs = if step == 0 { self.graph.inputs() } else { &[] };
        let tensors = inputs.iter().chain(&self.graph.op(op).outputs);
        let mut requests: Vec<Request> = tensors.filter_map(|&t| self.tensor(t, step)).collect();
        requests.extend(self.kernels.temporaries(op).iter().map(|temporary| Request {
            bytes: temporary.bytes,
            first: step,
            last: step,
            stays: None,
            is_placed_here: temporary.place == LitertPlace::Arena,
            offset: 0,
        }));
        requests
    }

    fn tensor(&self, t: TensorId, step: usize) -> Option<Request> {
        let place = self.kernels.place(t);
        let bytes = self.graph.tensor(t).bytes;
        if bytes == 0 || matches!(place, LitertPlace::Folded | LitertPlace::Heap | LitertPlace::Later) {
            return None;
        }
        let is_callers = self.graph.is_input(t) || self.graph.is_output(t);
        let is_guest = self.hosts[t.index()] != t;
        let last = if is_callers || is_guest { NEVER } else { self.last_read[t.index()].unwrap_or(NEVER) };
        Some(Request {
            bytes,
            first: step,
            last,
            stays: (step == 0 && last == NEVER).then_some(t.0),
            is_placed_here: place == LitertPlace::Arena && !self.finds_its_host(t),
            offset: 0,
        })
    }

    /// Is the memory that it was to lie in there when it comes up?
    fn finds_its_host(&self, t: TensorId) -> bool {
        let host = self.hosts[t.index()];
        // A reshaping to a computed shape, of what it cannot share, goes to the heap when it runs; only its place stays reserved.
        let moves_away = self.graph.producer(host).is_some_and(|op| self.kernels.pauses(op));
        host != t && self.kernels.place(host) == LitertPlace::Arena && !moves_away
    }
}

/// Where a tensor lies, and whether its op changed what lay there.
#[derive(Clone, Copy)]
pub(crate) struct Guest {
    pub(crate) host: TensorId,
    pub(crate) changes: bool,
}

/// For each tensor, the one in whose memory LiteRT wants it: itself if it is to have its own.
pub(crate) fn hosts(graph: &Graph, is_in_arena: impl Fn(TensorId) -> bool) -> Vec<Guest> {
    let mut guests: Vec<Guest> = graph.tensor_ids().map(|t| Guest { host: t, changes: false }).collect();
    for id in graph.file_order() {
        let op = graph.op(id);
        let Some(&result) = op.outputs.first() else { continue };
        let (operands, changes) = match op.kind.operator() {
            RESHAPE | EXPAND_DIMS | SQUEEZE | BITCAST => (1, false),
            SOFTMAX | DYNAMIC_UPDATE_SLICE => (1, true),
            ADD | SUB | MUL | DIV => (2, true),
            _ => continue,
        };
        let chosen = (0..operands).filter_map(|position| op.operand(position)).find(|&t| {
            let same_size = graph.tensor(t).bytes == graph.tensor(result).bytes;
            let is_free = !graph.is_input(t) && !graph.is_output(result);
            let can_change = graph.tensor(t).bytes > 4 && uses(graph, t) <= 1;
            same_size && is_free && is_in_arena(t) && (can_change || !changes)
        });
        let Some(host) = chosen.map(|t| guests[t.index()].host) else { continue };
        // It does not look at the other operand then.
        if !changes || uses(graph, host) <= 1 {
            guests[result.index()] = Guest { host, changes };
        }
    }
    guests
}

/// How often a tensor is read, and whether the caller wants it.
fn uses(graph: &Graph, t: TensorId) -> usize {
    let reads = |&op: &OpId| graph.op(op).inputs.iter().filter(|&&input| input == t).count();
    graph.consumers(t).iter().map(reads).sum::<usize>() + usize::from(graph.is_output(t))
}

/// Who reads what another has written over, and what, if the ops run in this order: LiteRT looks at the readers of the
/// tensor that it writes over, and of the one that owns the memory, but not at those of other names that the memory
/// has.
pub(crate) fn stale_reads(graph: &Graph, order: &[OpId]) -> Vec<(OpId, TensorId)> {
    let kernels = LitertKernels::of(graph);
    let guests = hosts(graph, |t| kernels.place(t) == LitertPlace::Arena);
    let mut residents: Vec<Vec<TensorId>> = vec![Vec::new(); graph.tensors().len()];
    let mut is_lost = vec![false; graph.tensors().len()];
    let mut stale = Vec::new();
    for &id in order {
        let op = graph.op(id);
        stale.extend(op.inputs.iter().filter(|t| is_lost[t.index()]).map(|&t| (id, t)));
        for &result in &op.outputs {
            let Guest { host, changes } = guests[result.index()];
            if changes {
                for lost in residents[host.index()].drain(..) {
                    is_lost[lost.index()] = true;
                }
            }
            residents[host.index()].push(result);
        }
    }
    stale
}
