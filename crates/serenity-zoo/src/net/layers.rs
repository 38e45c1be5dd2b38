//! The layers.

use super::{Feature, Net, Window, attributes};
use serde_json::{Value, json};
use serenity_ir::Attributes;

/// What is applied to every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    None,
    Relu,
    Relu6,
}

impl Activation {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relu => "relu",
            Self::Relu6 => "relu6",
        }
    }
}

/// A convolution but for its number of filters: geometry, and what is fused into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv {
    window: Window,
    input_activation: Activation,
    activation: Activation,
    bias: bool,
}

impl Conv {
    /// Square, stride 1, padded to keep the size, with a bias, nothing fused.
    pub(crate) const fn square(size: u64) -> Self {
        Self::with(Window::square(size))
    }

    /// With a bias, nothing fused.
    pub(crate) const fn with(window: Window) -> Self {
        Self { window, input_activation: Activation::None, activation: Activation::None, bias: true }
    }

    pub(crate) const fn stride(self, stride: u64) -> Self {
        Self { window: self.window.stride(stride), ..self }
    }

    pub(crate) const fn dilation(self, dilation: u64) -> Self {
        Self { window: Window { dilation: [dilation, dilation], ..self.window }, ..self }
    }

    /// Applies `activation` to the result.
    pub(crate) const fn then(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Applies `activation` to what it reads.
    pub(crate) const fn after(self, activation: Activation) -> Self {
        Self { input_activation: activation, ..self }
    }

    /// For a convolution that no batch normalisation follows.
    pub(crate) const fn without_bias(self) -> Self {
        Self { bias: false, ..self }
    }

    fn attributes(&self) -> Attributes {
        let mut result = Attributes::new();
        self.window.describe(&mut result);
        result.insert("dilation".to_owned(), json!(self.window.dilation));
        if self.input_activation != Activation::None {
            result.insert("input_activation".to_owned(), json!(self.input_activation.name()));
        }
        result.insert("activation".to_owned(), json!(self.activation.name()));
        result.insert("bias".to_owned(), json!(self.bias));
        result
    }
}

/// How a pool summarises its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    Average,
    Max,
}

/// The factor of one input of a weighted sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InputWeight {
    /// A parameter of the network.
    Learned,
    Fixed(f64),
}

impl InputWeight {
    fn to_json(weights: &[Self]) -> Value {
        let one = |weight: &Self| match weight {
            Self::Learned => json!("learned"),
            Self::Fixed(factor) => json!(factor),
        };
        weights.iter().map(one).collect()
    }
}

impl Net {
    /// `CONV_2D`.
    pub(crate) fn conv(&mut self, name: &str, x: Feature, filters: u64, conv: Conv) -> Feature {
        let [height, width] = conv.window.output_size(x.height, x.width);
        self.emit_map(name, "CONV_2D", &[x], [height, width, filters], conv.attributes())
    }

    /// `DEPTHWISE_CONV_2D`, one filter per channel.
    pub(crate) fn depthwise(&mut self, name: &str, x: Feature, conv: Conv) -> Feature {
        let [height, width] = conv.window.output_size(x.height, x.width);
        let mut attributes = conv.attributes();
        attributes.insert("multiplier".to_owned(), json!(1));
        self.emit_map(name, "DEPTHWISE_CONV_2D", &[x], [height, width, x.channels], attributes)
    }

    /// `SEPARABLE_CONV_2D`: the depthwise part has the geometry of `conv` and no bias, the pointwise part the rest.
    pub(crate) fn separable(&mut self, name: &str, x: Feature, filters: u64, conv: Conv) -> Feature {
        let [height, width] = conv.window.output_size(x.height, x.width);
        self.emit_map(name, "SEPARABLE_CONV_2D", &[x], [height, width, filters], conv.attributes())
    }

    /// `SEPARABLE_CONV_2D` of the sum of several feature maps of one shape, each with a learned factor.
    pub(crate) fn separable_of_sum(
        &mut self,
        name: &str,
        xs: &[Feature],
        filters: u64,
        conv: Conv,
    ) -> Feature {
        let [height, width] = conv.window.output_size(xs[0].height, xs[0].width);
        let mut attributes = conv.attributes();
        let weights = vec![InputWeight::Learned; xs.len()];
        attributes.insert("input_weights".to_owned(), InputWeight::to_json(&weights));
        self.emit_map(name, "SEPARABLE_CONV_2D", xs, [height, width, filters], attributes)
    }

    /// `AVERAGE_POOL_2D` (which leaves padding out of the average) or `MAX_POOL_2D`.
    pub(crate) fn pool(&mut self, name: &str, x: Feature, pool: Pool, window: Window) -> Feature {
        let kind = match pool {
            Pool::Average => "AVERAGE_POOL_2D",
            Pool::Max => "MAX_POOL_2D",
        };
        let [height, width] = window.output_size(x.height, x.width);
        let mut attributes = attributes([("activation", json!("none"))]);
        window.describe(&mut attributes);
        self.emit_map(name, kind, &[x], [height, width, x.channels], attributes)
    }

    /// `RELU`.
    pub(crate) fn relu(&mut self, name: &str, x: Feature) -> Feature {
        self.emit_map(name, "RELU", &[x], [x.height, x.width, x.channels], attributes([]))
    }

    /// `ADD`.
    pub(crate) fn add(&mut self, name: &str, x: Feature, y: Feature) -> Feature {
        let shape = [x.height, x.width, x.channels];
        self.emit_map(name, "ADD", &[x, y], shape, attributes([("activation", json!("none"))]))
    }

    /// `ADD`, or `ADD_N` if there are more than two, of feature maps of one shape, each with its factor.
    pub(crate) fn weighted_sum(
        &mut self,
        name: &str,
        xs: &[Feature],
        weights: &[InputWeight],
        activation: Activation,
    ) -> Feature {
        let kind = if xs.len() == 2 { "ADD" } else { "ADD_N" };
        let attributes = attributes([
            ("input_weights", InputWeight::to_json(weights)),
            ("activation", json!(activation.name())),
        ]);
        self.emit_map(name, kind, xs, [xs[0].height, xs[0].width, xs[0].channels], attributes)
    }

    /// `CONCATENATION` of the channels.
    pub(crate) fn concat(&mut self, name: &str, xs: &[Feature]) -> Feature {
        let channels = xs.iter().map(|x| x.channels).sum();
        let attributes = attributes([("axis", json!(3)), ("activation", json!("none"))]);
        self.emit_map(name, "CONCATENATION", xs, [xs[0].height, xs[0].width, channels], attributes)
    }

    /// `PAD`: zeros below and to the right.
    pub(crate) fn pad(&mut self, name: &str, x: Feature, below: u64, right: u64) -> Feature {
        let shape = [x.height + below, x.width + right, x.channels];
        let paddings = json!([[0, 0], [0, below], [0, right], [0, 0]]);
        self.emit_map(name, "PAD", &[x], shape, attributes([("paddings", paddings)]))
    }

    /// `STRIDED_SLICE`: all but the first row and the first column.
    pub(crate) fn without_first_row_and_column(&mut self, name: &str, x: Feature) -> Feature {
        let shape = [x.height.saturating_sub(1), x.width.saturating_sub(1), x.channels];
        let attributes = attributes([
            ("begin", json!([0, 1, 1, 0])),
            ("end", json!([1, x.height, x.width, x.channels])),
            ("strides", json!([1, 1, 1, 1])),
        ]);
        self.emit_map(name, "STRIDED_SLICE", &[x], shape, attributes)
    }

    /// The usual end: global average (`MEAN`), `FULLY_CONNECTED`, `SOFTMAX`.
    pub(crate) fn classifier(&mut self, x: Feature, classes: u64) -> Feature {
        let flat = |id, channels| Feature { id, height: 1, width: 1, channels };
        let mean = attributes([("axis", json!([1, 2])), ("keep_dims", json!(false))]);
        let pooled = self.emit("head/pool", "MEAN", &[x], vec![1, x.channels], mean);
        let dense = attributes([("activation", json!("none")), ("bias", json!(true))]);
        let logits =
            self.emit("head/logits", "FULLY_CONNECTED", &[flat(pooled, x.channels)], vec![1, classes], dense);
        let beta = attributes([("beta", json!(1.0))]);
        flat(self.emit("head/softmax", "SOFTMAX", &[flat(logits, classes)], vec![1, classes], beta), classes)
    }
}
