//! What the caller asks for, as `serenity/_options.py` hands it over: every key is there, `None` for what was not said.

use crate::errors::{Failure, named};
use pyo3::prelude::*;
use serenity::pipeline::Fast;
use serenity::runtimes::{Kernels, MemoryModel, OrtOrder, OrtSetup};
use serenity::schedule::Algorithm;
use serenity::search::{CancelFlag, Limits};
use serenity::{Effort, Format, Input, Loops, Options, ReadOptions, Rewrites};
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

/// Which runtime will run a model, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    runtime: Option<String>,
    kernels: Option<String>,
    ort_order: Option<String>,
    ort_session: Option<String>,
}

impl Target {
    /// The memory model asked for, or else the one that fits the input.
    pub(crate) fn model(&self, input: &Input) -> Result<MemoryModel, Failure> {
        let default = input.default_model;
        let runtime: Option<MemoryModel> = self.runtime.as_deref().map(named).transpose()?;
        let kernels: Option<Kernels> = self.kernels.as_deref().map(named).transpose()?;
        let order: Option<OrtOrder> = self.ort_order.as_deref().map(named).transpose()?;
        // A file may say for which session it was made.
        let made_for = default.ort().is_none_or(|setup| setup.reuse);
        let reuse = self.ort_session.as_deref().map_or(made_for, |session| session == "plain");
        let setup = OrtSetup { order: order.unwrap_or_default(), reuse };
        let model = runtime.unwrap_or(default).with_ort(setup);
        self.check_sessions(input, model)?;
        match kernels {
            // What is modelled of it, with or without a word.
            Some(Kernels::Reference) if model == MemoryModel::Litert => Ok(model),
            Some(kernels) if model.kernels().is_none() => Err(Failure::request(
                format!("kernels `{kernels}` are TFLM's, not those of `{model}`"),
                "leave out kernels, or say runtime=\"tflm\"",
            )),
            kernels => Ok(model.with_kernels(kernels.unwrap_or_default())),
        }
    }

    /// Refuses what is asked of ONNX Runtime where it does not run the model: nothing is ignored.
    fn check_sessions(&self, input: &Input, model: MemoryModel) -> Result<(), Failure> {
        let of_sessions = [
            ("runtime=\"ort\"", model.ort().is_some()),
            ("ort_session", self.ort_session.is_some()),
            ("ort_order", self.ort_order.is_some()),
        ];
        match of_sessions.iter().find(|(_, is_asked)| *is_asked && input.file.format() == Format::TfLite) {
            Some((option, _)) => Err(Failure::request(
                format!("{option}: ONNX Runtime does not run .tflite models such as `{}`", input.name),
                format!("leave out {option}"),
            )),
            None => Ok(()),
        }
    }

    /// Whether ONNX Runtime is to optimise a model first.
    fn fast(&self, rewrites: Rewrites, python: PathBuf) -> Option<Fast> {
        let is_plain =
            self.ort_session.as_deref() == Some("plain") || self.ort_order.as_deref() == Some("default");
        let is_required = self.ort_session.as_deref() == Some("fast");
        (!is_plain).then_some(Fast { python: Some(python), is_required, rewrites })
    }
}

/// What `optimize` is to do.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    target: Target,
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
        let model = self.target.model(input)?;
        self.check(input, model)?;
        let rewrites: Option<Rewrites> = self.rewrite.as_deref().map(named).transpose()?;
        let algorithm: Option<Algorithm> = self.algorithm.as_deref().map(named).transpose()?;
        let loops = self
            .max_extra_macs
            .map_or_else(Loops::default, |most_extra_macs| Loops { most_extra_macs, ..Loops::default() });
        Ok(Options {
            model,
            algorithm: if self.reorder { algorithm.unwrap_or_default() } else { Algorithm::File },
            threads: self.threads,
            effort: self.patience.effort(),
            limits: self.patience.limits(cancel)?,
            plan_arena: self.plan,
            rewrites: rewrites.unwrap_or_else(|| Rewrites::if_unsaid(model, self.target.kernels.is_some())),
            int8_io: self.int8_io,
            loops: self.loops.then_some(Loops { enough: self.budget, ..loops }),
            // Before ONNX Runtime fuses a model, only what was asked for by name.
            fast: self.target.fast(rewrites.unwrap_or(Rewrites::None), self.python.clone()),
            ..Options::for_input(input)
        })
    }

    /// Refuses what only some models can have, as the command does.
    fn check(&self, input: &Input, model: MemoryModel) -> Result<(), Failure> {
        let is_tflite = input.file.format() == Format::TfLite;
        for (option, is_asked) in [("loops", self.loops), ("int8_io", self.int8_io)] {
            if is_asked && !is_tflite {
                return Err(Failure::request(
                    format!("{option} is for .tflite models, which `{}` is not", input.name),
                    format!("leave out {option}, or convert the model to .tflite for TFLM"),
                ));
            }
        }
        if self.loops && model.kernels().is_none() {
            return Err(Failure::request(
                format!("loops are for TFLM, not for `{model}`"),
                "leave out loops, or say runtime=\"tflm\": only TFLM follows the plan that makes loops small",
            ));
        }
        Ok(())
    }
}
