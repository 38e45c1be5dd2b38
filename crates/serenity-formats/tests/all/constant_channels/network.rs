//! Random small networks of which some channels are constant, and some read by nobody.

use serde_json::{Value, json};
use serenity_formats::{Format, ModelFile, ReadOptions};
use serenity_ir::{
    Attributes, Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization,
};
use serenity_ir::{Tensor, TensorId};
use std::sync::Arc;

/// Numbers that look drawn.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A network in the making.
pub(super) struct Net {
    draw: Draw,
    is_float: bool,
    builder: GraphBuilder,
    operands: Vec<Vec<Operand>>,
    constants: Vec<Constant>,
    /// By tensor.
    shapes: Vec<[u64; 4]>,
    quantizations: Vec<Option<Quantization>>,
}

impl Net {
    pub(super) fn new(seed: u64, is_float: bool) -> Self {
        let builder = GraphBuilder::new("net");
        let (operands, constants) = (Vec::new(), Vec::new());
        let (shapes, quantizations) = (Vec::new(), Vec::new());
        Self { draw: Draw::new(seed), is_float, builder, operands, constants, shapes, quantizations }
    }

    fn described(&mut self, shape: [u64; 4], like: Option<TensorId>) -> Tensor {
        let name = format!("t{}", self.shapes.len());
        self.shapes.push(shape);
        let dtype = if self.is_float { ElementType::Float32 } else { ElementType::Int8 };
        let mut tensor = Tensor::shaped(name, shape.to_vec(), dtype).unwrap();
        if !self.is_float {
            let zero_points = vec![[-128, -128, -5, 3, 127][self.draw.below(5) as usize]];
            let scales = vec![0.02 + self.draw.below(40) as f32 / 1000.0];
            tensor.quantization = Some(Quantization { scales, zero_points, axis: 0 });
        }
        if let Some(like) = like {
            tensor.quantization.clone_from(&self.quantizations[like.index()]);
        }
        self.quantizations.push(tensor.quantization.clone());
        tensor
    }

    pub(super) fn input(&mut self, channels: u64) -> TensorId {
        let tensor = self.described([1, 6, 6, channels], None);
        self.builder.input(tensor)
    }

    fn constant(
        &mut self,
        shape: &[u64],
        dtype: ElementType,
        scales: Vec<f32>,
        axis: u32,
        data: Vec<u8>,
    ) -> Operand {
        let zero_points = vec![0; scales.len()];
        let quantization = (!scales.is_empty()).then_some(Quantization { scales, zero_points, axis });
        let name = format!("c{}", self.constants.len());
        self.constants.push(Constant { name, shape: shape.to_vec(), dtype, quantization, data });
        Operand::Constant(self.constants.len() - 1)
    }

    fn op(
        &mut self,
        kind: &str,
        attributes: &Value,
        operands: Vec<Operand>,
        shape: [u64; 4],
        like: Option<TensorId>,
    ) -> TensorId {
        let tensor = self.described(shape, like);
        let name = tensor.name.clone();
        let output = self.builder.tensor(tensor);
        let activations = operands.iter().filter_map(|operand| match operand {
            Operand::Activation(tensor) => Some(*tensor),
            Operand::Constant(_) => None,
        });
        self.builder.push_op(Op {
            name,
            kind: OpKind::new(kind),
            inputs: activations.collect(),
            outputs: vec![output],
            attributes: attributes.as_object().unwrap().clone(),
            extra: Attributes::new(),
        });
        self.operands.push(operands);
        output
    }

    pub(super) fn shape(&self, tensor: TensorId) -> [u64; 4] {
        self.shapes[tensor.index()]
    }

    /// Weights of so many results, each of so many terms, of which some are zero as a whole; and channels of which no
    /// result reads anything.
    fn weights(&mut self, results: u64, terms: u64, inputs: u64) -> (Vec<i8>, Vec<i32>) {
        let unread: Vec<bool> = (0..inputs).map(|_| self.draw.once_in(8)).collect();
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for _ in 0..results {
            let is_dead = self.draw.once_in(4);
            for term in 0..terms {
                let is_zero = is_dead || unread[(term % inputs) as usize];
                let weight = self.draw.below(255) as i64 - 127;
                weights.push(if is_zero { 0 } else { weight as i8 });
            }
            // As converters leave them where a batch normalisation has nothing to divide by.
            bias.push(match self.draw.below(6) {
                0 if is_dead => 1 << 30,
                1 if is_dead => -(1 << 30),
                2 => 0,
                _ => self.draw.below(4000) as i32 - 2000,
            });
        }
        (weights, bias)
    }

    /// The weights and the bias as operands; `axis` has the channels of the result.
    fn weighed(&mut self, shape: &[u64], axis: u32, results: u64, inputs: u64) -> [Operand; 2] {
        let terms = shape.iter().product::<u64>() / results;
        let (by_result, bias) = self.weights(results, terms, inputs);
        let weights: Vec<i8> = if axis == 0 {
            by_result
        } else {
            let at = |index: u64| by_result[(index % results * terms + index / results) as usize];
            (0..terms * results).map(at).collect()
        };
        if self.is_float {
            let reals = weights.iter().flat_map(|&weight| (f32::from(weight) / 64.0).to_le_bytes()).collect();
            let biases = bias.iter().map(|&bias| (bias % 4096) as f32 / 1024.0 + 0.0);
            let biases = biases.flat_map(f32::to_le_bytes).collect();
            let weights = self.constant(shape, ElementType::Float32, Vec::new(), 0, reals);
            return [weights, self.constant(&[results], ElementType::Float32, Vec::new(), 0, biases)];
        }
        let scales: Vec<f32> = (0..results).map(|_| 0.001 + self.draw.below(90) as f32 / 1e4).collect();
        let data = weights.iter().map(|&weight| weight as u8).collect();
        let weights = self.constant(shape, ElementType::Int8, scales.clone(), axis, data);
        let biases = bias.iter().flat_map(|bias| bias.to_le_bytes()).collect();
        [weights, self.constant(&[results], ElementType::Int32, scales, 0, biases)]
    }

    fn window(&mut self, [_, height, width, _]: [u64; 4]) -> (u64, u64, Value, [u64; 2]) {
        let kernel = if height < 3 || width < 3 || self.draw.once_in(2) { 1 } else { 3 };
        let stride = 1 + self.draw.below(2);
        let is_same = self.draw.once_in(2);
        let out = |size: u64| if is_same { size.div_ceil(stride) } else { (size - kernel) / stride + 1 };
        let activation = ["none", "relu", "relu6"][self.draw.below(3) as usize];
        let padding = if is_same { "same" } else { "valid" };
        let attributes = json!({
            "stride": [stride, stride], "dilation": [1, 1], "kernel": [kernel, kernel], "padding": padding, "activation": activation,
        });
        (kernel, stride, attributes, [out(height), out(width)])
    }

    pub(super) fn convolution(&mut self, input: TensorId, results: u64) -> TensorId {
        let from = self.shape(input);
        let (kernel, _, attributes, [height, width]) = self.window(from);
        let [weights, bias] = self.weighed(&[results, kernel, kernel, from[3]], 0, results, from[3]);
        let operands = vec![Operand::Activation(input), weights, bias];
        self.op("CONV_2D", &attributes, operands, [1, height, width, results], None)
    }

    pub(super) fn depthwise(&mut self, input: TensorId) -> TensorId {
        let from = self.shape(input);
        let multiplier = if from[3] < 8 { 1 + self.draw.below(2) } else { 1 };
        let results = multiplier * from[3];
        let (kernel, _, mut attributes, [height, width]) = self.window(from);
        attributes["multiplier"] = multiplier.into();
        let [weights, bias] = self.weighed(&[1, kernel, kernel, results], 3, results, kernel * kernel);
        let operands = vec![Operand::Activation(input), weights, bias];
        self.op("DEPTHWISE_CONV_2D", &attributes, operands, [1, height, width, results], None)
    }

    fn pool(&mut self, input: TensorId) -> TensorId {
        let from = self.shape(input);
        let (.., attributes, [height, width]) = self.window(from);
        let kind = if self.draw.once_in(2) { "AVERAGE_POOL_2D" } else { "MAX_POOL_2D" };
        self.op(kind, &attributes, vec![Operand::Activation(input)], [1, height, width, from[3]], Some(input))
    }

    /// Two convolutions of one tensor that come together again.
    fn branches(&mut self, input: TensorId) -> TensorId {
        let from = self.shape(input);
        let results = 3 + self.draw.below(4);
        let plain = json!({"stride": [1, 1], "dilation": [1, 1], "kernel": [1, 1], "padding": "same", "activation": "relu"});
        let is_sum = self.draw.once_in(2);
        let mut branches = Vec::new();
        for _ in 0..2 {
            let like = branches.first().copied().filter(|_| !is_sum);
            let [weights, bias] = self.weighed(&[results, 1, 1, from[3]], 0, results, from[3]);
            let operands = vec![Operand::Activation(input), weights, bias];
            let shape = [1, from[1], from[2], results];
            branches.push(self.op("CONV_2D", &plain, operands, shape, like));
        }
        let operands = branches.iter().map(|&branch| Operand::Activation(branch)).collect();
        let shape = [1, from[1], from[2], if is_sum { results } else { 2 * results }];
        if is_sum {
            self.op("ADD", &json!({"activation": "relu"}), operands, shape, None)
        } else {
            let like = branches.first().copied();
            self.op("CONCATENATION", &json!({"axis": 3, "activation": "none"}), operands, shape, like)
        }
    }

    fn pad(&mut self, input: TensorId) -> TensorId {
        let [_, height, width, channels] = self.shape(input);
        let data = [0, 0, 1, 1, 0, 1, 0, 0_i32].iter().flat_map(|pad| pad.to_le_bytes()).collect();
        let pads = self.constant(&[4, 2], ElementType::Int32, Vec::new(), 0, data);
        let attributes = json!({"paddings": [[0, 0], [1, 1], [0, 1], [0, 0]]});
        let shape = [1, height + 2, width + 1, channels];
        self.op("PAD", &attributes, vec![Operand::Activation(input), pads], shape, Some(input))
    }

    /// All pixels side by side.
    fn flattened(&mut self, input: TensorId) -> TensorId {
        let all: u64 = self.shape(input).iter().product();
        let data = [1, 1, 1, all as i32].iter().flat_map(|size| size.to_le_bytes()).collect();
        let shape = self.constant(&[4], ElementType::Int32, Vec::new(), 0, data);
        let attributes = json!({"new_shape": [1, 1, 1, all]});
        self.op("RESHAPE", &attributes, vec![Operand::Activation(input), shape], [1, 1, 1, all], Some(input))
    }

    /// A random network of a few layers.
    pub(super) fn random(mut self) -> Arc<dyn ModelFile> {
        let channels = 2 + self.draw.below(3);
        let mut tensor = self.input(channels);
        let results = 4 + self.draw.below(5);
        tensor = self.convolution(tensor, results);
        for _ in 0..2 + self.draw.below(4) {
            tensor = match self.draw.below(6) {
                0 | 1 => self.depthwise(tensor),
                2 => self.pool(tensor),
                3 => self.branches(tensor),
                4 => self.pad(tensor),
                _ => {
                    let results = 3 + self.draw.below(6);
                    self.convolution(tensor, results)
                }
            };
        }
        if self.draw.once_in(2) {
            tensor = self.flattened(tensor);
        }
        let output = self.convolution(tensor, 3);
        self.file(output)
    }

    pub(super) fn file(mut self, output: TensorId) -> Arc<dyn ModelFile> {
        self.builder.output(output);
        let model = Model::new(self.builder.build().unwrap(), self.operands, self.constants).unwrap();
        let bytes = Format::TfLite.create(&model).unwrap();
        Format::TfLite.read(bytes, &ReadOptions::default()).unwrap()
    }
}
