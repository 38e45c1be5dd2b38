//! What C that calls CMSIS-NN needs besides its tensors: what the functions of the library ask for. The sums of weights that dense layers want on cores with vectors are constants; the kernels of
//! emitted C need nothing.

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
    use crate::testing::OneOp;
    use serenity_ir::ElementType::{Float32, Int8, Int32};

    #[test]
    fn only_what_the_library_asks_for() {
        let both = |op: &dyn Fn() -> OneOp| [EmittedCmsisNn, EmittedCmsisNnMve].map(|set| op().scratch(set));
        let conv = |dtype| {
            OneOp::new("CONV_2D")
                .reads(&[1, 8, 8, 3], dtype)
                .constant(&[16, 3, 3, 3], &Int8)
                .gives(&[1, 8, 8, 16], Int8)
        };
        assert_eq!(both(&|| conv(Int8)), [vec![4 * 28], vec![4 * 32]]);
        assert_eq!(both(&|| conv(Float32)), [vec![0; 0], vec![]]);
        let depthwise = || {
            let op = OneOp::new("DEPTHWISE_CONV_2D").reads(&[1, 8, 8, 10], Int8);
            op.constant(&[1, 3, 3, 10], &Int8).gives(&[1, 8, 8, 10], Int8)
        };
        assert_eq!(both(&depthwise), [vec![], vec![4 * 124 * 9]]);
        // Sums of weights are constants, and the kernel for means is our own.
        let dense = || {
            OneOp::new("FULLY_CONNECTED").reads(&[1, 12], Int8).constant(&[5, 12], &Int8).gives(&[1, 5], Int8)
        };
        assert_eq!(both(&dense), [vec![0; 0], vec![]]);
        let mean =
            || OneOp::new("MEAN").reads(&[1, 5, 4, 9], Int8).constant(&[2], &Int32).gives(&[1, 5], Int8);
        assert_eq!(both(&mean), [vec![0; 0], vec![]]);
    }
}
