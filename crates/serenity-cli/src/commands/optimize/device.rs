//! Makes what a device needs besides the model: offsets in two memories, and a C header.

use super::Job;
use crate::Failure;
use crate::args::TwoSizes;
use crate::commands::for_shell;
use crate::failure::refuse;
use crate::progress::thousands;
use crate::size::Size;
use schemars::JsonSchema;
use serde::Serialize;
use serenity::memories::two_memories::{Division, Filled, StatedMemory, TwoMemories, divide_plan};
use serenity::runtimes::MemoryModel;
use serenity::search::{Limits, Proof, Proved, StopReason};
use serenity::write::NewFile;
use serenity::{Input, Plan};
use std::io::Write;

/// Refuses a header that could not be written in the end.
pub(super) fn check_target(job: &Job) -> Result<(), Failure> {
    let Some(header) = &job.emit_header else { return Ok(()) };
    serenity::write::check_target(header)?;
    super::refuse_input(job, header)?;
    for (option, other) in [("-o", job.output), ("--plan", job.plan.as_deref())] {
        if other.is_some_and(|other| serenity::write::is_same_file(other, header)) {
            return refuse(
                format!("the header and what {option} asks for would both be written to `{header}`"),
                "give them different names",
            );
        }
    }
    Ok(())
}

/// Only TFLM takes a plan of its arena.
pub(super) fn check_runtime(job: &Job, model: MemoryModel) -> Result<(), Failure> {
    match (&job.emit_header, model.kernels()) {
        (None, _) | (Some(_), Some(_)) => Ok(()),
        (Some(header), None) => refuse(
            format!("cannot write `{header}`: the places of tensors are planned for TFLM, not for `{model}`"),
            "add --runtime tflm, and the kernels that it is built with",
        ),
    }
}

pub(super) struct DevicePlan {
    memories: Option<TwoMemories>,
    header: Option<String>,
    /// What is not known of the model, in a few words, if that hides bytes: then no division is proved.
    unknown: Option<String>,
}

/// What lies in which of two memories.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatedMemories<'a> {
    /// With --memory: the preferred memory, then the other.
    memories: [StatedMemory<'a>; 2],
    /// A lower bound on the bytes that any division of this order moves in the second memory.
    slow_bound: u64,
    /// Does the division meet that bound?
    memories_proof: Proved,
}

impl DevicePlan {
    /// `input` is what the plan speaks of.
    pub(super) fn new(job: &Job, input: &Input, plan: &Plan, limits: &Limits) -> Result<Self, Failure> {
        let divide =
            |TwoSizes(memories): &TwoSizes| divide_plan(input.graphs(), plan, memories.clone(), limits);
        let memories = job.memory.as_ref().map(divide).transpose().map_err(serenity::Error::from)?;
        let header = match job.emit_header {
            Some(_) => Some(serenity::c_header(input, plan, memories.as_ref())?),
            None => None,
        };
        let unknown = plan.stopped().filter(|_| !plan.counts_everything());
        Ok(Self { memories, header, unknown })
    }

    /// The fields of a plan that are about two memories.
    pub(super) fn stated(&self, input: &Input) -> Option<StatedMemories<'_>> {
        let memories = self.memories.as_ref()?;
        let Division { bound, proof, .. } = memories.division;
        Some(StatedMemories {
            memories: memories.stated(input.graphs()),
            slow_bound: bound,
            memories_proof: Proved::if_so(self.unknown.is_none() && proof.is_optimal()),
        })
    }

    /// The header, if one was asked for.
    pub(super) fn files<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = NewFile<'a>> {
        let header = job.emit_header.as_deref().zip(self.header.as_deref());
        header.map(|(path, text)| NewFile { path, bytes: text.as_bytes() }).into_iter()
    }

    pub(super) fn print(&self, job: &Job, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(memories) = &self.memories {
            print_memories(memories, self.unknown.as_deref(), out)?;
            let told = job.plan.is_some() || job.emit_header.is_some();
            writeln!(
                out,
                "  no model file can express this: the places are {}",
                if told {
                    "in the plan and in the header only"
                } else {
                    "told by --plan, --json and -o FILE.h"
                }
            )?;
            if job.input.ends_with(".tflite") {
                let memories = memories.division.memories.each_ref();
                let [fast, slow] =
                    memories.map(|filled| format!("{}={}", filled.memory.name, filled.memory.capacity));
                let input = for_shell(job.input);
                writeln!(out, "  for TFLM or as C: serenity device {input} --memory {fast},{slow} -o DIR/")?;
            }
        }
        if let Some(header) = &job.emit_header {
            writeln!(out, "\nheader written to `{header}`")?;
        }
        Ok(())
    }
}

fn print_memories(
    memories: &TwoMemories,
    unknown: Option<&str>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    writeln!(out, "\n  {:<14} {:>12} {:>14} {:>14} {:>14}", "memory", "size", "used", "read", "written")?;
    for Filled { memory, used, traffic, buffers } in &memories.division.memories {
        writeln!(
            out,
            "  {:<14} {:>12} {:>14} {:>14} {:>14}   {} buffers",
            memory.name,
            Size(memory.capacity),
            thousands(*used),
            thousands(traffic.read),
            thousands(traffic.written),
            thousands(buffers.len() as u64)
        )?;
    }
    let slow = &memories.division.memories[1];
    let bound = thousands(memories.division.bound);
    let verdict = match (memories.division.proof, unknown) {
        (_, Some(unknown)) => format!("at least; not proved: {unknown}"),
        (Proof::Optimal, None) => "proved least: no division moves fewer".to_owned(),
        (Proof::Gap { stopped: StopReason::Heuristic }, None) => {
            format!("no division moves fewer than {bound}")
        }
        (Proof::Gap { stopped }, None) => format!("no division moves fewer than {bound}; {stopped}"),
    };
    writeln!(
        out,
        "  bytes moved in `{}` in one run: {} ({verdict})",
        slow.memory.name,
        thousands(slow.traffic.bytes())
    )?;
    Ok(())
}
