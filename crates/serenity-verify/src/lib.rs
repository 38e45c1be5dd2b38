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
use serde_json::{Value, json};
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
#[derive(Clone, Debug)]
pub struct Verification {
    /// The comparison by each runtime; at least one.
    pub comparisons: Vec<Comparison>,
    /// Float inputs and outputs of the first model that are integers in the second, because the first only converts
    /// them.
    pub quantized: Option<QuantizedIo>,
    /// Runtimes that were not used, and why: not installed, or they do not take the first model.
    pub skipped: Vec<(Engine, String)>,
    /// What the runtimes that were used cannot judge: a memory plan for kernels that they do not have.
    pub not_judged: Vec<(Engine, String)>,
}

/// The result of one runtime.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The runtime.
    pub engine: Engine,
    /// The package and version of the runtime.
    pub version: String,
    /// The Python that ran it.
    pub python: PathBuf,
    /// Differences between inputs and outputs of the two models in number, name, shape or type. If there are any,
    /// nothing was run.
    pub signature_differences: Vec<String>,
    /// The comparison of each output.
    pub outputs: Vec<OutputComparison>,
    /// Run and invocation (0 or 1) in which an output first differed.
    pub first_difference: Option<(u64, u64)>,
}

/// The difference between one output of the two models over all runs.
#[derive(Clone, Debug)]
pub struct OutputComparison {
    /// The name of the output.
    pub name: String,
    /// Is every bit the same?
    pub equal: bool,
    /// The largest difference of two values that can be subtracted.
    pub max_abs_difference: f64,
    /// Pairs of values that cannot be subtracted and differ: a number and a NaN or an infinity, or different shapes.
    pub incomparable: u64,
}

impl Verification {
    /// Is every bit of every output the same in every runtime?
    pub fn is_equal(&self) -> bool {
        self.comparisons.iter().all(Comparison::is_equal)
    }

    /// Is the difference of every value at most `tolerance` in every runtime?
    pub fn is_within(&self, tolerance: f64) -> bool {
        self.max_abs_difference().is_some_and(|difference| difference <= tolerance)
    }

    /// The largest difference of two values in any runtime; `None` if some cannot be subtracted, or if nothing was run.
    pub fn max_abs_difference(&self) -> Option<f64> {
        self.comparisons.iter().try_fold(0.0_f64, |most, one| Some(most.max(one.max_abs_difference()?)))
    }

    /// The result as a JSON object.
    pub fn to_json(&self) -> Value {
        let skipped =
            self.skipped.iter().map(|(engine, why)| json!({"engine": engine.name(), "reason": why}));
        let not_judged =
            self.not_judged.iter().map(|(engine, what)| json!({"engine": engine.name(), "what": what}));
        json!({
            "equal": self.is_equal(),
            "max_abs_difference": self.max_abs_difference(),
            "int8_io": self.quantized.as_ref().map(QuantizedIo::to_json),
            "engines": self.comparisons.iter().map(Comparison::to_json).collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "not_judged": not_judged.collect::<Vec<_>>(),
        })
    }
}

impl Comparison {
    /// Is every bit of every output the same?
    pub fn is_equal(&self) -> bool {
        self.signature_differences.is_empty() && self.outputs.iter().all(|output| output.equal)
    }

    /// The largest difference of two values; `None` if some cannot be subtracted, or if nothing was run.
    pub fn max_abs_difference(&self) -> Option<f64> {
        if !self.signature_differences.is_empty() || self.outputs.iter().any(|output| output.incomparable > 0)
        {
            return None;
        }
        Some(self.outputs.iter().fold(0.0, |most, output| output.max_abs_difference.max(most)))
    }

    fn to_json(&self) -> Value {
        let output = |output: &OutputComparison| {
            json!({
                "name": output.name,
                "equal": output.equal,
                "max_abs_difference": (output.incomparable == 0).then_some(output.max_abs_difference),
                "incomparable": output.incomparable,
            })
        };
        let first = |(run, invocation)| json!({"run": run, "invocation": invocation});
        json!({
            "engine": self.engine.name(),
            "version": self.version,
            "python": self.python.to_string_lossy(),
            "equal": self.is_equal(),
            "max_abs_difference": self.max_abs_difference(),
            "signature_differences": self.signature_differences,
            "first_difference": self.first_difference.map(first),
            "outputs": self.outputs.iter().map(output).collect::<Vec<_>>(),
        })
    }

    fn read(engine: Engine, version: String, python: PathBuf, result: &Value) -> Option<Self> {
        let differences = result["signature"].as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
        let first = &result["first_difference"];
        Some(Self {
            engine,
            version,
            python,
            signature_differences: differences.collect::<Option<_>>()?,
            outputs: result["outputs"]
                .as_array()?
                .iter()
                .map(OutputComparison::read)
                .collect::<Option<_>>()?,
            first_difference: first["run"].as_u64().zip(first["invocation"].as_u64()),
        })
    }
}

impl OutputComparison {
    fn read(object: &Value) -> Option<Self> {
        Some(Self {
            name: object["name"].as_str()?.to_owned(),
            equal: object["equal"].as_bool()?,
            max_abs_difference: object["max_abs_difference"].as_f64()?,
            incomparable: object["incomparable"].as_u64()?,
        })
    }
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
            skipped.push((
                engine,
                format!("`{b}` has a plan of the arena for TFLM; --engine {} asks it", engine.name()),
            ));
            continue;
        }
        match python::ask(engine, [a, b], quantized.as_ref(), options) {
            Answer::Result { version, python, result } => comparisons.push(
                Comparison::read(engine, version, python, &result)
                    .ok_or_else(|| VerifyError::Unreadable { engine, answer: result.to_string() })?,
            ),
            // A fault of the first model was not introduced by changing it.
            Answer::Failed { culprit: Culprit::First, reason } => {
                skipped.push((engine, format!("`{a}`: {reason}")));
            }
            Answer::Failed { culprit: Culprit::Second, reason } => {
                return Err(VerifyError::SecondFails { engine, a: a.to_owned(), b: b.to_owned(), reason });
            }
            Answer::Missing(candidates) => {
                skipped.push((engine, format!("no Python here can import {}", engine.packages())));
                tried.extend(candidates);
            }
        }
    }
    if !comparisons.is_empty() {
        let not_judged = not_judged([a, b], &comparisons);
        return Ok(Verification { comparisons, quantized, skipped, not_judged });
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
fn not_judged(paths: [&str; 2], comparisons: &[Comparison]) -> Vec<(Engine, String)> {
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
            all.push((
                *engine,
                format!("the plan of the arena in `{path}`, for kernels `{}`: {why}", note.kernels),
            ));
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
