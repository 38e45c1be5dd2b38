//! The tail of TFLM's arena, which TFLM keeps for ever, and the size of the whole arena.
//!
//! TFLM's arena has a *head* of activations and scratch, the same on every device (see [`arena`](crate::MemoryModelExt::arena)), and a
//! *tail* that grows from the other end: descriptions of tensors and operators, and what kernels prepare once. The tail is a list of
//! requests, each of them aligned; [`replay`] repeats that list for a given [`Layout`]. It hardly depends on the order of the operators:
//! only the options of operators are aligned to less than 16, which is worth a few bytes of padding.
//!
//! While kernels prepare and the head is planned, TFLM keeps notes where the head will be. In a model of many small tensors they
//! are larger than the head, and then they decide how large the arena must be.

mod kernels;

use super::tflm_bytes;
use crate::{Kernels, TFLM_ALIGNMENT, scratch};
use kernels::{Node, options, prepared, stored_bytes, user_data};
use serenity_facts::layout::{self, ARM32, Layout, X86_64};
use serenity_ir::{Graph, Operator};
use serenity_tflite::{FileTensor, Model, Storage, SubGraph};
use std::collections::BTreeSet;

/// TFLM's notes always have room for so many requests for scratch more than there are, since the next operator may come with as many.
const SPARE_SCRATCH_REQUESTS: u64 = 12;

/// The bytes that TFLM's planner notes about each buffer.
const PLANNED_BUFFER: u64 = 40;

/// What a kernel may keep that we do not know, in the margin: twice as much as the largest of the common ones.
const UNKNOWN_KERNEL: u64 = 512;

/// No device has as much; more is not counted, so that sums stay far below 2^64.
const MOST: u64 = 1 << 60;

/// The structures and data that a set of kernels keeps.
struct Keeps {
    /// The sizes of structures, as usually built, and as large as they are likely to be.
    layout: &'static Layout,
    largest: &'static Layout,
    prepares: Prepares,
}

/// How kernels prepare what they keep.
#[derive(Clone, Copy, Debug)]
enum Prepares {
    /// As the portable kernels do.
    Portably,
    /// As those do that call CMSIS-NN, with sums of weights or without.
    CmsisNn { sums: bool },
}

impl Keeps {
    /// What a set keeps; `None` for one that stands for several, each of which is to be asked.
    fn of(set: Kernels) -> Option<Self> {
        let portably = |layout, largest| Self { layout, largest, prepares: Prepares::Portably };
        let with_cmsis_nn = |sums| Self {
            layout: &layout::ARM32_CMSIS_NN,
            largest: &layout::ARM32_CMSIS_NN_LARGEST,
            prepares: Prepares::CmsisNn { sums },
        };
        match set {
            Kernels::Any => None,
            Kernels::CmsisNn => Some(with_cmsis_nn(false)),
            Kernels::CmsisNnMve => Some(with_cmsis_nn(true)),
            Kernels::EspNn
            | Kernels::EspNnS3
            | Kernels::EspNnS3V1_1
            | Kernels::EspNnS3V1_2_0
            | Kernels::EspNnS3V1_2_1 => Some(portably(&layout::ARM32_ESP_NN, &layout::ARM32_ESP_NN_LARGEST)),
            // Of emitted C nobody asks: a tail is that of an interpreter.
            Kernels::Reference
            | Kernels::Emitted
            | Kernels::EmittedHelium
            | Kernels::EmittedCmsisNn
            | Kernels::EmittedCmsisNnMve => Some(portably(&layout::ARM32, &layout::ARM32_LARGEST)),
        }
    }
}

/// TFLM's tail in bytes.
///
/// On x86-64 it is exactly what the Python package `tflite-micro` keeps (of the release that the tests run), if all kernels are known. On
/// a 32-bit device it is an estimate: the same list of requests with the sizes of 32-bit structures, for a build without compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Tail {
    /// The tail on a 32-bit device, such as an Arm Cortex-M.
    pub arm32: u64,
    /// The tail on a 64-bit computer, such as the one that runs the tests: always with the portable kernels.
    pub x86_64: u64,
    /// How many operators have kernels that we do not know. What those keep is not counted.
    pub unknown_kernels: u64,
    #[serde(skip)]
    replayed: Builds,
}

/// The memory of several builds of TFLM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Builds {
    arm32: Replayed,
    x86_64: Replayed,
    /// The largest that a 32-bit build is likely to need.
    largest: Replayed,
}

/// Bytes of a whole arena of TFLM, which must begin at a multiple of 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TflmArena {
    /// The arena on a 32-bit device.
    pub arm32: u64,
    /// The arena on a 64-bit computer.
    pub x86_64: u64,
}

impl Tail {
    /// The tail of a model if TFLM is built with these kernels; on a device, the largest over the sets that they may
    /// be.
    pub fn of(model: &Model, kernels: Kernels) -> Self {
        let x86_64 = replay(model, &X86_64, Kernels::Reference, Prepares::Portably);
        let unknown_kernels =
            Node::all(model).filter(|node| !has_known_kernel(node.operator())).count() as u64;
        let (mut arm32, mut largest) = (Replayed::default(), Replayed::default());
        for set in kernels.sets() {
            let Some(keeps) = Keeps::of(*set) else { continue };
            let replay = |layout: &Layout| replay(model, layout, *set, keeps.prepares);
            arm32 = arm32.or_larger(replay(keeps.layout));
            largest = largest.or_larger(replay(keeps.largest));
        }
        let more = TFLM_ALIGNMENT + UNKNOWN_KERNEL * unknown_kernels;
        Self {
            arm32: arm32.tail,
            x86_64: x86_64.tail,
            unknown_kernels,
            replayed: Builds { arm32, x86_64, largest: largest.with(more) },
        }
    }

    /// The arena for a head of `head` bytes: head and tail, or more if TFLM's notes while it plans are larger than the
    /// head.
    ///
    /// An arena of `x86_64` bytes is enough for the Python package `tflite-micro`, and where head and tail decide, 16 bytes less are not. For a device, add the [`margin`](Self::margin).
    pub fn needed(&self, head: u64) -> TflmArena {
        let Builds { arm32, x86_64, .. } = self.replayed;
        TflmArena { arm32: whole(head, arm32), x86_64: whole(head, x86_64) }
    }

    /// The margin to add to the arena of a 32-bit device whose build is unknown, for a head of `head` bytes.
    ///
    /// It is no share of the tail but the difference to another replay of the list, with everything at once that is known to make a
    /// 32-bit build larger: compression, a recording allocator, the largest options of any release; one word more for each tensor and
    /// operator, for releases to come; what is lost if the arena does not begin at a multiple of 16; and 512 bytes for every
    /// operator whose kernel we do not know.
    ///
    /// Compilers that store an enumeration in a byte only make the tail smaller. Not covered, because nothing in the model tells: kernels of
    /// other vendors, unknown kernels that keep copies of tensors, and the head itself, where kernels that are none of the known
    /// sets ask for other scratch.
    pub fn margin(&self, head: u64) -> u64 {
        whole(head, self.replayed.largest).saturating_sub(self.needed(head).arm32)
    }

    /// The arena of one allocator that several interpreters share, if all heads lie elsewhere, and the margin for a 32-bit device.
    ///
    /// Tails add up, because nothing in them is ever freed. Notes do not: TFLM drops those of one model before it prepares the next. So the
    /// arena holds all tails, and the largest notes on top of the others' tails: enough for any order in which the models are prepared.
    pub fn needed_together(tails: &[Self]) -> (TflmArena, u64) {
        let of = |build: fn(&Builds) -> Replayed| {
            let all: Vec<Replayed> = tails.iter().map(|tail| build(&tail.replayed)).collect();
            together(&all)
        };
        let arena = TflmArena { arm32: of(|builds| builds.arm32), x86_64: of(|builds| builds.x86_64) };
        (arena, of(|builds| builds.largest).saturating_sub(arena.arm32))
    }
}

/// One arena for these models. Each tail counts as a multiple of TFLM's alignment: a request that begins `n` bytes later, where `n` is such a
/// multiple, also ends `n` bytes later, so padding is not more than in the replay of one model.
fn together(models: &[Replayed]) -> u64 {
    let aligned = |bytes: u64| bytes.min(MOST).next_multiple_of(TFLM_ALIGNMENT);
    let share = |model: &Replayed| aligned(model.tail - model.allocator);
    let all = models.iter().map(share).fold(0, u64::saturating_add);
    let while_last = |model: &Replayed| {
        let others = all - share(model).min(all);
        aligned(model.tail.max(model.planning)).saturating_add(others)
    };
    models.iter().map(while_last).max().unwrap_or(0)
}

/// Does TFLM have a kernel for the operator that we know?
pub(super) fn has_known_kernel(operator: Operator) -> bool {
    user_data(operator, &ARM32).is_some()
}

/// An arena of this head, rounded up so that it ends as TFLM wants it.
fn whole(head: u64, replayed: Replayed) -> u64 {
    (head.min(MOST) + replayed.tail).max(replayed.planning).next_multiple_of(TFLM_ALIGNMENT)
}

/// The memory of one build of TFLM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Replayed {
    /// Of the tail: what an allocator takes once, however many models share it.
    allocator: u64,
    tail: u64,
    /// The arena until the head is planned: notes, and what is in the tail by then.
    planning: u64,
}

impl Replayed {
    fn with(self, bytes: u64) -> Self {
        Self { tail: self.tail + bytes, planning: self.planning + bytes, ..self }
    }

    /// What is enough for both of two builds.
    fn or_larger(self, other: Self) -> Self {
        let is_none = self == Self::default();
        Self {
            allocator: if is_none { other.allocator } else { self.allocator.min(other.allocator) },
            tail: self.tail.max(other.tail),
            planning: self.planning.max(other.planning),
        }
    }
}

/// Requests from the arena's end downwards.
#[derive(Default)]
struct Requests {
    used: u64,
}

impl Requests {
    fn push(&mut self, bytes: u64, alignment: u64) {
        let used = self.used + bytes.min(MOST);
        self.used = used.next_multiple_of(alignment).min(MOST);
    }
}

/// Goes through everything that TFLM asks its allocator to keep, in its order.
fn replay(model: &Model, layout: &Layout, kernels: Kernels, prepares: Prepares) -> Replayed {
    let mut requests = Requests::default();
    let pointer = layout.pointer;
    for object in [layout.arena_allocator, layout.memory_planner, layout.micro_allocator] {
        requests.push(object, pointer);
    }
    let allocator = requests.used;
    let resources = resources(model).collect::<BTreeSet<_>>().len() as u64;
    if resources > 0 {
        requests.push(layout.resources, TFLM_ALIGNMENT);
        requests.push(layout.resource * resources, TFLM_ALIGNMENT);
    }
    requests.push(layout.builtin_data_allocator, pointer);
    requests.push(layout.sub_graph * model.sub_graphs().len() as u64, pointer);
    for sub_graph in model.sub_graphs() {
        requests.push(layout.eval_tensor * sub_graph.tensors().len() as u64, pointer);
    }
    for sub_graph in model.sub_graphs() {
        requests.push(layout.node * sub_graph.operators().len() as u64, pointer);
    }
    for node in Node::all(model) {
        let (bytes, alignment) = options(node.operator(), layout);
        requests.push(bytes, alignment);
    }
    // First the data of all kernels, then what all of them prepare; but where everything is aligned alike, the order does not matter.
    for node in Node::all(model) {
        let own = user_data(node.operator(), layout).filter(|&bytes| bytes > 0);
        for bytes in own.into_iter().chain(prepared(&node, layout, prepares)) {
            requests.push(bytes, TFLM_ALIGNMENT);
        }
    }
    for bytes in assigned_resources(model) {
        requests.push(bytes, TFLM_ALIGNMENT);
    }
    let scratch = scratch_buffers(model, kernels);
    if scratch > 0 {
        requests.push(pointer * scratch, pointer);
    }
    let tensors = model.sub_graphs().iter().flat_map(SubGraph::tensors);
    for variable in tensors.filter(|tensor| tensor.storage == Storage::Variable) {
        requests.push(stored_bytes(variable), TFLM_ALIGNMENT);
    }
    let planning = requests.used + notes(model, layout, scratch);
    if let Some(main) = model.sub_graphs().first() {
        for ends in [main.inputs(), main.outputs()] {
            let tensors = ends.iter().filter_map(|&tensor| main.tensors().get(tensor));
            ends_of_the_graph(&mut requests, layout, tensors);
        }
    }
    Replayed { allocator, tail: requests.used, planning }
}

/// Graph inputs or outputs, as the caller gets them: a list of pointers, and a description of each.
fn ends_of_the_graph<'m>(
    requests: &mut Requests,
    layout: &Layout,
    tensors: impl Iterator<Item = &'m FileTensor> + Clone,
) {
    let count = tensors.clone().count() as u64;
    if count > 0 {
        requests.push(layout.pointer * count, TFLM_ALIGNMENT);
    }
    for tensor in tensors {
        for (bytes, alignment) in description(tensor, layout) {
            requests.push(bytes, alignment);
        }
    }
}

/// A tensor as kernels see it while they prepare, and the caller for ever: sizes and alignments.
fn description(tensor: &FileTensor, layout: &Layout) -> Vec<(u64, u64)> {
    let mut requests = vec![(layout.tensor, layout.pointer)];
    let quantization = tensor.quantization.as_ref();
    if let Some(q) = quantization.filter(|q| !q.scales.is_empty() && !q.zero_points.is_empty()) {
        requests.extend([(layout.quantization, layout.pointer), (4 + 4 * q.scales.len() as u64, 4)]);
    }
    requests
}

/// What TFLM writes down where the head will be: requests for scratch, and besides first the operands of the kernel that prepares,
/// then what it knows of each tensor and its plan.
fn notes(model: &Model, layout: &Layout, scratch: u64) -> u64 {
    let align = |bytes: u64| bytes.next_multiple_of(TFLM_ALIGNMENT);
    let operands = Node::all(model).map(|node| {
        let requests = node.operands().flat_map(|tensor| description(tensor, layout));
        let bytes: u64 = requests.map(|(bytes, _)| bytes.next_multiple_of(layout.pointer)).sum();
        bytes * node.descriptions_at_once()
    });
    let tensors: u64 = model.sub_graphs().iter().map(|sub_graph| sub_graph.tensors().len() as u64).sum();
    let activations = model.graphs().iter().flat_map(Graph::tensors);
    let placed = activations.filter(|tensor| tflm_bytes(tensor) > 0).count() as u64 + scratch;
    let plan = align(layout.allocation_info * (tensors + scratch))
        + align(layout.pointer * model.sub_graphs().len() as u64)
        + align(PLANNED_BUFFER * placed);
    align(layout.scratch_request * (scratch + SPARE_SCRATCH_REQUESTS)) + plan.max(operands.max().unwrap_or(0))
}

/// How many scratch buffers all kernels ask for together.
fn scratch_buffers(model: &Model, kernels: Kernels) -> u64 {
    let count =
        |graph: &Graph| graph.op_ids().map(|op| scratch(graph, op, kernels).len() as u64).sum::<u64>();
    model.graphs().iter().map(count).sum()
}

/// The container and the name of a resource variable, for every operator that makes a handle to one.
fn resources(model: &Model) -> impl Iterator<Item = Resource<'_>> {
    Node::all(model).filter(|node| node.operator() == Operator::VAR_HANDLE).map(|node| resource(&node))
}

type Resource<'m> = (&'m [u8], &'m [u8]);

fn resource<'m>(handle: &Node<'m>) -> Resource<'m> {
    let (sub_graph, number) = handle.place;
    [0, 1].map(|field| handle.model.option_text(sub_graph, number, field)).into()
}

/// The bytes of every resource variable that the main sub-graph assigns, once each: that is where they get their memory.
fn assigned_resources(model: &Model) -> Vec<u64> {
    let in_main = || Node::all(model).take_while(|node| node.place.0 == 0);
    let tensors = model.sub_graphs().first().map_or(0, |main| main.tensors().len());
    let mut made_by = vec![None; tensors];
    for handle in in_main().filter(|node| node.operator() == Operator::VAR_HANDLE) {
        for output in handle.operator.outputs.iter().flatten() {
            if let Some(maker) = made_by.get_mut(*output) {
                *maker = Some(resource(&handle));
            }
        }
    }
    let mut assigned = BTreeSet::new();
    let mut sizes = Vec::new();
    for node in in_main().filter(|node| node.operator() == Operator::ASSIGN_VARIABLE) {
        let handle = node.operator.inputs.first().copied().flatten();
        let variable = handle.and_then(|tensor| made_by.get(tensor).copied().flatten());
        if variable.is_some_and(|variable| assigned.insert(variable)) {
            sizes.push(node.input(1).map_or(0, stored_bytes));
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_that_models_share_holds_all_tails_and_the_largest_notes() {
        let model = |tail, planning| Replayed { allocator: 100, tail, planning };
        assert_eq!(together(&[]), 0);
        assert_eq!(together(&[model(500, 900)]), 912);
        // 496 and 304 for the tails without the allocator, which the one that is prepared last counts.
        assert_eq!(together(&[model(596, 996), model(404, 420)]), 1008 + 304);
        assert_eq!(together(&[model(404, 420), model(596, 996)]), 1008 + 304);
        assert_eq!(together(&[model(596, 0), model(404, 0)]), 608 + 304);
        let most = model(u64::MAX / 2, u64::MAX / 2);
        assert!(together(&[most; 64]) >= MOST);
    }

    #[test]
    fn a_set_by_itself_keeps_something() {
        for (name, kernels) in Kernels::all() {
            assert_eq!(Keeps::of(kernels).is_some(), kernels.sets() == [kernels], "{name}");
        }
    }
}
