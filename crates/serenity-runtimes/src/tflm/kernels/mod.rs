//! Which kernels run the model, and the working memory they ask for.

mod cmsis_nn;
pub(crate) mod reference;

use crate::TFLM_ALIGNMENT;
use serenity_ir::{Call, Graph, OpId};

/// The kernels that `TensorFlow` Lite for Microcontrollers is built with. They compute the same, but need different working memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kernels {
    /// Not known. What is planned and said holds for each of the other [sets](Self::sets).
    #[default]
    Any,
    /// The portable kernels, as in the Python package `tflite-micro`.
    Reference,
    /// Arm's CMSIS-NN on cores with the DSP extension and without vectors (Cortex-M4, M7, M33), built by GCC or clang.
    /// Cores with vectors (MVE: Cortex-M55, M85) need other sizes.
    CmsisNn,
}

serenity_search::named! { "kernels": Kernels { "any" => Any, "reference" => Reference, "cmsis-nn" => CmsisNn } }

impl Kernels {
    /// The sets of kernels that one of them may turn out to be: each that is known, or itself.
    pub fn sets(self) -> &'static [Self] {
        match self {
            Self::Any => &[Self::Reference, Self::CmsisNn],
            Self::Reference => &[Self::Reference],
            Self::CmsisNn => &[Self::CmsisNn],
        }
    }
}

/// The scratch buffers that the kernel of `op` asks for in `TensorFlow` Lite for Microcontrollers: sizes in bytes, in order of request, not
/// rounded (the runtime's planner rounds each up to 16). They live while the op runs, and not longer. Of kernels that are not known, those of the set that
/// asks for most.
///
/// What the graph does not tell (shapes, types, attributes) is not guessed: such an op counts without scratch. So does an op whose
/// kernel could not run, because a size would not fit in the 31 bits that kernels reckon with. Requests for 0 bytes are left out.
///
/// Attributes that matter: `kernel`, `stride`, `dilation` (1 if absent), `constants`, `absent`, and for a few kinds
/// `time_major` (false if absent), `fft_length`, `max_detections`, `num_classes`.
///
/// ```
/// use serenity_ir::{GraphBuilder, OpId, Tensor};
/// use serenity_runtimes::{Kernels, scratch};
/// # fn main() -> Result<(), serenity_ir::GraphError> {
/// let mut builder = GraphBuilder::new("sum of three");
/// let pieces = [(); 3].map(|()| builder.input(Tensor::sized("x", 32)));
/// builder.op("sum", "ADD_N", &pieces, Tensor::sized("y", 32));
/// let graph = builder.build()?;
/// assert_eq!(scratch(&graph, OpId(0), Kernels::CmsisNn), [12]); // a pointer to each piece
/// # Ok(()) }
/// ```
pub fn scratch(graph: &Graph, op: OpId, kernels: Kernels) -> Vec<u64> {
    let call = Call::new(graph, op);
    let requests = match kernels {
        Kernels::Any => return most_scratch(graph, op),
        Kernels::Reference => reference::scratch(&call),
        Kernels::CmsisNn => cmsis_nn::scratch(&call),
    };
    let mut requests = requests.unwrap_or_default();
    requests.retain(|&bytes| bytes > 0);
    requests
}

/// What the set that needs most room asks for; of equals, the portable one.
fn most_scratch(graph: &Graph, op: OpId) -> Vec<u64> {
    let room = |requests: &[u64]| {
        requests.iter().map(|bytes| bytes.div_ceil(TFLM_ALIGNMENT)).fold(0, u64::saturating_add)
    };
    let of_sets = Kernels::Any.sets().iter().map(|&set| scratch(graph, op, set));
    of_sets.reduce(|most, other| if room(&other) > room(&most) { other } else { most }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::OneOp;
    use serenity_ir::ElementType::Int8;

    #[test]
    fn kernels_that_are_not_known_ask_for_what_any_set_may_ask_for() {
        let any = |op: OneOp| scratch(&op.graph(), OpId(0), Kernels::Any);
        let convolution = || {
            let op = OneOp::new("CONV_2D").reads(&[1, 8, 8, 16], Int8).constant(&[16, 3, 3, 16], &Int8);
            op.gives(&[1, 8, 8, 16], Int8)
        };
        assert_eq!((convolution().reference(), convolution().cmsis_nn()), (vec![], vec![576]));
        assert_eq!(any(convolution()), [576]);
        let lstm = || {
            let op = OneOp::new("UNIDIRECTIONAL_SEQUENCE_LSTM").reads(&[1, 28, 28], Int8);
            op.gives(&[1, 28, 20], Int8)
        };
        assert_eq!((lstm().reference(), lstm().cmsis_nn()), (vec![40; 4], vec![40; 3]));
        assert_eq!(any(lstm()), [40; 4]);
        // Each set by itself is one of those that may be meant.
        assert!(Kernels::all().all(|(_, kernels)| kernels.sets().iter().all(|set| set.sets() == [*set])));
    }

    #[test]
    fn names_go_both_ways() {
        for (name, kernels) in Kernels::all() {
            assert_eq!(name.parse(), Ok(kernels));
            assert_eq!(kernels.to_string(), name);
        }
        assert_eq!(Kernels::default(), Kernels::Any);
        assert_eq!(
            "helium".parse::<Kernels>().unwrap_err().to_string(),
            "unknown kernels `helium`; choose one of: any, reference, cmsis-nn"
        );
    }
}
