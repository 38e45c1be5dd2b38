//! Adding up partial results: by a chain of additions, or into an accumulator.

use super::writer::Writer;
use serde_json::{Value, json};
use serenity_ir::{Attributes, OpId, TensorId};

/// Adds up partial results as they come.
pub(super) struct Adder {
    id: OpId,
    output: TensorId,
    activation: Option<Value>,
    /// Those that were not added yet: all, for an accumulator.
    open: Vec<(TensorId, Option<Value>)>,
    added: usize,
}

impl Adder {
    pub(super) fn new(id: OpId, output: TensorId, activation: Option<Value>) -> Self {
        Self { id, output, activation, open: Vec::new(), added: 0 }
    }

    pub(super) fn add(
        &mut self,
        writer: &mut Writer<'_>,
        tensor: TensorId,
        is_last: bool,
        factor: Option<Value>,
    ) {
        self.open.push((tensor, factor));
        if writer.settings.sums != crate::Sums::Chain || self.open.len() < 2 {
            return;
        }
        self.added += 1;
        let suffix = format!("sum{}", self.added);
        let total = if is_last { self.output } else { writer.add_like(self.output, &suffix) };
        let is_onnx = writer.is_onnx(self.id);
        let (terms, factors): (Vec<TensorId>, Vec<Option<Value>>) =
            std::mem::take(&mut self.open).into_iter().unzip();
        let mut attributes = Attributes::new();
        if factors.iter().any(Option::is_some) {
            let factor = |factor: Option<Value>| factor.unwrap_or_else(|| json!(1.0));
            attributes.insert("input_weights".to_owned(), factors.into_iter().map(factor).collect());
        }
        if !is_onnx {
            let activation = self.activation.clone().filter(|_| is_last);
            attributes.insert("activation".to_owned(), activation.unwrap_or_else(|| json!("none")));
        }
        let kind = if is_onnx { "Add" } else { "ADD" };
        writer.push_new(self.id, &suffix, kind, terms, total, attributes);
        self.open.push((total, None));
    }

    pub(super) fn finish(self, writer: &mut Writer<'_>) {
        if writer.settings.sums == crate::Sums::Chain {
            return;
        }
        let terms = self.open.into_iter().map(|(tensor, _)| tensor).collect();
        let activation = self.activation.map(|activation| ("activation".to_owned(), activation));
        let attributes = activation.into_iter().collect();
        writer.push_new(self.id, "sum", "ACCUMULATE", terms, self.output, attributes);
    }
}
