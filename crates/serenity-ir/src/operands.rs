//! What an operator was given besides activations: constants, variables, and arguments left out.
//!
//! A graph holds activations only. A reader of a model file describes the rest in three attributes: `constants` and `variables`, objects
//! from the position of an operand to its name, shape and type (and its values, if they are few), and `absent`, the positions left empty.

use crate::{Op, TensorId};
use serde_json::Value;

impl Op {
    /// The activation given as the operand at `position` of the operator's signature; `None` if that is a constant or a variable, or was left out.
    ///
    /// ```
    /// use serenity_ir::{Attributes, Op, OpKind, TensorId};
    /// let attributes: Attributes = serde_json::from_str(r#"{"constants": {"0": {"shape": [1]}}}"#).unwrap();
    /// let op = Op { name: String::new(), kind: OpKind::new("ADD"), inputs: vec![TensorId(7)], outputs: vec![], attributes, extra: Default::default() };
    /// assert_eq!((op.operand(0), op.operand(1)), (None, Some(TensorId(7))));
    /// ```
    pub fn operand(&self, position: usize) -> Option<TensorId> {
        let given_otherwise =
            |p: &usize| self.constant(*p).is_some() || self.variable(*p).is_some() || self.is_absent(*p);
        if given_otherwise(&position) {
            return None;
        }
        self.inputs.get(position - (0..position).filter(given_otherwise).count()).copied()
    }

    /// The description of the variable, state that outlives a run, given as the operand at `position`.
    pub fn variable(&self, position: usize) -> Option<&Value> {
        self.attributes.get("variables")?.get(position.to_string())
    }

    /// The description of the constant given as the operand at `position`.
    pub fn constant(&self, position: usize) -> Option<&Value> {
        self.attributes.get("constants")?.get(position.to_string())
    }

    /// Was the operand at `position` left out?
    pub fn is_absent(&self, position: usize) -> bool {
        let listed = self.attributes.get("absent").and_then(Value::as_array);
        listed.is_some_and(|list| list.iter().any(|p| p.as_u64() == Some(position as u64)))
    }

    /// Bytes that the operator needs besides its tensors while it runs, whatever the kernels: the attribute `workspace`.
    pub fn workspace(&self) -> Option<u64> {
        self.attributes.get("workspace")?.as_u64()
    }
}
