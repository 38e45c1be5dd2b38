//! Choices that people make by name.

use std::fmt;

/// A name that stands for none of the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    choices: Vec<&'static str>,
}

impl UnknownName {
    /// This name of a `what` is none of the choices.
    pub fn new(what: &'static str, name: &str, choices: impl Iterator<Item = &'static str>) -> Self {
        Self { what, name: name.to_owned(), choices: choices.collect() }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, choices } = self;
        write!(f, "unknown {what} `{name}`; choose ")?;
        match &choices[..] {
            [one, other] => write!(f, "{one} or {other}"),
            several => write!(f, "one of: {}", several.join(", ")),
        }
    }
}

impl std::error::Error for UnknownName {}

/// Gives the variants of an enum the names by which people ask for them: `all` of them, `FromStr` and `Display`. A variant without a name does not
/// compile. What a variant holds is what its name stands for; it is called so whatever it holds.
///
/// ```
/// #[derive(Debug, PartialEq)]
/// pub enum Grain { Tensor, Page(u32) }
/// serenity_search::named! { "grain": Grain { "tensor" => Tensor, "page" => Page(1024) } }
/// assert_eq!("page".parse(), Ok(Grain::Page(1024)));
/// assert_eq!(Grain::Page(7).to_string(), "page");
/// assert_eq!("pages".parse::<Grain>().unwrap_err().to_string(), "unknown grain `pages`; choose tensor or page");
/// ```
#[macro_export]
macro_rules! named {
    ($what:literal: $type:ident { $($name:literal => $variant:ident $(($with:expr))?),+ $(,)? }) => {
        impl $type {
            /// All of them, by name.
            pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
                [$(($name, Self::$variant $(($with))?)),+].into_iter()
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::all().find_map(|(known, value)| (known == name).then_some(value));
                found.ok_or_else(|| $crate::UnknownName::new($what, name, Self::all().map(|(known, _)| known)))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant { .. } => $name,)+
                })
            }
        }
    };
}
