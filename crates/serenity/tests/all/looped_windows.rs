//! Random windows of random networks, forced into loops: followed by the checker, and run by TensorFlow Lite for
//! Microcontrollers.
//!
//! Whether a loop is worth it is not asked here. Every file must compute what the network did, bit for bit, in the
//! arena that its plan says.

use crate::random_networks::{Random, network};
use serde_json::json;
use serenity::check::loops::{Model, Plan, replay_loops};
use serenity::formats::ModelFile;
use serenity::ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Tensor};
use serenity::loops::{Loop, Looped, RowLocal};
use serenity::runtimes::{Kernels, TflmFacts, plan_arena, tflm_arena};
use serenity::search::Limits;
use serenity::{Format, ReadOptions};
use serenity_judges::{Inputs, is_slow, on_all_cores};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Networks that are drawn; `SERENITY_SLOW` asks for more of them.
const NETWORKS: u64 = 120;
const NETWORKS_IF_SLOW: u64 = 1_200;
/// Networks of which a plan was refused once: pieces of one channel side by side are a block like any other.
const REFUSED_ONCE: [u64; 2] = [977, 1_133];
/// Windows of each of them.
const WINDOWS: usize = 3;

/// A file with loops, what its plan says it needs, and what it is about, for messages.
struct Written {
    file: PathBuf,
    arena: u64,
    about: String,
    carries: bool,
    /// The operators inside of loops, and `line` for what is one row high.
    holds: BTreeSet<String>,
}

/// A network, and what became of it.
struct Tried {
    original: PathBuf,
    written: Vec<Written>,
    faults: Vec<String>,
}

/// A window that can become a loop; `None` if the one that was drawn cannot.
fn draw(random: &mut Random, graph: &Graph, order: &[OpId], carries: bool) -> Option<Loop> {
    let first = random.below(order.len());
    let length = 1 + random.below((order.len() - first).min(7));
    let ops = order[first..first + length].to_vec();
    let entering = RowLocal::of(graph, ops[0])?.inputs;
    let (enters, peeled) = (random.of(&entering), carries && random.below(3) == 0);
    let drawn = Loop { ops, enters, carries, peeled, step: 1 + random.below(8) as u64 };
    drawn.cost(graph).map(|_| drawn)
}

/// Some loops that share no op: mostly one alone. Few windows can carry rows, so there is more than one try for those.
fn loops(random: &mut Random, graph: &Graph, order: &[OpId]) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    let wanted = if random.below(4) == 0 { 2 } else { 1 };
    for _ in 0..wanted {
        let carries = random.below(2) == 0;
        for attempt in 0..200 {
            let drawn = draw(random, graph, order, carries && attempt < 150);
            let is_free =
                |drawn: &Loop| !loops.iter().flat_map(|one| &one.ops).any(|op| drawn.ops.contains(op));
            if let Some(drawn) = drawn.filter(is_free) {
                loops.push(drawn);
                break;
            }
        }
    }
    loops
}

fn orders(graphs: &[Graph]) -> Vec<Vec<OpId>> {
    graphs.iter().map(Graph::file_order).collect()
}

/// Writes the model with loops and a plan for the kernels, and tells what that needs with the portable ones; or what
/// the checker has against it.
fn write(original: &Arc<dyn ModelFile>, looped: &Looped, kernels: Kernels, to: &Path) -> Result<u64, String> {
    let model = original.looped(looped).map_err(|error| error.to_string())?;
    let (before, after): (Vec<&Graph>, Vec<&Graph>) =
        (original.graphs().iter().collect(), model.graphs().iter().collect());
    let (own, new) = (orders(original.graphs()), orders(model.graphs()));
    let (own, new): (Vec<&[OpId]>, Vec<&[OpId]>) =
        (own.iter().map(Vec::as_slice).collect(), new.iter().map(Vec::as_slice).collect());
    let facts = TflmFacts::new(&after, kernels);
    let planned = plan_arena(&facts, &new, Limits::default().working(2_000)).ok_or("it cannot run")?;
    let nothing = |_: usize, _: OpId, _: usize| None;
    let numbers = |graph: usize, op: OpId, position: usize| looped.numbers(graph, op, position);
    let faults = replay_loops(
        &Model { graphs: &before, orders: &own, numbers: &nothing },
        &Model { graphs: &after, orders: &new, numbers: &numbers },
        &looped.origins,
        &Plan { kernels, offsets: &planned.offsets },
    );
    if let Some(fault) = faults.first() {
        return Err(format!("the checker: {fault}"));
    }
    let bytes = model.planned(&new, Some(&planned.offsets), None).map_err(|error| error.to_string())?;
    std::fs::write(to, bytes).unwrap();
    let portable = TflmFacts::new(&after, Kernels::Reference);
    Ok(tflm_arena(&portable, &new, Some(&planned.offsets)).ok_or("it cannot run")?.bytes)
}

fn tried(seed: u64, folder: &Path) -> Tried {
    let mut random = Random(seed << 32);
    let dtype = match seed % 10 {
        0 => ElementType::Int16,
        even if even % 2 == 0 => ElementType::Int8,
        _ => ElementType::Float32,
    };
    let bytes = network(&mut random, dtype.clone());
    let original = folder.join(format!("{seed}.tflite"));
    std::fs::write(&original, &bytes).unwrap();
    let mut tried = Tried { original, written: Vec::new(), faults: Vec::new() };
    let file = Format::TfLite.read(bytes, &ReadOptions::default()).unwrap();
    let graph = &file.graphs()[0];
    let order = graph.file_order();
    for number in 0..WINDOWS {
        let loops = loops(&mut random, graph, &order);
        if loops.is_empty() {
            break;
        }
        let kinds: Vec<&str> = order.iter().map(|&op| graph.op(op).kind.as_str()).collect();
        let Some(looped) = Looped::new(file.graphs(), &order, &loops) else {
            tried
                .faults
                .push(format!("network {seed}: {loops:?} have a cost, and cannot be made of {kinds:?}"));
            continue;
        };
        let mut holds = held(graph, &loops);
        holds.insert(dtype.name().to_owned());
        for (kernels, name) in [(Kernels::Any, "any"), (Kernels::Reference, "reference")] {
            let about = format!("network {seed}, {name} kernels, {loops:?} of {kinds:?}");
            let to = folder.join(format!("{seed}_{number}_{name}.tflite"));
            match write(&file, &looped, kernels, &to) {
                Ok(arena) => {
                    let carries = loops.iter().any(|one| one.carries);
                    tried.written.push(Written { file: to, arena, about, carries, holds: holds.clone() });
                }
                Err(fault) => tried.faults.push(format!("{about}: {fault}")),
            }
        }
    }
    tried
}

fn held(graph: &Graph, loops: &[Loop]) -> BTreeSet<String> {
    let ops = || loops.iter().flat_map(|one| &one.ops).map(|&op| graph.op(op));
    let is_line = |shape: Option<&[u64]>| matches!(shape, Some([1, 1, _, _]));
    let lines = ops().filter(|op| is_line(graph.tensor(op.outputs[0]).shape.as_deref()));
    let peeled = loops.iter().filter(|one| one.peeled).map(|_| "peeled".to_owned());
    let kinds = ops().map(|op| op.kind.as_str().to_owned());
    kinds.chain(lines.map(|_| "line".to_owned())).chain(peeled).collect()
}

#[test]
fn random_windows_compute_the_same_as_loops() {
    let networks = if is_slow() { NETWORKS_IF_SLOW } else { NETWORKS };
    let seeds: Vec<u64> =
        REFUSED_ONCE.into_iter().filter(|seed| *seed > networks).chain(1..=networks).collect();
    // Some at a time, so that files do not pile up.
    let (mut faults, mut seen, mut held) = (Vec::new(), [0; 2], BTreeMap::<String, usize>::new());
    for seeds in seeds.chunks(250) {
        let folder = tempfile::tempdir().unwrap();
        let all = on_all_cores(seeds, |&seed| tried(seed, folder.path()));
        for written in all.iter().flat_map(|tried| &tried.written) {
            seen[usize::from(written.carries)] += 1;
            for what in &written.holds {
                *held.entry(what.clone()).or_default() += 1;
            }
        }
        faults.extend(all.iter().flat_map(|tried| tried.faults.clone()));
        faults.extend(judged(&all));
    }
    println!("{} files with halos only, {} with carried rows, of {held:?}", seen[0], seen[1]);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    let is_rare = |what: &&str| held.get(*what).is_none_or(|&count| count < 10);
    let rare = ["RESIZE_NEAREST_NEIGHBOR", "RESHAPE", "EXPAND_DIMS", "line", "int16", "peeled"]
        .iter()
        .find(|what| is_rare(what));
    assert!(rare.is_none(), "{rare:?} of {held:?}");
}

/// What the runtime has against them.
fn judged(all: &[Tried]) -> Vec<String> {
    let files: Vec<&Path> = all
        .iter()
        .flat_map(|tried| {
            std::iter::once(&tried.original).chain(tried.written.iter().map(|written| &written.file))
        })
        .map(PathBuf::as_path)
        .collect();
    let Some(verdicts) = serenity_judges::tflm(&files, &Inputs { runs: 2, seed: 1 }) else {
        return Vec::new();
    };
    let mut verdicts = verdicts.iter();
    let mut faults = Vec::new();
    for tried in all {
        let original = verdicts.next().unwrap().accepted();
        for written in &tried.written {
            let looped = match verdicts.next().unwrap() {
                serenity_judges::Verdict::Accepted(report) => report,
                serenity_judges::Verdict::Refused(reason) => {
                    faults.push(format!("{}: refused: {reason}", written.about));
                    continue;
                }
            };
            if looped.outputs != original.outputs {
                faults.push(format!("{}: other outputs", written.about));
            }
            if looped.head != written.arena {
                faults.push(format!("{}: predicted {}, seen {}", written.about, written.arena, looped.head));
            }
        }
    }
    faults
}

/// Convolutions of three rows one after the other, on an image of 64 rows of 1,024 bytes.
fn convolutions(count: usize) -> Graph {
    let mut graph = GraphBuilder::new("convolutions");
    let image = || Tensor::shaped("", vec![1, 64, 64, 16], ElementType::Int8).unwrap();
    let mut x = graph.input(image());
    for _ in 0..count {
        let filter = json!({"1": {"shape": [16, 3, 3, 16], "dtype": "int8"}});
        let attributes = json!({"stride": [1, 1], "dilation": [1, 1], "kernel": [3, 3], "padding": "same",
            "constants": filter});
        let output = graph.tensor(image());
        graph.push_op(Op {
            name: String::new(),
            kind: OpKind::new("CONV_2D"),
            inputs: vec![x],
            outputs: vec![output],
            attributes: attributes.as_object().unwrap().clone(),
            extra: Attributes::new(),
        });
        x = output;
    }
    graph.output(x);
    graph.build().unwrap()
}

/// Of a deep window, lines carry a few rows each, and every one gets new rows in turn. The room for these is the same
/// for all, not one behind each: with `step` new rows in each of `count - 1` lines that would be so many times `step`
/// rows.
#[test]
fn lines_have_room_for_new_rows_in_common() {
    let (count, step) = (10, 8);
    let graphs = [convolutions(count)];
    let order = graphs[0].file_order();
    let enters = graphs[0].inputs()[0];
    let deep = Loop { ops: order.clone(), enters, carries: true, peeled: false, step };
    let looped = Looped::new(&graphs, &order, &[deep]).unwrap();
    let graphs: Vec<&Graph> = looped.graphs.iter().collect();
    let orders = orders(&looped.graphs);
    let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let facts = TflmFacts::new(&graphs, Kernels::Reference);
    let planned = plan_arena(&facts, &orders, Limits::default().working(100_000)).unwrap();
    // The image and its room above and below; two rows a line; and what one convolution works with.
    let row = 66 * 16;
    let (lines, new) = ((count as u64 - 1) * 2 * row, step * row);
    let image = 64 * 1024 + 4 * new;
    assert!(planned.arena.bytes < image + lines + 5 * new, "{} bytes", planned.arena.bytes);
}
