//! What a runtime knows of a shape when it loads a file.
//!
//! [`Tensor::shape`](crate::Tensor::shape) is what a tensor will have: it may hang on numbers that only the run computes, or on a size that whoever runs the model gives.
//! A runtime that plans before it runs may know less, and can share less memory then.

use serde_json::Value;

/// How much of a tensor's shape is known before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownShape {
    /// All of it, as far as it is known here.
    #[default]
    Whole,
    /// How many dimensions there are, and something of each.
    Partly(Vec<KnownDim>),
    /// Not even the number of dimensions.
    Nothing,
}

/// What is known of one dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownDim {
    /// The size is known.
    Size(u64),
    /// The size is unknown, but equal wherever this name is used.
    Named(String),
    /// Nothing is known about the dimension.
    Open,
}

impl KnownShape {
    /// What dimensions say of a shape that is really this: all of it, if they have its sizes.
    pub fn of(dims: Vec<KnownDim>, shape: Option<&[u64]>) -> Self {
        let size = |dim: &KnownDim| if let KnownDim::Size(size) = dim { Some(*size) } else { None };
        let sizes: Option<Vec<u64>> = dims.iter().map(size).collect();
        if sizes.is_some() && sizes.as_deref() == shape { Self::Whole } else { Self::Partly(dims) }
    }

    /// As files hold it: `[1, "batch", null]`, or `null` if nothing is known; `None` if all is.
    pub fn to_json(&self) -> Option<Value> {
        let dim = |dim: &KnownDim| match dim {
            KnownDim::Size(size) => Value::from(*size),
            KnownDim::Named(name) => Value::from(name.as_str()),
            KnownDim::Open => Value::Null,
        };
        match self {
            Self::Whole => None,
            Self::Partly(dims) => Some(dims.iter().map(dim).collect()),
            Self::Nothing => Some(Value::Null),
        }
    }

    /// Reads it back; `None` if it is none.
    pub fn from_json(value: &Value) -> Option<Self> {
        let dim = |value: &Value| match value {
            Value::Null => Some(KnownDim::Open),
            Value::String(name) => Some(KnownDim::Named(name.clone())),
            value => value.as_u64().map(KnownDim::Size),
        };
        match value {
            Value::Null => Some(Self::Nothing),
            Value::Array(dims) => dims.iter().map(dim).collect::<Option<_>>().map(Self::Partly),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownDim, KnownShape};

    #[test]
    fn goes_both_ways() {
        let dims = vec![KnownDim::Size(1), KnownDim::Named("batch".into()), KnownDim::Open];
        for known in [KnownShape::Partly(dims), KnownShape::Nothing] {
            assert_eq!(KnownShape::from_json(&known.to_json().unwrap()), Some(known));
        }
        assert_eq!(KnownShape::Whole.to_json(), None);
        assert_eq!(KnownShape::from_json(&"all".into()), None);
    }

    #[test]
    fn sizes_that_are_all_known_are_the_whole() {
        let sizes = || vec![KnownDim::Size(2), KnownDim::Size(3)];
        assert_eq!(KnownShape::of(sizes(), Some(&[2, 3])), KnownShape::Whole);
        assert_eq!(KnownShape::of(sizes(), Some(&[2, 4])), KnownShape::Partly(sizes()));
        let open = vec![KnownDim::Size(2), KnownDim::Open];
        assert_eq!(KnownShape::of(open.clone(), Some(&[2, 3])), KnownShape::Partly(open));
    }
}
