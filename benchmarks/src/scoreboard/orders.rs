//! The order alone: how much is in use at once if every tensor has its own buffer.

use super::board::{Answer, Board, Column};
use super::inputs::{File, Inputs};
use super::peers::{Package, ask, numbers};
use crate::peer::{self, Numbering};
use crate::{Network, measure};
use serde_json::Value;
use serenity::ir::{Graph, OpId};
use serenity::schedule::{Algorithm, Options};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

const TEXT: &str = "\
Peak in bytes under the memory model `plain`: every tensor has its own buffer from its writer to its last reader, for everybody. `serenity schedule INPUT --runtime plain` is ours; `*`: not proved optimal. \
`given` is the order of the file. \
tract's order is asked of nodes numbered as in the file, and as its own optimiser numbers them (`compact`). Vela's is read from the list of operators that `python benchmarks/peers/vela.py MODEL.tflite` has it print; operators that \
it fuses run with those that they are fused into. inductor chooses among three orders (`python benchmarks/peers/inductor.py GRAPH.json`): `lpmf` and the best of the three. The paper's algorithm is dynamic programming with divide and \
conquer and adaptive soft budgets, `serenity schedule INPUT --runtime plain --algorithm dp+dc+asb`; `†`: cut at the cap of CPU time, which our search has too.
";

/// What Vela said of the `.tflite` files, in their order.
pub(super) type Vela = [Result<Value, String>];

/// A network, and the order that we found for it.
pub(super) struct Ordered {
    pub(super) network: Network,
    pub(super) order: Vec<OpId>,
}

/// Asks everybody for an order of everything.
pub(super) fn measure(
    inputs: &Inputs,
    vela: &Vela,
    torch: Option<&Package>,
    cap: Duration,
    folder: &Path,
) -> Result<(Board, Vec<Ordered>), Box<dyn Error>> {
    let files = inputs.tflite.iter().chain(&inputs.onnx);
    let sources = files
        .map(|File { name, path }| (name.clone(), path.to_string_lossy().into_owned()))
        .chain(inputs.graphs.iter().map(|source| (crate::networks::short_name(source), source.clone())));
    let mut networks = Vec::new();
    for (name, source) in sources {
        networks.push(Network { name, ..Network::load(&source)? });
    }
    let inductor = ask_inductor(torch, &networks, folder)?;
    let (mut rows, mut ordered) = (Vec::new(), Vec::new());
    for (index, network) in networks.into_iter().enumerate() {
        eprintln!("{}: orders", network.name);
        let theirs = [
            Ok(network.peak(&network.graph.file_order())),
            tract(&network, Numbering::File),
            tract(&network, Numbering::Compact),
            vela.get(index).map_or_else(
                || Err("takes .tflite only".to_owned()),
                |said| said.as_ref().map_err(Clone::clone).and_then(|said| vela_peak(&network, said)),
            ),
            inductor[index]
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|said| inductor_peak(&network, said, &["lpmf"])),
            inductor[index]
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|said| inductor_peak(&network, said, &["lpmf", "bfs", "dfs"])),
        ];
        let search =
            |algorithm| measure::once(&network.problem, &Options { algorithm, ..Options::default() }, cap);
        let (paper, ours) = (search(Algorithm::DpDivideBudget), search(Algorithm::Exact));
        let mut answers: Vec<Answer> = theirs.into_iter().map(Answer::from).collect();
        answers.push(Answer::Bytes(paper.found.peak, if paper.has_finished() { "" } else { "†" }));
        answers.push(Answer::Bytes(ours.found.peak, if ours.is_proved() { "" } else { "*" }));
        rows.push((network.name.clone(), answers));
        let order = ours.found.order.iter().map(|op| OpId(op.0)).collect();
        ordered.push(Ordered { network, order });
    }
    let heads =
        ["given", "tract", "tract, compact", "Vela", "inductor, lpmf", "inductor, best of 3", "the paper"];
    let mut columns: Vec<Column> = heads.iter().map(|head| Column::peer(head, heads.len())).collect();
    columns.push(Column::ours("Serenity"));
    Ok((Board { title: "Order", text: TEXT, columns, rows }, ordered))
}

fn tract(network: &Network, numbering: Numbering) -> Result<u64, String> {
    peer::order(&network.graph, numbering)
        .map(|found| network.peak(&found.order))
        .map_err(|error| error.to_string())
}

fn ask_inductor(
    torch: Option<&Package>,
    networks: &[Network],
    folder: &Path,
) -> Result<Vec<Result<Value, String>>, Box<dyn Error>> {
    let mut files = Vec::new();
    for (index, network) in networks.iter().enumerate() {
        let path = folder.join(format!("graph{index}.json"));
        std::fs::write(&path, serenity::ir::json::write(&network.graph))?;
        files.push(path);
    }
    ask(torch, "inductor.py", &[], &files)
}

/// The least peak of these orders.
fn inductor_peak(network: &Network, said: &Value, orders: &[&str]) -> Result<u64, String> {
    let mut least = u64::MAX;
    for name in orders {
        let order: Vec<OpId> = numbers(said, name)?.into_iter().map(|op| OpId(op as u32)).collect();
        network
            .graph
            .check_order(&order)
            .map_err(|error| format!("its order `{name}` cannot run: {error}"))?;
        least = least.min(network.peak(&order));
    }
    Ok(least)
}

fn vela_peak(network: &Network, said: &Value) -> Result<u64, String> {
    let names = said["order"].as_array().ok_or("no order in the answer")?;
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    let order = by_names(&network.graph, &names).ok_or("names no tensor of the file")?;
    Ok(network.peak(&order))
}

/// The order in which `written` lists what the ops write. An op of which nothing is listed runs when the first that
/// needs it does; one that is listed several times, such as a concatenation in pieces, when the last of them does.
fn by_names(graph: &Graph, written: &[&str]) -> Option<Vec<OpId>> {
    // What an activation reads that was split off an op.
    let last: HashMap<&str, usize> = written
        .iter()
        .enumerate()
        .map(|(at, name)| (name.strip_suffix("_act").unwrap_or(name), at))
        .collect();
    let mut when = vec![usize::MAX; graph.ops().len()];
    let mut is_known = false;
    for op in graph.file_order().into_iter().rev() {
        let outputs = graph.op(op).outputs.iter().map(|&tensor| graph.tensor(tensor).name.as_str());
        let listed = outputs.filter_map(|name| last.get(name).copied()).max();
        is_known |= listed.is_some();
        when[op.index()] = listed.unwrap_or(when[op.index()]);
        for before in graph.predecessors(op) {
            when[before.index()] = when[before.index()].min(when[op.index()]);
        }
    }
    is_known.then(|| topological(graph, &when))
}

/// The order in which the op that may run and is wanted first always comes next.
fn topological(graph: &Graph, when: &[usize]) -> Vec<OpId> {
    let mut waits: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let mut after = vec![Vec::new(); waits.len()];
    for op in graph.op_ids() {
        for before in graph.predecessors(op) {
            after[before.index()].push(op);
        }
    }
    let start = graph.op_ids().filter(|op| waits[op.index()] == 0);
    let mut ready: BinaryHeap<_> = start.map(|op| Reverse((when[op.index()], op))).collect();
    let mut order = Vec::new();
    while let Some(Reverse((_, op))) = ready.pop() {
        order.push(op);
        for &next in &after[op.index()] {
            waits[next.index()] -= 1;
            if waits[next.index()] == 0 {
                ready.push(Reverse((when[next.index()], next)));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity::ir::{GraphBuilder, Tensor};

    #[test]
    fn an_order_is_read_from_what_is_written() {
        let mut builder = GraphBuilder::new("fork");
        let x = builder.input(Tensor::sized("x", 1));
        let a = builder.op("a", "RELU", &[x], Tensor::sized("a", 1));
        let b = builder.op("b", "RELU", &[x], Tensor::sized("b", 1));
        let hidden = builder.op("hidden", "PAD", &[a], Tensor::sized("hidden", 1));
        let c = builder.op("c", "CONCATENATION", &[hidden, b], Tensor::sized("c", 1));
        builder.output(c);
        let graph = builder.build().unwrap();
        let order =
            |names: &[&str]| by_names(&graph, names).map(|order| order.iter().map(|op| op.0).collect());
        assert_eq!(order(&["b_act", "b", "c", "a", "c"]), Some(vec![1, 0, 2, 3]));
        assert_eq!(order(&["a", "b", "c"]), Some(vec![0, 1, 2, 3]));
        assert_eq!(order(&["other"]), None);
    }
}
