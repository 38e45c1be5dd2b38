//! Emits a planned model as C.

use crate::run::Run;
use crate::{Error, Format, Input, Plan, ReadOptions, load_bytes};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_emit::{Emitted, Hop, Library, Pushes, Scratch, Source, c_code_in_arrays, not_covered};
use serenity_ir::{Graph, Op, OpId, Operator};
use serenity_pipeline::planned_model;
use serenity_pipeline::stages::place::is_safe;
use serenity_runtimes::{Content, Kernels, TflmFacts, plans_of_arena, tflm_arena};
use serenity_search::Limits;
use std::collections::BTreeMap;

/// Work to place a model that came with good offsets: enough for small models.
const WORK: u64 = 100_000;

/// Emits the C code of a model at the offsets of its plan, which runs without an interpreter. All names in it begin
/// with `prefix`. It calls CMSIS-NN if the plan is for kernels that do.
///
/// # Errors
/// If the model has no offsets, or has an operator that is not covered.
pub fn emit_c(input: &Input, plan: &Plan, prefix: &str) -> Result<Emitted, Error> {
    emit_c_in_arrays(input, plan, prefix, Vec::new())
}

/// Like [`emit_c`], with the arena cut into several arrays: from each of `cuts` on, offsets of the plan count in a
/// further one.
///
/// # Errors
/// As [`emit_c`], or if a tensor lies across a cut.
pub fn emit_c_in_arrays(input: &Input, plan: &Plan, prefix: &str, cuts: Vec<u64>) -> Result<Emitted, Error> {
    let source = source_of(input, plan)?;
    let code = c_code_in_arrays(&source, prefix, cuts)
        .map_err(|source| Error::Emit { path: input.name.clone(), source })?;
    Ok(Emitted { instructions: Run::of_planned(input, plan).instructions, ..code })
}

/// What C is written from: what a file with this plan says.
pub(crate) fn source_of(input: &Input, plan: &Plan) -> Result<Source, Error> {
    let kernels = plan.model.kernels().filter(|kernels| kernels.are_emitted()).unwrap_or(Kernels::Emitted);
    let bytes = planned_model(input, &placed(input, plan, kernels))?;
    let planned = load_bytes(&input.name, bytes, Format::TfLite, &ReadOptions::default())?;
    if !is_right(&planned, kernels) {
        let reason = "its places are for other kernels than those of emitted C".to_owned();
        return Err(Error::wrong_plan(reason));
    }
    let scratch = scratch(&planned, kernels);
    let mut source = planned
        .file
        .source(&|graph, op| scratch.get(&(graph, op)).copied())
        .map_err(|source| Error::file(&input.name, source))?;
    source.library = library(kernels);
    crate::write::file_name(&input.name).clone_into(&mut source.about);
    Ok(source)
}

/// Refuses a model with an operator that cannot be emitted as C, before a long search. `int8_io` says whether inputs
/// and outputs become integers.
///
/// # Errors
/// If an operator is not covered, or the file cannot be changed in this way.
pub fn check_covered(input: &Input, int8_io: bool, kernels: Kernels) -> Result<(), Error> {
    let converted = if int8_io { Some(input.with_quantized_io()?.0) } else { None };
    let input = converted.as_ref().unwrap_or(input);
    let mut source = anywhere(input)?;
    source.library = library(kernels);
    match not_covered(&source) {
        Some(source) => Err(Error::Emit { path: input.name.clone(), source }),
        None => Ok(()),
    }
}

/// What C would be written from if places did not matter.
pub(crate) fn anywhere(input: &Input) -> Result<Source, Error> {
    let places = input.graphs().iter().map(|graph| vec![Some(0); graph.tensors().len()]).collect();
    let own: Vec<Vec<OpId>> = input.graphs().iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    let in_file = |source| Error::file(&input.name, source);
    let bytes = input.file.planned(&orders, Some(&places), None).map_err(in_file)?;
    let placed = load_bytes(&input.name, bytes, Format::TfLite, &ReadOptions::default())?;
    placed.file.source(&|_, _| None).map_err(in_file)
}

/// Refuses a model that holds too little to write C from.
///
/// # Errors
/// If it is not a whole `.tflite` model.
pub fn check_whole(input: &Input) -> Result<(), Error> {
    if input.file.format() == Format::TfLite && input.file.is_whole() {
        return Ok(());
    }
    let reason =
        format!("cannot write C from `{}`: only a whole .tflite model holds all that it takes", input.name);
    let remedy = "give a .tflite model; `serenity zoo export NAME -o net.tflite --int8` makes one of a built-in network";
    Err(serenity_pipeline::Error::Unfit { reason, remedy: remedy.to_owned() }.into())
}

/// C code of a model, and what it takes.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StatedCode<'a> {
    /// The beginning of all names in the code.
    pub prefix: &'a str,
    /// Bytes of static memory: arena and state.
    pub ram: u64,
    /// Bytes of the arena, in which all tensors lie.
    pub arena: u64,
    /// Bytes that are kept from one run to the next.
    pub state: u64,
    /// Bytes of constants, without the code itself.
    pub flash: u64,
    /// Steps of the main graph that do something.
    pub steps: usize,
    /// The estimated instructions of a run on a Cortex-M4; null where the kernels were not measured.
    pub instructions: Option<u64>,
    /// What the application pushes; null if it fills the whole input.
    pub pushes: Option<StatedPushes>,
    /// The files written.
    pub files: &'a [String],
}

/// An input that comes row by row.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StatedPushes {
    /// Rows of the input.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Multiplications of a push on average, without the rest of the network.
    pub mean_macs: u64,
    /// The most multiplications of a push, without the rest of the network.
    pub most_macs: u64,
    /// Multiplications of the rest of the network, which the last push runs as well.
    pub rest_macs: u64,
    /// How windows slide over the rows; null if they do not, and a run begins anew with each input.
    pub hop: Option<StatedHop>,
}

/// Windows that slide over rows without an end.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StatedHop {
    /// Rows from one window to the next.
    pub rows: u64,
    /// Multiplications from one window to the next, on average, with the rest of the network.
    pub macs: u64,
    /// Multiplications of a window that has nothing in common with another.
    pub window_macs: u64,
}

impl<'a> StatedCode<'a> {
    /// What code takes, and the files that it is written to.
    pub fn of(emitted: &'a Emitted, files: &'a [String]) -> Self {
        let Emitted { ref prefix, arena, state, constants: flash, steps, instructions, .. } = *emitted;
        let pushes = emitted.pushes.map(|pushes| {
            let Pushes { rows, row_bytes, mean_macs, most_macs, rest_macs, hop } = pushes;
            let hop = hop.map(|Hop { rows, macs, window_macs }| StatedHop { rows, macs, window_macs });
            StatedPushes { rows, row_bytes, mean_macs, most_macs, rest_macs, hop }
        });
        Self { prefix, ram: emitted.ram(), arena, state, flash, steps, instructions, pushes, files }
    }
}

/// The library that emitted C calls with these kernels.
fn library(kernels: Kernels) -> Library {
    match kernels {
        Kernels::EmittedHelium => Library::Helium,
        Kernels::EmittedCmsisNn => Library::CmsisNn,
        Kernels::EmittedCmsisNnMve => Library::CmsisNnMve,
        _ => Library::None,
    }
}

/// Do these offsets give right results with these kernels? A stored plan is checked whatever the file says, unless
/// there are loops: the graphs lack the tables that those look into.
fn is_right(planned: &Input, kernels: Kernels) -> bool {
    let is_loop = |op: &Op| op.kind.operator() == Operator::WHILE;
    if planned.graphs().iter().flat_map(Graph::ops).any(is_loop) {
        return planned.plan_serves(kernels) != Some(false);
    }
    planned.plan().is_none_or(|plan| is_safe(planned.graphs(), &plan, kernels))
}

/// The plan with offsets: a plan that gained nothing leaves them to the runtime.
fn placed(input: &Input, plan: &Plan, kernels: Kernels) -> Plan {
    let mut plan = plan.clone();
    if plan.offsets.is_some() || input.plan().is_some() {
        return plan;
    }
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let facts = TflmFacts::new(&graphs, kernels);
    let limits = Limits::default().working(WORK);
    let found = plans_of_arena(&facts, &plan.orders(), limits).unwrap_or_default();
    let safe = found.into_iter().filter(|one| is_safe(input.graphs(), &one.offsets, kernels));
    plan.offsets = safe.min_by_key(|one| one.arena.bytes).map(|one| one.offsets);
    plan
}

/// The scratch of each op, by graph and op, where the runtime would place it: around the tensors in use while the op
/// runs. The size of the arena was counted with it, and the checker takes it to be overwritten.
fn scratch(planned: &Input, kernels: Kernels) -> BTreeMap<(usize, OpId), Scratch> {
    let graphs: Vec<&Graph> = planned.graphs().iter().collect();
    let own: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    let arena = tflm_arena(&TflmFacts::new(&graphs, kernels), &orders, planned.plan().as_ref());
    let pieces = arena.map(|arena| arena.pieces).unwrap_or_default();
    let of_op = pieces.into_iter().filter_map(|piece| match piece.content {
        Content::Scratch { graph, op } => {
            Some(((graph, op), Scratch { offset: piece.offset, bytes: piece.bytes }))
        }
        Content::Tensor { .. } => None,
    });
    of_op.collect()
}
