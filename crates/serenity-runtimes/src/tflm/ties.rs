//! Copies that a memory plan can avoid.
//!
//! Some operators only copy: `RESHAPE` all of its input, `SLICE` a part, `CONCATENATION` of blocks each input to its
//! place, `DYNAMIC_UPDATE_SLICE` all that it does not write, and `WHILE` its state, from its inputs to its outputs,
//! from there to the inputs of its sub-graphs and back. If both ends of a copy are *tied*, so that every byte is copied
//! onto itself, one buffer holds both. Nobody's kernels replace these operators, but for `RESHAPE`, which everywhere
//! leaves alone what it finds in place.
//!
//! Tensors that are tied to each other make a group. Two of a group whose bytes meet while both are in use must agree about them:
//!
//! - they are the two ends of one such copy, or parts of one and the same tensor that nothing writes meanwhile (a write
//!   is a tensor of the group that comes to be meanwhile);
//! - or the one is written over the other as it dies, in a way that the kernel permits;
//! - or the one is a state of a `WHILE`, the other within its sub-graphs: while these run, the state is what their own
//!   tensors hold. It is copied to them before, and from them after.
//!
//! A tie that would break this is not made, and the copy is one.

use super::run::Run;
use crate::Overlap;
use crate::TFLM_ALIGNMENT;
use serenity_arena::{Buffer, Tie};
use serenity_ir::{Call, ElementType, Graph, OpId, Operator, TensorId};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type GraphTensor = (usize, TensorId);

/// One end of a copy lies `distance` bytes above the other.
#[derive(Clone, Copy, Debug)]
struct Copy {
    upper: GraphTensor,
    lower: GraphTensor,
    distance: u64,
    /// Does the one show a part of the other, rather than take its place?
    is_view: bool,
    letting_go: LettingGo,
}

/// When a copy may be better than avoiding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LettingGo {
    Never,
    /// If it brings a tensor of the main graph to where a loop needs it.
    Link,
    /// It brings what a loop carries into a line buffer. New rows must then lie right behind what is carried, so that
    /// each buffer has room of its own for them; buffers that what is carried is copied to can all have the same.
    Carry,
}

/// The ties of a model, and which of them could be dropped.
#[derive(Clone, Default)]
pub(crate) struct Ties {
    pub(super) all: Vec<Tie>,
    /// Indices of ties that bring a tensor to where a loop needs it.
    pub(super) links: Vec<usize>,
    /// Indices of ties that bring carried rows of a loop into a line buffer.
    pub(super) carries: Vec<usize>,
}

impl Ties {
    /// All but some, by number.
    pub(super) fn without(&self, gone: &[usize]) -> Self {
        let is_left = |number: &usize| !gone.contains(number);
        let left: Vec<usize> = (0..self.all.len()).filter(is_left).collect();
        let renumbered =
            |numbers: &[usize]| numbers.iter().filter_map(|number| left.binary_search(number).ok()).collect();
        Self {
            all: left.iter().map(|&number| self.all[number]).collect(),
            links: renumbered(&self.links),
            carries: renumbered(&self.carries),
        }
    }
}

/// Ties for the buffers of a run, which `index` finds by tensor; none if there is no loop.
pub(super) fn ties(run: &Run, buffers: &[Buffer], index: &BTreeMap<GraphTensor, usize>) -> Ties {
    tied(run, buffers, index).map_or_else(Ties::default, |(ties, _)| ties)
}

/// Buffers that are tied to each other, and how far above a common origin each lies.
pub(super) fn groups(
    run: &Run,
    buffers: &[Buffer],
    index: &BTreeMap<GraphTensor, usize>,
) -> Vec<Vec<(usize, i64)>> {
    let Some((_, groups)) = tied(run, buffers, index) else { return Vec::new() };
    let of =
        |members: &Vec<GraphTensor>| members.iter().map(|place| (index[place], groups.of[place].1)).collect();
    groups.members.iter().map(of).collect()
}

fn tied<'a>(
    run: &'a Run,
    buffers: &'a [Buffer],
    index: &'a BTreeMap<GraphTensor, usize>,
) -> Option<(Ties, Groups<'a>)> {
    let Copies { loops, inside, carried, others } = run.copies()?;
    let mut found = Ties::default();
    let mut groups = Groups {
        buffers,
        index,
        inside,
        states: loops
            .iter()
            .enumerate()
            .flat_map(|(at, state)| state.outside().map(move |place| (place, at)))
            .collect(),
        of: BTreeMap::new(),
        members: Vec::new(),
        copies: BTreeSet::new(),
        views: BTreeMap::new(),
        permitted: BTreeMap::new(),
    };
    for (graph, overlap) in run.overlaps() {
        groups.permitted.entry(((graph, overlap.input), (graph, overlap.output))).or_default().push(overlap);
    }
    let copies = loops.iter().flat_map(|state| state.copies(run));
    for copy in carried.iter().copied().chain(copies).chain(others.iter().copied()) {
        let (Some(&buffer), Some(&to)) = (index.get(&copy.upper), index.get(&copy.lower)) else { continue };
        if copy.distance.is_multiple_of(TFLM_ALIGNMENT) && groups.join(&copy) {
            match copy.letting_go {
                LettingGo::Never => {}
                LettingGo::Link => found.links.push(found.all.len()),
                LettingGo::Carry => found.carries.push(found.all.len()),
            }
            found.all.push(Tie { buffer, to, distance: copy.distance });
        }
    }
    Some((found, groups))
}

/// The copies of a model with loops, or of one that carries something from run to run, whatever its order.
pub(super) struct Copies {
    loops: Vec<State>,
    /// What leaves a run lies where the next one finds it. That is no choice, so it comes first.
    carried: Vec<Copy>,
    /// By sub-graph: the states of loops that it runs within, by number.
    inside: Vec<BTreeSet<usize>>,
    others: Vec<Copy>,
}

impl Copies {
    /// `None` if there are none.
    pub(super) fn of(graphs: &[&Graph]) -> Option<Self> {
        let loops = states(graphs);
        let pairs = graphs.first().map(|main| main.carried()).unwrap_or_default();
        let letting_go = LettingGo::Never;
        let tie = |(lower, upper)| Copy {
            upper: (0, upper),
            lower: (0, lower),
            distance: 0,
            is_view: false,
            letting_go,
        };
        let carried: Vec<Copy> = pairs.into_iter().map(tie).collect();
        let has_any = !loops.is_empty() || !carried.is_empty();
        has_any.then(|| Self { inside: inside(graphs, &loops), carried, others: copies(graphs), loops })
    }
}

/// One tensor of the state of a loop, in all the graphs that have it.
struct State {
    input: Option<GraphTensor>,
    output: GraphTensor,
    within: Vec<GraphTensor>,
    bodies: Vec<usize>,
    /// Does the body hand it on as it is?
    is_unchanged: bool,
}

fn states(graphs: &[&Graph]) -> Vec<State> {
    let mut found = Vec::new();
    for (index, graph) in graphs.iter().enumerate() {
        let is_loop = |op: &OpId| graph.op(*op).kind.operator() == Operator::WHILE;
        for op in graph.op_ids().filter(is_loop) {
            let call = Call::new(graph, op);
            let bodies: Vec<usize> = call.op.bodies().collect();
            let &[condition, body] = bodies.as_slice() else { continue };
            let (Some(entered), Some(run)) = (graphs.get(condition), graphs.get(body)) else { continue };
            // Whoever checks a plan must be able to follow the loop.
            if !is_counted(entered, run) {
                continue;
            }
            for (slot, &output) in call.op.outputs.iter().enumerate() {
                let of = |list: &[TensorId], graph: usize| list.get(slot).map(|&t| (graph, t));
                let within =
                    [of(entered.inputs(), condition), of(run.inputs(), body), of(run.outputs(), body)];
                let is_unchanged = run.inputs().get(slot) == run.outputs().get(slot);
                let input = call.activation(slot).map(|input| (index, input));
                let (within, output) = (within.into_iter().flatten().collect(), (index, output));
                found.push(State { input, output, within, bodies: bodies.clone(), is_unchanged });
            }
        }
    }
    found
}

/// Is there a loop whose number of iterations is known, as in the loops that we make of windows?
pub fn has_counted_loops(graphs: &[&Graph]) -> bool {
    !states(graphs).is_empty()
}

/// Is the number of iterations of a loop known: does it compare a counter with a constant, and look the next one up in
/// a table?
fn is_counted(condition: &Graph, body: &Graph) -> bool {
    let [op] = condition.ops() else { return false };
    let slot = condition.inputs().iter().position(|input| op.inputs == [*input]);
    let next = slot.and_then(|slot| body.producer(*body.outputs().get(slot)?));
    let is_looked_up = next.is_some_and(|next| {
        let next = body.op(next);
        next.kind.operator() == Operator::SLICE && next.constant(0).is_some()
    });
    op.kind.operator() == Operator::LESS && op.constant(1).is_some() && is_looked_up
}

impl State {
    fn outside(&self) -> impl Iterator<Item = GraphTensor> {
        self.input.into_iter().chain([self.output])
    }

    fn copies(&self, run: &Run) -> Vec<Copy> {
        // What goes through the loop unchanged only shows what came in, and that may be wanted afterwards.
        let is_view = self.is_unchanged;
        let tie = |upper, lower| Copy { upper, lower, distance: 0, is_view, letting_go: LettingGo::Never };
        let dying = |&(graph, t): &GraphTensor| is_view || run.dies_with(graph, t, self.output.1);
        let input = self.input.filter(dying).map(|input| tie(self.output, input));
        let within: BTreeSet<GraphTensor> = self.within.iter().copied().collect();
        within.into_iter().map(|place| tie(place, self.output)).chain(input).collect()
    }
}

/// By sub-graph: the loops, by number, that run it, however deep.
fn inside(graphs: &[&Graph], loops: &[State]) -> Vec<BTreeSet<usize>> {
    let mut within = vec![BTreeSet::new(); graphs.len()];
    for (number, state) in loops.iter().enumerate() {
        let mut open = state.bodies.clone();
        while let Some(graph) = open.pop() {
            if graph < graphs.len() && within[graph].insert(number) {
                open.extend(graphs[graph].ops().iter().flat_map(serenity_ir::Op::bodies));
            }
        }
    }
    within
}

/// All copies but those of loops.
fn copies(graphs: &[&Graph]) -> Vec<Copy> {
    let mut found = Vec::new();
    for (index, graph) in graphs.iter().enumerate() {
        for op in graph.op_ids() {
            found.extend(copies_of(graph, index, op).unwrap_or_default());
        }
    }
    found
}

fn copies_of(graph: &Graph, index: usize, op: OpId) -> Option<Vec<Copy>> {
    let call = Call::new(graph, op);
    let output = (index, call.output(0)?);
    let place = |t| (index, t);
    let letting_go = if index == 0 { LettingGo::Link } else { LettingGo::Never };
    let one =
        |upper, lower, distance, is_view| Some(vec![Copy { upper, lower, distance, is_view, letting_go }]);
    match call.operator() {
        Operator::RESHAPE => {
            let (from, to) = call.moved(0)?;
            (from.count == to.count).then_some(())?;
            one(output, place(call.activation(0)?), 0, true)
        }
        Operator::SLICE => one(output, place(call.activation(0)?), view(graph, op)?.0, true),
        Operator::DYNAMIC_UPDATE_SLICE => {
            call.moved(0)?;
            one(output, place(call.activation(0)?), 0, false)
        }
        Operator::CONCATENATION => {
            let to = call.only_result()?;
            let axis = call.axis(to.shape.len())?;
            // Pieces of channels, and of unsigned bytes, may be computed as they are copied.
            let is_copied = (to.shape.len(), axis) != (4, 3) && *to.dtype != ElementType::UInt8;
            let is_block = to.shape[..axis].iter().all(|&side| side == 1);
            (is_copied && is_block && !call.op.has_activation()).then_some(())?;
            let mut at = 0_u64;
            let mut found = Vec::new();
            for position in 0..call.operand_count() {
                let shape = call.shape(position)?;
                if let Some(input) = call.activation(position)
                    && call.dtype(position).as_ref() == Some(to.dtype)
                {
                    let (upper, lower) = (place(input), output);
                    let is_carried = index > 0 && graph.is_input(input);
                    let letting_go = if is_carried { LettingGo::Carry } else { letting_go };
                    found.push(Copy { upper, lower, distance: at, is_view: false, letting_go });
                }
                let elements = serenity_ir::counted_product(&shape)?;
                at = at.checked_add(elements.checked_mul(to.item as u64)?)?;
            }
            // Pieces of shapes that are not known yet need not add up.
            (at == to.count as u64 * to.item as u64).then_some(found)
        }
        _ => None,
    }
}

/// Where a slice that is in one piece begins in its tensor, and how long it is, in bytes.
pub(super) fn view(graph: &Graph, op: OpId) -> Option<(u64, u64)> {
    let call = Call::new(graph, op);
    let (from, to) = call.moved(0).filter(|_| call.operator() == Operator::SLICE)?;
    let (at, item) = (block(from.shape, to.shape, &call.values(1)?)?, from.item as u64);
    Some((at.checked_mul(item)?, (to.count as u64).checked_mul(item)?))
}

/// Where a slice begins in its tensor, in elements, if it is in one piece.
fn block(from: &[u64], to: &[u64], begins: &[i64]) -> Option<u64> {
    if from.len() != to.len() || begins.len() != from.len() {
        return None;
    }
    // Behind the first side of which there is more than one, everything is taken.
    let cut = to.iter().position(|&side| side != 1).unwrap_or(to.len());
    let is_whole = (cut + 1..to.len()).all(|side| to[side] == from[side]);
    let mut at = 0_u64;
    for (side, &begin) in begins.iter().enumerate() {
        let begin = u64::try_from(begin).ok()?;
        (begin.checked_add(to[side])? <= from[side]).then_some(())?;
        at = at.checked_mul(from[side])?.checked_add(begin)?;
    }
    is_whole.then_some(at)
}

/// Tensors that are tied so far.
struct Groups<'a> {
    buffers: &'a [Buffer],
    index: &'a BTreeMap<GraphTensor, usize>,
    /// By sub-graph: the states of loops that it runs within.
    inside: &'a [BTreeSet<usize>],
    states: BTreeMap<GraphTensor, usize>,
    /// The group of a tensor, and how far above its origin it lies.
    of: BTreeMap<GraphTensor, (usize, i64)>,
    members: Vec<Vec<GraphTensor>>,
    /// Ends of copies, the lower number first.
    copies: BTreeSet<(GraphTensor, GraphTensor)>,
    /// What a view shows.
    views: BTreeMap<GraphTensor, GraphTensor>,
    /// By input and output: how the one may be written over the other.
    permitted: BTreeMap<(GraphTensor, GraphTensor), Vec<Overlap>>,
}

impl Groups<'_> {
    /// Ties the ends of a copy, if all that are then tied agree.
    fn join(&mut self, copy: &Copy) -> bool {
        let &Copy { upper, lower, distance, .. } = copy;
        let [one, other] = [upper, lower].map(|place| self.group(place));
        let shift = self.of[&lower].1 + distance as i64 - self.of[&upper].1;
        let pair = (upper.min(lower), upper.max(lower));
        if one == other {
            let is_same = shift == 0;
            if is_same {
                self.copies.insert(pair);
            }
            return is_same;
        }
        let is_new = self.copies.insert(pair);
        let view = copy.is_view.then(|| self.views.insert(upper, lower));
        let agree = self.members[one].iter().all(|&a| {
            let at = self.of[&a].1 + shift;
            self.members[other].iter().all(|&b| self.agree(a, at, b, self.of[&b].1))
        });
        if !agree {
            if is_new {
                self.copies.remove(&pair);
            }
            if view.is_some() {
                self.views.remove(&upper);
            }
            return false;
        }
        for place in std::mem::take(&mut self.members[one]) {
            self.of.entry(place).and_modify(|of| *of = (other, of.1 + shift));
            self.members[other].push(place);
        }
        true
    }

    fn group(&mut self, place: GraphTensor) -> usize {
        let next = self.members.len();
        let (group, _) = *self.of.entry(place).or_insert((next, 0));
        if group == next {
            self.members.push(vec![place]);
        }
        group
    }

    /// May two tensors lie so many bytes above a common origin?
    fn agree(&self, a: GraphTensor, a_at: i64, b: GraphTensor, b_at: i64) -> bool {
        let [x, y] = [a, b].map(|place| self.buffers[self.index[&place]]);
        let are_apart = a_at + x.size as i64 <= b_at || b_at + y.size as i64 <= a_at || !x.lives_with(&y);
        are_apart
            || self.copies.contains(&(a.min(b), a.max(b)))
            || self.base(a) == self.base(b)
            || self.is_state_of(a, b)
            || self.is_state_of(b, a)
            || self.hands_over(a, a_at, b, b_at)
            || self.hands_over(b, b_at, a, a_at)
    }

    /// What a view shows in the end.
    fn base(&self, mut place: GraphTensor) -> GraphTensor {
        while let Some(&shown) = self.views.get(&place) {
            place = shown;
        }
        place
    }

    /// Is the first a state of a loop that the second is within?
    fn is_state_of(&self, state: GraphTensor, other: GraphTensor) -> bool {
        self.states.get(&state).is_some_and(|number| self.inside[other.0].contains(number))
    }

    /// Is the second written over the first by an op that permits it, as the first dies?
    fn hands_over(&self, input: GraphTensor, input_at: i64, output: GraphTensor, output_at: i64) -> bool {
        let ways = self.permitted.get(&(input, output)).into_iter().flatten();
        // From the lower of the two.
        let [input_at, output_at] = [input_at, output_at].map(|at| at.abs_diff(input_at.min(output_at)));
        ways.clone().any(|overlap| overlap.allows(input_at, output_at))
    }
}
