//! From the ops of the zoo to ops that runtimes have.

use super::draft::{Draft, Values};
use crate::ZooError;
use crate::net::Window;
use serde_json::{Value, json};
use serenity_ir::{Attributes, Graph, Op, Operand, TensorId};

/// The network of basic ops that computes what `source` computes, with random weights.
pub(super) fn lower(source: &Graph) -> Result<Draft, ZooError> {
    let mut lowering =
        Lowering { source, draft: Draft::new(source.name()), place: vec![None; source.tensors().len()] };
    for &input in source.inputs() {
        let shape = lowering.shape(input)?;
        let tensor = lowering.draft.tensor(&source.tensor(input).name, &shape);
        lowering.draft.inputs.push(tensor);
        lowering.place[input.index()] = Some(tensor);
    }
    for op in source.ops() {
        lowering.add(op)?;
    }
    for &output in source.outputs() {
        lowering.draft.outputs.extend(lowering.place[output.index()]);
    }
    Ok(lowering.draft)
}

struct Lowering<'a> {
    source: &'a Graph,
    draft: Draft,
    /// By tensor of the source: the tensor of the draft that holds the same.
    place: Vec<Option<TensorId>>,
}

impl Lowering<'_> {
    fn add(&mut self, op: &Op) -> Result<(), ZooError> {
        let abstract_op = || self.no_model(&op.name, "computes nothing in particular");
        let terms: Option<Vec<TensorId>> = op.inputs.iter().map(|t| self.place[t.index()]).collect();
        let (Some(terms), [output]) = (terms, &op.outputs[..]) else { return Err(abstract_op()) };
        let Some(&x) = terms.first() else { return Err(abstract_op()) };
        let shape = self.shape(*output)?;
        let made = match op.kind.as_str() {
            "CONV_2D" => {
                let x = self.activated(op, x);
                self.convolution(&op.name, x, &shape, Convolution::full(op))
            }
            "DEPTHWISE_CONV_2D" => {
                let x = self.activated(op, x);
                self.convolution(&op.name, x, &shape, Convolution::depthwise(op))
            }
            "SEPARABLE_CONV_2D" => self.separable(op, &terms, &shape),
            "ADD" | "ADD_N" => self.weighted_sum(op, &op.name, &terms, activation(op)),
            "CONCATENATION" => self.copy("CONCATENATION", op, terms, &shape),
            "AVERAGE_POOL_2D" => self.copy("AVERAGE_POOL_2D", op, terms, &shape),
            "MAX_POOL_2D" => self.copy("MAX_POOL_2D", op, terms, &shape),
            "RELU" => self.copy("RELU", op, terms, &shape),
            "SOFTMAX" => self.copy("SOFTMAX", op, terms, &shape),
            "MEAN" => self.with_integers("MEAN", op, x, &shape, &["axis"]),
            "PAD" => self.with_integers("PAD", op, x, &shape, &["paddings"]),
            "STRIDED_SLICE" => {
                self.with_integers("STRIDED_SLICE", op, x, &shape, &["begin", "end", "strides"])
            }
            "FULLY_CONNECTED" => self.dense(op, x, &shape),
            _ => return Err(abstract_op()),
        };
        self.place[output.index()] = Some(made);
        Ok(())
    }

    fn no_model(&self, name: &str, why: &'static str) -> ZooError {
        ZooError::NoModel { network: self.source.name().to_owned(), name: name.to_owned(), why }
    }

    /// Basic ops work on tensors with elements.
    fn shape(&self, tensor: TensorId) -> Result<Vec<u64>, ZooError> {
        let tensor = self.source.tensor(tensor);
        let shape = tensor.shape.clone().filter(|shape| !shape.contains(&0));
        shape.ok_or_else(|| self.no_model(&tensor.name, "has a size, but no shape"))
    }

    fn shape_of(&self, tensor: TensorId) -> Vec<u64> {
        self.draft.tensors[tensor.index()].shape.clone()
    }

    fn channels(&self, tensor: TensorId) -> u64 {
        self.draft.tensors[tensor.index()].shape.last().copied().unwrap_or(1)
    }

    /// An op that is the same in both worlds.
    fn copy(&mut self, kind: &'static str, op: &Op, terms: Vec<TensorId>, shape: &[u64]) -> TensorId {
        let operands = terms.into_iter().map(Operand::Activation).collect();
        self.draft.op(&op.name, kind, operands, shape, op.attributes.clone())
    }

    /// An op that reads some of its attributes as constants.
    fn with_integers(
        &mut self,
        kind: &'static str,
        op: &Op,
        x: TensorId,
        shape: &[u64],
        names: &[&str],
    ) -> TensorId {
        let mut operands = vec![Operand::Activation(x)];
        for name in names {
            let (shape, values) = integers(op.attributes.get(*name));
            let name = format!("{}.{name}", op.name);
            operands.push(self.draft.constant(name, shape, Values::Integer(values)));
        }
        self.draft.op(&op.name, kind, operands, shape, op.attributes.clone())
    }

    /// What a convolution applies to its input is an op of its own.
    fn activated(&mut self, op: &Op, x: TensorId) -> TensorId {
        if op.attributes.get("input_activation").is_none() {
            return x;
        }
        let shape = self.shape_of(x);
        self.draft.op(
            &format!("{}.relu", op.name),
            "RELU",
            vec![Operand::Activation(x)],
            &shape,
            Attributes::new(),
        )
    }

    /// The sum, if there are several inputs, the `ReLU`, the depthwise and the pointwise part.
    fn separable(&mut self, op: &Op, terms: &[TensorId], shape: &[u64]) -> TensorId {
        let x = if let [only] = terms {
            self.activated(op, *only)
        } else {
            let first = op.attributes.get("input_activation").and_then(Value::as_str).unwrap_or("none");
            self.weighted_sum(op, &format!("{}.sum", op.name), terms, first)
        };
        let mut inner = shape.to_vec();
        if let Some(channels) = inner.last_mut() {
            *channels = self.channels(x);
        }
        let depthwise = Convolution { bias: false, activation: "none", ..Convolution::depthwise(op) };
        let x = self.convolution(&format!("{}.dw", op.name), x, &inner, depthwise);
        let pointwise = Convolution { window: Window::square(1), ..Convolution::full(op) };
        self.convolution(&op.name, x, shape, pointwise)
    }

    fn convolution(&mut self, name: &str, x: TensorId, shape: &[u64], conv: Convolution) -> TensorId {
        let [height, width] = conv.window.kernel;
        let (channels, filters) = (self.channels(x), shape.last().copied().unwrap_or(1));
        let mut attributes = Attributes::new();
        conv.window.describe(&mut attributes);
        attributes.insert("dilation".to_owned(), json!(conv.window.dilation));
        attributes.insert("activation".to_owned(), json!(conv.activation));
        attributes.insert("bias".to_owned(), json!(conv.bias));
        let (kind, kernel_shape, fan_in) = if conv.is_depthwise {
            attributes.insert("multiplier".to_owned(), json!(1));
            ("DEPTHWISE_CONV_2D", vec![1, height, width, filters], height * width)
        } else {
            ("CONV_2D", vec![filters, height, width, channels], height * width * channels)
        };
        let kernel = self.random(format!("{name}.kernel"), kernel_shape, fan_in);
        let bias = self.zeros(format!("{name}.bias"), filters);
        self.draft.op(name, kind, vec![Operand::Activation(x), kernel, bias], shape, attributes)
    }

    fn dense(&mut self, op: &Op, x: TensorId, shape: &[u64]) -> TensorId {
        let (inputs, outputs) = (self.channels(x), shape.last().copied().unwrap_or(1));
        let kernel = self.random(format!("{}.kernel", op.name), vec![outputs, inputs], inputs);
        let bias = self.zeros(format!("{}.bias", op.name), outputs);
        let operands = vec![Operand::Activation(x), kernel, bias];
        self.draft.op(&op.name, "FULLY_CONNECTED", operands, shape, op.attributes.clone())
    }

    /// A chain of additions of two, which is what all runtimes have for integers too; a factor is a multiplication by a
    /// constant, right before the term is needed.
    fn weighted_sum(&mut self, op: &Op, name: &str, terms: &[TensorId], activation: &str) -> TensorId {
        let weights = op.attributes.get("input_weights").and_then(Value::as_array);
        let weights = weights.map_or(&[][..], Vec::as_slice);
        // An average: one multiplication at the end does for all.
        if let Some((share, rest)) = weights.split_first()
            && share.is_number()
            && !is_one(share)
            && rest.iter().all(|other| other == share)
        {
            let sum = self.sum(&format!("{name}.sum"), terms, &[], "none");
            return self.scaled(name, sum, share, activation);
        }
        self.sum(name, terms, weights, activation)
    }

    fn sum(&mut self, name: &str, terms: &[TensorId], weights: &[Value], activation: &str) -> TensorId {
        let mut total = None;
        for (index, &term) in terms.iter().enumerate() {
            let term = match weights.get(index) {
                Some(weight) if !is_one(weight) => {
                    self.scaled(&format!("{name}.x{index}"), term, weight, "none")
                }
                _ => term,
            };
            total = Some(match total {
                None => term,
                Some(total) if index + 1 == terms.len() => self.add_two(name, total, term, activation),
                Some(total) => self.add_two(&format!("{name}.add{index}"), total, term, "none"),
            });
        }
        total.unwrap_or(terms[0])
    }

    fn add_two(&mut self, name: &str, a: TensorId, b: TensorId, activation: &str) -> TensorId {
        let operands = vec![Operand::Activation(a), Operand::Activation(b)];
        let shape = self.shape_of(a);
        self.draft.op(name, "ADD", operands, &shape, activated_by(activation))
    }

    /// A learned factor is what `RandWire` makes of its parameters: between 0 and 1.
    fn scaled(&mut self, name: &str, x: TensorId, weight: &Value, activation: &str) -> TensorId {
        let factor = weight
            .as_f64()
            .unwrap_or_else(|| 0.25 + 0.75 * self.draft.rng(self.draft.constants.len() as u64).unit());
        let values = Values::Real(vec![factor as f32]);
        let factor = self.draft.constant(format!("{name}.factor"), vec![1], values);
        let shape = self.shape_of(x);
        self.draft.op(name, "MUL", vec![Operand::Activation(x), factor], &shape, activated_by(activation))
    }

    /// Uniform, with the variance of He et al., "Delving Deep into Rectifiers", ICCV 2015.
    fn random(&mut self, name: String, shape: Vec<u64>, fan_in: u64) -> Operand {
        let limit = (6.0 / fan_in.max(1) as f64).sqrt();
        let mut rng = self.draft.rng(self.draft.constants.len() as u64);
        let count = shape.iter().product::<u64>();
        let values = (0..count).map(|_| (limit * (2.0 * rng.unit() - 1.0)) as f32).collect();
        self.draft.constant(name, shape, Values::Real(values))
    }

    fn zeros(&mut self, name: String, count: u64) -> Operand {
        self.draft.constant(name, vec![count], Values::Real(vec![0.0; count as usize]))
    }
}

/// A convolution but for its sizes.
#[derive(Clone, Copy)]
struct Convolution<'a> {
    window: Window,
    activation: &'a str,
    bias: bool,
    is_depthwise: bool,
}

impl<'a> Convolution<'a> {
    fn full(op: &'a Op) -> Self {
        Self {
            window: Window::of_attributes(&op.attributes),
            activation: activation(op),
            bias: op.attributes.get("bias") == Some(&Value::Bool(true)),
            is_depthwise: false,
        }
    }

    fn depthwise(op: &'a Op) -> Self {
        Self { is_depthwise: true, ..Self::full(op) }
    }
}

fn is_one(weight: &Value) -> bool {
    weight.as_f64().is_some_and(|weight| (weight - 1.0).abs() < f64::EPSILON)
}

fn activation(op: &Op) -> &str {
    op.attributes.get("activation").and_then(Value::as_str).unwrap_or("none")
}

fn activated_by(activation: &str) -> Attributes {
    Attributes::from_iter([("activation".to_owned(), json!(activation))])
}

/// A list of integers, or a list of lists of one length, as a constant.
fn integers(value: Option<&Value>) -> (Vec<u64>, Vec<i32>) {
    let rows = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let integer = |value: &Value| value.as_i64().map(|value| value as i32);
    let flat: Vec<i32> = rows
        .iter()
        .flat_map(|row| row.as_array().map_or_else(|| std::slice::from_ref(row), Vec::as_slice))
        .filter_map(integer)
        .collect();
    let shape = match rows.first().and_then(Value::as_array) {
        Some(row) => vec![rows.len() as u64, row.len() as u64],
        None => vec![rows.len() as u64],
    };
    (shape, flat)
}
