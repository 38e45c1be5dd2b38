//! Graphs with a place for each tensor, and where their ops come from.

use crate::loops::{LoopFault, Model, Plan, equivalence_faults, replay_loops, replay_model};
use serde_json::{Map, Value, json};
use serenity_facts::Kernels;
use serenity_ir::{ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Quantization, Tensor, TensorId};

/// What stands for 0 in all activations.
pub(super) const ZERO: i64 = -3;

/// A graph in the making.
#[derive(Default)]
pub(super) struct Net {
    builder: GraphBuilder,
    places: Vec<Option<u64>>,
    origins: Vec<Option<OpId>>,
}

/// A whole model with its plan.
pub(super) struct Made {
    pub(super) graphs: Vec<Graph>,
    pub(super) origins: Vec<Vec<Option<OpId>>>,
    pub(super) places: Vec<Vec<Option<u64>>>,
}

impl Net {
    /// Bytes of the usual type and quantisation.
    pub(super) fn tensor(&mut self, name: &str, shape: &[u64], place: u64) -> TensorId {
        let quantization = Quantization { scales: vec![0.5], zero_points: vec![ZERO], axis: 0 };
        let tensor = Tensor::shaped(name, shape.to_vec(), ElementType::Int8).unwrap();
        self.add(Tensor { quantization: Some(quantization), ..tensor }, place)
    }

    /// Whole numbers of 32 bits.
    pub(super) fn numbers(&mut self, name: &str, count: u64, place: u64) -> TensorId {
        self.add(Tensor::shaped(name, vec![count], ElementType::Int32).unwrap(), place)
    }

    pub(super) fn answer(&mut self, place: u64) -> TensorId {
        self.add(Tensor::shaped("answer", vec![1], ElementType::Bool).unwrap(), place)
    }

    fn add(&mut self, tensor: Tensor, place: u64) -> TensorId {
        self.places.push(Some(place));
        self.builder.tensor(tensor)
    }

    pub(super) fn inputs(&mut self, tensors: &[TensorId]) {
        for &tensor in tensors {
            self.builder.mark_input(tensor);
        }
    }

    pub(super) fn outputs(&mut self, tensors: &[TensorId]) {
        for &tensor in tensors {
            self.builder.output(tensor);
        }
    }

    /// An op of the loop itself, with these constants by position.
    pub(super) fn op(
        &mut self,
        kind: &str,
        inputs: &[TensorId],
        outputs: &[TensorId],
        constants: &[(usize, Value)],
    ) {
        self.op_with(kind, inputs, outputs, constants, json!({}), None);
    }

    pub(super) fn op_with(
        &mut self,
        kind: &str,
        inputs: &[TensorId],
        outputs: &[TensorId],
        constants: &[(usize, Value)],
        attributes: Value,
        origin: Option<u32>,
    ) {
        let Value::Object(mut attributes) = attributes else { panic!("attributes are an object") };
        let constants: Map<String, Value> =
            constants.iter().map(|(position, value)| (position.to_string(), value.clone())).collect();
        if !constants.is_empty() {
            attributes.insert("constants".to_owned(), Value::Object(constants));
        }
        self.builder.push_op(Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            attributes,
            extra: Map::new(),
        });
        self.origins.push(origin.map(OpId));
    }

    /// A convolution of 3x3, channel by channel.
    pub(super) fn depthwise(
        &mut self,
        input: TensorId,
        output: TensorId,
        padding: &str,
        origin: Option<u32>,
    ) {
        let weights = json!({"shape": [1, 3, 3, 2], "dtype": "int8"});
        let bias = json!({"shape": [2], "dtype": "int32"});
        let attributes =
            json!({"kernel": [3, 3], "stride": [1, 1], "padding": padding, "activation": "relu"});
        self.op_with(
            "DEPTHWISE_CONV_2D",
            &[input],
            &[output],
            &[(1, weights), (2, bias)],
            attributes,
            origin,
        );
    }

    pub(super) fn reshape(&mut self, input: TensorId, output: TensorId) {
        self.op("RESHAPE", &[input], &[output], &[]);
    }

    /// Some numbers of a table, from the one that `counter` says.
    pub(super) fn look_up(&mut self, table: &[i64], counter: TensorId, output: TensorId, count: i64) {
        self.op("SLICE", &[counter], &[output], &[(0, ints(table)), (2, ints(&[count]))]);
    }

    pub(super) fn build(self) -> (Graph, Vec<Option<OpId>>, Vec<Option<u64>>) {
        (self.builder.build().unwrap(), self.origins, self.places)
    }
}

pub(super) fn ints(values: &[i64]) -> Value {
    json!({"shape": [values.len()], "dtype": "int32", "values": values})
}

/// A constant of the usual type, all of one value.
pub(super) fn filled(shape: &[u64], value: i64) -> Value {
    json!({"shape": shape, "dtype": "int8", "fill": value})
}

/// `LESS`: is the counter, the first of these values, below `count`?
pub(super) fn condition(values: &[(&[u64], u64)], count: i64, answer: u64) -> Net {
    let mut net = Net::default();
    let counter = net.numbers("i", 1, 400);
    net.inputs(&[counter]);
    for (shape, place) in values {
        let value = net.tensor("", shape, *place);
        net.inputs(&[value]);
    }
    let answer = net.answer(answer);
    net.op("LESS", &[counter], &[answer], &[(1, ints(&[count]))]);
    net.outputs(&[answer]);
    net
}

impl Made {
    pub(super) fn of(nets: Vec<Net>) -> Self {
        let mut made = Self { graphs: vec![], origins: vec![], places: vec![] };
        for net in nets {
            let (graph, origins, places) = net.build();
            made.graphs.push(graph);
            made.origins.push(origins);
            made.places.push(places);
        }
        made
    }

    /// Replaces something in the text of a graph.
    pub(super) fn edit(&mut self, graph: usize, old: &str, new: &str) {
        let text = serenity_ir::json::write(&self.graphs[graph]).replace(old, new);
        self.graphs[graph] = serenity_ir::json::parse(&text).unwrap();
    }

    /// Where the tensor of this name lies.
    pub(super) fn place(&mut self, graph: usize, name: &str) -> &mut Option<u64> {
        let tensor = self.graphs[graph].tensors().iter().position(|t| t.name == name).unwrap();
        &mut self.places[graph][tensor]
    }

    /// Faults of the loops themselves, as text.
    pub(super) fn equivalence(&self, original: &Self) -> Vec<String> {
        with(original, |original| {
            with(self, |looped| texts(&equivalence_faults(original, looped, &self.origins)))
        })
    }

    /// Faults in the arena, as text.
    pub(super) fn replay(&self, original: &Self, kernels: Kernels) -> Vec<String> {
        let plan = Plan { kernels, offsets: &self.places };
        with(original, |original| {
            with(self, |looped| texts(&replay_loops(original, looped, &self.origins, &plan)))
        })
    }

    /// Faults in the arena if one tensor lies elsewhere, as text.
    pub(super) fn replay_with(
        mut self,
        original: &Self,
        graph: usize,
        name: &str,
        place: u64,
    ) -> Vec<String> {
        *self.place(graph, name) = Some(place);
        self.replay(original, Kernels::Any)
    }

    /// Faults of the plan alone, as text.
    pub(super) fn replay_plan(&self, kernels: Kernels) -> Vec<String> {
        with(self, |model| texts(&replay_model(model, &Plan { kernels, offsets: &self.places })))
    }
}

/// Looks at a model whose ops run in the order of the file.
pub(super) fn with<T>(made: &Made, look: impl Fn(&Model) -> T) -> T {
    let graphs: Vec<&Graph> = made.graphs.iter().collect();
    let orders: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
    let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    look(&Model { graphs: &graphs, orders: &orders, numbers: &|_, _, _| None })
}

/// The loops compute what the original does, and their plan is safe with every set of kernels.
pub(super) fn assert_right(original: &Made, looped: &Made) {
    assert_eq!(looped.equivalence(original), NONE);
    for (_, kernels) in Kernels::all() {
        assert_eq!(looped.replay(original, kernels), NONE);
        assert_eq!(looped.replay_plan(kernels), NONE);
    }
}

fn texts(faults: &[LoopFault]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}

pub(super) const NONE: [&str; 0] = [];
