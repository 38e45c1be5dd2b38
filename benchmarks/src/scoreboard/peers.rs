//! Peers that are packages of Python, wherever they are installed.

use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where to look, in this order: what `scripts/python-env` and `scripts/test-torch` make.
const ENVIRONMENTS: [&str; 3] = [".venv-peers", ".venv-torch", ".venv"];
const VERSION: &str = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";

/// A package that some environment has.
#[derive(Clone)]
pub(super) struct Package {
    python: PathBuf,
    pub(super) version: String,
}

impl Package {
    /// `None` if no environment has it.
    pub(super) fn find(name: &str) -> Option<Self> {
        ENVIRONMENTS.iter().find_map(|environment| {
            let python = root().join(environment).join("bin/python");
            let told = Command::new(&python).args(["-c", VERSION, name]).output().ok()?;
            let version = String::from_utf8_lossy(&told.stdout).trim().to_owned();
            told.status.success().then_some(Self { python, version })
        })
    }

    /// What a script of `peers` says of each file: its answer, or why it has none.
    pub(super) fn ask(
        &self,
        script: &str,
        options: &[&str],
        files: &[PathBuf],
    ) -> Result<Vec<Result<Value, String>>, Box<dyn Error>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        eprintln!("{script}: {} files", files.len());
        let script = root().join("benchmarks/peers").join(script);
        let run = Command::new(&self.python).arg(&script).args(options).arg("--").args(files).output()?;
        let said = String::from_utf8_lossy(&run.stdout);
        let answers: Vec<Value> = said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        if !run.status.success() || answers.len() != files.len() {
            let why = String::from_utf8_lossy(&run.stderr);
            return Err(format!("{} failed: {}", script.display(), why.trim()).into());
        }
        Ok(answers
            .into_iter()
            .map(|answer| match answer["refused"].as_str() {
                Some(reason) => Err(reason.split(" | ").next().unwrap_or(reason).to_owned()),
                None => Ok(answer),
            })
            .collect())
    }
}

/// Asks if there is somebody to ask; otherwise each answer says so.
pub(super) fn ask(
    package: Option<&Package>,
    script: &str,
    options: &[&str],
    files: &[PathBuf],
) -> Result<Vec<Result<Value, String>>, Box<dyn Error>> {
    package.map_or_else(
        || Ok(vec![Err("not installed".to_owned()); files.len()]),
        |package| package.ask(script, options, files),
    )
}

/// A list of whole numbers in an answer.
pub(super) fn numbers(answer: &Value, field: &str) -> Result<Vec<u64>, String> {
    let list = answer[field].as_array().ok_or_else(|| format!("no `{field}` in the answer"))?;
    list.iter().map(|number| number.as_u64().ok_or_else(|| format!("`{number}` in `{field}`"))).collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
