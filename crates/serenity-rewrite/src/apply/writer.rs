//! Writes the ops of a rewritten graph, one old op after the other.

use super::adder::Adder;
use super::decisions::Decisions;
use super::describe::{joined, rename, set_constant};
use super::{NewConstant, Origin, Pieces, Rewriting};
use crate::constants::part_of_quantization;
use crate::sum::Sum;
use crate::treatment::{Apart, Slice, Sums, computed_from_constants, is_onnx};
use crate::{PatchError, Settings};
use serde_json::json;
use serenity_ir::{Attributes, Graph, GraphBuilder, Op, OpId, OpKind, Operator, Tensor, TensorId};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Writer<'a> {
    graph: &'a Graph,
    pub(super) settings: &'a Settings,
    /// Ops that begin with a sum and add its terms into their own result, which no kernel does.
    cheaper: &'a BTreeSet<OpId>,
    /// The old ones, then the new ones.
    tensors: Vec<Tensor>,
    ops: Vec<Written>,
}

/// An op of the new graph.
struct Written {
    op: Op,
    origin: Origin,
    /// If it makes what a sum adds up: the old op that the sum belongs to, and which of the terms it is.
    term: Option<(OpId, usize)>,
}

impl Written {
    fn new(op: Op, origin: Origin) -> Self {
        Self { op, origin, term: None }
    }
}

/// A range of positions along the axis of the pieces.
#[derive(Clone, Copy)]
struct Range {
    from: u64,
    to: u64,
}

impl Range {
    /// The range in an operand or a result that has `multiplier` times as many positions.
    fn times(self, multiplier: u64) -> Self {
        Self { from: self.from * multiplier, to: self.to * multiplier }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(graph: &'a Graph, settings: &'a Settings, cheaper: &'a BTreeSet<OpId>) -> Self {
        let tensors = graph.tensors().to_vec();
        Self { graph, settings, cheaper, tensors, ops: Vec::new() }
    }

    /// The op as it was, but for what the patches change in it.
    pub(super) fn copy(&mut self, id: OpId, decisions: &Decisions<'_>) {
        let mut op = self.changed(id, decisions);
        for input in &mut op.inputs {
            *input = decisions.resolve(*input);
        }
        self.ops.push(Written::new(op, Origin::of(id)));
    }

    /// The concatenation `id`, of these pieces.
    pub(super) fn concat(&mut self, id: OpId, parts: &[TensorId]) {
        let op = Op { inputs: parts.to_vec(), ..self.graph.op(id).clone() };
        self.ops.push(Written::new(op, Origin::of(id)));
    }

    /// A concatenation that did not exist, behind the parts of `id`.
    pub(super) fn join(&mut self, id: OpId, pieces: &Pieces, output: TensorId) {
        let is_onnx = self.is_onnx(id);
        let mut attributes = Attributes::from_iter([("axis".to_owned(), json!(pieces.axis))]);
        if !is_onnx {
            attributes.insert("activation".to_owned(), json!("none"));
        }
        let kind = if is_onnx { "Concat" } else { "CONCATENATION" };
        self.push_new(id, "join", kind, pieces.parts.clone(), output, attributes);
    }

    /// One op for each piece, each with its part of the constants; returns what they write.
    pub(super) fn parts(
        &mut self,
        id: OpId,
        apart: &Apart,
        pieces: &Pieces,
        input: TensorId,
        decisions: &Decisions<'_>,
    ) -> Vec<TensorId> {
        let output = self.graph.op(id).outputs[0];
        let ranges = self.ranges(pieces);
        let mut written = Vec::new();
        for (index, (&part, range)) in pieces.parts.iter().zip(ranges).enumerate() {
            let suffix = format!("piece{index}");
            let new =
                self.add_tensor(self.part_of(output, apart.axis, range.times(apart.multiplier), &suffix));
            let mut op = self.changed(id, decisions);
            if apart.is_grouped {
                op.attributes.insert("group".to_owned(), json!(range.to - range.from));
            }
            let mut origin = Origin::of(id);
            replace_input(&mut op, input, part, decisions);
            for slice in &apart.slices {
                self.cut(id, &mut op, &mut origin, slice, range, &suffix);
            }
            rename(&mut op, &self.graph.op_label(id), &suffix);
            op.outputs = vec![new];
            self.ops.push(Written::new(op, origin));
            written.push(new);
        }
        written
    }

    /// One op for each piece, and what adds up their results.
    pub(super) fn partial_sums(
        &mut self,
        id: OpId,
        sums: &Sums,
        pieces: &Pieces,
        input: TensorId,
        order: &[usize],
        decisions: &Decisions<'_>,
    ) {
        let output = self.graph.op(id).outputs[0];
        let whole = self.changed(id, decisions);
        let ranges = self.ranges(pieces);
        let order = order_or_as_it_is(order, pieces.parts.len());
        let mut adder = Adder::new(id, output, whole.attributes.get("activation").cloned());
        for (count, &index) in order.iter().enumerate() {
            let suffix = format!("part{index}");
            let new = self.add_like(output, &suffix);
            let mut op = whole.clone();
            let mut origin = Origin::of(id);
            replace_input(&mut op, input, pieces.parts[index], decisions);
            if let Some(weights) = &sums.weights {
                self.cut(id, &mut op, &mut origin, weights, ranges[index], &suffix);
            }
            if count > 0 {
                self.without_bias(id, &mut op, &mut origin, sums.bias);
            }
            if op.attributes.contains_key("activation") {
                op.attributes.insert("activation".to_owned(), json!("none"));
            }
            if self.settings.sums == crate::Sums::Draft {
                op.attributes.insert("workspace".to_owned(), json!(self.tensors[output.index()].bytes));
            }
            rename(&mut op, &self.graph.op_label(id), &suffix);
            op.outputs = vec![new];
            self.ops.push(Written { op, origin, term: Some((id, index)) });
            adder.add(self, new, count + 1 == order.len(), None);
        }
        adder.finish(self);
    }

    /// The terms of a sum, added one by one.
    pub(super) fn sum(&mut self, id: OpId, sum: &Sum, order: &[usize], decisions: &Decisions<'_>) {
        let old = self.graph.op(id);
        let terms: Vec<TensorId> = sum.terms.iter().map(|term| decisions.resolve(term.tensor)).collect();
        let order = order_or_as_it_is(order, terms.len());
        let feeds = sum.feeds.filter(|_| !self.cheaper.contains(&id));
        let (output, activation) = match feeds {
            None => (old.outputs[0], old.attributes.get("activation").cloned()),
            Some(_) => (self.add_like(terms[0], &format!("sum of {}", self.graph.op_label(id))), None),
        };
        let mut adder = Adder::new(id, output, activation);
        for (count, &index) in order.iter().enumerate() {
            let factor = sum.terms[index].factor.clone();
            let is_last = count + 1 == order.len();
            if self.settings.sums == crate::Sums::Chain {
                adder.add(self, terms[index], is_last, factor);
            } else {
                let new = self.add_like(output, &format!("term{index}"));
                let factors = factor.map(|factor| ("input_weights".to_owned(), json!([factor])));
                let suffix = format!("term{index}");
                self.push_new(
                    id,
                    &suffix,
                    "ADD_INTO",
                    vec![terms[index]],
                    new,
                    factors.into_iter().collect(),
                );
                if let Some(written) = self.ops.last_mut() {
                    written.term = Some((id, index));
                }
                adder.add(self, new, is_last, None);
            }
        }
        adder.finish(self);
        if feeds.is_some() {
            let mut op = self.changed(id, decisions);
            op.attributes.remove("input_weights");
            op.inputs = vec![output];
            self.ops.push(Written::new(op, Origin::of(id)));
        }
    }

    pub(super) fn finish(mut self) -> Result<Rewriting, PatchError> {
        self.drop_dead();
        let mut is_written = vec![false; self.tensors.len()];
        for output in self.ops.iter().flat_map(|written| &written.op.outputs) {
            is_written[output.index()] = true;
        }
        let mut builder = GraphBuilder::new(self.graph.name());
        for (index, tensor) in self.tensors.iter().enumerate() {
            let id = TensorId::from_index(index);
            let was_written = index < self.graph.tensors().len() && self.graph.producer(id).is_some();
            let is_retired = was_written && !is_written[index];
            builder.tensor(if is_retired { retired(tensor) } else { tensor.clone() });
        }
        let mut origins = Vec::new();
        let mut terms: BTreeMap<OpId, BTreeMap<usize, OpId>> = BTreeMap::new();
        for Written { op, origin, term } in self.ops {
            let new = builder.push_op(op);
            origins.push(origin);
            if let Some((sum, index)) = term {
                terms.entry(sum).or_default().insert(index, new);
            }
        }
        let terms = terms.into_iter().map(|(sum, terms)| (sum, terms.into_values().collect())).collect();
        self.graph.inputs().iter().for_each(|&id| builder.mark_input(id));
        self.graph.outputs().iter().for_each(|&id| builder.output(id));
        self.graph.unknown().iter().for_each(|unknown| builder.unknown(unknown.clone()));
        builder.extra(self.graph.extra().clone());
        Ok(Rewriting { graph: builder.build_body()?, origins, terms })
    }

    /// Ops whose readers now read something else go.
    fn drop_dead(&mut self) {
        let mut readers = vec![0_usize; self.tensors.len()];
        for input in self.ops.iter().flat_map(|written| &written.op.inputs) {
            readers[input.index()] += 1;
        }
        let graph = self.graph;
        for at in (0..self.ops.len()).rev() {
            let Written { op, origin, .. } = &self.ops[at];
            let had_readers = |&t: &TensorId| {
                t.index() < graph.tensors().len() && !graph.consumers(t).is_empty() && !graph.is_output(t)
            };
            let is_unread = |&t: &TensorId| readers[t.index()] == 0 && had_readers(&t);
            if origin.op.is_some() && !op.outputs.is_empty() && op.outputs.iter().all(is_unread) {
                for input in std::mem::take(&mut self.ops[at].op.inputs) {
                    readers[input.index()] -= 1;
                }
                self.ops[at].op.outputs.clear();
            }
        }
        self.ops.retain(|Written { op, origin, .. }| {
            let had_outputs = origin.op.is_some_and(|id| !graph.op(id).outputs.is_empty());
            !(had_outputs && op.outputs.is_empty())
        });
    }

    /// The op as it was, but for its attributes.
    fn changed(&self, id: OpId, decisions: &Decisions<'_>) -> Op {
        let mut op = self.graph.op(id).clone();
        if let Some(change) = decisions.change(id) {
            op.attributes.extend(change.attributes.clone());
        }
        op
    }

    /// Where along the axis each piece lies.
    fn ranges(&self, pieces: &Pieces) -> Vec<Range> {
        let mut from = 0;
        let sizes = pieces.parts.iter().map(|part| {
            let shape = self.tensors[part.index()].shape.as_ref();
            shape.and_then(|shape| shape.get(pieces.axis).copied()).unwrap_or(0)
        });
        sizes
            .map(|size| {
                let range = Range { from, to: from + size };
                from = range.to;
                range
            })
            .collect()
    }

    /// Gives an op its part of an operand.
    fn cut(&mut self, id: OpId, op: &mut Op, origin: &mut Origin, slice: &Slice, range: Range, suffix: &str) {
        let range = range.times(slice.multiplier);
        let Range { from, to } = range;
        if self.graph.op(id).constant(slice.position).is_some() {
            let part = NewConstant::Slice { axis: slice.axis, from, to };
            set_constant(&mut op.attributes, slice.position, &part, suffix);
            origin.constants.insert(slice.position, part);
            return;
        }
        // What computes the operand computes the part instead.
        let Some(computed) = self.graph.op(id).operand(slice.position) else { return };
        let Some(source) = computed_from_constants(self.graph, computed) else { return };
        let new = self.add_tensor(self.part_of(computed, slice.axis, range, suffix));
        let mut copy = self.graph.op(source).clone();
        let part = if copy.kind.operator() == Operator::ConstantOfShape {
            NewConstant::Dimensions(self.tensors[new.index()].shape.clone().unwrap_or_default())
        } else {
            NewConstant::Slice { axis: slice.axis, from, to }
        };
        set_constant(&mut copy.attributes, 0, &part, suffix);
        rename(&mut copy, &self.graph.op_label(source), suffix);
        copy.outputs = vec![new];
        let constants = BTreeMap::from([(0, part)]);
        self.ops.push(Written::new(copy, Origin { op: Some(source), constants }));
        for input in &mut op.inputs {
            if *input == computed {
                *input = new;
            }
        }
    }

    /// The bias is added once: the other parts have none, or one of zeros where there must be one. (`TFLite` wants one
    /// for convolutions, and ONNX for `Gemm` before its version 11.)
    fn without_bias(&self, id: OpId, op: &mut Op, origin: &mut Origin, bias: Option<usize>) {
        let old = self.graph.op(id);
        let Some(position) = bias else {
            if op.attributes.get("bias") == Some(&json!(true)) {
                op.attributes.insert("bias".to_owned(), json!(false));
            }
            return;
        };
        if old.constant(position).is_some() {
            let is_optional = old.kind.operator() == Operator::Conv;
            let none = if is_optional { NewConstant::Absent } else { NewConstant::Zeros };
            set_constant(&mut op.attributes, position, &none, "none");
            origin.constants.insert(position, none);
        } else if let Some(computed) = old.operand(position) {
            op.inputs.retain(|&input| input != computed);
            origin.constants.insert(position, NewConstant::Absent);
        }
    }

    pub(super) fn is_onnx(&self, id: OpId) -> bool {
        is_onnx(self.graph.op(id))
    }

    /// Gives a tensor another layout: dimension `i` is then what dimension `permutation[i]` was.
    pub(super) fn permute(&mut self, tensor: TensorId, permutation: &[usize]) {
        let tensor = &mut self.tensors[tensor.index()];
        let dimension = |&axis: &usize| tensor.shape.as_ref().and_then(|shape| shape.get(axis)).copied();
        tensor.shape = permutation.iter().map(dimension).collect();
        tensor.extra.remove("shape_signature");
    }

    pub(super) fn push(&mut self, op: Op, origin: Origin) {
        self.ops.push(Written::new(op, origin));
    }

    fn add_tensor(&mut self, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId::from_index(self.tensors.len() - 1)
    }

    pub(super) fn add_like(&mut self, tensor: TensorId, suffix: &str) -> TensorId {
        let old = &self.tensors[tensor.index()];
        let new = Tensor { name: joined(&old.name, suffix), extra: Attributes::new(), ..old.clone() };
        self.add_tensor(new)
    }

    /// A tensor that is part of another one.
    fn part_of(&self, tensor: TensorId, axis: usize, Range { from, to }: Range, suffix: &str) -> Tensor {
        let old = &self.tensors[tensor.index()];
        let size = to - from;
        let mut shape = old.shape.clone().unwrap_or_default();
        let whole = std::mem::replace(&mut shape[axis], size);
        let packed = old.dtype.as_ref().and_then(|dtype| dtype.bytes_of(&shape));
        // A graph may count otherwise than shape and type say.
        let share = u128::from(old.bytes) * u128::from(size) / u128::from(whole.max(1));
        let is_packed =
            old.dtype.as_ref().zip(old.shape.as_ref()).and_then(|(dtype, shape)| dtype.bytes_of(shape))
                == Some(old.bytes);
        Tensor {
            name: joined(&old.name, suffix),
            bytes: packed.filter(|_| is_packed).unwrap_or(share as u64),
            shape: Some(shape),
            quantization: old.quantization.as_ref().map(|old| part_of_quantization(old, axis, from, to)),
            extra: Attributes::new(),
            ..old.clone()
        }
    }

    pub(super) fn push_new(
        &mut self,
        id: OpId,
        suffix: &str,
        kind: &str,
        inputs: Vec<TensorId>,
        output: TensorId,
        attributes: Attributes,
    ) {
        let op = Op {
            name: joined(&self.graph.op_label(id), suffix),
            kind: OpKind::new(kind),
            inputs,
            outputs: vec![output],
            attributes,
            extra: Attributes::new(),
        };
        self.ops.push(Written::new(op, Origin::default()));
    }
}

fn order_or_as_it_is(order: &[usize], count: usize) -> Vec<usize> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..count) { order.to_vec() } else { (0..count).collect() }
}

fn replace_input(op: &mut Op, old: TensorId, new: TensorId, decisions: &Decisions<'_>) {
    for input in &mut op.inputs {
        *input = decisions.resolve(*input);
        if *input == old {
            *input = new;
        }
    }
}

/// What is left of a tensor that nothing touches: its name and type. A writer of files does the same, since ids must stay.
fn retired(tensor: &Tensor) -> Tensor {
    Tensor {
        shape: tensor.shape.as_ref().map(|_| vec![0]),
        dtype: tensor.dtype.clone(),
        ..Tensor::sized(tensor.name.clone(), 0)
    }
}
