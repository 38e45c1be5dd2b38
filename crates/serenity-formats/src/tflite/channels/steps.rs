//! What each operator does with channels: the last dimension of every tensor.

use super::constants::{Filter, bias, is_byte, numbers, scales};
use crate::tflite::operators::MAIN;
use serenity_ir::Operator::*;
use serenity_ir::{ElementType, Op, OpId};
use serenity_rewrite::constant_channels::{
    Apart, Channels, Clamp, Mix, Network, Numbers, Step, Sums, Tie, Transfer,
};
use serenity_tflite::{FileOperator, FileTensor, Model, Storage, SubGraph};

/// How far kernels may be off when they add two numbers or scale one, in steps of the result, beside what is lost when
/// the steps of the operands are larger.
const SLACK: f64 = 1.0 / 128.0;

/// A constant operand that becomes smaller when channels go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// Along some of its dimensions it has the channels of a tensor.
    Parts {
        /// Its position among the operands.
        position: usize,
        /// A dimension, and the tensor whose channels it has.
        axes: Vec<(usize, usize)>,
        /// Does it take over what channels that are gone would have added?
        is_bias: bool,
    },
    /// It is the shape of a result.
    Shape {
        /// Its position among the operands.
        position: usize,
        /// The result.
        of: usize,
    },
}

/// Reads the main graph of a model.
pub(super) struct Reader<'m> {
    model: &'m Model,
    main: &'m SubGraph,
    /// By tensor: how its numbers are stored, if that can be followed.
    numbers: Vec<Option<Numbers>>,
}

impl<'m> Reader<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let main = &model.sub_graphs()[MAIN];
        // A shape costs nothing to write, so a file could claim more channels than there is memory for. Weights for as
        // many would not fit into it.
        let mut left = model.bytes().len() as u64;
        let numbers = main.tensors().iter().map(|tensor| {
            let followed = numbers(tensor)?;
            left = left.checked_sub(tensor.shape.last().copied()?)?;
            Some(followed)
        });
        Self { model, main, numbers: numbers.collect() }
    }

    /// The network, and by operator the constants that become smaller with it.
    pub(super) fn network(&self, stop: &dyn Fn() -> bool) -> Option<(Network, Vec<Vec<Operand>>)> {
        let tensors = self.main.tensors();
        let mut network = Network::default();
        for (tensor, numbers) in tensors.iter().zip(&self.numbers) {
            // What nothing writes, and what is not followed, stays.
            let (count, numbers, is_fixed) = match (numbers, tensor.shape.last()) {
                (Some(numbers), Some(&count)) => (usize::try_from(count).unwrap_or(0), *numbers, true),
                _ => (0, Numbers::Real, true),
            };
            network.tensors.push(Channels { count, numbers, is_fixed });
        }
        let mut operands = Vec::new();
        let mut writers = vec![0; tensors.len()];
        for (number, operator) in self.main.operators().iter().enumerate() {
            if stop() {
                return None;
            }
            for &written in operator.outputs.iter().flatten() {
                writers[written] += 1;
            }
            let (step, parts) = self.step(number, operator).unwrap_or_else(|| {
                let touched = operator.inputs.iter().chain(&operator.outputs).flatten().copied();
                (Step::Opaque(touched.collect()), Vec::new())
            });
            if let Step::Mix(Mix { output, .. }) | Step::Apart(Apart { output, .. }) = &step {
                network.tensors[*output].is_fixed = false;
            }
            network.steps.push(step);
            operands.push(parts);
        }
        for (tensor, writers) in network.tensors.iter_mut().zip(&writers) {
            tensor.is_fixed |= *writers != 1;
        }
        for &port in self.main.inputs().iter().chain(self.main.outputs()) {
            network.tensors[port].is_fixed = true;
        }
        Some((network, operands))
    }

    /// What an operator does, if it can be told.
    fn step(&self, number: usize, operator: &FileOperator) -> Option<(Step, Vec<Operand>)> {
        let op = self.model.graphs()[MAIN].op(OpId(u32::try_from(number).ok()?));
        let [Some(output)] = operator.outputs.as_slice() else { return None };
        let to = self.numbers[*output]?;
        self.channels(*output)?;
        let step = match op.kind.operator() {
            CONV_2D | FULLY_CONNECTED => return self.mixing(op, operator, *output),
            DEPTHWISE_CONV_2D => return self.depthwise(op, operator, *output),
            CONCATENATION => self.concatenation(op, operator, *output)?,
            RESHAPE | SQUEEZE | EXPAND_DIMS => return self.reshaped(op, operator, *output),
            AVERAGE_POOL_2D | MAX_POOL_2D => {
                let (input, clamp) = (self.only_input(operator)?, clamp(op, to)?);
                self.alike(input, *output, Transfer::Copy { adds_zero: false, clamp })?
            }
            RESIZE_NEAREST_NEIGHBOR => self.copied(operator, *output, false)?,
            PAD | SPACE_TO_BATCH_ND | BATCH_TO_SPACE_ND => {
                let pads = op.attributes.get("paddings").and_then(|pads| pads.as_array());
                let rank = self.main.tensors()[*output].shape.len();
                // Blocks are along height and width; a pad says what it does to each dimension.
                let keeps_channels = match op.kind.operator() {
                    PAD => pads?.len() == rank && pads?.last()? == &serde_json::json!([0, 0]),
                    _ => rank == 4 && op.numbers("block_shape")?.len() == 2,
                };
                if !keeps_channels {
                    return None;
                }
                self.copied(operator, *output, true)?
            }
            RELU | RELU6 | RELU_N1_TO_1 => {
                let input = self.only_input(operator)?;
                let clamp = bounds(activation_of(op)?, to)?;
                // In another scale, TFLM's `RELU6` cuts off what is stored, while others rescale it.
                if op.kind.operator() != RELU && self.numbers[input] != self.numbers[*output] {
                    self.alike(input, *output, Transfer::Anything)?
                } else {
                    self.linear(&[(input, 1.0)], *output, clamp)?
                }
            }
            QUANTIZE | DEQUANTIZE => {
                self.linear(&[(self.only_input(operator)?, 1.0)], *output, Clamp::NONE)?
            }
            MEAN => {
                self.keeps_last_axis(op, operator)?;
                self.linear(&[(self.first(operator)?, 1.0)], *output, Clamp::NONE)?
            }
            SUM | REDUCE_MAX | REDUCE_MIN | REDUCE_PROD => {
                self.keeps_last_axis(op, operator)?;
                self.alike(self.first(operator)?, *output, Transfer::Anything)?
            }
            RESIZE_BILINEAR => self.alike(self.first(operator)?, *output, Transfer::Anything)?,
            LOGISTIC | TANH | HARD_SWISH | ABS | NEG | EXP | ELU | GELU | LEAKY_RELU | RSQRT | SQRT
            | SQUARE | LOG | SIN | COS | FLOOR | CEIL | ROUND => {
                self.alike(self.only_input(operator)?, *output, Transfer::Anything)?
            }
            ADD | SUB | MUL | DIV | MAXIMUM | MINIMUM | SQUARED_DIFFERENCE | PRELU => {
                return self.of_two(op, operator, *output);
            }
            _ => return None,
        };
        Some((step, Vec::new()))
    }

    /// How many channels a tensor has that can be followed: at least one.
    fn channels(&self, tensor: usize) -> Option<usize> {
        self.numbers.get(tensor).copied().flatten()?;
        usize::try_from(*self.main.tensors()[tensor].shape.last()?).ok().filter(|&count| count > 0)
    }

    fn first(&self, operator: &FileOperator) -> Option<usize> {
        let first = operator.inputs.first().copied()??;
        self.channels(first).map(|_| first)
    }

    fn only_input(&self, operator: &FileOperator) -> Option<usize> {
        if operator.inputs.len() == 1 { self.first(operator) } else { None }
    }

    fn tensor(&self, number: usize) -> &'m FileTensor {
        &self.main.tensors()[number]
    }

    /// Channel for channel.
    fn alike(&self, input: usize, output: usize, transfer: Transfer) -> Option<Step> {
        let is_as_wide = self.channels(input)? == self.channels(output)?;
        // Numbers that stand for something else there cannot be copied.
        let is_copied =
            !matches!(transfer, Transfer::Copy { .. }) || self.numbers[input] == self.numbers[output];
        let transfer = if is_copied { transfer } else { Transfer::Anything };
        is_as_wide.then(|| Step::Apart(Apart { inputs: vec![Tie::same(input)], output, transfer }))
    }

    fn copied(&self, operator: &FileOperator, output: usize, adds_zero: bool) -> Option<Step> {
        self.alike(self.first(operator)?, output, Transfer::Copy { adds_zero, clamp: Clamp::NONE })
    }

    /// A sum of tensors of one shape, each with its sign.
    fn linear(&self, terms: &[(usize, f64)], output: usize, clamp: Clamp) -> Option<Step> {
        let count = self.channels(output)?;
        if terms.iter().any(|&(input, _)| self.channels(input) != Some(count)) {
            return None;
        }
        let scale = |tensor: usize| match self.numbers[tensor] {
            Some(Numbers::Whole { scale, .. }) => scale,
            _ => 0.0,
        };
        let largest = terms.iter().map(|&(input, _)| scale(input)).fold(0.0, f64::max);
        let slack = match self.numbers[output]? {
            Numbers::Whole { scale, .. } => SLACK * (1.0 + largest / scale),
            Numbers::Real => 0.0,
        };
        let signs = terms.iter().map(|&(_, sign)| sign).collect();
        let inputs = terms.iter().map(|&(input, _)| Tie::same(input)).collect();
        Some(Step::Apart(Apart { inputs, output, transfer: Transfer::Sum { signs, slack, clamp } }))
    }

    fn keeps_last_axis(&self, op: &Op, operator: &FileOperator) -> Option<()> {
        let rank = self.tensor(self.first(operator)?).shape.len() as i64;
        let axes = op.numbers("axes")?;
        (!axes.is_empty() && axes.iter().all(|&axis| (0..rank - 1).contains(&axis))).then_some(())
    }

    /// Weights and bias, if they are constants and their numbers go with those of the tensors.
    fn sums(
        &self,
        op: &Op,
        operator: &FileOperator,
        output: usize,
        axis: u32,
    ) -> Option<(Filter<'m>, Sums, bool)> {
        let (input, filter) = (self.first(operator)?, operator.inputs.get(1).copied()??);
        let (from, to) = (self.numbers[input]?, self.numbers[output]?);
        let weights = Filter::of(self.model, MAIN, filter)?;
        if !weights.goes_with(from) || !weights.goes_with(to) || operator.inputs.len() > 3 {
            return None;
        }
        let channels = self.channels(output)?;
        let (bias, takes_bias) = match operator.inputs.get(2).copied().flatten() {
            Some(number) => {
                let is_word = self.tensor(number).dtype == ElementType::Int32;
                (bias(self.model, MAIN, number, channels)?, is_word)
            }
            None => (vec![0.0; channels], false),
        };
        let scales = match (from, to) {
            (Numbers::Whole { scale: from, .. }, Numbers::Whole { scale: to, .. })
                if is_byte(self.tensor(input)) && is_byte(self.tensor(output)) =>
            {
                let weights = scales(self.tensor(filter), channels, axis)?;
                Some(weights.iter().map(|weight| from * weight / to).collect())
            }
            _ => None,
        };
        let [height, width] = op.pair("kernel").unwrap_or([1, 1]);
        let sees_border = op.word("padding") == Some("same") && (height, width) != (1, 1);
        Some((weights, Sums { bias, sees_border, scales, clamp: clamp(op, to)? }, takes_bias))
    }

    /// A convolution or a dense layer.
    fn mixing(&self, op: &Op, operator: &FileOperator, output: usize) -> Option<(Step, Vec<Operand>)> {
        let (input, filter) = (self.first(operator)?, operator.inputs.get(1).copied()??);
        let shape = &self.tensor(filter).shape;
        let is_dense = op.kind.operator() == FULLY_CONNECTED;
        let rank = if is_dense { 2 } else { 4 };
        let is_plain = op.word("weights_format").is_none_or(|format| format == "default");
        let (from, to) = (self.channels(input)?, self.channels(output)?);
        // Of a convolution in groups, and a dense layer that reads several pixels at once, nothing is said here.
        let fits = shape.len() == rank && shape[0] == to as u64 && shape[rank - 1] == from as u64;
        if !fits || !is_plain {
            return None;
        }
        let (weights, sums, takes_bias) = self.sums(op, operator, output, 0)?;
        let weights = weights.by_pair(to)?;
        let parts = parts(operator, vec![(0, output), (rank - 1, input)], output);
        Some((Step::Mix(Mix { input, output, weights, sums, takes_bias }), parts))
    }

    fn depthwise(&self, op: &Op, operator: &FileOperator, output: usize) -> Option<(Step, Vec<Operand>)> {
        let (input, filter) = (self.first(operator)?, operator.inputs.get(1).copied()??);
        let (from, to) = (self.channels(input)?, self.channels(output)?);
        let &[1, _, _, depth] = self.tensor(filter).shape.as_slice() else { return None };
        if depth != to as u64 || to % from != 0 {
            return None;
        }
        let repeats = to / from;
        // What kernels take from the option, they would take from it when there are fewer channels.
        if op.size("multiplier") != Some(repeats as u64) {
            return None;
        }
        let (weights, sums, _) = self.sums(op, operator, output, 3)?;
        let weights = weights.by_last()?;
        let tie = Tie { input, offset: 0, step: repeats, stride: 1, repeats };
        let transfer = Transfer::Window { weights, sums };
        let parts = parts(operator, vec![(3, output)], output);
        Some((Step::Apart(Apart { inputs: vec![tie], output, transfer }), parts))
    }

    fn concatenation(&self, op: &Op, operator: &FileOperator, output: usize) -> Option<Step> {
        let rank = self.tensor(output).shape.len();
        let along_channels = usize::try_from(op.number("axis")?).ok()? + 1 == rank;
        let mut offset = 0;
        let mut inputs = Vec::new();
        for &input in &operator.inputs {
            let tie = Tie { offset, ..Tie::same(input?) };
            let count = self.channels(tie.input)?;
            offset += if along_channels { count } else { 0 };
            inputs.push(tie);
            if !along_channels && count != self.channels(output)? {
                return None;
            }
        }
        if along_channels && offset != self.channels(output)? {
            return None;
        }
        let is_copy = inputs.iter().all(|tie| self.numbers[tie.input] == self.numbers[output]);
        let clamp = clamp(op, self.numbers[output]?)?;
        let transfer = if is_copy { Transfer::Copy { adds_zero: false, clamp } } else { Transfer::Anything };
        Some(Step::Apart(Apart { inputs, output, transfer }))
    }

    /// A reshape that leaves channels last, or lays pixels side by side.
    fn reshaped(&self, op: &Op, operator: &FileOperator, output: usize) -> Option<(Step, Vec<Operand>)> {
        let input = self.first(operator)?;
        let (from, to) = (self.channels(input)?, self.channels(output)?);
        if self.numbers[input] != self.numbers[output] || to % from != 0 {
            return None;
        }
        let is_reshape = op.kind.operator() == RESHAPE;
        let mut parts = Vec::new();
        if is_reshape {
            // Without the operand the shape is an option.
            let shape = operator.inputs.get(1).copied()??;
            let described = self.tensor(shape);
            let is_list = described.dtype == ElementType::Int32 && described.shape.len() == 1;
            if described.storage != Storage::Constant || !is_list || operator.inputs.len() != 2 {
                return None;
            }
            parts.push(Operand::Shape { position: 1, of: output });
        } else if to != from {
            return None;
        }
        let tie = Tie { input, offset: 0, step: 1, stride: from, repeats: to / from };
        let transfer = Transfer::Copy { adds_zero: false, clamp: Clamp::NONE };
        Some((Step::Apart(Apart { inputs: vec![tie], output, transfer }), parts))
    }

    /// An operator of two operands, element by element. One may be a constant, and one may be repeated along other dimensions.
    fn of_two(&self, op: &Op, operator: &FileOperator, output: usize) -> Option<(Step, Vec<Operand>)> {
        let &[Some(one), Some(other)] = operator.inputs.as_slice() else { return None };
        let count = self.channels(output)?;
        let mut inputs = Vec::new();
        let mut parts = Vec::new();
        for (position, tensor) in [one, other].into_iter().enumerate() {
            let described = self.tensor(tensor);
            match described.storage {
                Storage::Activation if self.channels(tensor)? == count => inputs.push(tensor),
                Storage::Constant if described.shape.iter().product::<u64>() == 1 => {}
                Storage::Constant if described.shape.last() == Some(&(count as u64)) => {
                    let axes = vec![(described.shape.len() - 1, output)];
                    parts.push(Operand::Parts { position, axes, is_bias: false });
                }
                _ => return None,
            }
        }
        let is_sum = matches!(op.kind.operator(), ADD | SUB);
        let has_bounds = clamp(op, self.numbers[output]?);
        let sign = if op.kind.operator() == SUB { -1.0 } else { 1.0 };
        let step = match (inputs.as_slice(), has_bounds) {
            (&[one, other], Some(clamp)) if is_sum => {
                self.linear(&[(one, 1.0), (other, sign)], output, clamp)?
            }
            ([], _) => return None,
            (several, _) => Step::Apart(Apart {
                inputs: several.iter().map(|&input| Tie::same(input)).collect(),
                output,
                transfer: Transfer::Anything,
            }),
        };
        Some((step, parts))
    }
}

/// The weights, and the bias if there is one.
fn parts(operator: &FileOperator, axes: Vec<(usize, usize)>, output: usize) -> Vec<Operand> {
    let weights = Operand::Parts { position: 1, axes, is_bias: false };
    let has_bias = operator.inputs.get(2).copied().flatten().is_some();
    let bias = has_bias.then(|| Operand::Parts { position: 2, axes: vec![(0, output)], is_bias: true });
    std::iter::once(weights).chain(bias).collect()
}

/// The bounds of a fused activation; `None` if it is more than that.
fn clamp(op: &Op, numbers: Numbers) -> Option<Clamp> {
    bounds(op.word("activation").unwrap_or("none"), numbers)
}

fn activation_of(op: &Op) -> Option<&'static str> {
    match op.kind.operator() {
        RELU => Some("relu"),
        RELU6 => Some("relu6"),
        RELU_N1_TO_1 => Some("relu_n1_to_1"),
        _ => None,
    }
}

fn bounds(activation: &str, numbers: Numbers) -> Option<Clamp> {
    // Kernels divide in floats, so that what lies half-way between two numbers may be either.
    let stored = |real: f64| match numbers {
        Numbers::Real => (real, real),
        Numbers::Whole { scale, zero_point, .. } => {
            let (steps, off) = (real / scale, (real / scale).abs() / f64::from(1 << 22));
            ((steps - off - 0.5).ceil() + zero_point as f64, (steps + off + 0.5).floor() + zero_point as f64)
        }
    };
    let Clamp { low: least, high: most } = Clamp::NONE;
    let (low, high) = match activation {
        "none" => (least, most),
        "relu" => (stored(0.0), most),
        "relu6" => (stored(0.0), stored(6.0)),
        "relu_n1_to_1" => (stored(-1.0), stored(1.0)),
        _ => return None,
    };
    Some(Clamp { low, high })
}
