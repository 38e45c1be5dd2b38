//! The exact engine against the definition, with every rule on and with each one off.
//!
//! The definition is the best of all orders, one by one; for graphs with too many orders it is plain dynamic
//! programming over all sets of executed ops, which `optimality.rs` compares with the former.

use serenity::ir::OpId;
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::{Algorithm, Buffer, Limits, OpIndex, Options, Problem, Proof, Rules, schedule};
use serenity::zoo;
use serenity_judges::draws;

/// The zoo lists ops in an order that can run; a problem need not: every other one is numbered backwards.
fn problem(spec: &str, model: MemoryModel) -> Problem {
    let graph = zoo::build(spec).unwrap();
    let backwards = spec.len().is_multiple_of(2) || spec.ends_with(['1', '4', '7']);
    if !backwards {
        return serenity::pipeline::problem(&graph, &model.lifetimes(&graph));
    }
    let ops = graph.ops().len() as u32;
    let turned = |op: OpId| OpIndex(ops - 1 - op.0);
    let all = |list: &[OpId]| list.iter().map(|&op| turned(op)).collect();
    let lifetimes = model.lifetimes(&graph);
    let buffers = lifetimes.buffers().iter().map(|b| Buffer {
        bytes: b.bytes,
        writers: all(&b.writers),
        readers: all(&b.readers),
        from_start: b.from_start,
        to_end: b.to_end,
    });
    let edges = graph.op_ids().flat_map(|op| graph.predecessors(op).into_iter().map(move |p| (p, op)));
    Problem::new(ops, buffers.collect(), edges.map(|(first, then)| (turned(first), turned(then)))).unwrap()
}

fn optimum(problem: &Problem, algorithm: Algorithm) -> u64 {
    let found = schedule(problem, &Options { algorithm, ..Options::default() });
    assert_eq!(found.proof, Proof::Optimal);
    found.peak
}

fn assert_optimal(problem: &Problem, rules: &Rules, least: u64, what: &str) {
    let found = schedule(problem, &Options { rules: rules.clone(), ..Options::default() });
    assert_eq!(
        (found.peak, found.bound, found.proof),
        (least, least, Proof::Optimal),
        "{what} with {rules:?}"
    );
    assert_eq!(problem.peak(&found.order), least, "{what}: the order has another peak");
}

/// Bounds and beams settle small graphs before any search: without them, the searches have to.
fn without_help(patience: u64) -> Rules {
    Rules { cut_bound: false, beam: false, patience, ..Rules::default() }
}

/// A spread of configurations that reach every part of the engine on graphs of ten ops.
fn configurations() -> Vec<Rules> {
    let bare = without_help(1);
    vec![
        Rules::default(),
        bare.clone(),
        Rules { modules: false, ..bare.clone() },
        Rules { modules: false, global_waypoints: false, local_waypoints: false, ..bare.clone() },
        Rules { modules: false, backward: false, ..without_help(2) },
        Rules { modules: false, reroot: false, ..bare },
    ]
}

#[test]
fn random_graphs_of_every_size() {
    let configurations = configurations();
    for seed in 0..draws(20_000) {
        let spec = format!("random-dag?ops={}&seed={seed}", 4 + seed % 7);
        let model = if seed % 2 == 0 { MemoryModel::Plain } else { MemoryModel::Paper };
        let problem = problem(&spec, model);
        let least = optimum(&problem, Algorithm::Exhaustive);
        assert_optimal(&problem, &Rules::default(), least, &spec);
        let other = &configurations[seed as usize % configurations.len()];
        assert_optimal(&problem, other, least, &spec);
    }
}

#[test]
fn random_graphs_without_each_rule() {
    for name in Rules::names() {
        for seed in 0..draws(2000) {
            let spec = format!("random-dag?ops=10&seed={}", 50_000 + seed);
            let problem = problem(&spec, MemoryModel::Paper);
            let least = optimum(&problem, Algorithm::Exhaustive);
            let mut rules = if seed % 2 == 0 { Rules::default() } else { without_help(1 + seed % 3) };
            assert!(rules.turn_off(name));
            assert_optimal(&problem, &rules, least, &spec);
        }
    }
}

#[test]
fn larger_graphs_of_every_family_with_and_without_modules() {
    for seed in 0..draws(40) {
        for spec in [
            format!("random-sp?ops=16&branches=4&seed={seed}"),
            format!("random-tree?ops=14&seed={seed}"),
            format!("random-window?ops=18&window=6&seed={seed}"),
            format!("random-layered?ops=18&width=5&seed={seed}"),
            format!("random-stack?cells=3&ops=5&seed={seed}"),
        ] {
            let problem = problem(&spec, MemoryModel::Plain);
            let least = optimum(&problem, Algorithm::Dp);
            for rules in configurations() {
                assert_optimal(&problem, &rules, least, &spec);
            }
        }
    }
}

#[test]
fn no_patience_at_all_is_as_good_as_little() {
    let problem = problem("random-window?ops=24&window=8&seed=3", MemoryModel::Plain);
    let least = optimum(&problem, Algorithm::Dp);
    for patience in [0, u64::MAX] {
        assert_optimal(&problem, &without_help(patience), least, "patience");
    }
}

#[test]
fn two_threads_give_the_answer_of_one() {
    for seed in 0..20 {
        let spec = format!("random-window?ops=60&window=20&seed={seed}");
        let problem = problem(&spec, MemoryModel::Plain);
        // Rounds long enough to be worth a thread from the first; and with all that depends on the number of states.
        for rules in [Rules { modules: false, ..without_help(2048) }, without_help(1024)] {
            let answer = |threads| {
                let found =
                    schedule(&problem, &Options { rules: rules.clone(), threads, ..Options::default() });
                (found.order, found.peak, found.bound, found.stats.states)
            };
            assert_eq!(answer(1), answer(2), "{spec}");
        }
    }
}

/// Local search finds the orders, cuts prove them: no flood has to go far.
#[test]
fn wide_layers_are_proved() {
    for (width, least) in [(100, 226_272), (200, 402_976)] {
        let problem = problem(&format!("random-layered?ops=1000&width={width}"), MemoryModel::Paper);
        let options = Options { limits: Limits::default().working(5000), ..Options::default() };
        let found = schedule(&problem, &options);
        assert_eq!((found.peak, found.bound, found.proof), (least, least, Proof::Optimal), "{width}");
        assert_eq!(problem.peak(&found.order), least);
    }
}
