//! What nobody knows of a model before it runs.
//!
//! What is unknown costs something, but a graph counts it as nothing. So whoever makes a graph says what it does not know, and every
//! claim about the graph has to look at that: see [`Unknown`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A gap in what is known of a graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// What is missing.
    pub kind: UnknownKind,
    /// The tensor or op it is about.
    pub name: String,
    /// Why it is not known, for people.
    #[serde(default)]
    pub reason: String,
}

/// What may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownKind {
    /// How large a tensor is. It counts 0 bytes, so every figure is only what is needed at least.
    Size,
    /// What a kernel needs besides its tensors. It counts 0 bytes as well.
    Scratch,
    /// What a sub-graph needs that an op runs. So does this.
    SubGraph,
    /// Whether an op may change places with others. It keeps the place that the file gives it, so an order is at best the best of
    /// those in which it does; figures are as they are.
    Order,
}

serenity_search::named! {
    UnknownKind { "size" => Size, "scratch" => Scratch, "sub-graph" => SubGraph, "order" => Order }
}

impl UnknownKind {
    /// Does it make figures too small?
    pub fn hides_bytes(self) -> bool {
        match self {
            Self::Size | Self::Scratch | Self::SubGraph => true,
            Self::Order => false,
        }
    }
}

impl Unknown {
    /// A new gap in what is known about a model.
    pub fn new(kind: UnknownKind, name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { kind, name: name.into(), reason: reason.into() }
    }

    /// Do these make figures too small?
    pub fn any_hides_bytes(all: &[Self]) -> bool {
        all.iter().any(|unknown| unknown.kind.hides_bytes())
    }

    /// All of them in a few words: `the sizes of 3 tensors are unknown`. `None` if there are none.
    pub fn summary(all: &[Self]) -> Option<String> {
        let parts: Vec<String> = UnknownKind::all()
            .filter_map(|(_, kind)| {
                let number = all.iter().filter(|unknown| unknown.kind == kind).count();
                match (kind, number) {
                    (_, 0) => None,
                    (UnknownKind::Size, 1) => Some("the size of 1 tensor is unknown".to_owned()),
                    (UnknownKind::Size, n) => Some(format!("the sizes of {n} tensors are unknown")),
                    (UnknownKind::Scratch, 1) => Some("the scratch memory of 1 op is unknown".to_owned()),
                    (UnknownKind::Scratch, n) => Some(format!("the scratch memory of {n} ops is unknown")),
                    (UnknownKind::SubGraph, 1) => Some("the sub-graphs of 1 op are not counted".to_owned()),
                    (UnknownKind::SubGraph, n) => Some(format!("the sub-graphs of {n} ops are not counted")),
                    (UnknownKind::Order, 1) => {
                        Some("1 op of which nothing is known keeps its place".to_owned())
                    }
                    (UnknownKind::Order, n) => {
                        Some(format!("{n} ops of which nothing is known keep their places"))
                    }
                }
            })
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn goes_both_ways_and_sums_up() {
        let all = [
            Unknown::new(UnknownKind::Order, "f", "nothing is known of `Foo`"),
            Unknown::new(UnknownKind::Size, "y", "no shape"),
            Unknown::new(UnknownKind::Size, "z", "no shape"),
            Unknown::new(UnknownKind::SubGraph, "if", "not counted"),
        ];
        for unknown in &all {
            assert_eq!(serde_json::from_value::<Unknown>(json!(unknown)).unwrap(), *unknown);
        }
        assert_eq!(
            Unknown::summary(&all).unwrap(),
            "the sizes of 2 tensors are unknown; the sub-graphs of 1 op are not counted; 1 op of which nothing is known keeps its place"
        );
        assert!(Unknown::any_hides_bytes(&all) && !Unknown::any_hides_bytes(&all[..1]));
        assert_eq!(Unknown::summary(&[]), None);
        assert!(serde_json::from_value::<Unknown>(json!({"kind": "mood", "name": "x"})).is_err());
    }
}
