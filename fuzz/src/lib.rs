//! What holds whatever the bytes: one function a target. `fuzz_targets` feed them with what libFuzzer finds,
//! `crates/serenity/tests/all/fuzzed.rs` with a bounded number of mutated seeds on stable Rust.

pub mod seeds;
pub mod truth;

use serde_json::{Value, json};
use serenity::arena::{Buffer, Planner, Problem, csv, place};
use serenity::ir::{Graph, GraphBuilder, OpId, Tensor, TensorId};
use serenity::plan_check::CheckOptions;
use serenity::runtimes::{Kernels, MemoryModel, MemoryModelExt};
use serenity::search::{Limits, Proof};
use serenity::zoo::Precision;
use serenity::{
    Format, Input, Loops, Options, PlanFile, ReadOptions, check_plan, export, load_bytes, optimize,
};
use std::sync::OnceLock;

/// Takes any bytes, and panics if what must hold does not.
pub type Target = fn(&[u8]);

/// All of them, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("tflite", tflite),
    ("loops", loops),
    ("onnx", onnx),
    ("json", json_graph),
    ("csv_table", csv_table),
    ("plan", plan),
    ("tampered", tampered),
    ("arena", arena),
    ("order", order),
];

/// A `.tflite` model: refused, or planned, checked, written and read again.
pub fn tflite(data: &[u8]) {
    model(data, Format::TfLite, None);
}

/// The same with loops over row windows, which the checker follows element by element.
pub fn loops(data: &[u8]) {
    model(data, Format::TfLite, Some(Loops { most_extra_macs: 0.5, ..Loops::default() }));
}

/// The same of an `.onnx` model.
pub fn onnx(data: &[u8]) {
    model(data, Format::Onnx, None);
}

/// The same of a JSON graph.
pub fn json_graph(data: &[u8]) {
    model(data, Format::Json, None);
}

fn model(data: &[u8], format: Format, loops: Option<Loops>) {
    let read = |bytes: Vec<u8>| load_bytes("fuzzed", bytes, format, &ReadOptions::default());
    let Ok(input) = read(data.to_vec()) else { return };
    // No clock, so that what fails once fails again; what is too large to be done soon is somebody else's test.
    if input.graphs().iter().map(|graph| graph.ops().len() + graph.tensors().len()).sum::<usize>() > 400 {
        return;
    }
    let limits = Limits::default().working(2_000).holding(1 << 28);
    let options = Options { limits, loops, ..Options::for_input(&input) };
    // What cannot be counted or placed is refused; a plan that fails its own check is a bug.
    let found = match optimize(&input, &options) {
        Ok(found) => found,
        Err(serenity::pipeline::Error::CheckFailed { faults, .. }) => {
            panic!("its own checker refuses it: {faults:?}")
        }
        Err(serenity::pipeline::Error::Rewrite { source, .. }) => {
            panic!("a rewrite of ours does not fit: {source}")
        }
        Err(_) => return,
    };
    let Ok(bytes) = found.to_bytes() else { return };
    let again = read(bytes).unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    let stated =
        PlanFile::from_json(&found.plan.to_json()).unwrap_or_else(|error| panic!("not a plan: {error}"));
    let verdict = check_plan(&input, &stated, &CheckOptions { model: Some(found.plan.model), deep: None });
    assert!(verdict.is_valid(), "{:?}", verdict.problems().collect::<Vec<_>>());
    assert_eq!(again.graph().outputs().len(), input.graph().outputs().len());
}

/// A table of buffers: refused, or read, placed and written so that it reads the same again.
pub fn csv_table(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(table) = csv::read(text) else { return };
    let written = csv::write(&table, None);
    assert_eq!(csv::read(&written).as_ref(), Ok(&table), "{written}");
}

/// A plan as text: refused, or judged of a network without a panic.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(stated) = PlanFile::parse(text) else { return };
    let input = serenity::load("zoo:swiftnet-c").expect("a built-in network");
    let model = stated.model.unwrap_or(MemoryModel::Plain);
    let _ = check_plan(&input, &stated, &CheckOptions { model: Some(model), deep: None });
}

/// A true plan of TFLM's arena with a few fields changed: what the checker accepts is true.
pub fn tampered(data: &[u8]) {
    static MADE: OnceLock<(Input, Value)> = OnceLock::new();
    let (input, made) = MADE.get_or_init(|| {
        let bytes = export("swiftnet-c", Format::TfLite, Precision::Int8).expect("a built-in network").bytes;
        let input = load_bytes("net", bytes, Format::TfLite, &ReadOptions::default()).expect("it is ours");
        let model = MemoryModel::Tflm(Kernels::Reference);
        let rewrites = serenity::Rewrites::None;
        let options = Options { model, plan_arena: true, rewrites, ..Options::for_input(&input) };
        let plan = optimize(&input, &options).expect("it can be planned").plan.to_json();
        (input, plan)
    });
    let mut plan = made.clone();
    for change in data.chunks_exact(3) {
        tamper(&mut plan, [change[0], change[1], change[2]]);
    }
    let Ok(stated) = PlanFile::from_json(&plan) else { return };
    if check_plan(input, &stated, &CheckOptions::default()).is_valid() {
        assert!(truth::is_true(input, made, &stated), "accepted: {plan}");
    }
}

/// Two ops change places, a tensor moves by some multiple of the alignment, or a figure is a little off; both orders
/// and figures together may be true again.
fn tamper(plan: &mut Value, [what, which, by]: [u8; 3]) {
    let step = i64::from(by.cast_signed());
    let moved = |value: &mut Value, by: i64| {
        if let Some(new) = value.as_i64().and_then(|old| old.checked_add(by)) {
            *value = json!(new);
        }
    };
    let field = ["order", "offsets", "peak", "arena", "bound", "peak_bound"][usize::from(what % 6)];
    match (field, &mut plan[field]) {
        ("order", Value::Array(order)) if !order.is_empty() => {
            let count = order.len();
            order.swap(usize::from(which) % count, usize::from(by) % count);
        }
        ("offsets", Value::Array(graphs)) if !graphs.is_empty() => {
            if let Some(offsets) = graphs[0].as_array_mut().filter(|offsets| !offsets.is_empty()) {
                let index = usize::from(which) % offsets.len();
                moved(&mut offsets[index], step * 16);
            }
        }
        (_, number) => moved(number, step * [1, 16, 1_024, 12_544][usize::from(which % 4)]),
    }
}

/// Up to five buffers: the exact planner is no worse than any order of placing each as low as it goes, one of which is
/// optimal, and says so if its search ended.
pub fn arena(data: &[u8]) {
    let buffer = |bytes: &[u8]| {
        let (lower, lasts) = (i64::from(bytes[1] % 6), i64::from(bytes[2] % 4));
        Buffer::new(1 + u64::from(bytes[0] % 40), lower..lower + lasts + 1)
    };
    let buffers: Vec<Buffer> = data.chunks_exact(3).take(5).map(buffer).collect();
    let Ok(problem) = Problem::new(buffers, [1, 4, 16][data.len() % 3]) else { return };
    let options = serenity::arena::Options::new(Planner::Exact);
    let placed = place(&problem, &options);
    let least = least_by_trying(&problem);
    assert!(placed.height >= least, "{} < {least}: {problem:?}", placed.height);
    if placed.proof == Proof::Optimal {
        assert_eq!(placed.height, least, "{problem:?}");
    }
}

/// Some order of placing each buffer at the lowest place where it fits is optimal: push all down as far as they go, and
/// take them from low to high.
fn least_by_trying(problem: &Problem) -> u64 {
    fn extend(problem: &Problem, placed: &mut Vec<(usize, u64)>, best: &mut u64) {
        let buffers = problem.buffers();
        if placed.len() == buffers.len() {
            let top = placed.iter().map(|&(b, offset)| offset + buffers[b].size).max().unwrap_or(0);
            *best = top.min(*best);
            return;
        }
        for next in
            (0..buffers.len()).filter(|next| placed.iter().all(|(b, _)| b != next)).collect::<Vec<_>>()
        {
            let others = || placed.iter().filter(|(b, _)| buffers[*b].lives_with(&buffers[next]));
            let ends =
                others().map(|&(b, offset)| (offset + buffers[b].size).next_multiple_of(problem.alignment()));
            let fits = |&at: &u64| {
                others()
                    .all(|&(b, offset)| at + buffers[next].size <= offset || offset + buffers[b].size <= at)
            };
            let lowest = ends.chain([0]).filter(fits).min().unwrap_or(0);
            placed.push((next, lowest));
            extend(problem, placed, best);
            placed.pop();
        }
    }
    let mut best = u64::MAX;
    extend(problem, &mut Vec::new(), &mut best);
    best
}

/// A graph of up to seven ops: the exact engine finds the least peak of all orders, and proves it.
pub fn order(data: &[u8]) {
    let mut builder = GraphBuilder::new("fuzzed");
    let mut tensors: Vec<TensorId> = vec![builder.input(Tensor::sized("", 8))];
    for bytes in data.chunks_exact(4).take(7) {
        let kind = ["X", "CONCAT", "ACCUMULATE", "ADD"][usize::from(bytes[0] % 4)];
        let inputs = [bytes[1], bytes[2]].map(|pick| tensors[usize::from(pick) % tensors.len()]);
        tensors.push(builder.op("", kind, &inputs, Tensor::sized("", u64::from(bytes[3]))));
    }
    builder.output(tensors[tensors.len() - 1]);
    let Ok(graph) = builder.build() else { return };
    for model in [MemoryModel::Plain, MemoryModel::Paper] {
        let plan = serenity::schedule(&graph, &Options { model, ..Options::default() })
            .expect("it passes its own check");
        let least = least_peak(&graph, model, &mut Vec::new());
        assert_eq!((plan.after.peak, plan.proof.is_optimal()), (least, true), "{graph:?}");
    }
}

fn least_peak(graph: &Graph, model: MemoryModel, order: &mut Vec<OpId>) -> u64 {
    if order.len() == graph.ops().len() {
        return model.lifetimes(graph).profile(order).peak();
    }
    let mut least = u64::MAX;
    for op in graph.op_ids() {
        if !order.contains(&op) && graph.predecessors(op).iter().all(|before| order.contains(before)) {
            order.push(op);
            least = least.min(least_peak(graph, model, order));
            order.pop();
        }
    }
    least
}
