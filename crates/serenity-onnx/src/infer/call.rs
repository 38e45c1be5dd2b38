//! One node as its rule sees it.

use super::Scope;
use crate::data_type::DataType;
use crate::fact::{Fact, element_count};
use crate::proto::{AttributeValue, Node};

/// A node with the facts of its inputs.
pub(crate) struct Call<'n, 'a> {
    pub(crate) node: &'n Node<'a>,
    pub(crate) opset: i64,
    inputs: Vec<Option<&'n Fact>>,
}

impl<'n, 'a> Call<'n, 'a> {
    pub(crate) fn new(node: &'n Node<'a>, scope: &'n Scope<'a, '_>, opset: i64) -> Self {
        let inputs = node.inputs.iter().map(|&name| if name.is_empty() { None } else { scope.get(name) });
        Self { node, opset, inputs: inputs.collect() }
    }

    /// One input; `None` if it is not given.
    pub(crate) fn input(&self, position: usize) -> Option<&'n Fact> {
        self.inputs.get(position).copied().flatten()
    }

    /// Is there an input at this position, known or not?
    pub(crate) fn has_input(&self, position: usize) -> bool {
        self.node.inputs.get(position).is_some_and(|name| !name.is_empty())
    }

    pub(crate) fn given_inputs(&self) -> impl Iterator<Item = &'n Fact> {
        self.inputs.iter().copied().flatten()
    }

    pub(crate) fn input_count(&self) -> usize {
        self.inputs.len()
    }

    pub(crate) fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    pub(crate) fn data_type(&self, position: usize) -> Option<DataType> {
        self.input(position)?.data_type
    }

    pub(crate) fn shape(&self, position: usize) -> Option<&'n [u64]> {
        self.input(position)?.shape.as_deref()
    }

    /// How many elements an input has.
    pub(crate) fn elements(&self, position: usize) -> Option<u64> {
        element_count(self.shape(position)?)
    }

    /// The values of a small integer input.
    pub(crate) fn ints(&self, position: usize) -> Option<&'n [i64]> {
        self.input(position)?.ints()
    }

    /// The only value of an integer input.
    pub(crate) fn single_int(&self, position: usize) -> Option<i64> {
        match self.ints(position)? {
            [value] => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn int_attribute(&self, name: &str) -> Option<i64> {
        self.node.int(name)
    }

    pub(crate) fn int_or(&self, name: &str, default: i64) -> i64 {
        self.int_attribute(name).unwrap_or(default)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.int_or(name, 0) != 0
    }

    pub(crate) fn ints_attribute(&self, name: &str) -> Option<&'n [i64]> {
        match self.node.attribute(name)? {
            AttributeValue::Ints(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn text_attribute(&self, name: &str) -> Option<&'a str> {
        match self.node.attribute(name)? {
            AttributeValue::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }

    /// The type that an attribute numbers.
    pub(crate) fn type_attribute(&self, name: &str) -> Option<DataType> {
        DataType::from_number(self.int_attribute(name)?)
    }

    /// Numbers that older versions give as an attribute and newer ones as an input: `Ok(None)` if neither is there, `Err` if they
    /// are there but not known.
    pub(crate) fn ints_from(&self, name: &str, position: usize) -> Result<Option<&'n [i64]>, Unknown> {
        if let Some(values) = self.ints_attribute(name) {
            return Ok(Some(values));
        }
        if !self.has_input(position) {
            return Ok(None);
        }
        self.ints(position).map(Some).ok_or(Unknown)
    }

    /// The position of an axis that may count from the end.
    pub(crate) fn axis(&self, default: i64, rank: usize) -> Option<usize> {
        axis_index(self.int_or("axis", default), rank)
    }
}

/// A value that only the running model knows.
pub(crate) struct Unknown;

/// The position of `axis` among `rank` axes; negative ones count from the end.
pub(crate) fn axis_index(axis: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
    (0..rank).contains(&axis).then_some(axis as usize)
}

/// One output of this type and shape.
#[allow(clippy::unnecessary_wraps, reason = "every rule ends with it")]
pub(crate) fn one(data_type: Option<DataType>, shape: Vec<u64>) -> Option<Vec<Fact>> {
    Some(vec![Fact::of(data_type, Some(shape))])
}
