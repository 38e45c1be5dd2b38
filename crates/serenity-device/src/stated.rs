//! The plan of a device as JSON states it.

use crate::plan::DevicePlan;
use crate::tflm_code::Allocator;
use crate::{Device, Form, Obvious};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::memories::two_memories::Traffic;
use serenity_search::Proved;

/// Several models and several memories of one device.
#[derive(Serialize, JsonSchema)]
pub struct StatedDevice<'a> {
    /// What all names in C begin with.
    name: &'a str,
    /// The memories, in the order of the file.
    memories: Vec<StatedMemory<'a>>,
    /// The models, in the order in which they run.
    models: Vec<StatedModel<'a>>,
    /// Sets of models that may run at the same time, one after the other.
    moments: Vec<Vec<&'a str>>,
    /// Outputs that are copied aside until they have become inputs.
    handed: Vec<StatedHanded<'a>>,
    /// Allocators of TFLM: interpreters of models that never run at the same time share one.
    allocators: Vec<StatedAllocator<'a>>,
    /// Static memory in all.
    ram: u64,
    /// The static memory of all models if each were alone.
    apart: u64,
    /// What the bytes cost that one run of each model reads and writes.
    cost: u64,
    /// A lower bound on that cost, for these plans of the models and these memories.
    cost_bound: u64,
    /// Does the cost meet the bound?
    cost_proof: Proved,
    /// A lower bound on the bytes that one run of each model touches outside the cheapest memory, for these plans of
    /// the models.
    slow_bound: u64,
    /// With several memories: what obvious placements of the same models would touch.
    baselines: Vec<StatedBaseline<'a>>,
}

/// An obvious placement, to compare with.
#[derive(Serialize, JsonSchema)]
struct StatedBaseline<'a> {
    /// How the tensors are placed.
    placement: Obvious,
    /// What the bytes cost that one run of each model reads and writes; null if the models do not fit this way.
    cost: Option<u64>,
    /// The bytes touched in each memory, in the order of the file; empty if the models do not fit this way.
    memories: Vec<StatedTouched<'a>>,
}

/// Bytes touched in a memory.
#[derive(Serialize, JsonSchema)]
struct StatedTouched<'a> {
    /// The memory.
    memory: &'a str,
    /// Bytes that one run of each model reads there.
    read: u64,
    /// Bytes that one run of each model writes there.
    written: u64,
}

/// A memory of a device.
#[derive(Serialize, JsonSchema)]
struct StatedMemory<'a> {
    /// Its name.
    name: &'a str,
    /// Its size in bytes.
    size: u64,
    /// Bytes that are used.
    used: u64,
    /// Of these: shared by models that never run at the same time.
    shared: u64,
    /// A lower bound on the shared bytes, with the same things in this memory.
    shared_bound: u64,
    /// Of these: kept from one run to the next.
    state: u64,
    /// Bytes that one run of each model reads there.
    read: u64,
    /// Bytes that one run of each model writes there.
    written: u64,
}

/// A model of a device, and where it lies.
#[derive(Serialize, JsonSchema)]
struct StatedModel<'a> {
    /// Its name.
    name: &'a str,
    /// Its file.
    file: &'a str,
    /// What runs it: `c` or `tflm`; `places` if only the places of its tensors are asked for.
    r#as: &'static str,
    /// The kernels that TFLM is built with; null for C.
    kernels: Option<String>,
    /// Bytes of its arena.
    arena: u64,
    /// Bytes that it keeps from one run to the next; with TFLM, if its allocator has no other model.
    state: u64,
    /// The memory of these bytes.
    state_in: &'a str,
    /// Multiplications of a run.
    macs: u64,
    /// The estimated instructions of a run on a Cortex-M4; null where the kernels were not measured.
    instructions: Option<u64>,
    /// Where the arena lies.
    parts: Vec<StatedPart<'a>>,
}

/// A part of an arena.
#[derive(Serialize, JsonSchema)]
struct StatedPart<'a> {
    /// The memory.
    memory: &'a str,
    /// The offset in what is shared there.
    offset: u64,
    /// Its size.
    bytes: u64,
    /// Bytes that a run reads there.
    read: u64,
    /// Bytes that a run writes there.
    written: u64,
}

/// An allocator of TFLM.
#[derive(Serialize, JsonSchema)]
struct StatedAllocator<'a> {
    /// The models whose interpreters share it.
    models: Vec<&'a str>,
    /// The memory in which it keeps what lasts from one run to the next.
    memory: &'a str,
    /// Bytes that it needs for that, on a 32-bit device and with a margin.
    bytes: u64,
}

/// An output that is copied aside until it has become an input.
#[derive(Serialize, JsonSchema)]
struct StatedHanded<'a> {
    /// The model that computes it.
    from: &'a str,
    /// Which of its outputs.
    output: usize,
    /// The memory.
    memory: &'a str,
    /// The offset in what is shared there.
    offset: u64,
    /// Its size.
    bytes: u64,
}

impl Device {
    /// The static memory of all models if each were alone.
    pub fn apart(&self) -> u64 {
        self.models.iter().map(|model| model.alone).sum()
    }

    /// The plan as JSON states it.
    pub fn stated(&self) -> StatedDevice<'_> {
        let Self { app, models, plan, baselines } = self;
        let memory = |memory: usize| app.memories[memory].name.as_str();
        let touched = |plan: &DevicePlan, index: usize| {
            let Traffic { read, written } = plan.traffic(index);
            StatedTouched { memory: memory(index), read, written }
        };
        StatedDevice {
            name: &app.name,
            memories: (app.memories.iter().zip(&plan.memories).enumerate())
                .map(|(index, (said, filled))| StatedMemory {
                    name: &said.name,
                    size: said.size,
                    used: filled.shared + filled.state,
                    shared: filled.shared,
                    shared_bound: filled.shared_bound,
                    state: filled.state,
                    read: plan.traffic(index).read,
                    written: plan.traffic(index).written,
                })
                .collect(),
            models: (app.models.iter().zip(models).zip(&plan.parts))
                .map(|((said, model), parts)| StatedModel {
                    name: &said.name,
                    file: &said.file,
                    r#as: match said.form {
                        Form::Code => "c",
                        Form::Tflm(_) => "tflm",
                        Form::Places => "places",
                    },
                    kernels: match said.form {
                        Form::Tflm(kernels) => Some(kernels.to_string()),
                        Form::Code | Form::Places => None,
                    },
                    arena: parts.iter().map(|part| part.bytes).sum(),
                    state: model.state(),
                    state_in: memory(said.state),
                    macs: model.macs,
                    instructions: model.instructions(),
                    parts: parts
                        .iter()
                        .map(|part| StatedPart {
                            memory: memory(part.memory),
                            offset: part.offset,
                            bytes: part.bytes,
                            read: part.traffic.read,
                            written: part.traffic.written,
                        })
                        .collect(),
                })
                .collect(),
            moments: (app.moments().iter())
                .map(|moment| moment.iter().map(|&model| app.models[model].name.as_str()).collect())
                .collect(),
            handed: (plan.handed.iter())
                .map(|kept| StatedHanded {
                    from: &app.models[kept.from].name,
                    output: kept.output,
                    memory: memory(kept.memory),
                    offset: kept.offset,
                    bytes: kept.bytes,
                })
                .collect(),
            allocators: (self.allocators().into_iter())
                .map(|Allocator { models, memory: kept_in, bytes, .. }| StatedAllocator {
                    models: models.iter().map(|&model| app.models[model].name.as_str()).collect(),
                    memory: memory(kept_in),
                    bytes: bytes.arm32,
                })
                .collect(),
            ram: plan.ram(),
            apart: self.apart(),
            cost: plan.cost,
            cost_bound: plan.bound,
            cost_proof: Proved::if_so(plan.proof.is_optimal()),
            slow_bound: plan.slow_bound,
            baselines: (baselines.iter())
                .map(|(placement, plan)| StatedBaseline {
                    placement: *placement,
                    cost: plan.as_ref().map(|plan| plan.cost),
                    memories: (plan.iter())
                        .flat_map(|plan| (0..app.memories.len()).map(|index| touched(plan, index)))
                        .collect(),
                })
                .collect(),
        }
    }
}
