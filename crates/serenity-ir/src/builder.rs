//! Building a graph, and everything that can be wrong with one.

use crate::order::{find_cycle, lowest_index_first};
use crate::{Attributes, Graph, GraphError, Op, OpId, OpKind, Tensor, TensorId, Unknown};
use serde_json::{Map, Value};

/// The sizes, each doubled and rounded up to 64 bytes as no runtime does worse, add up to no more than this: what is
/// added up later cannot overflow 63 bits. So the sizes themselves, rounded up to 32 bytes, add up to 2^61 at most.
const LARGEST_SUM: u64 = 1 << 62;

/// So many tensors and as many ops: five times the largest graph that is known, and no more memory than an ordinary machine has.
pub(crate) const MOST: usize = 1 << 19;

/// A graph under construction. Nothing is checked before [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    name: String,
    tensors: Vec<Tensor>,
    ops: Vec<Op>,
    inputs: Vec<TensorId>,
    outputs: Vec<TensorId>,
    unknown: Vec<Unknown>,
    extra: Map<String, Value>,
}

impl GraphBuilder {
    /// An empty graph of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a tensor that nothing writes or reads yet.
    pub fn tensor(&mut self, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId::from_index(self.tensors.len() - 1)
    }

    /// Adds a tensor that the caller provides.
    pub fn input(&mut self, tensor: Tensor) -> TensorId {
        let id = self.tensor(tensor);
        self.inputs.push(id);
        id
    }

    /// Adds an op with one new output and no attributes; returns the output.
    pub fn op(
        &mut self,
        name: impl Into<String>,
        kind: &str,
        inputs: &[TensorId],
        output: Tensor,
    ) -> TensorId {
        let output = self.tensor(output);
        self.push_op(Op {
            name: name.into(),
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: vec![output],
            attributes: Attributes::new(),
            extra: Map::new(),
        });
        output
    }

    /// Adds an op as it is.
    pub fn push_op(&mut self, op: Op) -> OpId {
        self.ops.push(op);
        OpId::from_index(self.ops.len() - 1)
    }

    /// Declares an existing tensor to be provided by the caller.
    pub fn mark_input(&mut self, id: TensorId) {
        self.inputs.push(id);
    }

    /// Declares an existing tensor to be wanted by the caller.
    pub fn output(&mut self, id: TensorId) {
        self.outputs.push(id);
    }

    /// Says what is not known of the graph.
    pub fn unknown(&mut self, unknown: Unknown) {
        self.unknown.push(unknown);
    }

    /// Keeps fields of the source that we do not know.
    pub fn extra(&mut self, extra: Map<String, Value>) {
        self.extra = extra;
    }

    /// A tensor added before, to look at its shape.
    ///
    /// # Panics
    /// If `id` was not returned by this builder.
    pub fn get(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// Checks everything and makes the graph.
    ///
    /// # Errors
    /// See [`GraphError`]: each names the place.
    pub fn build(self) -> Result<Graph, GraphError> {
        if self.ops.is_empty() {
            return Err(GraphError::Empty);
        }
        self.build_body()
    }

    /// As [`build`](Self::build), but a graph without ops is allowed: the body of a control-flow op may just pass on
    /// what it is given.
    ///
    /// # Errors
    /// See [`GraphError`]: each names the place.
    pub fn build_body(self) -> Result<Graph, GraphError> {
        self.check_sizes()?;
        self.check_ids()?;
        let producers = self.producers()?;
        self.check_every_use_has_a_source(&producers)?;
        let mut consumers = vec![Vec::new(); self.tensors.len()];
        for (index, op) in self.ops.iter().enumerate() {
            let id = OpId::from_index(index);
            for input in &op.inputs {
                let readers: &mut Vec<OpId> = &mut consumers[input.index()];
                if readers.last() != Some(&id) {
                    readers.push(id);
                }
            }
        }
        let mut graph = Graph {
            is_input: marked(self.tensors.len(), &self.inputs),
            is_output: marked(self.tensors.len(), &self.outputs),
            name: self.name,
            tensors: self.tensors,
            ops: self.ops,
            inputs: self.inputs,
            outputs: self.outputs,
            unknown: self.unknown,
            extra: self.extra,
            producers,
            consumers,
            file_order: Vec::new(),
        };
        let order = lowest_index_first(&graph);
        if order.len() < graph.ops.len() {
            return Err(GraphError::Cycle { path: find_cycle(&graph, &order) });
        }
        graph.file_order = order;
        Ok(graph)
    }

    fn check_sizes(&self) -> Result<(), GraphError> {
        for (what, count) in [("tensors", self.tensors.len()), ("operators", self.ops.len())] {
            if count > MOST {
                return Err(GraphError::TooLarge { what, count });
            }
        }
        let mut sum = 0_u64;
        for (index, tensor) in self.tensors.iter().enumerate() {
            // Runtimes round sizes up, to 64 bytes at most, and a byte may hold but half an element.
            let rounded = tensor.bytes.checked_mul(2).and_then(|bytes| bytes.checked_next_multiple_of(64));
            sum = rounded.and_then(|bytes| sum.checked_add(bytes)).filter(|&s| s <= LARGEST_SUM).ok_or_else(
                || GraphError::SizeOverflow { tensor: self.tensor_label(index), bytes: tensor.bytes },
            )?;
        }
        Ok(())
    }

    fn check_ids(&self) -> Result<(), GraphError> {
        let check = |id: TensorId, place: &dyn Fn() -> String| {
            if id.index() < self.tensors.len() {
                return Ok(());
            }
            Err(GraphError::UnknownTensor {
                place: place(),
                id: u64::from(id.0),
                tensors: self.tensors.len(),
            })
        };
        for (index, op) in self.ops.iter().enumerate() {
            for &id in &op.inputs {
                check(id, &|| format!("an input of {}", self.op_label(index)))?;
            }
            for &id in &op.outputs {
                check(id, &|| format!("an output of {}", self.op_label(index)))?;
            }
        }
        for &id in &self.inputs {
            check(id, &|| "the graph's input list".to_owned())?;
        }
        for &id in &self.outputs {
            check(id, &|| "the graph's output list".to_owned())?;
        }
        Ok(())
    }

    fn producers(&self) -> Result<Vec<Option<OpId>>, GraphError> {
        let mut producers: Vec<Option<OpId>> = vec![None; self.tensors.len()];
        let is_input = marked(self.tensors.len(), &self.inputs);
        for (index, op) in self.ops.iter().enumerate() {
            for &id in &op.outputs {
                let first = match producers[id.index()] {
                    Some(first) if first.index() == index => {
                        return Err(GraphError::RepeatedOutput {
                            tensor: self.tensor_label(id.index()),
                            op: self.op_label(index),
                        });
                    }
                    Some(first) => self.op_label(first.index()),
                    None if is_input[id.index()] => "the caller (it is a graph input)".to_owned(),
                    None => {
                        producers[id.index()] = Some(OpId::from_index(index));
                        continue;
                    }
                };
                return Err(GraphError::TwoProducers {
                    tensor: self.tensor_label(id.index()),
                    first,
                    second: self.op_label(index),
                });
            }
        }
        Ok(producers)
    }

    fn check_every_use_has_a_source(&self, producers: &[Option<OpId>]) -> Result<(), GraphError> {
        let mut has_source: Vec<bool> = producers.iter().map(Option::is_some).collect();
        for &id in &self.inputs {
            has_source[id.index()] = true;
        }
        let check = |id: TensorId, used: &dyn Fn() -> String| {
            if has_source[id.index()] {
                return Ok(());
            }
            Err(GraphError::NoProducer { tensor: self.tensor_label(id.index()), used: used() })
        };
        for (index, op) in self.ops.iter().enumerate() {
            for &id in &op.inputs {
                check(id, &|| format!("read by {}", self.op_label(index)))?;
            }
        }
        for &id in &self.outputs {
            check(id, &|| "a graph output".to_owned())?;
        }
        Ok(())
    }

    /// As the error messages call an op: by its position, which is always unique, and its name, if it has one.
    fn op_label(&self, index: usize) -> String {
        match self.ops[index].name.as_str() {
            "" => format!("op {index}"),
            name => format!("op {index} (`{name}`)"),
        }
    }

    fn tensor_label(&self, index: usize) -> String {
        match self.tensors[index].name.as_str() {
            "" => index.to_string(),
            name => name.to_owned(),
        }
    }
}

/// For each of so many tensors, whether it is in `list`.
fn marked(tensors: usize, list: &[TensorId]) -> Vec<bool> {
    let mut marks = vec![false; tensors];
    for id in list {
        marks[id.index()] = true;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> (GraphBuilder, TensorId, TensorId) {
        let mut b = GraphBuilder::new("chain");
        let x = b.input(Tensor::sized("x", 8));
        let y = b.op("f", "RELU", &[x], Tensor::sized("y", 8));
        (b, x, y)
    }

    fn raw_op(name: &str, inputs: &[TensorId], outputs: &[TensorId]) -> Op {
        Op {
            name: name.into(),
            kind: OpKind::new("X"),
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            attributes: Attributes::new(),
            extra: Map::new(),
        }
    }

    #[test]
    fn the_empty_graph_is_refused() {
        assert_eq!(GraphBuilder::new("").build(), Err(GraphError::Empty));
    }

    #[test]
    fn a_body_may_just_pass_on_what_it_is_given() {
        let mut b = GraphBuilder::new("");
        let x = b.input(Tensor::sized("x", 8));
        b.output(x);
        let graph = b.build_body().unwrap();
        assert_eq!(graph.file_order(), []);
        let profile = crate::Lifetimes::of(&graph).profile(&[]);
        assert!(profile.peak() <= 8);
    }

    #[test]
    fn a_dangling_id_names_its_place() {
        let (mut b, x, _) = chain();
        b.push_op(raw_op("g", &[x, TensorId(9)], &[]));
        let message = b.build().unwrap_err().to_string();
        assert!(message.contains("an input of op 1 (`g`) names tensor 9"), "{message}");
    }

    #[test]
    fn two_producers_are_refused_also_if_one_is_the_caller() {
        let (mut b, _, y) = chain();
        b.push_op(raw_op("g", &[], &[y]));
        assert!(matches!(b.build(), Err(GraphError::TwoProducers { .. })));
        let (mut b, x, _) = chain();
        b.push_op(raw_op("g", &[], &[x]));
        assert!(b.build().unwrap_err().to_string().contains("the caller (it is a graph input)"));
    }

    #[test]
    fn an_output_listed_twice_is_no_second_producer() {
        let (mut b, _, _) = chain();
        let z = b.tensor(Tensor::sized("z", 1));
        b.push_op(raw_op("g", &[], &[z, z]));
        assert_eq!(
            b.build().unwrap_err().to_string(),
            "op 1 (`g`) lists tensor `z` twice among its outputs; list it once"
        );
    }

    #[test]
    fn a_graph_without_tensors_says_so() {
        let mut b = GraphBuilder::new("");
        b.push_op(raw_op("f", &[TensorId(0)], &[]));
        assert_eq!(
            b.build().unwrap_err().to_string(),
            "an input of op 0 (`f`) names tensor 0, but the graph has no tensors"
        );
    }

    #[test]
    fn a_tensor_from_nowhere_is_refused() {
        let (mut b, _, _) = chain();
        let z = b.tensor(Tensor::sized("z", 1));
        b.output(z);
        assert!(b.build().unwrap_err().to_string().contains("`z` is a graph output but no operator"));
    }

    #[test]
    fn a_cycle_is_spelled_out() {
        let (mut b, _, y) = chain();
        let p = b.tensor(Tensor::sized("p", 1));
        let q = b.tensor(Tensor::sized("q", 1));
        b.push_op(raw_op("a", &[y, q], &[p]));
        b.push_op(raw_op("b", &[p], &[q]));
        b.push_op(raw_op("after", &[q], &[]));
        assert_eq!(b.build(), Err(GraphError::Cycle { path: vec!["a".into(), "b".into(), "a".into()] }));
        let (mut b, _, _) = chain();
        let p = b.tensor(Tensor::sized("p", 1));
        b.push_op(raw_op("self", &[p], &[p]));
        assert_eq!(b.build().unwrap_err().to_string(), "the operators form a cycle: self -> self");
    }

    #[test]
    fn a_long_cycle_is_cut_short() {
        let mut b = GraphBuilder::new("");
        let tensors: Vec<TensorId> = (0..100).map(|_| b.tensor(Tensor::sized("", 1))).collect();
        for i in 0..100 {
            b.push_op(raw_op(&format!("op{i}"), &[tensors[i]], &[tensors[(i + 1) % 100]]));
        }
        assert_eq!(
            b.build().unwrap_err().to_string(),
            "the operators form a cycle: op0 -> op1 -> op2 -> op3 -> op4 -> op5 -> op6 -> op7 -> … (100 ops) -> op0"
        );
    }

    #[test]
    fn ops_without_a_name_are_called_by_type_and_position() {
        let mut b = GraphBuilder::new("");
        for kind in ["", "RELU"] {
            b.push_op(Op { kind: OpKind::new(kind), ..raw_op("", &[], &[]) });
        }
        let graph = b.build().unwrap();
        assert_eq!([graph.op_label(OpId(0)), graph.op_label(OpId(1))], ["op#0", "RELU#1"]);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let (mut b, _, _) = chain();
        b.tensor(Tensor::sized("huge", i64::MAX as u64 - 8));
        assert!(matches!(b.build(), Err(GraphError::SizeOverflow { .. })));
        // Up to the limit that the message states, and not one byte more.
        let of = |sizes: &[u64]| {
            let mut b = GraphBuilder::new("");
            let tensors: Vec<TensorId> =
                sizes.iter().map(|&bytes| b.tensor(Tensor::sized("x", bytes))).collect();
            b.push_op(Op { outputs: tensors, ..raw_op("op", &[], &[]) });
            b.build()
        };
        for sizes in [&[1 << 61][..], &[1 << 60, 1 << 60], &[(1 << 61) - 64, 33], &[(1 << 61) - 31]] {
            assert!(of(sizes).is_ok(), "{sizes:?}");
        }
        for sizes in [&[(1 << 61) + 1][..], &[1 << 61, 1], &[(1 << 61) - 32, 33], &[u64::MAX]] {
            let error = of(sizes).unwrap_err().to_string();
            assert!(error.contains("add up to more than 2^61 bytes"), "{sizes:?}: {error}");
        }
    }

    #[test]
    fn a_file_that_lists_readers_first_gets_the_closest_order_that_runs() {
        let mut b = GraphBuilder::new("");
        let p = b.tensor(Tensor::sized("p", 1));
        let q = b.tensor(Tensor::sized("q", 1));
        b.push_op(raw_op("reads p", &[p], &[q]));
        b.push_op(raw_op("writes p", &[], &[p]));
        let graph = b.build().unwrap();
        assert_eq!(graph.file_order(), [OpId(1), OpId(0)]);
    }
}
