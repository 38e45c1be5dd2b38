//! Is a plan of the arena safe: does nothing that is still needed get written over?
//!
//! TFLM checks neither overlap nor alignment of a plan that it finds in a model. So this is the last who looks.

use crate::arena::tflm::bytes_unpacked;
use crate::loops::{LoopFault, Model, Numbers, Plan, replay_model};
use crate::replay::{Verdict, replay};
use crate::timeline::{Span, Timeline};
use serenity_facts::Kernels;
use serenity_ir::{Graph, OpId, TensorId};
use std::fmt;

/// TFLM's alignment in bytes.
const ALIGNMENT: u64 = 16;

/// A tensor of one of a model's graphs, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlace {
    /// The index of the graph.
    pub graph: usize,
    /// The tensor in that graph.
    pub tensor: TensorId,
    /// The name of the tensor.
    pub label: String,
}

impl fmt::Display for TensorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor {} (`{}`)", self.tensor, self.label)?;
        if self.graph > 0 { write!(f, " of graph {}", self.graph) } else { Ok(()) }
    }
}

/// A fault in a plan of the arena.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum PlacementFault {
    /// The plan is for other graphs.
    #[error("the plan places the tensors of other graphs: {0}")]
    Shape(String),
    /// A tensor has no offset.
    #[error("{0} has no place")]
    Missing(TensorPlace),
    /// The offset of a tensor is not aligned.
    #[error("{place} begins at {offset}, which is no multiple of {ALIGNMENT}")]
    Unaligned { place: TensorPlace, offset: u64 },
    /// A tensor ends outside of the arena.
    #[error("{place} ends at {end}, beyond the arena of {arena} bytes")]
    Outside { place: TensorPlace, end: u64, arena: u64 },
    /// Two tensors that are needed at once lie in the same bytes.
    #[error("{0} and {1} are needed at once and share bytes")]
    Clash(TensorPlace, TensorPlace),
    /// An op writes over an input that it has not read to the end.
    #[error(
        "op {op} (`{label}`) writes element {element} of {output} over byte {byte} of {input} before it has read it"
    )]
    Overwritten { op: OpId, label: String, output: TensorPlace, element: u64, input: TensorPlace, byte: u64 },
    /// An op writes over one of its inputs, and it is not known in which order it reads and writes.
    #[error(
        "op {op} (`{label}`) writes {output} over {input}, and how `{kind}` reads and writes is not known"
    )]
    UnknownKernel { op: OpId, label: String, kind: String, output: TensorPlace, input: TensorPlace },
    /// A loop computes something else in this arena.
    #[error(transparent)]
    Loop(#[from] LoopFault),
    /// What a run leaves is not where the next one looks for it.
    #[error("{input} must be carried from one run to the next, but {output} does not lie in the same bytes")]
    NotCarried { input: TensorPlace, output: TensorPlace },
    /// Sub-graphs call each other without end.
    #[error("the sub-graphs run each other without end")]
    Endless,
}

/// First and last step of a tensor, and where it lies.
#[derive(Clone, Copy)]
struct Life {
    graph: usize,
    tensor: TensorId,
    steps: Option<Span>,
    begin: u64,
    end: u64,
}

/// Everything that is wrong with a plan: `offsets` by graph and tensor, for these orders, in an arena of so many bytes.
///
/// What loops hand on from one iteration to the next, and what a model carries from run to run, may stay where it is,
/// in bytes that several tensors share: if a model has either and tensors that are needed at once share bytes, it is
/// run on terms ([`replay_model`]), and that decides.
pub fn placement_faults(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: &[Vec<Option<u64>>],
    arena: u64,
) -> Vec<PlacementFault> {
    placement_faults_with(graphs, orders, kernels, offsets, arena, &|_, _, _| None)
}

/// Everything that is wrong with a plan, for a model whose attributes leave out long constants: loops can only be
/// followed if the tables that they look into are known.
pub fn placement_faults_with(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    offsets: &[Vec<Option<u64>>],
    arena: u64,
    numbers: &Numbers,
) -> Vec<PlacementFault> {
    if let Some(reason) = misfit(graphs, orders, offsets) {
        return vec![PlacementFault::Shape(reason)];
    }
    let Some(line) = Timeline::of(graphs, orders) else { return vec![PlacementFault::Endless] };
    let name = |life: &Life| TensorPlace {
        graph: life.graph,
        tensor: life.tensor,
        label: graphs[life.graph].tensor_label(life.tensor),
    };
    let mut faults = Vec::new();
    let mut lives = Vec::new();
    for (graph, g) in graphs.iter().enumerate() {
        for tensor in g.tensor_ids() {
            // A size that cannot be rounded up fits no arena either way.
            let bytes = bytes_unpacked(g.tensor(tensor));
            let bytes = bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
            if bytes == 0 {
                continue;
            }
            let mut life =
                Life { graph, tensor, steps: line.tensors[graph][tensor.index()], begin: 0, end: 0 };
            let Some(offset) = offsets[graph][tensor.index()] else {
                faults.push(PlacementFault::Missing(name(&life)));
                continue;
            };
            (life.begin, life.end) = (offset, offset.saturating_add(bytes));
            if offset % ALIGNMENT != 0 {
                faults.push(PlacementFault::Unaligned { place: name(&life), offset });
            }
            if life.end > arena {
                faults.push(PlacementFault::Outside { place: name(&life), end: life.end, arena });
            }
            lives.push(life);
        }
    }
    faults.extend(not_carried(graphs, offsets));
    // By where they begin, so that only neighbours can share bytes.
    lives.sort_by_key(|life| (life.begin, life.graph, life.tensor));
    let mut sharing = Vec::new();
    for (i, low) in lives.iter().enumerate() {
        for high in lives[i + 1..].iter().take_while(|high| high.begin < low.end) {
            if meet_in_time(low, high) {
                sharing.extend(sharing_fault(graphs, kernels, low, high, &name));
            }
        }
    }
    let has_loops = || graphs.iter().any(|graph| graph.ops().iter().any(|op| op.kind.as_str() == "WHILE"));
    if !sharing.is_empty() && (has_loops() || !graphs[0].carried().is_empty()) {
        let of_loops = replay_model(&Model { graphs, orders, numbers }, &Plan { kernels, offsets });
        if of_loops.is_empty() {
            return faults;
        }
        // Where nothing can be told, what was found before stands.
        sharing.extend(of_loops.into_iter().filter(|fault| !fault.is_undecided()).map(PlacementFault::Loop));
    }
    faults.extend(sharing);
    faults
}

/// What the main graph carries from run to run must lie in the same bytes when a run ends and when the next one begins.
/// Inputs live from the beginning and outputs to the end, so that nothing else lies there between two runs.
fn not_carried(graphs: &[&Graph], offsets: &[Vec<Option<u64>>]) -> Vec<PlacementFault> {
    let place = |tensor: TensorId| TensorPlace { graph: 0, tensor, label: graphs[0].tensor_label(tensor) };
    let lies = |tensor: TensorId| (offsets[0][tensor.index()], graphs[0].tensor(tensor).bytes);
    let pairs = graphs.first().map(|main| main.carried()).unwrap_or_default();
    let apart = pairs.into_iter().filter(|&(input, output)| lies(input) != lies(output));
    apart
        .map(|(input, output)| PlacementFault::NotCarried { input: place(input), output: place(output) })
        .collect()
}

/// Why this is no plan for these graphs.
fn misfit(graphs: &[&Graph], orders: &[&[OpId]], offsets: &[Vec<Option<u64>>]) -> Option<String> {
    if graphs.len() != orders.len() || graphs.len() != offsets.len() {
        return Some(format!(
            "{} graphs, {} orders, {} lists of offsets",
            graphs.len(),
            orders.len(),
            offsets.len()
        ));
    }
    let wrong = |(graph, offsets): &(&&Graph, &Vec<Option<u64>>)| graph.tensors().len() != offsets.len();
    let (graph, offsets) = graphs.iter().zip(offsets).find(wrong)?;
    Some(format!("{} tensors, {} offsets", graph.tensors().len(), offsets.len()))
}

fn meet_in_time(a: &Life, b: &Life) -> bool {
    // What no op touches is never needed.
    let (Some(a), Some(b)) = (a.steps, b.steps) else { return false };
    a.0 <= b.1 && b.0 <= a.1
}

/// Why the two may not share bytes. They may if one op reads one of them for the last time and writes the other, and
/// does so in time.
fn sharing_fault(
    graphs: &[&Graph],
    kernels: Kernels,
    low: &Life,
    high: &Life,
    name: &impl Fn(&Life) -> TensorPlace,
) -> Option<PlacementFault> {
    let [writes_low, writes_high] = [(low, high), (high, low)].map(|(output, input)| {
        let op = written_over(graphs, output, input)?;
        Some((op, output, input))
    });
    let Some((op, output, input)) = writes_low.or(writes_high) else {
        return Some(PlacementFault::Clash(name(low), name(high)));
    };
    let graph = graphs[output.graph];
    let (read, written) = ((input.tensor, input.begin), (output.tensor, output.begin));
    let verdict = replay(graph, op, kernels, read, written);
    let (label, input, output) = (graph.op_label(op), name(input), name(output));
    match verdict {
        Verdict::Safe => None,
        Verdict::Overwrites { byte, element } => {
            Some(PlacementFault::Overwritten { op, label, output, element, input, byte })
        }
        Verdict::Unknown { kind } => Some(PlacementFault::UnknownKernel { op, label, kind, output, input }),
    }
}

/// The op that reads `input` for the last time and writes `output`; nobody wants the input after it.
fn written_over(graphs: &[&Graph], output: &Life, input: &Life) -> Option<OpId> {
    let ((written, _), (_, read)) = (output.steps?, input.steps?);
    let graph = graphs[output.graph];
    let op = (output.graph == input.graph).then(|| graph.producer(output.tensor))??;
    let is_read = graph.op(op).inputs.contains(&input.tensor);
    (is_read && read == written && !graph.is_output(input.tensor)).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    /// `x` (32 bytes) through `RELU` to `a` (32), through `CONV_2D` to `y` (16).
    fn chain() -> Graph {
        sketch("x:int8[1,32]; a:int8[1,32] = RELU x; y:int8[1,16] = CONV_2D a; -> y")
    }

    fn faults(offsets: [u64; 3], arena: u64) -> Vec<String> {
        let graph = chain();
        let order = graph.file_order();
        let offsets = vec![offsets.map(Some).to_vec()];
        placement_faults(&[&graph], &[&order], Kernels::Any, &offsets, arena)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn in_place_is_allowed_where_the_kernel_allows_it_and_nowhere_else() {
        assert_eq!(faults([0, 32, 0], 64), Vec::<String>::new());
        assert_eq!(faults([0, 0, 32], 48), Vec::<String>::new());
        assert_eq!(
            faults([0, 32, 48], 64),
            [
                "op 1 (`y`) writes tensor 2 (`y`) over tensor 1 (`a`), and how `CONV_2D` reads and writes is not known"
            ]
        );
        assert_eq!(
            faults([0, 16, 48], 64),
            [
                "op 0 (`a`) writes element 0 of tensor 1 (`a`) over byte 16 of tensor 0 (`x`) before it has read it"
            ]
        );
    }

    /// A sum over two inputs that both die, and of one input with itself; the first also where one of them is wanted later.
    #[test]
    fn a_sum_may_lie_over_both_its_terms_or_over_one_given_twice() {
        let faults = |twice: bool, kept: bool, offsets: [u64; 3]| {
            let (other, also) = (if twice { "a" } else { "b" }, if kept { "a" } else { "" });
            let graph =
                sketch(&format!("a:int8[1,64] b:int8[1,64]; sum:int8[1,64] = ADD a {other}; -> sum {also}"));
            let offsets = vec![offsets.map(Some).to_vec()];
            let order = graph.file_order();
            let faults = placement_faults(&[&graph], &[&order], Kernels::Reference, &offsets, 256);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // The one where the sum lies, the other beside it; and one above the other, across its end.
        assert_eq!(faults(false, false, [0, 64, 0]), Vec::<String>::new());
        assert_eq!(faults(false, false, [16, 80, 16]), Vec::<String>::new());
        assert_eq!(faults(false, false, [32, 96, 0]), Vec::<String>::new());
        assert_eq!(
            faults(false, false, [64, 0, 32]),
            [
                "op 0 (`sum`) writes element 0 of tensor 2 (`sum`) over byte 32 of tensor 1 (`b`) before it has read it"
            ]
        );
        assert_eq!(faults(true, false, [0, 128, 0]), Vec::<String>::new());
        assert_eq!(faults(true, false, [0, 128, 16]).len(), 1);
        assert_eq!(
            faults(false, true, [0, 64, 0]),
            ["tensor 0 (`a`) and tensor 2 (`sum`) are needed at once and share bytes"]
        );
    }

    #[test]
    fn places_are_aligned_and_inside_and_complete() {
        assert_eq!(faults([0, 40, 0], 72), ["tensor 1 (`a`) begins at 40, which is no multiple of 16"]);
        assert_eq!(faults([0, 32, 0], 63), ["tensor 1 (`a`) ends at 64, beyond the arena of 63 bytes"]);
        let graph = chain();
        let order = graph.file_order();
        let missing =
            placement_faults(&[&graph], &[&order], Kernels::Any, &[vec![Some(0), None, Some(0)]], 64);
        assert_eq!(missing[0].to_string(), "tensor 1 (`a`) has no place");
        let wrong = placement_faults(&[&graph], &[&order], Kernels::Any, &[vec![]], 64);
        assert_eq!(wrong[0].to_string(), "the plan places the tensors of other graphs: 3 tensors, 0 offsets");
    }

    /// The sub-graph has more tensors than the main graph that runs it, so its numbers mean nothing there.
    #[test]
    fn tensors_of_two_graphs_do_not_share_bytes_while_both_are_needed() {
        let graph = |text: &str| serenity_ir::json::parse(text).unwrap();
        let main = graph(
            r#"{"tensors": [{"bytes": 16}, {"bytes": 16}], "inputs": [0], "outputs": [1],
                "ops": [{"type": "WHILE", "inputs": [0], "outputs": [1], "attributes": {"bodies": [1]}}]}"#,
        );
        let body = graph(
            r#"{"tensors": [{"bytes": 16}, {"bytes": 16}, {"bytes": 16}], "inputs": [0], "outputs": [2],
                "ops": [{"type": "X", "inputs": [0], "outputs": [1]}, {"type": "X", "inputs": [1], "outputs": [2]}]}"#,
        );
        let (graphs, orders) = ([&main, &body], [main.file_order(), body.file_order()]);
        let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
        let mut offsets = vec![[0, 16].map(Some).to_vec(), [32, 48, 32].map(Some).to_vec()];
        let check = |offsets: &[Vec<Option<u64>>]| {
            placement_faults(&graphs, &orders, Kernels::Any, offsets, 64)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(check(&offsets), Vec::<String>::new());
        offsets[1][2] = Some(16);
        assert_eq!(
            check(&offsets),
            ["tensor 1 (`tensor#1`) and tensor 2 (`tensor#2`) of graph 1 are needed at once and share bytes"]
        );
    }
}
