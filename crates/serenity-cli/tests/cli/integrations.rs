//! The GitHub Action and the pre-commit hook, run as GitHub and pre-commit run them, in a repository of their own.
#![cfg(unix)]

use crate::harness::Desk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A repository with two commits: one model each, and a change of the first one that is not committed yet.
struct Repository {
    desk: Desk,
    settings: BTreeMap<String, String>,
}

impl Repository {
    /// `None` where there is no git.
    fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            serenity_judges::skip(serenity_judges::Need::Git, "there is no `git`");
            return None;
        }
        let desk = Desk::new();
        let bin = Path::new(env!("CARGO_BIN_EXE_serenity")).parent().unwrap().to_owned();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let at = |name: &str| desk.path(name).to_str().unwrap().to_owned();
        let settings = [
            ("PATH", path),
            ("HOME", at("")),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("RUNNER_TEMP", at("")),
            ("GITHUB_STEP_SUMMARY", at("summary")),
            ("GITHUB_OUTPUT", at("output")),
            ("GITHUB_PATH", at("path")),
            ("GITHUB_ACTION_PATH", root().to_str().unwrap().to_owned()),
        ];
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let repository = Self { desk, settings };
        std::fs::create_dir_all(repository.desk.path("repo/nets")).unwrap();
        repository.git("init --quiet --initial-branch main");
        repository.git("config user.name test");
        repository.git("config user.email test@example.com");
        repository.model("swiftnet-b", "nets/a model.tflite");
        repository.commit();
        repository.model("swiftnet-c", "nets/other.tflite");
        repository.commit();
        Some(repository)
    }

    fn model(&self, network: &str, path: &str) {
        let path = format!("repo/{path}");
        let run = self.desk.run(&["zoo", "export", network, "--int8", "-o", &path]);
        assert_eq!(run.code, 0, "{run:?}");
    }

    fn commit(&self) {
        self.git("add --all");
        self.git("commit --quiet --message change");
    }

    fn git(&self, args: &str) {
        let done = self.run(&format!("git {args}"), &[]);
        assert!(done.status.success(), "{args}: {done:?}");
    }

    /// Runs a line of a script in the repository.
    fn run(&self, line: &str, more: &[(&str, &str)]) -> Output {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", line]);
        command.current_dir(self.desk.path("repo")).env_clear().envs(&self.settings);
        command.envs(more.iter().copied()).output().unwrap()
    }
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The value of a key in one of our YAML files, which are simple: one key per line.
fn values(file: &str, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let value = |line: &str| {
        let line = line.trim().trim_start_matches("- ");
        line.strip_prefix(key)?.strip_prefix(": ").map(|value| value.trim_matches('\'').to_owned())
    };
    text.lines().filter_map(value).collect()
}

#[test]
fn the_hook_compares_what_is_staged_with_the_last_commit() {
    let Some(repository) = Repository::new() else { return };
    let [entry] = &values(".pre-commit-hooks.yaml", "entry")[..] else { panic!("one hook") };
    // What pre-commit does: the entry in its checkout of this repository, the user's arguments, the files.
    let hook = |more: &str| {
        let line = format!("{}/{entry} {more} 'nets/a model.tflite' nets/new.tflite", root().display());
        repository.run(&line, &[])
    };
    let nothing = hook("--max-growth 0");
    assert!(nothing.status.success() && nothing.stdout.is_empty(), "{nothing:?}");
    // Staged, and then changed again: only what is staged counts.
    repository.model("swiftnet-a", "nets/a model.tflite");
    repository.model("swiftnet-c", "nets/new.tflite");
    repository.git("add --all");
    repository.model("swiftnet-b", "nets/a model.tflite");
    let grown = hook("--max-growth 5%");
    let text = said(&grown);
    assert_eq!(grown.status.code(), Some(1), "{grown:?}");
    assert!(text.contains("a model.tflite") && text.contains("of --max-growth"), "{text}");
    assert!(text.contains("new.tflite: 22 ops") && !text.contains("other.tflite"), "{text}");
    assert_eq!(hook("").status.code(), Some(0));
    assert_eq!(hook("--budget 200KB").status.code(), Some(1));
    assert_eq!(hook("--max-growht 5%").status.code(), Some(2));
}

#[test]
fn a_hook_before_the_first_commit_shows_what_is_new() {
    let Some(repository) = Repository::new() else { return };
    repository.git("checkout --quiet --orphan fresh");
    let done = repository.run(&format!("{}/integrations/changed-models --staged", root().display()), &[]);
    let text = said(&done);
    assert!(done.status.success() && text.contains("a model.tflite: 19 ops"), "{done:?}");
}

#[test]
fn the_action_reports_every_model_of_a_pull_request() {
    let Some(repository) = Repository::new() else { return };
    repository.git("mv nets/other.tflite nets/renamed.tflite");
    repository.model("swiftnet-a", "nets/a model.tflite");
    repository.model("swiftnet-b", "nets/new.tflite");
    repository.commit();
    let steps = values("action.yml", "run");
    assert_eq!(steps.len(), 2);
    for (more, code, passed) in
        [(&[][..], 0, "true"), (&[("INPUT_MAX_GROWTH", "10%"), ("INPUT_KERNELS", "cmsis-nn")], 1, "false")]
    {
        for file in ["summary", "output"] {
            repository.desk.write(file, "");
        }
        let install = repository.run(&steps[0], more);
        assert!(install.status.success() && !repository.desk.path("path").exists(), "{install:?}");
        let more = [&[("INPUT_BASE", "HEAD~1"), ("INPUT_BUDGET", "")][..], more].concat();
        let done = repository.run(&steps[1], &more);
        assert_eq!(done.status.code(), Some(code), "{done:?}");
        let summary = repository.desk.read("summary");
        assert!(summary.contains("### `a model.tflite`: whole arena 148,"), "{summary}");
        assert!(summary.contains("new.tflite: ") && !summary.contains("other.tflite"), "{summary}");
        assert!(repository.desk.read("output").contains(&format!("passed={passed}\n")));
    }
    // With pathspecs, one per line.
    repository.desk.write("summary", "");
    let more = [("INPUT_BASE", "HEAD~1"), ("INPUT_MODELS", "nets/other.tflite\n\nnets/renamed.tflite\n")];
    let done = repository.run(&steps[1], &more);
    assert!(
        done.status.success() && repository.desk.read("summary").contains("No model changed"),
        "{done:?}"
    );
}

#[test]
fn every_input_of_the_action_reaches_the_script() {
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let script = std::fs::read_to_string(root().join("integrations/github-action")).unwrap();
    let inputs = action.split("inputs:").nth(1).unwrap().split("outputs:").next().unwrap();
    let names: Vec<&str> = inputs
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.strip_suffix(':'))
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in names {
        let variable = name.to_uppercase().replace('-', "_");
        assert!(action.contains(&format!("INPUT_{variable}: ${{{{ inputs.{name} }}}}")), "{name}");
        assert!(script.contains(&variable), "{name}");
    }
}
