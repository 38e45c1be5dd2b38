//! The joint plan: what lies where in which memory, and at which moments.
//!
//! A round is a sequence of moments. At each, one model runs, or a set of models that may run at the same time. Their
//! arenas share memory with those of other moments, never with each other. What a model keeps between runs has bytes of
//! its own, and so has an output until the last model that it feeds has begun.

use crate::app::{App, Form, Memory};
use crate::in_place::bring_together;
use crate::kept::kept;
use crate::planned::{ALIGNMENT, Divided, Made, PlannedModel};
use crate::{DeviceError, Free, Search};
use serenity::memories::two_memories::{Obvious, Traffic};
use serenity_arena::{Buffer, Options as Placing, Problem, Step, place};
use serenity_ir::Tensor;
use serenity_report::grouped;
use serenity_search::{Proof, StopReason};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Models, and where they lie.
pub struct DevicePlan {
    /// The memories, in the order of the file.
    pub memories: Vec<Filled>,
    /// Where the arena of each model lies: one or two parts.
    pub parts: Vec<Vec<Part>>,
    /// Outputs that are kept until they have become inputs.
    pub handed: Vec<Handed>,
    /// What the bytes cost that one run of each model reads and writes.
    pub cost: u64,
    /// A lower bound on that cost, for these plans of the models and these memories.
    pub bound: u64,
    /// Does the cost meet the bound?
    pub proof: Proof,
    /// A lower bound on the bytes that one run of each model touches outside the cheapest memory, for these plans of
    /// the models.
    pub slow_bound: u64,
    /// The division of each model that lies in two memories.
    pub(crate) divided: Vec<Option<Divided>>,
}

/// What lies in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Bytes that arenas and handed outputs share.
    pub shared: u64,
    /// Bytes that are kept from one run to the next, which nothing shares.
    pub state: u64,
    /// A lower bound on the shared bytes, with the same things in this memory.
    pub shared_bound: u64,
}

/// A part of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The memory.
    pub memory: usize,
    /// The offset in what is shared there.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// What a run reads and writes in it.
    pub traffic: Traffic,
}

/// An output that is kept until it has become an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The model that computes it.
    pub from: usize,
    /// Which of its outputs.
    pub output: usize,
    /// The last moment in which it becomes an input.
    pub until: usize,
    /// The memory.
    pub memory: usize,
    /// The offset in what is shared there.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

/// How a model may lie: its parts without offsets, what its bytes cost, and its division if there are two parts.
#[derive(Clone)]
struct Way {
    parts: Vec<Part>,
    cost: u64,
    divided: Option<Divided>,
}

/// Lower bounds for one model: what its bytes cost, and how many lie outside the cheapest memory of the device.
struct Least {
    cost: u64,
    slow_bytes: u64,
}

/// Sets of models that run together are tried in every order up to this size.
const MOST_ORDERED: usize = 4;

impl DevicePlan {
    /// Static memory in all.
    pub fn ram(&self) -> u64 {
        self.memories.iter().map(|filled| filled.shared + filled.state).sum()
    }

    /// Bytes that one run of each model touches in a memory.
    pub fn traffic(&self, memory: usize) -> Traffic {
        let parts = self.parts.iter().flatten().filter(|part| part.memory == memory);
        parts.fold(Traffic::default(), |sum, part| sum.plus(part.traffic))
    }

    /// Less is better; the first figure decides.
    pub(crate) fn effort(&self) -> (u64, u64) {
        (self.cost, self.ram())
    }

    /// Models lie in an obvious way, or so that their bytes cost little.
    pub(crate) fn new(
        path: &str,
        app: &App,
        models: &[PlannedModel],
        obvious: Option<Obvious>,
        search: &Search,
    ) -> Result<Self, DeviceError> {
        let mut planner = Planner { path, app, models, obvious, free: Vec::new(), moments: app.moments() };
        let state = planner.set_state_aside()?;
        let mut handed = planner.handed()?;
        let ways = planner.ways(&handed)?;
        let cost = ways.iter().map(|way| way.cost).sum();
        let least: Vec<Least> = (0..models.len()).map(|model| planner.least(model)).collect();
        let bound = least.iter().map(|least| least.cost).sum::<u64>().min(cost);
        let slow_bound = least.iter().map(|least| least.slow_bytes).sum();
        let divided = ways.iter().map(|way| way.divided.clone()).collect();
        let mut parts: Vec<Vec<Part>> = ways.into_iter().map(|way| way.parts).collect();
        let mut memories = Vec::new();
        for (memory, &state) in state.iter().enumerate() {
            let [shared, shared_bound] = planner.place_in(memory, &mut parts, &mut handed, search)?;
            memories.push(Filled { shared, state, shared_bound });
        }
        // What hides bytes may cost more than is known.
        let is_least = cost <= bound && models.iter().all(PlannedModel::counts_everything);
        let stopped = (!is_least).then_some(StopReason::Heuristic);
        let proof = stopped.map_or(Proof::Optimal, |stopped| Proof::Gap { stopped });
        let mut plan = Self { memories, parts, handed, cost, bound, proof, slow_bound, divided };
        bring_together(&mut plan, app, models);
        Ok(plan)
    }
}

struct Planner<'a> {
    path: &'a str,
    app: &'a App,
    models: &'a [PlannedModel],
    /// How models lie, if cheap bytes are not what counts.
    obvious: Option<Obvious>,
    /// Bytes of each memory that may be shared.
    free: Vec<u64>,
    moments: Vec<Vec<usize>>,
}

impl Planner<'_> {
    /// Counts what persists; returns its bytes in each memory.
    fn set_state_aside(&mut self) -> Result<Vec<u64>, DeviceError> {
        let mut state = vec![0; self.app.memories.len()];
        let alignment = self.models.iter().map(PlannedModel::alignment).max().unwrap_or(1);
        self.free = self.app.memories.iter().map(|memory| memory.size / alignment * alignment).collect();
        for kept in kept(self.app, self.models) {
            let bytes = kept.bytes.arm32.next_multiple_of(ALIGNMENT);
            let free = self.free[kept.memory];
            if bytes > free {
                let names: Vec<&str> =
                    kept.models.iter().map(|&model| self.app.models[model].name.as_str()).collect();
                let what = format!("what `{}` must keep from run to run needs", names.join("`, `"));
                return Err(self.no_room(what, bytes, kept.memory, free));
            }
            self.free[kept.memory] -= bytes;
            state[kept.memory] += bytes;
        }
        Ok(state)
    }

    /// The error for a memory that lacks room for what is no model.
    fn no_room(&self, what: String, bytes: u64, memory: usize, free: u64) -> DeviceError {
        let (path, free) = (self.path.to_owned(), self.free_of(&[(memory, free)]));
        DeviceError::NoRoom { path, what, bytes, lack: None, free, largest: Vec::new(), may_change: false }
    }

    /// What is left of each memory, for messages.
    fn free_of(&self, room: &[(usize, u64)]) -> Vec<Free> {
        let free =
            |&(memory, bytes): &(usize, u64)| Free { memory: self.app.memories[memory].clone(), bytes };
        room.iter().map(free).collect()
    }

    /// The outputs that are copied aside until the last model that takes them begins. They are touched twice, so they
    /// lie in the memory that costs most, if it has room.
    fn handed(&self) -> Result<Vec<Handed>, DeviceError> {
        let mut until: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (fed, model) in self.app.models.iter().enumerate() {
            for feed in &model.feeds {
                self.check_feed(fed, feed.from, feed.output, feed.input)?;
                if !self.app.takes_directly(fed) {
                    let last = until.entry((feed.from, feed.output)).or_default();
                    *last = (*last).max(self.app.moment(fed));
                }
            }
        }
        let costly = |&memory: &usize| {
            let Memory { read, write, .. } = self.app.memories[memory];
            (self.free[memory] > 0, read + write, self.free[memory])
        };
        let memory = (0..self.free.len()).max_by_key(costly).unwrap_or_default();
        let handed = until.iter().map(|(&(from, output), &until)| {
            let bytes = self.models[from].port(false, output).unwrap_or_default();
            let bytes = bytes.next_multiple_of(ALIGNMENT);
            Handed { from, output, until, memory, offset: 0, bytes }
        });
        Ok(handed.collect())
    }

    /// Refuses to feed an input with what is not there, or has another size.
    fn check_feed(&self, fed: usize, from: usize, output: usize, input: usize) -> Result<(), DeviceError> {
        let [from_name, fed_name] = [from, fed].map(|model| &self.app.models[model].name);
        let [out, into] =
            [self.models[from].tensor_at(false, output), self.models[fed].tensor_at(true, input)];
        let reason = match (out, into) {
            (None, _) => {
                let count = self.models[from].outputs();
                format!("`{from_name}` has no output {output}: there are {count}, counted from 0")
            }
            _ if !self.has_place(from, false, output) => {
                format!("TFLM gives output {output} of `{from_name}` no memory, so nothing can take it")
            }
            _ if !self.has_place(fed, true, input) => {
                format!("TFLM gives input {input} of `{fed_name}` no memory, so nothing can feed it")
            }
            (Some(out), Some(into)) if out.bytes != into.bytes || out.dtype != into.dtype => format!(
                "output {output} of `{from_name}` is {}, and input {input} of `{fed_name}` is {}",
                described(out),
                described(into)
            ),
            _ => return Ok(()),
        };
        Err(DeviceError::Feed { path: self.path.to_owned(), reason })
    }

    /// Is an input or output where it can be copied from or to? TFLM asks for no buffer for a constant.
    fn has_place(&self, model: usize, is_input: bool, index: usize) -> bool {
        let planned = &self.models[model];
        matches!(planned.made, Made::Code { .. }) || planned.port_place(is_input, index, None).is_some()
    }

    /// How each model lies.
    fn ways(&self, handed: &[Handed]) -> Result<Vec<Way>, DeviceError> {
        let mut ways: BTreeMap<usize, Way> = BTreeMap::new();
        for (moment, running) in self.moments.iter().enumerate() {
            let mut free = self.free.clone();
            for kept in handed.iter().filter(|kept| self.is_kept(kept, moment)) {
                free[kept.memory] = free[kept.memory].saturating_sub(kept.bytes);
            }
            let orders = if self.obvious.is_some() { vec![running.clone()] } else { orders(running) };
            let all = orders.iter().map(|order| self.in_order(order, free.clone()));
            let best = all.min_by_key(|ways| {
                ways.as_ref().map_or(u64::MAX, |ways| ways.iter().map(|(_, way)| way.cost).sum())
            });
            ways.extend(best.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        }
        Ok(ways.into_values().collect())
    }

    /// Is an output in the way of the models of a moment?
    fn is_kept(&self, handed: &Handed, moment: usize) -> bool {
        life_of(self.app, handed).contains(&(2 * moment as Step))
    }

    /// Each model in turn takes the cheapest way that is left, or the obvious one.
    fn in_order(&self, order: &[usize], mut free: Vec<u64>) -> Result<Vec<(usize, Way)>, DeviceError> {
        order
            .iter()
            .map(|&model| {
                let way = match self.obvious {
                    None => self.cheapest(model, &free)?,
                    Some(obvious) => self.obvious(obvious, model, &free)?,
                };
                way.parts.iter().for_each(|part| free[part.memory] -= part.bytes);
                Ok((model, way))
            })
            .collect()
    }

    /// The cheapest way for a model to lie in what is free.
    fn cheapest(&self, model: usize, free: &[u64]) -> Result<Way, DeviceError> {
        let (planned, said) = (&self.models[model], &self.app.models[model]);
        let bytes = arena(planned);
        let whole = |&memory: &usize| {
            (bytes <= free[memory]).then(|| self.way(&[(memory, bytes, planned.traffic)], None))
        };
        let in_one = said.memories.iter().find_map(whole);
        // What lies in the cheapest memory as a whole cannot cost less.
        let is_cheapest = in_one.as_ref().is_some_and(|way| way.parts[0].memory == said.memories[0]);
        let pairs =
            said.memories.iter().enumerate().flat_map(|(rank, &first)| {
                said.memories[rank + 1..].iter().map(move |&second| [first, second])
            });
        let divided = pairs.filter(|_| !is_cheapest).filter_map(|pair| {
            let dearer = self.dearer(pair[1], |of| of(&self.app.memories[pair[0]]));
            let divided = planned.divided((pair.map(|memory| free[memory]), dearer)).ok();
            Some(self.divided_way(pair, divided.filter(|divided| divided.is_right)?))
        });
        let best = in_one.into_iter().chain(divided).min_by_key(|way| way.cost);
        best.ok_or_else(|| self.no_room_for(model, free))
    }

    fn no_room_for(&self, model: usize, free: &[u64]) -> DeviceError {
        let (said, planned) = (&self.app.models[model], &self.models[model]);
        // A model lies in two memories at most.
        let mut largest = said.memories.clone();
        largest.sort_by_key(|&memory| Reverse(free[memory]));
        largest.truncate(2);
        largest.sort_unstable();
        let room: Vec<(usize, u64)> = largest.into_iter().map(|memory| (memory, free[memory])).collect();
        let bytes = arena(planned);
        let lack = match room[..] {
            [(_, first), (_, second)] => {
                let missing = bytes.saturating_sub(first.saturating_add(second));
                let lack = planned.divided(([first, second], [1, 1])).err();
                // A stream of rows needs less than what is divided.
                lack.filter(|lack| missing == 0 || lack.missing <= missing).map(Box::new)
            }
            _ => None,
        };
        let (what, may_change) = match said.form {
            Form::Places => ("its tensors need".to_owned(), false),
            Form::Code | Form::Tflm(_) => (format!("the tensors of `{}` need", said.name), true),
        };
        let (path, free) = (self.path.to_owned(), self.free_of(&room));
        DeviceError::NoRoom { path, what, bytes, lack, free, largest: planned.largest_at_peak(), may_change }
    }

    /// A model in the cheapest and the dearest of its memories, which is the slow one.
    fn obvious(&self, obvious: Obvious, model: usize, free: &[u64]) -> Result<Way, DeviceError> {
        let (planned, said) = (&self.models[model], &self.app.models[model]);
        let bytes = arena(planned);
        let pair = [said.memories[0], said.memories[said.memories.len() - 1]];
        let whole = |memory: usize| {
            (bytes <= free[memory]).then(|| self.way(&[(memory, bytes, planned.traffic)], None))
        };
        let in_both = || {
            let divided = planned.divided_as(obvious, pair.map(|memory| free[memory]));
            Some(self.divided_way(pair, divided.filter(|divided| divided.is_right)?))
        };
        let is_all_slow = obvious == Obvious::AllSlow || pair[0] == pair[1];
        let way = if is_all_slow { None } else { whole(pair[0]).or_else(in_both) };
        way.or_else(|| whole(pair[1])).ok_or_else(|| self.no_room_for(model, free))
    }

    fn divided_way(&self, pair: [usize; 2], divided: Divided) -> Way {
        let filled = pair.into_iter().zip(divided.bytes).zip(&divided.division.memories);
        let parts: Vec<(usize, u64, Traffic)> = filled
            .map(|((memory, bytes), filled)| (memory, bytes, filled.traffic))
            .filter(|part| part.1 > 0)
            .collect();
        self.way(&parts, Some(divided))
    }

    fn way(&self, parts: &[(usize, u64, Traffic)], divided: Option<Divided>) -> Way {
        let part = |&(memory, bytes, traffic)| Part { memory, offset: 0, bytes, traffic };
        let cost = parts.iter().map(|(memory, _, traffic)| self.cost(*memory, *traffic)).sum();
        Way { parts: parts.iter().map(part).collect(), cost, divided }
    }

    fn cost(&self, memory: usize, traffic: Traffic) -> u64 {
        let Memory { read, write, .. } = self.app.memories[memory];
        traffic.read.saturating_mul(read).saturating_add(traffic.written.saturating_mul(write))
    }

    /// A lower bound on what the bytes of a model cost: as if it had its cheapest memory to itself, and all others were
    /// one, as cheap as the cheapest of them.
    fn least(&self, model: usize) -> Least {
        let (planned, said) = (&self.models[model], &self.app.models[model]);
        let first = said.memories[0];
        let least = |of: fn(&Memory) -> u64| {
            said.memories.iter().map(|&memory| of(&self.app.memories[memory])).min().unwrap_or_default()
        };
        let Traffic { read, written } = planned.traffic;
        let base = read.saturating_mul(least(|memory| memory.read));
        let base = base.saturating_add(written.saturating_mul(least(|memory| memory.write)));
        let others = &said.memories[1..];
        let is_slow = self.app.cheapest_memory() != Some(first);
        if arena(planned) <= self.free[first] || others.is_empty() {
            return Least { cost: base, slow_bytes: if is_slow { planned.traffic.bytes() } else { 0 } };
        }
        let rest = others.iter().fold(0_u64, |sum, &memory| sum.saturating_add(self.free[memory]));
        let dearer = others.iter().map(|&memory| self.dearer(memory, least));
        let dearer = dearer.fold([u64::MAX; 2], |[r, w], [read, write]| [r.min(read), w.min(write)]);
        let beside = |dearer| {
            let divided = planned.divided(([self.free[first], rest], dearer));
            divided.map_or(0, |divided| divided.division.bound)
        };
        let slow_bytes = if is_slow { planned.traffic.bytes() } else { beside([1, 1]) };
        Least { cost: base.saturating_add(beside(dearer)), slow_bytes }
    }

    /// How much more a byte costs in a memory that is read, and written.
    fn dearer(&self, memory: usize, than: impl Fn(fn(&Memory) -> u64) -> u64) -> [u64; 2] {
        [|memory: &Memory| memory.read, |memory: &Memory| memory.write]
            .map(|of| of(&self.app.memories[memory]).saturating_sub(than(of)))
    }

    /// Gives everything in a memory its offset; returns the bytes that are shared there, and a lower bound on them.
    fn place_in(
        &self,
        memory: usize,
        parts: &mut [Vec<Part>],
        handed: &mut [Handed],
        search: &Search,
    ) -> Result<[u64; 2], DeviceError> {
        let (mut buffers, mut offsets) = (Vec::new(), Vec::new());
        for (model, parts) in parts.iter_mut().enumerate() {
            let moment = 2 * self.app.moment(model) as Step;
            for part in parts.iter_mut().filter(|part| part.memory == memory) {
                buffers.push(Buffer::new(part.bytes, moment..moment + 1));
                offsets.push(&mut part.offset);
            }
        }
        for kept in handed.iter_mut().filter(|kept| kept.memory == memory) {
            buffers.push(Buffer::new(kept.bytes, life_of(self.app, kept)));
            offsets.push(&mut kept.offset);
        }
        let Ok(problem) = Problem::new(buffers, ALIGNMENT) else {
            let what = "all models together need".to_owned();
            return Err(self.no_room(what, u64::MAX, memory, self.free[memory]));
        };
        let options = Placing { limits: search.limits.clone(), ..Placing::default() };
        let placement = place(&problem, &options);
        if placement.height > self.free[memory] {
            let what = "models, and outputs that wait for other models, need".to_owned();
            return Err(self.no_room(what, placement.height, memory, self.free[memory]));
        }
        for (offset, found) in offsets.into_iter().zip(placement.offsets) {
            *offset = found;
        }
        Ok([placement.height, placement.bound])
    }
}

/// While an output is kept, in steps of two a moment: from the gap behind its model to the gap before the last one that
/// takes it. Where others may run beside these, or copies might meet, the moments themselves as well.
pub(crate) fn life_of(app: &App, handed: &Handed) -> Range<Step> {
    let moments = app.moments();
    let (first, last) = (app.moment(handed.from), handed.until);
    let is_alone = |moment: usize| moments[moment].len() == 1;
    let outputs = app.outputs_taken(handed.from).len();
    let takes_one = |&model: &usize| app.models[model].feeds.len() == 1;
    let begins_behind = is_alone(first) && outputs == 1;
    let ends_before = is_alone(last) && moments[last].iter().all(takes_one);
    let begin = 2 * first as Step + Step::from(begins_behind);
    begin..2 * last as Step + Step::from(!ends_before)
}

/// The type, the shape and the bytes of a tensor, as far as they are known.
fn described(tensor: &Tensor) -> String {
    let dtype = tensor.dtype.as_ref().map_or_else(String::new, |dtype| format!("{dtype} "));
    let shape = tensor.shape.as_ref().map_or_else(String::new, |shape| format!("{shape:?} "));
    format!("{dtype}{shape}({} bytes)", grouped(tensor.bytes.into()))
}

/// The bytes of an arena.
pub(crate) fn arena(model: &PlannedModel) -> u64 {
    model.arena().max(1).next_multiple_of(model.alignment())
}

/// The orders in which models of a moment are given their places.
fn orders(running: &[usize]) -> Vec<Vec<usize>> {
    if running.len() > MOST_ORDERED {
        return vec![running.to_vec()];
    }
    let Some((&first, rest)) = running.split_first() else { return vec![Vec::new()] };
    let with_first = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| {
            let mut longer = order.clone();
            longer.insert(at, first);
            longer
        })
    };
    orders(rest).into_iter().flat_map(with_first).collect()
}
