//! A reader at a terminal: types the commands of a document, one after the other, in a folder of their own.

use crate::compare::{difference, regenerated};
use crate::markdown::Block;
use serenity_judges::{Need, skip};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Session {
    folder: tempfile::TempDir,
    document: &'static str,
    /// The Python that has the real runtimes.
    runtimes: Option<PathBuf>,
    /// What the program says otherwise: writing the document anew mends it.
    pub(crate) stale: Vec<String>,
    /// What only its author can mend.
    pub(crate) faults: Vec<String>,
}

/// A command as a document has it, and what it says of its output.
struct Step<'a> {
    command: &'a str,
    output: String,
}

impl Session {
    pub(crate) fn new(document: &'static str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            document,
            runtimes: serenity_judges::python(),
            stale: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, block: &Block, what: &str) {
        self.faults.push(format!("{}, line {}: {what}", self.document, block.line));
    }

    fn skipped(&self, block: &Block, what: &str, (need, why): (Need, &str)) {
        skip(need, format!("{}, line {}: {what} ({why})", self.document, block.line));
    }

    /// Runs a block, and returns what it should say.
    pub(crate) fn block(&mut self, block: &Block) -> String {
        if block.directive("not run").is_some() {
            return block.text.clone();
        }
        if !self.files(block) {
            return block.text.clone();
        }
        match block.language.as_str() {
            "console" => self.console(block),
            "sh" => {
                self.script(block);
                block.text.clone()
            }
            other => {
                if block.directive("file").is_none()
                    && (other.is_empty() || other == "text" || looks_typed(&block.text))
                {
                    self.fault(
                        block,
                        "this block escapes the tests: make it ```console, or say before it why not: <!-- not run: REASON -->",
                    );
                }
                block.text.clone()
            }
        }
    }

    /// Puts files into the folder: the block itself (`file: NAME`), or one of the collection (`file: NAME = PATH`).
    fn files(&self, block: &Block) -> bool {
        for (_, file) in block.directives.iter().filter(|(name, _)| name == "file") {
            match file.split_once(" = ") {
                None => std::fs::write(self.folder.path().join(file), &block.text).unwrap(),
                Some((name, path)) => {
                    let path = collection().join(path);
                    if !path.exists() {
                        let why = format!("there is no {file}");
                        self.skipped(block, "the block", (Need::Collection, &why));
                        return false;
                    }
                    std::fs::copy(path, self.folder.path().join(name)).unwrap();
                }
            }
        }
        true
    }

    /// Commands with their outputs.
    fn console(&mut self, block: &Block) -> String {
        let mut text = String::new();
        let steps = steps(&block.text);
        if steps.is_empty() {
            self.fault(block, "no command in a block of commands: they begin with `$ `");
        }
        let mut code = 0;
        for (index, Step { command, output }) in steps.iter().enumerate() {
            writeln!(text, "$ {command}").unwrap();
            if let Some(why) = self.cannot_run(command) {
                self.skipped(block, &format!("`{command}`"), why);
                text += output;
                code = 0;
                continue;
            }
            let said;
            (code, said) = self.run(command, code);
            if let Some(difference) = difference(output, &said) {
                let place = format!("{}, line {}", self.document, block.line);
                self.stale
                    .push(format!("{place}: `{command}` does not say what the document says\n{difference}"));
                text += &regenerated(output, &said);
            } else {
                text += output;
            }
            // A reader who is not shown that a command fails takes it for a success.
            let asked = steps.get(index + 1).is_some_and(|next| next.command == "echo $?");
            if code != 0 && !asked {
                self.fault(block, &format!("`{command}` exits with {code}: let `$ echo $?` follow\n{said}"));
            }
        }
        text
    }

    /// Commands alone: each of them succeeds.
    fn script(&mut self, block: &Block) {
        for command in block.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if let Some(why) = self.cannot_run(command) {
                self.skipped(block, &format!("`{command}`"), why);
                continue;
            }
            let (code, said) = self.run(command, 0);
            if code != 0 {
                self.fault(block, &format!("`{command}` exits with {code}\n{said}"));
            }
        }
    }

    fn cannot_run(&self, command: &str) -> Option<(Need, &'static str)> {
        // Models are run in the real runtimes.
        // So does whatever asks ONNX Runtime to optimise a model first.
        let is_fast = command.starts_with("serenity optimize")
            && command.contains(".onnx")
            && !command.contains("--ort-session plain");
        if (command.starts_with("serenity verify") || is_fast) && self.runtimes.is_none() {
            return Some((Need::Runtimes, "no real runtime is set up"));
        }
        let program = command.split(' ').next()?;
        let need = match program {
            "python3" => (Need::Python, "there is no python3"),
            "man" => (Need::Manual, "there is no man"),
            _ => return None,
        };
        Command::new(program).arg("--version").output().is_err().then_some(need)
    }

    /// The exit code, and everything that a terminal would show.
    fn run(&self, command: &str, previous: i32) -> (i32, String) {
        let program = Path::new(env!("CARGO_BIN_EXE_serenity"));
        let mut path = std::ffi::OsString::from(program.parent().unwrap());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        // For readers who have not installed it.
        let command = command.replace("cargo run --release --", "serenity");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec 2>&1\n(exit {previous})\n{command}")])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env_remove("SERENITY_PYTHON")
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        if let Some(python) = &self.runtimes {
            shell.env("SERENITY_PYTHON", python);
        }
        let output = shell.output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The JSON that a command prints.
    pub(crate) fn json(&self, command: &str) -> serde_json::Value {
        let (code, said) = self.run(&format!("{command} --json"), 0);
        assert!(code <= 1, "`{command}` exits with {code}: {said}");
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("`{command}`: {error}: {said}"))
    }
}

/// Where the collection of real models may be.
pub(crate) fn collection() -> PathBuf {
    std::env::var_os("SERENITY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from)
        .join("models")
}

fn steps(text: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, output: String::new() }),
            (None, Some(step)) => writeln!(step.output, "{line}").unwrap(),
            (None, None) => {}
        }
    }
    steps
}

/// Does somebody type commands here?
fn looks_typed(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("$ ") || line.starts_with("serenity ") || line.starts_with("cargo run"))
}
