//! Graphs that state what their kernels allow, against all orders, all choices of what is written over what and all
//! placements, counted by the definition in docs/FORMATS.md ('What kernels allow') and by nothing of the program.

use serde_json::{Value, json};
use serenity::arena::{Options as PlaceOptions, Proof as PlaceProof, place};
use serenity::check::{self, Reproved};
use serenity::ir::{Graph, OpId, json as graph_json};
use serenity::plan_check::CheckOptions;
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::{Algorithm, Limits, distribution};
use serenity::search::Random;
use serenity::{Input, Options, PlanFile, check_plan, optimize, schedule};
use serenity_judges::{is_slow, sample};
use std::collections::{BTreeMap, BTreeSet};

const MODEL: MemoryModel = MemoryModel::Plain;

type Pairs = Vec<(usize, usize)>;

struct Op {
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    in_place: Pairs,
    aliases: Pairs,
}

/// A graph, by nothing but numbers. Its ops can run in the order in which they stand.
struct Net {
    bytes: Vec<u64>,
    ops: Vec<Op>,
    inputs: BTreeSet<usize>,
    outputs: BTreeSet<usize>,
}

/// An order of such a graph, and what it needs.
struct Run<'a> {
    net: &'a Net,
    /// By tensor: those in whose memory it lies.
    hosts: Vec<BTreeSet<usize>>,
    /// By op: when it runs.
    time: Vec<usize>,
}

impl Net {
    /// Few sizes, one or two outputs per op, and many statements about them.
    fn random(seed: u64, ops: usize) -> Self {
        let mut random = Random(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let mut draw = |below: usize| random.index(below);
        let size = |number: usize| [0, 8, 8, 8, 8, 20][number];
        let inputs: BTreeSet<usize> = (0..=draw(3)).collect();
        let mut bytes: Vec<u64> = inputs.iter().map(|_| size(draw(6))).collect();
        let mut net = Self { bytes: Vec::new(), ops: Vec::new(), inputs, outputs: BTreeSet::new() };
        for _ in 0..ops {
            let read: BTreeSet<usize> = (0..=draw(3)).map(|_| draw(bytes.len())).collect();
            let outputs: Vec<usize> = (0..=draw(2)).map(|i| bytes.len() + i).collect();
            bytes.extend(outputs.iter().map(|_| size(draw(6))));
            let (mut in_place, mut aliases) = (Vec::new(), Vec::new());
            for (&y, &x) in outputs.iter().flat_map(|y| read.iter().map(move |x| (y, x))) {
                match draw(7) {
                    0..=3 if bytes[y] == bytes[x] => in_place.push((y, x)),
                    5 => aliases.push((y, x)),
                    _ => {}
                }
            }
            net.ops.push(Op { inputs: read.into_iter().collect(), outputs, in_place, aliases });
        }
        net.outputs = (0..bytes.len()).filter(|_| draw(6) == 0).collect();
        net.bytes = bytes;
        net
    }

    fn graph(&self) -> Graph {
        let ops: Vec<Value> = self
            .ops
            .iter()
            .map(|op| json!({"inputs": op.inputs, "outputs": op.outputs, "in_place": op.in_place, "aliases": op.aliases}))
            .collect();
        let tensors: Vec<Value> = self.bytes.iter().map(|bytes| json!({"bytes": bytes})).collect();
        let (inputs, outputs) = (&self.inputs, &self.outputs);
        let document = json!({"tensors": tensors, "ops": ops, "inputs": inputs, "outputs": outputs});
        graph_json::parse(&document.to_string()).unwrap()
    }

    fn orders(&self) -> Vec<Vec<usize>> {
        let maker = |t: &usize| self.ops.iter().position(|op| op.outputs.contains(t));
        let needs: Vec<Vec<usize>> =
            self.ops.iter().map(|op| op.inputs.iter().filter_map(maker).collect()).collect();
        let mut orders = vec![Vec::new()];
        for _ in &self.ops {
            orders = orders
                .iter()
                .flat_map(|order: &Vec<usize>| {
                    let is_ready = |op: &usize| {
                        !order.contains(op) && needs[*op].iter().all(|need| order.contains(need))
                    };
                    (0..needs.len()).filter(is_ready).map(|op| [order.clone(), vec![op]].concat())
                })
                .collect();
        }
        orders
    }

    fn run(&self, order: &[usize]) -> Run<'_> {
        let mut hosts: Vec<BTreeSet<usize>> = (0..self.bytes.len()).map(|t| BTreeSet::from([t])).collect();
        for op in &self.ops {
            for &y in &op.outputs {
                let of: BTreeSet<usize> = op
                    .aliases
                    .iter()
                    .filter(|pair| pair.0 == y)
                    .flat_map(|&(_, x)| hosts[x].clone())
                    .collect();
                if !of.is_empty() {
                    hosts[y] = of;
                }
            }
        }
        let mut time = vec![0; order.len()];
        for (position, &op) in order.iter().enumerate() {
            time[op] = position;
        }
        Run { net: self, hosts, time }
    }
}

impl Run<'_> {
    fn is_wanted(&self, memory: usize) -> bool {
        self.net.outputs.iter().any(|&t| self.hosts[t].contains(&memory))
    }

    /// When the memory is read, under whatever name.
    fn reads(&self, memory: usize) -> impl Iterator<Item = usize> {
        let reads = move |op: &Op| op.inputs.iter().any(|&t| self.hosts[t].contains(&memory));
        self.time.iter().zip(&self.net.ops).filter(move |(_, op)| reads(op)).map(|(&time, _)| time)
    }

    /// The first and the last step at which the memory of a tensor is in use; -1 before the first op. `None` for what
    /// has none, or is never needed.
    fn life(&self, memory: usize) -> Option<(i64, i64)> {
        let maker = self.net.ops.iter().position(|op| op.outputs.contains(&memory));
        let first = maker.map_or(-1, |op| self.time[op] as i64);
        let last = self.reads(memory).max().map(|time| time as i64);
        let is_view = self.hosts[memory] != BTreeSet::from([memory]);
        if is_view || (maker.is_none() && last.is_none() && !self.is_wanted(memory)) {
            return None;
        }
        let end = self.time.len() as i64;
        Some((first, if self.is_wanted(memory) { end } else { last.unwrap_or(first) }))
    }

    /// What an op may write over what when it runs: outputs, and memory of one size that it reads by one name, and that
    /// nobody needs after it.
    fn may_write(&self, op: usize) -> Pairs {
        let Op { inputs, in_place, .. } = &self.net.ops[op];
        let allowed = |&(y, x): &(usize, usize)| {
            let memory = *self.hosts[x].first()?;
            let names = inputs.iter().filter(|&&t| self.hosts[t].contains(&memory)).count();
            let is_free = !self.is_wanted(memory) && self.reads(memory).all(|time| time <= self.time[op]);
            let is_whole = self.hosts[x].len() == 1 && self.net.bytes[memory] == self.net.bytes[y];
            let is_own = self.hosts[y] == BTreeSet::from([y]);
            (names == 1 && is_free && is_whole && is_own).then_some((y, memory))
        };
        in_place.iter().filter_map(allowed).collect()
    }

    /// The most in use at any time, if every op chooses best.
    fn peak(&self) -> u64 {
        let lives: Vec<(u64, (i64, i64))> =
            (0..self.net.bytes.len()).filter_map(|t| Some((self.net.bytes[t], self.life(t)?))).collect();
        let in_use = |step: i64| -> u64 {
            lives.iter().filter(|(_, life)| life.0 <= step && step <= life.1).map(|(bytes, _)| bytes).sum()
        };
        let during = |op: usize| {
            let pairs = self.may_write(op);
            let saved = |chosen: usize| {
                let chosen: Vec<_> =
                    (0..pairs.len()).filter(|i| chosen >> i & 1 == 1).map(|i| pairs[i]).collect();
                let distinct = |side: fn(&(usize, usize)) -> usize| {
                    chosen.iter().map(side).collect::<BTreeSet<_>>().len() == chosen.len()
                };
                let is_possible = distinct(|pair| pair.0) && distinct(|pair| pair.1);
                if is_possible { chosen.iter().map(|pair| self.net.bytes[pair.0]).sum() } else { 0 }
            };
            in_use(self.time[op] as i64) - (0..1 << pairs.len()).map(saved).max().unwrap_or(0)
        };
        (0..self.net.ops.len()).map(during).fold(in_use(-1), u64::max)
    }

    /// Is there a placement below `height`? Whatever does not rest on something can be moved down, so offsets are sums of sizes.
    fn can_be_placed_below(&self, height: u64) -> bool {
        let memories: Vec<(usize, (i64, i64))> = (0..self.net.bytes.len())
            .filter(|&t| self.net.bytes[t] > 0)
            .filter_map(|t| Some((t, self.life(t)?)))
            .collect();
        let mut offsets = BTreeSet::from([0]);
        for &(t, _) in &memories {
            offsets.extend(offsets.clone().iter().map(|offset| offset + self.net.bytes[t]));
        }
        let permitted: BTreeSet<(usize, usize)> =
            (0..self.net.ops.len()).flat_map(|op| self.may_write(op)).collect();
        self.fill(&memories, &mut Vec::new(), &permitted, &offsets, height)
    }

    fn fill(
        &self,
        memories: &[(usize, (i64, i64))],
        placed: &mut Vec<u64>,
        permitted: &BTreeSet<(usize, usize)>,
        offsets: &BTreeSet<u64>,
        height: u64,
    ) -> bool {
        let Some(&(t, life)) = memories.get(placed.len()) else { return true };
        for &offset in offsets.iter().take_while(|&&offset| offset + self.net.bytes[t] < height) {
            let is_clear = memories.iter().zip(placed.iter()).all(|(&(other, span), &there)| {
                let is_apart = span.1 < life.0
                    || life.1 < span.0
                    || offset + self.net.bytes[t] <= there
                    || there + self.net.bytes[other] <= offset;
                let is_permitted = permitted.contains(&(t, other)) || permitted.contains(&(other, t));
                is_apart || (is_permitted && offset == there)
            });
            if is_clear {
                placed.push(offset);
                if self.fill(memories, placed, permitted, offsets, height) {
                    return true;
                }
                placed.pop();
            }
        }
        false
    }
}

fn ids(order: &[usize]) -> Vec<OpId> {
    order.iter().map(|&op| OpId::from_index(op)).collect()
}

/// What all orders need, by the definition; every one is held against the program.
fn peaks(net: &Net, graph: &Graph, seed: u64) -> BTreeMap<u64, u128> {
    let lifetimes = MODEL.lifetimes(graph);
    let mut peaks: BTreeMap<u64, u128> = BTreeMap::new();
    for order in net.orders() {
        let peak = net.run(&order).peak();
        assert_eq!(lifetimes.profile(&ids(&order)).peak(), peak, "seed {seed}, order {order:?}");
        assert_eq!(
            check::peak(graph, MODEL, &ids(&order)).0,
            peak,
            "seed {seed}, order {order:?}: the checker"
        );
        *peaks.entry(peak).or_default() += 1;
    }
    peaks
}

#[test]
fn no_order_and_no_choice_needs_less() {
    let (mut saved, mut decided_by_order) = (0, 0);
    for seed in sample(0..4000, 20) {
        let net = Net::random(seed, 5);
        let graph = net.graph();
        let peaks = peaks(&net, &graph, seed);
        let least = *peaks.keys().next().unwrap();
        let problem = serenity::pipeline::problem(&graph, &MODEL.lifetimes(&graph));
        let counted = distribution::count(&problem, &Limits::default(), None).unwrap();
        assert_eq!(counted.peaks().collect::<BTreeMap<_, _>>(), peaks, "seed {seed}: `sample`");
        for algorithm in [Algorithm::Exact, Algorithm::Dp, Algorithm::DpDivide, Algorithm::DpDivideBudget] {
            let found = schedule(&graph, &Options { algorithm, ..Options::default() }).unwrap();
            assert_eq!(
                (found.after.peak, found.bound, found.is_optimal()),
                (least, least, true),
                "seed {seed}"
            );
        }
        let input = Input::from(graph.clone());
        let best = optimize(&input, &Options::for_input(&input)).unwrap().plan;
        assert_eq!((best.after.peak, best.bound, best.is_optimal()), (least, least, true), "seed {seed}");
        let deep = Some(Limits::default().holding(1 << 30));
        let plan = PlanFile::from_json(&best.to_json()).unwrap();
        let verdict = check_plan(&input, &plan, &CheckOptions { deep, ..CheckOptions::default() });
        assert!(verdict.is_verified("proof"), "seed {seed}");
        let claimed = check::reprove(&graph, MODEL, least + 1, u64::MAX, &|| false);
        assert_eq!(claimed, Reproved::No, "seed {seed}: the checker believes too high a bound");
        saved += u32::from(least < serenity::ir::Lifetimes::of(&graph).profile(&best.order).peak());
        decided_by_order += u32::from(!MODEL.lifetimes(&graph).hand_overs().is_empty() && peaks.len() > 1);
    }
    let enough = if is_slow() { 1000 } else { 40 };
    assert!(
        saved > enough && decided_by_order > enough,
        "{saved} {decided_by_order}: these graphs test nothing"
    );
}

#[test]
fn no_placement_is_lower() {
    let (mut shared, mut above) = (0, 0);
    for seed in sample(0..1500, 15) {
        let net = Net::random(seed, 4);
        let graph = net.graph();
        for order in net.orders().into_iter().take(3) {
            let arena = MODEL.placement_problem(&[&graph], &[&ids(&order)]).unwrap();
            let found = place(&arena.problem, &PlaceOptions::default());
            assert_eq!(found.proof, PlaceProof::Optimal, "seed {seed}");
            let run = net.run(&order);
            assert!(run.peak() <= found.height, "seed {seed}, order {order:?}: below what is in use");
            assert!(!run.can_be_placed_below(found.height), "seed {seed}, order {order:?}: {}", found.height);
            assert!(run.can_be_placed_below(found.height + 1), "seed {seed}, order {order:?}");
            shared += u32::from(!arena.problem.overlaps().is_empty());
            above += u32::from(run.peak() < found.height);
        }
    }
    assert!(shared > if is_slow() { 1000 } else { 60 }, "{shared}: these graphs test nothing");
    println!("{above} placements are higher than what is in use");
}

/// What somebody found: the first two were called proved at 174 and 48 bytes.
#[test]
fn reported_graphs() {
    let least = |text: &str| {
        let graph = graph_json::parse(text).unwrap();
        let found = schedule(&graph, &Options::default()).unwrap();
        let height = |order: &[OpId]| {
            place(&MODEL.placement_problem(&[&graph], &[order]).unwrap().problem, &PlaceOptions::default())
                .height
        };
        assert!(found.is_optimal());
        (found.after.peak, height(&found.order))
    };
    let two_readers = r#"{"tensors": [{"bytes": 58}, {"bytes": 58}, {"bytes": 58}], "inputs": [0], "outputs": [1, 2],
        "ops": [{"inputs": [0], "outputs": [2]}, {"inputs": [0], "outputs": [1], "in_place": [[1, 0]]}]}"#;
    assert_eq!(least(two_readers), (116, 116));
    let matching = r#"{"tensors": [{"bytes": 16}, {"bytes": 16}, {"bytes": 16}, {"bytes": 16}], "inputs": [0, 1], "outputs": [2, 3],
        "ops": [{"inputs": [0, 1], "outputs": [2, 3], "in_place": [[2, 0], [2, 1], [3, 0]]}]}"#;
    assert_eq!(least(matching), (32, 32));
    // A part of a tensor is never written over: nobody says where in it the part lies.
    let part = r#"{"tensors": [{"bytes": 92}, {"bytes": 81}, {"bytes": 81}], "inputs": [0], "outputs": [2],
        "ops": [{"inputs": [0], "outputs": [1], "aliases": [[1, 0]]}, {"inputs": [1], "outputs": [2], "in_place": [[2, 1]]}]}"#;
    assert_eq!(least(part), (173, 173));
}
