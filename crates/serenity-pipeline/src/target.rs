//! The device that a model will run on, and what may be done to the model for it. Resolved here, for the command and
//! for Python alike.

mod kernels;

pub use kernels::KernelsName;

use crate::{Error, Fast, Input, Loops, Options, Rewrites};
use serenity_formats::Format;
use serenity_runtimes::{Kernels, MemoryModel, OrtOrder, OrtSetup};
use std::path::PathBuf;

/// What the user said of the device and of changes to the model; `None` where nothing was said.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// How the user spells options, for messages that name one.
    pub spelling: Spelling,
    /// The runtime.
    pub runtime: Option<MemoryModel>,
    /// The kernels that the runtime is built with.
    pub kernels: Option<KernelsName>,
    /// The order in which ONNX Runtime runs operators.
    pub ort_order: Option<OrtOrder>,
    /// The session of ONNX Runtime.
    pub ort_session: Option<OrtSession>,
    /// The Python whose ONNX Runtime may optimise a model first, if not the usual one.
    pub python: Option<PathBuf>,
    /// The RAM of the device.
    pub budget: Option<u64>,
    /// Which operators may be replaced.
    pub rewrites: Option<Rewrites>,
    /// Whether loops may be made, and how many times as many multiplications they may add.
    pub loops: Option<f64>,
    /// Whether integers may replace float inputs and outputs.
    pub int8_io: bool,
}

/// A session of ONNX Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrtSession {
    /// As people run it: ONNX Runtime optimises the model first.
    Fast,
    /// The model as it is.
    Plain,
}

serenity_search::named! { "session": OrtSession { "fast" => Fast, "plain" => Plain } }

/// How options are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As flags of the command: `--ort-session plain`.
    #[default]
    Flags,
    /// As keywords of Python: `ort_session="plain"`.
    Keywords,
}

impl Spelling {
    /// An option by name.
    fn option(self, name: &str) -> String {
        match self {
            Self::Flags => format!("--{}", name.replace('_', "-")),
            Self::Keywords => name.to_owned(),
        }
    }

    /// An option with a value.
    pub fn with(self, name: &str, value: &str) -> String {
        match self {
            Self::Flags => format!("{} {value}", self.option(name)),
            Self::Keywords => format!("{name}=\"{value}\""),
        }
    }
}

impl Target {
    /// The memory model of the runtime and the kernels asked for, or else the one that fits the input.
    ///
    /// # Errors
    /// If the runtime does not run such a model, does not have these kernels, or cannot be counted.
    pub fn model(&self, input: &Input) -> Result<MemoryModel, Error> {
        self.check_sessions(input)?;
        let default = input.default_model;
        // A file may say for which session it was made.
        let made_for = default.ort().is_none_or(|setup| setup.reuse);
        let reuse = self.ort_session.map_or(made_for, |session| session == OrtSession::Plain);
        let setup = OrtSetup { order: self.ort_order.unwrap_or_default(), reuse };
        let model = self.with_kernels(self.runtime.unwrap_or(default).with_ort(setup), input)?;
        input.can_be_counted(model)?;
        Ok(model)
    }

    /// A memory model with the kernels asked for, if any are.
    ///
    /// # Errors
    /// If the runtime does not have them.
    pub fn with_kernels(&self, model: MemoryModel, input: &Input) -> Result<MemoryModel, Error> {
        self.kernels.map_or(Ok(model), |kernels| kernels.of(model, input, self.spelling))
    }

    /// A memory model with the kernels of emitted C that were asked for: our own, or calls into CMSIS-NN.
    ///
    /// # Errors
    /// If other kernels or another runtime were asked for.
    pub fn with_emitted_kernels(&self, model: MemoryModel) -> Result<MemoryModel, Error> {
        let said = self.spelling;
        match model.kernels() {
            Some(_) if self.kernels.is_none() => Ok(model.with_kernels(Kernels::Emitted)),
            Some(Kernels::CmsisNn) => Ok(model.with_kernels(Kernels::EmittedCmsisNn)),
            Some(Kernels::CmsisNnMve) => Ok(model.with_kernels(Kernels::EmittedCmsisNnMve)),
            Some(kernels) if kernels.are_emitted() || kernels == Kernels::Any => Ok(model),
            Some(kernels) => Err(Error::Unfit {
                reason: format!(
                    "{}: emitted C has kernels of its own, or calls CMSIS-NN",
                    said.with("kernels", &kernels.to_string())
                ),
                remedy: format!(
                    "leave out {}, or say {}, cmsis-nn or cmsis-nn-mve",
                    said.option("kernels"),
                    said.with("kernels", "emitted")
                ),
            }),
            None => Err(Error::Unfit {
                reason: format!(
                    "C is written from the places of a plan for TFLM, which `{model}` does not have"
                ),
                remedy: format!("leave out {}", said.option("runtime")),
            }),
        }
    }

    /// The options of `optimize` for an input and its [memory model](Self::model).
    ///
    /// # Errors
    /// If loops or integers are asked for where a model cannot have them.
    pub fn options(&self, input: &Input, model: MemoryModel) -> Result<Options, Error> {
        self.check(input, model)?;
        Ok(Options {
            model,
            rewrites: self.rewrites_for(model),
            int8_io: self.int8_io,
            loops: self.loops.map(|most_extra_macs| Loops { most_extra_macs, enough: self.budget }),
            fast: self.fast(),
            ..Options::for_input(input)
        })
    }

    /// The rewrites that may be made.
    pub fn rewrites_for(&self, model: MemoryModel) -> Rewrites {
        self.rewrites.unwrap_or_else(|| Rewrites::if_unsaid(model, self.kernels.is_some()))
    }

    /// Whether ONNX Runtime optimises the model first: unless the user asks for the model as it is, by name or by an
    /// order that only a plain session has. Before it fuses operators, only rewrites that were asked for are made.
    fn fast(&self) -> Option<Fast> {
        let is_plain =
            self.ort_session == Some(OrtSession::Plain) || self.ort_order == Some(OrtOrder::Default);
        (!is_plain).then(|| Fast {
            python: self.python.clone(),
            is_required: self.ort_session == Some(OrtSession::Fast),
            rewrites: self.rewrites.unwrap_or(Rewrites::None),
        })
    }

    /// Refuses what is asked of ONNX Runtime where it does not run the model: nothing is ignored.
    fn check_sessions(&self, input: &Input) -> Result<(), Error> {
        let is_ort = self.runtime.is_some_and(|model| model.ort().is_some());
        let order = self.ort_order.is_some_and(|order| order != OrtOrder::default());
        let options = [
            (is_ort, self.spelling.with("runtime", "ort")),
            (self.ort_session.is_some(), self.spelling.option("ort_session")),
            (order, self.spelling.option("ort_order")),
        ];
        match options.into_iter().find(|(is_asked, _)| *is_asked) {
            Some((_, option)) if input.file.format() == Format::TfLite => Err(Error::Unfit {
                reason: format!(
                    "{option}: ONNX Runtime does not run .tflite models such as `{}`",
                    input.name
                ),
                remedy: format!("leave out {option}; .tflite models run in tflm and litert"),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses loops and integers where nothing would run them, or gain by them.
    ///
    /// # Errors
    /// If they are asked for there.
    pub fn check(&self, input: &Input, model: MemoryModel) -> Result<(), Error> {
        let (loops, int8_io) = (self.spelling.option("loops"), self.spelling.option("int8_io"));
        let asked = [(self.loops.is_some(), &loops), (self.int8_io, &int8_io)];
        let format = input.file.format();
        if let Some((_, option)) = asked.iter().find(|(is_asked, _)| *is_asked && format != Format::TfLite) {
            let remedy = match input.name.strip_prefix("zoo:") {
                Some(network) => {
                    // Options of a network have signs that a shell would read.
                    let quote = if network.contains('?') { "'" } else { "" };
                    format!(
                        "make one of it first: serenity zoo export {quote}{network}{quote} --int8 -o net.tflite"
                    )
                }
                None if format == Format::Json => "give the model that the graph was made of".to_owned(),
                None => format!("leave out {option}, or convert the model to .tflite for TFLM"),
            };
            let reason = format!("{option} is for .tflite models, which `{}` is not", input.name);
            return Err(Error::Unfit { reason, remedy });
        }
        if self.loops.is_some() && model.kernels().is_none() {
            let tflm = self.spelling.with("runtime", "tflm");
            return Err(Error::Unfit {
                reason: format!("{loops} is for TFLM, not for `{model}`"),
                remedy: format!(
                    "leave out {loops}, or say {tflm}: only TFLM follows the plan that makes loops small"
                ),
            });
        }
        Ok(())
    }
}
