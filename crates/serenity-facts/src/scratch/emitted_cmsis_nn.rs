//! What C that calls CMSIS-NN needs besides its tensors: what the functions of the library ask for. The sums of weights
//! that dense layers want on cores with vectors are constants; the kernels of emitted C need nothing.

use super::{cmsis_nn, cmsis_nn_mve};
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType};

/// May emitted C call a function of CMSIS-NN for this? Only for 8-bit integers.
pub fn may_call(call: &Call) -> bool {
    let is_known = matches!(
        call.operator(),
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED | AVERAGE_POOL_2D | MAX_POOL_2D | ADD | MUL | SOFTMAX
    );
    is_known && call.described(0).is_some_and(|input| input.is(&ElementType::Int8))
}

/// On cores without vectors.
pub(crate) fn scratch(call: &Call) -> Option<Vec<u64>> {
    asks(call).then(|| cmsis_nn::scratch(call))?
}

/// On cores with vectors.
pub(crate) fn scratch_mve(call: &Call) -> Option<Vec<u64>> {
    asks(call).then(|| cmsis_nn_mve::scratch(call))?
}

fn asks(call: &Call) -> bool {
    may_call(call) && matches!(call.operator(), CONV_2D | DEPTHWISE_CONV_2D | AVERAGE_POOL_2D)
}

#[cfg(test)]
mod tests {
    use crate::Kernels::{EmittedCmsisNn, EmittedCmsisNnMve};
    use crate::testing::assert_scratch;

    /// Sums of weights are constants, and the kernel for means is our own.
    #[test]
    fn only_what_the_library_asks_for() {
        let rows: [(_, &[u64], &[u64]); 5] = [
            ("int8[1,8,8,16] = CONV_2D int8[1,8,8,3] int8#[16,3,3,3]", &[4 * 28], &[4 * 32]),
            ("int8[1,8,8,16] = CONV_2D float32[1,8,8,3] int8#[16,3,3,3]", &[], &[]),
            ("int8[1,8,8,10] = DEPTHWISE_CONV_2D int8[1,8,8,10] int8#[1,3,3,10]", &[], &[4 * 124 * 9]),
            ("int8[1,5] = FULLY_CONNECTED int8[1,12] int8#[5,12]", &[], &[]),
            ("int8[1,5] = MEAN int8[1,5,4,9] int32#[2]", &[], &[]),
        ];
        for (op, without_vectors, with_vectors) in rows {
            assert_scratch(EmittedCmsisNn, &[(op, without_vectors)]);
            assert_scratch(EmittedCmsisNnMve, &[(op, with_vectors)]);
        }
    }
}
