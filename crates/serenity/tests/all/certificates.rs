//! Proofs of lower bounds: those we write hold, and none that holds says too much.

use serenity::check::{
    CutStep, CutWitness, OpWitness, Reproved, Witness, WitnessChain, proved_bound, reprove,
};
use serenity::ir::{Graph, OpId, TensorId};
use serenity::runtimes::MemoryModel;
use serenity::schedule::Algorithm;
use serenity::search::Random;
use serenity::{Options, schedule, zoo};
use serenity_judges::draws;

fn graph(seed: u64, ops: u32) -> Graph {
    zoo::build(&format!("random-dag?ops={ops}&seed={seed}")).unwrap()
}

fn least_peak(graph: &Graph, model: MemoryModel) -> u64 {
    let options = Options { model, algorithm: Algorithm::Exhaustive, ..Options::default() };
    schedule(graph, &options).unwrap().after.peak
}

#[test]
fn every_witness_we_write_proves_the_optimum() {
    let mut found = 0;
    for seed in 0..draws(3000) {
        let graph = graph(seed, 9);
        for (_, model) in MemoryModel::all() {
            let plan = schedule(&graph, &Options { model, ..Options::default() }).unwrap();
            if let Some(witness) = &plan.witness {
                found += 1;
                assert_eq!(proved_bound(&graph, model, witness), Ok(plan.after.peak), "seed {seed}, {model}");
            }
        }
    }
    assert!(found > draws(4000), "only {found} of {} plans carry a witness", draws(6000));
}

/// Chains made up without any sense: whatever the checker accepts must be true.
fn made_up(graph: &Graph, numbers: &mut Random) -> Witness {
    let mut left: Vec<u64> = graph.tensors().iter().map(|t| t.bytes).collect();
    let chains = (0..=numbers.index(4))
        .map(|_| {
            let tensors: Vec<TensorId> =
                (0..=numbers.index(2)).map(|_| TensorId::from_index(numbers.index(left.len()))).collect();
            let bytes = tensors.iter().map(|t| left[t.index()]).min().unwrap_or(0);
            for t in &tensors {
                left[t.index()] = left[t.index()].saturating_sub(bytes);
            }
            WitnessChain { bytes, tensors }
        })
        .collect();
    Witness::Op(OpWitness { op: OpId::from_index(numbers.index(graph.ops().len())), chains })
}

#[test]
fn no_witness_that_is_accepted_exceeds_the_optimum() {
    let mut numbers = Random(7);
    let mut accepted = 0;
    for seed in 0..400 {
        let graph = graph(seed, 7);
        for (_, model) in MemoryModel::all() {
            let least = least_peak(&graph, model);
            for _ in 0..100 {
                let witness = made_up(&graph, &mut numbers);
                if let Ok(bound) = proved_bound(&graph, model, &witness) {
                    accepted += 1;
                    assert!(
                        bound <= least,
                        "seed {seed}, {model}: {witness:?} proves {bound}, but {least} is possible"
                    );
                }
            }
        }
    }
    assert!(accepted > 1000, "only {accepted} were accepted: the test shows little");
}

#[test]
fn a_witness_that_is_changed_is_refused_or_proves_less() {
    let graph = zoo::build("swiftnet-a").unwrap();
    let model = MemoryModel::Paper;
    let plan = schedule(&graph, &Options { model, ..Options::default() }).unwrap();
    let Some(Witness::Op(witness)) = plan.witness else { panic!("no witness") };
    let bound = |witness: &OpWitness| proved_bound(&graph, model, &Witness::Op(witness.clone())).unwrap_or(0);
    assert_eq!(bound(&witness), 200_704);
    for i in 0..witness.chains.len() {
        let mut more = witness.clone();
        more.chains[i].bytes += 1;
        assert!(bound(&more) <= 200_704);
        let mut twice = witness.clone();
        twice.chains.push(witness.chains[i].clone());
        assert!(bound(&twice) <= 200_704);
        let mut empty = witness.clone();
        empty.chains[i].tensors.clear();
        assert_eq!(bound(&empty), 0);
    }
    for (op, tensor) in [(u32::MAX, 0), (0, u32::MAX)] {
        let chains = vec![WitnessChain { bytes: 1, tensors: vec![TensorId(tensor)] }];
        let witness = Witness::Op(OpWitness { op: OpId(op), chains });
        assert!(proved_bound(&graph, model, &witness).is_err());
    }
}

/// All chains of cuts that are one small change away.
fn changed(steps: &[CutStep], ops: usize, numbers: &mut Random) -> Vec<Vec<CutStep>> {
    let mut changed = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let mut without = steps.to_vec();
        without.remove(i);
        changed.push(without);
        let other = OpId::from_index(numbers.index(ops + 1));
        let variants = match step.clone() {
            CutStep::Edge { first, second, running } => vec![
                CutStep::Edge { first: second, second: first, running },
                CutStep::Edge { first, second, running: if running == first { second } else { first } },
                CutStep::Edge { first: other, second, running },
                CutStep::Edge { first: other, second, running: other },
                CutStep::Edge { first, second: other, running: other },
                CutStep::Contradiction { running },
            ],
            CutStep::Contradiction { .. } => vec![CutStep::Contradiction { running: other }],
            CutStep::Probe { first, second, otherwise } => {
                let inner = self::changed(&otherwise, ops, numbers);
                let probe = |otherwise| CutStep::Probe { first, second, otherwise };
                let swapped = CutStep::Probe { first: second, second: first, otherwise: otherwise.clone() };
                inner.into_iter().map(probe).chain([swapped]).collect()
            }
        };
        for variant in variants {
            let mut steps = steps.to_vec();
            steps[i] = variant;
            changed.push(steps);
        }
    }
    changed
}

/// The steps we write are those that the proof needs: hardly any change leaves a proof, and none proves more.
#[test]
fn chains_of_cuts_that_are_changed_are_refused() {
    let mut numbers = Random(3);
    let (mut chains, mut tried, mut accepted) = (0, 0, 0);
    for seed in 0..draws(1200) {
        let ops = 12 + (seed % 12) as u32;
        let graph = graph(seed, ops);
        let model = MemoryModel::Plain;
        let plan = schedule(&graph, &Options { model, ..Options::default() }).unwrap();
        let Some(Witness::Cuts(CutWitness { bound, steps })) = plan.witness else { continue };
        chains += 1;
        let proves = |bound, steps: Vec<CutStep>| {
            proved_bound(&graph, model, &Witness::Cuts(CutWitness { bound, steps })).is_ok()
        };
        assert_eq!(bound, plan.after.peak);
        assert!(proves(bound, steps.clone()) && !proves(bound + 1, steps.clone()));
        for forged in changed(&steps, graph.ops().len(), &mut numbers) {
            tried += 1;
            accepted += u64::from(proves(bound, forged.clone()));
            assert!(!proves(bound + 1, forged), "seed {seed}");
        }
    }
    assert!(chains > draws(100) && tried > draws(2000), "{tried} changes of {chains} chains");
    assert!(accepted * 4 < tried, "{accepted} of {tried}");
}

#[test]
fn the_checker_s_own_search_agrees_with_the_definition() {
    for seed in 0..draws(1500) {
        let graph = graph(seed, 8);
        for (_, model) in MemoryModel::all() {
            let least = least_peak(&graph, model);
            let again = |bound| reprove(&graph, model, bound, u64::MAX, &|| false);
            assert!(matches!(again(least), Reproved::Yes { .. }), "seed {seed}, {model}");
            assert_eq!(again(least + 1), Reproved::No, "seed {seed}, {model}");
        }
    }
    let hard = zoo::build("randwire-cifar10").unwrap();
    let gave_up = reprove(&hard, MemoryModel::Paper, 1_277_952, 10, &|| false);
    assert!(matches!(gave_up, Reproved::GaveUp { .. }));
}
