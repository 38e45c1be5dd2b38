//! Writes the body of a loop: one iteration.

use super::stripes::Stripes;
use super::writer::Operand::{self, Constant, Tensor as Given};
use super::writer::{Writer, numbers};
use super::{Loop, State};
use crate::program::{Step, Stripe, StripeId, constant};
use crate::rows::Image;
use serde_json::json;
use serenity_ir::{ElementType, Tensor, TensorId};
use std::collections::BTreeMap;

pub(super) fn body(of: &Loop) -> Option<Writer> {
    let mut writer = Writer::new("body".to_owned());
    let state = of.state(&mut writer)?;
    state.all().into_iter().for_each(|id| writer.graph.mark_input(id));
    let mut body = Body {
        on: Stripes { of, writer, made: BTreeMap::new() },
        next: state.clone(),
        state,
        multiples: BTreeMap::new(),
        vectors: BTreeMap::new(),
    };
    for step in &of.program().steps {
        body.step(step)?;
    }
    let next: Vec<i64> = (1..=of.program().iterations).collect();
    body.next.counter = body.number(&next)?;
    let Body { next, on: Stripes { mut writer, .. }, .. } = body;
    next.all().into_iter().for_each(|id| writer.graph.output(id));
    Some(writer)
}

/// The body of a loop under construction.
struct Body<'a> {
    on: Stripes<'a>,
    state: State,
    next: State,
    /// Multiples of the counter, to cut vectors of so many numbers out of a table.
    multiples: BTreeMap<i64, TensorId>,
    /// Vectors that were cut out already, by their table.
    vectors: BTreeMap<Vec<i64>, TensorId>,
}

impl Body<'_> {
    fn step(&mut self, step: &Step) -> Option<()> {
        let program = self.on.of.program();
        match step {
            Step::Cut { whole, begins, out } => {
                let like = program.wholes[*whole];
                let (from, at) = match (*whole, program.shares) {
                    (0, true) => (self.state.result, program.distance),
                    (whole, shares) => (self.state.wholes[whole - usize::from(shares)], 0),
                };
                let begin = self.element_of(like, begins, at)?;
                let flat = self.flat(like, program.stripes[*out].rows)?;
                self.on.writer.slice(from, begin, flat)?;
                let out = self.on.stripe(*out)?;
                self.on.writer.reshape(flat, out)
            }
            Step::Rows { of, begins, left, out } => {
                let begin = self.row_of(program.stripes[*of].like, begins, *left)?;
                self.on.rows(*of, begin, *out)
            }
            Step::Widen { of, above, sides, out } => self.on.widen(*of, *above, *sides, *out),
            Step::Run { op, inputs, out, is_valid } => self.on.run(*op, inputs, *out, *is_valid),
            Step::Join { front, carried, new, out } => {
                let new_rows = program.stripes[*new];
                let kept = carried.map_or(0, |carried| program.carries[carried].rows);
                let back = program.stripes[*out].rows - new_rows.rows - kept - front;
                let spare = |rows: i64| {
                    let zeros = || self.zero_rows(Stripe { rows, ..new_rows });
                    if rows > 0 { zeros().map(Some) } else { Some(None) }
                };
                let carried = carried.map(|carried| Given(self.state.carries[carried]));
                let parts = [spare(*front)?, carried, Some(Given(self.on.made[new])), spare(back)?];
                let parts = parts.into_iter().flatten().collect();
                let out = self.on.stripe(*out)?;
                let axis = Image::of(self.on.of.graph, new_rows.like)?.axis;
                let options = [("axis", json!(axis)), ("activation", json!("none"))];
                self.on.writer.op("CONCATENATION", parts, vec![out], &options);
                Some(())
            }
            Step::Border { of, rows, begins, out } => {
                let buffer = program.stripes[*of];
                let zeros = self.zero_rows(Stripe { rows: *rows, ..buffer })?;
                let begin = self.row_of(buffer.like, begins, 0)?;
                let (from, out) = (self.on.made[of], self.on.stripe(*out)?);
                self.on.writer.op("DYNAMIC_UPDATE_SLICE", vec![Given(from), zeros, begin], vec![out], &[]);
                Some(())
            }
            Step::Keep { of, begin, carried } => {
                let carry = program.carries[*carried];
                let out = self.on.writer.graph.tensor(carry.tensor(self.on.of.window())?);
                self.next.carries[*carried] = out;
                let begin = self.on.of.place(carry.like, *begin, 0)?;
                self.on.writer.slice(self.on.made[of], numbers(&begin), out)
            }
            Step::Put { of, begins } => {
                self.next.result = self.put(*of, begins, self.state.result)?;
                Some(())
            }
            Step::PutAlso { also, of, begins } => {
                self.next.also[*also] = self.put(*of, begins, self.state.also[*also])?;
                Some(())
            }
        }
    }

    /// Writes rows of a leaving tensor into its state, from this iteration's row on; returns the state.
    fn put(&mut self, of: StripeId, begins: &[i64], state: TensorId) -> Option<TensorId> {
        let Stripe { like, rows, .. } = self.on.of.program().stripes[of];
        let flat = self.flat(like, rows)?;
        self.on.writer.reshape(self.on.made[&of], flat)?;
        let begin = self.element_of(like, begins, 0)?;
        let out = self.on.writer.graph.get(state).clone();
        let out = self.on.writer.graph.tensor(out);
        self.on.writer.op("DYNAMIC_UPDATE_SLICE", vec![Given(state), Given(flat), begin], vec![out], &[]);
        Some(out)
    }

    /// A new tensor for so many rows, without their shape.
    fn flat(&mut self, like: TensorId, rows: i64) -> Option<TensorId> {
        let flat = self.on.of.flat(like, rows * self.on.of.window().row_bytes(like))?;
        Some(self.on.writer.graph.tensor(flat))
    }

    /// The element with which this iteration's row begins, in bytes that begin at `at`.
    fn element_of(&mut self, like: TensorId, rows: &[i64], at: i64) -> Option<Operand> {
        let (row, item) = (self.on.of.window().row_bytes(like), self.on.of.window().item(like));
        self.one_number(&rows.iter().map(|begin| (at + begin * row) / item).collect::<Vec<_>>())
    }

    /// Rows of zero points.
    fn zero_rows(&self, rows: Stripe) -> Option<Operand> {
        Some(self.on.of.zeros(rows.like, rows.tensor(self.on.of.window())?.shape.as_ref()?))
    }

    /// This iteration's number from a list.
    fn number(&mut self, list: &[i64]) -> Option<TensorId> {
        let out = self.on.writer.graph.tensor(Tensor::shaped("at", vec![1], ElementType::Int32)?);
        let Constant(table) = numbers(list) else { return None };
        let operands = vec![Constant(table), Given(self.state.counter), numbers(&[1])];
        self.on.writer.op("SLICE", operands, vec![out], &[("size", json!([1]))]);
        Some(out)
    }

    /// This iteration's number from a list, as an operand: a constant if all numbers are equal.
    fn one_number(&mut self, list: &[i64]) -> Option<Operand> {
        match constant(list) {
            Some(always) => Some(numbers(&[always])),
            None => Some(Given(self.number(list)?)),
        }
    }

    /// The position of this iteration's row, from a column on, in a tensor.
    fn row_of(&mut self, like: TensorId, rows: &[i64], column: i64) -> Option<Operand> {
        if let Some(always) = constant(rows) {
            return Some(numbers(&self.on.of.place(like, always, column)?));
        }
        let places =
            rows.iter().map(|&row| self.on.of.place(like, row, column)).collect::<Option<Vec<_>>>()?;
        let (rank, table) = (places.first()?.len() as i64, places.concat());
        if let Some(&known) = self.vectors.get(&table) {
            return Some(Given(known));
        }
        let at = if let Some(&known) = self.multiples.get(&rank) {
            known
        } else {
            let multiples: Vec<i64> = (0..self.on.of.program().iterations).map(|i| rank * i).collect();
            let made = self.number(&multiples)?;
            self.multiples.insert(rank, made);
            made
        };
        let out = self.on.writer.graph.tensor(Tensor::shaped("at", vec![rank as u64], ElementType::Int32)?);
        let operands = vec![numbers(&table), Given(at), numbers(&[rank])];
        self.on.writer.op("SLICE", operands, vec![out], &[("size", json!([rank]))]);
        self.vectors.insert(table, out);
        Some(Given(out))
    }
}
