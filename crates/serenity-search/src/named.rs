//! Names that people and programs rely on.

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

/// Gives the variants of an enum their names: `all` of them, and the `name` of each, by which JSON knows them too. If people choose by them, and so it is
/// said what is chosen, `FromStr` and `Display` as well. A variant without a name does not compile; one that holds something is called so whatever it holds.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub enum Grain { Tensor, Page(u32) }
/// serenity_search::named! { "grain": Grain { "tensor" => Tensor, "page" => Page(1024) } }
/// assert_eq!("page".parse(), Ok(Grain::Page(1024)));
/// assert_eq!(Grain::Page(7).to_string(), "page");
/// assert_eq!("pages".parse::<Grain>().unwrap_err().to_string(), "unknown grain `pages`; choose tensor or page");
/// ```
#[macro_export]
macro_rules! named {
    ($what:literal: $type:ident $variants:tt) => {
        $crate::named! { $type $variants }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::all().find_map(|(known, value)| (known == name).then_some(value));
                found.ok_or_else(|| $crate::UnknownName::new($what, name, Self::all().map(|(known, _)| known)))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
    ($type:ident { $($name:literal => $variant:ident $(($with:expr))?),+ $(,)? }) => {
        impl $type {
            /// All of them, by name.
            pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
                [$(($name, Self::$variant $(($with))?)),+].into_iter()
            }

            /// The name, which does not change.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)+
                }
            }
        }

        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl $crate::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $crate::schemars::json_schema!({ "enum": [$($name),+] })
            }
        }
    };
}
