//! A graph under construction, op by op.

use serde_json::{Value, json};
use serenity_ir::{Attributes, GraphBuilder, Op, OpId, OpKind, TensorId};

/// A graph under construction.
pub(crate) struct Writer {
    pub(crate) graph: GraphBuilder,
    pub(crate) origins: Vec<Option<OpId>>,
}

/// An operand of a new op.
pub(crate) enum Operand {
    Tensor(TensorId),
    Constant(Value),
}
use Operand::{Constant, Tensor as Given};

pub(crate) fn numbers(values: &[i64]) -> Operand {
    Constant(json!({"shape": [values.len()], "dtype": "int32", "values": values}))
}

impl Writer {
    pub(crate) fn new(name: String) -> Self {
        Self { graph: GraphBuilder::new(name), origins: Vec::new() }
    }

    pub(crate) fn push(&mut self, op: Op, origin: Option<OpId>) {
        self.graph.push_op(op);
        self.origins.push(origin);
    }

    /// An op of the loop itself.
    pub(crate) fn op(
        &mut self,
        kind: &str,
        operands: Vec<Operand>,
        outputs: Vec<TensorId>,
        options: &[(&str, Value)],
    ) {
        let mut attributes: Attributes =
            options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (mut inputs, mut constants) = (Vec::new(), Attributes::new());
        for (position, operand) in operands.into_iter().enumerate() {
            match operand {
                Given(tensor) => inputs.push(tensor),
                Constant(value) => {
                    constants.insert(position.to_string(), value);
                }
            }
        }
        if !constants.is_empty() {
            attributes.insert("constants".to_owned(), Value::Object(constants));
        }
        let op = Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs,
            outputs,
            attributes,
            extra: Attributes::new(),
        };
        self.push(op, None);
    }

    pub(crate) fn reshape(&mut self, from: TensorId, to: TensorId) -> Option<()> {
        let shape: Vec<i64> = self.graph.get(to).shape.as_ref()?.iter().map(|&side| side as i64).collect();
        self.op("RESHAPE", vec![Given(from)], vec![to], &[("new_shape", json!(shape))]);
        Some(())
    }

    /// A part of a tensor from `begin` on, as large as `to`.
    pub(crate) fn slice(&mut self, from: TensorId, begin: Operand, to: TensorId) -> Option<()> {
        let size: Vec<i64> = self.graph.get(to).shape.as_ref()?.iter().map(|&side| side as i64).collect();
        let mut options = vec![("size", json!(size))];
        if let Constant(begin) = &begin {
            options.push(("begin", begin["values"].clone()));
        }
        self.op("SLICE", vec![Given(from), begin, numbers(&size)], vec![to], &options);
        Some(())
    }
}
