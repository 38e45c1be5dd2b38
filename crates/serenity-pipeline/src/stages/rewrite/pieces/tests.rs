use super::*;
use crate::Rewrites;
use crate::stages::rewrite::possible_rewrites;
use serenity_ir::sketch;
use serenity_search::{StopReason, mix};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The least sum of the sizes of the tensors in use, over all orders: what `plain` counts, by its definition.
fn least_peak(graph: &Graph) -> u64 {
    let is_done = |op: OpId, done: u32| done >> op.index() & 1 == 1;
    let in_use = |done: u32, running: Option<OpId>| {
        let of = |tensor| {
            let readers = graph.consumers(tensor);
            let exists = graph.producer(tensor).map_or(!readers.is_empty(), |writer| is_done(writer, done));
            let is_wanted = graph.is_output(tensor) || readers.iter().any(|&reader| !is_done(reader, done));
            let is_written = running.is_some() && graph.producer(tensor) == running;
            if is_written || (exists && is_wanted) { graph.tensor(tensor).bytes } else { 0 }
        };
        graph.tensor_ids().map(of).sum::<u64>()
    };
    let mut peaks = HashMap::from([(0_u32, in_use(0, None))]);
    for _ in graph.op_ids() {
        let mut next: HashMap<u32, u64> = HashMap::new();
        for (done, peak) in peaks {
            for op in graph.op_ids().filter(|&op| !is_done(op, done)) {
                let writers = graph.op(op).inputs.iter().filter_map(|&input| graph.producer(input));
                if writers.into_iter().all(|writer| is_done(writer, done)) {
                    let peak = peak.max(in_use(done, Some(op)));
                    let least = next.entry(done | 1 << op.index()).or_insert(peak);
                    *least = peak.min(*least);
                }
            }
        }
        peaks = next;
    }
    peaks.into_values().min().unwrap()
}

/// Two cells in a row, each with a concatenation and what reads it.
fn draw(seed: u64) -> Graph {
    let mut drawn = seed;
    let mut size = |most: u64| {
        drawn = mix(drawn);
        1 + drawn % most
    };
    let mut text = format!("x:float32[1,2,2,{}]", size(3));
    let mut input = "x".to_owned();
    for cell in 0..2 {
        let [a, b, z] = [size(3), size(3), size(4)];
        let joined = a + b;
        let kind = |pick: u64| ["RELU", "TANH", "DEPTHWISE_CONV_2D", "CONV_2D"][pick as usize - 1];
        let (first, second, is_wide) = (kind(size(3)), kind(size(4)), size(2) == 1);
        let _ = write!(
            text,
            "\n a{cell}:float32[1,2,2,{a}] = CONV_2D {input}
             b{cell}:float32[1,2,2,{b}] = CONV_2D {input}
             j{cell}:float32[1,2,2,{joined}] = CONCATENATION a{cell} b{cell} axis=3
             r{cell}:float32[1,2,2,{joined}] = {first} j{cell}"
        );
        let mut last = format!("r{cell}");
        if is_wide {
            let _ = write!(
                text,
                "\n t{cell}:float32[1,2,2,{joined}] = {second} j{cell}
                 k{cell}:float32[1,2,2,{}] = CONCATENATION r{cell} t{cell} axis=3",
                2 * joined
            );
            last = format!("k{cell}");
        }
        let _ = write!(text, "\n z{cell}:float32[1,2,2,{z}] = CONV_2D {last}");
        input = format!("z{cell}");
    }
    sketch(&format!("{text}\n -> {input}"))
}

/// All sets of rewrites and all orders, by brute force: what is proved is the least.
#[test]
fn nothing_below_what_is_proved_exists() {
    let (mut settled_at_least, mut cases) = (0, 0);
    for seed in 0..serenity_judges::draws(3_000) {
        let graph = draw(seed);
        let options = Options { model: MemoryModel::Plain, rewrites: Rewrites::Exact, ..Options::default() };
        let input = Input::from(graph.clone());
        let candidates = possible_rewrites(&input, options.model, options.rewrites);
        if candidates.is_empty() || candidates.len() > 5 {
            continue;
        }
        let settings = rewrite_settings(options.model, options.rewrites);
        let needs = |bits: usize| {
            let chosen = candidates.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
            let set: Vec<Patch> = chosen.map(|(_, patch)| patch.clone()).collect();
            least_peak(&apply(&graph, &set, &settings).unwrap().graph)
        };
        let least = (0..1 << candidates.len()).map(needs).min().unwrap();
        let open = |after| Choice {
            before: after,
            after,
            patches: Vec::new(),
            others: Vec::new(),
            floor: 0,
            stopped: Some(StopReason::Work),
            sets: 0,
        };
        assert!(!settled(&input, &candidates, &options, open(least + 1)).is_proved(), "seed {seed}");
        settled_at_least += usize::from(settled(&input, &candidates, &options, open(least)).is_proved());
        cases += 1;
    }
    assert!(settled_at_least * 10 > cases * 9 && cases > 100, "{settled_at_least} of {cases}");
}
