//! The user's own Python, in which the runtimes are.

use std::path::{Path, PathBuf};

/// Every Python that may have the runtime, best first. Whoever names one means that one and no other.
pub fn candidates(named: Option<&Path>) -> Vec<PathBuf> {
    if let Some(python) = named {
        return vec![python.to_owned()];
    }
    if let Some(python) = std::env::var_os("SERENITY_PYTHON").filter(|value| !value.is_empty()) {
        return vec![PathBuf::from(python)];
    }
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let environments = active.into_iter().chain([PathBuf::from(".venv")]).map(|folder| folder.join(inside));
    environments.filter(|python| python.exists()).chain(["python3", "python"].map(PathBuf::from)).collect()
}

/// Where runtimes and Python say what went wrong.
pub fn last_lines(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.trim().lines().map(str::trim).collect();
    lines[lines.len().saturating_sub(2)..].join("; ")
}

/// The beginning of every script that reports to us: how it says what it found, a JSON object per line.
pub const REPORT: &str = include_str!("report.py");
