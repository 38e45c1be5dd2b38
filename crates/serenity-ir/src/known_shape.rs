//! What a runtime knows of a shape when it loads a file.
//!
//! [`Tensor::shape`](crate::Tensor::shape) is what a tensor will have: it may hang on numbers that only the run
//! computes, or on a size that whoever runs the model gives. A runtime that plans before it runs may know less, and can
//! share less memory then.

use serde::{Deserialize, Serialize};

/// How much of a tensor's shape is known before the run. Files hold it as `[1, "batch", null]`, or `null` if nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnownShape {
    /// All of it, as far as it is known here: files say nothing of it.
    #[default]
    #[serde(skip)]
    Whole,
    /// How many dimensions there are, and something of each.
    Partly(Vec<KnownDim>),
    /// Not even the number of dimensions.
    Nothing,
}

/// What is known of one dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
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
}

#[cfg(test)]
mod tests {
    use super::{KnownDim, KnownShape};
    use serde_json::json;

    #[test]
    fn goes_both_ways() {
        let dims = vec![KnownDim::Size(1), KnownDim::Named("batch".into()), KnownDim::Open];
        for known in [KnownShape::Partly(dims), KnownShape::Nothing] {
            assert_eq!(serde_json::from_value::<KnownShape>(json!(known)).unwrap(), known);
        }
        assert!(serde_json::to_value(KnownShape::Whole).is_err());
        assert!(serde_json::from_value::<KnownShape>(json!("all")).is_err());
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
