//! What an operator is called, and the few roles that memory models care about.

use crate::Operator;
use std::fmt;

/// The name of an operator type as its format spells it: `CONV_2D`, `Conv`, `CUSTOM:SignalRfft`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpKind {
    name: String,
    operator: Operator,
}

/// What a memory model needs to know about an operator type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Joins its inputs end to end: `CONCATENATION`, `Concat`.
    Concat,
    /// Adds up partial results that may all be written into one buffer: `ACCUMULATE`.
    Accumulate,
    /// Nothing special.
    Compute,
}

impl OpKind {
    /// The kind of this name.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { operator: Operator::named(&name), name }
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The operator of this name.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The role of this kind, whatever the spelling.
    ///
    /// ```
    /// use serenity_ir::{OpKind, Role};
    /// assert_eq!(OpKind::new("CONCATENATION").role(), Role::Concat);
    /// assert_eq!(OpKind::new("Concat").role(), Role::Concat);
    /// assert_eq!(OpKind::new("CONV_2D").role(), Role::Compute);
    /// ```
    pub fn role(&self) -> Role {
        let is = |names: &[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(&self.name));
        if is(&["CONCATENATION", "CONCAT"]) {
            Role::Concat
        } else if is(&["ACCUMULATE"]) {
            Role::Accumulate
        } else {
            Role::Compute
        }
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
