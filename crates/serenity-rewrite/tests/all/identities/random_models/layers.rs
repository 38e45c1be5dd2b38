//! Random layers over one feature map.

use super::author::Author;
use crate::identities::sketch::affine;
use serde_json::{Value, json};
use serenity_ir::{Operand, Quantization, TensorId};

/// A window for an image of some size.
pub(super) struct Window {
    kernel: [u64; 2],
    stride: [u64; 2],
    dilation: [u64; 2],
    padding: &'static str,
}

impl Window {
    fn reach(&self, axis: usize) -> u64 {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    fn results(&self, size: [u64; 2]) -> [u64; 2] {
        [0, 1].map(|axis| {
            let room = if self.padding == "same" { size[axis] } else { size[axis] + 1 - self.reach(axis) };
            room.div_ceil(self.stride[axis])
        })
    }

    /// What `same` adds before and after.
    pub(super) fn padding_amounts(&self, size: [u64; 2]) -> [[u64; 2]; 2] {
        [0, 1].map(|axis| {
            let spanned = (size[axis].div_ceil(self.stride[axis]) - 1) * self.stride[axis] + self.reach(axis);
            let total = spanned.saturating_sub(size[axis]);
            [total / 2, total - total / 2]
        })
    }

    pub(super) fn valid(self) -> Self {
        Self { padding: "valid", ..self }
    }

    pub(super) fn fits(&self, size: [u64; 2]) -> bool {
        (0..2).all(|axis| self.reach(axis) <= size[axis])
    }

    fn attributes(&self, activation: &str) -> Value {
        json!({"kernel": self.kernel, "stride": self.stride, "padding": self.padding, "activation": activation})
    }
}

/// The typical size of what is stored in a random tensor of 8-bit integers.
const TYPICAL: f32 = 60.0;

impl Author {
    /// A window that keeps height and width.
    pub(super) fn keeping_window(&mut self) -> Window {
        let kernel = [self.rng.size(1, 3), self.rng.size(1, 3)];
        let dilation = if self.rng.one_in(4) { [2, 1] } else { [1, 1] };
        Window { kernel, stride: [1, 1], dilation, padding: "same" }
    }

    pub(super) fn any_window(&mut self, size: [u64; 2]) -> Window {
        let mut window = self.keeping_window();
        window.stride = [self.rng.size(1, 2), self.rng.size(1, 2)];
        if self.rng.one_in(2) && window.fits(size) { window.valid() } else { window }
    }

    fn any_activation(&mut self) -> &'static str {
        self.rng.choose(&["none", "none", "none", "relu", "relu6"])
    }

    /// `CONV_2D`.
    pub(super) fn convolution(
        &mut self,
        x: TensorId,
        window: &Window,
        filters: u64,
        to: Option<Quantization>,
    ) -> TensorId {
        let [_, _, _, channels] = self.shape(x);
        let [height, width] = window.kernel;
        let taps = height * width * channels;
        let operands = self.weights(x, &[filters, height, width, channels], 0, taps, to.as_ref());
        self.weighted("CONV_2D", x, window, operands, filters, to)
    }

    /// `DEPTHWISE_CONV_2D`.
    pub(super) fn depthwise(
        &mut self,
        x: TensorId,
        window: &Window,
        multiplier: u64,
        to: Option<Quantization>,
    ) -> TensorId {
        let [_, _, _, channels] = self.shape(x);
        let [height, width] = window.kernel;
        let filters = channels * multiplier;
        let operands = self.weights(x, &[1, height, width, filters], 3, height * width, to.as_ref());
        self.weighted("DEPTHWISE_CONV_2D", x, window, operands, filters, to)
    }

    fn weighted(
        &mut self,
        kind: &str,
        x: TensorId,
        window: &Window,
        operands: Vec<Operand>,
        filters: u64,
        to: Option<Quantization>,
    ) -> TensorId {
        let [batch, height, width, channels] = self.shape(x);
        let mut attributes = window.attributes(self.any_activation());
        attributes["dilation"] = json!(window.dilation);
        attributes["bias"] = json!(operands.len() == 3);
        if kind == "DEPTHWISE_CONV_2D" {
            attributes["multiplier"] = json!(filters / channels);
        }
        let [rows, columns] = window.results([height, width]);
        let made = self.sketch.op(kind, operands, attributes, &[batch, rows, columns, filters], to);
        self.made(made, &[x])
    }

    /// The operands of a convolution: data, kernel and, mostly, bias. Each sum has so many products.
    fn weights(
        &mut self,
        x: TensorId,
        shape: &[u64],
        axis: u32,
        products: u64,
        to: Option<&Quantization>,
    ) -> Vec<Operand> {
        let (count, filters) = (shape.iter().product::<u64>(), shape[axis as usize]);
        let has_bias = self.recipe.for_litert || !self.rng.one_in(3);
        let mut operands = vec![Operand::Activation(x)];
        if let (Some(from), Some(to)) = (self.quantization(x), to) {
            let unit = to.scales[0] / (from.scales[0] * TYPICAL * (products as f32).sqrt());
            let scales: Vec<f32> = (0..filters).map(|_| unit * self.rng.real(0.5, 2.0)).collect();
            let values: Vec<i8> = (0..count).map(|_| self.rng.between(-127, 127) as i8).collect();
            let zero_points = vec![0; filters as usize];
            let bias_scales = scales.iter().map(|scale| scale * from.scales[0]).collect();
            let quantization = Quantization { scales, zero_points: zero_points.clone(), axis };
            operands.push(self.sketch.int8(shape, &values, quantization));
            if has_bias {
                let values: Vec<i32> = (0..filters).map(|_| self.rng.between(-3000, 3000) as i32).collect();
                let quantization = Quantization { scales: bias_scales, zero_points, axis: 0 };
                operands.push(self.sketch.int32(&[filters], &values, Some(quantization)));
            }
        } else {
            let values = self.reals(count);
            operands.push(self.sketch.floats(shape, &values));
            if has_bias {
                let values = self.reals(filters);
                operands.push(self.sketch.floats(&[filters], &values));
            }
        }
        operands
    }

    fn reals(&mut self, count: u64) -> Vec<f32> {
        (0..count).map(|_| self.rng.real(-1.0, 1.0)).collect()
    }

    /// A function of each element.
    pub(super) fn unary(&mut self, x: TensorId, to: Option<Quantization>) -> TensorId {
        let kind = self.rng.choose(&["RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH"]);
        let attributes = if kind == "LEAKY_RELU" { json!({"alpha": 0.25}) } else { json!({}) };
        // Runtimes insist on what is stored for results of these two.
        let to = to.map(|to| match kind {
            "LOGISTIC" => affine(1.0 / 256.0, -128),
            "TANH" => affine(1.0 / 128.0, 0),
            _ => to,
        });
        let shape = self.shape(x);
        let made = self.sketch.op(kind, vec![Operand::Activation(x)], attributes, &shape, to);
        self.made(made, &[x])
    }

    pub(super) fn pool(&mut self, x: TensorId) -> TensorId {
        let [batch, height, width, channels] = self.shape(x);
        let window = Window { dilation: [1, 1], ..self.any_window([height, width]) };
        let [rows, columns] = window.results([height, width]);
        let kind = self.rng.choose(&["MAX_POOL_2D", "AVERAGE_POOL_2D"]);
        let attributes = window.attributes(self.any_activation());
        let (operands, to) = (vec![Operand::Activation(x)], self.quantization(x));
        let made = self.sketch.op(kind, operands, attributes, &[batch, rows, columns, channels], to);
        self.made(made, &[x])
    }

    /// The mean over height and width.
    pub(super) fn mean(&mut self, x: TensorId) -> TensorId {
        let [batch, _, _, channels] = self.shape(x);
        let axes = self.sketch.int32(&[2], &[1, 2], None);
        let attributes = json!({"axes": [1, 2], "keep_dims": true});
        let (operands, to) = (vec![Operand::Activation(x), axes], self.quantization(x));
        let made = self.sketch.op("MEAN", operands, attributes, &[batch, 1, 1, channels], to);
        self.made(made, &[x])
    }

    /// Zeros around the image, or, with `more_channels`, around its channels too.
    pub(super) fn pad(&mut self, x: TensorId, amounts: [[u64; 2]; 2], more_channels: [u64; 2]) -> TensorId {
        let [batch, height, width, channels] = self.shape(x);
        let sum = |pair: [u64; 2]| pair[0] + pair[1];
        let shape = [batch, height + sum(amounts[0]), width + sum(amounts[1]), channels + sum(more_channels)];
        let pairs = [[0, 0], amounts[0], amounts[1], more_channels];
        let flat: Vec<i32> = pairs.iter().flatten().map(|&amount| amount as i32).collect();
        let operands = vec![Operand::Activation(x), self.sketch.int32(&[4, 2], &flat, None)];
        let to = self.quantization(x);
        let made = self.sketch.op("PAD", operands, json!({"paddings": pairs}), &shape, to);
        self.made(made, &[x])
    }

    pub(super) fn resize(&mut self, x: TensorId) -> TensorId {
        let [batch, _, _, channels] = self.shape(x);
        let size = [self.rng.size(1, 5), self.rng.size(1, 5)];
        let kind = self.rng.choose(&["RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"]);
        let how = self.rng.choose(&[[false, false], [true, false], [false, true]]);
        let attributes = json!({"align_corners": how[0], "half_pixel_centers": how[1], "size": size});
        let operand = self.sketch.int32(&[2], &size.map(|size| size as i32), None);
        let (operands, to) = (vec![Operand::Activation(x), operand], self.quantization(x));
        let made = self.sketch.op(kind, operands, attributes, &[batch, size[0], size[1], channels], to);
        self.made(made, &[x])
    }

    /// A constant for each channel, or one for all, to multiply by or to add: what is left of a batch normalisation; or
    /// the slopes of a `PRELU`.
    pub(super) fn scale_or_shift(&mut self, x: TensorId, to: Option<Quantization>) -> TensorId {
        let shape = self.shape(x);
        let count = if self.rng.one_in(4) { 1 } else { shape[3] };
        let kind = self.rng.choose(&["MUL", "MUL", "ADD", "ADD", "SUB", "PRELU"]);
        let constant_shape = self.rng.choose(&[vec![count], vec![1, 1, 1, count]]);
        let (constant_shape, attributes) = if kind == "PRELU" {
            (vec![1, 1, count], json!({}))
        } else {
            (constant_shape, json!({"activation": self.any_activation()}))
        };
        let constant = if let (Some(from), Some(to)) = (self.quantization(x), &to) {
            let values: Vec<i8> = (0..count).map(|_| self.rng.between(-128, 127) as i8).collect();
            let scale = match kind {
                "MUL" => to.scales[0] / (from.scales[0] * TYPICAL),
                "PRELU" => 0.01,
                _ => from.scales[0] * 0.6,
            };
            let zero = self.rng.between(-5, 5);
            self.sketch.int8(&constant_shape, &values, affine(scale, zero))
        } else {
            let values = self.reals(count);
            self.sketch.floats(&constant_shape, &values)
        };
        let made = self.sketch.op(kind, vec![Operand::Activation(x), constant], attributes, &shape, to);
        self.made(made, &[x])
    }
}
