//! Skips tests whose requirements are missing. This is the only place that skips a test.
//!
//! `SERENITY_REQUIRE=collection,runtimes` names what must be here: whoever misses one of these fails. `.ci/run` sets
//! it. What is not named is left out, which is said on standard error and added to the file that `SERENITY_SKIPS`
//! names, so that `scripts/test` can sum it up.

use std::fmt;
use std::io::Write;
use std::panic::Location;

/// What a test may need besides this repository and its compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The collection of models and graphs (`SERENITY_SHARED`, or `shared` beside the checkout).
    Collection,
    /// The Python with the real runtimes that `scripts/python-env` makes.
    Runtimes,
    /// Some `python3`.
    Python,
    /// A C compiler for this machine.
    Compiler,
    /// Other compilers, those for other processors, and what emulates these.
    Cross,
    /// A checkout of CMSIS-NN (`SERENITY_CMSIS_NN`).
    CmsisNn,
    /// A build of TFLM to link with (`SERENITY_TFLM`).
    Tflm,
    /// `CMake`, which builds emitted code as a library.
    Cmake,
    /// git, for what runs in repositories of others.
    Git,
    /// Chromium.
    Browser,
    /// The page that `scripts/web` builds.
    Web,
    /// Pages of the manual (`man`).
    Manual,
    /// A terminal whose closing is not ignored: `nohup` ignores it.
    Hangups,
    /// Minutes of time (`SERENITY_SLOW=1`).
    Slow,
}

impl Need {
    /// As `SERENITY_REQUIRE` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Collection => "collection",
            Self::Runtimes => "runtimes",
            Self::Python => "python",
            Self::Compiler => "compiler",
            Self::Cross => "cross",
            Self::CmsisNn => "cmsis-nn",
            Self::Tflm => "tflm",
            Self::Cmake => "cmake",
            Self::Git => "git",
            Self::Browser => "browser",
            Self::Web => "web",
            Self::Manual => "manual",
            Self::Hangups => "hangups",
            Self::Slow => "slow",
        }
    }

    /// Is it named in a list as `SERENITY_REQUIRE` holds?
    fn is_in(self, list: &str) -> bool {
        list.split(',').any(|name| name.trim() == self.name())
    }
}

/// Leaves out a test, or a part of one, because something is not here.
///
/// # Panics
/// If `SERENITY_REQUIRE` names it.
#[track_caller]
#[allow(clippy::print_stderr, reason = "what is left out is said")]
pub fn skip(need: Need, why: impl fmt::Display) {
    let required = std::env::var("SERENITY_REQUIRE").unwrap_or_default();
    assert!(!need.is_in(&required), "SERENITY_REQUIRE names `{}`, but {why}", need.name());
    eprintln!("SKIPPED ({}): {why}", need.name());
    if let Some(path) = std::env::var_os("SERENITY_SKIPS") {
        let line = format!("{}\t{why}\n", need.name()).into_bytes();
        // One call, so that tests side by side do not write into each other's lines.
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(&line));
        written.unwrap_or_else(|error| panic!("cannot write to the file of SERENITY_SKIPS: {error}"));
    }
}

/// Is there time for everything (`SERENITY_SLOW`, `scripts/test --full`)?
pub fn is_slow() -> bool {
    std::env::var_os("SERENITY_SLOW").is_some()
}

/// How many random cases a test draws: a tenth of `all`, or all if there is [time](is_slow).
pub fn draws(all: u64) -> u64 {
    if is_slow() { all } else { all / 10 }
}

/// What a test runs on: the first and every `step`-th further one of a list, or all of it if there is [time](is_slow).
#[track_caller]
pub fn sample<T>(all: impl IntoIterator<Item = T>, step: usize) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    if is_slow() || all.len() < 2 {
        return all;
    }
    let count = all.len();
    let some: Vec<T> = all.into_iter().step_by(step).collect();
    skip(Need::Slow, format!("{} of {count} cases at {}", some.len(), Location::caller()));
    some
}

#[cfg(test)]
mod tests {
    use super::Need;

    #[test]
    fn a_list_names_what_is_required() {
        assert!(Need::Runtimes.is_in("collection, runtimes"));
        assert!(!Need::Runtimes.is_in("") && !Need::Runtimes.is_in("runtimes2,run"));
    }
}
