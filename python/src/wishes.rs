//! What the caller asks for, as `serenity/_options.py` hands it over: every key is there, `None` for what was not said.

use crate::errors::{Failure, named};
use pyo3::prelude::*;
use serenity::pipeline::Target;
use serenity::pipeline::target::Spelling;
use serenity::runtimes::MemoryModel;
use serenity::schedule::Algorithm;
use serenity::search::{CancelFlag, Limits};
use serenity::{Effort, Input, Loops, Options, ReadOptions};
use std::path::PathBuf;
use std::time::Duration;

/// How to read a model.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    runtime: Option<String>,
    /// Name, dimensions and perhaps the type of tensors that the model leaves open.
    shapes: Vec<(String, Vec<u64>, Option<String>)>,
    fold_constants: bool,
}

impl Reading {
    pub(crate) fn options(&self) -> Result<ReadOptions, Failure> {
        let mut options = ReadOptions::default();
        options.fold_constants = self.fold_constants;
        options.model = self.runtime.as_deref().map(named).transpose()?;
        for (name, dims, dtype) in &self.shapes {
            options.shapes.insert(name.clone(), dims.clone());
            if let Some(dtype) = dtype {
                options.types.insert(name.clone(), serenity::ir::ElementType::parse(dtype));
            }
        }
        Ok(options)
    }

    /// The shapes as the command takes them.
    pub(crate) fn typed(&self) -> String {
        let shape = |(name, dims, dtype): &(String, Vec<u64>, Option<String>)| {
            let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
            let dtype = dtype.as_ref().map_or_else(String::new, |dtype| format!(":{dtype}"));
            format!(" --shape {}", serenity_cli::as_word(&format!("{name}={}{dtype}", dims.join(","))))
        };
        self.shapes.iter().map(shape).collect()
    }
}

/// How long to search.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Patience {
    time_limit: Option<f64>,
    memory_limit: u64,
    pub(crate) effort: u32,
}

impl Patience {
    /// The limits of what begins now.
    pub(crate) fn limits(&self, cancel: &CancelFlag) -> Result<Limits, Failure> {
        let limits = Limits { memory: Some(self.memory_limit), cancel: cancel.clone(), ..Limits::default() };
        let Some(seconds) = self.time_limit else { return Ok(limits) };
        let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
            Failure::request(
                format!("a time limit of {seconds} seconds makes no sense"),
                "give a number of seconds, or None for no limit",
            )
        })?;
        Ok(limits.within(time))
    }

    pub(crate) fn effort(&self) -> Effort {
        Effort::times(self.effort)
    }
}

/// The names of the runtime that will run a model, and of its session.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RuntimeNames {
    runtime: Option<String>,
    kernels: Option<String>,
    ort_order: Option<String>,
    ort_session: Option<String>,
}

impl RuntimeNames {
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        Ok(Target {
            spelling: Spelling::Keywords,
            runtime: self.runtime.as_deref().map(named).transpose()?,
            kernels: self.kernels.as_deref().map(named).transpose()?,
            ort_order: self.ort_order.as_deref().map(named).transpose()?,
            ort_session: self.ort_session.as_deref().map(named).transpose()?,
            ..Target::default()
        })
    }

    /// The runtime and its kernels as the command takes them.
    pub(crate) fn typed(&self) -> String {
        let options = [("runtime", &self.runtime), ("kernels", &self.kernels)];
        let typed =
            |(option, value): (&str, &Option<String>)| Some(format!(" --{option} {}", value.as_ref()?));
        options.into_iter().filter_map(typed).collect()
    }

    pub(crate) fn names_kernels(&self) -> bool {
        self.kernels.is_some()
    }

    /// The memory model asked for, or else the one that fits the input.
    pub(crate) fn model(&self, input: &Input) -> Result<MemoryModel, Failure> {
        Ok(self.target()?.model(input)?)
    }
}

/// What `optimize` is to do.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    pub(crate) target: RuntimeNames,
    patience: Patience,
    algorithm: Option<String>,
    threads: usize,
    pub(crate) budget: Option<u64>,
    rewrite: Option<String>,
    reorder: bool,
    plan: bool,
    loops: bool,
    max_extra_macs: Option<f64>,
    int8_io: bool,
    /// The interpreter whose ONNX Runtime may be asked.
    python: PathBuf,
}

impl Wishes {
    /// The options for one model, whose time begins now.
    pub(crate) fn options(&self, input: &Input, cancel: &CancelFlag) -> Result<Options, Failure> {
        let target = self.whole_target()?;
        self.options_for(input, &target, target.model(input)?, cancel)
    }

    /// The options for one model that becomes C code.
    pub(crate) fn options_for_c(&self, input: &Input, cancel: &CancelFlag) -> Result<Options, Failure> {
        let target = self.whole_target()?;
        let model = target.with_emitted_kernels(target.model(input)?)?;
        self.options_for(input, &target, model, cancel)
    }

    fn whole_target(&self) -> Result<Target, Failure> {
        Ok(Target {
            python: Some(self.python.clone()),
            budget: self.budget,
            rewrites: self.rewrite.as_deref().map(named).transpose()?,
            loops: self.loops.then(|| self.max_extra_macs.unwrap_or(Loops::default().most_extra_macs)),
            int8_io: self.int8_io,
            ..self.target.target()?
        })
    }

    fn options_for(
        &self,
        input: &Input,
        target: &Target,
        model: MemoryModel,
        cancel: &CancelFlag,
    ) -> Result<Options, Failure> {
        let algorithm: Option<Algorithm> = self.algorithm.as_deref().map(named).transpose()?;
        Ok(Options {
            algorithm: if self.reorder { algorithm.unwrap_or_default() } else { Algorithm::File },
            threads: self.threads,
            effort: self.patience.effort(),
            limits: self.patience.limits(cancel)?,
            plan_arena: self.plan,
            ..target.options(input, model)?
        })
    }
}
