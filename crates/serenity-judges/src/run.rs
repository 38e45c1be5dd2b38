//! Finds Python and runs a judge over many models at once.

use crate::{Inputs, Need, Verdict, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In which order ONNX Runtime walks a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrtOrder {
    /// Its own: backwards from the outputs, whatever the order of the file.
    Default,
    /// `PRIORITY_BASED`: the order of the file.
    File,
}

impl OrtOrder {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "priority",
        }
    }
}

/// A runtime for `.tflite`, and how it runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// TensorFlow Lite for Microcontrollers.
    Tflm,
    /// LiteRT with its reference kernels.
    LiteRtReference,
    /// LiteRT as it is by default: XNNPACK runs what it can.
    LiteRt,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tflm => "tflm",
            Self::LiteRtReference => "litert-reference",
            Self::LiteRt => "litert",
        }
    }
}

/// The Python with the runtimes; `None`, and [`skip`], if it is not set up.
///
/// # Panics
/// If `SERENITY_REQUIRE` names `runtimes` and it is not set up.
#[track_caller]
pub fn python() -> Option<PathBuf> {
    let python = repository().join(".venv/bin/python");
    let reason = if std::env::var_os("SERENITY_WITHOUT_RUNTIMES").is_some_and(|value| !value.is_empty()) {
        "SERENITY_WITHOUT_RUNTIMES is set"
    } else if python.exists() {
        return Some(python);
    } else {
        "run scripts/python-env first"
    };
    skip(Need::Runtimes, format!("no real runtime judges this ({reason})"));
    None
}

/// A large network made for the tests (`judges/networks.py` says which there are), with open sizes or fixed ones, as a
/// file in `folder`. Needs [`python`].
///
/// # Panics
/// If it cannot be made.
pub fn network(name: &str, is_open: bool, folder: &Path) -> PathBuf {
    let how = if is_open { "open" } else { "fixed" };
    let path = folder.join(format!("{name}_{how}.onnx"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("judges/networks.py");
    let made =
        Command::new(repository().join(".venv/bin/python")).arg(script).args([name, how]).arg(&path).output();
    let made = made.unwrap_or_else(|error| panic!("cannot run networks.py: {error}"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    path
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn judge<T>(
    script: &str,
    options: &[&str],
    models: &[impl AsRef<Path>],
    inputs: &Inputs,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<Vec<Verdict<T>>> {
    let python = python()?;
    if models.is_empty() {
        return Some(Vec::new());
    }
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("judges").join(script))
        .args(["--runs", &inputs.runs.to_string(), "--seed", &inputs.seed.to_string()])
        .args(options)
        .arg("--")
        .args(models.iter().map(AsRef::as_ref))
        .output()
        .unwrap_or_else(|error| panic!("cannot run {script}: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} failed ({}): {stderr}", output.status);
    let verdicts: Vec<_> = stdout.lines().map(|line| verdict(line, &read)).collect();
    assert_eq!(verdicts.len(), models.len(), "{script} did not judge every model: {stderr}");
    Some(verdicts)
}

fn verdict<T>(line: &str, read: impl Fn(&Value) -> Option<T>) -> Verdict<T> {
    let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in `{line}`"));
    if let Some(reason) = object["refused"].as_str() {
        return Verdict::Refused(reason.to_owned());
    }
    Verdict::Accepted(read(&object).unwrap_or_else(|| panic!("a field is missing in `{line}`")))
}
