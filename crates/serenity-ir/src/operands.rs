//! What an operator was given besides activations: constants, variables, and arguments left out.
//!
//! A graph holds activations only. A reader of a model file describes the rest in three attributes: `constants` and
//! `variables`, objects from the position of an operand to its name, shape and type (and its values, if they are few),
//! and `absent`, the positions left empty.

use crate::{Op, Stored, TensorId};
use serde_json::Value;

impl Op {
    /// The activation given as the operand at `position` of the operator's signature; `None` if that is a constant or a
    /// variable, or was left out.
    ///
    /// ```
    /// use serenity_ir::{Attributes, Op, OpKind, TensorId};
    /// let attributes: Attributes = serde_json::from_str(r#"{"constants": {"0": {"shape": [1]}}}"#).unwrap();
    /// let op = Op { name: String::new(), kind: OpKind::new("ADD"), inputs: vec![TensorId(7)], outputs: vec![], attributes, extra: Default::default() };
    /// assert_eq!((op.operand(0), op.operand(1)), (None, Some(TensorId(7))));
    /// ```
    pub fn operand(&self, position: usize) -> Option<TensorId> {
        self.inputs.get(self.input_of(position)?).copied()
    }

    /// Where among the inputs the operand at `position` of the operator's signature stands, if it is an activation.
    pub fn input_of(&self, position: usize) -> Option<usize> {
        let given_otherwise =
            |p: &usize| self.constant(*p).is_some() || self.variable(*p).is_some() || self.is_absent(*p);
        if given_otherwise(&position) {
            return None;
        }
        Some(position - (0..position).filter(given_otherwise).count())
            .filter(|&input| input < self.inputs.len())
    }

    /// The description of the variable, state that outlives a run, given as the operand at `position`.
    pub fn variable(&self, position: usize) -> Option<Stored<'_>> {
        self.attributes.get("variables")?.get(position.to_string()).map(Stored)
    }

    /// The description of the constant given as the operand at `position`.
    pub fn constant(&self, position: usize) -> Option<Stored<'_>> {
        self.attributes.get("constants")?.get(position.to_string()).map(Stored)
    }

    /// Was the operand at `position` left out?
    pub fn is_absent(&self, position: usize) -> bool {
        let listed = self.attributes.get("absent").and_then(Value::as_array);
        listed.is_some_and(|list| list.iter().any(|p| p.as_u64() == Some(position as u64)))
    }

    /// Has it any constants?
    pub fn has_constants(&self) -> bool {
        self.has("constants")
    }

    /// Is anything said of an option?
    pub fn has(&self, option: &str) -> bool {
        self.attributes.contains_key(option)
    }

    /// An option that is true or false.
    pub fn flag(&self, option: &str) -> Option<bool> {
        self.attributes.get(option)?.as_bool()
    }

    /// An option that is a whole number.
    pub fn number(&self, option: &str) -> Option<i64> {
        self.attributes.get(option)?.as_i64()
    }

    /// An option that is a size.
    pub fn size(&self, option: &str) -> Option<u64> {
        self.attributes.get(option)?.as_u64()
    }

    /// An option that is a word.
    pub fn word(&self, option: &str) -> Option<&str> {
        self.attributes.get(option)?.as_str()
    }

    /// An option that is a list of whole numbers.
    pub fn numbers(&self, option: &str) -> Option<Vec<i64>> {
        self.attributes.get(option)?.as_array()?.iter().map(Value::as_i64).collect()
    }

    /// An option that is a list of sizes.
    pub fn sizes(&self, option: &str) -> Option<Vec<u64>> {
        self.attributes.get(option)?.as_array()?.iter().map(Value::as_u64).collect()
    }

    /// An option of two sizes, height first.
    pub fn pair(&self, option: &str) -> Option<[u64; 2]> {
        self.sizes(option)?.try_into().ok()
    }

    /// Does it clamp or bend its results at last: is there an option `activation`, and is it not `none`?
    pub fn has_activation(&self) -> bool {
        self.attributes.get("activation").is_some_and(|activation| activation != "none")
    }

    /// The zeros, or others, that it writes around each axis, before and behind: the option `paddings`.
    pub fn paddings(&self) -> Option<Vec<[u64; 2]>> {
        let pair = |pair: &Value| match pair.as_array()?.as_slice() {
            [before, behind] => Some([before.as_u64()?, behind.as_u64()?]),
            _ => None,
        };
        self.attributes.get("paddings")?.as_array()?.iter().map(pair).collect()
    }

    /// The graphs that it runs, by number: the attribute `bodies`.
    pub fn bodies(&self) -> impl Iterator<Item = usize> + '_ {
        let listed = self.attributes.get("bodies").and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(|body| usize::try_from(body.as_u64()?).ok())
    }

    /// Bytes that the operator needs besides its tensors while it runs, whatever the kernels: the attribute `workspace`.
    pub fn workspace(&self) -> Option<u64> {
        self.attributes.get("workspace")?.as_u64()
    }
}
