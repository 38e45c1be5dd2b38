//! Options of a network: what is allowed, what was asked for, and the canonical way to write it.

use crate::error::nearest;
use crate::{Network, ZooError};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt::{self, Write};

/// The values that an option may have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "its text names the fields")]
pub enum Values {
    /// A whole number, both ends included.
    Integer { min: u64, max: u64 },
    /// A number, both ends included.
    Real { min: f64, max: f64 },
    /// Whole numbers with `-` between them, such as `6-12-24-16`.
    Integers { count: usize, min: u64, max: u64 },
    /// One of a few words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Real { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Integers { count, min, max } => {
                write!(f, "1 to {count} whole numbers from {min} to {max} with `-` between them")
            }
            Self::Choice(words) => write!(f, "one of: {}", words.join(", ")),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A default that depends on another option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct DefaultWith {
    /// The other option; its own default depends on nothing.
    pub option: &'static str,
    /// The value of the other option.
    pub value: &'static str,
    /// The default in that case.
    pub default: &'static str,
}

/// One option of a network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct NetworkOption {
    /// Its name in a spec.
    pub name: &'static str,
    /// Its value if the spec does not give one.
    pub default: &'static str,
    /// Another default where another option has a certain value.
    pub default_with: Option<DefaultWith>,
    /// What it may be set to.
    #[schemars(with = "String")]
    pub values: Values,
    /// What it changes, in one line.
    pub meaning: &'static str,
}

impl NetworkOption {
    pub(crate) const fn new(
        name: &'static str,
        default: &'static str,
        values: Values,
        meaning: &'static str,
    ) -> Self {
        Self { name, default, default_with: None, values, meaning }
    }

    /// This option, with another `default` where `option` is `value`.
    pub(crate) const fn or_with(
        self,
        option: &'static str,
        value: &'static str,
        default: &'static str,
    ) -> Self {
        Self { default_with: Some(DefaultWith { option, value, default }), ..self }
    }

    /// A whole number from `min` to `max`.
    pub(crate) const fn integer(
        name: &'static str,
        default: &'static str,
        (min, max): (u64, u64),
        meaning: &'static str,
    ) -> Self {
        Self::new(name, default, Values::Integer { min, max }, meaning)
    }

    /// One of `words`.
    pub(crate) const fn choice(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        meaning: &'static str,
    ) -> Self {
        Self::new(name, default, Values::Choice(words), meaning)
    }

    fn read(&self, text: &str) -> Result<Value, ZooError> {
        let value = match self.values {
            Values::Integer { min, max } => whole_number(text, min, max).map(Value::Integer),
            Values::Real { min, max } => {
                // Adding zero turns -0 into 0, which is written differently.
                text.parse()
                    .ok()
                    .filter(|number| (min..=max).contains(number))
                    .map(|number: f64| Value::Real(number + 0.0))
            }
            Values::Integers { count, min, max } => text
                .split('-')
                .map(|number| whole_number(number, min, max))
                .collect::<Option<Vec<u64>>>()
                .filter(|numbers| numbers.len() <= count)
                .map(Value::Integers),
            Values::Choice(words) => words.iter().find(|&&word| word == text).map(|word| Value::Choice(word)),
        };
        value.ok_or_else(|| self.refuse(text, self.values.to_string()))
    }

    fn refuse(&self, value: &str, allowed: String) -> ZooError {
        ZooError::BadValue { option: self.name, value: value.to_owned(), allowed }
    }
}

fn whole_number(text: &str, min: u64, max: u64) -> Option<u64> {
    text.parse().ok().filter(|number| (min..=max).contains(number))
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(u64),
    Real(f64),
    Integers(Vec<u64>),
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Choice(word) => f.write_str(word),
            Self::Integers(numbers) => {
                f.write_str(&numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("-"))
            }
        }
    }
}

/// A value for every option of one network.
///
/// The getters panic if a generator asks for an option that its own table does not declare with that type: a slip in
/// this crate that the first run of the generator shows, whatever the spec.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    network: &'static Network,
    /// In the order of the network's table.
    values: Vec<Value>,
    /// What the values would be, had only those been given on which a default depends.
    defaults: Vec<Value>,
}

impl Options {
    /// Reads what stands after the `?` of a spec.
    pub(crate) fn parse(network: &'static Network, text: Option<&str>) -> Result<Self, ZooError> {
        let mut given = vec![None; network.options.len()];
        for part in text.into_iter().flat_map(|text| text.split('&')) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| ZooError::NotAnOption { part: part.to_owned() })?;
            let index = network.options.iter().position(|option| option.name == name).ok_or_else(|| {
                let known: Vec<_> = network.options.iter().map(|option| option.name).collect();
                ZooError::UnknownOption {
                    network: network.name,
                    option: name.to_owned(),
                    nearest: nearest(name, known.iter().copied()),
                    known,
                }
            })?;
            let option = &network.options[index];
            if given[index].replace(option.read(value)?).is_some() {
                return Err(ZooError::Repeated { option: option.name });
            }
        }
        let options = network.options.iter();
        let defaults: Vec<Value> = options
            .map(|option| {
                let chosen = |other: DefaultWith| {
                    let at = network.options.iter().position(|o| o.name == other.option);
                    let given = at.and_then(|at| given[at].as_ref());
                    given.is_some_and(|given| given.to_string() == other.value)
                };
                let other = option.default_with.filter(|&other| chosen(other));
                option.read(other.map_or(option.default, |other| other.default))
            })
            .collect::<Result<_, _>>()?;
        let values =
            given.into_iter().zip(&defaults).map(|(given, default)| given.unwrap_or(default.clone()));
        Ok(Self { network, values: values.collect(), defaults })
    }

    /// The shortest spec that gives these values: options at their default are left out, the others stand in the
    /// order of the network's table.
    pub(crate) fn spec(&self) -> String {
        let mut spec = self.network.name.to_owned();
        let mut separator = '?';
        for ((option, value), default) in self.network.options.iter().zip(&self.values).zip(&self.defaults) {
            if value != default {
                // Writing to a String cannot fail.
                let _ = write!(spec, "{separator}{}={value}", option.name);
                separator = '&';
            }
        }
        spec
    }

    /// The value of a whole-number option.
    pub(crate) fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Integer(number) => *number,
            other => unreachable!("`{name}` is declared as {other:?}"),
        }
    }

    /// The value of a number option.
    pub(crate) fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(number) => *number,
            other => unreachable!("`{name}` is declared as {other:?}"),
        }
    }

    /// The value of a list option.
    pub(crate) fn integers(&self, name: &str) -> &[u64] {
        match self.value(name) {
            Value::Integers(numbers) => numbers,
            other => unreachable!("`{name}` is declared as {other:?}"),
        }
    }

    /// The value of a word option.
    pub(crate) fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Choice(word) => word,
            other => unreachable!("`{name}` is declared as {other:?}"),
        }
    }

    /// The error that a value, allowed by itself, does not go with the other options.
    pub(crate) fn refuse(&self, name: &str, allowed: impl Into<String>) -> ZooError {
        let (option, value) = self.entry(name);
        option.refuse(&value.to_string(), allowed.into())
    }

    fn value(&self, name: &str) -> &Value {
        self.entry(name).1
    }

    fn entry(&self, name: &str) -> (&'static NetworkOption, &Value) {
        let mut entries = self.network.options.iter().zip(&self.values);
        entries
            .find(|(option, _)| option.name == name)
            .unwrap_or_else(|| unreachable!("`{}` declares no option `{name}`", self.network.name))
    }
}

#[cfg(test)]
mod tests {
    use crate::{build, networks};

    #[test]
    fn a_graph_is_named_after_the_shortest_spec_that_makes_it() {
        for (spec, canonical) in [
            ("randwire-cifar10", "randwire-cifar10"),
            ("randwire-cifar10?nodes=32&k=04&p=.750&seed=3", "randwire-cifar10?seed=3"),
            ("randwire-cifar10?k=2&seed=3", "randwire-cifar10?seed=3&k=2"),
            ("densenet?blocks=2-2", "densenet?blocks=2-2"),
            // The default of p depends on the kind of graph.
            ("randwire-cifar10?graph=er&p=0.2", "randwire-cifar10?graph=er"),
            ("randwire-cifar10?graph=er&p=0.75", "randwire-cifar10?p=0.75&graph=er"),
            ("randwire-cifar10?graph=ws&p=0.75", "randwire-cifar10"),
        ] {
            let graph = build(spec).unwrap();
            assert_eq!(graph.name(), canonical);
            assert_eq!(build(graph.name()).unwrap(), graph);
        }
    }

    #[test]
    fn every_default_is_allowed_and_documented() {
        for network in networks() {
            for option in network.options {
                assert!(option.read(option.default).is_ok(), "{} {}", network.name, option.name);
                if let Some(other) = option.default_with {
                    assert!(option.read(other.default).is_ok(), "{} {}", network.name, option.name);
                    let on = network.options.iter().find(|o| o.name == other.option).unwrap();
                    assert!(on.read(other.value).is_ok() && on.default != other.value, "{}", network.name);
                }
                assert!(!option.meaning.is_empty(), "{} {}", network.name, option.name);
            }
        }
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for value in ["", "-1", "1e3", "0x10", "NaN", "inf", "18446744073709551616", " 3", "3 ", "²"] {
            for option in ["nodes", "p", "seed", "graph"] {
                let spec = format!("randwire-cifar10?{option}={value}");
                assert!(build(&spec).is_err(), "{spec}");
            }
        }
    }
}
