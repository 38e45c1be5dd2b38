//! What holds whatever the bytes: one function a target. `fuzz_targets` feed them with what libFuzzer finds, `crates/serenity/tests/all/fuzzed.rs` with a
//! bounded number of mutated seeds on stable Rust.

use serenity::ir::{Graph, GraphBuilder, OpId, Tensor, TensorId};
use serenity::placement::{Buffer, Planner, Problem, csv, place};
use serenity::runtimes::MemoryModel;
use serenity::search::{Limits, Proof};
use serenity::{CheckOptions, Format, Options, PlanFile, ReadOptions, check_plan, load_bytes, optimize};

/// Takes any bytes, and panics if what must hold does not.
pub type Target = fn(&[u8]);

/// All of them, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("tflite", tflite),
    ("onnx", onnx),
    ("json", json),
    ("csv", csv_table),
    ("plan", plan),
    ("arena", arena),
    ("order", order),
];

/// A `.tflite` model: refused, or planned, checked, written and read again.
pub fn tflite(data: &[u8]) {
    model(data, Format::TfLite);
}

/// The same of an `.onnx` model.
pub fn onnx(data: &[u8]) {
    model(data, Format::Onnx);
}

/// The same of a JSON graph.
pub fn json(data: &[u8]) {
    model(data, Format::Json);
}

fn model(data: &[u8], format: Format) {
    let read = |bytes: Vec<u8>| load_bytes("fuzzed", bytes, format, &ReadOptions::default());
    let Ok(input) = read(data.to_vec()) else { return };
    // No clock, so that what fails once fails again; what is too large to be done soon is somebody else's test.
    if input.graphs().iter().map(|graph| graph.ops().len() + graph.tensors().len()).sum::<usize>() > 400 {
        return;
    }
    let options =
        Options { limits: Limits::default().working(2_000).holding(1 << 28), ..Options::for_input(&input) };
    // What cannot be counted or placed is refused; a plan that fails its own check is a bug.
    let found = match optimize(&input, &options) {
        Ok(found) => found,
        Err(serenity::Error::CheckFailed { faults, .. }) => panic!("its own checker refuses it: {faults:?}"),
        Err(serenity::Error::Rewrite { source, .. }) => panic!("a rewrite of ours does not fit: {source}"),
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

/// A plan: refused, or judged of a network without a panic.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(stated) = PlanFile::parse(text) else { return };
    let input = serenity::load("zoo:swiftnet-c").expect("a built-in network");
    let model = stated.model.unwrap_or(MemoryModel::Plain);
    let _ = check_plan(&input, &stated, &CheckOptions { model: Some(model), deep: None });
}

/// Up to five buffers: the exact planner is no worse than any order of placing each as low as it goes, one of which is optimal, and says so if its search ended.
pub fn arena(data: &[u8]) {
    let buffer = |bytes: &[u8]| {
        let (first, lasts) = (i64::from(bytes[1] % 6), i64::from(bytes[2] % 4));
        Buffer::new(1 + u64::from(bytes[0] % 40), first as _, (first + lasts) as _)
    };
    let buffers: Vec<Buffer> = data.chunks_exact(3).take(5).map(buffer).collect();
    let Ok(problem) = Problem::new(buffers, [1, 4, 16][data.len() % 3]) else { return };
    let options = serenity::placement::Options::new(Planner::Exact);
    let placed = place(&problem, &options);
    let least = least_by_trying(&problem);
    assert!(placed.height >= least, "{} < {least}: {problem:?}", placed.height);
    if placed.proof == Proof::Optimal {
        assert_eq!(placed.height, least, "{problem:?}");
    }
}

/// Some order of placing each buffer at the lowest place where it fits is optimal: push all down as far as they go, and take them from low to high.
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
