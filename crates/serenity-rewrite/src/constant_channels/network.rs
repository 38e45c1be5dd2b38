//! A network as far as channels are concerned.

/// The channels of all tensors, and what becomes of them step by step. Tensors and channels are named by their numbers; a number that is out of range
/// makes its step one of which nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// All tensors.
    pub tensors: Vec<Channels>,
    /// What is done with them, in an order that can run.
    pub steps: Vec<Step>,
}

/// The channels of a tensor.
#[derive(Clone, Debug)]
pub struct Channels {
    /// How many there are.
    pub count: usize,
    /// What is stored in them.
    pub numbers: Numbers,
    /// Must all of them stay, because somebody outside gives or takes the tensor, or nobody knows how it is read?
    pub is_fixed: bool,
}

/// What is stored in a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers {
    /// Whole numbers `q` that stand for `scale * (q - zero_point)`.
    Whole {
        /// What a step of one stands for.
        scale: f64,
        /// What stands for zero.
        zero_point: i64,
        /// The least number of the type.
        least: i64,
        /// The largest number of the type.
        most: i64,
    },
    /// Real numbers.
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

/// One operator.
#[derive(Clone, Debug)]
pub enum Step {
    /// Every channel of the result is made of all channels that are read: a convolution, a dense layer.
    Mix(Mix),
    /// A channel of the result is made of a few channels that are read, and all of these come and go together.
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
    /// By channel of the result, by channel that is read.
    pub weights: Weights,
    /// What is made of the sums.
    pub sums: Sums,
    /// Is there a bias of 32 bits to which constants can be added?
    pub takes_bias: bool,
}

/// A step that leaves channels apart.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The tensors that it reads.
    pub inputs: Vec<Tie>,
    /// The tensor that it writes.
    pub output: usize,
    /// What it makes of a channel.
    pub transfer: Transfer,
}

/// Which channels of a result belong to which that are read: channel `c` to `offset + c * step + i * stride` for all `i` below `repeats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The tensor that is read.
    pub input: usize,
    /// Where its first channel is.
    pub offset: usize,
    /// How far the next one is.
    pub step: usize,
    /// How far the next repetition is.
    pub stride: usize,
    /// How often a channel is repeated.
    pub repeats: usize,
}

impl Tie {
    /// Channel for channel.
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

/// What numbers a channel of the result can hold.
#[derive(Clone, Debug)]
pub enum Transfer {
    /// Those of the channels it belongs to, and, where borders are filled, zero.
    Copy {
        /// Are zeros added?
        adds_zero: bool,
        /// What becomes of numbers out of bounds.
        clamp: Clamp,
    },
    /// A sum of the channels it belongs to, each times 1 or -1, by what the numbers stand for. Kernels round in ways of their own, by no more than `slack` steps of the result.
    Sum {
        /// By tensor that is read.
        signs: Vec<f64>,
        /// How far kernels may be off, before they round.
        slack: f64,
        /// What becomes of numbers out of bounds.
        clamp: Clamp,
    },
    /// A sum over a window of one channel.
    Window {
        /// By channel of the result.
        weights: Weights,
        /// What is made of the sums.
        sums: Sums,
    },
    /// Any that its type can hold.
    Anything,
}

/// Sums of products with weights, and what is made of them.
#[derive(Clone, Debug)]
pub struct Sums {
    /// By channel of the result: what is added; 0 if there is no bias.
    pub bias: Vec<f64>,
    /// Do some windows reach beyond the tensor, where zeros are read?
    pub sees_border: bool,
    /// By channel of the result: what a sum of 1 becomes in steps of the result, if it is rounded as 8-bit kernels round. `None` if nothing is known but that a sum of
    /// zero becomes zero, and for real numbers.
    pub scales: Option<Vec<f64>>,
    /// What becomes of numbers out of bounds.
    pub clamp: Clamp,
}

/// Bounds of what is written, in stored numbers. Kernels may compute them differently: from the least to the largest that any of them does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// Nothing is below this.
    pub low: (f64, f64),
    /// Nothing is above this.
    pub high: (f64, f64),
}

impl Clamp {
    /// No bounds but those of the type.
    pub const NONE: Self =
        Self { low: (f64::NEG_INFINITY, f64::NEG_INFINITY), high: (f64::INFINITY, f64::INFINITY) };
}

/// Weights, summed up over the window for each pair of channels: sums of the positive ones and of the negative ones. Real weights count 1 if any is not zero.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    positive: Vec<i32>,
    negative: Vec<i32>,
    /// Of real numbers: infinite, or none at all.
    has_endless: bool,
}

impl Weights {
    /// Of whole numbers, all weights of a pair of channels after each other.
    pub fn of_taps<'w>(pairs: impl Iterator<Item = &'w [i32]>) -> Self {
        let mut weights = Self::default();
        for taps in pairs {
            weights.push(taps.iter().copied());
        }
        weights
    }

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

    /// Adds a pair of channels of real weights.
    pub fn push_real(&mut self, taps: impl Iterator<Item = f32>) {
        let mut is_used = false;
        for tap in taps {
            is_used |= tap != 0.0;
            self.has_endless |= !tap.is_finite();
        }
        self.positive.push(i32::from(is_used));
        self.negative.push(0);
    }

    /// How many pairs there are.
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
