//! Finds a Python that has the runtime, and runs the comparison in it.

use super::{Engine, VerifyOptions, pair};
use serde_json::{Value, json};
use serenity_formats::{QuantizedIo, QuantizedPort};
use serenity_programs::child;
use serenity_programs::python::{REPORT, candidates, last_lines};
use serenity_search::Limits;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Embedded, so that the binary needs no file beside it.
const SCRIPT: &str = concat!(include_str!("compare.py"), include_str!("verify.py"));

/// The answer of a Python.
pub(super) enum Answer {
    /// The runtime ran, with this result.
    Result { version: String, python: PathBuf, result: Value },
    /// The runtime refused a model, or crashed.
    Failed { culprit: Culprit, reason: String },
    /// No Python has the runtime; each is listed with its answer.
    Missing(Vec<String>),
}

/// The model that a runtime failed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    First,
    Second,
}

/// Asks the first Python that has the runtime. `quantized` says where the second model has integers for floats of the
/// first.
pub(super) fn ask(
    engine: Engine,
    [a, b]: [&str; 2],
    quantized: Option<&QuantizedIo>,
    options: &VerifyOptions,
) -> Answer {
    let positions = |ports: fn(&QuantizedIo) -> &[QuantizedPort]| -> Vec<usize> {
        quantized.into_iter().flat_map(ports).map(|one| one.position).collect()
    };
    let (inputs, outputs) = (positions(|io| &io.inputs), positions(|io| &io.outputs));
    let positions =
        json!({"input": inputs, "output": outputs, "fast": pair::fast([a, b]), "carried": pair::carried(b)});
    let mut tried = Vec::new();
    for python in candidates(options.python.as_deref()) {
        let mut command = Command::new(&python);
        command.args(["-c", &[REPORT, SCRIPT].concat(), engine.name(), a, b]).args([
            options.runs.to_string(),
            options.seed.to_string(),
            positions.to_string(),
        ]);
        let output = child::output(&mut command, &Limits::default());
        let reason = match output {
            Ok(output) => match listen(&output, &python) {
                Ok(answer) => return answer,
                Err(reason) => reason,
            },
            Err(none) => none.reason(),
        };
        tried.push(format!("{}: {reason}", python.display()));
    }
    Answer::Missing(tried)
}

/// The answer of a script, or why this Python cannot be used.
pub(super) fn listen(output: &Output, python: &Path) -> Result<Answer, String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last_words = last_lines(&stderr);
    let mut version = None;
    let mut culprit = Culprit::First;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(mut said) = serde_json::from_str::<Value>(line) else { continue };
        match said["model"].as_str() {
            Some("a") => culprit = Culprit::First,
            Some("b") => culprit = Culprit::Second,
            _ => {}
        }
        if let Some(missing) = said["missing"].as_str() {
            return Err(missing.to_owned());
        } else if let Some(engine) = said["engine"].as_str() {
            version = Some(engine.to_owned());
        } else if let Some(error) = said["error"].as_str() {
            let detail = if last_words.is_empty() { String::new() } else { format!(" ({last_words})") };
            return Ok(Answer::Failed { culprit, reason: format!("{error}{detail}") });
        } else if said["result"].is_object() {
            let version = version.unwrap_or_default();
            return Ok(Answer::Result { version, python: python.to_owned(), result: said["result"].take() });
        }
    }
    match version {
        // The script ended before it reached the runtime.
        None if last_words.is_empty() => Err("no answer".to_owned()),
        None => Err(last_words),
        Some(_) => {
            Ok(Answer::Failed { culprit, reason: format!("it crashed ({}): {last_words}", output.status) })
        }
    }
}
