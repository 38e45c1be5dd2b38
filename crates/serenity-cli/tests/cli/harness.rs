//! Drives the built binary.

use crate::schema::assert_documented;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

/// What a run of the command left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The one JSON object on standard output, which is as documented.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let object = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {self:?}"));
        assert_documented(&object);
        object
    }

    /// The JSON objects on standard output, one per line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let objects: Vec<Value> =
            self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        objects.iter().for_each(assert_documented);
        objects
    }
}

/// Sends a signal, as in `-TERM`. By the shell, because not every machine has a program for it.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill {name} {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

/// What a child had of the processor, without those that it has started, whether it has ended or not; `None` where the
/// system does not tell.
#[cfg(unix)]
pub(crate) fn processor_time(child: &Child) -> Option<Duration> {
    let line = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // Fields 14 and 15, in hundredths of a second; the name of the program before them may hold spaces.
    let fields = line.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Waits until a child has had so much of the processor, or has ended.
#[cfg(unix)]
pub(crate) fn let_work(child: &mut Child, time: Duration) {
    if processor_time(child).is_none() {
        std::thread::sleep(time);
    }
    while processor_time(child).is_some_and(|had| had < time) && !has_ended(child) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has it ended, though nobody has waited for it yet? Then it can still be asked what it has spent.
#[cfg(unix)]
pub(crate) fn has_ended(child: &mut Child) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", child.id())) {
        Ok(line) => line.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')),
        Err(_) => child.try_wait().unwrap().is_some(),
    }
}

/// An empty folder in which commands run.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path()).unwrap().map(name).collect();
        names.sort();
        names
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with_input(args, "")
    }

    /// Runs a command that finds this Python, which has the real runtimes.
    pub(crate) fn run_with_python(&self, python: &Path, args: &[&str]) -> Run {
        self.run_with(python, args, "")
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Run {
        // What a command does must not depend on the Python of whoever runs the tests.
        self.run_with(Path::new("no-python-here"), args, input)
    }

    /// Runs a command that the system ends after so many seconds of the processor, however busy the machine is.
    pub(crate) fn run_within(&self, seconds: u32, args: &[&str]) -> Run {
        let limited = format!("ulimit -t {seconds}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_serenity")]);
        self.run_as(command, Path::new("no-python-here"), args, "")
    }

    fn run_with(&self, python: &Path, args: &[&str], input: &str) -> Run {
        self.run_as(Command::new(env!("CARGO_BIN_EXE_serenity")), python, args, input)
    }

    fn run_as(&self, mut command: Command, python: &Path, args: &[&str], input: &str) -> Run {
        let mut child = command
            .args(args)
            .current_dir(self.folder.path())
            .env("SERENITY_PYTHON", python)
            .env_remove("COLUMNS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
