//! Small random networks, as files.

use serde_json::{Map, Value, json};
use serenity::Format;
use serenity::ir::{
    Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor, TensorId,
};
use serenity::search::mix;
use std::collections::BTreeSet;

/// Random numbers that are the same everywhere: `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (drawn >> 11) as usize % limit
    }

    pub(crate) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    fn real(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.below(1 << 20) as f32 / (1 << 20) as f32
    }
}

/// A network in the making.
pub(crate) struct Author<'r> {
    pub(crate) random: &'r mut Random,
    graph: GraphBuilder,
    operands: Vec<Vec<Operand>>,
    constants: Vec<Constant>,
    /// What further ops may read. The inputs come first.
    pub(crate) images: Vec<TensorId>,
    inputs: usize,
    read: BTreeSet<TensorId>,
    /// Of the images.
    dtype: ElementType,
    /// `None` for floats.
    quantizations: Vec<Option<Quantization>>,
    /// The paddings of windows, one of which is drawn.
    paddings: &'static [&'static str],
}

/// A window over an image.
struct Window {
    kernel: [u64; 2],
    stride: [u64; 2],
    dilation: [u64; 2],
    padding: &'static str,
}

impl Window {
    fn makes(&self, size: [u64; 2]) -> Option<[u64; 2]> {
        let side = |side: usize| {
            let extent = (self.kernel[side] - 1) * self.dilation[side] + 1;
            if self.padding == "same" {
                Some(size[side].div_ceil(self.stride[side]))
            } else {
                Some(size[side].checked_sub(extent)? / self.stride[side] + 1)
            }
        };
        Some([side(0)?, side(1)?])
    }
}

/// The bytes of a `.tflite` file with row-local operators.
pub(crate) fn network(random: &mut Random, dtype: ElementType) -> Vec<u8> {
    let mut author = Author::new(random, dtype);
    // Now and then a line, along which time goes.
    let (long, short) = (author.random.between(6, 24) as u64, author.random.between(3, 9) as u64);
    let size = author.random.of(&[[long, short], [long, short], [long, short], [1, long], [long, 1]]);
    author.input(size);
    if author.random.one_in(4) {
        author.input(size);
    }
    let ops = 3 + author.random.below(6);
    while author.operands.len() < ops {
        author.layer();
    }
    author.finish(12)
}

/// The bytes of a `.tflite` file whose input has time along its rows: long enough that windows which slide have much in
/// common.
pub(crate) fn network_over_time(random: &mut Random, dtype: ElementType) -> Vec<u8> {
    over_time(Author::new(random, dtype))
}

/// A network over time whose windows are hardly ever padded.
pub(crate) fn unpadded_over_time(random: &mut Random, dtype: ElementType) -> Vec<u8> {
    over_time(Author { paddings: &["valid"], ..Author::new(random, dtype) })
}

fn over_time(mut author: Author) -> Vec<u8> {
    let size = [author.random.between(16, 48) as u64, author.random.between(1, 5) as u64];
    author.input(size);
    let ops = 2 + author.random.below(7);
    while author.operands.len() < ops {
        author.layer();
    }
    author.finish(12)
}

fn affine(scale: f32, zero: i64) -> Quantization {
    Quantization { scales: vec![scale], zero_points: vec![zero], axis: 0 }
}

impl<'r> Author<'r> {
    /// A network of images of this type; integers have one of two scales.
    pub(crate) fn new(random: &'r mut Random, dtype: ElementType) -> Self {
        let quantizations = match dtype {
            ElementType::Int8 => {
                (0..2).map(|_| Some(affine(random.real(0.03, 0.09), random.between(-60, 60)))).collect()
            }
            ElementType::Int16 => (0..2).map(|_| Some(affine(random.real(1e-4, 3e-4), 0))).collect(),
            _ => vec![None],
        };
        Author {
            random,
            graph: GraphBuilder::new("random"),
            operands: Vec::new(),
            constants: Vec::new(),
            images: Vec::new(),
            inputs: 0,
            read: BTreeSet::new(),
            dtype,
            quantizations,
            paddings: &["same", "same", "valid"],
        }
    }

    pub(crate) fn input(&mut self, [height, width]: [u64; 2]) {
        let shape = [1, height, width, self.random.between(1, 6) as u64];
        let to = self.any_quantization();
        let tensor = self.tensor(&format!("input{}", self.images.len()), &shape, to);
        let id = self.graph.input(tensor);
        self.images.push(id);
        self.inputs += 1;
    }

    /// All images that nobody reads are results, and one in `n` of the others.
    pub(crate) fn finish(mut self, n: usize) -> Vec<u8> {
        for &image in &self.images[self.inputs..] {
            if !self.read.contains(&image) || self.random.one_in(n) {
                self.graph.output(image);
            }
        }
        let model = Model::new(self.graph.build().unwrap(), self.operands, self.constants).unwrap();
        Format::TfLite.create(&model).unwrap()
    }

    fn tensor(&self, name: &str, shape: &[u64], quantization: Option<Quantization>) -> Tensor {
        Tensor { quantization, ..Tensor::shaped(name, shape.to_vec(), self.dtype.clone()).unwrap() }
    }

    /// The images that nobody reads, without the inputs.
    pub(crate) fn unread(&self) -> Vec<TensorId> {
        let images = self.images[self.inputs..].iter().copied();
        images.filter(|image| !self.read.contains(image)).collect()
    }

    pub(crate) fn last(&self) -> TensorId {
        self.images[self.images.len() - 1]
    }

    pub(crate) fn any_quantization(&mut self) -> Option<Quantization> {
        self.random.of(&self.quantizations)
    }

    pub(crate) fn shape(&self, image: TensorId) -> [u64; 4] {
        self.graph.get(image).shape.as_deref().unwrap().try_into().unwrap()
    }

    pub(crate) fn quantization(&self, image: TensorId) -> Option<Quantization> {
        self.graph.get(image).quantization.clone()
    }

    fn constant(
        &mut self,
        shape: &[u64],
        dtype: ElementType,
        to: Option<Quantization>,
        data: Vec<u8>,
    ) -> Operand {
        let name = format!("constant{}", self.constants.len());
        self.constants.push(Constant { name, shape: shape.to_vec(), dtype, quantization: to, data });
        Operand::Constant(self.constants.len() - 1)
    }

    pub(crate) fn int32(&mut self, shape: &[u64], values: &[i64]) -> Operand {
        let data = values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect();
        self.constant(shape, ElementType::Int32, None, data)
    }

    pub(crate) fn op(
        &mut self,
        kind: &str,
        operands: Vec<Operand>,
        attributes: Value,
        shape: &[u64],
        to: Option<Quantization>,
    ) {
        let Value::Object(attributes) = attributes else { unreachable!("attributes are an object") };
        let name = format!("{}{}", kind.to_lowercase(), self.operands.len());
        let output = self.tensor(&name, shape, to);
        let output = self.graph.tensor(output);
        let activation = |operand: &Operand| match operand {
            Operand::Activation(tensor) => Some(*tensor),
            Operand::Constant(_) => None,
        };
        let inputs: Vec<TensorId> = operands.iter().filter_map(activation).collect();
        self.read.extend(&inputs);
        self.images.push(output);
        let kind = OpKind::new(kind);
        self.graph.push_op(Op { name, kind, inputs, outputs: vec![output], attributes, extra: Map::new() });
        self.operands.push(operands);
    }

    /// One more op, over the last image or an older one; nothing if what was drawn does not fit.
    fn layer(&mut self) {
        let x = if self.random.one_in(5) { self.random.of(&self.images) } else { self.last() };
        let shape = self.shape(x);
        let drawn = self.random.below(15);
        // Few kernels know images of 16 bits.
        if self.dtype == ElementType::Int16 && (9..=14).contains(&drawn) {
            return;
        }
        match drawn {
            0..=2 => self.convolution(x, false),
            3..=4 => self.convolution(x, true),
            5 => self.pool(x),
            6..=7 => self.together(x),
            8 => self.pad(x),
            9 => self.scale(x),
            10 if shape[1].max(shape[2]) > 4 => self.crop(x),
            11..=12 if shape[1].max(shape[2]) <= 16 => self.resize(x),
            13 if shape[1].min(shape[2]) == 1 => self.reshape(x),
            _ => self.unary(x),
        }
    }

    fn window(&mut self) -> Window {
        let kernel = [self.random.of(&[1, 2, 3, 3, 5]), self.random.of(&[1, 2, 3])];
        let stride =
            if self.random.one_in(3) { self.random.of(&[[2, 1], [2, 2], [1, 2], [3, 2]]) } else { [1, 1] };
        let dilation = if stride == [1, 1] && self.random.one_in(4) {
            self.random.of(&[[2, 1], [2, 2], [1, 2]])
        } else {
            [1, 1]
        };
        Window { kernel, stride, dilation, padding: self.random.of(self.paddings) }
    }

    /// What a window makes of an image, if there is something left.
    fn made(&self, x: TensorId, window: &Window) -> Option<[u64; 2]> {
        let [_, height, width, _] = self.shape(x);
        let is_line = height == 1;
        let is_left = |made: &[u64; 2]| if is_line { made[1] >= 3 } else { made[0] >= 3 && made[1] >= 1 };
        window.makes([height, width]).filter(is_left)
    }

    fn activation(&mut self) -> &'static str {
        self.random.of(&["none", "none", "relu", "relu6"])
    }

    pub(crate) fn convolution(&mut self, x: TensorId, is_depthwise: bool) {
        let window = self.window();
        let Some([rows, columns]) = self.made(x, &window) else { return };
        let [_, _, _, channels] = self.shape(x);
        let multiplier = if channels <= 4 && self.random.one_in(4) { 2 } else { 1 };
        let filters = if is_depthwise { channels * multiplier } else { self.random.between(1, 7) as u64 };
        let [height, width] = window.kernel;
        let (filter, axis) = if is_depthwise {
            ([1, height, width, filters], 3)
        } else {
            ([filters, height, width, channels], 0)
        };
        let to = self.any_quantization();
        let operands = self.weights(x, &filter, axis, to.as_ref());
        let mut attributes = json!({"kernel": window.kernel, "stride": window.stride, "padding": window.padding,
            "activation": self.activation(), "dilation": window.dilation, "bias": true});
        let kind = if is_depthwise {
            attributes["multiplier"] = json!(multiplier);
            "DEPTHWISE_CONV_2D"
        } else {
            "CONV_2D"
        };
        self.op(kind, operands, attributes, &[1, rows, columns, filters], to);
    }

    fn weights(&mut self, x: TensorId, shape: &[u64], axis: u32, to: Option<&Quantization>) -> Vec<Operand> {
        let (count, filters) = (shape.iter().product::<u64>(), shape[axis as usize]);
        let mut operands = vec![Operand::Activation(x)];
        if let (Some(from), Some(to)) = (self.quantization(x), to) {
            let products = count as f32 / filters as f32;
            let unit = to.scales[0] / (from.scales[0] * 60.0 * products.sqrt());
            let scales: Vec<f32> = (0..filters).map(|_| unit * self.random.real(0.5, 2.0)).collect();
            let data = (0..count).map(|_| self.random.between(-127, 127) as i8 as u8).collect();
            let zero_points = vec![0; filters as usize];
            let of_bias = Quantization {
                scales: scales.iter().map(|scale| scale * from.scales[0]).collect(),
                zero_points: zero_points.clone(),
                axis: 0,
            };
            let of_filter = Quantization { scales, zero_points, axis };
            operands.push(self.constant(shape, ElementType::Int8, Some(of_filter), data));
            let bias: Vec<i64> = (0..filters).map(|_| self.random.between(-3000, 3000)).collect();
            let (dtype, bias) = if self.dtype == ElementType::Int16 {
                (ElementType::Int64, bias.iter().flat_map(|bias| bias.to_le_bytes()).collect())
            } else {
                (ElementType::Int32, bias.iter().flat_map(|&bias| (bias as i32).to_le_bytes()).collect())
            };
            operands.push(self.constant(&[filters], dtype, Some(of_bias), bias));
        } else {
            operands.push(self.floats(shape));
            operands.push(self.floats(&[filters]));
        }
        operands
    }

    fn floats(&mut self, shape: &[u64]) -> Operand {
        let count = shape.iter().product::<u64>();
        let data = (0..count).flat_map(|_| self.random.real(-1.0, 1.0).to_le_bytes()).collect();
        self.constant(shape, ElementType::Float32, None, data)
    }

    pub(crate) fn pool(&mut self, x: TensorId) {
        let window = Window { dilation: [1, 1], ..self.window() };
        let Some([rows, columns]) = self.made(x, &window) else { return };
        let channels = self.shape(x)[3];
        let kind = self.random.of(&["MAX_POOL_2D", "AVERAGE_POOL_2D"]);
        let attributes = json!({"kernel": window.kernel, "stride": window.stride, "padding": window.padding,
            "activation": self.activation()});
        let to = self.quantization(x);
        self.op(kind, vec![Operand::Activation(x)], attributes, &[1, rows, columns, channels], to);
    }

    /// A sum with, or a concatenation beside, another image of the same size.
    pub(crate) fn together(&mut self, x: TensorId) {
        let shape = self.shape(x);
        let is_sum = self.random.one_in(2);
        let fits = |other: [u64; 4]| other[..3] == shape[..3] && (!is_sum || other[3] == shape[3]);
        // Side by side they are only put if they mean the same.
        let mean_the_same = |t| is_sum || self.quantization(t) == self.quantization(x);
        let partners = self.images.iter().copied();
        let partners: Vec<TensorId> =
            partners.filter(|&t| t != x && fits(self.shape(t)) && mean_the_same(t)).collect();
        if partners.is_empty() {
            return;
        }
        let other = self.random.of(&partners);
        let both = vec![Operand::Activation(x), Operand::Activation(other)];
        let [_, height, width, channels] = shape;
        if is_sum {
            let (kind, to) = (self.random.of(&["ADD", "MUL", "SUB"]), self.any_quantization());
            let attributes = json!({"activation": self.activation()});
            self.op(kind, both, attributes, &shape, to);
        } else {
            let (depth, to) = (channels + self.shape(other)[3], self.quantization(x));
            if depth <= 12 {
                let attributes = json!({"axis": 3, "activation": "none"});
                self.op("CONCATENATION", both, attributes, &[1, height, width, depth], to);
            }
        }
    }

    pub(crate) fn pad(&mut self, x: TensorId) {
        let [_, height, width, channels] = self.shape(x);
        let mut amount = || self.random.below(3) as u64;
        let (left, right) = (amount(), amount());
        let [top, bottom] = if height == 1 { [0, 0] } else { [amount(), amount()] };
        let values = [0, 0, top, bottom, left, right, 0, 0].map(|amount| amount as i64);
        let operands = vec![Operand::Activation(x), self.int32(&[4, 2], &values)];
        let shape = [1, height + top + bottom, width + left + right, channels];
        let pairs: Vec<&[i64]> = values.chunks(2).collect();
        let to = self.quantization(x);
        self.op("PAD", operands, json!({"paddings": pairs}), &shape, to);
    }

    fn crop(&mut self, x: TensorId) {
        let [_, height, width, channels] = self.shape(x);
        let (most_above, most_before) = if height == 1 { (0, 2) } else { (2, 1.min(width as usize - 1)) };
        let (top, left) =
            (self.random.below(most_above + 1) as u64, self.random.below(most_before + 1) as u64);
        let vector = |values: [u64; 4]| values.map(|value| value as i64);
        let operands = vec![
            Operand::Activation(x),
            self.int32(&[4], &vector([0, top, left, 0])),
            self.int32(&[4], &vector([1, height, width, channels])),
            self.int32(&[4], &[1; 4]),
        ];
        let masks: Map<String, Value> =
            ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
                .iter()
                .map(|&mask| (mask.to_owned(), json!(0)))
                .collect();
        let to = self.quantization(x);
        self.op("STRIDED_SLICE", operands, masks.into(), &[1, height - top, width - left, channels], to);
    }

    /// Each row several times, and columns as they come.
    fn resize(&mut self, x: TensorId) {
        let [_, height, width, channels] = self.shape(x);
        let times = self.random.of(&[1, 2, 2, 3]);
        let columns = self.random.of(&[width, 2 * width, width + 2]);
        let size = if height == 1 { [1, width * times] } else { [height * times, columns.min(12)] };
        let operands = vec![Operand::Activation(x), self.int32(&[2], &size.map(|side| side as i64))];
        let attributes =
            json!({"size": size, "align_corners": false, "half_pixel_centers": self.random.one_in(2)});
        let to = self.quantization(x);
        self.op("RESIZE_NEAREST_NEIGHBOR", operands, attributes, &[1, size[0], size[1], channels], to);
    }

    /// A line in another shape, by way of three dimensions.
    fn reshape(&mut self, x: TensorId) {
        let [_, height, width, channels] = self.shape(x);
        let (long, to) = (height.max(width), self.quantization(x));
        self.moved("RESHAPE", x, &[1, long, channels], 0);
        let line = self.last();
        self.op("RELU", vec![Operand::Activation(line)], json!({}), &[1, long, channels], to);
        let line = self.last();
        if self.random.one_in(2) {
            self.moved("EXPAND_DIMS", line, &[1, 1, long, channels], 1);
        } else {
            self.moved("RESHAPE", line, &[1, long, 1, channels], 0);
        }
        // Other operators want images of four dimensions.
        let made = self.images.len();
        self.images.drain(made - 3..made - 1);
    }

    fn moved(&mut self, kind: &str, x: TensorId, shape: &[u64], axis: i64) {
        let sides: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
        let (operand, attributes) = if kind == "RESHAPE" {
            (self.int32(&[sides.len() as u64], &sides), json!({"new_shape": sides}))
        } else {
            (self.int32(&[], &[axis]), json!({"axis": axis}))
        };
        let to = self.quantization(x);
        self.op(kind, vec![Operand::Activation(x), operand], attributes, shape, to);
    }

    /// A constant for each channel, to multiply by or to add.
    pub(crate) fn scale(&mut self, x: TensorId) {
        let shape = self.shape(x);
        let kind = self.random.of(&["MUL", "ADD", "PRELU"]);
        let of = if kind == "PRELU" { vec![1, 1, shape[3]] } else { vec![shape[3]] };
        self.with_constant(x, kind, &of);
    }

    /// Multiplied by or added to random numbers of this shape.
    pub(crate) fn with_constant(&mut self, x: TensorId, kind: &str, of: &[u64]) {
        let to = self.any_quantization();
        let constant = if let (Some(from), Some(to)) = (self.quantization(x), &to) {
            let data = (0..of.iter().product()).map(|_| self.random.between(-128, 127) as i8 as u8).collect();
            let scale = if kind == "ADD" { from.scales[0] } else { to.scales[0] / (from.scales[0] * 60.0) };
            let zero = self.random.between(-5, 5);
            self.constant(of, ElementType::Int8, Some(affine(scale, zero)), data)
        } else {
            self.floats(of)
        };
        let attributes = if kind == "PRELU" { json!({}) } else { json!({"activation": self.activation()}) };
        let shape = self.shape(x);
        self.op(kind, vec![Operand::Activation(x), constant], attributes, &shape, to);
    }

    pub(crate) fn unary(&mut self, x: TensorId) {
        let kind = self.random.of(&["RELU", "RELU6", "LEAKY_RELU", "LOGISTIC"]);
        let attributes = if kind == "LEAKY_RELU" { json!({"alpha": 0.25}) } else { json!({}) };
        let to = self.any_quantization();
        // The runtime insists on what is stored for results of this one.
        let to = if kind == "LOGISTIC" { to.map(|_| affine(1.0 / 256.0, -128)) } else { to };
        let shape = self.shape(x);
        self.op(kind, vec![Operand::Activation(x)], attributes, &shape, to);
    }
}

/// What came of a network that computes the same as before.
pub(crate) const EQUAL: &str = "equal";

/// Why a network was refused, without the names and numbers in it, so that reasons can be counted.
pub(crate) fn reason(error: &serenity::Error) -> String {
    let text = error.to_string();
    let parts = text.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "…" });
    parts.collect::<String>().replace(|c: char| c.is_ascii_digit(), "")
}

/// How often something came of networks, the most frequent first.
pub(crate) fn tally(outcomes: &[String]) -> String {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let lines: Vec<String> = counts.iter().map(|(outcome, count)| format!("{count:>6}  {outcome}")).collect();
    lines.join("\n")
}
