//! What is known of a tensor before the model runs.

use crate::data_type::DataType;

/// A tensor of more dimensions counts as one of unknown shape: no runtime has it, and copies of its shape would fill the memory.
const MOST_DIMS: usize = 32;

/// Type, shape and, for small constants, the values; each may be unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fact {
    pub(crate) data_type: Option<DataType>,
    pub(crate) shape: Option<Vec<u64>>,
    /// Only if the shape is known, and as many as it says.
    pub(crate) values: Option<Values>,
}

/// The elements of a small tensor, row by row. Truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Fact {
    pub(crate) fn of(data_type: Option<DataType>, shape: Option<Vec<u64>>) -> Self {
        Self { data_type, shape: shape.filter(|s| s.len() <= MOST_DIMS), values: None }
    }

    /// This fact with its values, if there are as many as its shape says.
    pub(crate) fn with_values(mut self, values: Option<Values>) -> Self {
        let count = self.shape.as_deref().and_then(element_count);
        self.values = values.filter(|v| Some(v.len() as u64) == count);
        self
    }

    /// Size of the packed data.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.data_type?.bytes_of(self.shape.as_deref()?)
    }

    pub(crate) fn ints(&self) -> Option<&[i64]> {
        match &self.values {
            Some(Values::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// The values as real numbers, whatever they are.
    pub(crate) fn reals(&self) -> Option<Vec<f64>> {
        Some(match self.values.as_ref()? {
            Values::Ints(values) => values.iter().map(|&v| v as f64).collect(),
            Values::Floats(values) => values.clone(),
        })
    }

    /// Takes from `other` what is not known here.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.shape.is_none() {
            return Self { data_type: self.data_type.or(other.data_type), ..other };
        }
        Self { data_type: self.data_type.or(other.data_type), ..self }
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ints(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// The elements at `indices`; `None` if one is out of range.
    pub(crate) fn pick(&self, indices: impl Iterator<Item = usize>) -> Option<Self> {
        fn each<T: Copy>(values: &[T], indices: impl Iterator<Item = usize>) -> Option<Vec<T>> {
            indices.map(|i| values.get(i).copied()).collect()
        }
        match self {
            Self::Ints(values) => each(values, indices).map(Self::Ints),
            Self::Floats(values) => each(values, indices).map(Self::Floats),
        }
    }
}

/// How many elements a shape has, if the product does not overflow.
pub(crate) fn element_count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1_u64, |n, &dim| n.checked_mul(dim)) }
}
