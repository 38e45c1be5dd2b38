//! Writes the operators of a window on stripes: in the body of a loop, or once ahead of it.

use super::Loop;
use super::writer::Operand::{self, Constant, Tensor as Given};
use super::writer::{Writer, numbers};
use crate::program::{Step, StripeId};
use crate::rows::Rows;
use serde_json::json;
use serenity_ir::{Operator, TensorId};
use std::collections::BTreeMap;

/// A graph that works on stripes, under construction.
pub(super) struct Stripes<'a> {
    pub(super) of: &'a Loop<'a>,
    pub(super) writer: Writer,
    /// The tensors of the stripes made so far.
    pub(super) made: BTreeMap<StripeId, TensorId>,
}

/// Computes ahead of a loop what its first iteration takes as carried: per carry, what it begins as.
pub(super) fn ahead(of: &Loop, main: &mut Writer) -> Option<Vec<Option<TensorId>>> {
    let program = of.program();
    let writer = std::mem::replace(main, Writer::new(String::new()));
    let mut stripes = Stripes { of, writer, made: BTreeMap::new() };
    for step in &program.ahead {
        match step {
            // Here the entering tensor has its own shape.
            Step::Cut { whole, out, .. } => {
                let like = program.wholes[*whole];
                if program.stripes[*out].rows == of.window().height(like) {
                    stripes.made.insert(*out, like);
                } else {
                    let out = stripes.stripe(*out)?;
                    stripes.writer.slice(like, numbers(&of.place(like, 0, 0)?), out)?;
                }
            }
            Step::Rows { of: from, begins, left, out } => {
                let begin = of.place(program.stripes[*from].like, *begins.first()?, *left)?;
                stripes.rows(*from, numbers(&begin), *out)?;
            }
            Step::Widen { of: from, above, sides, out } => stripes.widen(*from, *above, *sides, *out)?,
            Step::Run { op, inputs, out, is_valid } => stripes.run(*op, inputs, *out, *is_valid)?,
            _ => return None,
        }
    }
    let begun = program.begun.iter().map(|begun| begun.map(|stripe| stripes.made[&stripe])).collect();
    *main = stripes.writer;
    Some(begun)
}

impl Stripes<'_> {
    /// The tensor of a stripe that is made now.
    pub(super) fn stripe(&mut self, stripe: StripeId) -> Option<TensorId> {
        let tensor = self.of.program().tensor(self.of.window(), stripe)?;
        let id = self.writer.graph.tensor(tensor);
        self.made.insert(stripe, id);
        Some(id)
    }

    /// Rows of a stripe from a place on.
    pub(super) fn rows(&mut self, of: StripeId, begin: Operand, out: StripeId) -> Option<()> {
        let (from, out) = (self.made[&of], self.stripe(out)?);
        self.writer.slice(from, begin, out)
    }

    /// A stripe with zero points around it.
    pub(super) fn widen(&mut self, of: StripeId, above: i64, sides: [i64; 2], out: StripeId) -> Option<()> {
        let paddings = json!([[0, 0], [above, 0], sides, [0, 0]]);
        let values = [0, 0, above, 0, sides[0], sides[1], 0, 0];
        let operand = Constant(json!({"shape": [4, 2], "dtype": "int32", "values": values}));
        let (from, out) = (self.made[&of], self.stripe(out)?);
        self.writer.op("PAD", vec![Given(from), operand], vec![out], &[("paddings", paddings)]);
        Some(())
    }

    /// An op of the window.
    pub(super) fn run(
        &mut self,
        op: usize,
        inputs: &[StripeId],
        out: StripeId,
        is_valid: bool,
    ) -> Option<()> {
        let local = self.of.window().ops[op];
        let whole = self.of.graph.op(local.op);
        let given = |t: &TensorId| {
            let position = local.inputs.iter().position(|input| input == t)?;
            self.made.get(&inputs[position]).copied()
        };
        let given: Vec<TensorId> = whole.inputs.iter().map(given).collect::<Option<_>>()?;
        let out = self.stripe(out)?;
        if let Rows::Cropped { top, left } = local.rows {
            let begin = self.of.place(local.output, top, left)?;
            return self.writer.slice(given[0], numbers(&begin), out);
        }
        if let Operator::RESHAPE | Operator::SQUEEZE | Operator::EXPAND_DIMS = whole.kind.operator() {
            return self.writer.reshape(given[0], out);
        }
        let mut op = whole.clone();
        (op.inputs, op.outputs) = (given, vec![out]);
        if is_valid {
            op.attributes.insert("padding".to_owned(), json!("valid"));
        }
        if let Rows::Repeated { .. } = local.rows {
            // The op states the size of its result.
            let Some(&[_, height, width, _]) = self.writer.graph.get(out).shape.as_deref() else {
                return None;
            };
            let size = json!({"shape": [2], "dtype": "int32", "values": [height, width]});
            op.attributes.insert("size".to_owned(), size["values"].clone());
            op.attributes.insert("constants".to_owned(), json!({"1": size}));
        }
        self.writer.push(op, Some(local.op));
        Some(())
    }
}
