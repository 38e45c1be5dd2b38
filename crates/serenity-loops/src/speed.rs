//! What kernels cost, in instructions.

use serenity_ir::Operator::{
    ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, MAX_POOL_2D, MUL, SUB,
};
use serenity_ir::{Call, ElementType};
use serenity_runtimes::Kernels;

/// Kernels whose cost was measured on an emulated Cortex-M4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// TFLM with Arm's CMSIS-NN.
    CmsisNn,
    /// TFLM's portable kernels.
    Reference,
    /// TFLM with the C part of Espressif's ESP-NN.
    EspNn,
    /// C without an interpreter.
    Emitted,
}

impl Measured {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::CmsisNn, Self::Reference, Self::EspNn, Self::Emitted];

    /// The kernels that a set stands for; `None` if none of it was measured. A TFLM whose kernels nobody knows
    /// is taken for one with CMSIS-NN.
    pub fn of(kernels: Kernels) -> Option<Self> {
        match kernels {
            Kernels::Any | Kernels::CmsisNn | Kernels::EmittedCmsisNn => Some(Self::CmsisNn),
            Kernels::Reference => Some(Self::Reference),
            Kernels::EspNn => Some(Self::EspNn),
            Kernels::Emitted => Some(Self::Emitted),
            _ => None,
        }
    }

    pub(crate) fn speed(self) -> &'static Speed {
        match self {
            Self::CmsisNn => &CMSIS_NN,
            Self::Reference => &REFERENCE,
            Self::EspNn => &ESP_NN,
            Self::Emitted => &EMITTED,
        }
    }
}

/// Instructions per multiply-accumulate, per element and per call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// A pointwise convolution of at most 16 channels, of at most 64, and of more: the fewer, the more overhead.
    pointwise: [f64; 3],
    /// Another convolution of a multiple of four channels, and of other numbers.
    by_four: f64,
    convolution: f64,
    depthwise: f64,
    dense: f64,
    /// A tap of a convolution of several channels, to see whether it lies in the picture.
    tap: f64,
    /// An element of a result that weights were multiplied for, to be scaled and stored.
    result: f64,
    /// An element that is computed without weights, and one for which two operands are scaled.
    element: f64,
    element_of_two: f64,
    /// A weight of a pointwise convolution, for each call: some kernels add up all weights before they multiply.
    weight: f64,
    /// An element that is cut out of one long row, that is found by its position in four dimensions, and that is carried
    /// on to the next iteration of a loop.
    pub(crate) cut: f64,
    pub(crate) found: f64,
    pub(crate) carried: f64,
    /// A call of an operator of a loop.
    pub(crate) step: f64,
}

const CMSIS_NN: Speed = Speed {
    pointwise: [5.3, 2.4, 2.0],
    by_four: 2.1,
    convolution: 5.5,
    depthwise: 8.8,
    dense: 3.2,
    tap: 0.0,
    result: 0.0,
    element: 10.0,
    element_of_two: 79.0,
    weight: 5.5,
    cut: 5.3,
    found: 13.3,
    carried: 10.7,
    step: 1700.0,
};

/// Kernels that take every tap alike.
const REFERENCE: Speed = Speed {
    pointwise: [6.5; 3],
    by_four: 6.5,
    convolution: 6.5,
    depthwise: 30.0,
    dense: 6.5,
    tap: 36.0,
    result: 120.0,
    weight: 0.0,
    ..CMSIS_NN
};

const ESP_NN: Speed = Speed {
    pointwise: [5.5; 3],
    by_four: 5.5,
    convolution: 5.5,
    depthwise: 8.0,
    dense: 5.5,
    tap: 20.0,
    result: 70.0,
    weight: 0.0,
    ..CMSIS_NN
};

/// Copies are single calls of `memcpy`, and nothing stands between two operators.
const EMITTED: Speed = Speed {
    pointwise: [1.95, 1.18, 1.09],
    by_four: 1.09,
    convolution: 2.4,
    depthwise: 4.2,
    dense: 1.7,
    tap: 0.0,
    result: 0.0,
    element: 10.0,
    element_of_two: 21.5,
    weight: 0.0,
    cut: 1.0,
    found: 1.0,
    carried: 1.0,
    step: 1300.0,
};

impl Speed {
    fn of_pointwise(&self, depth: u64) -> f64 {
        match depth {
            0..=16 => self.pointwise[0],
            17..=64 => self.pointwise[1],
            _ => self.pointwise[2],
        }
    }
}

/// How an operator computes an element of its result, as far as its cost depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer {
    /// A convolution of single pixels, with the channels that it makes and reads.
    Pointwise {
        made: f64,
        depth: u64,
    },
    /// Another convolution, with its taps and the channels that it reads.
    Convolution {
        taps: f64,
        depth: u64,
    },
    Depthwise {
        taps: f64,
    },
    Dense {
        depth: u64,
    },
    Pool {
        taps: f64,
    },
    /// Two operands are scaled.
    OfTwo,
    Other,
}

impl Layer {
    pub(crate) fn of(call: &Call) -> Self {
        let filter = call.described(1).map(|filter| filter.shape);
        let taps = |height: u64, width: u64| height as f64 * width as f64;
        match (call.operator(), filter.as_deref()) {
            (CONV_2D, Some(&[made, 1, 1, depth])) => Self::Pointwise { made: made as f64, depth },
            (CONV_2D, Some(&[_, height, width, depth])) => {
                Self::Convolution { taps: taps(height, width), depth }
            }
            (DEPTHWISE_CONV_2D, Some(&[_, height, width, _])) => {
                Self::Depthwise { taps: taps(height, width) }
            }
            (FULLY_CONNECTED, Some(&[_, depth])) => Self::Dense { depth },
            (AVERAGE_POOL_2D | MAX_POOL_2D, _) => {
                Self::Pool { taps: call.kernel().map_or(1.0, |[height, width]| taps(height, width)) }
            }
            (ADD | SUB | MUL, _) => Self::OfTwo,
            _ => Self::Other,
        }
    }

    /// The instructions of one element of the result.
    pub(crate) fn of_element(self, on: &Speed) -> f64 {
        match self {
            Self::Pointwise { depth, .. } => depth as f64 * on.of_pointwise(depth) + on.tap + on.result,
            Self::Convolution { taps, depth } => {
                let each = if depth % 4 == 0 { on.by_four } else { on.convolution };
                taps * (depth as f64 * each + on.tap) + on.result
            }
            Self::Depthwise { taps } => taps * on.depthwise + on.result,
            Self::Dense { depth } => depth as f64 * on.dense + on.result,
            Self::Pool { taps } => taps * on.element,
            Self::OfTwo => on.element_of_two,
            Self::Other => on.element,
        }
    }

    /// The instructions of a call of a kernel, however few rows there are.
    pub(crate) fn of_call(self, on: &Speed) -> f64 {
        match self {
            Self::Pointwise { made, depth } => made * depth as f64 * on.weight,
            _ => 0.0,
        }
    }

    /// Was the cost of such an operator measured? Of those that multiply, int8 alone.
    pub(crate) fn is_measured(self, call: &Call) -> bool {
        matches!(self, Self::Other) || call.dtype(0) == Some(ElementType::Int8)
    }
}
