//! The working memory that kernels ask for, set by set.

pub(crate) mod cmsis_nn;
pub(crate) mod cmsis_nn_mve;
pub(crate) mod emitted_cmsis_nn;
pub(crate) mod esp_nn;
pub(crate) mod reference;

use crate::Kernels;
use serenity_ir::{Call, Graph, OpId};

/// The scratch buffers that the kernel of `op` asks for in `TensorFlow` Lite for Microcontrollers: sizes in bytes, in
/// order of request, not rounded (the runtime's planner rounds each up to 16). They live while the op runs, and not
/// longer. Of kernels that are not known, those of the set that asks for most.
///
/// What the graph does not tell (shapes, types, attributes) is not guessed: such an op counts without scratch. So does
/// an op whose kernel could not run, because a size would not fit in the 31 bits that kernels reckon with. Requests for
/// 0 bytes are left out.
///
/// Attributes that matter: `kernel`, `stride`, `dilation` (1 if absent), `constants`, `absent`, and for a few kinds
/// `time_major` (false if absent), `fft_length`, `max_detections`, `num_classes`.
///
/// ```
/// use serenity_ir::{GraphBuilder, OpId, Tensor};
/// use serenity_facts::{Kernels, scratch};
/// # fn main() -> Result<(), serenity_ir::GraphError> {
/// let mut builder = GraphBuilder::new("sum of three");
/// let pieces = [(); 3].map(|()| builder.input(Tensor::sized("x", 32)));
/// builder.op("sum", "ADD_N", &pieces, Tensor::sized("y", 32));
/// let graph = builder.build()?;
/// assert_eq!(scratch(&graph, OpId(0), Kernels::CmsisNn), [12]); // a pointer to each piece
/// # Ok(()) }
/// ```
pub fn scratch(graph: &Graph, op: OpId, kernels: Kernels) -> Vec<u64> {
    let mut requests = (kernels.about().scratch)(&Call::new(graph, op)).unwrap_or_default();
    requests.retain(|&bytes| bytes > 0);
    requests
}

#[cfg(test)]
mod tests {
    use crate::Kernels;
    use crate::testing::assert_scratch;

    #[test]
    fn kernels_that_are_not_known_ask_for_what_any_set_may_ask_for() {
        let rows: [(_, &[u64], &[u64], &[u64]); 2] = [
            ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,3,3,16]", &[], &[576], &[576]),
            ("int8[1,28,20] = UNIDIRECTIONAL_SEQUENCE_LSTM int8[1,28,28]", &[40; 4], &[40; 3], &[40; 4]),
        ];
        for (op, reference, cmsis_nn, any) in rows {
            assert_scratch(Kernels::Reference, &[(op, reference)]);
            assert_scratch(Kernels::CmsisNn, &[(op, cmsis_nn)]);
            assert_scratch(Kernels::Any, &[(op, any)]);
        }
    }
}
