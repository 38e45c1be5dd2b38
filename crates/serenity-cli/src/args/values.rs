//! Values of arguments: what they may be, and what is said if they are not.

use crate::size::Size;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use serenity::diff::Growth;
use serenity::pipeline::target::KernelsName;
use serenity::schedule::{SoftBudget, StepLimit};
use serenity_device::NamedMemory;
use std::ffi::OsStr;
use std::fmt;
use std::time::Duration;

/// A parser for names that the library knows, so that help and completions list them.
pub(super) fn named<T>(names: impl Iterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    AnyCase(PossibleValuesParser::new(names)).try_map(|name| name.parse::<T>())
}

/// A parser for kernels, of which releases of libraries are names too.
pub(super) fn kernels() -> impl TypedValueParser<Value = KernelsName> {
    let names = KernelsName::names_and_aliases();
    let names = names.map(|(name, aliases)| PossibleValue::new(name).aliases(aliases));
    AnyCase(PossibleValuesParser::new(names)).try_map(|name| name.parse::<KernelsName>())
}

/// Names as people write them: `CMSIS-NN` and `cmsis_nn` are `cmsis-nn`.
#[derive(Clone)]
struct AnyCase(PossibleValuesParser);

impl TypedValueParser for AnyCase {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let Some(text) = value.to_str() else { return self.0.parse_ref(command, arg, value) };
        let plain = text.trim().to_lowercase().replace('_', "-");
        let is_known =
            self.0.possible_values().is_some_and(|mut names| names.any(|name| name.matches(&plain, false)));
        self.0.parse_ref(command, arg, if is_known { OsStr::new(&plain) } else { value })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// How many threads: some.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("there is nobody to do the work with 0 threads; 1 is the least".to_owned()),
        Ok(threads) if threads <= MOST_THREADS => Ok(threads),
        Ok(_) => Err(format!("that is more than {MOST_THREADS}")),
        Err(_) => Err("expected a number of threads, as in 2".to_owned()),
    }
}

/// More would only wait for each other.
const MOST_THREADS: usize = 256;

/// A number of seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

impl std::str::FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" { Ok(Self(None)) } else { seconds(text).map(|time| Self(Some(time))) }
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 =
        text.parse().map_err(|_| "expected a number of seconds, as in 60 or 0.5".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| match seconds {
        // Infinity too.
        s if s > 0.0 => "that is too long to be a limit (1e9 seconds are thirty years)".to_owned(),
        s if s < 0.0 => "expected a number of seconds that is not negative".to_owned(),
        _ => "expected a number of seconds, as in 60 or 0.5".to_owned(),
    })
}

/// Two memories, the preferred one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TwoSizes(pub(crate) [NamedMemory; 2]);

pub(super) fn two_memories(text: &str) -> Result<TwoSizes, String> {
    let expected = || "expected two memories, the preferred one first, as in fast=128KB,slow=8MB".to_owned();
    let memory = |text: &str| {
        let memory = named_memory(text)?;
        let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if memory.name.is_empty() || !memory.name.chars().all(is_fine) {
            let name = memory.name;
            return Err(format!("`{name}` cannot be the name of a memory; use letters, digits, _ and -"));
        }
        Ok(memory)
    };
    let (first, second) = text.split_once(',').ok_or_else(expected)?;
    let (first, second) = (memory(first)?, memory(second)?);
    if first.name.eq_ignore_ascii_case(&second.name) {
        return Err(format!("both memories are called `{}`; give them different names", first.name));
    }
    Ok(TwoSizes([first, second]))
}

/// A memory of a device.
pub(super) fn named_memory(text: &str) -> Result<NamedMemory, String> {
    let named = text.split_once('=');
    let (name, size) = named.ok_or("expected a name and a size, as in sram=256KiB")?;
    let (name, size) = (name.trim().to_owned(), size.trim().to_owned());
    size.parse::<Size>().map(|_| NamedMemory { name, size })
}

/// Claims of a plan that may stay unverified: these, or all if none are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowance(Vec<String>);

impl Allowance {
    pub(crate) fn covers(&self, claim: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| name == claim)
    }
}

pub(super) fn allowance(text: &str) -> Result<Allowance, String> {
    let names: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let is_field = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match names.iter().find(|name| !is_field(name)) {
        None => Ok(Allowance(names)),
        Some(name) => Err(format!(
            "`{name}` is no field of a plan; name fields, as in optimality,bound, or put the option behind the files to allow all"
        )),
    }
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (0.0..f64::INFINITY).contains(&tolerance) => Ok(tolerance),
        _ => Err("expected a number that is not negative, as in 1e-5".to_owned()),
    }
}

/// A share, written in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.07 times 100 is not quite 7.
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

pub(super) fn percent(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=MOST_PERCENT).contains(&percent) => Ok(Percent(percent / 100.0)),
        Ok(percent) if percent > MOST_PERCENT => Err(format!("that is more than {MOST_PERCENT}%")),
        Ok(percent) if percent < 0.0 => Err("expected a percentage that is not negative".to_owned()),
        _ => Err("expected a percentage, as in 10% or 2.5".to_owned()),
    }
}

/// How much more a model may need, in bytes or in percent.
pub(super) fn growth(text: &str) -> Result<Growth, String> {
    if text.trim_end().ends_with('%') {
        return percent(text).map(|Percent(share)| Growth::Share(share));
    }
    let bytes = text.parse().map(|Size(bytes)| Growth::Bytes(bytes));
    bytes.map_err(|expected| format!("{expected}, or a percentage as in 5%"))
}

/// A hundred times as much; nobody means more.
const MOST_PERCENT: f64 = 10_000.0;

pub(super) fn step_limit(text: &str) -> Result<StepLimit, String> {
    let time = |text: &str, unit: f64| seconds(text.trim()).map(|d| StepLimit::Time(d.mul_f64(unit)));
    if let Some(number) = text.strip_suffix("ms") {
        time(number, 1e-3)
    } else if let Some(number) = text.strip_suffix('s') {
        time(number, 1.0)
    } else {
        let states = text
            .parse()
            .map_err(|_| "expected a number of states, or a time as in 1s or 200ms".to_owned())?;
        Ok(StepLimit::States(states))
    }
}

pub(super) fn soft_budget(text: &str) -> Result<SoftBudget, String> {
    match text {
        "adaptive" => Ok(SoftBudget::Adaptive),
        "printed" => Ok(SoftBudget::Printed),
        size => match size.parse() {
            Ok(Size(bytes)) => Ok(SoftBudget::Fixed(bytes)),
            Err(expected) => Err(format!("{expected}, or one of the rules `adaptive` and `printed`")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_that_is_none_says_why() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for (text, reason) in [
            ("inf", "too long"),
            ("1e30", "too long"),
            ("-1", "not negative"),
            ("nan", "a number"),
            ("soon", "a number"),
        ] {
            let message = seconds(text).unwrap_err();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }

    #[test]
    fn two_memories_have_names_and_sizes() {
        let TwoSizes(memories) = two_memories("fast=128KB, slow=8MiB").unwrap();
        assert_eq!(
            memories.map(|memory| format!("{}={}", memory.name, memory.size)),
            ["fast=128KB", "slow=8MiB"]
        );
        for text in ["fast=1KB", "fast=1KB,slow", "a=1,b=2,c=3", "a=1,A=2", "=1,b=2", "a b=1,c=2", "a=-1,b=2"]
        {
            assert!(two_memories(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_percentage_is_a_share() {
        for (text, share, again) in
            [("10%", 0.1, "10%"), ("2.5", 0.025, "2.5%"), ("0", 0.0, "0%"), ("7 %", 0.07, "7%")]
        {
            assert_eq!(percent(text), Ok(Percent(share)));
            assert_eq!(Percent(share).to_string(), again);
        }
        for text in ["", "%", "-1%", "nan", "inf", "1e9", "ten", "10%%", "10 per cent", "-0.1"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_growth_is_bytes_or_a_share() {
        assert_eq!(growth("5%"), Ok(Growth::Share(0.05)));
        assert_eq!(growth("2KiB"), Ok(Growth::Bytes(2048)));
        assert_eq!(growth("0"), Ok(Growth::Bytes(0)));
        assert!(growth("5 percent").is_err() && growth("-1").is_err() && growth("").is_err());
    }

    #[test]
    fn step_limits_are_states_or_times() {
        assert_eq!(step_limit("5"), Ok(StepLimit::States(5)));
        assert_eq!(step_limit("2s"), Ok(StepLimit::Time(Duration::from_secs(2))));
        assert_eq!(step_limit("200ms"), Ok(StepLimit::Time(Duration::from_millis(200))));
        assert!(step_limit("soon").is_err() && step_limit("-1s").is_err());
    }
}
