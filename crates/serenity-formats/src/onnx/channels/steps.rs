//! What each node does with channels: the second dimension of every tensor.

use super::constants::Constants;
use serenity_ir::{Call, ElementType, Given, Graph, OpId, TensorId, from_front};
use serenity_rewrite::constant_channels::{
    Apart, Channels, Clamp, Mix, Network, Numbers, Step, Sums, Tie, Transfer,
};
use std::collections::BTreeMap;

/// How far kernels may be off when they convert numbers, in steps of the result.
const SLACK: f64 = 1.0 / 128.0;

/// Real sums of so many terms ONNX Runtime adds up one by one, so that leaving out zeros changes no bit: its products
/// of matrices come in panels of 128 terms.
const MOST_TERMS: u64 = 128;

/// What is read of a graph.
pub(super) struct Reading {
    pub(super) network: Network,
    /// By node: the constants that become smaller with it.
    pub(super) operands: Vec<Vec<Operand>>,
    /// Weights that a node of their own makes real numbers of: a dimension, and the tensor whose channels it has.
    pub(super) weights: BTreeMap<TensorId, Vec<(usize, usize)>>,
}

/// A constant operand that becomes smaller when channels go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// Its position among the operands.
    pub(super) position: usize,
    /// A dimension, and the tensor whose channels it has.
    pub(super) axes: Vec<(usize, usize)>,
    /// Does it take over what channels that are gone would have added?
    pub(super) is_bias: bool,
}

impl Operand {
    fn new(position: usize, axes: &[(usize, usize)]) -> Self {
        Self { position, axes: axes.to_vec(), is_bias: false }
    }
}

/// Reads the graph of a model.
pub(super) struct Reader<'a, 'm> {
    constants: &'a Constants<'m>,
    graph: &'m Graph,
    /// Are real numbers rounded to whole ones somewhere?
    is_quantised: bool,
    /// By tensor: how its numbers are stored, if that can be followed. Files say it where they are made.
    numbers: Vec<Option<Numbers>>,
    /// What becomes smaller of nodes that make weights, and these weights.
    makers: Vec<(OpId, Operand)>,
    weights: BTreeMap<TensorId, Vec<(usize, usize)>>,
}

impl<'a, 'm> Reader<'a, 'm> {
    pub(super) fn new(constants: &'a Constants<'m>, is_quantised: bool) -> Self {
        let graph = constants.model.graph();
        let mut left = constants.model.bytes().len() as u64;
        // Weights for more channels than the file has bytes would not fit into it.
        let numbers = graph.tensors().iter().map(|tensor| {
            left = left.checked_sub(*tensor.shape.as_ref()?.get(1)?)?;
            (tensor.dtype == Some(ElementType::Float32)).then_some(Numbers::Real)
        });
        let numbers = numbers.collect();
        Self { constants, graph, is_quantised, numbers, makers: Vec::new(), weights: BTreeMap::new() }
    }

    /// The network, and what becomes smaller with it; `None` if `stop` said so.
    pub(super) fn network(mut self, stop: &dyn Fn() -> bool) -> Option<Reading> {
        let mut steps = vec![Step::Opaque(Vec::new()); self.graph.ops().len()];
        let mut operands = vec![Vec::new(); steps.len()];
        let mut order = Vec::new();
        for op in self.graph.file_order() {
            if stop() {
                return None;
            }
            let known = self.step(op);
            let touched = || {
                let op = self.graph.op(op);
                op.inputs.iter().chain(&op.outputs).map(|tensor| tensor.index()).collect()
            };
            let (step, parts) = known.unwrap_or_else(|| (Step::Opaque(touched()), Vec::new()));
            order.push(op.index());
            steps[op.index()] = step;
            operands[op.index()] = parts;
        }
        // Steps are named by the numbers of ops, so ranges follow the order of the file; one that cannot run in it is left alone.
        let is_in_order = order.iter().enumerate().all(|(at, &op)| at == op);
        let mut tensors = Vec::new();
        for (id, numbers) in self.graph.tensor_ids().zip(&self.numbers) {
            let count = numbers.and_then(|_| self.count(id.index())).unwrap_or(0);
            let is_port = self.graph.is_input(id) || self.graph.is_output(id);
            let is_written =
                self.graph.producer(id).is_some_and(|op| !matches!(steps[op.index()], Step::Opaque(_)));
            let is_fixed = is_port || !is_written || !is_in_order;
            tensors.push(Channels { count, numbers: numbers.unwrap_or(Numbers::Real), is_fixed });
        }
        for (op, operand) in self.makers {
            operands[op.index()].push(operand);
        }
        Some(Reading { network: Network { tensors, steps }, operands, weights: self.weights })
    }

    /// How many channels a tensor has: at least one. Weights have a second dimension as well, but nothing here follows it.
    fn count(&self, tensor: usize) -> Option<usize> {
        let count = *self.graph.tensors().get(tensor)?.shape.as_ref()?.get(1)?;
        usize::try_from(count).ok().filter(|&count| count > 0)
    }

    fn dtype(&self, tensor: usize) -> Option<&'m ElementType> {
        self.graph.tensors().get(tensor)?.dtype.as_ref()
    }

    fn rank(&self, tensor: usize) -> Option<usize> {
        Some(self.graph.tensors().get(tensor)?.shape.as_ref()?.len())
    }

    /// What a node does, if it can be told; what it writes is known from then on.
    fn step(&mut self, op: OpId) -> Option<(Step, Vec<Operand>)> {
        let call = self.constants.call(op);
        let &[output] = call.op.outputs.as_slice() else { return None };
        let output = output.index();
        self.count(output)?;
        // Made-up tensors that keep nodes in order, and what graphs within a node read, are no operands.
        if call.op.inputs.len() != call.activations().count() {
            return None;
        }
        let given = self.numbers[output];
        let (step, parts) = match call.op.kind.as_str() {
            "QLinearConv" => self.quantised_convolution(&call, output)?,
            "Conv" => self.convolution(&call, output)?,
            "QuantizeLinear" | "DequantizeLinear" => (self.converted(&call, output)?, Vec::new()),
            "MaxPool" | "GlobalMaxPool" => (self.copied(&call, output, Clamp::NONE)?, Vec::new()),
            "Relu" => {
                let zero = (0.0, 0.0);
                (self.real(&call, output, Clamp { low: zero, ..Clamp::NONE })?, Vec::new())
            }
            "GlobalAveragePool" | "AveragePool" | "Sigmoid" | "Tanh" | "HardSwish" | "HardSigmoid"
            | "LeakyRelu" | "Elu" | "Softplus" | "Erf" | "Sqrt" | "Exp" | "Abs" | "Neg" => {
                self.only_real(&call, output)?;
                (alike(&call, output, self)?, Vec::new())
            }
            "Add" | "Mul" | "Sub" => (self.of_two(&call, output)?, Vec::new()),
            "Concat" => (self.concatenation(&call, output)?, Vec::new()),
            "BatchNormalization" => {
                self.only_real(&call, output)?;
                let parts = (1..5).map(|position| Operand::new(position, &[(0, output)])).collect();
                (1..5).try_for_each(|position| self.constants.at(&call, position).map(|_| ()))?;
                (alike(&call, output, self)?, parts)
            }
            _ => return None,
        };
        if self.numbers[output].is_none() && given.is_none() {
            return None;
        }
        Some((step, parts))
    }

    /// The tensor at a position, if it can be followed.
    fn tensor(&self, call: &Call, position: usize) -> Option<usize> {
        let tensor = call.activation(position)?.index();
        self.numbers[tensor].map(|_| tensor)
    }

    fn only_real(&self, call: &Call, output: usize) -> Option<()> {
        let is_real = |tensor: usize| self.numbers[tensor] == Some(Numbers::Real);
        (is_real(self.tensor(call, 0)?) && is_real(output)).then_some(())
    }

    /// Numbers stay as they are, but for bounds.
    fn copied(&mut self, call: &Call, output: usize, clamp: Clamp) -> Option<Step> {
        let input = self.tensor(call, 0)?;
        let is_same = self.dtype(input) == self.dtype(output) && self.count(input) == self.count(output);
        if !is_same || self.rank(input) != self.rank(output) {
            return None;
        }
        self.numbers[output] = self.numbers[input];
        let transfer = Transfer::Copy { adds_zero: false, clamp };
        Some(Step::Apart(Apart { inputs: vec![Tie::same(input)], output, transfer }))
    }

    fn real(&mut self, call: &Call, output: usize, clamp: Clamp) -> Option<Step> {
        self.only_real(call, output)?;
        self.copied(call, output, clamp)
    }

    /// From real numbers to whole ones, or back.
    fn converted(&mut self, call: &Call<'m>, output: usize) -> Option<Step> {
        let input = call.activation(0)?.index();
        let is_to_whole = call.op.kind.as_str() == "QuantizeLinear";
        let whole = if is_to_whole { output } else { input };
        let numbers = self.constants.numbers(call, 1, self.dtype(whole)?)?;
        let known = *self.numbers[whole].get_or_insert(numbers);
        let is_same = known == numbers && self.count(input) == self.count(output);
        if !is_same || self.numbers[input].is_none() || self.numbers[output].is_none() {
            return None;
        }
        let transfer = Transfer::Sum { signs: vec![1.0], slack: SLACK, clamp: Clamp::NONE };
        Some(Step::Apart(Apart { inputs: vec![Tie::same(input)], output, transfer }))
    }

    fn of_two(&mut self, call: &Call, output: usize) -> Option<Step> {
        let (one, other) = (self.tensor(call, 0)?, self.tensor(call, 1)?);
        self.only_real(call, output)?;
        let shape = |tensor: usize| self.graph.tensors()[tensor].shape.clone();
        if shape(one) != shape(output)
            || shape(other) != shape(output)
            || self.numbers[other] != Some(Numbers::Real)
        {
            return None;
        }
        let transfer = match call.op.kind.as_str() {
            "Add" => Transfer::Sum { signs: vec![1.0, 1.0], slack: 0.0, clamp: Clamp::NONE },
            "Sub" => Transfer::Sum { signs: vec![1.0, -1.0], slack: 0.0, clamp: Clamp::NONE },
            _ => Transfer::Anything,
        };
        Some(Step::Apart(Apart { inputs: vec![Tie::same(one), Tie::same(other)], output, transfer }))
    }

    fn concatenation(&mut self, call: &Call, output: usize) -> Option<Step> {
        if call.axis(self.rank(output)?) != Some(1) {
            return None;
        }
        let mut offset = 0;
        let mut inputs = Vec::new();
        for position in 0..call.operand_count() {
            let input = self.tensor(call, position)?;
            if self.dtype(input) != self.dtype(output) || self.rank(input) != self.rank(output) {
                return None;
            }
            inputs.push(Tie { offset, ..Tie::same(input) });
            offset += self.count(input)?;
        }
        let numbers = self.numbers[inputs.first()?.input];
        if offset != self.count(output)? || inputs.iter().any(|tie| self.numbers[tie.input] != numbers) {
            return None;
        }
        self.numbers[output] = numbers;
        let transfer = Transfer::Copy { adds_zero: false, clamp: Clamp::NONE };
        Some(Step::Apart(Apart { inputs, output, transfer }))
    }

    fn convolution(&mut self, call: &Call<'m>, output: usize) -> Option<(Step, Vec<Operand>)> {
        self.only_real(call, output)?;
        let channels = self.count(output)?;
        let is_made = |position: usize| call.activation(position).is_some();
        let mut makers = Vec::new();
        let bias = if is_made(2) {
            let maker = self.maker(call, 2, channels, &mut makers)?;
            let bias = self.constants.bias(&maker, 0, channels)?.0;
            let scales = self.constants.scales(&maker, 1, channels)?;
            bias.iter().zip(scales).map(|(bias, scale)| bias * scale).collect()
        } else {
            self.constants.bias(call, 2, channels)?.0
        };
        let sums = Sums { bias, sees_border: sees_border(call), scales: None, clamp: Clamp::NONE };
        let places = Places { weights: 1, zero_point: None, more: &[], bias: 2 };
        if self.is_quantised {
            let terms =
                call.shape(1)?.get(1..)?.iter().try_fold(1, |terms: u64, &size| terms.checked_mul(size))?;
            if terms > MOST_TERMS {
                return None;
            }
        }
        let maker = if is_made(1) { Some(self.maker(call, 1, channels, &mut makers)?) } else { None };
        let (step, mut parts) = self.weighed(call, output, sums, false, &places, maker.as_ref())?;
        // What a node makes is not among the operands that become smaller, but what it is made of.
        let of_makers: Vec<Operand> = parts.extract_if(.., |part| is_made(part.position)).collect();
        for Operand { position, axes, .. } in of_makers {
            let made = call.activation(position)?;
            let maker = self.graph.producer(made)?;
            self.makers.push((maker, Operand::new(0, &axes)));
            let more =
                makers.iter().filter(|(of, _)| *of == made).map(|&(_, at)| Operand::new(at, &[(0, output)]));
            self.makers.extend(more.map(|operand| (maker, operand)));
            self.weights.insert(made, axes);
        }
        Some((step, parts))
    }

    /// The node that makes real weights of whole ones for this one alone; `more` are its operands with a number for each channel.
    fn maker(
        &self,
        call: &Call<'m>,
        position: usize,
        channels: usize,
        more: &mut Vec<(TensorId, usize)>,
    ) -> Option<Call<'m>> {
        let made = call.activation(position)?;
        let maker = self.constants.call(self.graph.producer(made)?);
        let is_alone = self.graph.consumers(made).len() == 1
            && call.op.inputs.iter().filter(|&&input| input == made).count() == 1
            && !self.graph.is_output(made);
        if maker.op.kind.as_str() != "DequantizeLinear" || !maker.op.inputs.is_empty() || !is_alone {
            return None;
        }
        self.constants.at(&maker, 0)?;
        let scales = self.constants.scales(&maker, 1, channels)?;
        let rank = maker.shape(0)?.len();
        let is_by_channel = maker.shape(1)?.iter().product::<u64>() > 1;
        let axis = maker.op.number("axis").unwrap_or(1);
        let is_first = from_front(axis, rank) == Some(0);
        let is_sensible = scales.iter().all(|scale| scale.is_finite() && *scale > 0.0);
        if (is_by_channel && !is_first)
            || !is_sensible
            || maker.op.number("block_size").is_some_and(|size| size != 0)
        {
            return None;
        }
        let has_several =
            |&at: &usize| maker.shape(at).is_some_and(|shape| shape == [channels as u64] && channels > 1);
        more.extend([1, 2].iter().filter(|at| has_several(at)).map(|&at| (made, at)));
        Some(maker)
    }

    fn quantised_convolution(&mut self, call: &Call<'m>, output: usize) -> Option<(Step, Vec<Operand>)> {
        let input = self.tensor(call, 0)?;
        let from = self.constants.numbers(call, 1, self.dtype(input)?)?;
        let to = self.constants.numbers(call, 6, self.dtype(output)?)?;
        // Whoever made the tensor may have meant other numbers.
        if self.numbers[input] != Some(from) {
            return None;
        }
        self.numbers[output] = Some(to);
        let channels = self.count(output)?;
        let (Numbers::Whole { scale: of_input, .. }, Numbers::Whole { scale: of_output, .. }) = (from, to)
        else {
            return None;
        };
        let scales = self.constants.scales(call, 4, channels)?;
        let scales = scales.iter().map(|scale| of_input * scale / of_output).collect();
        let (bias, takes_bias) = self.constants.bias(call, 8, channels)?;
        let sums = Sums { bias, sees_border: sees_border(call), scales: Some(scales), clamp: Clamp::NONE };
        let places = Places { weights: 3, zero_point: Some(5), more: &[4, 5], bias: 8 };
        self.weighed(call, output, sums, takes_bias, &places, None)
    }

    /// A convolution, of all channels or of each by itself.
    fn weighed(
        &self,
        call: &Call<'m>,
        output: usize,
        sums: Sums,
        takes_bias: bool,
        places: &Places,
        maker: Option<&Call<'m>>,
    ) -> Option<(Step, Vec<Operand>)> {
        let input = self.tensor(call, 0)?;
        let (from, to) = (self.count(input)?, self.count(output)?);
        let group = call.op.size("group").unwrap_or(1);
        let shape = call.shape(places.weights)?;
        let depth = usize::try_from(*shape.get(1)?).ok()?;
        if shape.first() != Some(&(to as u64)) || shape.len() < 3 {
            return None;
        }
        let more = places.more.iter().filter(|&&position| {
            // One number for all stays.
            call.shape(position).is_some_and(|shape| shape == [to as u64] && to > 1)
        });
        let mut parts: Vec<Operand> = more.map(|&position| Operand::new(position, &[(0, output)])).collect();
        if !matches!(call.given(places.bias), Given::Absent) {
            parts.push(Operand { is_bias: true, ..Operand::new(places.bias, &[(0, output)]) });
        }
        // Of weights that are made, zero is what stands for it.
        let (from_call, at, zero_point) = match maker {
            Some(maker) => (maker, 0, Some(2)),
            None => (call, places.weights, places.zero_point),
        };
        let is_real = self.numbers[input] == Some(Numbers::Real) && maker.is_none();
        let kinds = |dtype: &ElementType| (*dtype == ElementType::Float32) == is_real;
        if group == 1 && depth == from {
            let (weights, dtype) =
                self.constants.weights(from_call, at, zero_point, to.checked_mul(from)?)?;
            parts.push(Operand::new(places.weights, &[(0, output), (1, input)]));
            let mix = Mix { input, output, weights, sums, takes_bias };
            return kinds(&dtype).then_some((Step::Mix(mix), parts));
        }
        if group == from as u64 && depth == 1 && to % from == 0 {
            let (weights, dtype) = self.constants.weights(from_call, at, zero_point, to)?;
            parts.push(Operand::new(places.weights, &[(0, output)]));
            let repeats = to / from;
            let tie = Tie { input, offset: 0, step: repeats, stride: 1, repeats };
            let apart = Apart { inputs: vec![tie], output, transfer: Transfer::Window { weights, sums } };
            return kinds(&dtype).then_some((Step::Apart(apart), parts));
        }
        None
    }
}

/// Where the operands of a convolution stand.
struct Places {
    weights: usize,
    zero_point: Option<usize>,
    /// What has a number for each channel of the result.
    more: &'static [usize],
    bias: usize,
}

fn alike(call: &Call, output: usize, reader: &Reader) -> Option<Step> {
    let input = reader.tensor(call, 0)?;
    let is_as_wide =
        reader.count(input)? == reader.count(output)? && reader.rank(input) == reader.rank(output);
    is_as_wide
        .then(|| Step::Apart(Apart { inputs: vec![Tie::same(input)], output, transfer: Transfer::Anything }))
}

fn sees_border(call: &Call) -> bool {
    call.op.word("padding") != Some("valid")
}
