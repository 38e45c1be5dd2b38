//! One side of a page: a model in one order, with one memory model and one arrangement of its arena.

use serenity_arena::{Buffer, FOREVER, Planner, place};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_report::page::{Item, ItemPlace, Live, Role, Side, Step};
use serenity_runtimes::{Content, MemoryModel, MemoryModelExt, Offsets, TflmFacts, main_graph, steps_by_op};
use serenity_search::Limits;
use std::collections::BTreeMap;

/// Buffers that our planner may visit where no runtime decides the offsets: at most a second.
const WORK_OF_PLACES: u64 = 10_000_000;

/// A model in the form in which it runs.
pub(super) struct Ground<'a> {
    pub(super) graphs: &'a [Graph],
    /// The order of each graph, the main one first.
    pub(super) orders: Vec<Vec<OpId>>,
    pub(super) model: MemoryModel,
    /// The memory plan stored in the model, if there is one.
    pub(super) plan: Option<&'a Offsets>,
    /// Does it have loops of ours? What they hand on lies in the same bytes and must count once.
    pub(super) is_looped: bool,
}

/// A tensor or scratch buffer in the arena: what it is, its offset, and its lifetime.
struct Placed {
    content: Content,
    offset: u64,
    buffer: Buffer,
}

/// Who decided the offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Plan,
    Runtime,
    Us,
}

struct Builder<'a> {
    ground: &'a Ground<'a>,
    /// The position in the order of each op of the main graph.
    position: Vec<usize>,
    /// The first and last unit of time of each position in the order.
    spans: Vec<(usize, usize)>,
    items: Vec<Item>,
    tensors: BTreeMap<(usize, TensorId), usize>,
    scratch: BTreeMap<(usize, OpId), usize>,
}

impl Ground<'_> {
    /// The main graph with what the runtime adds to it.
    pub(super) fn main(&self) -> Graph {
        main_graph(self.graphs, &self.orders[1..], self.model)
    }

    /// Draws up the side.
    pub(super) fn side(&self) -> Side {
        let mut builder = Builder::new(self);
        let (placed, by) = self.placed();
        let places = builder.places(&placed);
        let shares_bytes = self.is_looped || self.carries();
        let mut side = if shares_bytes { builder.by_bytes(&places) } else { builder.by_lifetimes() };
        side.about_places = self.about_places(by);
        side.places = places;
        side.arena = self.side_arena();
        side
    }

    pub(super) fn side_arena(&self) -> Option<u64> {
        let (graphs, orders) = self.borrowed();
        Some(self.model.without_plan().arena(&graphs, &orders, self.plan)?.bytes)
    }

    fn borrowed(&self) -> (Vec<&Graph>, Vec<&[OpId]>) {
        (self.graphs.iter().collect(), self.orders.iter().map(Vec::as_slice).collect())
    }

    /// Does a plan lay both ends of what is carried from run to run into the same bytes?
    fn carries(&self) -> bool {
        let has_plan = self.plan.is_some_and(|plan| !plan.is_empty());
        has_plan && self.graphs.first().is_some_and(|main| !main.carried().is_empty())
    }

    /// The offsets of all tensors: as the runtime places them or, where it has none before it runs, as our planner
    /// would.
    fn placed(&self) -> (Vec<Placed>, By) {
        let (graphs, orders) = self.borrowed();
        let model = self.model.without_plan();
        let Some(problem) = model.placement_problem(&graphs, &orders) else {
            return (Vec::new(), By::Runtime);
        };
        let buffers = problem.problem.buffers();
        let arena = model.arena(&graphs, &orders, self.plan).filter(|arena| !arena.pieces.is_empty());
        let (offsets, by): (Vec<u64>, By) = if let Some(arena) = arena {
            // Both list everything in the runtime's order.
            let by = if self.plan.is_some() { By::Plan } else { By::Runtime };
            (arena.pieces.iter().map(|piece| piece.offset).collect(), by)
        } else {
            let limits = Limits::default().working(WORK_OF_PLACES);
            let options = serenity_arena::Options { limits, ..serenity_arena::Options::new(Planner::Exact) };
            (place(&problem.problem, &options).offsets, By::Us)
        };
        let all = problem.contents.iter().zip(buffers).zip(offsets);
        (all.map(|((&content, &buffer), offset)| Placed { content, offset, buffer }).collect(), by)
    }

    fn about_places(&self, by: By) -> String {
        let runtime = match self.model {
            MemoryModel::Tflm(_) | MemoryModel::TflmPlanned(_) => "TFLM",
            MemoryModel::Litert => "LiteRT",
            MemoryModel::Ort(_) => "ONNX Runtime",
            MemoryModel::Plain | MemoryModel::Paper => "",
        };
        match by {
            By::Plan => "As the plan in the model says.".to_owned(),
            By::Runtime => format!("As {runtime}'s own planner places them."),
            By::Us if runtime.is_empty() => {
                format!(
                    "The memory model `{}` stands for no runtime: as our planner would place them.",
                    self.model
                )
            }
            By::Us => format!("{runtime} has no places before it runs: as our planner would place them."),
        }
    }
}

impl<'a> Builder<'a> {
    fn new(ground: &'a Ground<'a>) -> Self {
        let order = &ground.orders[0];
        let mut position = vec![0; order.len()];
        for (at, op) in order.iter().enumerate() {
            position[op.index()] = at;
        }
        let graphs: Vec<&Graph> = ground.graphs.iter().collect();
        let orders: Vec<&[OpId]> = ground.orders.iter().map(Vec::as_slice).collect();
        // Ops that run other graphs take as many steps as those have.
        let kernels = ground.model.kernels().filter(|_| ground.graphs.len() > 1);
        let steps = kernels.and_then(|kernels| steps_by_op(&TflmFacts::new(&graphs, kernels), &orders));
        let unit = |step: i64| usize::try_from(step - 1).unwrap_or(0);
        let spans = match steps {
            Some(steps) => steps.into_iter().map(|steps| (unit(steps.start), unit(steps.end - 1))).collect(),
            None => (0..order.len()).map(|at| (at, at)).collect(),
        };
        Self {
            ground,
            position,
            spans,
            items: Vec::new(),
            tensors: BTreeMap::new(),
            scratch: BTreeMap::new(),
        }
    }

    fn length(&self) -> usize {
        self.spans.last().map_or(1, |span| span.1 + 1)
    }

    fn tensor(&mut self, graph: usize, id: TensorId) -> usize {
        if let Some(&known) = self.tensors.get(&(graph, id)) {
            return known;
        }
        let of = &self.ground.graphs[graph];
        let tensor = of.tensor(id);
        let is_main = graph == 0;
        let role = match () {
            () if !is_main => Role::Inner,
            () if of.is_input(id) => Role::Input,
            () if of.is_output(id) => Role::Output,
            () => Role::Between,
        };
        let mut readers: Vec<usize> =
            of.consumers(id).iter().filter(|_| is_main).map(|op| self.position[op.index()]).collect();
        readers.sort_unstable();
        self.items.push(Item {
            name: of.tensor_label(id),
            shape: tensor.shape.clone(),
            dtype: tensor.dtype.as_ref().map(ToString::to_string),
            bytes: tensor.bytes,
            role,
            producer: of.producer(id).filter(|_| is_main).map(|op| self.position[op.index()]),
            readers,
        });
        self.tensors.insert((graph, id), self.items.len() - 1);
        self.items.len() - 1
    }

    fn scratch(&mut self, graph: usize, op: OpId, bytes: u64) -> usize {
        if let Some(&known) = self.scratch.get(&(graph, op)) {
            self.items[known].bytes = self.items[known].bytes.max(bytes);
            return known;
        }
        let at = (graph == 0).then(|| self.position[op.index()]);
        let of = self.ground.graphs[graph].op_label(op);
        let (producer, readers) = (at, at.into_iter().collect());
        let name = format!("scratch of {of}");
        self.items.push(Item { name, bytes, role: Role::Scratch, producer, readers, ..Item::default() });
        self.scratch.insert((graph, op), self.items.len() - 1);
        self.items.len() - 1
    }

    fn places(&mut self, placed: &[Placed]) -> Vec<ItemPlace> {
        let last_unit = self.length() - 1;
        // TFLM counts from 1, and at 0 fills the inputs.
        let shift = i64::from(self.ground.model.kernels().is_some());
        let unit = |step: i64| usize::try_from(step - shift).unwrap_or(0).min(last_unit);
        let mut places = Vec::new();
        // Tensors that no op touches are left out.
        for Placed { content, offset, buffer } in placed.iter().filter(|one| one.buffer.lower >= 0) {
            let item = match *content {
                Content::Tensor { graph, tensor } => {
                    let item = self.tensor(graph, tensor);
                    self.items[item].bytes = buffer.size;
                    item
                }
                Content::Scratch { graph, op } => self.scratch(graph, op, buffer.size),
            };
            let to = if buffer.upper == FOREVER { last_unit } else { unit(buffer.upper - 1) };
            let from = unit(buffer.lower).min(to);
            places.push(ItemPlace { item, offset: *offset, bytes: buffer.size, from, to });
        }
        places
    }

    /// The ops with their inputs and outputs; the memory in use is filled in later.
    fn steps(&mut self) -> Vec<Step> {
        let graph = &self.ground.graphs[0];
        let order = self.ground.orders[0].clone();
        let mut steps = Vec::with_capacity(order.len());
        for (at, &id) in order.iter().enumerate() {
            let op = graph.op(id);
            let mut items = |tensors: &[TensorId]| {
                let mut items: Vec<usize> = tensors.iter().map(|&t| self.tensor(0, t)).collect();
                items.dedup();
                items
            };
            let (reads, writes) = (items(&op.inputs), items(&op.outputs));
            let (from, to) = self.spans[at];
            let (name, kind) = (graph.op_label(id), op.kind.as_str().to_owned());
            steps.push(Step { name, kind, from, to, during: 0, after: 0, reads, writes });
        }
        steps
    }

    /// Fills in the memory in use by the lifetimes of the memory model.
    fn by_lifetimes(mut self) -> Side {
        let main = self.ground.main();
        let lifetimes = self.ground.model.lifetimes(&main);
        let order = &self.ground.orders[0];
        let profile = lifetimes.profile(order);
        let mut ops = self.steps();
        for (op, step) in ops.iter_mut().zip(&profile.steps) {
            (op.during, op.after) = (step.during, step.after);
        }
        let last = self.length() - 1;
        let mut live = Vec::new();
        for buffer in lifetimes.buffers() {
            let first = buffer.writers.iter().map(|op| self.position[op.index()]).min();
            let until = buffer.readers.iter().map(|op| self.position[op.index()]).max();
            let from = first.filter(|_| !buffer.from_start).map_or(0, |at| self.spans[at].0);
            let to = until.filter(|_| !buffer.to_end).map_or(last, |at| self.spans[at].1).max(from);
            let items = match (buffer.is_scratch(), buffer.writers.first()) {
                (true, Some(&op)) => vec![self.scratch(0, op, buffer.bytes)],
                (true, None) => continue,
                (false, _) => buffer.tensors.iter().map(|&tensor| self.tensor(0, tensor)).collect(),
            };
            live.push(Live { items, bytes: buffer.bytes, from, to });
        }
        let (peak, peak_op) = (profile.peak(), profile.peak_step());
        Side { items: self.items, ops, live, peak, peak_op, ..Side::default() }
    }

    /// Fills in the memory in use by the bytes that are occupied, each counted once: for loops and for what is carried
    /// from run to run, whose tensors share them.
    fn by_bytes(mut self, places: &[ItemPlace]) -> Side {
        let mut ops = self.steps();
        let mut by_unit: Vec<Vec<usize>> = vec![Vec::new(); self.length()];
        for (at, place) in places.iter().enumerate() {
            (place.from..=place.to).for_each(|unit| by_unit[unit].push(at));
        }
        let mut live: Vec<Live> = Vec::new();
        let mut open: BTreeMap<usize, usize> = BTreeMap::new();
        let mut in_use = Vec::with_capacity(by_unit.len());
        for (unit, alive) in by_unit.iter_mut().enumerate() {
            alive.sort_by_key(|&at| (places[at].offset, std::cmp::Reverse(places[at].bytes), at));
            let (mut end, mut sum) = (0, 0);
            for &at in alive.iter() {
                let ItemPlace { item, offset, bytes, .. } = places[at];
                let own = (offset + bytes).saturating_sub(end.max(offset));
                end = end.max(offset + bytes);
                sum += own;
                if own == 0 {
                    continue;
                }
                match open.get(&item).map(|&known| &mut live[known]) {
                    Some(known) if known.bytes == own && known.to + 1 == unit => known.to = unit,
                    _ => {
                        open.insert(item, live.len());
                        live.push(Live { items: vec![item], bytes: own, from: unit, to: unit });
                    }
                }
            }
            in_use.push(sum);
        }
        for op in &mut ops {
            op.during = in_use[op.from..=op.to].iter().copied().max().unwrap_or(0);
            // Already in the order of their offsets.
            let staying = by_unit[op.to].iter().filter(|&&at| places[at].to > op.to);
            op.after = staying
                .fold((0, 0), |(sum, end), &at| {
                    let ItemPlace { offset, bytes, .. } = places[at];
                    (sum + (offset + bytes).saturating_sub(offset.max(end)), end.max(offset + bytes))
                })
                .0;
        }
        let peak = ops.iter().map(|op| op.during).max().unwrap_or(0);
        let peak_op = ops.iter().position(|op| op.during == peak).unwrap_or(0);
        Side { items: self.items, ops, live, peak, peak_op, ..Side::default() }
    }
}
