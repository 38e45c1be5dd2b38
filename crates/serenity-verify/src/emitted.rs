//! Checks that emitted C computes what the model computes: compiles it with the user's own compiler, and runs both.

use super::python::{Answer, Culprit, listen};
use super::{Comparison, Engine, Skipped, Verification, VerifyError, VerifyOptions};
use serenity_programs::Temporary;
use serenity_programs::child;
use serenity_programs::python::{REPORT, candidates};
use serenity_search::Limits;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Embedded, so that the binary needs no file beside it.
const SCRIPT: &str = concat!(include_str!("compare.py"), include_str!("emitted.py"));
const HARNESS: &str = include_str!("harness.c");

/// How emitted C is compiled and run.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The compiler's command.
    pub command: String,
    /// The flags, besides the files to compile.
    pub flags: Vec<String>,
    /// A command in front of the program that runs it, such as an emulator.
    pub runner: Vec<String>,
}

impl Default for Compiler {
    /// The command and flags in `CC` and `CFLAGS`, or `cc -O2`.
    fn default() -> Self {
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let flags = named("CFLAGS").unwrap_or_else(|| "-O2".to_owned());
        Self {
            command: named("CC").unwrap_or_else(|| "cc".to_owned()),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            runner: Vec::new(),
        }
    }
}

/// Compares a `.tflite` model, run by TensorFlow Lite for Microcontrollers, with its emitted C in a folder.
///
/// # Errors
/// If there is no such code, if it does not compile or crashes, or if the runtime is not installed or does not take the model.
pub fn verify_emitted(
    model: &str,
    folder: &str,
    compiler: &Compiler,
    options: &VerifyOptions,
) -> Result<Verification, VerifyError> {
    let build =
        Temporary::folder().map_err(|source| VerifyError::Read { path: folder.to_owned(), source })?;
    let (program, hop) = compiled(folder, compiler, build.path())?;
    let engine = Engine::Tflm;
    let mut tried = Vec::new();
    for python in candidates(options.python.as_deref()) {
        let mut command = Command::new(&python);
        command.args(["-c", &[REPORT, SCRIPT].concat(), model]).args([
            options.runs.to_string(),
            options.seed.to_string(),
            hop.to_string(),
        ]);
        command.args(&compiler.runner).arg(&program);
        let reason = match child::output(&mut command, &Limits::default())
            .map_err(|none| none.reason())
            .and_then(|output| listen(&output, &python))
        {
            Ok(Answer::Result { version, python, result }) => {
                let comparison = Comparison::read(engine, version, &python, &result)?;
                return Ok(Verification::new(vec![comparison], None, Vec::new(), Vec::new()));
            }
            Ok(Answer::Failed { culprit: Culprit::First, reason }) => {
                let reason = format!("`{model}`: {reason}");
                return Err(VerifyError::Refused { skipped: vec![Skipped { engine, reason }] });
            }
            Ok(Answer::Failed { culprit: Culprit::Second, reason }) => {
                let (a, b) = (model.to_owned(), folder.to_owned());
                return Err(VerifyError::SecondFails { engine, a, b, reason });
            }
            Ok(Answer::Missing(_)) => "no answer".to_owned(),
            Err(reason) => reason,
        };
        tried.push(format!("{}: {reason}", python.display()));
    }
    let reason = format!("no Python here can import {}", engine.packages());
    Err(VerifyError::NoEngine { skipped: vec![Skipped { engine, reason }], tried })
}

/// Compiles the code of a folder; returns the path of the program, and by how many rows of its input windows move, or 0.
fn compiled(folder: &str, compiler: &Compiler, build: &Path) -> Result<(PathBuf, u32), VerifyError> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path);
        text.map_err(|source| VerifyError::Read { path: path.to_string_lossy().into_owned(), source })
    };
    let folder = Path::new(folder);
    let header = read(folder.join("model.h"))?;
    let prefix =
        prefix(&header).ok_or_else(|| VerifyError::NotEmitted { path: folder.display().to_string() })?;
    let upper = prefix.to_uppercase();
    let (harness, program) = (build.join("harness.c"), build.join("program"));
    let written = std::fs::write(&harness, HARNESS);
    written.map_err(|source| VerifyError::Read { path: harness.display().to_string(), source })?;
    let mut command = Command::new(&compiler.command);
    command
        .args(&compiler.flags)
        .args(input(&header, &prefix, &upper))
        .arg(format!("-DEACH_OUTPUT={upper}_EACH_OUTPUT"))
        .arg("-I")
        .arg(folder)
        .args([harness.as_path(), &folder.join("model.c"), &folder.join("kernels.c")])
        .arg("-o")
        .arg(&program)
        .arg("-lm");
    let failed = |reason: String| VerifyError::Compile { command: compiler.command.clone(), reason };
    let output = child::output(&mut command, &Limits::default()).map_err(|none| failed(none.reason()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        // The last line of a linker only says that there were others.
        let tells = |line: &&str| {
            let reasons = ["error", "overflowed", "will not fit", "undefined reference"];
            reasons.iter().any(|reason| line.contains(reason)) && !line.starts_with("collect2")
        };
        let lines: Vec<&str> = said.lines().filter(tells).take(3).collect();
        return Err(failed(if lines.is_empty() { said.trim().to_owned() } else { lines.join("; ") }));
    }
    Ok((program, hop(&header, &upper).unwrap_or(0)))
}

/// The rows of the input from one window to the next, if windows slide.
fn hop(header: &str, upper: &str) -> Option<u32> {
    let line = format!("#define {upper}_HOP ");
    header.lines().find_map(|said| said.strip_prefix(&line)?.parse().ok())
}

/// How the input is handed over: whole, or row by row.
fn input(header: &str, prefix: &str, upper: &str) -> Vec<String> {
    let rows = format!("#define {upper}_ROWS ");
    let has_rows = header.lines().any(|line| line.starts_with(&rows));
    if has_rows {
        let names = [
            ("PUSH", format!("{prefix}_push")),
            ("BEGIN", format!("{prefix}_begin")),
            ("ROWS", format!("{upper}_ROWS")),
            ("ROW_BYTES", format!("{upper}_ROW_BYTES")),
        ];
        let hop = hop(header, upper).map(|hop| format!("-DHOP={hop}"));
        return names.map(|(name, value)| format!("-D{name}={value}")).into_iter().chain(hop).collect();
    }
    vec![format!("-DINVOKE={prefix}_invoke"), format!("-DEACH_INPUT={upper}_EACH_INPUT")]
}

/// The prefix of all names in the emitted code.
fn prefix(header: &str) -> Option<String> {
    let named = |line: &str| {
        let line = line.strip_prefix("void ")?;
        line.strip_suffix("_invoke(void);").or_else(|| line.strip_suffix("_begin(void);")).map(str::to_owned)
    };
    let line = header.lines().find_map(named)?;
    let is_name = !line.is_empty() && line.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_header_tells_the_prefix() {
        assert_eq!(prefix("int x;\nvoid kws_invoke(void);\n").as_deref(), Some("kws"));
        assert_eq!(prefix("void $(rm)_invoke(void);\n"), None);
        assert_eq!(prefix(""), None);
    }
}
