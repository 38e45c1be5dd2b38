//! Runs the small models with loops on numbers, byte by byte, as the portable kernels of TFLM do.

use super::net::{Made, ZERO};
use serde_json::Value;
use serenity_ir::{Op, OpId, TensorId};

/// More than any place in the tests.
const ARENA: usize = 2048;

/// A counter that was written over may never end.
const MOST_ITERATIONS: usize = 20;

/// A model in the course of a run.
pub(super) struct Numeric<'a> {
    made: &'a Made,
    memory: Vec<u8>,
    /// Does `WHILE` copy its inputs to its outputs after it has asked for the first time?
    is_late: bool,
}

impl<'a> Numeric<'a> {
    /// Runs a model with one input and one output in an arena full of garbage.
    pub(super) fn run(made: &'a Made, input: &[u8], garbage: u8, is_late: bool) -> Vec<u8> {
        let memory = (0..ARENA).map(|i| garbage.wrapping_mul(i as u8 | 1).wrapping_add(17)).collect();
        let mut run = Self { made, memory, is_late };
        let (x, y) = (made.graphs[0].inputs()[0], made.graphs[0].outputs()[0]);
        let begin = run.at(0, x);
        run.memory[begin..begin + input.len()].copy_from_slice(input);
        run.graph(0);
        let begin = run.at(0, y);
        run.memory[begin..begin + run.bytes(0, y)].to_vec()
    }

    fn at(&self, graph: usize, tensor: TensorId) -> usize {
        self.made.places[graph][tensor.index()].unwrap() as usize
    }

    fn bytes(&self, graph: usize, tensor: TensorId) -> usize {
        self.made.graphs[graph].tensor(tensor).bytes as usize
    }

    fn shape(&self, graph: usize, tensor: TensorId) -> Vec<usize> {
        let shape = self.made.graphs[graph].tensor(tensor).shape.as_ref().unwrap();
        shape.iter().map(|&side| side as usize).collect()
    }

    fn graph(&mut self, graph: usize) {
        for op in self.made.graphs[graph].file_order() {
            self.op(graph, op);
        }
    }

    fn copy(&mut self, from: usize, to: usize, bytes: usize) {
        self.memory.copy_within(from..from + bytes, to);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The whole numbers of an operand.
    fn numbers(&self, graph: usize, op: &Op, position: usize) -> Vec<usize> {
        if let Some(constant) = op.constant(position) {
            return constant.values().unwrap().into_iter().map(|n| n as usize).collect();
        }
        let tensor = op.operand(position).unwrap();
        let begin = self.at(graph, tensor);
        let bytes = &self.memory[begin..begin + self.bytes(graph, tensor)];
        bytes.as_chunks::<4>().0.iter().map(|&n| i32::from_le_bytes(n) as u32 as usize).collect()
    }

    fn op(&mut self, graph: usize, id: OpId) {
        let made = self.made;
        let op = made.graphs[graph].op(id);
        let output = op.outputs[0];
        let (to, bytes) = (self.at(graph, output), self.bytes(graph, output));
        match op.kind.as_str() {
            "RESHAPE" => self.copy(self.at(graph, op.inputs[0]), to, bytes),
            "FILL" => self.memory[to..to + bytes].fill(fill(op, 1)),
            "RELU" => {
                let from = self.at(graph, op.inputs[0]);
                for i in 0..bytes {
                    self.memory[to + i] = self.memory[from + i].max(100);
                }
            }
            "LESS" => {
                let [a, b] = [0, 1].map(|position| self.numbers(graph, op, position)[0]);
                self.memory[to] = u8::from(a < b);
            }
            "SLICE" => self.slice(graph, op),
            "CONCATENATION" => {
                let mut to = to;
                for position in 0..op.inputs.len() + usize::from(op.has_constants()) {
                    if let Some(input) = op.operand(position) {
                        self.copy(self.at(graph, input), to, self.bytes(graph, input));
                        to += self.bytes(graph, input);
                    } else {
                        let count: u64 = op.constant(position).unwrap().shape().unwrap().iter().product();
                        self.put(to, &vec![fill(op, position); count as usize]);
                        to += count as usize;
                    }
                }
            }
            "DYNAMIC_UPDATE_SLICE" => self.update(graph, op),
            "PAD" => self.pad(graph, op),
            "DEPTHWISE_CONV_2D" => self.depthwise(graph, id),
            "WHILE" => self.run_while(graph, op),
            kind => panic!("{kind}"),
        }
    }

    /// Element by element, upwards.
    fn slice(&mut self, graph: usize, op: &Op) {
        let (to, size) = (self.at(graph, op.outputs[0]), self.shape(graph, op.outputs[0]));
        let Some(input) = op.operand(0) else {
            let table = op.constant(0).unwrap().values().unwrap();
            let begin = self.numbers(graph, op, 1)[0];
            for i in 0..size[0] {
                let number = table.get(begin.wrapping_add(i)).copied().unwrap_or(0);
                self.put(to + 4 * i, &(number as i32).to_le_bytes());
            }
            return;
        };
        let (from, shape, begin) =
            (self.at(graph, input), self.shape(graph, input), self.numbers(graph, op, 1));
        for (number, index) in indices(&size).enumerate() {
            let place = (0..shape.len()).fold(0_usize, |place, d| {
                place.wrapping_mul(shape[d]).wrapping_add(begin[d].wrapping_add(index[d]))
            });
            self.memory[to + number] = self.memory[from.wrapping_add(place) % ARENA];
        }
    }

    fn update(&mut self, graph: usize, op: &Op) {
        let output = op.outputs[0];
        let (to, shape) = (self.at(graph, output), self.shape(graph, output));
        let (begin, operand) = (self.numbers(graph, op, 2), op.operand(0).unwrap());
        if self.at(graph, operand) != to {
            self.copy(self.at(graph, operand), to, self.bytes(graph, output));
        }
        let (update, size) = match op.operand(1) {
            Some(update) => (Some(self.at(graph, update)), self.shape(graph, update)),
            None => {
                (None, op.constant(1).unwrap().shape().unwrap().iter().map(|&side| side as usize).collect())
            }
        };
        let begin: Vec<usize> = (0..shape.len()).map(|d| begin[d].min(shape[d] - size[d])).collect();
        for (number, index) in indices(&size).enumerate() {
            let place = (0..shape.len()).fold(0, |place, d| place * shape[d] + begin[d] + index[d]);
            self.memory[to + place] =
                update.map_or_else(|| fill(op, 1), |update| self.memory[update + number]);
        }
    }

    /// The portable kernel writes from front to back.
    fn pad(&mut self, graph: usize, op: &Op) {
        let (from, to) = (self.at(graph, op.inputs[0]), self.at(graph, op.outputs[0]));
        let (input, output) = (self.shape(graph, op.inputs[0]), self.shape(graph, op.outputs[0]));
        let before: Vec<usize> = self.numbers(graph, op, 1).iter().step_by(2).copied().collect();
        for (number, index) in indices(&output).enumerate() {
            let inside: Option<Vec<usize>> =
                (0..4).map(|d| index[d].checked_sub(before[d]).filter(|&i| i < input[d])).collect();
            self.memory[to + number] = inside.map_or(ZERO as u8, |inside| {
                self.memory[from + (0..4).fold(0, |place, d| place * input[d] + inside[d])]
            });
        }
    }

    /// Pixel by pixel: what is read, and then what is written.
    fn depthwise(&mut self, graph: usize, id: OpId) {
        let op = self.made.graphs[graph].op(id);
        let function = self.made.origins[graph][id.index()].unwrap_or(id).0;
        let (from, to) = (self.at(graph, op.inputs[0]), self.at(graph, op.outputs[0]));
        let (input, output) = (self.shape(graph, op.inputs[0]), self.shape(graph, op.outputs[0]));
        let before = usize::from(op.word("padding") == Some("same"));
        for (number, index) in indices(&output).enumerate() {
            let mut sum = 0_i64;
            for (tap, taps) in indices(&[3, 3]).enumerate() {
                let place = [0, 1]
                    .map(|d| (index[d + 1] + taps[d]).checked_sub(before).filter(|&i| i < input[d + 1]));
                if let [Some(row), Some(column)] = place {
                    let byte = self.memory[from + (row * input[2] + column) * input[3] + index[3]];
                    let weight = 1 + (i64::from(function) * 31 + tap as i64 * 7 + index[3] as i64) % 13;
                    sum += (i64::from(byte.cast_signed()) - ZERO) * weight;
                }
            }
            self.memory[to + number] = (sum * 5 % 251) as u8;
        }
    }

    fn run_while(&mut self, graph: usize, op: &Op) {
        let made = self.made;
        let bodies: Vec<usize> = op.bodies().collect();
        let (cond, body) = (bodies[0], bodies[1]);
        let of = |run: &Self, graph: usize, tensors: &[TensorId]| -> Vec<(usize, usize)> {
            tensors.iter().map(|&t| (run.at(graph, t), run.bytes(graph, t))).collect()
        };
        let outputs = of(self, graph, &op.outputs);
        let to_cond = of(self, cond, made.graphs[cond].inputs());
        let (to_body, from_body) =
            (of(self, body, made.graphs[body].inputs()), of(self, body, made.graphs[body].outputs()));
        let begin = |run: &mut Self, to: &[(usize, usize)]| {
            for (position, &(to, bytes)) in to.iter().enumerate() {
                match op.operand(position) {
                    Some(input) => run.copy(run.at(graph, input), to, bytes),
                    None if position == 0 => run.put(to, &[0; 4]),
                    None => run.put(to, &vec![fill(op, position); bytes]),
                }
            }
        };
        let copy_all = |run: &mut Self, from: &[(usize, usize)], to: &[(usize, usize)]| {
            for (&(from, bytes), &(to, _)) in from.iter().zip(to) {
                run.copy(from, to, bytes);
            }
        };
        let ask = |run: &mut Self| {
            run.graph(cond);
            run.memory[run.at(cond, made.graphs[cond].outputs()[0])] != 0
        };
        begin(self, &to_cond);
        if !self.is_late {
            begin(self, &outputs);
        }
        let mut goes_on = ask(self);
        if self.is_late {
            begin(self, &outputs);
        }
        for _ in 0..MOST_ITERATIONS {
            if !goes_on {
                break;
            }
            copy_all(self, &outputs, &to_body);
            self.graph(body);
            copy_all(self, &from_body, &outputs);
            copy_all(self, &outputs, &to_cond);
            goes_on = ask(self);
        }
    }
}

/// The byte that fills a constant.
fn fill(op: &Op, position: usize) -> u8 {
    let constants = &op.attributes["constants"][position.to_string()];
    constants.get("fill").and_then(Value::as_i64).unwrap() as i8 as u8
}

/// All indices of a shape, in order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    (0..shape.iter().product()).map(move |number: usize| {
        let mut rest = number;
        let mut index: Vec<usize> = shape
            .iter()
            .rev()
            .map(|&side| {
                let own = rest % side;
                rest /= side;
                own
            })
            .collect();
        index.reverse();
        index
    })
}
