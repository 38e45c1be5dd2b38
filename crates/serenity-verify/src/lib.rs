//! Checks that two models compute the same, by running both in a real runtime.
//!
//! Both models get the same random inputs, several times, and every bit of their outputs is compared. Where one model
//! takes or gives the integers that the other converts (`pair.rs`), its inputs and outputs are converted for it. The
//! runtimes are the user's own, called through Python (`python.rs`); nothing is downloaded.

mod emitted;
mod engine;
mod error;
mod pair;
mod python;

pub use emitted::{Compiler, verify_emitted};
pub use engine::Engine;
pub use error::VerifyError;

use python::{Answer, Culprit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serenity_formats::{Format, QuantizedIo};
use serenity_runtimes::Kernels;
use std::path::{Path, PathBuf};

/// How to compare two models.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// How often to run both models; every run is two invocations in a row with different inputs, and state is kept
    /// throughout.
    pub runs: u32,
    /// The seed of the random inputs.
    pub seed: u64,
    /// The runtime to use; if `None`, every installed one that takes the models.
    pub engine: Option<Engine>,
    /// The Python to use; if `None`, the first that has the runtime: `SERENITY_PYTHON`, the active virtual environment, `.venv` here,
    /// and `python3` and `python` in `PATH`.
    pub python: Option<PathBuf>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { runs: 4, seed: 1, engine: None, python: None }
    }
}

/// The results of all runtimes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Verification {
    /// Is every bit of every output the same in every runtime?
    pub equal: bool,
    /// The largest difference of two values in any runtime; null if some cannot be subtracted, or if nothing was run.
    #[schemars(range(min = 0))]
    pub max_abs_difference: Option<f64>,
    /// Float inputs and outputs of the first model that are integers in the second, because the first only converts
    /// them: compared as `real = scale * (q - zero_point)`.
    #[serde(rename = "int8_io")]
    pub quantized: Option<QuantizedIo>,
    /// The comparison by each runtime; at least one.
    #[serde(rename = "engines")]
    pub comparisons: Vec<Comparison>,
    /// Runtimes that were not used, and why: not installed, or they do not take the first model.
    pub skipped: Vec<Skipped>,
    /// What the runtimes that were used cannot judge: a memory plan for kernels that they do not have.
    pub not_judged: Vec<NotJudged>,
}

/// A runtime that was not used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// The runtime.
    pub engine: Engine,
    /// Why it was not used.
    pub reason: String,
}

/// What a runtime cannot judge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotJudged {
    /// The runtime.
    pub engine: Engine,
    /// What it cannot judge, and why.
    pub what: String,
}

/// The result of one runtime.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// The runtime.
    pub engine: Engine,
    /// The package and version of the runtime.
    pub version: String,
    /// The Python that ran it.
    pub python: String,
    /// Is every bit of every output the same?
    pub equal: bool,
    /// The largest difference of two values; null if some cannot be subtracted, or if nothing was run.
    #[schemars(range(min = 0))]
    pub max_abs_difference: Option<f64>,
    /// Differences between inputs and outputs of the two models in number, name, shape or type. If there are any,
    /// nothing was run.
    pub signature_differences: Vec<String>,
    /// Where an output first differed.
    pub first_difference: Option<Invocation>,
    /// The comparison of each output.
    pub outputs: Vec<OutputComparison>,
}

/// One invocation of both models.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Invocation {
    /// The run, from 0.
    pub run: u64,
    /// The invocation in this run: 0 or 1.
    pub invocation: u64,
}

/// The difference between one output of the two models over all runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OutputComparison {
    /// The name of the output.
    pub name: String,
    /// Is every bit the same?
    pub equal: bool,
    /// The largest difference of two values; null if some cannot be subtracted.
    #[schemars(range(min = 0))]
    pub max_abs_difference: Option<f64>,
    /// Pairs of values that cannot be subtracted and differ: a number and a NaN or an infinity, or different shapes.
    pub incomparable: u64,
}

/// What a script says about two models.
#[derive(Deserialize)]
struct Said {
    signature: Vec<String>,
    outputs: Vec<OutputComparison>,
    first_difference: Option<Invocation>,
}

impl Verification {
    fn new(
        comparisons: Vec<Comparison>,
        quantized: Option<QuantizedIo>,
        skipped: Vec<Skipped>,
        not_judged: Vec<NotJudged>,
    ) -> Self {
        let equal = comparisons.iter().all(|one| one.equal);
        let max_abs_difference = largest(comparisons.iter().map(|one| one.max_abs_difference));
        Self { equal, max_abs_difference, quantized, comparisons, skipped, not_judged }
    }

    /// Is the difference of every value at most `tolerance` in every runtime?
    pub fn is_within(&self, tolerance: f64) -> bool {
        self.max_abs_difference.is_some_and(|difference| difference <= tolerance)
    }
}

impl Comparison {
    fn read(engine: Engine, version: String, python: &Path, result: &Value) -> Result<Self, VerifyError> {
        let unreadable = |_| VerifyError::Unreadable { engine, answer: result.to_string() };
        let Said { signature, mut outputs, first_difference } =
            Said::deserialize(result).map_err(unreadable)?;
        for output in outputs.iter_mut().filter(|output| output.incomparable > 0) {
            output.max_abs_difference = None;
        }
        let difference = largest(outputs.iter().map(|output| output.max_abs_difference));
        Ok(Self {
            engine,
            version,
            python: python.to_string_lossy().into_owned(),
            equal: signature.is_empty() && outputs.iter().all(|output| output.equal),
            max_abs_difference: difference.filter(|_| signature.is_empty()),
            signature_differences: signature,
            first_difference,
            outputs,
        })
    }
}

/// The largest of all differences; `None` if one is not known.
fn largest(mut differences: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    differences.try_fold(0.0_f64, |most, one| Some(most.max(one?)))
}

/// Compares two models (both `.tflite` or both `.onnx`) by running them.
///
/// # Errors
/// If the models have different formats, if no installed runtime takes the first, or if a runtime takes the first but
/// not the second.
pub fn verify(a: &str, b: &str, options: &VerifyOptions) -> Result<Verification, VerifyError> {
    let engines = for_models(a, b)?;
    let asked = match options.engine {
        Some(engine) if engines.contains(&engine) => vec![engine],
        Some(engine) => return Err(VerifyError::WrongEngine { engine, path: a.to_owned() }),
        None => engines.to_vec(),
    };
    for path in [a, b] {
        // A clear error now instead of each runtime's own later.
        std::fs::File::open(Path::new(path))
            .map_err(|source| VerifyError::Read { path: path.to_owned(), source })?;
    }
    let quantized = pair::quantized(a, b);
    let mut comparisons = Vec::new();
    let mut skipped = Vec::new();
    let is_for_tflm = is_for_tflm(b);
    let mut tried = Vec::new();
    for engine in asked {
        if is_for_tflm && options.engine.is_none() && engine.is_fast_litert() {
            let name = engine.name();
            let reason = format!("`{b}` has a plan of the arena for TFLM; --engine {name} asks it");
            skipped.push(Skipped { engine, reason });
            continue;
        }
        match python::ask(engine, [a, b], quantized.as_ref(), options) {
            Answer::Result { version, python, result } => {
                comparisons.push(Comparison::read(engine, version, &python, &result)?);
            }
            // A fault of the first model was not introduced by changing it.
            Answer::Failed { culprit: Culprit::First, reason } => {
                skipped.push(Skipped { engine, reason: format!("`{a}`: {reason}") });
            }
            Answer::Failed { culprit: Culprit::Second, reason } => {
                return Err(VerifyError::SecondFails { engine, a: a.to_owned(), b: b.to_owned(), reason });
            }
            Answer::Missing(candidates) => {
                let reason = format!("no Python here can import {}", engine.packages());
                skipped.push(Skipped { engine, reason });
                tried.extend(candidates);
            }
        }
    }
    if !comparisons.is_empty() {
        let not_judged = not_judged([a, b], &comparisons);
        return Ok(Verification::new(comparisons, quantized, skipped, not_judged));
    }
    tried.sort();
    tried.dedup();
    if tried.is_empty() {
        Err(VerifyError::Refused { skipped })
    } else {
        Err(VerifyError::NoEngine { skipped, tried })
    }
}

/// Does a model have a memory plan for TFLM? Then it is not meant for the kernels of phones and computers.
fn is_for_tflm(path: &str) -> bool {
    serenity::load(path).is_ok_and(|input| input.plan().is_some())
}

/// What the runtimes that ran two models cannot judge about them.
fn not_judged(paths: [&str; 2], comparisons: &[Comparison]) -> Vec<NotJudged> {
    let mut all = Vec::new();
    for path in paths {
        let Ok(input) = serenity::load(path) else { continue };
        let Some(note) = input.plan_note() else { continue };
        let was_tflm_asked = comparisons.iter().any(|comparison| comparison.engine == Engine::Tflm);
        for Comparison { engine, .. } in comparisons {
            let why = match engine {
                Engine::Tflm if input.plan_serves(Kernels::Reference) == Some(true) => continue,
                Engine::Tflm => "it has the portable kernels",
                Engine::OnnxRuntime => continue,
                _ if was_tflm_asked => continue,
                Engine::LiteRt | Engine::LiteRtBuiltin | Engine::LiteRtXnnpack => {
                    "it does not follow such plans"
                }
            };
            let what = format!("the plan of the arena in `{path}`, for kernels `{}`: {why}", note.kernels);
            all.push(NotJudged { engine: *engine, what });
        }
    }
    all
}

/// The engines that may take two models, by their file names.
fn for_models(a: &str, b: &str) -> Result<&'static [Engine], VerifyError> {
    let of_a = for_model(a)?;
    if of_a == for_model(b)? {
        return Ok(of_a);
    }
    Err(VerifyError::DifferentFormats { a: a.to_owned(), b: b.to_owned() })
}

fn for_model(path: &str) -> Result<&'static [Engine], VerifyError> {
    match Format::of_path(path) {
        Some(Format::TfLite) => {
            Ok(&[Engine::LiteRt, Engine::LiteRtBuiltin, Engine::LiteRtXnnpack, Engine::Tflm])
        }
        Some(Format::Onnx) => Ok(&[Engine::OnnxRuntime]),
        Some(Format::Json) | None => Err(VerifyError::NotRunnable { path: path.to_owned() }),
    }
}
