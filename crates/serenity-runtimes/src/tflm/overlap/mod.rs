//! Which inputs an operator's output may overlap in memory, and how closely.
//!
//! A kernel reads some elements, writes one, reads on. An output may lie over an input as long as no write hits an
//! element that a later read still wants. Say that the input begins `d` bytes above the output. The write of output
//! bytes `[a, b)` leaves alone a later read of input bytes from `c` on iff `b <= d + c`. So the least safe distance is
//! the largest `b - c` over all reads and the writes before them, and every larger distance is safe too. For a kernel
//! that writes its output from front to back, one element (of `e` bytes) at a time, that is the largest `e * j - c`
//! over all output elements `j` and the bytes `c` they are made from: only the lowest input that each output element
//! needs matters, and where the loops of a kernel are a nest over dimensions, each dimension adds its own part.
//!
//! Blocks that a kernel copies by `memcpy` may not overlap themselves, whatever the direction: a block counts as
//! written before it is read. Only a block that is copied onto itself stays what it was, which is why some overlaps
//! demand an exact distance.
//!
//! A kernel that writes its output from back to front is the same, seen from behind: there the output may begin above
//! the input. Kernels of emitted C can do both, and do what the plan asks for.
//!
//! Every condition is about one input and one output, since every clash is between one write and one read. So
//! conditions of several inputs, or of several outputs, hold together: an `ADD` whose operands both die may overlap
//! both.

mod any;
mod cmsis_nn;
mod cmsis_nn_mve;
mod copies;
mod elementwise;
mod emitted;
mod emitted_cmsis_nn;
mod esp_nn_s3;
mod products;
mod reference;
mod resize;
mod safe;
mod windows;

use crate::Kernels;
use safe::{Pair, Safe};
use serenity_ir::{Call, Graph, OpId, TensorId};
use std::collections::BTreeMap;

/// A permission for an output to overlap an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The tensor that is read.
    pub input: TensorId,
    /// The tensor that is written.
    pub output: TensorId,
    /// How many bytes above the output the input must begin; below it, if the kernel goes backwards.
    pub distance: u64,
    /// Must the distance be exact? If not, any greater distance will do as well.
    pub exact: bool,
    /// Does the kernel then go from back to front? Then the distance is more than 0: where both begin together, all
    /// kernels go from front to back.
    pub is_backward: bool,
}

impl Overlap {
    /// Does this allow the input and the output to begin at these offsets?
    pub fn allows(&self, input_offset: u64, output_offset: u64) -> bool {
        let (lower, upper) = self.lower_and_upper(input_offset, output_offset);
        upper.checked_sub(lower).is_some_and(|distance| {
            if self.exact { distance == self.distance } else { distance >= self.distance }
        })
    }

    /// The most bytes that both can share, if they have these sizes and lie at multiples of `alignment`.
    pub fn most_shared(&self, input_bytes: u64, output_bytes: u64, alignment: u64) -> u64 {
        let (lower, upper) = self.lower_and_upper(input_bytes, output_bytes);
        upper.min(lower.saturating_sub(self.distance.next_multiple_of(alignment)))
    }

    /// The input and the output, sorted by which begins lower.
    fn lower_and_upper<T>(&self, input: T, output: T) -> (T, T) {
        if self.is_backward { (input, output) } else { (output, input) }
    }
}

/// The overlaps that are safe while `op` runs on these kernels. A pair that is not listed must be disjoint; for one
/// that is listed twice, either condition is enough. Overlaps that would be no overlap, since the one would begin
/// behind the other's end, are left out.
///
/// This is about the kernel alone. Whether the input may be overwritten is for the caller to know: nobody may want it
/// afterwards, so this op is its last reader, it is no output of the graph, and nothing else shares its memory. Scratch
/// of the op ([`scratch`](crate::scratch)) must be disjoint from both.
///
/// By kernels:
/// - [`Kernels::Any`]: element-wise operators in place, and reshaping ones, at exactly the same offset; what every set allows.
/// - [`Kernels::Reference`]: by the order in which the portable kernels read and write. Convolutions, pools, padding,
///   concatenation, resizing, slices and splits, dense layers, and everything element by element.
/// - [`Kernels::CmsisNn`], [`Kernels::CmsisNnMve`]: what is left of that where CMSIS-NN works in another order.
/// - [`Kernels::Emitted`], [`Kernels::EmittedHelium`]: all of it too, as far as operators are emitted, and convolutions
///   of 8-bit integers also backwards. [`Kernels::EmittedCmsisNn`], [`Kernels::EmittedCmsisNnMve`]: what is left where
///   these call CMSIS-NN.
/// - [`Kernels::EspNn`]: all of it, since ESP-NN works in the same order. [`Kernels::EspNnS3`]: what is left where nobody knows.
///
/// What the graph does not tell (shapes, types, attributes, small constants) is not guessed: such an op overlaps nothing.
///
/// ```
/// use serenity_ir::{ElementType, GraphBuilder, OpId, Tensor};
/// use serenity_runtimes::{Kernels, overlaps};
/// # fn main() -> Result<(), serenity_ir::GraphError> {
/// let tensor = |name| Tensor::shaped(name, vec![1, 8, 8, 16], ElementType::Int8).unwrap();
/// let mut builder = GraphBuilder::new("");
/// let x = builder.input(tensor("x"));
/// let y = builder.op("relu", "RELU", &[x], tensor("y"));
/// let graph = builder.build()?;
///
/// let [overlap] = overlaps(&graph, OpId(0), Kernels::Any)[..] else { unreachable!() };
/// assert_eq!((overlap.input, overlap.output), (x, y));
/// assert!(overlap.allows(64, 64) && !overlap.allows(80, 64));
/// # Ok(()) }
/// ```
pub fn overlaps(graph: &Graph, op: OpId, kernels: Kernels) -> Vec<Overlap> {
    let call = Call::new(graph, op);
    let found = rules(kernels)(&call);

    // A tensor that is given as several operands must be safe as each of them.
    let mut uses: BTreeMap<TensorId, usize> = BTreeMap::new();
    for input in call.activations() {
        *uses.entry(input).or_default() += 1;
    }
    let mut pairs: BTreeMap<(TensorId, TensorId), (Safe, usize)> = BTreeMap::new();
    for pair in found.unwrap_or_default() {
        let (Some(input), Some(output)) = (call.activation(pair.operand), call.output(pair.result)) else {
            continue;
        };
        let entry = pairs.entry((input, output)).or_insert((pair.safe, 0));
        *entry = (entry.0.and(pair.safe), entry.1 + 1);
    }
    pairs.retain(|(input, _), (_, judged)| uses.get(input) == Some(judged));

    let each_way = pairs.into_iter().flat_map(|((input, output), (safe, _))| {
        let ways =
            [(safe.exactly, true, false), (safe.at_least, false, false), (safe.backwards, false, true)];
        ways.map(|(distance, exact, is_backward)| {
            Some(Overlap { input, output, distance: distance?, exact, is_backward })
        })
    });
    let bytes = |tensor: TensorId| graph.tensor(tensor).bytes;
    let is_overlap = |overlap: &Overlap| {
        overlap.distance < overlap.lower_and_upper(bytes(overlap.input), bytes(overlap.output)).0
    };
    each_way.flatten().filter(is_overlap).collect()
}

/// The rules for the operators of a set of kernels.
fn rules(kernels: Kernels) -> fn(&Call) -> Option<Vec<Pair>> {
    match kernels {
        // What holds for each set, and on an ESP32-S3 too.
        Kernels::Any => any::overlaps,
        // Pixels and channels of ESP-NN in C go from front to back as in the portable kernels, up to four channels at a
        // time, which are read before any of them is written: so all that is safe there is safe here.
        Kernels::Reference | Kernels::EspNn => reference::overlaps,
        Kernels::CmsisNn => cmsis_nn::overlaps,
        Kernels::CmsisNnMve => cmsis_nn_mve::overlaps,
        Kernels::EspNnS3 | Kernels::EspNnS3V1_1 | Kernels::EspNnS3V1_2_0 | Kernels::EspNnS3V1_2_1 => {
            esp_nn_s3::overlaps
        }
        Kernels::Emitted | Kernels::EmittedHelium => emitted::overlaps,
        Kernels::EmittedCmsisNn => emitted_cmsis_nn::overlaps,
        Kernels::EmittedCmsisNnMve => emitted_cmsis_nn::overlaps_mve,
    }
}
