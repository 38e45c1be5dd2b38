//! Layers by chance in emitted C: packed weights, borders, single roundings, both directions, results as close to what
//! they are made from as the table allows. Judged by sums of products and two roundings written once more here, on this
//! computer under the sanitisers and on an emulated core with DSP instructions.

use crate::emitted_c::{BOARDS, has, on, with};
use serde_json::{Value, json};
use serenity::emit::{DataPlace, Emitted, Library, Source, SourceGraph, SourceOp, SourceTensor, c_code};
use serenity::ir::{Attributes, ElementType, OpId, Quantization, json};
use serenity::runtimes::{Kernels, overlaps};
use serenity_judges::{is_slow, on_all_cores};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Layers of one program, and programs.
const TOGETHER: usize = 50;
const PROGRAMS: u64 = 2;
const SLOW_PROGRAMS: u64 = 60;
/// Kernels that must be among them.
const KERNELS: [&str; 7] = [
    "packed_pointwise",
    "packed_windows",
    "packed_two_pointwise",
    "packed_two_windows",
    "packed_patches",
    "packed_depthwise",
    "affine",
];
/// Runs with other inputs, one of extremes only.
const RUNS: usize = 3;

/// Inputs, and what they give.
type Run = (Vec<i8>, Vec<i8>);

/// Numbers by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed >> 32
    }

    fn from(&mut self, least: i64, most: i64) -> i64 {
        least + (self.next() % (most - least + 1) as u64) as i64
    }

    fn one_in(&mut self, many: i64) -> bool {
        self.from(1, many) == 1
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Convolution,
    Depthwise,
    Dense,
    Sum,
}

/// A layer with all its numbers.
#[derive(Clone, Debug)]
struct Layer {
    kind: Kind,
    /// Height, width, channels.
    input: [i64; 3],
    output: [i64; 3],
    taps: [i64; 2],
    stride: i64,
    dilation: i64,
    is_same: bool,
    zeros: [i64; 2],
    /// Of what is read, by channel of the weights, of what is written.
    scales: (f32, Vec<f32>, f32),
    weights: Vec<i8>,
    bias: Vec<i32>,
    activation: &'static str,
    /// The other operand of a sum: scale and zero point.
    other: (f32, i64),
}

impl Layer {
    fn by_chance(chance: &mut Chance) -> Self {
        let kind = match chance.from(0, 9) {
            0..=4 => Kind::Convolution,
            5..=7 => Kind::Depthwise,
            8 => Kind::Dense,
            _ => Kind::Sum,
        };
        let is_window = matches!(kind, Kind::Convolution | Kind::Depthwise);
        let is_single = kind == Kind::Convolution && chance.one_in(3);
        let side = |chance: &mut Chance, most| if is_window { chance.from(1, most) } else { 1 };
        let taps = if is_single { [1, 1] } else { [side(chance, 5), side(chance, 5)] };
        let (stride, dilation) =
            if is_window && !is_single { (chance.from(1, 2), chance.from(1, 5) / 5 + 1) } else { (1, 1) };
        let is_same = is_window && chance.one_in(2);
        let depth = chance.from(1, 40);
        let results = if matches!(kind, Kind::Depthwise | Kind::Sum) { depth } else { chance.from(1, 40) };
        let reach = taps.map(|taps| (taps - 1) * dilation + 1);
        let sides = reach.map(|reach| if is_window { reach + chance.from(0, 5) } else { 1 });
        let outputs = [0, 1].map(|side| {
            let begins = if is_same { sides[side] } else { sides[side] - reach[side] + 1 };
            (begins + stride - 1) / stride
        });
        let filter = taps[0] * taps[1] * if kind == Kind::Depthwise { 1 } else { depth };
        let mut layer = Self {
            kind,
            input: [sides[0], sides[1], depth],
            output: [outputs[0], outputs[1], results],
            taps,
            stride,
            dilation,
            is_same,
            zeros: [
                chance.from(-128, 127),
                *[-128, -128, 127, chance.from(-128, 127)].get(chance.next() as usize % 4).unwrap(),
            ],
            scales: (0.01, vec![], 0.05),
            weights: vec![],
            bias: vec![],
            activation: ["none", "relu", "relu6"][chance.next() as usize % 3],
            other: (0.002 * chance.from(1, 20) as f32, chance.from(-128, 127)),
        };
        if kind == Kind::Sum {
            layer.scales = (0.003 * chance.from(1, 20) as f32, vec![], 0.004 * chance.from(4, 20) as f32);
        } else {
            layer.fill(chance, filter as usize);
        }
        layer
    }

    /// Weights, biases and scales: usual ones, all as large as they get, zeros, and those at the limits of packing.
    fn fill(&mut self, chance: &mut Chance, filter: usize) {
        let results = self.output[2] as usize;
        let (extreme, fine) = (chance.one_in(4), chance.from(1, 60));
        for _ in 0..results {
            let how = chance.from(0, 7);
            self.weights.extend((0..filter).map(|_| match how {
                0 if extreme => -127,
                1 if extreme => 127,
                2 if extreme => [-128, -1, 127][chance.next() as usize % 3],
                3 => 0,
                _ => chance.from(-127, 127) as i8,
            }));
            let spread = chance.from(50, 150) as f32 / 100.0;
            self.scales.1.push(0.0005 * fine as f32 * spread * spread);
            let most = match chance.from(0, 60) {
                0 => i64::from(i32::MAX),
                1..=3 => 1 << 24,
                _ => 20_000,
            };
            self.bias.push(chance.from(-most, most) as i32);
        }
        if self.kind == Kind::Depthwise {
            let by_channel = std::mem::take(&mut self.weights);
            self.weights =
                (0..filter * results).map(|at| by_channel[at % results * filter + at / results]).collect();
        }
        if chance.one_in(4) {
            self.scales.1.truncate(1);
        }
        // So that results are spread over their range, or beyond it.
        let typical = (filter as f32).sqrt() * 4000.0 * self.scales.0 * self.scales.1[0];
        self.scales.2 = typical / 20.0 * chance.from(1, 60) as f32 / 20.0;
    }

    /// What TFLM makes of the inputs.
    fn run(&self, x: &[i8], y: &[i8]) -> Vec<i8> {
        let [height, width, results] = self.output;
        let places = (0..height)
            .flat_map(|row| (0..width).flat_map(move |column| (0..results).map(move |c| [row, column, c])));
        match self.kind {
            Kind::Sum => x.iter().zip(y).map(|(&a, &b)| self.sum(a.into(), b.into())).collect(),
            _ => places.map(|place| self.result(x, place)).collect(),
        }
    }

    fn result(&self, x: &[i8], [row, column, channel]: [i64; 3]) -> i8 {
        let [height, width, depth] = self.input;
        let results = self.output[2];
        let before = [0, 1].map(|side| {
            let reach = (self.taps[side] - 1) * self.dilation + 1;
            let missing = (self.output[side] - 1) * self.stride + reach - self.input[side];
            if self.is_same { missing.max(0) / 2 } else { 0 }
        });
        let mut sum = i64::from(self.bias[channel as usize]);
        for ky in 0..self.taps[0] {
            for kx in 0..self.taps[1] {
                let from_row = row * self.stride - before[0] + ky * self.dilation;
                let from_column = column * self.stride - before[1] + kx * self.dilation;
                if !(0..height).contains(&from_row) || !(0..width).contains(&from_column) {
                    continue;
                }
                let tap = ky * self.taps[1] + kx;
                let own = if self.kind == Kind::Depthwise { channel..channel + 1 } else { 0..depth };
                for c in own {
                    let weight = if self.kind == Kind::Depthwise {
                        self.weights[(tap * results + channel) as usize]
                    } else {
                        self.weights[((channel * self.taps[0] * self.taps[1] + tap) * depth + c) as usize]
                    };
                    let value =
                        i64::from(x[((from_row * width + from_column) * depth + c) as usize]) - self.zeros[0];
                    sum += value * i64::from(weight);
                }
            }
        }
        let weight_scale = self.scales.1[(channel as usize).min(self.scales.1.len() - 1)];
        let real = if self.kind == Kind::Dense && self.scales.1.len() == 1 {
            f64::from(self.scales.0 * weight_scale) / f64::from(self.scales.2)
        } else {
            f64::from(self.scales.0) * f64::from(weight_scale) / f64::from(self.scales.2)
        };
        self.cut_off(scaled(wrapped(sum), real))
    }

    fn sum(&self, a: i64, b: i64) -> i8 {
        let twice = 2.0 * f64::from(self.scales.0).max(f64::from(self.other.0));
        let one = scaled((a - self.zeros[0]) << 20, f64::from(self.scales.0) / twice);
        let other = scaled((b - self.other.1) << 20, f64::from(self.other.0) / twice);
        self.cut_off(scaled(one + other, twice / (f64::from(1 << 20) * f64::from(self.scales.2))))
    }

    fn cut_off(&self, value: i64) -> i8 {
        let stored = |real: f32| self.zeros[1] + (real / self.scales.2).round() as i64;
        let (least, most) = match self.activation {
            "relu" => (stored(0.0).max(-128), 127),
            "relu6" => (stored(0.0).max(-128), stored(6.0).min(127)),
            _ => (-128, 127),
        };
        wrapped(value + self.zeros[1]).clamp(least, most.max(least)) as i8
    }

    /// The operator of a graph in the JSON format, for the table of overlaps.
    fn attributes(&self) -> Value {
        let padding = if self.is_same { "same" } else { "valid" };
        match self.kind {
            Kind::Convolution | Kind::Depthwise => json!({
                "stride": [self.stride, self.stride], "dilation": [self.dilation, self.dilation],
                "padding": padding, "activation": self.activation,
            }),
            _ => json!({"activation": self.activation}),
        }
    }

    fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Convolution => "CONV_2D",
            Kind::Depthwise => "DEPTHWISE_CONV_2D",
            Kind::Dense => "FULLY_CONNECTED",
            Kind::Sum => "ADD",
        }
    }

    fn shape(&self, sides: [i64; 3]) -> Vec<u64> {
        let [height, width, channels] = sides.map(|side| side as u64);
        if self.kind == Kind::Dense { vec![1, channels] } else { vec![1, height, width, channels] }
    }

    fn filter_shape(&self) -> Vec<u64> {
        let [depth, results] = [self.input[2], self.output[2]].map(|channels| channels as u64);
        let [height, width] = self.taps.map(|taps| taps as u64);
        match self.kind {
            Kind::Convolution => vec![results, height, width, depth],
            Kind::Depthwise => vec![1, height, width, results],
            _ => vec![results, depth],
        }
    }

    /// Where input and result begin, `above` an offset: apart, or as close as the table allows, either way.
    fn places(&self, chance: &mut Chance, above: u64) -> (u64, u64) {
        let bytes = [self.input, self.output].map(|sides| sides.iter().product::<i64>() as u64);
        let mut attributes = self.attributes();
        attributes["constants"] = json!({"1": {"name": "", "shape": self.filter_shape(), "dtype": "int8"}});
        let tensor = |id: usize, sides| json!({"id": id, "name": format!("t{id}"), "bytes": bytes[id], "shape": self.shape(sides), "dtype": "int8"});
        let graph = json!({
            "name": "", "tensors": [tensor(0, self.input), tensor(1, self.output)], "inputs": [0], "outputs": [1],
            "ops": [{"name": "", "type": self.type_name(), "inputs": [0], "outputs": [1], "attributes": attributes}],
        });
        let is_sum = self.kind == Kind::Sum;
        let ways = if is_sum {
            vec![]
        } else {
            overlaps(&json::parse(&graph.to_string()).unwrap(), OpId(0), Kernels::Emitted)
        };
        match ways.get(chance.from(0, 2) as usize) {
            Some(way) if way.is_backward => (above, above + way.distance),
            Some(way) => (above + way.distance, above),
            None => (above, above + bytes[0]),
        }
    }
}

/// What 32 bits hold of a number.
fn wrapped(value: i64) -> i64 {
    i64::from(value as i32)
}

/// Times a real number, as TFLM does: a product of 32 bits rounded half up, then a shift rounded half away from zero.
fn scaled(value: i64, real: f64) -> i64 {
    let exponent = if real == 0.0 { 0 } else { real.log2().floor() as i32 + 1 };
    let mut multiplier = (real / 2_f64.powi(exponent) * f64::from(1_u32 << 31)).round() as i64;
    let mut shift = exponent;
    if multiplier == 1 << 31 {
        (multiplier, shift) = (1 << 30, shift + 1);
    }
    if shift < -31 {
        return 0;
    }
    let high = (wrapped(value << shift.max(0)) * multiplier + (1 << 30)) >> 31;
    let right = -shift.min(0);
    if right == 0 { high } else { (high + (high >> 63) + (1 << (right - 1))) >> right }
}

/// A network of layers that have nothing to do with each other.
struct Program {
    layers: Vec<Layer>,
    source: Source,
}

impl Program {
    fn by_chance(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let mut program = Self {
            layers: vec![],
            source: Source {
                stream: None,
                graphs: vec![SourceGraph { tensors: vec![], ops: vec![], inputs: vec![], outputs: vec![] }],
                about: "layers".to_owned(),
                library: Library::None,
            },
        };
        let mut end = 0;
        while program.layers.len() < TOGETHER {
            let layer = Layer::by_chance(&mut chance);
            let (from, to) = layer.places(&mut chance, end);
            let mut alone = Self {
                layers: vec![],
                source: Source {
                    stream: None,
                    graphs: vec![SourceGraph {
                        tensors: vec![],
                        ops: vec![],
                        inputs: vec![],
                        outputs: vec![],
                    }],
                    ..program.source.clone()
                },
            };
            let ends = alone.push(layer.clone(), from, to);
            // Some are refused, because their results have too fine a scale.
            if c_code(&alone.source, "alone").is_ok() {
                program.push(layer, from, to);
                end = ends;
            }
        }
        program
    }

    /// Adds a layer; returns where its tensors end.
    fn push(&mut self, layer: Layer, from: u64, to: u64) -> u64 {
        let graph = &mut self.source.graphs[0];
        let first = graph.tensors.len();
        let scale = |scales: Vec<f32>, zero| Some(Quantization { scales, zero_points: vec![zero], axis: 0 });
        let tensor = |shape: Vec<u64>, dtype: ElementType, quantization, place| SourceTensor {
            name: "t".to_owned(),
            bytes: shape.iter().product::<u64>() * dtype.bits().unwrap() / 8,
            shape,
            dtype,
            quantization,
            place,
        };
        let bytes = |sides: [i64; 3]| sides.iter().product::<i64>() as u64;
        let mut end = (from + bytes(layer.input)).max(to + bytes(layer.output));
        let int8 = ElementType::Int8;
        graph.tensors.push(tensor(
            layer.shape(layer.input),
            int8.clone(),
            scale(vec![layer.scales.0], layer.zeros[0]),
            DataPlace::Arena(from),
        ));
        graph.tensors.push(tensor(
            layer.shape(layer.output),
            int8.clone(),
            scale(vec![layer.scales.2], layer.zeros[1]),
            DataPlace::Arena(to),
        ));
        let mut inputs = vec![Some(first)];
        if layer.kind == Kind::Sum {
            graph.tensors.push(tensor(
                layer.shape(layer.input),
                int8,
                scale(vec![layer.other.0], layer.other.1),
                DataPlace::Arena(end),
            ));
            end += bytes(layer.input);
            inputs.push(Some(first + 2));
        } else {
            let constant = layer.weights.iter().map(|weight| weight.cast_unsigned()).collect();
            graph.tensors.push(tensor(
                layer.filter_shape(),
                int8,
                Some(Quantization { scales: layer.scales.1.clone(), zero_points: vec![], axis: 0 }),
                DataPlace::Constant(constant),
            ));
            let biases = layer.bias.iter().flat_map(|bias| bias.to_le_bytes()).collect();
            graph.tensors.push(tensor(
                vec![layer.bias.len() as u64],
                ElementType::Int32,
                None,
                DataPlace::Constant(biases),
            ));
            inputs.extend([Some(first + 2), Some(first + 3)]);
        }
        let Value::Object(attributes) = layer.attributes() else { unreachable!() };
        graph.ops.push(SourceOp {
            kind: layer.type_name().to_owned(),
            inputs: inputs.clone(),
            outputs: vec![Some(first + 1)],
            attributes: attributes.into_iter().collect::<Attributes>(),
            bodies: vec![],
            scratch: None,
        });
        graph.inputs.push(first);
        if layer.kind == Kind::Sum {
            graph.inputs.push(first + 2);
        }
        graph.outputs.push(first + 1);
        self.layers.push(layer);
        end
    }

    /// Inputs of a run, and what they give, layer by layer.
    fn expected(&self, chance: &mut Chance, is_extreme: bool) -> Run {
        let (mut all, mut results) = (vec![], vec![]);
        for layer in &self.layers {
            let count = layer.input.iter().product::<i64>();
            let mut bytes = || -> Vec<i8> {
                (0..count)
                    .map(|_| {
                        if is_extreme {
                            [-128, 127][chance.next() as usize % 2]
                        } else {
                            chance.from(-128, 127) as i8
                        }
                    })
                    .collect()
            };
            let x = bytes();
            let y = if layer.kind == Kind::Sum { bytes() } else { vec![] };
            results.extend(layer.run(&x, &y));
            all.extend(x.into_iter().chain(y));
        }
        (all, results)
    }

    /// A program that feeds these inputs and tells the first result that is not as expected.
    fn written(&self, emitted: &Emitted, seed: u64, folder: &Path) {
        for (name, text) in &emitted.files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let mut chance = Chance(seed);
        let runs: Vec<Run> = (0..RUNS).map(|run| self.expected(&mut chance, run == 1)).collect();
        let list = |name: &str, of: fn(&Run) -> Vec<i8>| {
            let mut text = String::new();
            let all: Vec<Vec<i8>> = runs.iter().map(of).collect();
            let _ = writeln!(text, "static const signed char {name}[{RUNS}][{}] = {{", all[0].len());
            for one in all {
                let _ = writeln!(
                    text,
                    "{{{}}},",
                    one.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
                );
            }
            text + "};\n"
        };
        let main = format!(
            "#include <stdio.h>\n#include <string.h>\n#include \"model.h\"\n{}{}\
             #define FILL(AT, BYTES) memcpy(AT, x, BYTES), x += BYTES;\n\
             #define COMPARE(AT, BYTES) if (memcmp(AT, y, BYTES) != 0) printf(\"run %d, layer %d\\n\", run, layer), is_wrong = 1; y += BYTES, ++layer;\n\
             int main(void)\n{{\n    int is_wrong = 0;\n    for (int run = 0; run < {RUNS}; ++run) {{\n        const signed char *x = inputs[run], *y = outputs[run];\n        int layer = 0;\n        \
             NET_EACH_INPUT(FILL)\n        net_invoke();\n        NET_EACH_OUTPUT(COMPARE)\n    }}\n    printf(\"done\\n\");\n    return is_wrong;\n}}\n",
            list("inputs", |(x, _)| x.clone()),
            list("outputs", |(_, y)| y.clone()),
        );
        std::fs::write(folder.join("main.c"), main).unwrap();
    }
}

/// What the program says.
fn said(folder: &Path, compiler: &serenity_verify::Compiler, name: &str) -> String {
    let program = folder.join(name);
    let built = Command::new(&compiler.command)
        .args(["main.c", "model.c", "kernels.c"])
        .args(&compiler.flags)
        .arg("-o")
        .arg(&program)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut command = compiler.runner.iter().map(String::as_str).chain([program.to_str().unwrap()]);
    let ran = Command::new(command.next().unwrap()).args(command).output().unwrap();
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
}

#[test]
fn layers_by_chance_compute_the_same() {
    if !has("cc") {
        return;
    }
    let has_board = has("arm-none-eabi-gcc") && has("qemu-system-arm");
    let programs: Vec<u64> = (1..=if is_slow() { SLOW_PROGRAMS } else { PROGRAMS }).collect();
    let careful = "-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all";
    let packed = on_all_cores(&programs, |&seed| {
        let program = Program::by_chance(seed);
        let mut emitted = None;
        let boards = [(Library::Helium, 1, "-O3 -flto -mfloat-abi=hard -w"), (Library::None, 0, "-O2 -w")];
        for (library, board, flags) in boards {
            let code = c_code(&Source { library, ..program.source.clone() }, "net").unwrap();
            let folder = tempfile::tempdir().unwrap();
            program.written(&code, seed, folder.path());
            let mut compilers = vec![(with("cc", careful), "careful")];
            if has_board {
                compilers.push((on(&BOARDS[board], flags, folder.path()), "board"));
            }
            for (compiler, name) in compilers {
                let said = said(folder.path(), &compiler, name);
                let wrong =
                    said.lines().next().and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
                let wrong = wrong.map(|layer| &program.layers[layer]);
                assert_eq!(said.trim(), "done", "program {seed}, {library:?}, {name}: {wrong:?}");
            }
            emitted = Some(code);
        }
        let emitted = emitted.unwrap();
        let model = &emitted.files[1].1;
        KERNELS.map(|kernel| model.matches(&format!("net_{kernel}_s8(&")).count())
    });
    // All new kernels are among them, often.
    for kernel in 0..KERNELS.len() {
        let count: usize = packed.iter().map(|counts| counts[kernel]).sum();
        assert!(count >= packed.len(), "{packed:?}");
    }
}
