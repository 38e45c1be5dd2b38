//! One model of a device: what it takes, and how its tensors are divided between two memories.

use crate::app::{App, Form, Model};
use crate::tflm::TflmModel;
use crate::{DeviceError, Search};
use serenity::check::placement_faults;
use serenity::code::{check_covered, check_whole, emit_c, emit_c_in_arrays};
use serenity::memories::two_memories::{Division, Memory, NoRoom, Obvious, Touched, Traffic, TwoMemories};
use serenity::pipeline::target::KernelsName;
use serenity::pipeline::{Target, macs_of};
use serenity::run::Run;
use serenity::stream::best_code;
use serenity::{Input, Optimized, Options};
use serenity_emit::Emitted;
use serenity_ir::{Graph, Tensor, TensorId};
use serenity_report::ShortLabels;
use serenity_runtimes::{ArenaProblem, Content, Offsets};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// All that lies in an array of its own begins at a multiple of this.
pub(crate) const ALIGNMENT: u64 = 16;

/// Names of tensors in messages are about as long at most.
const LONGEST_LABEL: usize = 40;

/// A model that is planned by itself.
pub struct PlannedModel {
    /// What runs, with one arena.
    pub made: Made,
    /// Static memory, if the model were alone.
    pub alone: u64,
    /// Bytes that a run reads and writes in its arena.
    pub traffic: Traffic,
    /// Multiplications of a run.
    pub macs: u64,
    found: Optimized,
    buffers: Touched,
    search: Search,
    divisions: RefCell<BTreeMap<Question, Answer>>,
}

/// What runs a model.
pub enum Made {
    /// C without an interpreter.
    Code {
        /// The code.
        code: Box<Emitted>,
        /// The code without a stream of rows, if there is one: a larger arena, and nothing counts rows between runs.
        plain: Option<Box<Emitted>>,
    },
    /// A model for TFLM.
    Tflm(TflmModel),
    /// Nothing: only the places of its tensors are asked for. Here all of them lie in one memory.
    Places(Division),
}

/// The sizes of two memories, and how much more a byte costs in the second that is read, and written.
type Question = ([u64; 2], [u64; 2]);

/// A division, or why there is none.
type Answer = Result<Divided, NoRoom>;

/// A model whose tensors lie in two memories.
#[derive(Clone, Debug)]
pub(crate) struct Divided {
    /// Do both memories hold some, and is it right by the checker?
    pub(crate) is_right: bool,
    /// Bytes of each part.
    pub(crate) bytes: [u64; 2],
    /// What lies where. Its bound is on how much more the bytes in the second memory cost, in any division.
    pub(crate) division: Division,
    offsets: Offsets,
    /// The memory and the offset of all tensors and scratch.
    pub(crate) of_contents: Vec<(Content, (usize, u64))>,
}

impl PlannedModel {
    pub(crate) fn new(app: &App, model: &Model, search: &Search) -> Result<Self, DeviceError> {
        let input = serenity::load(&model.file)
            .map_err(|source| DeviceError::Load { model: model.name.clone(), source: Box::new(source) })?;
        check_whole(&input)?;
        let options = options(model, &input, search)?;
        let found = serenity::optimize(&input, &options).map_err(serenity::Error::from)?;
        let (made, macs, alone) = match model.form {
            Form::Code => {
                let (code, macs, _) = best_code(&input, &found, &options, &model.name)?;
                let plain = emit_c(&found.model, &found.plan, &model.name)?;
                let plain = Some(Box::new(plain)).filter(|plain| plain.arena != code.arena);
                let alone = code.ram();
                (Made::Code { code: Box::new(code), plain }, macs, alone)
            }
            Form::Places => return Self::of_plan(found, search),
            Form::Tflm(kernels) => {
                let tflm = TflmModel::new(&found, kernels)?;
                let tflm = tflm.ok_or_else(|| DeviceError::Unknown { path: model.file.clone() })?;
                let alone = serenity::pipeline::Need::of(&found.model, &found.plan).to_be_safe();
                (Made::Tflm(tflm), macs_of(found.model.graph()), alone)
            }
        };
        check_feeds(app, model, &found)?;
        let buffers = touched(&found)?;
        let traffic = buffers.total();
        let (search, divisions) = (search.clone(), RefCell::default());
        Ok(Self { made, alone, traffic, macs, found, buffers, search, divisions })
    }

    /// A model that has a plan, and of which only the places are asked for.
    pub(crate) fn of_plan(found: Optimized, search: &Search) -> Result<Self, DeviceError> {
        let buffers = touched(&found)?;
        let one = [Memory::new("none", 0), Memory::new("all", u64::MAX)];
        let whole = buffers.divide(one, [0, 0], &search.limits);
        let whole = whole.map_err(|error| serenity::Error::from(serenity::memories::Error::from(error)))?;
        if let Some(reason) = whole.fault(&buffers.arena.problem) {
            return Err(DeviceError::CheckFailed { path: found.model.name.clone(), reason });
        }
        let (alone, traffic) = (whole.memories[1].used, buffers.total());
        let (macs, made) = (macs_of(found.model.graph()), Made::Places(whole));
        let (search, divisions) = (search.clone(), RefCell::default());
        Ok(Self { made, alone, traffic, macs, found, buffers, search, divisions })
    }

    /// What its tensors, and the sizes of the memories in which they lie, are multiples of.
    pub(crate) fn alignment(&self) -> u64 {
        match self.made {
            Made::Places(_) => 1,
            Made::Code { .. } | Made::Tflm(_) => ALIGNMENT,
        }
    }

    /// Are all sizes known?
    pub(crate) fn counts_everything(&self) -> bool {
        self.found.plan.counts_everything()
    }

    /// Bytes of the arena, if all lies in one memory.
    pub fn arena(&self) -> u64 {
        match &self.made {
            Made::Code { code, .. } => code.arena,
            Made::Tflm(tflm) => tflm.head,
            Made::Places(whole) => whole.memories[1].used,
        }
    }

    /// Bytes that persist from one run to the next; with TFLM, if its allocator has no other model.
    pub fn state(&self) -> u64 {
        match &self.made {
            Made::Code { code, .. } => code.state,
            Made::Tflm(tflm) => tflm.tail.needed(0).arm32 + tflm.tail.margin(0),
            Made::Places(_) => 0,
        }
    }

    /// The estimated instructions of a run on a Cortex-M4.
    pub fn instructions(&self) -> Option<u64> {
        match &self.made {
            Made::Code { code, .. } => code.instructions,
            Made::Tflm(_) | Made::Places(_) => {
                Run::of_planned(&self.found.model, &self.found.plan).instructions
            }
        }
    }

    /// Takes the other code, if there is one.
    pub(crate) fn swap(&mut self) -> bool {
        match &mut self.made {
            Made::Code { code, plain: Some(plain) } => {
                std::mem::swap(plain, code);
                true
            }
            _ => false,
        }
    }

    /// The bytes of an input or output.
    pub(crate) fn port(&self, is_input: bool, index: usize) -> Option<u64> {
        Some(self.tensor_at(is_input, index)?.bytes)
    }

    /// The tensor of an input or output.
    pub(crate) fn tensor_at(&self, is_input: bool, index: usize) -> Option<&Tensor> {
        Some(self.found.model.graph().tensor(self.port_tensor(is_input, index)?))
    }

    /// How many outputs there are.
    pub(crate) fn outputs(&self) -> usize {
        self.found.model.graph().outputs().len()
    }

    /// Where TFLM has an input or output: the part of the arena, and the offset in it.
    pub(crate) fn port_place(
        &self,
        is_input: bool,
        index: usize,
        divided: Option<&Divided>,
    ) -> Option<(usize, u64)> {
        match &self.made {
            Made::Code { .. } | Made::Places(_) => None,
            Made::Tflm(tflm) => tflm.place(self.port_tensor(is_input, index)?, divided),
        }
    }

    fn port_tensor(&self, is_input: bool, index: usize) -> Option<TensorId> {
        let graph = self.found.model.graph();
        let list = if is_input { graph.inputs() } else { graph.outputs() };
        list.get(index).copied()
    }

    /// The largest of what is in use when most bytes are: up to three names and their bytes.
    pub(crate) fn largest_at_peak(&self) -> Vec<(String, u64)> {
        let arena = &self.buffers.arena;
        let buffers = arena.problem.buffers();
        let at =
            |step: i64| buffers.iter().enumerate().filter(move |(_, b)| b.lower <= step && step < b.upper);
        let in_use = |step: i64| at(step).fold(0, |sum: u64, (_, b)| sum.saturating_add(b.size));
        // In use are most where one comes into use.
        let Some(peak) = buffers.iter().map(|b| b.lower).max_by_key(|&step| in_use(step)) else {
            return Vec::new();
        };
        let mut largest: Vec<(usize, u64)> = at(peak).map(|(buffer, b)| (buffer, b.size)).collect();
        largest.sort_by_key(|&(_, bytes)| Reverse(bytes));
        let labels = |graph: usize| ShortLabels::of(&self.found.model.graphs()[graph], LONGEST_LABEL);
        let name = |buffer: usize| match arena.contents[buffer] {
            Content::Tensor { graph, tensor } => labels(graph).tensors[tensor.index()].clone(),
            Content::Scratch { graph, op } => format!("scratch of {}", labels(graph).ops[op.index()]),
        };
        largest.into_iter().take(3).map(|(buffer, bytes)| (name(buffer), bytes)).collect()
    }

    /// The tensors divided between two memories of these sizes, so that the second costs little.
    pub(crate) fn divided(&self, question: Question) -> Answer {
        let known = self.divisions.borrow().get(&question).cloned();
        known.unwrap_or_else(|| {
            let divided = self.divide(question);
            self.divisions.borrow_mut().insert(question, divided.clone());
            divided
        })
    }

    /// What lies where in two memories, if only places are asked for: divided, or all in one of them.
    pub(crate) fn in_two(
        &self,
        memories: [Memory; 2],
        divided: Option<&Divided>,
        is_in_first: bool,
    ) -> Option<TwoMemories> {
        let Made::Places(whole) = &self.made else { return None };
        let mut division = divided.map_or(whole, |divided| &divided.division).clone();
        if divided.is_none() && is_in_first {
            division.memories.reverse();
        }
        for (filled, memory) in division.memories.iter_mut().zip(memories) {
            filled.memory = memory;
        }
        Some(TwoMemories { arena: self.buffers.arena.clone(), division })
    }

    /// The tensors divided between two memories of these sizes in an obvious way; `None` if they do not fit.
    pub(crate) fn divided_as(&self, obvious: Obvious, sizes: [u64; 2]) -> Option<Divided> {
        let Touched { arena, traffic } = &self.buffers;
        let division = obvious.divide(&arena.problem, traffic, self.memories(sizes), &self.search.limits)?;
        Some(self.checked(arena, division))
    }

    fn divide(&self, (sizes, dearer): Question) -> Answer {
        let division = self.buffers.divide(self.memories(sizes), dearer, &self.search.limits)?;
        Ok(self.checked(&self.buffers.arena, division))
    }

    fn memories(&self, [first, second]: [u64; 2]) -> [Memory; 2] {
        let alignment = self.alignment();
        [("first", first), ("second", second)]
            .map(|(name, size): (&str, u64)| Memory::new(name, size / alignment * alignment))
    }

    fn checked(&self, arena: &ArenaProblem, division: Division) -> Divided {
        let alignment = self.alignment();
        let used = division.memories.each_ref().map(|filled| filled.used.next_multiple_of(alignment));
        let has_scratch = arena.contents.iter().any(|content| matches!(content, Content::Scratch { .. }));
        let of_contents = of_contents(arena, &division);
        let offsets = offsets(self.found.model.graphs(), &of_contents, used[0]);
        let mut divided = Divided { is_right: false, bytes: used, division, offsets, of_contents };
        let is_placed = || match &self.made {
            // Emitting it checks the places, as those of any plan.
            Made::Code { .. } => !has_scratch && self.code_in(&divided, "net").is_ok(),
            Made::Tflm(_) => {
                let kernels = self.found.plan.model.kernels().unwrap_or_default();
                let graphs: Vec<&Graph> = self.found.model.graphs().iter().collect();
                placement_faults(&graphs, &self.found.plan.orders(), kernels, &divided.offsets, u64::MAX)
                    .is_empty()
            }
            Made::Places(_) => true,
        };
        let is_in_both = used.iter().all(|&bytes| bytes > 0) || matches!(self.made, Made::Places(_));
        divided.is_right = is_in_both && divided.division.fault(&arena.problem).is_none() && is_placed();
        divided
    }

    /// The code of a divided model.
    pub(crate) fn code_in(&self, divided: &Divided, prefix: &str) -> Result<Emitted, serenity::Error> {
        let mut plan = self.found.plan.clone();
        plan.offsets = Some(divided.offsets.clone());
        emit_c_in_arrays(&self.found.model, &plan, prefix, vec![divided.bytes[0]])
    }
}

/// The buffers of a planned model.
fn touched(found: &Optimized) -> Result<Touched, serenity::Error> {
    let Optimized { model, plan, .. } = found;
    let buffers = Touched::new(model.graphs(), plan.model, &plan.orders());
    buffers.ok_or_else(|| serenity::memories::Error::NoArena { graph: plan.graph.clone() }.into())
}

/// How the model is to be changed and planned.
fn options(model: &Model, input: &Input, search: &Search) -> Result<Options, DeviceError> {
    let kernels = match model.form {
        Form::Tflm(kernels) => Some(KernelsName::Known(kernels)),
        Form::Code | Form::Places => None,
    };
    let target = Target { kernels, loops: model.loops, int8_io: model.int8_io, ..Target::default() };
    let runtime = target.model(input).and_then(|runtime| match model.form {
        Form::Code => target.with_emitted_kernels(runtime),
        Form::Tflm(_) | Form::Places => Ok(runtime),
    });
    let runtime = runtime.map_err(serenity::Error::from)?;
    let options = target.options(input, runtime).map_err(serenity::Error::from)?;
    if model.form == Form::Code {
        check_covered(input, model.int8_io, runtime.kernels().unwrap_or_default())?;
    }
    let Search { effort, limits, progress } = search.clone();
    Ok(Options { effort, limits, progress, ..options })
}

/// The memory and the offset of all tensors and scratch.
fn of_contents(arena: &ArenaProblem, division: &Division) -> Vec<(Content, (usize, u64))> {
    let mut places = Vec::new();
    for (memory, filled) in division.memories.iter().enumerate() {
        // By index in the problem, so that several pieces of scratch of an operator stay in order.
        let mut buffers = filled.buffers.clone();
        buffers.sort_unstable();
        for (buffer, offset) in buffers {
            match arena.contents[buffer] {
                Content::Tensor { graph, .. } => places.extend(
                    arena.tensors[buffer]
                        .iter()
                        .map(|&tensor| (Content::Tensor { graph, tensor }, (memory, offset))),
                ),
                scratch @ Content::Scratch { .. } => places.push((scratch, (memory, offset))),
            }
        }
    }
    places
}

/// The offsets of all tensors in one arena, of which the second memory holds what is behind `cut`.
fn offsets(graphs: &[Graph], of_contents: &[(Content, (usize, u64))], cut: u64) -> Offsets {
    let mut offsets: Offsets = graphs.iter().map(|graph| vec![None; graph.tensors().len()]).collect();
    for &(content, (memory, offset)) in of_contents {
        if let Content::Tensor { graph, tensor } = content {
            offsets[graph][tensor.index()] = Some(offset + if memory == 0 { 0 } else { cut });
        }
    }
    offsets
}

/// Refuses to feed an input that is not there.
fn check_feeds(app: &App, model: &Model, found: &Optimized) -> Result<(), DeviceError> {
    let inputs: &[TensorId] = found.model.graph().inputs();
    match model.feeds.iter().find(|feed| feed.input >= inputs.len()) {
        None => Ok(()),
        Some(feed) => Err(DeviceError::Feed {
            path: model.file.clone(),
            reason: format!(
                "it has {} inputs, so `{}` cannot feed input {}: inputs count from 0",
                inputs.len(),
                app.models[feed.from].name,
                feed.input
            ),
        }),
    }
}
