//! Asks the user's own ONNX Runtime to optimise a model.
//!
//! It fuses nodes and blocks channels for the machine that it runs on, as every default session does when it loads a
//! model. We keep the result in a file, which can then be ordered.

use serde_json::{Value, json};
use serenity_programs::Temporary;
use serenity_programs::child::{self, NoOutput};
use serenity_programs::python::{REPORT, candidates, last_lines};
use serenity_search::{Limits, StopReason};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Embedded, so that the binary needs no file beside it.
const SCRIPT: &str = include_str!("offline.py");

/// A model that ONNX Runtime has optimised.
pub(super) struct Offline {
    pub(super) bytes: Vec<u8>,
    /// The version of ONNX Runtime.
    pub(super) version: String,
    /// The bytes that a default session requested in its first run and the nodes that it ran, or why they are unknown.
    pub(super) measured: Result<(u64, usize), String>,
}

/// Why ONNX Runtime could not optimise a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFast {
    /// No Python on this machine has ONNX Runtime.
    #[error("no Python here has an ONNX Runtime that can be asked ({})", tried.join("; "))]
    Missing {
        /// Every Python that was tried, with its answer.
        tried: Vec<String>,
    },
    /// ONNX Runtime refuses the model.
    #[error("ONNX Runtime {version} does not take the model: {reason}")]
    Refused {
        /// The version of ONNX Runtime.
        version: String,
        /// The message of ONNX Runtime.
        reason: String,
    },
    /// A limit or a signal came before the answer.
    #[error("ONNX Runtime has not answered: {reason}")]
    Stopped {
        /// The limit or signal.
        reason: StopReason,
    },
    /// A temporary file could not be written or read.
    #[error("no temporary file for ONNX Runtime: {reason}")]
    Files {
        /// The message of the operating system.
        reason: String,
    },
}

/// Asks the first Python that has ONNX Runtime. `lies` is the path of the model, if it must be read from there.
pub(super) fn optimize(
    model: &[u8],
    lies: Option<&Path>,
    shapes: &BTreeMap<String, Vec<u64>>,
    python: Option<&Path>,
    limits: &Limits,
) -> Result<Offline, NoFast> {
    let files = |error: std::io::Error| NoFast::Files { reason: error.to_string() };
    let folder = Temporary::folder().map_err(files)?;
    let [copy, made] = ["given.onnx", "made.onnx"].map(|name| folder.path().join(name));
    if lies.is_none() {
        std::fs::write(&copy, model).map_err(files)?;
    }
    let given = lies.unwrap_or(&copy);
    let mut tried = Vec::new();
    for python in candidates(python) {
        match ask(&python, given, &made, shapes, limits) {
            Ok(Said { version, measured }) => {
                let bytes = std::fs::read(&made).map_err(files)?;
                return Ok(Offline { bytes, version, measured });
            }
            Err(Silence::Final(why)) => return Err(why),
            Err(Silence::Missing(reason)) => tried.push(format!("{}: {reason}", python.display())),
        }
    }
    Err(NoFast::Missing { tried })
}

struct Said {
    version: String,
    measured: Result<(u64, usize), String>,
}

enum Silence {
    /// This Python has no ONNX Runtime: another may.
    Missing(String),
    /// An answer after which no other Python is asked.
    Final(NoFast),
}

fn ask(
    python: &PathBuf,
    given: &Path,
    made: &Path,
    shapes: &BTreeMap<String, Vec<u64>>,
    limits: &Limits,
) -> Result<Said, Silence> {
    let mut command = Command::new(python);
    command.args(["-c", &[REPORT, SCRIPT].concat()]).args([given, made]).arg(json!(shapes).to_string());
    match child::output(&mut command, limits) {
        Ok(output) => read(&output),
        Err(NoOutput::Stopped(reason)) => Err(Silence::Final(NoFast::Stopped { reason })),
        Err(none) => Err(Silence::Missing(none.reason())),
    }
}

fn read(output: &Output) -> Result<Said, Silence> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last_words = last_lines(&stderr);
    let (mut version, mut is_written) = (None, false);
    let mut measured = Err("it crashed".to_owned());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(said) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(missing) = said["missing"].as_str() {
            return Err(Silence::Missing(missing.to_owned()));
        } else if let Some(engine) = said["engine"].as_str() {
            version = Some(engine.to_owned());
        } else if let (Some(error), Some(version)) = (said["error"].as_str(), &version) {
            let (version, reason) = (version.clone(), error.to_owned());
            return Err(Silence::Final(NoFast::Refused { version, reason }));
        } else if said["written"] == true {
            is_written = true;
        } else if let Some(reason) = said["unmeasured"].as_str() {
            measured = Err(reason.to_owned());
        } else if let (Some(bytes), Some(nodes)) = (said["requested"].as_u64(), said["nodes"].as_u64()) {
            measured = Ok((bytes, usize::try_from(nodes).unwrap_or(usize::MAX)));
        }
    }
    match version {
        Some(version) if is_written => Ok(Said { version, measured }),
        Some(version) => {
            let reason = format!("it crashed ({}): {last_words}", output.status);
            Err(Silence::Final(NoFast::Refused { version, reason }))
        }
        // The script ended before it reached the runtime.
        None if last_words.is_empty() => Err(Silence::Missing("no answer".to_owned())),
        None => Err(Silence::Missing(last_words)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn said(stdout: &str, stderr: &str) -> Result<Said, Silence> {
        let status = std::process::ExitStatus::from_raw(0);
        read(&Output { status, stdout: stdout.into(), stderr: stderr.into() })
    }

    #[test]
    fn what_was_written_counts_even_if_nothing_was_measured() {
        let answer = said("{\"engine\": \"1.31.1\"}\n{\"written\": true}\n{\"unmeasured\": \"text\"}\n", "");
        let Ok(Said { version, measured }) = answer else { panic!("refused") };
        assert_eq!((version.as_str(), measured), ("1.31.1", Err("text".to_owned())));
        let Ok(Said { measured, .. }) =
            said("{\"engine\": \"1\"}\n{\"written\": true}\n{\"requested\": 7, \"nodes\": 2}", "")
        else {
            panic!("refused")
        };
        assert_eq!(measured, Ok((7, 2)));
    }

    #[test]
    fn a_python_without_it_is_passed_over_and_a_refusal_is_not() {
        assert!(matches!(said("{\"missing\": \"no\"}", ""), Err(Silence::Missing(reason)) if reason == "no"));
        assert!(
            matches!(said("", "Traceback\nboom"), Err(Silence::Missing(reason)) if reason == "Traceback; boom")
        );
        let refused = said("{\"engine\": \"1\"}\n{\"error\": \"opset\"}", "");
        assert!(matches!(refused, Err(Silence::Final(NoFast::Refused { reason, .. })) if reason == "opset"));
        assert!(matches!(said("{\"engine\": \"1\"}", "killed"), Err(Silence::Final(_))));
    }
}
