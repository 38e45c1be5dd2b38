//! The channels of a network and how its steps connect them.

/// The channels of all tensors, and the steps that connect them. Tensors and channels are named by their indices; a
/// step with an index out of range counts as opaque.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// All tensors.
    pub tensors: Vec<Channels>,
    /// The steps, in an order in which they can run.
    pub steps: Vec<Step>,
}

/// The channels of a tensor.
#[derive(Clone, Debug)]
pub struct Channels {
    /// The number of channels.
    pub count: usize,
    /// The numbers that are stored in them.
    pub numbers: Numbers,
    /// Must all channels stay, because the tensor is an input or output of the network, or because it is not known how
    /// it is read?
    pub is_fixed: bool,
}

/// The numbers that are stored in a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers {
    /// Integers `q` that stand for `scale * (q - zero_point)`.
    Whole {
        /// The value of one step.
        scale: f64,
        /// The integer that stands for zero.
        zero_point: i64,
        /// The least integer of the type.
        least: i64,
        /// The largest integer of the type.
        most: i64,
    },
    /// Floats.
    Real,
}

impl Numbers {
    /// What is stored for zero.
    pub(super) fn zero(self) -> f64 {
        match self {
            Self::Whole { zero_point, .. } => zero_point as f64,
            Self::Real => 0.0,
        }
    }

    /// What a stored step of one stands for.
    pub(super) fn scale(self) -> f64 {
        match self {
            Self::Whole { scale, .. } => scale,
            Self::Real => 1.0,
        }
    }
}

/// One operator, as far as channels are concerned.
#[derive(Clone, Debug)]
pub enum Step {
    /// Every channel of the result depends on all channels of the input: a convolution, a dense layer.
    Mix(Mix),
    /// A channel of the result depends on a few channels of the inputs, which must all stay or go together with it.
    Apart(Apart),
    /// Nothing is known but the tensors that it reads and writes.
    Opaque(Vec<usize>),
}

/// A step that sums over all channels.
#[derive(Clone, Debug)]
pub struct Mix {
    /// The tensor that it reads.
    pub input: usize,
    /// The tensor that it writes.
    pub output: usize,
    /// The weights, by channel of the result and channel of the input.
    pub weights: Weights,
    /// What the step does with the sums.
    pub sums: Sums,
    /// Is there a 32-bit bias to which constants can be added?
    pub takes_bias: bool,
}

/// A step that keeps channels separate.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The tensors that it reads.
    pub inputs: Vec<Tie>,
    /// The tensor that it writes.
    pub output: usize,
    /// What the step does with a channel.
    pub transfer: Transfer,
}

/// Which channels of an input belong to a channel of the result: to channel `c` belong `offset + c * step + i * stride`
/// for all `i` below `repeats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The tensor that is read.
    pub input: usize,
    /// The index of its first channel.
    pub offset: usize,
    /// The distance to the next channel.
    pub step: usize,
    /// The distance to the next repetition.
    pub stride: usize,
    /// How often a channel is repeated.
    pub repeats: usize,
}

impl Tie {
    /// A tie of each channel to the channel of the same index.
    pub fn same(input: usize) -> Self {
        Self { input, offset: 0, step: 1, stride: 0, repeats: 1 }
    }

    /// The channels of the result that belong to one that is read; `None` where a number is too large to be one.
    pub(super) fn results(self, channel: usize) -> impl Iterator<Item = Option<usize>> {
        (0..self.repeats).map(move |i| {
            let first = self.offset.checked_add(channel.checked_mul(self.step)?)?;
            first.checked_add(i.checked_mul(self.stride)?)
        })
    }
}

/// The numbers that a channel of the result can hold.
#[derive(Clone, Debug)]
pub enum Transfer {
    /// Those of the channels it belongs to and, if borders are filled, zero.
    Copy {
        /// Are borders filled with zeros?
        adds_zero: bool,
        /// The bounds of the result.
        clamp: Clamp,
    },
    /// A sum of the channels it belongs to, each times 1 or -1, in real values. Kernels round in different ways, by at
    /// most `slack` steps of the result.
    Sum {
        /// The sign of each input.
        signs: Vec<f64>,
        /// How far kernels may be off before they round.
        slack: f64,
        /// The bounds of the result.
        clamp: Clamp,
    },
    /// A sum over a window of one channel.
    Window {
        /// The weights, by channel of the result.
        weights: Weights,
        /// What the step does with the sums.
        sums: Sums,
    },
    /// Any number of its type.
    Anything,
}

/// Sums of products with weights, and how they are rounded.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The bias of each channel of the result; 0 if there is none.
    pub bias: Vec<f64>,
    /// Do some windows reach beyond the tensor, where they read zeros?
    pub sees_border: bool,
    /// Per channel of the result: what a sum of 1 becomes in steps of the result, if it is rounded as 8-bit kernels
    /// round. `None` for floats, and if it is only known that a sum of zero becomes zero.
    pub scales: Option<Vec<f64>>,
    /// The bounds of the result.
    pub clamp: Clamp,
}

/// The bounds of a result, in stored numbers. Kernels may compute them differently: each is given as the least and the
/// largest value of any kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// The lower bound.
    pub low: (f64, f64),
    /// The upper bound.
    pub high: (f64, f64),
}

impl Clamp {
    /// Only the bounds of the type.
    pub const NONE: Self =
        Self { low: (f64::NEG_INFINITY, f64::NEG_INFINITY), high: (f64::INFINITY, f64::INFINITY) };
}

/// Weights, summed over the window per pair of channels: the sum of the positive ones and of the negative ones. Float
/// weights count 1 if any is not zero.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    positive: Vec<i32>,
    negative: Vec<i32>,
    /// Is a float weight infinite or NaN?
    has_endless: bool,
}

impl Weights {
    /// Adds a pair of channels.
    pub fn push(&mut self, taps: impl Iterator<Item = i32>) {
        let (mut positive, mut negative) = (0_i32, 0_i32);
        for tap in taps {
            positive = positive.saturating_add(tap.max(0));
            negative = negative.saturating_add(tap.min(0));
        }
        self.positive.push(positive);
        self.negative.push(negative);
    }

    /// Adds a pair of channels with float weights.
    pub fn push_real(&mut self, taps: impl Iterator<Item = f32>) {
        let mut is_used = false;
        for tap in taps {
            is_used |= tap != 0.0;
            self.has_endless |= !tap.is_finite();
        }
        self.positive.push(i32::from(is_used));
        self.negative.push(0);
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.positive.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.positive.is_empty()
    }

    /// Are all of them numbers that products of zero vanish with?
    pub(super) fn are_finite(&self) -> bool {
        !self.has_endless
    }

    /// The sums of the positive and of the negative weights of a pair; a sum that is at its limit may be more.
    pub(super) fn pair(&self, index: usize) -> (f64, f64) {
        let at = |sums: &[i32]| sums.get(index).copied().unwrap_or(i32::MAX);
        (f64::from(at(&self.positive)), f64::from(at(&self.negative)))
    }

    /// Are all weights of a pair zero?
    pub(super) fn is_zero(&self, index: usize) -> bool {
        self.pair(index) == (0.0, 0.0)
    }
}
