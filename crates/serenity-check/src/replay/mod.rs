//! Where an output lies over an input: is every byte read before it is written over?
//!
//! Kernels are replayed for the shapes at hand, in the order in which their loops go: what is read, what is written,
//! and where both lie. Nothing is looked up: the planner has a table of distances, derived by arithmetic, and this is
//! what that table is held against, on every plan.
//!
//! A replay is exact to the byte, but not slow: bytes that are read at once are one range, and channels that are worked
//! through alike are one step ([`trace`]). What is left grows with the number of output pixels times that of the rows
//! (or taps) of a window.
//!
//! Where kernels differ in ways that do not matter, or where the graph does not tell, the replay reads no later and no
//! higher than the kernel: each such place says why. What it does not know, it refuses.

mod any;
mod backwards;
mod call;
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
#[cfg(test)]
mod tests;
mod trace;
mod windows;

use backwards::Backwards;
use call::Call;
pub(crate) use call::Whole;
pub(crate) use elementwise::operands as element_operands;
pub(crate) use resize::nearest_rows;
use serenity_facts::Kernels;
use serenity_ir::{Graph, OpId, TensorId};
use std::rc::Rc;
use trace::Trace;

/// May an op write its output where it reads its input?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte is read for the last time before it is written over.
    Safe,
    /// A byte is written over, and read afterwards.
    Overwrites {
        /// Which byte of the input.
        byte: u64,
        /// Which element of the output is written there.
        element: u64,
    },
    /// In which order the kernel reads and writes is not known.
    Unknown {
        /// The kind of the op.
        kind: String,
    },
}

/// Replays `op` on these kernels with one of its inputs and one of its outputs at the given offsets, in bytes from
/// wherever both are counted.
///
/// Every clash is between one read and one write. So an op whose output lies over several of its inputs is safe if it
/// is with each of them; an input that is given twice is read as both.
///
/// ```
/// use serenity_check::{Verdict, replay};
/// use serenity_ir::{ElementType, GraphBuilder, OpId, Tensor};
/// use serenity_facts::Kernels;
/// # fn main() -> Result<(), serenity_ir::GraphError> {
/// let tensor = |name| Tensor::shaped(name, vec![1, 8, 8, 16], ElementType::Int8).unwrap();
/// let mut builder = GraphBuilder::new("");
/// let x = builder.input(tensor("x"));
/// let y = builder.op("relu", "RELU", &[x], tensor("y"));
/// let graph = builder.build()?;
///
/// assert_eq!(replay(&graph, OpId(0), Kernels::Reference, (x, 32), (y, 16)), Verdict::Safe);
/// let too_late = replay(&graph, OpId(0), Kernels::Reference, (x, 16), (y, 32));
/// assert_eq!(too_late, Verdict::Overwrites { byte: 16, element: 0 });
/// # Ok(()) }
/// ```
pub fn replay(
    graph: &Graph,
    op: OpId,
    kernels: Kernels,
    input: (TensorId, u64),
    output: (TensorId, u64),
) -> Verdict {
    replay_call(&Whole::new(graph, op), kernels, input, output)
}

fn replay_call(
    whole: &Rc<Whole>,
    kernels: Kernels,
    input: (TensorId, u64),
    output: (TensorId, u64),
) -> Verdict {
    let unknown = || Verdict::Unknown { kind: whole.kind().to_owned() };
    let distance = i64::try_from(i128::from(input.1) - i128::from(output.1));
    let (Ok(distance), Some(calls)) = (distance, Call::all(whole, input.0, output.0)) else {
        return unknown();
    };
    for call in calls {
        let backwards = if distance < 0 { Backwards::of(&call, kernels) } else { None };
        let lost = if let Some(backwards) = backwards {
            backwards.lost_byte(-distance)
        } else {
            let mut trace = Trace::at(distance);
            if play(&call, kernels, &mut trace).is_none() {
                return unknown();
            }
            trace.lost_byte()
        };
        if let Some(byte) = lost {
            let item = call.output().map_or(1, |output| output.item);
            return Verdict::Overwrites { byte: byte as u64, element: ((byte + distance) / item) as u64 };
        }
    }
    Verdict::Safe
}

/// How near to its output an input may begin: in bytes above it, either at least so many or just so many; or in bytes
/// below it, at least so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nearest {
    pub(crate) at_least: Option<u64>,
    pub(crate) exactly: Option<u64>,
    pub(crate) below: Option<u64>,
}

/// The least distances at which a replay is safe. Only distances that are an overlap count.
pub(crate) fn nearest(
    graph: &Graph,
    whole: &Rc<Whole>,
    kernels: Kernels,
    input: TensorId,
    output: TensorId,
) -> Nearest {
    let is_overlap = |distance: &u64| *distance < graph.tensor(output).bytes;
    let calls = Call::all(whole, input, output).unwrap_or_default();
    let leads = calls.iter().map(|call| {
        let mut trace = Trace::at(0);
        play(call, kernels, &mut trace)?;
        trace.lead()
    });
    let at_least = leads.collect::<Option<Vec<i64>>>().and_then(|leads| leads.into_iter().max());
    // A block that is copied onto itself stays what it was; elsewhere the same bytes, or the same channels, may be all
    // that is sure.
    let onto_itself = calls.iter().filter_map(|call| match kernels.newest() {
        Kernels::Any => Some(0),
        Kernels::EspNnS3 if esp_nn_s3::calls_library(call) == Some(true) => Some(0),
        Kernels::CmsisNnMve | Kernels::EmittedCmsisNnMve => {
            let own = cmsis_nn_mve::own_distance(call).or_else(|| cmsis_nn::own_distance(call));
            own.or_else(|| copies::own_place(call))
        }
        Kernels::CmsisNn => cmsis_nn::own_distance(call).or_else(|| copies::own_place(call)),
        Kernels::Reference
        | Kernels::EspNn
        | Kernels::EspNnS3
        | Kernels::EspNnS3V1_1
        | Kernels::EspNnS3V1_2_0
        | Kernels::EspNnS3V1_2_1
        | Kernels::Emitted
        | Kernels::EmittedHelium
        | Kernels::EmittedCmsisNn => copies::own_place(call),
    });
    let is_safe =
        |distance: &u64| replay_call(whole, kernels, (input, *distance), (output, 0)) == Verdict::Safe;
    let at_least = at_least.and_then(|lead| u64::try_from(lead).ok());
    let exactly = onto_itself.filter(is_overlap).filter(is_safe).min();
    let backwards = calls.iter().map(|call| Backwards::of(call, kernels)?.least_above());
    let below = backwards.collect::<Option<Vec<u64>>>().and_then(|distances| distances.into_iter().max());
    let below = below.filter(|distance| *distance < graph.tensor(input).bytes);
    Nearest { at_least: at_least.filter(is_overlap), exactly, below }
}

/// What the kernel of a call does; `None` if that is not known.
fn play(call: &Call, kernels: Kernels, trace: &mut Trace) -> Option<()> {
    match kernels {
        Kernels::Any => any::play(call, trace),
        // ESP-NN in C goes from front to back as the portable kernels do, and reads up to four channels before it
        // writes them: none later than one by one.
        Kernels::Reference | Kernels::EspNn => reference::play(call, trace),
        Kernels::CmsisNn => cmsis_nn::play(call, trace),
        Kernels::CmsisNnMve => cmsis_nn_mve::play(call, trace),
        Kernels::EspNnS3 | Kernels::EspNnS3V1_1 | Kernels::EspNnS3V1_2_0 | Kernels::EspNnS3V1_2_1 => {
            esp_nn_s3::play(call, trace)
        }
        Kernels::Emitted | Kernels::EmittedHelium => emitted::play(call, trace),
        Kernels::EmittedCmsisNn => emitted_cmsis_nn::play(call, trace),
        Kernels::EmittedCmsisNnMve => emitted_cmsis_nn::play_mve(call, trace),
    }
}
