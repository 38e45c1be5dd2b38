//! The bound on the choice of patches, by brute force: all sets of patches, all orders, and a count of the memory model
//! `paper` that shares nothing with the crates that are tested.

use crate::identities::random_models::Rng;
use crate::places::drawing::Drawing;
use serde_json::{Value, json};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_rewrite::{Effort, Evaluation, Patch, Settings, Sums, Worth, apply, choose, find, least};
use std::collections::{BTreeSet, HashMap};

const SETTINGS: Settings = Settings { sums: Sums::Accumulator, rounds_integers: true };
/// Graphs that are drawn if there is time.
const GRAPHS: u64 = 40_000;
/// Larger graphs have too many orders.
const MOST_OPS: usize = 13;

/// The tensors in whose memory a tensor lies, as `paper` counts: a concatenation lies in what it joins, and partial
/// results in what they are added to.
fn homes(graph: &Graph, tensor: TensorId) -> BTreeSet<TensorId> {
    let is_accumulator = |op: &OpId| graph.op(*op).kind.as_str() == "ACCUMULATE";
    match graph.producer(tensor) {
        Some(op) if graph.op(op).kind.as_str() == "CONCATENATION" => {
            graph.op(op).inputs.iter().flat_map(|&piece| homes(graph, piece)).collect()
        }
        _ => {
            let sum = graph.consumers(tensor).iter().find(|op| is_accumulator(op));
            BTreeSet::from([sum.map_or(tensor, |&op| graph.op(op).outputs[0])])
        }
    }
}

/// The least peak over all orders: over all sets of ops that can have run.
fn least_peak(graph: &Graph) -> u64 {
    let homes: Vec<BTreeSet<TensorId>> = graph.tensor_ids().map(|tensor| homes(graph, tensor)).collect();
    let exists = |tensor: TensorId, done: u32| {
        graph.producer(tensor).is_none_or(|writer| done >> writer.index() & 1 == 1)
    };
    let is_wanted = |tensor: TensorId, done: u32| {
        graph.is_output(tensor)
            || graph.consumers(tensor).iter().any(|reader| done >> reader.index() & 1 == 0)
    };
    let held = |done: u32, running: Option<OpId>| {
        let mut all = BTreeSet::new();
        for tensor in graph.tensor_ids() {
            let is_touched = running.is_some_and(|op| {
                graph.op(op).inputs.contains(&tensor) || graph.op(op).outputs.contains(&tensor)
            });
            let is_input = graph.is_input(tensor) && (is_wanted(tensor, 0) || graph.is_output(tensor));
            let exists = is_input || (graph.producer(tensor).is_some() && exists(tensor, done));
            if is_touched || (exists && is_wanted(tensor, done)) {
                all.extend(&homes[tensor.index()]);
            }
        }
        all.into_iter().map(|tensor| graph.tensor(tensor).bytes).sum::<u64>()
    };
    let all = (1_u32 << graph.ops().len()) - 1;
    let mut layer = HashMap::from([(0_u32, held(0, None))]);
    for _ in graph.op_ids() {
        let mut next: HashMap<u32, u64> = HashMap::new();
        for (done, peak) in layer {
            for op in graph.op_ids().filter(|op| done >> op.index() & 1 == 0) {
                if graph.op(op).inputs.iter().all(|&input| exists(input, done)) {
                    let then = done | 1 << op.index();
                    let peak = peak.max(held(done, Some(op))).max(held(then, None));
                    next.entry(then).and_modify(|least| *least = peak.min(*least)).or_insert(peak);
                }
            }
        }
        layer = next;
    }
    layer[&all]
}

/// A small network of concatenations, sums, convolutions, pads and functions of elements; `channels` of each tensor.
fn draw(rng: &mut Rng) -> Graph {
    let mut drawing = Drawing::new();
    let mut channels: Vec<u64> = Vec::new();
    let mut tensors: Vec<TensorId> = Vec::new();
    let mut unread: BTreeSet<TensorId> = BTreeSet::new();
    for _ in 0..rng.size(1, 2) {
        let size = rng.size(1, 3);
        tensors.push(drawing.input(&[1, 4, 4, size]));
        channels.push(size);
    }
    for _ in 0..rng.size(3, 7) {
        // Mostly what was written last, so that concatenations are read by what can take their pieces.
        let recent = |rng: &mut Rng| {
            let back = rng.size(0, tensors.len() as u64 - 1).min(rng.size(0, 3)) as usize;
            tensors.len() - 1 - back
        };
        let one = recent(rng);
        let alike: Vec<usize> = (0..tensors.len()).filter(|&at| channels[at] == channels[one]).collect();
        let terms: Vec<TensorId> = (0..rng.size(2, 3)).map(|_| tensors[rng.choose(&alike)]).collect();
        let more = rng.size(1, 3);
        let none = json!({"activation": "none"});
        let (kind, inputs, attributes, size): (&str, Vec<TensorId>, Value, u64) = match rng.size(0, 11) {
            0..=3 => {
                let pieces: Vec<usize> = (0..rng.size(2, 3)).map(|_| recent(rng)).collect();
                let size = pieces.iter().map(|&at| channels[at]).sum();
                let pieces = pieces.iter().map(|&at| tensors[at]).collect();
                ("CONCATENATION", pieces, json!({"axis": 3, "activation": "none"}), size)
            }
            4 | 5 => ("CONV_2D", vec![tensors[one]], none, more),
            6 => ("DEPTHWISE_CONV_2D", vec![tensors[one]], none, channels[one]),
            7 => ("RELU", vec![tensors[one]], json!({}), channels[one]),
            8 => ("ADD_N", terms, json!({}), channels[one]),
            9 => ("ADD", terms[..2].to_vec(), none, channels[one]),
            10 => {
                let factors = vec![0.5; terms.len()];
                let size = if rng.one_in(2) { channels[one] } else { more };
                ("SEPARABLE_CONV_2D", terms, json!({"input_weights": factors}), size)
            }
            _ => {
                let paddings = json!([[0, 0], [1, 1], [1, 1], [0, 0]]);
                let padded = drawing.op(
                    "PAD",
                    &[tensors[one]],
                    json!({"paddings": paddings}),
                    &[1, 6, 6, channels[one]],
                );
                unread.remove(&tensors[one]);
                let valid =
                    json!({"activation": "none", "padding": "valid", "kernel": [3, 3], "stride": [1, 1]});
                ("CONV_2D", vec![padded], valid, more)
            }
        };
        for input in &inputs {
            unread.remove(input);
        }
        let made = drawing.op(kind, &inputs, attributes, &[1, 4, 4, size]);
        tensors.push(made);
        channels.push(size);
        unread.insert(made);
    }
    let outputs: Vec<TensorId> = unread.into_iter().collect();
    drawing.finish(&outputs)
}

/// Every way to decide the ops in a cheaper form, to take the patch, to leave it out or neither, bounds the sets that agree
/// with it, and where all are decided the bound is met. Returns how many there were.
fn decisions(
    graph: &Graph,
    patches: &[Patch],
    open: &BTreeSet<OpId>,
    needs_of: &[(BTreeSet<OpId>, u64)],
    place: &str,
) -> usize {
    let ways = 3_usize.pow(open.len() as u32);
    for way in 0..ways {
        let decision = |decided: usize| {
            let mut rest = way;
            let is_so = |op: &&OpId| {
                let this = open.contains(op) && rest % 3 == decided;
                rest /= 3;
                this
            };
            open.iter().filter(is_so).copied().collect::<BTreeSet<OpId>>()
        };
        let (taken, dropped) = (decision(1), decision(2));
        let kept = patches.iter().filter(|patch| !dropped.contains(&patch.op())).cloned();
        let bound = least(graph, &kept.collect::<Vec<Patch>>(), &taken).unwrap();
        if bound.graph.ops().len() > MOST_OPS {
            continue;
        }
        let agrees = |set: &BTreeSet<OpId>| set.is_superset(&taken) && set.is_disjoint(&dropped);
        let sets = needs_of.iter().filter(|(set, _)| agrees(set));
        let best = sets.map(|(_, needs)| *needs).min().unwrap();
        let floor = least_peak(&bound.graph);
        assert!(
            floor <= best,
            "{place}, {taken:?} taken, {dropped:?} left out: {floor} is no bound of {best}"
        );
        if taken.len() + dropped.len() == open.len() {
            assert_eq!(floor, best, "{place}, {taken:?} taken, {dropped:?} left out");
        }
    }
    ways
}

#[test]
fn no_set_of_patches_needs_less_than_the_least_graph() {
    let (mut bounded, mut met, mut relaxed, mut decided, mut by_rule) =
        (0, 0, 0, 0, HashMap::<&str, usize>::new());
    for seed in 0..serenity_judges::draws(GRAPHS) {
        let graph = draw(&mut Rng::new(seed));
        let patches = find(&graph, &SETTINGS);
        let fits = |graph: &Graph| graph.ops().len() <= MOST_OPS;
        let Some(bound) =
            least(&graph, &patches, &BTreeSet::new()).filter(|_| (1..=5).contains(&patches.len()))
        else {
            continue;
        };
        let all = apply(&graph, &patches, &SETTINGS).unwrap().graph;
        if !fits(&bound.graph) || !fits(&all) {
            continue;
        }
        let floor = least_peak(&bound.graph);
        let mut needs_of: Vec<(BTreeSet<OpId>, u64)> = Vec::new();
        for bits in 0..1_usize << patches.len() {
            let chosen = patches.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
            let set: Vec<Patch> = chosen.map(|(_, patch)| patch.clone()).collect();
            let needs = least_peak(&apply(&graph, &set, &SETTINGS).unwrap().graph);
            needs_of.push((set.iter().map(Patch::op).collect(), needs));
        }
        let best = needs_of.iter().map(|(_, needs)| *needs).min().unwrap();
        assert!(floor <= best, "seed {seed}: {floor} is no bound of {best}");
        decided += decisions(&graph, &patches, &bound.open, &needs_of, &format!("seed {seed}"));
        if bound.open.is_empty() {
            assert_eq!(floor, least_peak(&all), "seed {seed}");
            assert_eq!(floor, best, "seed {seed}");
        }
        let effort = Effort { sets: 2, first: Vec::new() };
        let choice = choose(&graph, &patches, &effort, floor, |set, _| {
            let needs = least_peak(&apply(&graph, set, &SETTINGS).unwrap().graph);
            Evaluation::Worth(Worth { needs, bound: needs, patches: set.to_vec() })
        });
        assert!(choice.after >= best, "seed {seed}");
        assert!(!choice.is_proved() || choice.after == best, "seed {seed}");
        assert!(!bound.open.is_empty() || choice.is_proved(), "seed {seed}");
        bounded += 1;
        met += usize::from(floor == best);
        relaxed += usize::from(!bound.open.is_empty());
        for patch in &patches {
            *by_rule.entry(patch.rule).or_default() += 1;
        }
    }
    println!(
        "{bounded} graphs, {relaxed} with ops in a cheaper form, bound met by {met}, {decided} decisions; patches {by_rule:?}"
    );
    assert!(
        bounded > 100 && relaxed > 10 && decided > 40 && by_rule.len() == 5,
        "{bounded} {met} {relaxed} {by_rule:?}"
    );
}
