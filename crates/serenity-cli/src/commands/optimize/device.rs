//! Makes what a device needs besides the model: offsets in two memories, and a C header.

use super::Job;
use crate::Failure;
use crate::args::TwoSizes;
use crate::commands::device::print_places;
use crate::commands::for_shell;
use crate::failure::refuse;
use crate::screen::layout::COMMAND;
use crate::size::Size;
use schemars::JsonSchema;
use serde::Serialize;
use serenity::memories::two_memories::{Division, StatedMemory, TwoMemories};
use serenity::runtimes::MemoryModel;
use serenity::search::{Limits, Proved};
use serenity::write::NewFile;
use serenity::{ErrorKind, Input, Optimized, Plan};
use serenity_device::{Device, Search, plan_places};
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
    /// With --memory: a device that runs nothing else.
    device: Option<(Device, TwoMemories)>,
    header: Option<String>,
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
        let device = job.memory.as_ref().map(|memories| places(input, plan, memories, limits)).transpose()?;
        let header = match job.emit_header {
            Some(_) => Some(serenity::c_header(input, plan, device.as_ref().map(|(_, two)| two))?),
            None => None,
        };
        Ok(Self { device, header })
    }

    /// The fields of a plan that are about two memories.
    pub(super) fn stated(&self, input: &Input) -> Option<StatedMemories<'_>> {
        let (_, memories) = self.device.as_ref()?;
        let Division { bound, proof, .. } = memories.division;
        Some(StatedMemories {
            memories: memories.stated(input.graphs()),
            slow_bound: bound,
            memories_proof: Proved::if_so(proof.is_optimal()),
        })
    }

    /// The header, if one was asked for.
    pub(super) fn files<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = NewFile<'a>> {
        let header = job.emit_header.as_deref().zip(self.header.as_deref());
        header.map(|(path, text)| NewFile { path, bytes: text.as_bytes() }).into_iter()
    }

    pub(super) fn print(&self, job: &Job, out: &mut impl Write) -> Result<(), Failure> {
        if let Some((device, _)) = &self.device {
            writeln!(out)?;
            print_places(device, out)?;
            writeln!(out)?;
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
                let memories: Vec<String> = (device.app.memories.iter())
                    .map(|memory| format!("{}={}", memory.name, memory.typed))
                    .collect();
                let memories = memories.join(",");
                let input = for_shell(job.input);
                writeln!(
                    out,
                    "  for TFLM or as C: {COMMAND}serenity device {input} --memory {memories} -o DIR/"
                )?;
            }
        }
        if let Some(header) = &job.emit_header {
            writeln!(out, "\nheader written to `{header}`")?;
        }
        Ok(())
    }
}

/// The tensors of a plan in two memories, as `serenity device` places those of a model.
fn places(
    input: &Input,
    plan: &Plan,
    TwoSizes(memories): &TwoSizes,
    limits: &Limits,
) -> Result<(Device, TwoMemories), Failure> {
    let search = Search { limits: limits.clone(), ..Search::default() };
    let found = Optimized::new(input.clone(), plan.clone());
    let device =
        plan_places(found, memories.to_vec(), &|text| text.parse().map(|Size(bytes)| bytes), &search)?;
    let two = device.two_memories();
    let two = two.ok_or_else(|| {
        Failure::of(
            ErrorKind::Bug,
            "a plan for two memories names no places",
            "please report it with the model",
        )
    })?;
    Ok((device, two))
}
