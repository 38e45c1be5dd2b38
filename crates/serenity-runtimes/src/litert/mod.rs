//! What LiteRT's arena planner shares, and what stays in its arena.
//!
//! An operator that only reshapes gets its input's memory for its output. An element-wise operator writes over an input
//! that no other op reads. Neither applies to graph inputs, which belong to the caller, nor to graph outputs. Memory is
//! freed after the last read, so a tensor that is never read stays for ever.

mod arena;
mod ties;

use crate::problem::{assemble, tensor_buffers};
use crate::{Arena, ArenaProblem, LitertKernels, LitertPlace, Offsets, Runtime};
use serenity_ir::Operator::*;
use serenity_ir::{BufferId, Graph, MOST_SCRATCH, Op, OpId, Storage, TensorId, Unknown, UnknownKind};
use std::collections::BTreeMap;

/// What an operator may do with the memory of its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Its output is the first input under another shape.
    View,
    /// It may write its output over one of its first operands; this is how many.
    Overwrite(usize),
    None,
}

fn sharing(op: &Op) -> Sharing {
    match op.kind.operator() {
        RESHAPE | EXPAND_DIMS | SQUEEZE | BITCAST => Sharing::View,
        ADD | SUB | MUL | DIV => Sharing::Overwrite(2),
        SOFTMAX | DYNAMIC_UPDATE_SLICE => Sharing::Overwrite(1),
        _ => Sharing::None,
    }
}

/// Tensors smaller than this are not written over.
const SMALLEST_OVERWRITTEN: u64 = 5;

/// For each tensor the one in whose memory LiteRT's planner wants to put it, or itself. `place` tells where each tensor
/// lies at the time of planning.
fn litert_hosts(graph: &Graph, place: impl Fn(TensorId) -> LitertPlace) -> Vec<TensorId> {
    let mut hosts: Vec<TensorId> = graph.tensor_ids().collect();
    for op in graph.file_order() {
        let node = graph.op(op);
        let Some(&output) = node.outputs.first() else { continue };
        let (candidates, is_view) = match sharing(node) {
            Sharing::None => continue,
            Sharing::View => (1, true),
            Sharing::Overwrite(operands) => (operands, false),
        };
        let fits = |input: TensorId| {
            let bytes = graph.tensor(input).bytes;
            let is_free = !graph.is_input(input) && !graph.is_output(output);
            is_free
                && place(input) == LitertPlace::Arena
                && bytes == graph.tensor(output).bytes
                && (is_view || (bytes >= SMALLEST_OVERWRITTEN && is_read_once(graph, input)))
        };
        let Some(input) = (0..candidates).filter_map(|position| node.operand(position)).find(|&t| fits(t))
        else {
            continue;
        };
        let host = hosts[input.index()];
        // The runtime has made its choice: if this operand does not qualify, it does not try the next one.
        if is_view || is_read_once(graph, host) {
            hosts[output.index()] = host;
        }
    }
    hosts
}

/// Is there one reader, which reads it once, and nobody who wants it in the end?
fn is_read_once(graph: &Graph, tensor: TensorId) -> bool {
    match *graph.consumers(tensor) {
        [] => !graph.is_output(tensor),
        [reader] => {
            let reads = graph.op(reader).inputs.iter().filter(|&&input| input == tensor).count();
            reads == 1 && !graph.is_output(tensor)
        }
        _ => false,
    }
}

/// Readers that must stay before an op which writes over their input: LiteRT checks the readers of the tensor that it
/// overwrites and of the one that owns the memory, but not those of other aliases of that memory.
fn litert_hazards(graph: &Graph) -> Vec<(OpId, OpId)> {
    let kernels = LitertKernels::of(graph);
    let hosts = litert_hosts(graph, |tensor| kernels.place(tensor));
    let mut residents: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
    let mut pairs = Vec::new();
    let mut has_run = vec![false; graph.ops().len()];
    for op in graph.file_order() {
        let node = graph.op(op);
        let host = node.outputs.first().map(|output| hosts[output.index()]);
        if let (Some(host), Sharing::Overwrite(_)) = (host, sharing(node))
            && Some(&host) != node.outputs.first()
        {
            let names = residents.get(&host).into_iter().flatten().chain([&host]);
            let readers =
                names.flat_map(|&name| graph.consumers(name)).filter(|reader| has_run[reader.index()]);
            let lies_there =
                |reader: &&OpId| graph.op(**reader).outputs.iter().any(|t| hosts[t.index()] == host);
            pairs.extend(readers.filter(|reader| !lies_there(reader)).map(|&reader| (reader, op)));
        }
        for &output in &node.outputs {
            residents.entry(hosts[output.index()]).or_default().push(output);
        }
        has_run[op.index()] = true;
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

pub(crate) struct Litert;

impl Runtime for Litert {
    fn storage(&self, graph: &Graph) -> Storage {
        in_place(graph)
    }

    fn works_in_place(&self) -> bool {
        true
    }

    fn plans_at_once(&self) -> bool {
        true
    }

    fn hazards(&self, graph: &Graph) -> Vec<(OpId, OpId)> {
        litert_hazards(graph)
    }

    /// Results outside the arena, because their size is not known before the run, and kernels whose memory is not
    /// modelled.
    fn unknown(&self, graph: &Graph) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        let kernels = LitertKernels::of(graph);
        for tensor in graph.tensor_ids() {
            let reason = match kernels.place(tensor) {
                LitertPlace::Heap => "LiteRT learns it only when it runs, and keeps it outside the arena",
                LitertPlace::Later => "LiteRT learns it only when it runs, and makes room in the arena then",
                LitertPlace::Arena | LitertPlace::Folded | LitertPlace::Persistent => continue,
            };
            unknown.push(Unknown::new(UnknownKind::Size, graph.tensor_label(tensor), reason));
        }
        for op in graph.op_ids().filter(|&op| LitertKernels::needs_more(graph, op)) {
            let reason = format!("`{}` quantises its input in memory of its own", graph.op(op).kind);
            unknown.push(Unknown::new(UnknownKind::Scratch, graph.op_label(op), reason));
        }
        unknown
    }

    fn arena(&self, graphs: &[&Graph], orders: &[&[OpId]], _plan: Option<&Offsets>) -> Option<Arena> {
        arena::arena(graphs.first()?, orders.first()?)
    }

    /// LiteRT stops to plan again after an op whose result has no known size; here everything is placed at once.
    fn placement_problem(&self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        let main = graphs.first()?;
        let (demands, hosts) = arena::demands(main, orders.first()?)?;
        let mut arena = assemble(demands, arena::ALIGNMENT, Vec::new())?;
        let buffers = tensor_buffers(&arena.contents);
        for (tensor, host) in main.tensor_ids().zip(hosts).filter(|(tensor, host)| tensor != host) {
            if let Some(&at) = buffers.get(&(0, host)) {
                arena.tensors[at].push(tensor);
            }
        }
        Some(arena)
    }
}

/// Inputs and unread tensors stay, what may share memory shares it, some results lie outside the arena.
fn in_place(graph: &Graph) -> Storage {
    let kernels = LitertKernels::of(graph);
    let hosts = litert_hosts(graph, |tensor| kernels.place(tensor));
    let mut storage = Storage::one_buffer_a_tensor(graph);
    for (tensor, &host) in graph.tensor_ids().zip(&hosts) {
        if host != tensor {
            storage.of[tensor.index()] = vec![BufferId(host.0)];
            let producer = graph.producer(tensor).map(|op| sharing(graph.op(op)));
            storage.is_view[tensor.index()] = producer == Some(Sharing::View);
        }
        if host != tensor || kernels.place(tensor) != LitertPlace::Arena {
            storage.bytes[tensor.index()] = 0;
        }
        // In the memory of another it goes with that one, which is read at least by the op that put it there.
        let is_unread = host == tensor && graph.consumers(tensor).is_empty();
        storage.stays[tensor.index()] = graph.is_input(tensor) || is_unread;
    }
    let mut left = MOST_SCRATCH;
    for op in graph.op_ids() {
        let bytes = kernels.workspace(op).min(left);
        left -= bytes;
        if bytes > 0 {
            storage.scratch.push((op, bytes));
        }
    }
    storage
}

#[cfg(test)]
mod tests {
    use crate::{MemoryModel, MemoryModelExt};
    use serenity_ir::{OpId, TensorId, sketch};

    fn peak_and_buffers(graph: &str) -> (u64, Vec<Vec<TensorId>>) {
        let graph = sketch(graph);
        let lifetimes = MemoryModel::Litert.lifetimes(&graph);
        let tensors = lifetimes.buffers().iter().map(|b| b.tensors.clone()).collect();
        (lifetimes.profile(&graph.file_order()).peak(), tensors)
    }

    #[test]
    fn a_sum_is_written_over_an_operand_that_nobody_else_reads() {
        let [a, s] = [1, 3].map(TensorId);
        let (peak, buffers) = peak_and_buffers(
            "x:10; a:10 = CONV_2D x; b:10 = CONV_2D x; s:10 = ADD a b; y:10 = CONV_2D s; -> y",
        );
        // x stays; s lies in a; b goes before y comes.
        assert_eq!((peak, &buffers[1]), (30, &vec![a, s]));
    }

    #[test]
    fn inputs_outputs_repeated_and_shared_operands_are_not_written_over() {
        let g = "x:10; a:10 = ADD x; b:10 = MUL a a; c:10 = SUB b; d:10 = DIV b c; -> d";
        assert!(peak_and_buffers(g).1.iter().all(|tensors| tensors.len() == 1));
    }

    #[test]
    fn a_view_shares_also_what_others_read_and_protects_it() {
        let graph =
            sketch("x:1; a:10 = CONV_2D x; v:10 = RESHAPE a; s:10 = SOFTMAX v; y:1 = CONV_2D s a; -> y");
        let [a, v] = [1, 2].map(TensorId);
        let lifetimes = MemoryModel::Litert.lifetimes(&graph);
        let buffer = lifetimes.buffers().iter().find(|b| b.tensors == [a, v]).unwrap();
        assert_eq!(
            (&buffer.writers[..], &buffer.readers[..]),
            (&[OpId(0)][..], &[OpId(1), OpId(2), OpId(3)][..])
        );
    }

    #[test]
    fn once_an_operand_is_chosen_the_other_is_not_tried() {
        let s = TensorId(4);
        let g = "x:1; a:10 = CONV_2D x; v:10 = RESHAPE a; b:10 = CONV_2D x; s:10 = ADD v b; y:1 = CONV_2D s a; -> y";
        // v is read once, but a, whose memory it is, is not.
        assert!(peak_and_buffers(g).1.contains(&vec![s]));
    }

    #[test]
    fn small_tensors_are_reshaped_in_place_but_not_written_over() {
        let g = "x:1; a:4 = CONV_2D x; v:4 = SQUEEZE a; s:4 = SOFTMAX v; y:1 = CONV_2D s; -> y";
        let [a, v, s] = [1, 2, 3].map(TensorId);
        let buffers = peak_and_buffers(g).1;
        assert!(buffers.contains(&vec![a, v]) && buffers.contains(&vec![s]));
    }

    #[test]
    fn what_lies_elsewhere_costs_nothing_and_what_nobody_reads_stays() {
        let graph = sketch(
            "x:100; shape:8 = SHAPE x; sizes:8 = CONV_2D shape; heap:1000 = TILE x sizes; \
             unread:20 = CONV_2D heap; y:3 = CONV_2D heap; -> y",
        );
        let profile = MemoryModel::Litert.lifetimes(&graph).profile(&graph.file_order());
        let after: Vec<u64> = profile.steps.iter().map(|s| s.after).collect();
        assert_eq!(after, [100, 108, 100, 120, 123]);
    }

    #[test]
    fn who_reads_another_name_of_what_is_written_over_must_stay_ahead() {
        let graph = sketch(
            "x:64; a:64 = CONV_2D x; v1:64 = RESHAPE a; v2:64 = RESHAPE v1; r:64 = CONV_2D v1; \
             s:64 = SOFTMAX v2; y:64 = CONV_2D s r; -> y",
        );
        assert_eq!(super::litert_hazards(&graph), [(OpId(3), OpId(4))]);
        let bound = graph.with_precedence(&[(OpId(3), OpId(4))]);
        assert_eq!(bound.predecessors(OpId(4)), [OpId(2), OpId(3)]);
        assert!(bound.check_order(&bound.file_order()).is_ok());
    }
}
