//! For tests only: the real runtimes judge a model's memory and outputs.
//!
//! Takes model files and returns what TensorFlow Lite for Microcontrollers ([`tflm`]), LiteRT ([`litert`]) or ONNX
//! Runtime ([`ort`]) did with each of them: bytes as the runtime itself counts them, and a hash of the outputs of every
//! invocation. One call starts Python once, so judge many models together.
//!
//! The runtimes live in `.venv`, which `scripts/python-env` makes. Where they are not, or if
//! `SERENITY_WITHOUT_RUNTIMES` is set, every call returns `None` and a test ends there, unless `SERENITY_REQUIRE` names
//! `runtimes` ([`skip`]).
//!
//! ```no_run
//! # fn main() {
//! let Some(verdicts) = serenity_judges::tflm(&["model.tflite"], &serenity_judges::Inputs::default()) else { return };
//! assert_eq!(verdicts[0].accepted().head, 768);
//! # }
//! ```

mod cores;
mod reports;
mod run;
mod shared;
mod skip;
mod spent;

pub use cores::on_all_cores;
pub use reports::{Across, KnownShapes, LiteRt, Ort, Rewritten, Sessions, Slower, SubGraph, Tflm, Verdict};
pub use run::{Engine, OrtOrder, network, python};
pub use shared::{shared, shared_files};
pub use skip::{Need, draws, is_slow, sample, skip};
pub use spent::spent;

use std::path::Path;

/// The random inputs to run a model on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// How often; every run is two invocations in a row, because wrong state and clobbered inputs show in the second.
    /// With 0 the runtime only allocates.
    pub runs: u32,
    /// Another seed draws other inputs; the same seed draws the same for every model of the same signature.
    pub seed: u64,
}

impl Default for Inputs {
    fn default() -> Self {
        Self { runs: 1, seed: 1 }
    }
}

/// The verdict of TensorFlow Lite for Microcontrollers on each model; `None` if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn tflm(models: &[impl AsRef<Path>], inputs: &Inputs) -> Option<Vec<Verdict<Tflm>>> {
    run::judge("tflm.py", &[], models, inputs, Tflm::read)
}

/// The verdict of TensorFlow Lite for Microcontrollers on each model, with `arena` bytes; a model that needs more is
/// refused.
///
/// # Panics
/// If the judge itself fails.
pub fn tflm_within(arena: u64, models: &[impl AsRef<Path>], inputs: &Inputs) -> Option<Vec<Verdict<Tflm>>> {
    run::judge("tflm.py", &["--arena", &arena.to_string()], models, inputs, Tflm::read)
}

/// The verdict of TensorFlow Lite for Microcontrollers on each model, with a separate size of the arena for each.
///
/// # Panics
/// If the judge itself fails.
pub fn tflm_each_within(
    arenas: &[u64],
    models: &[impl AsRef<Path>],
    inputs: &Inputs,
) -> Option<Vec<Verdict<Tflm>>> {
    assert_eq!(arenas.len(), models.len(), "one arena a model");
    let arenas: Vec<String> = arenas.iter().map(ToString::to_string).collect();
    run::judge("tflm.py", &["--arena", &arenas.join(",")], models, inputs, Tflm::read)
}

/// How long an invocation of each model takes in TensorFlow Lite for Microcontrollers, and of the one before it; `None`
/// if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn slower(
    before: &[impl AsRef<Path>],
    after: &[impl AsRef<Path>],
    inputs: &Inputs,
) -> Option<Vec<Verdict<Slower>>> {
    assert_eq!(before.len(), after.len(), "one model before for each one after");
    let before: Vec<_> = before.iter().map(|path| path.as_ref().to_string_lossy()).collect();
    let options: Vec<&str> = before.iter().flat_map(|path| ["--before", path]).collect();
    run::judge("slower.py", &options, after, inputs, Slower::read)
}

/// The verdict of LiteRT with its reference kernels on each model; `None` if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn litert(models: &[impl AsRef<Path>], inputs: &Inputs) -> Option<Vec<Verdict<LiteRt>>> {
    run::judge("litert.py", &[], models, inputs, LiteRt::read)
}

/// The verdict of ONNX Runtime with its graph optimisation off on each model; `None` if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn ort(order: OrtOrder, models: &[impl AsRef<Path>], inputs: &Inputs) -> Option<Vec<Verdict<Ort>>> {
    run::judge("ort.py", &["--order", order.name()], models, inputs, Ort::read)
}

/// The verdict of ONNX Runtime on each of the models that leave shapes of inputs open, given as in `x=1,7 y=1`.
///
/// # Panics
/// If the judge itself fails.
pub fn ort_with_shapes(
    order: OrtOrder,
    models: &[impl AsRef<Path>],
    shapes: &[String],
    inputs: &Inputs,
) -> Option<Vec<Verdict<Ort>>> {
    assert_eq!(models.len(), shapes.len(), "shapes for each model");
    let shapes: Vec<String> = shapes.iter().map(|shapes| format!("--shapes={shapes}")).collect();
    let mut options = vec!["--order", order.name()];
    options.extend(shapes.iter().map(String::as_str));
    run::judge("ort.py", &options, models, inputs, Ort::read)
}

/// The shapes that ONNX Runtime knows when it has loaded each model; `None` if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn known_shapes(models: &[impl AsRef<Path>]) -> Option<Vec<Verdict<KnownShapes>>> {
    run::judge("known_shapes.py", &[], models, &Inputs::default(), KnownShapes::read)
}

/// What ONNX Runtime says of a default session of each model before, and of a fast session of what became of it;
/// `shapes` as in `x=1,7 y=1`, for inputs that are open. With `seconds`, how long both take. `None` if it is not set
/// up.
///
/// # Panics
/// If the judge itself fails.
pub fn sessions(
    before: &[impl AsRef<Path>],
    after: &[impl AsRef<Path>],
    shapes: &[String],
    seconds: f64,
    inputs: &Inputs,
) -> Option<Vec<Verdict<Sessions>>> {
    assert_eq!(
        (before.len(), shapes.len()),
        (after.len(), after.len()),
        "one model before for each one after"
    );
    let before: Vec<_> = before.iter().map(|path| path.as_ref().to_string_lossy()).collect();
    let seconds = seconds.to_string();
    let mut options: Vec<&str> = before.iter().flat_map(|path| ["--before", path]).collect();
    let shapes: Vec<String> = shapes.iter().map(|shapes| format!("--shapes={shapes}")).collect();
    options.extend(shapes.iter().map(String::as_str));
    options.extend(["--seconds", &seconds]);
    run::judge("sessions.py", &options, after, inputs, Sessions::read)
}

/// How far ONNX Runtime and LiteRT are apart on the same network, for each `.onnx` with the `.tflite` beside it; `None`
/// if they are not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn across(models: &[impl AsRef<Path>], inputs: &Inputs) -> Option<Vec<Verdict<Across>>> {
    run::judge("across.py", &[], models, inputs, Across::read)
}

/// How far the outputs of each rewritten `.onnx` are from those of the file before, both in ONNX Runtime, and whether
/// `onnx.checker` accepts it in full; `None` if they are not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn rewritten(
    before: &[impl AsRef<Path>],
    after: &[impl AsRef<Path>],
    inputs: &Inputs,
) -> Option<Vec<Verdict<Across>>> {
    assert_eq!(before.len(), after.len(), "one model before for each one after");
    let before: Vec<_> = before.iter().map(|path| path.as_ref().to_string_lossy()).collect();
    let options: Vec<&str> = before.iter().flat_map(|path| ["--before", path]).collect();
    run::judge("rewritten.py", &options, after, inputs, Across::read)
}

/// How far the outputs of each rewritten `.tflite` are from those of the file before, both in the same runtime; `None`
/// if it is not set up.
///
/// # Panics
/// If the judge itself fails.
pub fn rewritten_tflite(
    engine: Engine,
    before: &[impl AsRef<Path>],
    after: &[impl AsRef<Path>],
    inputs: &Inputs,
) -> Option<Vec<Verdict<Rewritten>>> {
    assert_eq!(before.len(), after.len(), "one model before for each one after");
    let before: Vec<_> = before.iter().map(|path| path.as_ref().to_string_lossy()).collect();
    let mut options = vec!["--engine", engine.name()];
    options.extend(before.iter().flat_map(|path| ["--before", path]));
    run::judge("rewritten_tflite.py", &options, after, inputs, Rewritten::read)
}
