//! Convolutions of emitted C that make their pixels from the last to the first, which they do where the output begins
//! above the input that it lies over.
//!
//! Counted from behind, such a run is one from front to back: pixels, padding and distance change sides. In which order
//! the channels of a pixel are made is not asked: all of them count as written before the first is read.

use super::call::Call;
use super::trace::Trace;
use super::windows::Window;
use serenity_facts::Kernels;
use serenity_ir::ElementType;
use serenity_ir::Operator::{CONV_2D, DEPTHWISE_CONV_2D};

pub(super) struct Backwards {
    from_behind: Window,
    input_bytes: i64,
    output_bytes: i64,
}

impl Backwards {
    /// `None` if there is no such kernel: for other operators, other types, several pictures, channels in groups.
    pub(super) fn of(call: &Call, kernels: Kernels) -> Option<Self> {
        let (input, output) = call.only(0)?;
        let [batches, _, _, depth] = input.dims::<4>()?;
        let [_, _, _, of_filter] = <[i64; 4]>::try_from(call.shape_of(1)?).ok()?;
        let is_whole = match call.operator() {
            CONV_2D => depth == of_filter,
            DEPTHWISE_CONV_2D => true,
            _ => false,
        };
        let is_int8 = [0, 1].iter().all(|&operand| call.dtype(operand) == Some(ElementType::Int8));
        let is_there = matches!(kernels, Kernels::Emitted | Kernels::EmittedHelium)
            && is_whole
            && is_int8
            && batches == 1;
        is_there.then(|| {
            Some(Self {
                from_behind: Window::of(call, &input, &output)?.seen_from_behind(),
                input_bytes: input.count * input.item,
                output_bytes: output.count * output.item,
            })
        })?
    }

    /// The byte of the input that is written over, then read, if the output begins so far above it.
    pub(super) fn lost_byte(&self, above: i64) -> Option<i64> {
        let from_behind = self.trace(self.output_bytes + above - self.input_bytes).lost_byte()?;
        Some(self.input_bytes - 1 - from_behind)
    }

    /// From how far above on everything is safe. More than 0: where both begin together, kernels go from front to back.
    pub(super) fn least_above(&self) -> Option<u64> {
        let lead = self.trace(0).lead()?;
        u64::try_from((lead + self.input_bytes - self.output_bytes).max(1)).ok()
    }

    fn trace(&self, distance: i64) -> Trace {
        let mut trace = Trace::at(distance);
        self.from_behind.written_first(&mut trace);
        trace
    }
}
