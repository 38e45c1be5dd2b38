//! `-o DIR/`: the planned model as C.

use super::Job;
use crate::Failure;
pub(super) use crate::commands::emit::Code;
use crate::commands::emit::check_folder;
use serenity::emit::prefix_of;
use serenity::pipeline::Target;
use serenity::runtimes::MemoryModel;
use serenity::{Input, Plan};

/// The kernels to plan for, if C is asked for; refuses what it could not be written from.
pub(super) fn kernels(job: &Job, target: &Target, input: &Input) -> Result<MemoryModel, Failure> {
    let model = target.model(input)?;
    let Some(folder) = &job.emit_c else { return Ok(model) };
    serenity::code::check_whole(input)?;
    check_folder(folder)?;
    let model = target.with_emitted_kernels(model)?;
    target.check(input, model)?;
    serenity::code::check_covered(input, job.changes.int8_io, model.kernels().unwrap_or_default())?;
    Ok(model)
}

/// The code, if it is asked for.
pub(super) fn emitted(job: &Job, model: &Input, plan: &Plan) -> Result<Option<Code>, Failure> {
    let Some(folder) = &job.emit_c else { return Ok(None) };
    Ok(Some(Code::new(folder, serenity::code::emit_c(model, plan, &prefix_of(job.input))?)))
}
